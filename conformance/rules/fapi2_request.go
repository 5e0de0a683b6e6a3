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

// assertingClient returns the client fapi2, for a rule about private_key_jwt. If it authenticates with a certificate,
// the check is skipped.
func assertingClient(t *T) *target.Client {
	c := t.Client(need.FAPI)
	if need.ByCertificate(c.Auth) {
		t.Skipf("the rule applies to clients that authenticate by private_key_jwt: the client fapi2 does so with a " +
			"certificate")
	}
	return c
}

// fapi2Assertions has the checks of the rules about the authentication of clients (§5.3.2.1).
var fapi2Assertions = checks{
	"FAPI2/5.3.2.1/issuer-audience": func(t *T) {
		c := assertingClient(t)
		fapiRequest(t)
		for _, aud := range []any{[]string{t.Issuer()}, []string{t.Issuer(), "https://other.example"},
			t.Endpoint(need.PushedRequests), t.OptionalEndpoint(need.Token), "https://other.example"} {
			wantAssertionRefused(t, c, "aud of the assertion was "+Quoted(aud), "aud", aud)
		}
	},
	"FAPI2/5.3.2.1/clock-ahead": func(t *T) {
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
	"FAPI2/5.3.2.1/not-of-the-future": func(t *T) {
		c := assertingClient(t)
		fapiRequest(t)
		for _, claim := range []string{"iat", "nbf"} {
			at := time.Now().Unix() + 70
			wantNotPushed(t, pushedAs(t, c.Asserting(nil, map[string]any{claim: at, "exp": at + 60})),
				claim+" of the assertion was 70 seconds ahead")
		}
	},
}

// fapi2Flow has the checks of the rules about the authorization request (§5.3.2.2).
var fapi2Flow = checks{
	"FAPI2/5.3.2.2/code-only": func(t *T) {
		t.Code(fapiRequest(t))
		for _, kind := range []string{"token", "code id_token"} {
			wantFAPIRefused(t, "response_type was "+kind,
				func(r *check.Request) *check.Request { return r.Set("response_type", kind) })
		}
	},
	"FAPI2/5.3.2.2/pushed-only": func(t *T) {
		t.Code(fapiRequest(t))
		t.WantNoCode(t.Authorize(t.Request(t.Client(need.FAPI))), "the request was not pushed")
	},
	"FAPI2/5.3.2.2/push-authenticated": func(t *T) {
		fapiRequest(t)
		c := t.Client(need.FAPI)
		wantNotPushed(t, pushedAs(t, wire.InBody(c.ID, "")), "the client did not authenticate")
		if !need.ByCertificate(c.Auth) {
			wantNotPushed(t, pushedAs(t, c.With("")), "nobody has registered the key of the assertion")
			return
		}
		for _, as := range []wire.Auth{wire.InBody(c.ID, ""), wire.Certificate(c.ID, t.ForgedCertificate(c))} {
			t.UnlessTLSEnds(func() {
				wantNotPushed(t, t.AtAlias(need.PushedRequests, t.Request(c).Params, as),
					"the request had no certificate, or one that nobody has registered")
			})
		}
	},
	"FAPI2/5.3.2.2/pkce": func(t *T) {
		t.Code(fapiRequest(t))
		wantFAPIRefused(t, "the request had no code_challenge",
			func(r *check.Request) *check.Request { return r.Del("code_challenge", "code_challenge_method") })
		wantFAPIRefused(t, "code_challenge_method was plain", func(r *check.Request) *check.Request {
			return r.Set("code_challenge", r.Verifier).Set("code_challenge_method", "plain")
		})
	},
	"FAPI2/5.3.2.2/redirect-uri": func(t *T) {
		fapiRequest(t)
		wantNotPushed(t, t.Push(t.Request(t.Client(need.FAPI)).Del("redirect_uri")), "the request had no redirect_uri")
	},
	"FAPI2/5.3.2.2/iss": func(t *T) {
		response := t.Authorize(fapiRequest(t))
		t.CodeOf(response)
		if got := response.Params.Get("iss"); got != t.Issuer() {
			t.Errorf("iss of the response is %s, want %s", Quoted(got), t.Issuer())
		}
		if !t.Metadata().Is(issSupported) {
			t.Errorf("%s of the metadata is %s, want true", issSupported, Quoted(t.Metadata()[issSupported]))
		}
	},
	"FAPI2/5.3.2.2/request-uri-lifetime": func(t *T) {
		fapiRequest(t)
		if seconds := lifetime(t.Last()); seconds <= 0 || seconds >= 600 {
			t.Failf("expires_in is %s, want 1 to 599", Quoted(t.Last().JSON()["expires_in"]))
		}
	},
}

// fapi2Cryptography has the checks of the rules about algorithms and keys (§5.4).
var fapi2Cryptography = checks{
	"FAPI2/5.4.1/assertions": func(t *T) {
		c := assertingClient(t)
		fapiRequest(t)
		key := c.Signer.By("RS256")
		if c.Signer.Algorithm[:2] != "PS" {
			t.Skipf("the rule needs a client fapi2 with an RSA key")
		}
		wantNotPushed(t, pushedAs(t, c.Assertion(func() string { return key.Sign(nil, c.Claims()) })),
			"the assertion was signed with RS256")
	},
	"FAPI2/5.4.1/proofs": func(t *T) {
		pushTaken(t, pushProven(t, fapiProver(t), t.Request(t.Client(need.FAPI))))
		wantNotPushed(t, pushProven(t, t.ProverBy("RS256"), t.Request(t.Client(need.FAPI))),
			"the proof was signed with RS256")
	},
	"FAPI2/5.4.1/id-tokens": func(t *T) {
		tokens := t.Granted(redeemHeld(t, t.Code(t.Pushed(t.OpenID(t.Client(need.FAPI)))), fapiHolder(t)))
		if got := t.IDToken(tokens).Algorithm(); !slices.Contains(fapiSigning, got) {
			t.Failf("alg of the ID token is %q, want %s", got, strings.Join(fapiSigning, " or "))
		}
	},
	"FAPI2/5.4.1/listed": func(t *T) {
		m := publishedMetadata(t)
		for _, of := range []string{"token_endpoint_auth", "id_token", "dpop", "request_object", "authorization",
			"introspection"} {
			name := of + "_signing_alg_values_supported"
			list, is := m.List(name)
			if is && !slices.ContainsFunc(list, func(one string) bool { return slices.Contains(fapiSigning, one) }) {
				t.Errorf("%s is %s, want one of %s", name, Quoted(m[name]), strings.Join(fapiSigning, ", "))
			}
		}
	},
	"FAPI2/5.4.1/rsa-keys": func(t *T) {
		for _, k := range t.Keys() {
			if bits := len(k.N) * 6; k.Type == "RSA" && bits < 2048 {
				t.Errorf("the key %q has some %d bits", k.ID, bits)
			}
		}
	},
	"FAPI2/5.4.1/ec-keys": func(t *T) {
		for _, k := range t.Keys() {
			if bits := len(k.X) * 6; (k.Type == "EC" || k.Type == "OKP") && bits < 224 {
				t.Errorf("the key %q has some %d bits", k.ID, bits)
			}
		}
	},
	"FAPI2/5.4.2/key-ids": func(t *T) {
		var seen []string
		for _, k := range t.Keys() {
			if k.ID == "" || slices.Contains(seen, k.ID) {
				t.Errorf("the kid %q is empty, or that of another key", k.ID)
			}
			seen = append(seen, k.ID)
		}
	},
}
