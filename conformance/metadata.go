package conformance

import (
	"net/http"
	"slices"
	"strings"
)

// get8414 fetches the metadata by the path of RFC 8414. A server may have chosen that of OpenID Connect
// alone, which is another document's business.
func (t *T) get8414() *Answer {
	addresses := metadataAddresses(t.Issuer())
	a := t.Get(addresses[0])
	if a.Status == http.StatusNotFound && t.MetadataAddress() != "" && t.MetadataAddress() != addresses[0] {
		t.Skipf("the server publishes its metadata at %s only", t.MetadataAddress())
	}
	return a
}

// published is the metadata of RFC 8414.
func (t *T) published() metadata {
	a := t.get8414()
	if a.Status != http.StatusOK || a.JSON() == nil {
		t.Blockedf("could not read the metadata: %s", a)
	}
	return a.JSON()
}

// wantIssuerURL asserts the form of an issuer identifier.
func (t *T) wantIssuerURL(issuer string) {
	if strings.ContainsAny(issuer, "?#") {
		t.Errorf("%s has a query or a fragment", issuer)
	}
	t.wantTLS(issuer)
}

// wantArrays asserts that the claims which are lists are written as such.
func (t *T) wantArrays(m metadata) {
	for name, value := range m {
		plural := strings.HasSuffix(name, "s_supported") && !strings.HasSuffix(name, "_session_supported")
		_, is := value.([]any)
		if plural && !is && value != true && value != false {
			t.Errorf("%s is no array", name)
		}
	}
}

func (t *T) wantNothingEmpty(m metadata) {
	for name, value := range m {
		if list, is := value.([]any); is && len(list) == 0 {
			t.Errorf("%s is there, and empty", name)
		}
	}
}

func (t *T) wantNamed(m metadata, endpoint Need) {
	if m.text(string(endpoint)) == "" {
		t.Failf("%s is missing", endpoint)
	}
}

// wantSecure asserts that an endpoint is named, and reached by TLS.
func (t *T) wantSecure(m metadata, endpoint Need) {
	t.wantNamed(m, endpoint)
	t.wantTLS(m.text(string(endpoint)))
}

func (t *T) wantList(m metadata, name string) {
	if list, is := m.list(name); !is || len(list) == 0 || slices.Contains(list, "") {
		t.Failf("%s is no list of names", name)
	}
}

// listed is a list that another rule asks for.
func (t *T) listed(m metadata, name string) []string {
	list, is := m.list(name)
	if !is {
		t.Blockedf("the metadata has no %s", name)
	}
	return list
}

// postOnly are the endpoints that have no GET.
var postOnly = []string{"token_endpoint", "introspection_endpoint", "revocation_endpoint", "registration_endpoint",
	"pushed_authorization_request_endpoint", "device_authorization_endpoint", "backchannel_authentication_endpoint"}

func (t *T) wantEndpointsThere(m metadata) {
	for name := range m {
		address := m.text(name)
		if !strings.HasSuffix(name, "_endpoint") && name != "jwks_uri" || address == "" {
			continue
		}
		a := t.Get(address)
		if slices.Contains(postOnly, name) {
			a = t.Post(address, nil)
		}
		if a.Status == http.StatusNotFound || a.Status == http.StatusMethodNotAllowed {
			t.At(a)
			t.Errorf("%s is answered with %s", name, a)
		}
	}
}

// keySet fetches a set of keys, each as it stands there.
func (t *T) keySet(address string) []map[string]any {
	a := t.Get(address)
	members, _ := a.JSON()["keys"].([]any)
	if a.Status != http.StatusOK || len(members) == 0 {
		t.Blockedf("could not read the keys: %s", a)
	}
	var keys []map[string]any
	for _, member := range members {
		key, _ := member.(map[string]any)
		keys = append(keys, key)
	}
	return keys
}

func (t *T) wantSigningKey(address string) {
	for _, key := range t.keySet(address) {
		if use := key["use"]; use == nil || use == "sig" {
			return
		}
	}
	t.Failf("no key is for signatures")
}

func (t *T) wantUseOfKeys(address string) {
	keys := t.keySet(address)
	if !slices.ContainsFunc(keys, func(key map[string]any) bool { return key["use"] == "enc" }) {
		return
	}
	for _, key := range keys {
		if key["use"] == nil {
			t.Errorf("the key %v does not say its use", key["kid"])
		}
	}
}

func (t *T) wantScopesListed(m metadata) {
	c := t.Client(NeedCode)
	list := t.listed(m, "scopes_supported")
	response := t.Authorize(t.Request(c).Del("scope"))
	if code := response.ErrorCode(); code == "invalid_scope" || code == "access_denied" {
		t.Skipf("a request without scope is refused: %s", response)
	}
	for _, scope := range strings.Fields(t.Granted(t.Redeem(t.codeOf(response))).Scope) {
		if !slices.Contains(list, scope) {
			t.Errorf("the scope %s is given, and not listed", scope)
		}
	}
}

func (t *T) wantScopesKnown(m metadata) {
	for _, scope := range t.listed(m, "scopes_supported") {
		r := t.Authorize(t.Request(t.Client(NeedCode)).Set("scope", scope))
		if r.ErrorCode() != "invalid_scope" {
			continue
		}
		beside := t.Authorize(t.Request(t.Client(NeedCode)).Set("scope", "openid "+scope))
		alone := t.Token(t.Client(NeedIntrospect), params("grant_type", "client_credentials", "scope", scope))
		if beside.ErrorCode() == "invalid_scope" && !alone.Granted() {
			t.Errorf("the scope %s is listed, and refused", scope)
		}
	}
}

// wantResponseTypes: which of the others a client may use is its registration's business, but that a type
// is supported which the list lacks would be wrong.
func (t *T) wantResponseTypes(m metadata) {
	list := t.listed(m, "response_types_supported")
	c := t.Client(NeedCode)
	if code := t.Authorize(t.Request(c)).Params.Get("code"); (code != "") != slices.Contains(list, "code") {
		t.Errorf("code is listed: %t; a code is given: %t", slices.Contains(list, "code"), code != "")
	}
	for _, kind := range []string{"token", "id_token", "id_token token", "code token", "code id_token"} {
		if slices.ContainsFunc(list, func(listed string) bool { return sameWords(listed, kind) }) {
			continue
		}
		r := t.Authorize(t.Request(c).Set("scope", "openid").Set("nonce", t.Random()).Set("response_type", kind))
		for _, name := range []string{"code", "access_token", "id_token"} {
			if r.Params.Get(name) != "" {
				t.At(r.Answer)
				t.Errorf("the response type %s is not listed, and gives %s", kind, name)
			}
		}
	}
}

// sameWords compares what is a set of words.
func sameWords(a, b string) bool {
	return slices.Equal(slices.Sorted(strings.FieldsSeq(a)), slices.Sorted(strings.FieldsSeq(b)))
}

func (t *T) wantResponseModes(m metadata) {
	list, listed := m.list("response_modes_supported")
	if !listed {
		list = []string{"query"} // fragment, the other default, is that of other response types
	}
	for _, mode := range list {
		if !slices.Contains([]string{"query", "fragment", "form_post"}, mode) {
			continue // of another document
		}
		r := t.Authorize(t.Request(t.Client(NeedCode)).Set("response_mode", mode))
		if r.Params.Get("code") == "" {
			t.Errorf("the response mode %s is listed, and gives no code: %s", mode, r)
		} else if r.Mode != mode {
			t.At(r.Answer)
			t.Errorf("the response mode %s is listed, and the code comes by %s", mode, r.Mode)
		}
	}
}

func (t *T) wantGrantTypes(m metadata) {
	list, listed := m.list("grant_types_supported")
	if !listed {
		list = []string{"authorization_code", "implicit"}
	}
	c := t.Client(NeedCode)
	if !slices.Contains(list, "authorization_code") && t.Redeem(t.Code(t.Request(c))).Granted() {
		t.Errorf("the grant authorization_code is not listed, and gives a token")
	}
	if !slices.Contains(list, "client_credentials") && t.Has(NeedMachine) {
		other := t.OptionalClient(NeedMachine)
		t.WantRefused(t.Token(other, params("grant_type", "client_credentials")), "the grant client_credentials is not listed")
	}
	for _, grant := range list {
		if grant == "implicit" {
			continue // it has nothing to do with the token endpoint
		}
		if a := t.Token(c, params("grant_type", grant)); a.Text("error") == "unsupported_grant_type" {
			t.At(a)
			t.Errorf("the grant %s is listed, and not supported", grant)
		}
	}
	t.WantRefused(t.Token(c, params("grant_type", "urn:example:conformance")), "there is no such grant")
}

// secretMethods are the ways in which a client can send its secret.
func secretMethods(c *Client) map[string]Auth {
	return map[string]Auth{clientSecretBasic: Basic(c.ID, c.Secret), clientSecretPost: InBody(c.ID, c.Secret)}
}

func (t *T) wantTokenAuth(m metadata) {
	c := t.Client(NeedMachine)
	t.wantMethodListed(m, "token", c, t.Token(c, params("grant_type", "client_credentials")).Granted())
}

// wantMethodListed asserts that the method by which a client has just been known is listed.
//
// RFC 8414 §2: the default is client_secret_basic.
func (t *T) wantMethodListed(m metadata, endpoint string, c *Client, known bool) {
	if !known {
		t.Blockedf("the client %s was not known at the %s endpoint", c.role, endpoint)
	}
	list, listed := m.list(endpoint + "_endpoint_auth_methods_supported")
	if !listed {
		list = []string{clientSecretBasic}
	}
	if c.Auth != noAuthentication && !slices.Contains(list, c.Auth) {
		t.Errorf("a client is known by %s, and the %s endpoint has %s", c.Auth, endpoint, strings.Join(list, ", "))
	}
}

func (t *T) wantAuthAlgorithms(m metadata, endpoint string) {
	methods := endpoint + "_endpoint_auth_methods_supported"
	_, listed := m.list(endpoint + "_endpoint_auth_signing_alg_values_supported")
	if (m.lists(methods, "private_key_jwt") || m.lists(methods, "client_secret_jwt")) && !listed {
		t.Failf("clients authenticate by JWT at the %s endpoint, and the algorithms are not listed", endpoint)
	}
}

func (t *T) wantNoUnsigned(m metadata, name string) {
	if m.lists(name, "none") {
		t.Failf("%s has none", name)
	}
}

// wantChallengeMethods asks for codes with a challenge, and redeems them with another verifier: who gets a
// token has not checked it.
func (t *T) wantChallengeMethods(m metadata) {
	for _, method := range []string{"S256", "plain"} {
		listed := m.lists("code_challenge_methods_supported", method)
		r := t.Request(t.Client(NeedCode))
		if method == "plain" {
			r.Set("code_challenge", r.Verifier).Set("code_challenge_method", method)
		}
		response := t.Authorize(r)
		if response.Params.Get("code") == "" {
			if listed {
				t.At(response.Answer)
				t.Errorf("%s is listed, and gives no code: %s", method, response)
			}
			continue
		}
		code := &Code{response.Params.Get("code"), r}
		other, _ := newPKCE()
		form := code.Form()
		form.Set("code_verifier", other)
		if checked := !t.Token(r.Client, form).Granted(); checked != listed {
			t.Errorf("%s is listed: %t; a wrong verifier is refused: %t", method, listed, checked)
		}
	}
}

func (t *T) wantPages(m metadata) {
	for _, name := range []string{"service_documentation", "op_policy_uri", "op_tos_uri"} {
		address := m.text(name)
		if address == "" || !t.AtServer(address) {
			continue // not for us to fetch
		}
		if a := t.Get(address); a.Status >= http.StatusBadRequest {
			t.Errorf("%s is answered with %s", name, a)
		}
	}
}
