package rules

import (
	"net/http"
	"net/url"
	"strings"

	"mandate/conformance/need"
	"mandate/conformance/wire"
)

// introspecting is what a check of the introspection endpoint needs, with a token to ask about.
func introspecting(more ...Need) []Need {
	return append([]Need{need.Introspection, need.Introspect, need.Token, need.Machine}, more...)
}

// Token introspection.
func rfc7662() []Rule {
	return []Rule{
		{
			ID: "RFC7662/2/tls", Level: Must,
			Text:  "The introspection endpoint is reached by TLS.",
			Needs: []Need{need.Introspection},
			Check: func(t *T) { wantTLS(t, t.Endpoint(need.Introspection)) },
		},
		{
			ID: "RFC7662/2.1/post", Level: Must,
			Text:  "A token is asked about by POST with a form.",
			Needs: introspecting(),
			Check: func(t *T) {
				a := introspectAs(t, wire.Params("token", t.Machine().Access))
				if a.JSON()["active"] != true {
					t.Failf("a live token is answered with %s %s", a, wire.Clip(string(a.Body), 200))
				}
			},
		},
		{
			ID: "RFC7662/2.1/not-by-get", Level: May,
			Text:  "A token in the query of a GET is not looked at: it would stand in logs.",
			Needs: introspecting(),
			Check: func(t *T) {
				address := t.Endpoint(need.Introspection) + "?" + wire.Params("token", t.Machine().Access).Encode()
				if a := t.Get(address, t.Client(need.Introspect).Credentials()); a.JSON()["active"] == true {
					t.Failf("the token in the query was introspected")
				}
			},
		},
		{
			ID: "RFC7662/2.1/hint-is-a-hint", Level: Must,
			Text:  "A token is found although the hint says that it is of another type.",
			Needs: introspecting(),
			Check: func(t *T) {
				token := t.Machine().Access
				liveToken(t, token)
				for _, hint := range []string{"access_token", "refresh_token", "conformance"} {
					if t.Introspect(token, "token_type_hint", hint)["active"] != true {
						t.Failf("with the hint %s a live access token is inactive", hint)
					}
				}
			},
		},
		{
			ID: "RFC7662/2.1/caller-authorized", Level: Must,
			Text:  "Who does not say who they are, or cannot prove it, is told nothing about a token.",
			Needs: introspecting(need.Public),
			Check: func(t *T) {
				token := wire.Params("token", t.Machine().Access)
				public := t.Client(need.Public)
				for why, as := range map[string]wire.Auth{
					"nobody asked":            func(http.Header, url.Values) {},
					"the secret was wrong":    t.Client(need.Introspect).With("wrong-" + t.Random()),
					"a public client asked":   public.Credentials(),
					"the bearer token is not": wire.Bearer("conformance"),
				} {
					a := t.Post(t.Endpoint(need.Introspection), token, as)
					if a.JSON()["active"] == true {
						t.Failf("a token was introspected, although %s", why)
					}
				}
			},
		},
		{
			ID: "RFC7662/2.1/bearer-caller", Level: May,
			Text:  "A caller can also authenticate by an access token with the scope introspection.",
			Needs: introspecting(),
			Check: func(t *T) {
				form := wire.Params("grant_type", "client_credentials", "scope", "introspection")
				caller := t.Granted(t.Token(t.Client(need.Introspect), form)).Access
				token := t.Machine().Access
				liveToken(t, token)
				a := t.Post(t.Endpoint(need.Introspection), wire.Params("token", token), wire.Bearer(caller))
				if a.JSON()["active"] != true {
					t.Failf("the token with the scope introspection does not do: %s", a.Failure())
				}
			},
		},
		{
			ID: "RFC7662/2.1/bearer-caller-needs-scope", Level: May,
			Text:  "An access token without the scope introspection is answered with 403 and insufficient_scope.",
			Needs: introspecting(),
			Check: func(t *T) {
				token := t.Machine().Access
				a := t.Post(t.Endpoint(need.Introspection), wire.Params("token", token), wire.Bearer(token))
				t.WantStatus(a, http.StatusForbidden)
				t.WantError(a, "insufficient_scope")
			},
		},
		{
			ID: "RFC7662/2.1/token-required", Level: Must,
			Text:  "A question without a token is answered with invalid_request.",
			Needs: []Need{need.Introspection, need.Introspect},
			Check: func(t *T) {
				t.WantError(introspectAs(t, wire.Params("token_type_hint", "access_token")), "invalid_request")
			},
		},
		{
			ID: "RFC7662/2.2/json", Level: Must,
			Text:  "The answer is a JSON object, and says so.",
			Needs: introspecting(),
			Check: func(t *T) {
				a := introspectAs(t, wire.Params("token", t.Machine().Access))
				if a.MediaType() != "application/json" || a.JSON() == nil {
					t.Failf("the answer is %s of the type %q", a, a.Header.Get("Content-Type"))
				}
			},
		},
		{
			ID: "RFC7662/2.2/active", Level: Must,
			Text:  "The answer has the member active, true or false.",
			Needs: introspecting(),
			Check: func(t *T) {
				for _, token := range []string{t.Machine().Access, "conformance"} {
					a := introspectAs(t, wire.Params("token", token))
					if _, is := a.JSON()["active"].(bool); !is {
						t.Failf("active is %v", a.JSON()["active"])
					}
				}
			},
		},
		{
			ID: "RFC7662/2.2/inactive", Level: Must,
			Text:  "A token that is unknown, changed or revoked is inactive, and the answer is no error.",
			Needs: introspecting(),
			Check: func(t *T) {
				for _, token := range append(Spoilt(t.Machine().Access), "conformance", "\u00e9 x") {
					a := introspectAs(t, wire.Params("token", token))
					t.WantStatus(a, http.StatusOK)
					if a.JSON()["active"] != false {
						t.Failf("active is %v for a text that is no token", a.JSON()["active"])
					}
				}
			},
		},
		{
			ID: "RFC7662/2.2/inactive-tells-nothing", Level: Should,
			Text:  "The answer for an inactive token has nothing but active.",
			Needs: introspecting(),
			Check: func(t *T) {
				object := t.Introspect("conformance-" + t.Random())
				if object["active"] != false {
					t.Blockedf("a text that is no token is active")
				}
				if len(object) != 1 {
					t.Failf("it has %d members", len(object))
				}
			},
		},
		{
			ID: "RFC7662/2.2/code-inactive", Level: Must,
			Text:  "An authorization code is no token, so it is inactive.",
			Needs: codeFlow(need.Introspection, need.Introspect),
			Check: func(t *T) {
				if t.Introspect(t.Code(t.Request(t.Client(need.Code))).Value)["active"] != false {
					t.Failf("the code is active")
				}
			},
		},
		{
			ID: "RFC7662/2.2/refresh-token", Level: May,
			Text:  "A refresh token is inactive to an API, and shown to who says that it is one: token_type_hint=refresh_token.",
			Needs: codeFlow(need.Introspection, need.Introspect),
			Check: func(t *T) {
				token := t.GrantRefresh(t.Client(need.Code)).Refresh
				if t.Introspect(token)["active"] != false {
					t.Errorf("an API that looks at active alone would take it for an access token")
				}
				if t.Introspect(token, "token_type_hint", "refresh_token")["active"] != true {
					t.Errorf("it is inactive to who asks for a refresh token too")
				}
			},
		},
		{
			ID: "RFC7662/2.2/facts", Level: May,
			Text:  "The answer for a person's token has scope, client_id, username, token_type, exp, iat, nbf, sub, aud, iss and jti.",
			Needs: codeFlow(need.Introspection, need.Introspect),
			Check: func(t *T) {
				c := t.Client(need.Code)
				tokens := t.Grant(c)
				object := liveToken(t, tokens.Access)
				for _, name := range []string{"scope", "client_id", "username", "token_type", "exp", "iat", "nbf", "sub", "aud", "iss", "jti"} {
					if object[name] == nil {
						t.Errorf("%s is missing", name)
					}
				}
			},
		},
		{
			ID: "RFC7662/2.2/facts-right", Level: Must,
			Text:  "What the answer tells is so: the client, the scope, the person, the times.",
			Needs: codeFlow(need.Introspection, need.Introspect),
			Check: func(t *T) {
				c := t.Client(need.Code)
				tokens := t.Grant(c)
				object := liveToken(t, tokens.Access)
				for name, want := range map[string]string{"client_id": c.ID, "scope": tokens.Scope, "username": t.User().Username, "iss": t.Issuer()} {
					if got, is := object[name].(string); is && want != "" && got != want {
						t.Errorf("%s is %q, want %q", name, got, want)
					}
				}
				expires, _ := object["exp"].(float64)
				issued, _ := object["iat"].(float64)
				life, _ := tokens.Answer.JSON()["expires_in"].(float64)
				if expires != 0 && issued != 0 && life != 0 && (expires-issued < life-5 || expires-issued > life+5) {
					t.Errorf("exp is %v seconds after iat, and expires_in was %v", expires-issued, life)
				}
			},
		},
		{
			ID: "RFC7662/2.2/not-allowed-to-ask", Level: Must,
			Text:         "A caller that may not ask about a token is not told that it is active.",
			Inapplicable: "Who may introspect at all may ask about every access token; refresh tokens have a row of their own.",
		},
		{
			ID: "RFC7662/2.3/invalid-client-401", Level: Must,
			Text:  "A caller with a wrong secret is answered with 401.",
			Needs: introspecting(),
			Check: func(t *T) {
				c := t.Client(need.Introspect)
				a := t.Post(t.Endpoint(need.Introspection), wire.Params("token", t.Machine().Access), c.With("wrong-"+t.Random()))
				toldNothing(t, a)
				t.WantStatus(a, http.StatusUnauthorized)
			},
		},
		{
			ID: "RFC7662/2.3/invalid-token-401", Level: Must,
			Text:  "A caller whose bearer token is not good is answered with 401.",
			Needs: introspecting(),
			Check: func(t *T) {
				token := wire.Params("token", t.Machine().Access)
				nobody := t.Post(t.Endpoint(need.Introspection), token)
				if !strings.Contains(strings.Join(nobody.Header.Values("WWW-Authenticate"), ", "), "Bearer") {
					t.Skipf("the server takes no bearer token from callers: its challenge names other ways")
				}
				a := t.Post(t.Endpoint(need.Introspection), token, wire.Bearer("conformance"))
				toldNothing(t, a)
				t.WantStatus(a, http.StatusUnauthorized)
			},
		},
		{
			ID: "RFC7662/2.3/nobody-challenged", Level: May,
			Text:  "A caller who says nothing of themselves is answered with 401 and a challenge.",
			Needs: introspecting(),
			Check: func(t *T) {
				a := t.Post(t.Endpoint(need.Introspection), wire.Params("token", t.Machine().Access))
				toldNothing(t, a)
				t.WantStatus(a, http.StatusUnauthorized)
				if a.Header.Get("WWW-Authenticate") == "" {
					t.Errorf("there is no WWW-Authenticate")
				}
			},
		},
		{
			ID: "RFC7662/2.3/not-allowed-403", Level: May,
			Text:  "An application that may not introspect is answered with 403, so that its operator sees what to change.",
			Needs: introspecting(need.Code),
			Check: func(t *T) {
				a := t.Post(t.Endpoint(need.Introspection), wire.Params("token", t.Machine().Access), t.Client(need.Code).Credentials())
				toldNothing(t, a)
				t.WantStatus(a, http.StatusForbidden)
			},
		},
		{
			ID: "RFC7662/4/expired", Level: Must,
			Text:      "A token that has expired is inactive.",
			Elsewhere: "conformance/mandate/spec_introspection_test.go:TestSpecExpiry",
		},
		{
			ID: "RFC7662/4/revoked", Level: Must, Alone: true,
			Text:  "A token that was revoked is inactive.",
			Needs: codeFlow(need.Introspection, need.Introspect, need.Revocation),
			Check: func(t *T) {
				c := t.Client(need.Code)
				token := t.Grant(c).Access
				if t.Introspect(token)["active"] != true {
					t.Blockedf("the access token is not active from the beginning")
				}
				revokeOK(t, t.Revoke(c, token))
				if t.Introspect(token)["active"] != false {
					t.Failf("the token was revoked, and is active")
				}
			},
		},
		{
			ID: "RFC7662/4/whose-person-is-gone", Level: May,
			Text:      "The tokens of a person who was deactivated, of an application that was deleted, and of a consent that was withdrawn are inactive at once.",
			Elsewhere: "conformance/mandate/lifecycle_test.go:TestLifecycle",
		},
		{
			ID: "RFC7662/4/signature", Level: Must,
			Text:         "The signature of a signed token is checked.",
			Inapplicable: "Tokens are not signed: the database knows each of them by its digest.",
		},
		{
			ID: "RFC7662/4/not-yet-valid", Level: Must,
			Text:         "A token is inactive before it can be used.",
			Inapplicable: "Every token can be used from the moment at which it is issued.",
		},
		{
			ID: "RFC7662/4/specially-authorized", Level: Should,
			Text:  "Only a caller that was authorized for it may introspect.",
			Needs: introspecting(need.Code),
			Check: func(t *T) {
				a := t.Post(t.Endpoint(need.Introspection), wire.Params("token", t.Machine().Access), t.Client(need.Code).Credentials())
				if a.JSON()["active"] == true {
					t.Failf("an application that is no API can introspect the token of another")
				}
			},
		},
		{
			ID: "RFC7662/4/cache-not-past-expiry", Level: Must,
			Text:      "A verdict that is remembered is not used past the token's expiry.",
			Elsewhere: "handlers/resource/cache_test.go:TestCacheTimes",
		},
		{
			ID: "RFC7662/4/not-cached-on-the-way", Level: Should,
			Text:  "The answer is not kept by caches on the way.",
			Needs: introspecting(),
			Check: func(t *T) {
				wantHeader(t, introspectAs(t, wire.Params("token", t.Machine().Access)), "Cache-Control", "no-store")
			},
		},
		{
			ID: "RFC7662/5/no-more-than-needed", Level: Should,
			Text:  "The answer tells no more of a person than their name and identifier.",
			Needs: codeFlow(need.Introspection, need.Introspect),
			Check: func(t *T) {
				for name := range t.Introspect(t.Grant(t.Client(need.Code)).Access) {
					for _, private := range []string{"email", "phone", "address", "birth", "given_name", "family_name"} {
						if strings.Contains(name, private) {
							t.Errorf("it has the member %s", name)
						}
					}
				}
			},
		},
	}
}

// introspectAs sends a question to the introspection endpoint, whatever comes of it.
func introspectAs(t *T, form url.Values) *wire.Answer {
	return t.Post(t.Endpoint(need.Introspection), form, t.Client(need.Introspect).Credentials())
}

// liveToken is what introspection tells of a token, or blocks the check if the token is not active.
func liveToken(t *T, token string) map[string]any {
	object := t.Introspect(token)
	if object["active"] != true {
		t.Blockedf("a live token is inactive")
	}
	return object
}

// toldNothing blocks the check if a caller was told of a token who should not be: that is another rule's fault.
func toldNothing(t *T, a *wire.Answer) {
	if a.JSON()["active"] == true {
		t.Blockedf("the caller was told that the token is active")
	}
}
