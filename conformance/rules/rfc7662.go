package rules

import (
	"net/http"
	"net/url"
	"strings"

	"mandate/conformance/need"
	"mandate/conformance/wire"
)

// introspectionNeeds returns what a check of the introspection endpoint needs, with a token to introspect.
func introspectionNeeds(more ...Need) []Need {
	return append([]Need{need.Introspection, need.Introspect, need.Token, need.Machine}, more...)
}

// rfc7662 returns the rules about token introspection.
func rfc7662() []Rule {
	return []Rule{
		{
			ID: "RFC7662/2/tls", Level: Must,
			Text:  "The introspection endpoint uses TLS.",
			Needs: []Need{need.Introspection},
			Check: func(t *T) { wantTLS(t, t.Endpoint(need.Introspection)) },
		},
		{
			ID: "RFC7662/2.1/post", Level: Must,
			Text:  "The server accepts an introspection request by POST with a form.",
			Needs: introspectionNeeds(),
			Check: func(t *T) {
				a := introspectAs(t, wire.Params("token", t.Machine().Access))
				if a.JSON()["active"] != true {
					t.Failf("for a valid token the response is %s %s", a, wire.Clip(string(a.Body), 200))
				}
			},
		},
		{
			ID: "RFC7662/2.1/not-by-get", Level: May,
			Text:  "The server ignores a token in the query of a GET, because queries appear in logs.",
			Needs: introspectionNeeds(),
			Check: func(t *T) {
				address := t.Endpoint(need.Introspection) + "?" + wire.Params("token", t.Machine().Access).Encode()
				if a := t.Get(address, t.Client(need.Introspect).Credentials()); a.JSON()["active"] == true {
					t.Failf("the token in the query was introspected")
				}
			},
		},
		{
			ID: "RFC7662/2.1/hint-is-a-hint", Level: Must,
			Text:  "The server finds a token even if token_type_hint is wrong.",
			Needs: introspectionNeeds(),
			Check: func(t *T) {
				token := t.Machine().Access
				liveToken(t, token)
				for _, hint := range []string{"access_token", "refresh_token", "conformance"} {
					if t.Introspect(token, "token_type_hint", hint)["active"] != true {
						t.Failf("with the hint %s a valid access token is inactive", hint)
					}
				}
			},
		},
		{
			ID: "RFC7662/2.1/caller-authorized", Level: Must,
			Text:  "A caller without authentication, or with a wrong one, learns nothing about a token.",
			Needs: introspectionNeeds(need.Public),
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
			Text:  "A caller can authenticate by an access token with the scope introspection.",
			Needs: introspectionNeeds(),
			Check: func(t *T) {
				form := wire.Params("grant_type", "client_credentials", "scope", "introspection")
				caller := t.Granted(t.Token(t.Client(need.Introspect), form)).Access
				token := t.Machine().Access
				liveToken(t, token)
				a := t.Post(t.Endpoint(need.Introspection), wire.Params("token", token), wire.Bearer(caller))
				if a.JSON()["active"] != true {
					t.Failf("the token with the scope introspection is refused: %s", a.Failure())
				}
			},
		},
		{
			ID: "RFC7662/2.1/bearer-caller-needs-scope", Level: May,
			Text:  "An access token without the scope introspection is refused with 403 and insufficient_scope.",
			Needs: introspectionNeeds(),
			Check: func(t *T) {
				token := t.Machine().Access
				a := t.Post(t.Endpoint(need.Introspection), wire.Params("token", token), wire.Bearer(token))
				t.WantStatus(a, http.StatusForbidden)
				t.WantError(a, "insufficient_scope")
			},
		},
		{
			ID: "RFC7662/2.1/token-required", Level: Must,
			Text:  "A request without a token is refused with invalid_request.",
			Needs: []Need{need.Introspection, need.Introspect},
			Check: func(t *T) {
				t.WantError(introspectAs(t, wire.Params("token_type_hint", "access_token")), "invalid_request")
			},
		},
		{
			ID: "RFC7662/2.2/json", Level: Must,
			Text:  "The response is a JSON object with the type application/json.",
			Needs: introspectionNeeds(),
			Check: func(t *T) {
				a := introspectAs(t, wire.Params("token", t.Machine().Access))
				if a.MediaType() != "application/json" || a.JSON() == nil {
					t.Failf("the response is %s with the type %q", a, a.Header.Get("Content-Type"))
				}
			},
		},
		{
			ID: "RFC7662/2.2/active", Level: Must,
			Text:  "The response has the member active, true or false.",
			Needs: introspectionNeeds(),
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
			Text:  "For an unknown, modified or revoked token the response has active: false and is no error.",
			Needs: introspectionNeeds(),
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
			Text:  "The response for an inactive token has no member except active.",
			Needs: introspectionNeeds(),
			Check: func(t *T) {
				object := t.Introspect("conformance-" + t.Random())
				if object["active"] != false {
					t.Blockedf("a text that is no token is active")
				}
				if len(object) != 1 {
					t.Failf("the response has %d members", len(object))
				}
			},
		},
		{
			ID: "RFC7662/2.2/code-inactive", Level: Must,
			Text:  "An authorization code is no token, so the response is inactive.",
			Needs: codeFlowNeeds(need.Introspection, need.Introspect),
			Check: func(t *T) {
				if t.Introspect(t.Code(t.Request(t.Client(need.Code))).Value)["active"] != false {
					t.Failf("the code is active")
				}
			},
		},
		{
			ID: "RFC7662/2.2/refresh-token", Level: May,
			Text:  "A refresh token is inactive, unless the caller sends token_type_hint=refresh_token.",
			Needs: codeFlowNeeds(need.Introspection, need.Introspect),
			Check: func(t *T) {
				token := t.GrantRefresh(t.Client(need.Code)).Refresh
				if t.Introspect(token)["active"] != false {
					t.Errorf("the response is active, so an API that checks only active would accept a refresh token")
				}
				if t.Introspect(token, "token_type_hint", "refresh_token")["active"] != true {
					t.Errorf("the refresh token is inactive with token_type_hint=refresh_token too")
				}
			},
		},
		{
			ID: "RFC7662/2.2/facts", Level: May,
			Text:  "The response for a person's token has scope, client_id, username, token_type, exp, iat, nbf, sub, aud, iss and jti.",
			Needs: codeFlowNeeds(need.Introspection, need.Introspect),
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
			Text:  "The response is correct: client, scope, person and times.",
			Needs: codeFlowNeeds(need.Introspection, need.Introspect),
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
					t.Errorf("exp is %v seconds after iat, but expires_in was %v", expires-issued, life)
				}
			},
		},
		{
			ID: "RFC7662/2.2/not-allowed-to-ask", Level: Must,
			Text:         "A caller that may not introspect a token does not learn that it is active.",
			Inapplicable: "A client that may introspect can introspect every access token; another rule covers refresh tokens.",
		},
		{
			ID: "RFC7662/2.3/invalid-client-401", Level: Must,
			Text:  "A caller with a wrong secret is refused with 401.",
			Needs: introspectionNeeds(),
			Check: func(t *T) {
				c := t.Client(need.Introspect)
				a := t.Post(t.Endpoint(need.Introspection), wire.Params("token", t.Machine().Access), c.With("wrong-"+t.Random()))
				blockIfActive(t, a)
				t.WantStatus(a, http.StatusUnauthorized)
			},
		},
		{
			ID: "RFC7662/2.3/invalid-token-401", Level: Must,
			Text:  "A caller with an invalid bearer token is refused with 401.",
			Needs: introspectionNeeds(),
			Check: func(t *T) {
				token := wire.Params("token", t.Machine().Access)
				nobody := t.Post(t.Endpoint(need.Introspection), token)
				if !strings.Contains(strings.Join(nobody.Header.Values("WWW-Authenticate"), ", "), "Bearer") {
					t.Skipf("the server accepts no bearer token from callers: its challenge names other methods")
				}
				a := t.Post(t.Endpoint(need.Introspection), token, wire.Bearer("conformance"))
				blockIfActive(t, a)
				t.WantStatus(a, http.StatusUnauthorized)
			},
		},
		{
			ID: "RFC7662/2.3/nobody-challenged", Level: May,
			Text:  "A caller without credentials is refused with 401 and a challenge.",
			Needs: introspectionNeeds(),
			Check: func(t *T) {
				a := t.Post(t.Endpoint(need.Introspection), wire.Params("token", t.Machine().Access))
				blockIfActive(t, a)
				t.WantStatus(a, http.StatusUnauthorized)
				if a.Header.Get("WWW-Authenticate") == "" {
					t.Errorf("there is no WWW-Authenticate")
				}
			},
		},
		{
			ID: "RFC7662/2.3/not-allowed-403", Level: May,
			Text:  "A client that may not introspect is refused with 403, so that its operator sees what to change.",
			Needs: introspectionNeeds(need.Code),
			Check: func(t *T) {
				a := t.Post(t.Endpoint(need.Introspection), wire.Params("token", t.Machine().Access), t.Client(need.Code).Credentials())
				blockIfActive(t, a)
				t.WantStatus(a, http.StatusForbidden)
			},
		},
		{
			ID: "RFC7662/4/expired", Level: Must,
			Text:     "An expired token is inactive.",
			TestedBy: "conformance/mandate/spec_introspection_test.go:TestSpecExpiry",
		},
		{
			ID: "RFC7662/4/revoked", Level: Must, Alone: true,
			Text:  "A revoked token is inactive.",
			Needs: codeFlowNeeds(need.Introspection, need.Introspect, need.Revocation),
			Check: func(t *T) {
				c := t.Client(need.Code)
				token := t.Grant(c).Access
				if t.Introspect(token)["active"] != true {
					t.Blockedf("the access token is not active at first")
				}
				revokeOK(t, t.Revoke(c, token))
				if t.Introspect(token)["active"] != false {
					t.Failf("the token was revoked, but is active")
				}
			},
		},
		{
			ID: "RFC7662/4/whose-person-is-gone", Level: May,
			Text:     "The tokens of a disabled account, of a deleted application and of a revoked consent become inactive at once.",
			TestedBy: "conformance/mandate/lifecycle_test.go:TestLifecycle",
		},
		{
			ID: "RFC7662/4/signature", Level: Must,
			Text:         "The server verifies the signature of a signed token.",
			Inapplicable: "Access tokens that are opaque have no signature: the database knows each of them by its hash.",
		},
		{
			ID: "RFC7662/4/not-yet-valid", Level: Must,
			Text:         "A token is inactive before its nbf.",
			Inapplicable: "Every token is valid from the moment of its issue.",
		},
		{
			ID: "RFC7662/4/specially-authorized", Level: Should,
			Text:  "Only an authorized caller can introspect.",
			Needs: introspectionNeeds(need.Code),
			Check: func(t *T) {
				a := t.Post(t.Endpoint(need.Introspection), wire.Params("token", t.Machine().Access), t.Client(need.Code).Credentials())
				if a.JSON()["active"] == true {
					t.Failf("a client that is not registered for it can introspect the token of another client")
				}
			},
		},
		{
			ID: "RFC7662/4/cache-not-past-expiry", Level: Must,
			Text:     "A resource server does not use a cached response after the token has expired.",
			TestedBy: "handlers/resource/cache_test.go:TestCacheTimes",
		},
		{
			ID: "RFC7662/4/not-cached-on-the-way", Level: Should,
			Text:  "The response must not be cached on its way.",
			Needs: introspectionNeeds(),
			Check: func(t *T) {
				wantHeader(t, introspectAs(t, wire.Params("token", t.Machine().Access)), "Cache-Control", "no-store")
			},
		},
		{
			ID: "RFC7662/5/no-more-than-needed", Level: Should,
			Text:  "The response discloses no more about a person than name and identifier.",
			Needs: codeFlowNeeds(need.Introspection, need.Introspect),
			Check: func(t *T) {
				for name := range t.Introspect(t.Grant(t.Client(need.Code)).Access) {
					for _, private := range []string{"email", "phone", "address", "birth", "given_name", "family_name"} {
						if strings.Contains(name, private) {
							t.Errorf("the response has the member %s", name)
						}
					}
				}
			},
		},
	}
}

// introspectAs sends an introspection request.
func introspectAs(t *T, form url.Values) *wire.Answer {
	return t.Post(t.Endpoint(need.Introspection), form, t.Client(need.Introspect).Credentials())
}

// liveToken returns the introspection response for a token. If the token is not active, the check is blocked.
func liveToken(t *T, token string) map[string]any {
	object := t.Introspect(token)
	if object["active"] != true {
		t.Blockedf("a valid token is inactive")
	}
	return object
}

// blockIfActive blocks the check if a caller without permission learned something about a token. Another rule reports
// this.
func blockIfActive(t *T, a *wire.Answer) {
	if a.JSON()["active"] == true {
		t.Blockedf("the caller learned that the token is active")
	}
}
