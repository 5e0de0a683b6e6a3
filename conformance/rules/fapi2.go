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

// wantFAPIRefused asserts that a request that is wrong in one place is refused, when it is pushed or when the browser
// opens it.
func wantFAPIRefused(t *T, why string, change func(*check.Request) *check.Request) {
	r := change(t.Request(t.Client(need.FAPI)))
	a := t.Push(r)
	if r.URI = a.Text("request_uri"); r.URI == "" {
		wantNotPushed(t, a, why)
		return
	}
	t.WantNoCode(t.Authorize(r), why)
}

// fapi2Network has the checks of the rules about the network (§5.2).
var fapi2Network = checks{
	"FAPI2/5.2.3/no-cors-at-authorization": func(t *T) {
		address := fapiRequest(t).URL()
		if allowed := t.Get(address, crossOrigin).Header.Get("Access-Control-Allow-Origin"); allowed != "" &&
			allowed != wire.Origin(address) {
			t.Failf("the answer has Access-Control-Allow-Origin: %s", allowed)
		}
	},
}

// fapi2General has the checks of the rules of §5.3.2.1, except those about assertions and codes.
var fapi2General = checks{
	"FAPI2/5.3.2.1/no-password-grant": func(t *T) {
		fapiTokens(t, fapiHolder(t))
		u := t.User()
		form := wire.Params("grant_type", need.GrantPassword, "username", u.Username, "password", u.Password)
		t.WantRefused(t.Token(t.Client(need.FAPI), form, fapiHolder(t).Sending(need.Token)),
			"the request had the grant type password")
	},
	"FAPI2/5.3.2.1/sender-constrained": func(t *T) {
		h := fapiHolder(t)
		tokens := fapiTokens(t, h)
		// A client that authenticates with a certificate always sends one, to which a server can bind its tokens.
		if !need.ByCertificate(t.Client(need.FAPI).Auth) {
			t.WantRefused(t.Redeem(t.Code(fapiRequest(t))), "the request had neither a proof nor a certificate")
		}
		wantHeld(t, h, tokens)
	},
	"FAPI2/5.3.2.1/authentication-methods": func(t *T) {
		const name = "token_endpoint_auth_methods_supported"
		m := publishedMetadata(t)
		listed := metadataList(t, m, name)
		if !slices.ContainsFunc(fapiMethods(), func(method string) bool { return slices.Contains(listed, method) }) {
			t.Failf("%s is %s, want one of the methods", name, Quoted(m[name]))
		}
	},
	"FAPI2/5.3.2.1/no-secrets": func(t *T) {
		fapiRequest(t)
		c := t.Client(need.FAPI)
		for method, as := range secretMethods(&target.Client{ID: c.ID, Secret: t.Random()}) {
			wantNotPushed(t, pushedAs(t, as), "the client authenticated by "+method)
		}
	},
	"FAPI2/5.3.2.1/no-open-redirector": func(t *T) { wantNoOpenRedirector(t, fapiRequest(t)) },
	"FAPI2/5.3.2.1/no-rotation": func(t *T) {
		c, h := t.Client(need.FAPI), fapiHolder(t)
		first := t.WithRefresh(c, fapiTokens(t, h))
		for range 2 {
			form := wire.Params("grant_type", "refresh_token", "refresh_token", first.Refresh)
			if next := t.WantGranted(t.Token(c, form, h.Sending(need.Token))); next.Refresh != "" &&
				next.Refresh != first.Refresh {
				t.Failf("the refresh token was replaced by another one")
			}
		}
	},
	"FAPI2/5.3.2.1/least-privilege": func(t *T) {
		h, r := fapiHolder(t), fapiRequest(t)
		all := t.Scopes(t.Granted(redeemHeld(t, t.Code(r), h)), r.Params.Get("scope"))
		less := scopedTokens(t, h, all[0])
		// A server can add scopes that every client has.
		if got := strings.Fields(less.Scope); less.Scope != "" &&
			!slices.ContainsFunc(all, func(scope string) bool { return !slices.Contains(got, scope) }) {
			t.At(less.Answer)
			t.Failf("the scope %s was requested, but the token has all scopes of the client: %q", all[0], less.Scope)
		}
	},
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

// fapi2Code has the checks of the rules about codes and redirects (§5.3.2.1, §5.3.2.2).
var fapi2Code = checks{
	"FAPI2/5.3.2.1/code-lifetime": func(t *T) {
		h, code := fapiHolder(t), t.Code(fapiRequest(t))
		waitAtServer(t, check.ServerTime(fapiTokens(t, h).Answer), 62)
		t.WantRefused(redeemHeld(t, code, h), "the code was issued 62 seconds before")
	},
	"FAPI2/5.3.2.1/code-bound": func(t *T) {
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
		t.WantRefused(redeemProven(t, t.Code(pushed), t.Prover()), "the proof was by another key than that of the pushed "+
			"request")
	},
	"FAPI2/5.3.2.2/code-once": func(t *T) {
		h, code := fapiHolder(t), t.Code(fapiRequest(t))
		t.Granted(redeemHeld(t, code, h))
		t.WantRefused(redeemHeld(t, code, h), "the code had been used")
	},
	"FAPI2/5.3.2.2/code-of-client": func(t *T) {
		thief := t.Client(need.SecondFAPI)
		fapiTokens(t, fapiHolder(t))
		t.WantRefused(t.Token(thief, t.Code(fapiRequest(t)).Form(), t.Holder(thief).Sending(need.Token)),
			"another client sent the code")
	},
	"FAPI2/5.3.2.2/no-307": func(t *T) {
		wantRedirects(t, func(status int) bool { return status != http.StatusTemporaryRedirect })
	},
	"FAPI2/5.3.2.2/303": func(t *T) {
		wantRedirects(t, func(status int) bool { return status == http.StatusSeeOther })
	},
	"FAPI2/5.3.2.2/nonce": func(t *T) {
		nonce := strings.Repeat("n", 64-len(t.Random())) + t.Random()
		r := t.Pushed(t.OpenID(t.Client(need.FAPI)).Set("nonce", nonce))
		if got := t.IDToken(t.Granted(redeemHeld(t, t.Code(r), fapiHolder(t)))).Text("nonce"); got != nonce {
			t.Failf("nonce of the ID token has %d characters, want the 64 that were sent", len(got))
		}
	},
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
var fapi2Identifier = checks{
	"FAPI2/5.3.2.3/user-identifier": func(t *T) {
		c := t.Client(need.FAPI)
		tokens := t.Granted(redeemHeld(t, t.Code(t.Pushed(t.OpenID(c))), t.Holder(c)))
		if tokens.ID == "" {
			t.At(tokens.Answer)
			t.Failf("the scope openid was requested, and the response has no ID token")
		}
		j := t.IDToken(tokens)
		if j.Text("sub") == "" || j.Text("iss") != t.Issuer() || !slices.Contains(j.Audience(), c.ID) {
			t.At(tokens.Answer)
			t.Failf("sub of the ID token is %s, iss is %s, and aud is %s, want the person, the issuer and the client",
				Quoted(j.Claims["sub"]), Quoted(j.Claims["iss"]), Quoted(j.Claims["aud"]))
		}
		wantSignature(t, j, c)
	},
}
