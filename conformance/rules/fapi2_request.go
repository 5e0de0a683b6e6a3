package rules

import (
	"slices"
	"strings"
	"time"

	"mandate/conformance/check"
	"mandate/conformance/need"
	"mandate/conformance/target"
	"mandate/conformance/wire"
)

// wantAssertionRefused asserts that a pushed request is refused whose assertion is wrong in one claim.
func wantAssertionRefused(t *T, c *target.Client, why, claim string, value any) {
	wantNotPushed(t, pushedAs(t, c.Asserting(nil, map[string]any{claim: value})), why)
}

// assertingClient returns the client fapi2, for a rule about private_key_jwt. If it authenticates with a certificate, the
// check is skipped.
func assertingClient(t *T) *target.Client {
	c := t.Client(need.FAPI)
	if need.ByCertificate(c.Auth) {
		t.Skipf("the rule applies to clients that authenticate by private_key_jwt: the client fapi2 does so with a certificate")
	}
	return c
}

// fapi2Assertions returns the rules about the authentication of clients (§5.3.2.1).
func fapi2Assertions() []Rule {
	return []Rule{
		{
			ID: "FAPI2/5.3.2.1/issuer-audience", Level: Must,
			Text:  "The audience of an assertion is the issuer, as a string.",
			Needs: fapiNeeds(),
			Check: func(t *T) {
				c := assertingClient(t)
				fapiRequest(t)
				for _, aud := range []any{[]string{t.Issuer()}, []string{t.Issuer(), "https://other.example"}, t.Endpoint(need.PushedRequests), t.OptionalEndpoint(need.Token), "https://other.example"} {
					wantAssertionRefused(t, c, "aud of the assertion was "+Quoted(aud), "aud", aud)
				}
			},
		},
		{
			ID: "FAPI2/5.3.2.1/clock-ahead", Level: Must,
			Text:  "A JWT whose iat or nbf is up to 10 seconds ahead is accepted.",
			Needs: fapiNeeds(),
			Check: func(t *T) {
				c := assertingClient(t)
				fapiRequest(t)
				for _, claim := range []string{"iat", "nbf"} {
					a := pushedAs(t, c.Asserting(nil, map[string]any{claim: time.Now().Unix() + 8}))
					if a.Text("request_uri") == "" {
						t.At(a)
						t.Errorf("an assertion whose %s is 8 seconds ahead is refused: %s", claim, a.Failure())
					}
				}
			},
		},
		{
			ID: "FAPI2/5.3.2.1/not-of-the-future", Level: Must,
			Text:  "A JWT whose iat or nbf is more than 60 seconds ahead is refused.",
			Needs: fapiNeeds(),
			Check: func(t *T) {
				c := assertingClient(t)
				fapiRequest(t)
				for _, claim := range []string{"iat", "nbf"} {
					at := time.Now().Unix() + 70
					wantNotPushed(t, pushedAs(t, c.Asserting(nil, map[string]any{claim: at, "exp": at + 60})), claim+" of the assertion was 70 seconds ahead")
				}
			},
		},
	}
}

// fapi2Flow returns the rules about the authorization request (§5.3.2.2).
func fapi2Flow() []Rule {
	return []Rule{
		{
			ID: "FAPI2/5.3.2.2/code-only", Level: Must,
			Text:  "A request needs the response_type code.",
			Needs: fapiNeeds(need.User),
			Check: func(t *T) {
				t.Code(fapiRequest(t))
				for _, kind := range []string{"token", "code id_token"} {
					wantFAPIRefused(t, "response_type was "+kind, func(r *check.Request) *check.Request { return r.Set("response_type", kind) })
				}
			},
		},
		{
			ID: "FAPI2/5.3.2.2/pushed-only", Level: Must,
			Text:  "A request that was not pushed is refused.",
			Needs: fapiNeeds(need.User),
			Check: func(t *T) {
				t.Code(fapiRequest(t))
				t.WantNoCode(t.Authorize(t.Request(t.Client(need.FAPI))), "the request was not pushed")
			},
		},
		{
			ID: "FAPI2/5.3.2.2/push-authenticated", Level: Must,
			Text:  "A pushed request is refused without client authentication.",
			Needs: fapiNeeds(),
			Check: func(t *T) {
				fapiRequest(t)
				c := t.Client(need.FAPI)
				wantNotPushed(t, pushedAs(t, wire.InBody(c.ID, "")), "the client did not authenticate")
				if !need.ByCertificate(c.Auth) {
					wantNotPushed(t, pushedAs(t, c.With("")), "nobody has registered the key of the assertion")
					return
				}
				for _, as := range []wire.Auth{wire.InBody(c.ID, ""), wire.Certificate(c.ID, t.ForgedCertificate(c))} {
					t.UnlessTLSEnds(func() {
						wantNotPushed(t, t.AtAlias(need.PushedRequests, t.Request(c).Params, as), "the request had no certificate, or one that nobody has registered")
					})
				}
			},
		},
		{
			ID: "FAPI2/5.3.2.2/pkce", Level: Must,
			Text:  "A request needs PKCE with S256.",
			Needs: fapiNeeds(need.User),
			Check: func(t *T) {
				t.Code(fapiRequest(t))
				wantFAPIRefused(t, "the request had no code_challenge", func(r *check.Request) *check.Request { return r.Del("code_challenge", "code_challenge_method") })
				wantFAPIRefused(t, "code_challenge_method was plain", func(r *check.Request) *check.Request {
					return r.Set("code_challenge", r.Verifier).Set("code_challenge_method", "plain")
				})
			},
		},
		{
			ID: "FAPI2/5.3.2.2/redirect-uri", Level: Must,
			Text:  "A pushed request needs redirect_uri.",
			Needs: fapiNeeds(),
			Check: func(t *T) {
				fapiRequest(t)
				wantNotPushed(t, t.Push(t.Request(t.Client(need.FAPI)).Del("redirect_uri")), "the request had no redirect_uri")
			},
		},
		{
			ID: "FAPI2/5.3.2.2/iss", Level: Must,
			Text:  "The response has iss (RFC 9207).",
			Needs: fapiNeeds(need.User),
			Check: func(t *T) {
				response := t.Authorize(fapiRequest(t))
				t.CodeOf(response)
				if got := response.Params.Get("iss"); got != t.Issuer() {
					t.Errorf("iss of the response is %s, want %s", Quoted(got), t.Issuer())
				}
				if !t.Metadata().Is(issSupported) {
					t.Errorf("%s of the metadata is %s, want true", issSupported, Quoted(t.Metadata()[issSupported]))
				}
			},
		},
		{
			ID: "FAPI2/5.3.2.2/no-http-redirect-uris", Level: Must,
			Text:     "A redirect URI with http is refused, except for a native client on the same computer.",
			TestedBy: profileTest,
		},
		{
			ID: "FAPI2/5.3.2.2/request-uri-lifetime", Level: Must,
			Text:  "A request URI expires in less than 600 seconds.",
			Needs: fapiNeeds(),
			Check: func(t *T) {
				fapiRequest(t)
				if seconds := lifetime(t.Last()); seconds <= 0 || seconds >= 600 {
					t.Failf("expires_in is %s, want 1 to 599", Quoted(t.Last().JSON()["expires_in"]))
				}
			},
		},
	}
}

// fapi2Cryptography returns the rules about algorithms and keys (§5.4).
func fapi2Cryptography() []Rule {
	return []Rule{
		{
			ID: "FAPI2/5.4.1/assertions", Level: Must,
			Text:  "An assertion with RS256 is refused.",
			Needs: fapiNeeds(),
			Check: func(t *T) {
				c := assertingClient(t)
				fapiRequest(t)
				key := c.Signer.By("RS256")
				if c.Signer.Algorithm[:2] != "PS" {
					t.Skipf("the rule needs a client fapi2 with an RSA key")
				}
				wantNotPushed(t, pushedAs(t, c.Assertion(func() string { return key.Sign(nil, c.Claims()) })), "the assertion was signed with RS256")
			},
		},
		{
			ID: "FAPI2/5.4.1/proofs", Level: Must,
			Text:  "A proof with RS256 is refused.",
			Needs: fapiNeeds(),
			Check: func(t *T) {
				pushTaken(t, pushProven(t, fapiProver(t), t.Request(t.Client(need.FAPI))))
				wantNotPushed(t, pushProven(t, t.ProverBy("RS256"), t.Request(t.Client(need.FAPI))), "the proof was signed with RS256")
			},
		},
		{
			ID: "FAPI2/5.4.1/id-tokens", Level: Must,
			Text:  "An ID token has PS256, ES256 or EdDSA.",
			Needs: fapiFlowNeeds(need.OpenID),
			Check: func(t *T) {
				tokens := t.Granted(redeemHeld(t, t.Code(t.Pushed(t.OpenID(t.Client(need.FAPI)))), fapiHolder(t)))
				if got := t.IDToken(tokens).Algorithm(); !slices.Contains(fapiSigning, got) {
					t.Failf("alg of the ID token is %q, want %s", got, strings.Join(fapiSigning, " or "))
				}
			},
		},
		{
			ID: "FAPI2/5.4.1/listed", Level: Must,
			Text: "Each list of signature algorithms in the metadata has one that the profile allows.",
			Check: func(t *T) {
				m := publishedMetadata(t)
				for _, of := range []string{"token_endpoint_auth", "id_token", "dpop", "request_object", "authorization", "introspection"} {
					name := of + "_signing_alg_values_supported"
					list, is := m.List(name)
					if is && !slices.ContainsFunc(list, func(one string) bool { return slices.Contains(fapiSigning, one) }) {
						t.Errorf("%s is %s, want one of %s", name, Quoted(m[name]), strings.Join(fapiSigning, ", "))
					}
				}
			},
		},
		{
			ID: "FAPI2/5.4.1/rsa-keys", Level: Must,
			Text:  "The RSA keys of the server have 2048 bits or more.",
			Needs: []Need{need.Keys},
			Check: func(t *T) {
				for _, k := range t.Keys() {
					if bits := len(k.N) * 6; k.Type == "RSA" && bits < 2048 {
						t.Errorf("the key %q has some %d bits", k.ID, bits)
					}
				}
			},
		},
		{
			ID: "FAPI2/5.4.1/ec-keys", Level: Must,
			Text:  "The elliptic curve keys of the server have 224 bits or more.",
			Needs: []Need{need.Keys},
			Check: func(t *T) {
				for _, k := range t.Keys() {
					if bits := len(k.X) * 6; (k.Type == "EC" || k.Type == "OKP") && bits < 224 {
						t.Errorf("the key %q has some %d bits", k.ID, bits)
					}
				}
			},
		},
		sameCheckAs(rfc6749(), "RFC6749/10.10/codes-cannot-be-guessed", Rule{ID: "FAPI2/5.4.1/entropy", Level: Must, Text: "Codes and tokens have 128 random bits."}),
		sameCheckAs(rfc8414(), "RFC8414/2/jwks-uri-https", Rule{ID: "FAPI2/5.4.2/tls", Level: Must, Text: "jwks_uri uses TLS."}),
		{
			ID: "FAPI2/5.4.2/key-ids", Level: Should,
			Text:  "Each key of the server has a kid, and no other one has the same.",
			Needs: []Need{need.Keys},
			Check: func(t *T) {
				var seen []string
				for _, k := range t.Keys() {
					if k.ID == "" || slices.Contains(seen, k.ID) {
						t.Errorf("the kid %q is empty, or that of another key", k.ID)
					}
					seen = append(seen, k.ID)
				}
			},
		},
	}
}
