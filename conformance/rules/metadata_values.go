package rules

import (
	"slices"
	"strings"

	"mandate/conformance/check"
	"mandate/conformance/need"
	"mandate/conformance/target"
	"mandate/conformance/wire"
)

// metadataList returns a list whose presence another rule checks.
func metadataList(t *T, m check.Metadata, name string) []string {
	list, is := m.List(name)
	if !is {
		t.Blockedf("the metadata has no %s", name)
	}
	return list
}

// optionalList returns a list that a server may leave out. A default that the document names says what clients assume,
// and not what the server supports. So the check is skipped without the list.
func optionalList(t *T, m check.Metadata, name string) []string {
	list, is := m.List(name)
	if !is {
		t.Skipf("the rule applies to a server whose metadata has %s, which is optional", name)
	}
	return list
}

func wantScopesListed(t *T, m check.Metadata) {
	c := t.Client(need.Code)
	list := metadataList(t, m, "scopes_supported")
	response := t.Authorize(t.Request(c).Del("scope"))
	if code := response.ErrorCode(); code == "invalid_scope" || code == "access_denied" {
		t.Skipf("the rule applies to a server that grants a scope by default: a request without scope is refused with %s",
			code)
	}
	for _, scope := range strings.Fields(t.Granted(t.Redeem(t.CodeOf(response))).Scope) {
		if !slices.Contains(list, scope) {
			t.Errorf("the scope %s is granted, but scopes_supported is %q", scope, list)
		}
	}
}

func wantScopesKnown(t *T, m check.Metadata) {
	for _, scope := range metadataList(t, m, "scopes_supported") {
		r := t.Authorize(t.Request(t.Client(need.Code)).Set("scope", scope))
		if r.ErrorCode() != "invalid_scope" {
			continue
		}
		beside := t.Authorize(t.Request(t.Client(need.Code)).Set("scope", "openid "+scope))
		if beside.ErrorCode() != "invalid_scope" && !leavesOut(t, beside, scope) {
			continue
		}
		alone := t.Token(t.Client(need.Introspect), wire.Params("grant_type", "client_credentials", "scope", scope))
		if !alone.Granted() {
			t.At(r.Answer)
			t.Errorf("scopes_supported contains %s, but a request with it is refused with invalid_scope, and beside openid it "+
				"is refused or left out", scope)
		}
	}
}

// leavesOut reports whether the tokens for a code are without a scope that was requested (RFC 6749 §5.1). OIDC Core
// §11: a server may ignore offline_access.
func leavesOut(t *T, r *check.Response, scope string) bool {
	if r.Params.Get("code") == "" || scope == "offline_access" {
		return false
	}
	got := t.Granted(t.Redeem(t.CodeOf(r))).Scope
	return got != "" && !slices.Contains(strings.Fields(got), scope)
}

// wantResponseTypes asserts that the server supports no response type that is not listed. Which of the listed types a
// client may use depends on its registration.
func wantResponseTypes(t *T, m check.Metadata) {
	list := metadataList(t, m, "response_types_supported")
	c := t.Client(need.Code)
	r := t.Authorize(t.Request(c))
	t.CodeOf(r)
	if !slices.Contains(list, "code") {
		t.At(r.Answer)
		t.Failf("the response type code returns a code, but response_types_supported is %q", list)
	}
	kinds := []string{"token", "code token"}
	if t.Has(need.OpenID) {
		kinds = append(kinds, "id_token", "id_token token", "code id_token")
	}
	for _, kind := range kinds {
		if slices.ContainsFunc(list, func(listed string) bool { return sameWords(listed, kind) }) {
			continue
		}
		r := t.Request(c).Set("response_type", kind)
		if strings.Contains(kind, "id_token") {
			r.Set("scope", "openid").Set("nonce", t.Random())
		}
		response := t.Authorize(r)
		for _, name := range []string{"code", "access_token", "id_token"} {
			if response.Params.Get(name) != "" {
				t.At(response.Answer)
				t.Failf("the response type %q returns %s, but response_types_supported is %q", kind, name, list)
			}
		}
	}
}

// sameWords compares two sets of words.
func sameWords(a, b string) bool {
	return slices.Equal(slices.Sorted(strings.FieldsSeq(a)), slices.Sorted(strings.FieldsSeq(b)))
}

func wantResponseModes(t *T, m check.Metadata) {
	list := optionalList(t, m, "response_modes_supported")
	t.Code(t.Request(t.Client(need.Code)))
	for _, mode := range list {
		if !slices.Contains([]string{"query", "fragment", "form_post"}, mode) {
			continue // defined in another document
		}
		r := t.Authorize(t.Request(t.Client(need.Code)).Set("response_mode", mode))
		t.At(r.Answer)
		switch {
		case r.Stuck != "":
			t.Blockedf("with response_mode=%s: %s", mode, r)
		case r.Params.Get("code") == "":
			t.Failf("response_modes_supported contains %s, but a request with it returns no code: %s", mode, r.Outcome())
		case r.Mode != mode:
			t.Failf("response_modes_supported contains %s, but a request with it returns the code by %s", mode, r.Mode)
		}
	}
}

// grantClients are the roles whose clients use a grant.
var grantClients = map[string]Need{need.GrantCode: need.Code, "refresh_token": need.Code,
	need.GrantMachine: need.Machine, need.GrantPassword: need.Password, need.GrantDevice: need.Device}

// wantGrantTypes asserts that the list names what the server supports. A server that does not support a grant answers
// unsupported_grant_type, whoever asks (RFC 6749 §5.2).
func wantGrantTypes(t *T, m check.Metadata) {
	list := optionalList(t, m, "grant_types_supported")
	c := t.Client(need.Code)
	if !slices.Contains(list, need.GrantCode) {
		if a := t.Redeem(t.Code(t.Request(c))); a.Granted() {
			t.At(a)
			t.Failf("the grant authorization_code returns a token, but grant_types_supported is %q", list)
		}
	}
	if other := t.OptionalClient(need.Machine); other != nil && !slices.Contains(list, need.GrantMachine) {
		if a := t.ByCredentials(other, other.Credentials()); a.Granted() {
			t.At(a)
			t.Failf("the grant client_credentials returns a token, but grant_types_supported is %q", list)
		}
	}
	for _, grant := range list {
		if grant == "implicit" {
			continue // it does not use the token endpoint
		}
		as := c
		if other := t.OptionalClient(grantClients[grant]); other != nil {
			as = other
		}
		if a := t.Token(as, wire.Params("grant_type", grant)); a.Text("error") == "unsupported_grant_type" {
			t.At(a)
			t.Failf("grant_types_supported contains %s, but the token endpoint answers unsupported_grant_type", grant)
		}
	}
}

// secretMethods are the methods by which a client can send its secret.
func secretMethods(c *target.Client) map[string]wire.Auth {
	return map[string]wire.Auth{need.SecretBasic: wire.Basic(c.ID, c.Secret), need.SecretPost: wire.InBody(c.ID, c.Secret)}
}

// wantMethodListed asserts that the metadata lists the method by which a client has just authenticated.
//
// RFC 8414 §2: without a list a client assumes client_secret_basic. This does not say that the server supports no
// other method.
func wantMethodListed(t *T, m check.Metadata, endpoint string, c *target.Client, known bool) {
	if !known {
		t.Blockedf("the client %s could not authenticate at the %s endpoint", c.Role, endpoint)
	}
	name := endpoint + "_endpoint_auth_methods_supported"
	if list := optionalList(t, m, name); !slices.Contains(list, c.Auth) {
		t.Errorf("the client %s authenticates at the %s endpoint by %s, but %s is %q", c.Role, endpoint, c.Auth, name, list)
	}
}

// wantsJWTClients skips the check if clients cannot authenticate by JWT at an endpoint.
func wantsJWTClients(t *T, m check.Metadata, endpoint string) {
	name := endpoint + "_endpoint_auth_methods_supported"
	if !m.Lists(name, "private_key_jwt") && !m.Lists(name, "client_secret_jwt") {
		t.Skipf("the rule applies to a server whose metadata lists private_key_jwt or client_secret_jwt in %s", name)
	}
}

func wantAuthAlgorithms(t *T, m check.Metadata, endpoint string) {
	wantsJWTClients(t, m, endpoint)
	if _, listed := m.List(endpoint + "_endpoint_auth_signing_alg_values_supported"); !listed {
		t.Failf("clients can authenticate by JWT at the %s endpoint, but the metadata has no "+
			"%[1]s_endpoint_auth_signing_alg_values_supported", endpoint)
	}
}

// wantRS256OfClients asserts that clients can sign the JWT by which they authenticate with RS256.
func wantRS256OfClients(t *T, m check.Metadata) {
	wantsJWTClients(t, m, "token")
	const name = "token_endpoint_auth_signing_alg_values_supported"
	if list := optionalList(t, m, name); !slices.Contains(list, "RS256") {
		t.Failf("%s is %q, without RS256", name, list)
	}
}

func wantNoUnsigned(t *T, m check.Metadata, name string) {
	if list := optionalList(t, m, name); slices.Contains(list, "none") {
		t.Failf("%s is %q, which contains none", name, list)
	}
}

// wantChallengeMethods redeems codes with the correct and with a wrong verifier, for each listed method.
func wantChallengeMethods(t *T, m check.Metadata) {
	for _, method := range optionalList(t, m, "code_challenge_methods_supported") {
		if method != "S256" && method != "plain" {
			continue // no document that is checked here defines it
		}
		ask := func() *check.Request {
			r := t.Request(t.Client(need.Code))
			if method == "plain" {
				r.Set("code_challenge", r.Verifier).Set("code_challenge_method", method)
			}
			return r
		}
		response := t.Authorize(ask())
		t.At(response.Answer)
		if response.ErrorCode() == "invalid_request" {
			t.Failf("code_challenge_methods_supported contains %s, but a request with it is refused: %s", method, response)
		}
		t.Granted(t.Redeem(t.CodeOf(response)))
		form, other := t.Code(ask()).Form(), t.Request(t.Client(need.Code)).Verifier
		form.Set("code_verifier", other)
		if a := t.Token(t.Client(need.Code), form); a.Granted() {
			t.At(a)
			t.Failf("code_challenge_methods_supported contains %s, but a token is issued for a wrong code_verifier", method)
		}
	}
}
