package rules

import (
	"net/http"
	"strings"

	"mandate/conformance/browser"
	"mandate/conformance/jose"
	"mandate/conformance/need"
	"mandate/conformance/wire"
)

// rfc6750 has the checks of the rules about bearer tokens.
var rfc6750 = checks{
	"RFC6750/2.1/header": func(t *T) {
		api := protectedAPI(t)
		token := someTokens(t).Access
		a := t.Get(api.url, wire.Bearer(token))
		if api.accepted(a) {
			return
		}
		if !api.accepted(t.Get(api.withQuery(token))) && !api.accepted(t.Post(api.url, wire.Params("access_token", token))) {
			api.refused(a)
		}
		t.At(a)
		t.Failf("a token in the header is refused with %s, although the resource accepts it elsewhere in the request", a)
	},
	"RFC6750/2.1/scheme-any-case": func(t *T) {
		api := protectedAPI(t)
		token := api.token()
		for _, scheme := range []string{"bearer", "BEARER"} {
			if a := t.Get(api.url, wire.Header("Authorization", scheme+" "+token)); !api.accepted(a) {
				t.Failf("the scheme %s is refused: %s", scheme, a)
			}
		}
	},
	"RFC6750/2.2/form": func(t *T) {
		api := protectedAPI(t)
		if a := t.Post(api.url, wire.Params("access_token", api.token())); a.Status/100 == 2 {
			t.Failf("the token in the body was accepted")
		}
	},
	"RFC6750/2.3/not-in-query": func(t *T) {
		api := protectedAPI(t)
		if a := t.Get(api.withQuery(api.token())); a.Status/100 == 2 {
			t.Failf("the token in the query was accepted, although queries appear in logs and histories")
		}
	},
	"RFC6750/2.3/private": func(t *T) {
		api := protectedAPI(t)
		token := api.token()
		wantPrivate(t, t.Get(api.withQuery(token)))
	},
	"RFC6750/2.3/private-userinfo": func(t *T) {
		token := t.GrantFor(t.OpenID(t.Client(need.Code))).Access
		t.UserClaims(token)
		wantPrivate(t, t.Get(wire.WithQuery(t.Endpoint(need.UserInfo), wire.Params("access_token", token))))
	},
	"RFC6750/3/challenge": func(t *T) {
		for _, as := range [][]wire.Auth{{}, {wire.Bearer("conformance")}} {
			a := t.Get(t.API().URL, as...)
			blockIfAccepted(t, a)
			if !hasChallenge(a) {
				t.Failf("the answer to a request %s is %s, and WWW-Authenticate is %q, want a challenge of the scheme Bearer",
					tokenIn(as), a, strings.Join(a.Header.Values("WWW-Authenticate"), ", "))
			}
		}
	},
	"RFC6750/3/has-attribute": func(t *T) {
		if len(challengeOf(t, t.Get(t.API().URL)).params) == 0 {
			t.Failf("the challenge has no attribute")
		}
	},
	"RFC6750/3/attributes-once": func(t *T) {
		for _, as := range [][]wire.Auth{{}, {wire.Bearer("conformance")}} {
			params := challengeOf(t, t.Get(t.API().URL, as...)).params
			for _, name := range []string{"realm", "scope", "error", "error_description", "error_uri"} {
				if n := len(params[name]); n > 1 {
					t.Failf("%s appears %d times in the challenge for a request %s", name, n, tokenIn(as))
				}
			}
		}
	},
	"RFC6750/3/error-told": func(t *T) {
		if len(challengeOf(t, t.Get(t.API().URL, wire.Bearer("conformance"))).params["error"]) == 0 {
			t.Failf("the challenge has no error")
		}
	},
	"RFC6750/3/ascii": func(t *T) {
		plain := t.Get(t.API().URL, wire.Bearer("conformance"))
		wantASCIIChallenge(t, challengeOf(t, plain))
		// A part of the server in front of the resource may refuse these characters without a challenge.
		if strange := t.Get(t.API().URL, wire.Header("Authorization", "Bearer \u00e9\"x")); hasChallenge(strange) {
			wantASCIIChallenge(t, challengeOf(t, strange))
		}
	},
	"RFC6750/3.1/two-methods-refused": func(t *T) {
		api := protectedAPI(t)
		token := api.token()
		a := t.Get(api.withQuery(token), wire.Bearer(token))
		if !api.accepted(a) {
			return
		}
		api.skipIfHeaderOnly(token)
		t.At(a)
		t.Failf("a request with the token in the header and in the query was accepted")
	},
	"RFC6750/3.1/invalid-request-400": func(t *T) {
		api := protectedAPI(t)
		token := api.token()
		a := t.Get(api.withQuery(token), wire.Bearer(token))
		if api.accepted(a) {
			api.skipIfHeaderOnly(token)
		}
		t.At(a)
		blockIfAccepted(t, a)
		t.WantStatus(a, http.StatusBadRequest)
		wantChallengeError(t, a, "invalid_request")
	},
	"RFC6750/3.1/invalid-token-401": func(t *T) {
		a := t.Get(t.API().URL, wire.Bearer("conformance-"+t.Random()))
		blockIfAccepted(t, a)
		t.WantStatus(a, http.StatusUnauthorized)
		wantChallengeError(t, a, "invalid_token")
	},
	"RFC6750/3.1/insufficient-scope-403": func(t *T) {
		a := askRestricted(t)
		blockIfAccepted(t, a)
		t.WantStatus(a, http.StatusForbidden)
		wantChallengeError(t, a, "insufficient_scope")
	},
	"RFC6750/3.1/scope-named": func(t *T) {
		challenge := challengeOf(t, askRestricted(t))
		if got := strings.Join(challenge.params["scope"], " "); !sameWords(got, t.API().Scope) {
			t.Failf("the challenge has the scope %q, want %q", got, t.API().Scope)
		}
	},
	"RFC6750/3.1/no-error-without-token": func(t *T) {
		if got := challengeOf(t, t.Get(t.API().URL)).params["error"]; len(got) > 0 {
			t.Failf("the challenge has the error %s", got[0])
		}
	},
	"RFC6750/4/token-type": func(t *T) {
		if kind := someTokens(t).Answer.Text("token_type"); !strings.EqualFold(kind, "Bearer") {
			t.Failf("token_type is %q", kind)
		}
	},
	"RFC6750/5.2/tls": func(t *T) { wantTLS(t, t.Endpoint(need.Token)) },
	"RFC6750/5.2/not-tampered-with": func(t *T) {
		api := protectedAPI(t)
		for _, other := range Spoilt(api.token()) {
			if a := t.Get(api.url, wire.Bearer(other)); api.accepted(a) {
				t.Failf("a modified access token was accepted: %s", a)
			}
		}
	},
	"RFC6750/5.2/lifetime-limited": rfc6750LifetimeLimited,
	"RFC6750/5.3/one-hour": func(t *T) {
		if seconds := tokenLifetime(t); seconds > 3600 {
			t.Failf("expires_in is %s seconds", Quoted(seconds))
		}
	},
	"RFC6750/5.3/audience": rfc6750Audience,
	"RFC6750/5.3/not-in-cookies": func(t *T) {
		b := t.NewBrowser()
		tokens := t.GrantIn(b, t.Request(t.Client(need.Code)))
		// From here on there is a token that a page could put into a cookie.
		t.Walk(b, t.Request(t.Client(need.Code)), true)
		wantNoCookie(t, b, tokens.Access)
	},
}

func rfc6750LifetimeLimited(t *T) {
	tokens := someTokens(t)
	if seconds, told := tokens.Answer.JSON()["expires_in"].(float64); told && seconds > 0 {
		return
	}
	// RFC 6749 §5.1: the response need not have the lifetime.
	if j, err := jose.Read(tokens.Access); err == nil && j.Number("exp") > 0 {
		return
	}
	if !t.Has(need.Introspection) || !t.Has(need.Introspect) {
		t.Skipf("the response has no expires_in, and the token is no JWT with exp: the rule needs a client introspection, " +
			"because only introspection shows the lifetime")
	}
	if _, told := t.Introspected(tokens.Access)["exp"].(float64); !told {
		t.Failf("neither expires_in of the response nor exp of introspection limits the lifetime")
	}
}

func rfc6750Audience(t *T) {
	token := someTokens(t).Access
	if j, err := jose.Read(token); err == nil && j.Claims["aud"] != nil {
		return
	}
	if !t.Has(need.Introspection) || !t.Has(need.Introspect) {
		t.Skipf("the token is no JWT with aud: the rule needs a client introspection, because only introspection shows the " +
			"audience")
	}
	object := t.Introspected(token)
	if object["active"] != true {
		t.Blockedf("%s", inactive)
	}
	if object["aud"] == nil {
		t.Failf("the introspection response has no aud")
	}
}

// wantNoCookie asserts that no cookie without the attribute Secure contains a token.
func wantNoCookie(t *T, b *browser.Browser, token string) {
	for _, cookie := range b.Cookies() {
		if strings.Contains(cookie.Value, token) && !cookie.Secure {
			t.Errorf("the cookie %s holds the access token, and lacks the attribute Secure", cookie.Name)
		}
	}
}

// blockIfAccepted blocks the check if the resource accepted a request that it should refuse. Another rule reports this.
func blockIfAccepted(t *T, a *wire.Answer) {
	if a.Status/100 == 2 {
		t.Blockedf("the resource accepted the request")
	}
}

// tokenLifetime returns expires_in. Without it the check is skipped.
func tokenLifetime(t *T) float64 {
	seconds, told := someTokens(t).Answer.JSON()["expires_in"].(float64)
	if !told {
		t.Skipf("the rule applies to a server whose token responses have the number expires_in")
	}
	return seconds
}

// wantPrivate asserts that the response to a request with a token in the query may be kept by no shared cache. If the
// token is not accepted there, the check is skipped.
func wantPrivate(t *T, a *wire.Answer) {
	t.At(a)
	if a.Status/100 != 2 {
		t.Skipf("the rule applies to a resource that accepts a token in the query: this one answers %s", a)
	}
	// RFC 9111 §5.2.2.5: no-store is more than private.
	if said := strings.ToLower(strings.Join(a.Header.Values("Cache-Control"), ",")); !strings.Contains(said, "private") &&
		!strings.Contains(said, "no-store") {
		t.Failf("the token in the query, which appears in logs and histories, is accepted, and Cache-Control is %q", said)
	}
}
