package rules

import (
	"net/http"
	"slices"
	"strings"

	"mandate/conformance/check"
	"mandate/conformance/need"
	"mandate/conformance/target"
	"mandate/conformance/wire"
)

// get8414 fetches the metadata at the address of RFC 8414. A server may publish it only at the address of OpenID
// Connect Discovery, which other rules check.
func get8414(t *T) *wire.Answer {
	addresses := check.MetadataAddresses(t.Issuer())
	a := t.Get(addresses[0])
	if a.Status == http.StatusNotFound && t.MetadataAddress() != "" && t.MetadataAddress() != addresses[0] {
		t.Skipf("the server publishes its metadata only at %s", t.MetadataAddress())
	}
	return a
}

// publishedMetadata returns the metadata of RFC 8414.
func publishedMetadata(t *T) check.Metadata { return metadataIn(t, get8414(t)) }

// metadataIn returns the metadata in a response. If there is none, the check is blocked.
func metadataIn(t *T, a *wire.Answer) check.Metadata {
	if a.Status != http.StatusOK || a.JSON() == nil {
		t.Blockedf("the metadata cannot be read: %s", a)
	}
	return a.JSON()
}

// wantOK asserts that the metadata has the status 200.
func wantOK(t *T, a *wire.Answer) {
	if a.Status/100 != 2 {
		t.Blockedf("the metadata cannot be read: %s", a)
	}
	t.WantStatus(a, http.StatusOK)
}

// wantJSON asserts that the metadata has the type application/json.
func wantJSON(t *T, a *wire.Answer) {
	if a.Status/100 != 2 {
		t.Blockedf("the metadata cannot be read: %s", a)
	}
	if a.MediaType() != "application/json" {
		t.Failf("the type is %q", a.MediaType())
	}
}

// wantIssuerURL asserts the form of an issuer identifier.
func wantIssuerURL(t *T, issuer string) {
	if strings.ContainsAny(issuer, "?#") {
		t.Errorf("%s has a query or a fragment", issuer)
	}
	wantTLS(t, issuer)
}

// wantArrays asserts that the members with several values are arrays.
func wantArrays(t *T, m check.Metadata) {
	for name, value := range m {
		plural := strings.HasSuffix(name, "s_supported") && !strings.HasSuffix(name, "_session_supported")
		_, is := value.([]any)
		if plural && !is && value != true && value != false {
			t.Errorf("%s is no array", name)
		}
	}
}

func wantNothingEmpty(t *T, m check.Metadata) {
	for name, value := range m {
		if list, is := value.([]any); is && len(list) == 0 {
			t.Errorf("%s is an empty array", name)
		}
	}
}

func wantNamed(t *T, m check.Metadata, endpoint Need) {
	if m.Text(string(endpoint)) == "" {
		t.Failf("%s is missing", endpoint)
	}
}

// wantSecure asserts that the metadata has an endpoint, and that it uses TLS.
func wantSecure(t *T, m check.Metadata, endpoint Need) {
	wantNamed(t, m, endpoint)
	wantTLS(t, m.Text(string(endpoint)))
}

func wantList(t *T, m check.Metadata, name string) {
	if list, is := m.List(name); !is || len(list) == 0 || slices.Contains(list, "") {
		t.Failf("%s is no list of strings", name)
	}
}

// metadataList returns a list whose presence another rule checks.
func metadataList(t *T, m check.Metadata, name string) []string {
	list, is := m.List(name)
	if !is {
		t.Blockedf("the metadata has no %s", name)
	}
	return list
}

// postOnly are the endpoints without GET.
var postOnly = []string{"token_endpoint", "introspection_endpoint", "revocation_endpoint", "registration_endpoint",
	"pushed_authorization_request_endpoint", "device_authorization_endpoint", "backchannel_authentication_endpoint"}

func wantEndpointsThere(t *T, m check.Metadata) {
	for name := range m {
		address := m.Text(name)
		if !strings.HasSuffix(name, "_endpoint") && name != "jwks_uri" || address == "" {
			continue
		}
		a := t.Get(address)
		if slices.Contains(postOnly, name) {
			a = t.Post(address, nil)
		}
		if a.Status == http.StatusNotFound || a.Status == http.StatusMethodNotAllowed {
			t.At(a)
			t.Errorf("%s answers %s", name, a)
		}
	}
}

// keySet fetches the published keys, without interpreting them.
func keySet(t *T, address string) []map[string]any {
	a := t.Get(address)
	members, _ := a.JSON()["keys"].([]any)
	if a.Status != http.StatusOK || len(members) == 0 {
		t.Blockedf("the keys cannot be read: %s", a)
	}
	var keys []map[string]any
	for _, member := range members {
		key, _ := member.(map[string]any)
		keys = append(keys, key)
	}
	return keys
}

func wantSigningKey(t *T, address string) {
	for _, key := range keySet(t, address) {
		if use := key["use"]; use == nil || use == "sig" {
			return
		}
	}
	t.Failf("no key has the use sig")
}

func wantUseOfKeys(t *T, address string) {
	keys := keySet(t, address)
	if !slices.ContainsFunc(keys, func(key map[string]any) bool { return key["use"] == "enc" }) {
		return
	}
	for _, key := range keys {
		if key["use"] == nil {
			t.Errorf("the key %v has no use", key["kid"])
		}
	}
}

func wantScopesListed(t *T, m check.Metadata) {
	c := t.Client(need.Code)
	list := metadataList(t, m, "scopes_supported")
	response := t.Authorize(t.Request(c).Del("scope"))
	if code := response.ErrorCode(); code == "invalid_scope" || code == "access_denied" {
		t.Skipf("a request without scope is refused: %s", response)
	}
	for _, scope := range strings.Fields(t.Granted(t.Redeem(t.CodeOf(response))).Scope) {
		if !slices.Contains(list, scope) {
			t.Errorf("the scope %s is granted, but not listed", scope)
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
		alone := t.Token(t.Client(need.Introspect), wire.Params("grant_type", "client_credentials", "scope", scope))
		if beside.ErrorCode() == "invalid_scope" && !alone.Granted() {
			t.Errorf("the scope %s is listed, but refused", scope)
		}
	}
}

// wantResponseTypes asserts that the server supports no response type that is not listed. Which of the listed types a
// client may use depends on its registration.
func wantResponseTypes(t *T, m check.Metadata) {
	list := metadataList(t, m, "response_types_supported")
	c := t.Client(need.Code)
	if code := t.Authorize(t.Request(c)).Params.Get("code"); (code != "") != slices.Contains(list, "code") {
		t.Errorf("code is listed: %t; a code is issued: %t", slices.Contains(list, "code"), code != "")
	}
	for _, kind := range []string{"token", "id_token", "id_token token", "code token", "code id_token"} {
		if slices.ContainsFunc(list, func(listed string) bool { return sameWords(listed, kind) }) {
			continue
		}
		r := t.Authorize(t.Request(c).Set("scope", "openid").Set("nonce", t.Random()).Set("response_type", kind))
		for _, name := range []string{"code", "access_token", "id_token"} {
			if r.Params.Get(name) != "" {
				t.At(r.Answer)
				t.Errorf("the response type %s is not listed, but returns %s", kind, name)
			}
		}
	}
}

// sameWords compares two sets of words.
func sameWords(a, b string) bool {
	return slices.Equal(slices.Sorted(strings.FieldsSeq(a)), slices.Sorted(strings.FieldsSeq(b)))
}

func wantResponseModes(t *T, m check.Metadata) {
	list, listed := m.List("response_modes_supported")
	if !listed {
		list = []string{"query"} // fragment, the other default, is for other response types
	}
	for _, mode := range list {
		if !slices.Contains([]string{"query", "fragment", "form_post"}, mode) {
			continue // defined in another document
		}
		r := t.Authorize(t.Request(t.Client(need.Code)).Set("response_mode", mode))
		if r.Params.Get("code") == "" {
			t.Errorf("the response mode %s is listed, but returns no code: %s", mode, r)
		} else if r.Mode != mode {
			t.At(r.Answer)
			t.Errorf("the response mode %s is listed, but the code is returned by %s", mode, r.Mode)
		}
	}
}

func wantGrantTypes(t *T, m check.Metadata) {
	list, listed := m.List("grant_types_supported")
	if !listed {
		list = []string{"authorization_code", "implicit"}
	}
	c := t.Client(need.Code)
	if !slices.Contains(list, "authorization_code") && t.Redeem(t.Code(t.Request(c))).Granted() {
		t.Errorf("the grant authorization_code is not listed, but returns a token")
	}
	if !slices.Contains(list, "client_credentials") && t.Has(need.Machine) {
		other := t.OptionalClient(need.Machine)
		t.WantRefused(t.Token(other, wire.Params("grant_type", "client_credentials")), "the grant client_credentials is not listed")
	}
	for _, grant := range list {
		if grant == "implicit" {
			continue // it does not use the token endpoint
		}
		if a := t.Token(c, wire.Params("grant_type", grant)); a.Text("error") == "unsupported_grant_type" {
			t.At(a)
			t.Errorf("the grant %s is listed, but not supported", grant)
		}
	}
	t.WantRefused(t.Token(c, wire.Params("grant_type", "urn:example:conformance")), "there is no such grant")
}

// secretMethods are the methods by which a client can send its secret.
func secretMethods(c *target.Client) map[string]wire.Auth {
	return map[string]wire.Auth{need.SecretBasic: wire.Basic(c.ID, c.Secret), need.SecretPost: wire.InBody(c.ID, c.Secret)}
}

func wantTokenAuth(t *T, m check.Metadata) {
	c := t.Client(need.Machine)
	wantMethodListed(t, m, "token", c, t.Token(c, wire.Params("grant_type", "client_credentials")).Granted())
}

// wantMethodListed asserts that the metadata lists the method by which a client has just authenticated.
//
// RFC 8414 §2: the default is client_secret_basic.
func wantMethodListed(t *T, m check.Metadata, endpoint string, c *target.Client, known bool) {
	if !known {
		t.Blockedf("the client %s could not authenticate at the %s endpoint", c.Role, endpoint)
	}
	list, listed := m.List(endpoint + "_endpoint_auth_methods_supported")
	if !listed {
		list = []string{need.SecretBasic}
	}
	if c.Auth != need.NoAuthentication && !slices.Contains(list, c.Auth) {
		t.Errorf("a client authenticates by %s, but the %s endpoint lists %s", c.Auth, endpoint, strings.Join(list, ", "))
	}
}

func wantAuthAlgorithms(t *T, m check.Metadata, endpoint string) {
	methods := endpoint + "_endpoint_auth_methods_supported"
	_, listed := m.List(endpoint + "_endpoint_auth_signing_alg_values_supported")
	if (m.Lists(methods, "private_key_jwt") || m.Lists(methods, "client_secret_jwt")) && !listed {
		t.Failf("clients can authenticate by JWT at the %s endpoint, but no algorithms are listed", endpoint)
	}
}

func wantNoUnsigned(t *T, m check.Metadata, name string) {
	if m.Lists(name, "none") {
		t.Failf("%s contains none", name)
	}
}

// wantChallengeMethods redeems codes with a wrong verifier. If the server issues a token, it does not verify the
// challenge.
func wantChallengeMethods(t *T, m check.Metadata) {
	for _, method := range []string{"S256", "plain"} {
		listed := m.Lists("code_challenge_methods_supported", method)
		r := t.Request(t.Client(need.Code))
		if method == "plain" {
			r.Set("code_challenge", r.Verifier).Set("code_challenge_method", method)
		}
		response := t.Authorize(r)
		if response.Params.Get("code") == "" {
			if listed {
				t.At(response.Answer)
				t.Errorf("%s is listed, but no code is issued: %s", method, response)
			}
			continue
		}
		code := &check.Code{Value: response.Params.Get("code"), Request: r}
		other, _ := check.NewPKCE()
		form := code.Form()
		form.Set("code_verifier", other)
		if checked := !t.Token(r.Client, form).Granted(); checked != listed {
			t.Errorf("%s is listed: %t; a wrong verifier is refused: %t", method, listed, checked)
		}
	}
}

func wantPages(t *T, m check.Metadata) {
	for _, name := range []string{"service_documentation", "op_policy_uri", "op_tos_uri"} {
		address := m.Text(name)
		if address == "" || !t.AtServer(address) {
			continue // an address of another server is not fetched
		}
		if a := t.Get(address); a.Status >= http.StatusBadRequest {
			t.Errorf("%s answers %s", name, a)
		}
	}
}
