package rules

import (
	"net/http"
	"slices"

	"mandate/conformance/jose"
	"mandate/conformance/need"
	"mandate/conformance/wire"
)

const (
	signedIntrospectionTest = "conformance/mandate/introspection_signed_test.go:TestSignedIntrospection"
	signedIntrospectionType = "application/token-introspection+jwt"
	introspectionAlgorithms = "introspection_signing_alg_values_supported"
)

// signedAbout asks for a signed response about a token. If the server signs none, the check is skipped.
func signedAbout(t *T, token string) *wire.Answer {
	if t.Metadata()[introspectionAlgorithms] == nil {
		t.Skipf("the rule needs a server that signs introspection responses: its metadata has no %s", introspectionAlgorithms)
	}
	return t.Post(t.Endpoint(need.Introspection), wire.Params("token", token),
		wire.Header("Accept", signedIntrospectionType), t.Client(need.Introspect).Credentials())
}

// introspectionJWT returns the JWT of such a response. Without one the check is blocked.
func introspectionJWT(t *T, a *wire.Answer) *jose.JWT {
	j, err := jose.Read(string(a.Body))
	if a.Status != http.StatusOK || err != nil {
		t.At(a)
		t.Blockedf("the introspection response is no signed JWT: %s", a)
	}
	return j
}

// newTokenJWT returns a signed response about a new token.
func newTokenJWT(t *T) *jose.JWT { return introspectionJWT(t, signedAbout(t, someTokens(t).Access)) }

// rfc9701 has the checks of the rules about signed introspection responses.
var rfc9701 = checks{
	"RFC9701/4/accept": func(t *T) {
		token := someTokens(t).Access
		introspectionJWT(t, signedAbout(t, token))
		for _, accept := range []string{"application/json", "*/*"} {
			a := t.Post(t.Endpoint(need.Introspection), wire.Params("token", token), wire.Header("Accept", accept),
				t.Client(need.Introspect).Credentials())
			if a.MediaType() != "application/json" || a.JSON()["active"] != true {
				t.Errorf("a request with Accept: %s gets %s with the media type %q, want JSON", accept, a, a.MediaType())
			}
		}
	},
	"RFC9701/5/type": func(t *T) {
		a := signedAbout(t, someTokens(t).Access)
		j := introspectionJWT(t, a)
		if a.MediaType() != signedIntrospectionType || j.Header["typ"] != "token-introspection+jwt" {
			t.Failf("the media type is %q, and typ is %s", a.MediaType(), Quoted(j.Header["typ"]))
		}
	},
	"RFC9701/5/claims": func(t *T) {
		j := newTokenJWT(t)
		about, _ := j.Claims["token_introspection"].(map[string]any)
		if j.Text("iss") != t.Issuer() || j.Number("iat") < 0 ||
			!slices.Contains(j.Audience(), t.Client(need.Introspect).ID) {
			t.Errorf("iss is %s, iat is %s, and aud is %s, want the issuer, a time and the caller", Quoted(j.Claims["iss"]),
				Quoted(j.Claims["iat"]), Quoted(j.Claims["aud"]))
		}
		if about["active"] != true {
			t.Errorf("token_introspection is %s, want an object with active: true", Quoted(j.Claims["token_introspection"]))
		}
	},
	"RFC9701/5/inactive": func(t *T) {
		about, _ := introspectionJWT(t, signedAbout(t, t.Random())).Claims["token_introspection"].(map[string]any)
		if len(about) != 1 || about["active"] != false {
			t.Failf("token_introspection about an invented token is %s, want active: false alone", Quoted(about))
		}
	},
	"RFC9701/5/no-sub-exp": func(t *T) {
		j := newTokenJWT(t)
		for _, name := range []string{"sub", "exp"} {
			if j.Claims[name] != nil {
				t.Errorf("the JWT has %s, so that it could be taken for another kind of JWT", name)
			}
		}
	},
	"RFC9701/5/unauthenticated": func(t *T) {
		token := someTokens(t).Access
		introspectionJWT(t, signedAbout(t, token))
		t.WantStatus(t.Post(t.Endpoint(need.Introspection), wire.Params("token", token),
			wire.Header("Accept", signedIntrospectionType)), http.StatusBadRequest)
	},
	"RFC9701/6/algorithm": func(t *T) {
		j := newTokenJWT(t)
		// The client introspection has not registered an algorithm.
		if j.Algorithm() != "RS256" {
			t.Failf("alg is %q, want RS256", j.Algorithm())
		}
		wantSignature(t, j, t.Client(need.Introspect))
	},
	"RFC9701/7/metadata": func(t *T) {
		m := publishedMetadata(t)
		if list, _ := m.List(introspectionAlgorithms); len(list) == 0 || slices.Contains(list, "none") {
			t.Failf("%s is %s, want a list without none", introspectionAlgorithms, Quoted(m[introspectionAlgorithms]))
		}
	},
}
