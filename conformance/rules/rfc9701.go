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

// signedIntrospectionNeeds returns what a check of signed introspection responses needs.
func signedIntrospectionNeeds(more ...Need) []Need {
	return append([]Need{need.Token, need.Introspection, need.Introspect}, more...)
}

// signedAbout asks for a signed response about a token. If the server signs none, the check is skipped.
func signedAbout(t *T, token string) *wire.Answer {
	if t.Metadata()[introspectionAlgorithms] == nil {
		t.Skipf("the rule needs a server that signs introspection responses: its metadata has no %s", introspectionAlgorithms)
	}
	return t.Post(t.Endpoint(need.Introspection), wire.Params("token", token), wire.Header("Accept", signedIntrospectionType), t.Client(need.Introspect).Credentials())
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

// rfc9701 returns the rules about signed introspection responses.
func rfc9701() []Rule {
	return []Rule{
		{
			ID: "RFC9701/3/audience", Level: Must,
			Text:     "A caller gets data only about tokens whose audience it is.",
			TestedBy: signedIntrospectionTest,
		},
		{
			ID: "RFC9701/4/accept", Level: Must,
			Text:  "A request whose Accept names application/token-introspection+jwt gets a JWT, and other requests get JSON.",
			Needs: signedIntrospectionNeeds(),
			Check: func(t *T) {
				token := someTokens(t).Access
				introspectionJWT(t, signedAbout(t, token))
				for _, accept := range []string{"application/json", "*/*"} {
					a := t.Post(t.Endpoint(need.Introspection), wire.Params("token", token), wire.Header("Accept", accept), t.Client(need.Introspect).Credentials())
					if a.MediaType() != "application/json" || a.JSON()["active"] != true {
						t.Errorf("a request with Accept: %s gets %s with the media type %q, want JSON", accept, a, a.MediaType())
					}
				}
			},
		},
		{
			ID: "RFC9701/4/caller", Level: Must,
			Text:     "The caller authenticates as a client, or by an access token that was issued to it and whose subject it is.",
			TestedBy: signedIntrospectionTest,
		},
		{
			ID: "RFC9701/5/type", Level: Must,
			Text:  "The Content-Type is application/token-introspection+jwt, and the typ of the JWT is token-introspection+jwt.",
			Needs: signedIntrospectionNeeds(),
			Check: func(t *T) {
				a := signedAbout(t, someTokens(t).Access)
				j := introspectionJWT(t, a)
				if a.MediaType() != signedIntrospectionType || j.Header["typ"] != "token-introspection+jwt" {
					t.Failf("the media type is %q, and typ is %s", a.MediaType(), Quoted(j.Header["typ"]))
				}
			},
		},
		{
			ID: "RFC9701/5/claims", Level: Must,
			Text:  "The JWT has iss, iat, token_introspection, and an aud that identifies the caller.",
			Needs: signedIntrospectionNeeds(),
			Check: func(t *T) {
				j := newTokenJWT(t)
				about, _ := j.Claims["token_introspection"].(map[string]any)
				if j.Text("iss") != t.Issuer() || j.Number("iat") < 0 || !slices.Contains(j.Audience(), t.Client(need.Introspect).ID) {
					t.Errorf("iss is %s, iat is %s, and aud is %s, want the issuer, a time and the caller", Quoted(j.Claims["iss"]), Quoted(j.Claims["iat"]), Quoted(j.Claims["aud"]))
				}
				if about["active"] != true {
					t.Errorf("token_introspection is %s, want an object with active: true", Quoted(j.Claims["token_introspection"]))
				}
			},
		},
		{
			ID: "RFC9701/5/inactive", Level: Must,
			Text:  "About a token that is not active, or that is not for the caller, token_introspection has active with the value false and nothing else.",
			Needs: signedIntrospectionNeeds(),
			Check: func(t *T) {
				about, _ := introspectionJWT(t, signedAbout(t, t.Random())).Claims["token_introspection"].(map[string]any)
				if len(about) != 1 || about["active"] != false {
					t.Failf("token_introspection about an invented token is %s, want active: false alone", Quoted(about))
				}
			},
		},
		{
			ID: "RFC9701/5/no-sub-exp", Level: Should,
			Text:  "The JWT has no sub and no exp at the top.",
			Needs: signedIntrospectionNeeds(),
			Check: func(t *T) {
				j := newTokenJWT(t)
				for _, name := range []string{"sub", "exp"} {
					if j.Claims[name] != nil {
						t.Errorf("the JWT has %s, so that it could be taken for another kind of JWT", name)
					}
				}
			},
		},
		{
			ID: "RFC9701/5/unauthenticated", Level: Must,
			Text:  "A request that does not authenticate the caller is refused with the status 400.",
			Needs: signedIntrospectionNeeds(),
			Check: func(t *T) {
				token := someTokens(t).Access
				introspectionJWT(t, signedAbout(t, token))
				t.WantStatus(t.Post(t.Endpoint(need.Introspection), wire.Params("token", token), wire.Header("Accept", signedIntrospectionType)), http.StatusBadRequest)
			},
		},
		{
			ID: "RFC9701/5/encryption", Level: May,
			Text:         "The response is encrypted for the caller.",
			Inapplicable: "Mandate signs responses and does not encrypt them; a registration that asks for encryption is refused.",
		},
		{
			ID: "RFC9701/6/algorithm", Level: Must,
			Text:  "The response is signed by the introspection_signed_response_alg of the caller, or by RS256.",
			Needs: signedIntrospectionNeeds(need.Keys),
			Check: func(t *T) {
				j := newTokenJWT(t)
				// The client introspection has not registered an algorithm.
				if j.Algorithm() != "RS256" {
					t.Failf("alg is %q, want RS256", j.Algorithm())
				}
				wantSignature(t, j, t.Client(need.Introspect))
			},
		},
		{
			ID: "RFC9701/7/metadata", Level: May,
			Text: "The metadata has introspection_signing_alg_values_supported.",
			Check: func(t *T) {
				m := publishedMetadata(t)
				if list, _ := m.List(introspectionAlgorithms); len(list) == 0 || slices.Contains(list, "none") {
					t.Failf("%s is %s, want a list without none", introspectionAlgorithms, Quoted(m[introspectionAlgorithms]))
				}
			},
		},
		{
			ID: "RFC9701/8.1/confusion", Level: Must,
			Text:     "The response is not accepted as an access token.",
			TestedBy: signedIntrospectionTest,
		},
	}
}
