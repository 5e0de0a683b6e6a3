package rules

import (
	"net/http"
	"slices"
	"strings"

	"mandate/conformance/check"
	"mandate/conformance/need"
	"mandate/conformance/wire"
)

// Redirect URIs, mix-up, downgrades and open redirectors (RFC 9700 §4.1.3 to §4.13).
func rfc9700Redirects() []Rule {
	core := rfc6749()
	return []Rule{
		{
			ID: "RFC9700/4.1.3/a1-exact-redirect-uri", Level: Must,
			Text:         "Redirect URIs are equal, with no patterns.",
			Inapplicable: "It repeats §2.1, whose row is checked.",
		},
		{
			ID: "RFC9700/4.1.3/a2-loopback-port", Level: Must,
			Text:  "The port of a native application's loopback address may vary.",
			Needs: []Need{need.Authorization, need.Loopback, need.User},
			Check: func(t *T) { wantAnyPort(t) },
		},
		{
			ID: "RFC9700/4.1.3/a53-fragment", Level: May,
			Text:  "The redirect URI is used as it stands: no fragment is added to keep a browser from carrying an older one along.",
			Needs: asking(),
			Check: func(t *T) {
				r := t.Authorize(t.Request(t.Client(need.Code)))
				if !r.Arrived() {
					t.Blockedf("%s", r)
				}
				if strings.Contains(r.Location, "#") {
					t.At(r.Answer)
					t.Failf("the answer has a fragment")
				}
			},
		},
		{
			ID: "RFC9700/4.1.3/pushed-redirect-uri", Level: May,
			Text:         "The redirect URI of a request whose sender is verified is trusted without further checks.",
			Inapplicable: "Mandate has neither signed nor pushed requests.",
		},
		likewise(core, "RFC6749/4.1.2/code-once", Rule{
			ID: "RFC9700/4.2.4/a42-code-once", Level: Must,
			Text: "A code is worth nothing after its first use.",
		}),
		likewise(core, "RFC6749/4.1.2/replay-revokes", Rule{
			ID: "RFC9700/4.2.4/a43-replay-revokes", Level: Should,
			Text: "When a code comes a second time, the tokens that it gave are revoked.",
		}),
		likewise(core, "RFC6749/4.1.3/code-bound-to-client", Rule{
			ID: "RFC9700/4.2.4/a44-code-bound", Level: Must,
			Text: "A code works only for the client that it was issued to.",
		}),
		{
			ID: "RFC9700/4.3.1/form-post", Level: May,
			Text:  "The answer can be posted to the client, so that the code stands in no history.",
			Needs: []Need{need.OpenID},
			Check: func(t *T) {
				if !t.Metadata().Lists("response_modes_supported", "form_post") {
					t.Failf("response_modes_supported has no form_post")
				}
			},
		},
		{
			ID: "RFC9700/4.3.2/a46-not-in-query", Level: Should,
			Text:  "UserInfo takes no access token from the query, where no client may put it.",
			Needs: codeFlow(need.UserInfo, need.OpenID),
			Check: func(t *T) {
				token := t.Granted(t.Redeem(t.Code(t.Request(t.Client(need.Code)).Set("scope", "openid")))).Access
				if a := t.Get(t.Endpoint(need.UserInfo), wire.Bearer(token)); a.Status/100 != 2 {
					t.Blockedf("UserInfo refuses a live token: %s", a)
				}
				a := t.Get(t.Endpoint(need.UserInfo) + "?" + wire.Params("access_token", token).Encode())
				if a.Status/100 == 2 {
					t.Failf("the token in the query was taken")
				}
			},
		},
		{
			ID: "RFC9700/4.4.2.1/a45-iss", Level: May,
			Text:  "Every answer of the authorization endpoint, also an error, names the issuer, so that a client cannot mix it up with another server's.",
			Needs: asking(),
			Check: func(t *T) { wantIssuerInAnswers(t) },
		},
		{
			ID: "RFC9700/4.7.1/a15-pkce-detectable", Level: Must,
			Text:         "A client can find out that the server supports PKCE.",
			Inapplicable: "It repeats §2.1.1, whose row is checked.",
		},
		{
			ID: "RFC9700/4.8.2/a14-no-downgrade", Level: Must,
			Text:  "A verifier is refused where the authorization request had no challenge; a server that gives no code without a challenge holds to that already.",
			Needs: codeFlow(),
			Check: func(t *T) {
				c := t.Client(need.Code)
				r := t.Authorize(t.Request(c).Del("code_challenge", "code_challenge_method"))
				code := r.Params.Get("code")
				if code == "" {
					t.WantNoCode(r, "it was asked for without PKCE")
					return
				}
				form := (&check.Code{Value: code, Request: r.Request}).Form()
				form.Set("code_verifier", r.Request.Verifier)
				t.WantRefused(t.Token(c, form), "a verifier came, and the authorization request had no challenge")
			},
		},
		{
			ID: "RFC9700/4.9.3/r3-tokens-kept-secret", Level: Must,
			Text:      "A resource server stores no access token in the clear.",
			Elsewhere: "handlers/resource/cache_test.go:TestCacheKeepsNoClearToken",
		},
		{
			ID: "RFC9700/4.9.3/a19-sender-constrained", Level: Should,
			Text:         "Sender-constrained tokens keep a resource server from using them elsewhere.",
			Inapplicable: "It repeats §2.2.1, whose row is checked.",
		},
		{
			ID: "RFC9700/4.10/a29-bound-to-sender-and-audience", Level: Should,
			Text:         "Access tokens are bound to their sender and to their audience.",
			Inapplicable: "It repeats §2.2.1 and §2.3, whose rows are checked.",
		},
		{
			ID: "RFC9700/4.11.2/a4-invalid-pair-not-redirected", Level: Must,
			Text:  "A browser is not sent to a redirect URI that is not the client's own, also where it is another client's.",
			Needs: asking(need.Second),
			Check: func(t *T) {
				c := t.Client(need.Code)
				for _, uri := range []string{t.Client(need.Second).RedirectURI(), "https://attacker.example/"} {
					wantUnmoved(t, t.Look(t.Request(c).Set("redirect_uri", uri)))
					wantUnmoved(t, t.Authorize(t.Request(c).Set("redirect_uri", uri)))
				}
				wantUnmoved(t, t.Look(t.Request(c).Set("client_id", "conformance-"+t.Random())))
			},
		},
		{
			ID: "RFC9700/4.11.2/a5-person-first", Level: Must,
			Text:  "The person signs in before the browser is sent to the client, also with an error.",
			Needs: []Need{need.Authorization, need.Code},
			Check: func(t *T) {
				c := t.Client(need.Code)
				for _, r := range []*check.Request{t.Request(c), t.Request(c).Set("scope", "conformance-unknown"), t.Request(c).Set("response_type", "conformance"), t.Request(c).Del("response_type")} {
					wantUnmoved(t, t.Look(r))
				}
			},
		},
		{
			ID: "RFC9700/4.11.2/a6-trusted-redirects-only", Level: Should,
			Text:         "A browser is sent on by itself only to a redirect URI that the server trusts.",
			Inapplicable: "Clients do not register themselves here: a person with an account, or an administrator, answers for every redirect URI, and the approval page shows where the answer goes.",
		},
		{
			ID: "RFC9700/4.12/a8-no-307", Level: Must,
			Text:  "The form with the password is not answered with a 307, by which a browser would send it on.",
			Needs: asking(),
			Check: func(t *T) {
				if a := afterPassword(t); a.Status == http.StatusTemporaryRedirect {
					t.At(a)
					t.Failf("the form with the password is answered with %s", a)
				}
			},
		},
		{
			ID: "RFC9700/4.12/a9-303", Level: Should,
			Text:  "The form with the password, where it is answered with a redirect, is answered with a 303.",
			Needs: asking(),
			Check: func(t *T) {
				a := afterPassword(t)
				if a.Status/100 != 3 {
					t.Skipf("the form with the password is answered with no redirect: %s", a)
				}
				t.WantStatus(a, http.StatusSeeOther)
			},
		},
		{
			ID: "RFC9700/4.13/a50-proxy-headers", Level: Must,
			Text:      "What a proxy says about the client is believed of named proxies only.",
			Elsewhere: "handlers/address_test.go:TestAddress",
		},
		{
			ID: "RFC9700/4.13/a50-own-proxy-sanitizes", Level: Must,
			Text:      "The proxy in front of an API takes off what a client wrote into the headers that the API relies on.",
			Elsewhere: "handlers/resource/proxy_test.go:TestProxyHeaders",
		},
		{
			ID: "RFC9700/4.13/a51-link-protected", Level: Must,
			Text:         "Nobody can read or change what passes between the proxy and the server.",
			Inapplicable: "It is for whoever sets the proxy up; the server listens on the loopback address if nobody says otherwise.",
		},
	}
}

// afterPassword is the answer to the form by which a person signs in.
func afterPassword(t *T) *wire.Answer {
	r := t.Walk(t.NewBrowser(), t.Request(t.Client(need.Code)), true)
	for _, a := range r.Seen {
		for _, values := range formOf(a) {
			if slices.Contains(values, t.User().Password) {
				return a
			}
		}
	}
	t.Blockedf("no form with a password was sent: %s", r)
	return nil
}

// wantIssuerInAnswers asserts the parameter iss (RFC 9207 §2).
func wantIssuerInAnswers(t *T) {
	c := t.Client(need.Code)
	for _, r := range []*check.Request{t.Request(c), t.Request(c).Del("response_type")} {
		answer := t.Authorize(r)
		if !answer.Arrived() {
			t.Blockedf("%s", answer)
		}
		if iss := answer.Params.Get("iss"); iss != t.Issuer() {
			t.At(answer.Answer)
			t.Errorf("with %s iss is %q, want %s", answer.Outcome(), iss, t.Issuer())
		}
	}
}

// Refresh tokens (RFC 9700 §4.14.2).
func rfc9700Refresh() []Rule {
	core := rfc6749()
	return []Rule{
		{
			ID: "RFC9700/4.14.2/a22-risk-decides", Level: Must,
			Text:         "It is decided by the risk which clients get refresh tokens.",
			Inapplicable: "It is for whoever runs the server: the settings, and each application's own lifetime of refresh tokens, carry the decision out.",
		},
		likewise(core, "RFC6749/6/scope-not-widened", Rule{
			ID: "RFC9700/4.14.2/a23-bound-to-scope", Level: Must,
			Text: "A refresh token gives no more than the person agreed to.",
		}),
		{
			ID: "RFC9700/4.14.2/a23-bound-to-resource-servers", Level: Must,
			Text:         "A refresh token is good for no other resource servers than the person agreed to.",
			Inapplicable: "No request names a resource server: all tokens are for those of the base URL.",
		},
		{
			ID: "RFC9700/4.14.2/a20-public-rotated", Level: Must,
			Text:         "Refresh tokens of public clients are bound to a key or replaced at each use.",
			Inapplicable: "It repeats §2.2.2, whose row is checked.",
		},
		likewise(core, "RFC6749/10.4/abuse-detected", Rule{
			ID: "RFC9700/4.14.2/a21-replay-detected", Level: Must,
			Text: "A public client's refresh token that was replaced is refused, and with it ends the one that took its place.",
		}),
		{
			ID: "RFC9700/4.14.2/a25-expires-unused", Level: Should,
			Text:      "A refresh token that lies unused for long expires.",
			Elsewhere: "provider/grant_refresh_test.go:TestRefreshLifetime",
		},
		{
			ID: "RFC9700/4.14.2/a26-security-events", Level: May,
			Text:      "A reset of the password, a deactivation and a logout end the refresh tokens that hang on them.",
			Elsewhere: "storage/account_test.go:TestWhatEndsWithAChangeToAPerson",
		},
		likewise(core, "RFC6749/6/validated", Rule{
			ID: "RFC9700/4.14.2/a27-integrity", Level: Must,
			Text: "A refresh token that somebody changed is refused, whatever it may carry.",
		}),
	}
}

// Clients that pass for people (RFC 9700 §4.15.1).
func rfc9700Clients() []Rule {
	return []Rule{
		{
			ID: "RFC9700/4.15.1/a35-client-id-not-chosen", Level: Should,
			Text:      "Whoever registers a client does not choose its identifier, which could be a person's.",
			Elsewhere: "handlers/applications_test.go:TestClientIDIsNotChosen",
		},
		{
			ID: "RFC9700/4.15.1/a36-no-person", Level: Must,
			Text:  "The token of a client alone names no person as its subject.",
			Needs: codeFlow(need.Introspection, need.Introspect, need.Machine),
			Check: func(t *T) {
				machine, person := t.Introspect(t.Machine().Access), t.Introspect(t.Grant(t.Client(need.Code)).Access)
				for _, name := range []string{"sub", "username"} {
					if machine[name] != nil && machine[name] == person[name] {
						t.Errorf("%s is %v both for the client alone and for a person", name, machine[name])
					}
				}
			},
		},
		{
			ID: "RFC9700/4.15.1/a36-told-apart", Level: Should,
			Text:  "A resource server can tell the token of a client alone from that of a person.",
			Needs: codeFlow(need.Introspection, need.Introspect, need.Machine),
			Check: func(t *T) {
				machine, person := t.Introspect(t.Machine().Access), t.Introspect(t.Grant(t.Client(need.Code)).Access)
				if person["sub"] == nil && person["username"] == nil {
					t.Skipf("introspection names no person")
				}
				client := machine["sub"] == nil || machine["sub"] == t.Client(need.Machine).ID
				if !client || person["sub"] == t.Client(need.Code).ID {
					t.Failf("the subject of a client alone is %v, and of a person %v", machine["sub"], person["sub"])
				}
			},
		},
	}
}
