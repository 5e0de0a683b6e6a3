package rules

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"mandate/conformance/check"
	"mandate/conformance/need"
	"mandate/conformance/target"
	"mandate/conformance/wire"
)

const profileTest = "conformance/mandate/profile_test.go:TestProfile"

// fapiNeeds returns what a check needs that pushes requests of the client fapi2.
func fapiNeeds(more ...Need) []Need {
	return append([]Need{need.FAPI, need.PushedRequests, need.Authorization}, more...)
}

// fapiFlowNeeds returns what a check needs that gets tokens for the client fapi2.
func fapiFlowNeeds(more ...Need) []Need { return fapiNeeds(append(more, need.User, need.Token)...) }

// fapi2 returns the rules about an authorization server of the FAPI 2.0 Security Profile. They are for the clients fapi2 and
// second-fapi2, because such a server may have no others. The target says how they authenticate, and what their tokens are
// bound to.
func fapi2() []Rule {
	return slices.Concat(fapi2Network(), fapi2General(), fapi2Assertions(), fapi2Flow(), fapi2Code(), fapi2Identifier(), fapi2Resource(), fapi2Cryptography())
}

// fapiSigning are the algorithms of the profile.
var fapiSigning = []string{"PS256", "ES256", "EdDSA", "Ed25519"}

// fapiMethods are the methods of client authentication that the profile allows (§5.3.2.1).
func fapiMethods() []string {
	role, _ := need.RoleOf(need.FAPI)
	return role.AuthMethods()
}

// pushedAs pushes a good request of the client fapi2 with other authentication.
func pushedAs(t *T, as wire.Auth) *wire.Answer {
	return t.PushAs(as, t.Request(t.Client(need.FAPI)).Params)
}

// fapiRequest returns a pushed request of the client fapi2.
func fapiRequest(t *T) *check.Request { return t.Pushed(t.Request(t.Client(need.FAPI))) }

// fapiHolder returns what the tokens of the client fapi2 are bound to.
func fapiHolder(t *T) *check.Holder { return t.Holder(t.Client(need.FAPI)) }

// fapiProver returns the same for a rule about DPoP. If the tokens are bound to a certificate, the check is skipped.
func fapiProver(t *T) *check.Prover {
	if c := t.Client(need.FAPI); c.Binding == need.BoundToCertificate {
		t.Skipf("the rule applies to servers with DPoP: the tokens of the client fapi2 are bound to its certificate")
	}
	return t.Prover()
}

// redeemHeld sends the token request for a code, with the proof or the certificate of a holder.
func redeemHeld(t *T, c *check.Code, h *check.Holder) *wire.Answer {
	return t.Token(c.Request.Client, c.Form(), h.Sending(need.Token))
}

// fapiTokens returns tokens of the client fapi2, which are bound to a key or to a certificate.
func fapiTokens(t *T, h *check.Holder) *check.Tokens {
	return t.Granted(redeemHeld(t, t.Code(fapiRequest(t)), h))
}

// wantFAPIRefused asserts that a request that is wrong in one place is refused, when it is pushed or when the browser opens it.
func wantFAPIRefused(t *T, why string, change func(*check.Request) *check.Request) {
	r := change(t.Request(t.Client(need.FAPI)))
	a := t.Push(r)
	if r.URI = a.Text("request_uri"); r.URI == "" {
		wantNotPushed(t, a, why)
		return
	}
	t.WantNoCode(t.Authorize(r), why)
}

// fapi2Network returns the rules about the network (§5.2).
func fapi2Network() []Rule {
	best := rfc9700()
	return []Rule{
		sameCheckAs(best, "RFC9700/2.6/a52-tls", Rule{ID: "FAPI2/5.2.1/tls", Level: Must, Text: "Every endpoint uses TLS."}),
		{
			ID: "FAPI2/5.2.2/tls-version", Level: Must,
			Text:     "Endpoints for programs use TLS 1.2 or later, with the recommended cipher suites alone.",
			TestedBy: "app/httpserve/certificate_test.go:TestVersionsAndSuites",
		},
		{
			ID: "FAPI2/5.2.3/no-cors-at-authorization", Level: Must,
			Text:  "A script of another site cannot call the authorization endpoint.",
			Needs: fapiNeeds(),
			Check: func(t *T) {
				address := fapiRequest(t).URL()
				if allowed := t.Get(address, crossOrigin).Header.Get("Access-Control-Allow-Origin"); allowed != "" && allowed != wire.Origin(address) {
					t.Failf("the answer has Access-Control-Allow-Origin: %s", allowed)
				}
			},
		},
	}
}

// fapi2General returns the rules of §5.3.2.1, except those about assertions and codes.
func fapi2General() []Rule {
	return []Rule{
		sameCheckAs(mcp(), "MCP/M2/metadata", Rule{ID: "FAPI2/5.3.2.1/metadata", Level: Must, Text: "The server publishes its metadata at an address of RFC 8414 or of OpenID Connect Discovery."}),
		{
			ID: "FAPI2/5.3.2.1/no-password-grant", Level: Must,
			Text:  "The server refuses the password grant.",
			Needs: fapiFlowNeeds(),
			Check: func(t *T) {
				fapiTokens(t, fapiHolder(t))
				u := t.User()
				form := wire.Params("grant_type", need.GrantPassword, "username", u.Username, "password", u.Password)
				t.WantRefused(t.Token(t.Client(need.FAPI), form, fapiHolder(t).Sending(need.Token)), "the request had the grant type password")
			},
		},
		{
			ID: "FAPI2/5.3.2.1/confidential-clients", Level: Must,
			Text:     "The server supports only confidential clients.",
			TestedBy: profileTest,
		},
		{
			ID: "FAPI2/5.3.2.1/sender-constrained", Level: Must,
			Text:  "Access tokens are bound to a key or to a certificate, and a request that binds its token to nothing is refused.",
			Needs: fapiFlowNeeds(),
			Check: func(t *T) {
				h := fapiHolder(t)
				tokens := fapiTokens(t, h)
				// A client that authenticates with a certificate always sends one, to which a server can bind its tokens.
				if !need.ByCertificate(t.Client(need.FAPI).Auth) {
					t.WantRefused(t.Redeem(t.Code(fapiRequest(t))), "the request had neither a proof nor a certificate")
				}
				wantHeld(t, h, tokens)
			},
		},
		{
			ID: "FAPI2/5.3.2.1/authentication-methods", Level: Must,
			Text: "Clients authenticate by private_key_jwt or with a certificate.",
			Check: func(t *T) {
				const name = "token_endpoint_auth_methods_supported"
				m := publishedMetadata(t)
				listed := metadataList(t, m, name)
				if !slices.ContainsFunc(fapiMethods(), func(method string) bool { return slices.Contains(listed, method) }) {
					t.Failf("%s is %s, want one of the methods", name, Quoted(m[name]))
				}
			},
		},
		{
			ID: "FAPI2/5.3.2.1/no-secrets", Level: Must,
			Text:  "A client gets nothing by a secret.",
			Needs: fapiNeeds(),
			Check: func(t *T) {
				fapiRequest(t)
				c := t.Client(need.FAPI)
				for method, as := range secretMethods(&target.Client{ID: c.ID, Secret: t.Random()}) {
					wantNotPushed(t, pushedAs(t, as), "the client authenticated by "+method)
				}
			},
		},
		{
			ID: "FAPI2/5.3.2.1/no-open-redirector", Level: Must,
			Text:  "The server is no open redirector.",
			Needs: fapiNeeds(need.User),
			Check: func(t *T) { wantNoOpenRedirector(t, fapiRequest(t)) },
		},
		{
			ID: "FAPI2/5.3.2.1/no-rotation", Level: Must,
			Text:  "The refresh token stays the same when it is used.",
			Needs: fapiFlowNeeds(),
			Check: func(t *T) {
				c, h := t.Client(need.FAPI), fapiHolder(t)
				first := t.WithRefresh(c, fapiTokens(t, h))
				for range 2 {
					form := wire.Params("grant_type", "refresh_token", "refresh_token", first.Refresh)
					if next := t.WantGranted(t.Token(c, form, h.Sending(need.Token))); next.Refresh != "" && next.Refresh != first.Refresh {
						t.Failf("the refresh token was replaced by another one")
					}
				}
			},
		},
		{
			ID: "FAPI2/5.3.2.1/dpop-nonces", Level: May,
			Text:     "The server demands nonces in proofs.",
			TestedBy: "conformance/mandate/dpop_nonce_test.go:TestDPoPNonce",
		},
		{
			ID: "FAPI2/5.3.2.1/least-privilege", Level: Should,
			Text:  "An access token has no more scope than its request.",
			Needs: fapiFlowNeeds(),
			Check: func(t *T) {
				h, r := fapiHolder(t), fapiRequest(t)
				all := t.Scopes(t.Granted(redeemHeld(t, t.Code(r), h)), r.Params.Get("scope"))
				less := scopedTokens(t, h, all[0])
				// A server can add scopes that every client has.
				if got := strings.Fields(less.Scope); less.Scope != "" && !slices.ContainsFunc(all, func(scope string) bool { return !slices.Contains(got, scope) }) {
					t.At(less.Answer)
					t.Failf("the scope %s was requested, but the token has all scopes of the client: %q", all[0], less.Scope)
				}
			},
		},
	}
}

// scopedTokens returns tokens of the client fapi2 with a scope. If the client may not request it, the check is skipped.
func scopedTokens(t *T, h *check.Holder, scope string) *check.Tokens {
	r := t.Request(t.Client(need.FAPI)).Set("scope", scope)
	if scope == "" {
		r.Del("scope") // the server chooses
	}
	a := t.Push(r)
	if r.URI = a.Text("request_uri"); r.URI == "" {
		t.Skipf("the rule needs a client fapi2 that may request the scope %q: %s", scope, t.Failure(a))
	}
	return t.Granted(redeemHeld(t, t.Code(r), h))
}

// fapi2Code returns the rules about codes and redirects (§5.3.2.1, §5.3.2.2).
func fapi2Code() []Rule {
	return []Rule{
		{
			ID: "FAPI2/5.3.2.1/code-lifetime", Level: Must,
			Text:  "A code works for 60 seconds at most.",
			Needs: fapiFlowNeeds(),
			Check: func(t *T) {
				h, code := fapiHolder(t), t.Code(fapiRequest(t))
				waitAtServer(t, check.ServerTime(fapiTokens(t, h).Answer), 62)
				t.WantRefused(redeemHeld(t, code, h), "the code was issued 62 seconds before")
			},
		},
		{
			ID: "FAPI2/5.3.2.1/code-bound", Level: Must,
			Text:  "The server supports codes that are bound to a key by dpop_jkt and by the proof of the pushed request.",
			Needs: fapiFlowNeeds(),
			Check: func(t *T) {
				p := fapiProver(t)
				bound := func() *check.Code {
					return t.Code(t.Pushed(t.Request(t.Client(need.FAPI)).Set("dpop_jkt", p.Thumbprint())))
				}
				t.Granted(redeemProven(t, bound(), p))
				t.WantRefused(redeemProven(t, bound(), t.Prover()), "the proof was by another key than dpop_jkt")
				pushed := t.Request(t.Client(need.FAPI))
				if pushed.URI = pushProven(t, p, pushed).Text("request_uri"); pushed.URI == "" {
					t.Failf("a pushed request with a proof is refused: %s", t.Last().Failure())
				}
				t.WantRefused(redeemProven(t, t.Code(pushed), t.Prover()), "the proof was by another key than that of the pushed request")
			},
		},
		{
			ID: "FAPI2/5.3.2.2/code-once", Level: Must, Alone: true,
			Text:  "A code that has been used is refused.",
			Needs: fapiFlowNeeds(),
			Check: func(t *T) {
				h, code := fapiHolder(t), t.Code(fapiRequest(t))
				t.Granted(redeemHeld(t, code, h))
				t.WantRefused(redeemHeld(t, code, h), "the code had been used")
			},
		},
		{
			ID: "FAPI2/5.3.2.2/code-of-client", Level: Must,
			Text:  "A code is refused if another client sends it.",
			Needs: fapiFlowNeeds(need.SecondFAPI),
			Check: func(t *T) {
				thief := t.Client(need.SecondFAPI)
				fapiTokens(t, fapiHolder(t))
				t.WantRefused(t.Token(thief, t.Code(fapiRequest(t)).Form(), t.Holder(thief).Sending(need.Token)), "another client sent the code")
			},
		},
		{
			ID: "FAPI2/5.3.2.2/no-307", Level: Must,
			Text:  "The server does not redirect with 307 a request that can have credentials.",
			Needs: fapiNeeds(need.User),
			Check: func(t *T) { wantRedirects(t, func(status int) bool { return status != http.StatusTemporaryRedirect }) },
		},
		{
			ID: "FAPI2/5.3.2.2/303", Level: Should,
			Text:  "The server redirects with 303 after a form.",
			Needs: fapiNeeds(need.User),
			Check: func(t *T) { wantRedirects(t, func(status int) bool { return status == http.StatusSeeOther }) },
		},
		{
			ID: "FAPI2/5.3.2.2/consent", Level: Should,
			Text:     "The consent page says who asks, and for what.",
			TestedBy: "conformance/mandate/browser_consent_test.go:TestBrowserConsent",
		},
		{
			ID: "FAPI2/5.3.2.2/nonce", Level: Must,
			Text:  "A nonce of 64 characters is accepted, and returned in the ID token.",
			Needs: fapiFlowNeeds(need.OpenID),
			Check: func(t *T) {
				nonce := strings.Repeat("n", 64-len(t.Random())) + t.Random()
				r := t.Pushed(t.OpenID(t.Client(need.FAPI)).Set("nonce", nonce))
				if got := t.IDToken(t.Granted(redeemHeld(t, t.Code(r), fapiHolder(t)))).Text("nonce"); got != nonce {
					t.Failf("nonce of the ID token has %d characters, want the 64 that were sent", len(got))
				}
			},
		},
	}
}

// waitAtServer waits until the clock of the server has passed a time by some seconds.
func waitAtServer(t *T, from, seconds float64) {
	for range 20 {
		left := from + seconds - check.ServerTime(t.Get(t.Endpoint(need.Token)))
		if left <= 0 {
			return
		}
		t.Pause(time.Duration(min(left, 10) * float64(time.Second)))
	}
	t.Blockedf("the clock of the server is slow, so that a code does not expire")
}

// wantRedirects asserts the status of the redirects by which the server answers a form of a new browser.
func wantRedirects(t *T, good func(status int) bool) {
	response := t.Walk(t.NewBrowser(), fapiRequest(t), true)
	for _, a := range response.Seen {
		if a.Method == http.MethodPost && a.Status/100 == 3 && !good(a.Status) {
			t.At(a)
			t.Failf("a form is answered with %s", a)
		}
	}
	t.CodeOf(response)
}

// fapi2Identifier returns the rule about the identifier of a person (§5.3.2.3).
func fapi2Identifier() []Rule {
	return []Rule{
		{
			ID: "FAPI2/5.3.2.3/user-identifier", Level: Must,
			Text:  "A server that gives clients an identifier of the person does so by OpenID Connect: the ID token has it as sub.",
			Needs: fapiFlowNeeds(need.OpenID, need.Keys),
			Check: func(t *T) {
				c := t.Client(need.FAPI)
				tokens := t.Granted(redeemHeld(t, t.Code(t.Pushed(t.OpenID(c))), t.Holder(c)))
				if tokens.ID == "" {
					t.At(tokens.Answer)
					t.Failf("the scope openid was requested, and the response has no ID token")
				}
				j := t.IDToken(tokens)
				if j.Text("sub") == "" || j.Text("iss") != t.Issuer() || !slices.Contains(j.Audience(), c.ID) {
					t.At(tokens.Answer)
					t.Failf("sub of the ID token is %s, iss is %s, and aud is %s, want the person, the issuer and the client", Quoted(j.Claims["sub"]), Quoted(j.Claims["iss"]), Quoted(j.Claims["aud"]))
				}
				wantSignature(t, j, c)
			},
		},
	}
}
