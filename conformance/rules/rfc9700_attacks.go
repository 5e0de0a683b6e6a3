package rules

import (
	"net/http"
	"slices"
	"strings"

	"mandate/conformance/check"
	"mandate/conformance/need"
	"mandate/conformance/wire"
)

// rfc9700Redirects returns the rules about redirect URIs, mix-up attacks, downgrades and open redirectors (RFC 9700
// §4.1.3 to §4.13).
func rfc9700Redirects() []Rule {
	core := rfc6749()
	return []Rule{
		{
			ID: "RFC9700/4.1.3/a1-exact-redirect-uri", Level: Must,
			Text:         "Redirect URIs are compared as strings, without patterns.",
			Inapplicable: "It repeats §2.1, whose rule is checked.",
		},
		{
			ID: "RFC9700/4.1.3/a2-loopback-port", Level: Must,
			Text:  "The port of a native application's loopback address can vary.",
			Needs: []Need{need.Authorization, need.Loopback, need.User},
			Check: func(t *T) { wantAnyPort(t) },
		},
		{
			ID: "RFC9700/4.1.3/a53-fragment", Level: May,
			Text:  "The server adds no fragment to the redirect URI, which would prevent a browser from adding an older one.",
			Needs: authorizationNeeds(),
			Check: func(t *T) {
				r := t.Authorize(t.Request(t.Client(need.Code)))
				if !r.Arrived() {
					t.Blockedf("%s", r)
				}
				if strings.Contains(r.Location, "#") {
					t.At(r.Answer)
					t.Failf("the response has a fragment")
				}
			},
		},
		{
			ID: "RFC9700/4.1.3/pushed-redirect-uri", Level: May,
			Text:         "If the sender of a request is authenticated, the server trusts its redirect URI.",
			Inapplicable: "Mandate trusts no redirect URI that is not registered: RFC 9126 §2.1, which is checked, covers pushed requests.",
		},
		sameCheckAs(core, "RFC6749/4.1.2/code-once", Rule{
			ID: "RFC9700/4.2.4/a42-code-once", Level: Must,
			Text: "A code is useless after its first use.",
		}),
		sameCheckAs(core, "RFC6749/4.1.2/replay-revokes", Rule{
			ID: "RFC9700/4.2.4/a43-replay-revokes", Level: Should,
			Text: "If a code is used twice, the server revokes the tokens that it issued for it.",
		}),
		sameCheckAs(core, "RFC6749/4.1.3/code-bound-to-client", Rule{
			ID: "RFC9700/4.2.4/a44-code-bound", Level: Must,
			Text: "A code works only for the client to which it was issued.",
		}),
		{
			ID: "RFC9700/4.3.1/form-post", Level: May,
			Text:  "The response can be posted to the client, so that the code does not appear in the browser history.",
			Needs: []Need{need.OpenID},
			Check: func(t *T) {
				if m := provider(t); !m.Lists("response_modes_supported", "form_post") {
					t.Failf("response_modes_supported does not contain form_post")
				}
			},
		},
		{
			ID: "RFC9700/4.3.2/a46-not-in-query", Level: May,
			Text:  "UserInfo does not accept an access token in the query, where no client may put it.",
			Needs: codeFlowNeeds(need.UserInfo, need.OpenID),
			Check: func(t *T) {
				token := t.GrantFor(t.OpenID(t.Client(need.Code))).Access
				if a := t.Get(t.Endpoint(need.UserInfo), wire.Bearer(token)); a.Status/100 != 2 {
					t.Blockedf("UserInfo refuses a valid token: %s", a)
				}
				if a := t.Get(wire.WithQuery(t.Endpoint(need.UserInfo), wire.Params("access_token", token))); a.Status/100 == 2 {
					t.Failf("the token in the query was accepted")
				}
			},
		},
		{
			ID: "RFC9700/4.4.2.1/a45-iss", Level: May,
			Text:  "Every authorization response, including an error response, names the issuer, so that a client cannot confuse two servers.",
			Needs: authorizationNeeds(),
			Check: func(t *T) { wantIssuerInAnswers(t) },
		},
		{
			ID: "RFC9700/4.4.2.2/distinct-redirect-uris", Level: May,
			Text:     "Where the server is itself a client of other servers, it has a redirect URI for each, and refuses a response at that of another one.",
			TestedBy: "conformance/mandate/attack_identity_test.go:TestAttackForgedResponseOfAnotherServer",
		},
		{
			ID: "RFC9700/4.7.1/a15-pkce-detectable", Level: Must,
			Text:         "A client can find out that the server supports PKCE.",
			Inapplicable: "It repeats §2.1.1, whose rule is checked.",
		},
		{
			ID: "RFC9700/4.8.2/a14-no-downgrade", Level: Must,
			Text:  "A verifier is refused if the authorization request had no challenge; a server that requires a challenge for each code meets this already.",
			Needs: codeFlowNeeds(),
			Check: func(t *T) {
				c := t.Client(need.Code)
				t.Code(t.Request(c))
				without := func() *check.Request { return t.Request(c).Del("code_challenge", "code_challenge_method") }
				r := t.Authorize(without())
				code := r.Params.Get("code")
				if code == "" {
					t.WantNoCode(r, "the request has no challenge")
					return
				}
				form := (&check.Code{Value: code, Request: r.Request}).Form()
				form.Set("code_verifier", r.Request.Verifier)
				refused := t.Token(c, form)
				t.WantRefused(refused, "the token request has a verifier, but the authorization request had no challenge")
				if a := t.Redeem(t.Code(without())); !a.Granted() {
					t.Blockedf("a code without a challenge works neither with a verifier nor without one: %s", a.Failure())
				}
			},
		},
		{
			ID: "RFC9700/4.9.3/r3-tokens-kept-secret", Level: Must,
			Text:     "A resource server does not store access tokens in plain text.",
			TestedBy: "handlers/resource/cache_test.go:TestCacheKeepsNoClearToken",
		},
		{
			ID: "RFC9700/4.9.3/a19-sender-constrained", Level: Should,
			Text:         "Sender-constrained tokens prevent a resource server from using them elsewhere.",
			Inapplicable: "It repeats §2.2.1, whose rule is checked.",
		},
		{
			ID: "RFC9700/4.10/a29-bound-to-sender-and-audience", Level: Should,
			Text:         "Access tokens are bound to their sender and to their audience.",
			Inapplicable: "It repeats §2.2.1 and §2.3, whose rules are checked.",
		},
		{
			ID: "RFC9700/4.11.2/a4-invalid-pair-not-redirected", Level: Must,
			Text:  "The server does not redirect to an address that is not registered for the client, even if it is for another client.",
			Needs: authorizationNeeds(need.Second),
			Check: func(t *T) {
				c := t.Client(need.Code)
				for _, uri := range []string{t.Client(need.Second).RedirectURI(), "https://attacker.example/"} {
					wantNotArrived(t, t.OpenAnonymously(t.Request(c).Set("redirect_uri", uri)), "it is not a redirect URI of the client code")
					wantNotArrived(t, t.Authorize(t.Request(c).Set("redirect_uri", uri)), "it is not a redirect URI of the client code")
				}
				wantNotArrived(t, t.OpenAnonymously(t.Request(c).Set("client_id", "conformance-"+t.Random())), "the client_id is unknown")
			},
		},
		{
			ID: "RFC9700/4.11.2/a5-person-first", Level: Must,
			Text:  "The person signs in before the server redirects to the client, even with an error.",
			Needs: []Need{need.Authorization, need.Code},
			Check: func(t *T) {
				c := t.Client(need.Code)
				for _, r := range []*check.Request{t.Request(c), t.Request(c).Set("scope", "conformance-unknown"), t.Request(c).Set("response_type", "conformance"), t.Request(c).Del("response_type")} {
					wantNotArrived(t, t.OpenAnonymously(r), "nobody has signed in")
				}
			},
		},
		{
			ID: "RFC9700/4.11.2/a6-trusted-redirects-only", Level: Should,
			Text:     "The server redirects without the person's action only to a trusted redirect URI.",
			TestedBy: "conformance/mandate/attack_redirect_test.go:TestAttackStrangerRedirects",
		},
		{
			ID: "RFC9700/4.12/a8-no-307", Level: Must,
			Text:  "The server does not answer the login form with 307, because the browser would forward the password.",
			Needs: authorizationNeeds(),
			Check: func(t *T) {
				if a := afterPassword(t); a.Status == http.StatusTemporaryRedirect {
					t.At(a)
					t.Failf("the login form is answered with %s", a)
				}
			},
		},
		{
			ID: "RFC9700/4.12/a9-303", Level: Should,
			Text:  "If the server answers the login form with a redirect, its status is 303.",
			Needs: authorizationNeeds(),
			Check: func(t *T) {
				a := afterPassword(t)
				if a.Status/100 != 3 {
					t.Skipf("the rule applies to a server that answers the login form with a redirect: %s", a)
				}
				if a.Status != http.StatusSeeOther {
					t.At(a)
					t.Failf("the login form is answered with %s, want 303", a)
				}
			},
		},
		{
			ID: "RFC9700/4.13/a50-proxy-headers", Level: Must,
			Text:     "The server believes headers about the client only from configured proxies.",
			TestedBy: "handlers/request/address_test.go:TestAddress",
		},
		{
			ID: "RFC9700/4.13/a50-own-proxy-sanitizes", Level: Must,
			Text:     "The proxy in front of an API removes the headers that the API relies on from a client's request.",
			TestedBy: "handlers/resource/proxy_test.go:TestProxyHeaders",
		},
		{
			ID: "RFC9700/4.13/a51-link-protected", Level: Must,
			Text:         "Nobody can read or change the traffic between the proxy and the server.",
			Inapplicable: "This is up to the operator of the proxy; the server listens on the loopback address by default.",
		},
	}
}

// wantNotArrived asserts that the browser was not sent to the redirect URI of the request.
func wantNotArrived(t *T, r *check.Response, although string) {
	if r.Arrived() {
		t.At(r.Answer)
		t.Failf("the browser was sent to %s with %s, although %s", r.Request.Params.Get("redirect_uri"), r.Outcome(), although)
	}
}

// afterPassword returns the response to the login form.
func afterPassword(t *T) *wire.Answer {
	r := t.Walk(t.NewBrowser(), t.Request(t.Client(need.Code)), true)
	for _, a := range r.Seen {
		for _, values := range formOf(a) {
			if slices.Contains(values, t.User().Password) {
				return a
			}
		}
	}
	t.Blockedf("the login form was not sent: %s", r)
	return nil
}

// wantIssuerInAnswers asserts the parameter iss (RFC 9207 §2).
func wantIssuerInAnswers(t *T) {
	c := t.Client(need.Code)
	for _, r := range []*check.Request{t.Request(c), t.Request(c).Del("response_type")} {
		answer := t.Authorize(r)
		if !answer.Arrived() {
			t.Blockedf("no response came to the redirect URI: %s", answer)
		}
		wantIss(t, answer)
	}
}

// rfc9700Refresh returns the rules about refresh tokens (RFC 9700 §4.14.2).
func rfc9700Refresh() []Rule {
	core := rfc6749()
	return []Rule{
		{
			ID: "RFC9700/4.14.2/a22-risk-decides", Level: Must,
			Text:         "A risk assessment decides which clients get refresh tokens.",
			Inapplicable: "This is up to the operator: the settings, and each application's lifetime of refresh tokens, implement the decision.",
		},
		sameCheckAs(core, "RFC6749/6/scope-not-widened", Rule{
			ID: "RFC9700/4.14.2/a23-bound-to-scope", Level: Must,
			Text: "A refresh token gives no more access than the person approved.",
		}),
		{
			ID: "RFC9700/4.14.2/a23-bound-to-resource-servers", Level: Must,
			Text:  "A refresh token is valid only for the resource servers that the person approved.",
			Needs: append(introspectionNeeds(need.Resources), codeFlowNeeds()...),
			Check: func(t *T) {
				one, other, c := t.Resources()[0], t.Resources()[1], t.Client(need.Code)
				tokens := t.GrantFor(t.Request(c).Set("resource", one.URI))
				if tokens.Refresh == "" {
					t.Skipf("the rule needs a refresh token, and the client code gets none")
				}
				a := t.Refresh(c, refreshedOnce(t, c, tokens), "resource", other.URI)
				// A server can also ignore the parameter.
				if a.Granted() && slices.Contains(audienceOf(t, check.TokensOf(a).Access), other.URI) {
					t.At(a)
					t.Failf("the person approved %s, and a refresh returned a token for %s", one.URI, other.URI)
				}
			},
		},
		{
			ID: "RFC9700/4.14.2/a20-public-rotated", Level: Must,
			Text:         "Refresh tokens of public clients are bound to a key or replaced at each use.",
			Inapplicable: "It repeats §2.2.2, whose rule is checked.",
		},
		sameCheckAs(core, "RFC6749/10.4/abuse-detected", Rule{
			ID: "RFC9700/4.14.2/a21-replay-detected", Level: Must,
			Text: "If a replaced refresh token of a public client is used again, the server refuses it, and revokes its successor.",
		}),
		{
			// The document says this as a part of rotation, without a keyword of its own. A server can answer a
			// replaced token for some seconds: then the answer has the same successor.
			ID: "RFC9700/4.14.2/a20-one-successor", Level: Should, Alone: true,
			Text:  "A refresh token has one successor: two requests with it do not give two refresh tokens that both work.",
			Needs: publicCodeNeeds(),
			Check: func(t *T) {
				c := t.Client(need.Public)
				first := t.GrantRefresh(c)
				one := t.Granted(t.Refresh(c, first.Refresh))
				again := t.Refresh(c, first.Refresh)
				other := check.TokensOf(again).Refresh
				if !again.Granted() || other == "" || other == one.Refresh || one.Refresh == first.Refresh {
					return
				}
				if t.Refresh(c, one.Refresh).Granted() && t.Refresh(c, other).Granted() {
					t.At(again)
					t.Failf("the second request with the same refresh token returned another successor, and both work")
				}
			},
		},
		{
			ID: "RFC9700/4.14.2/a26-replaced-ends-too", Level: Should, Alone: true,
			Text:  "After a refresh token is revoked, the one that it replaced gives nothing either.",
			Needs: append(publicCodeNeeds(), need.Revocation),
			Check: func(t *T) {
				c := t.Client(need.Public)
				first := t.GrantRefresh(c)
				second := t.Granted(t.Refresh(c, first.Refresh))
				if second.Refresh == "" || second.Refresh == first.Refresh {
					t.Skipf("the rule needs a server that replaces refresh tokens, and this one returned no other")
				}
				revokeOK(t, t.Revoke(c, second.Refresh))
				t.WantRefused(t.Refresh(c, first.Refresh), "its successor was revoked")
			},
		},
		{
			ID: "RFC9700/4.14.2/a25-expires-unused", Level: Should,
			Text:     "A refresh token expires if it is not used for a long time.",
			TestedBy: "provider/grant_refresh_test.go:TestRefreshLifetime",
		},
		{
			ID: "RFC9700/4.14.2/a26-security-events", Level: May,
			Text:     "A password reset, the disabling of the account and a logout revoke the refresh tokens that depend on them.",
			TestedBy: "storage/account_test.go:TestWhatEndsWithAChangeToAPerson",
		},
		sameCheckAs(core, "RFC6749/6/validated", Rule{
			ID: "RFC9700/4.14.2/a27-integrity", Level: Must,
			Text: "A modified refresh token is refused, whatever it contains.",
		}),
	}
}

// rfc9700Clients returns the rules about clients that impersonate people (RFC 9700 §4.15.1).
func rfc9700Clients() []Rule {
	return []Rule{
		{
			ID: "RFC9700/4.15.1/a35-client-id-not-chosen", Level: Should,
			Text:     "A person who registers a client cannot choose its identifier, which could equal that of a person.",
			TestedBy: "handlers/applications_test.go:TestClientIDIsNotChosen",
		},
		{
			// The document's MUST binds a server that cannot avoid the confusion otherwise.
			ID: "RFC9700/4.15.1/a36-no-person", Level: Should,
			Text:  "The token of a client itself has no person as its subject.",
			Needs: codeFlowNeeds(need.Introspection, need.Introspect, need.Machine),
			Check: func(t *T) {
				machine, person := t.Introspect(t.Machine().Access), t.Introspect(t.Grant(t.Client(need.Code)).Access)
				for _, name := range []string{"sub", "username"} {
					if machine[name] != nil && machine[name] == person[name] {
						t.Errorf("introspection returns %s %v both for a token of the client machine itself and for a token of a person", name, machine[name])
					}
				}
			},
		},
		{
			ID: "RFC9700/4.15.1/a36-told-apart", Level: May,
			Text:  "A resource server can distinguish the token of a client itself from that of a person by sub alone: it is the client_id, or missing.",
			Needs: codeFlowNeeds(need.Introspection, need.Introspect, need.Machine),
			Check: func(t *T) {
				machine, person := t.Introspect(t.Machine().Access), t.Introspect(t.Grant(t.Client(need.Code)).Access)
				if person["sub"] == nil && person["username"] == nil {
					t.Skipf("the rule applies to a server whose introspection responses name the person")
				}
				client := machine["sub"] == nil || machine["sub"] == t.Client(need.Machine).ID
				if !client || person["sub"] == t.Client(need.Code).ID {
					t.Failf("sub is %v for a client itself, and %v for a person", machine["sub"], person["sub"])
				}
			},
		},
	}
}
