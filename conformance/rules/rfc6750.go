package rules

import (
	"net/http"
	"regexp"
	"strings"
	"time"

	"mandate/conformance/browser"
	"mandate/conformance/need"
	"mandate/conformance/wire"
)

// bearer is what a check needs that sends a token to a protected resource.
var bearer = append([]Need{need.API}, machine...)

// rfc6750 returns the rules about bearer tokens. Most of them are for the resource server, which is the target's api.
func rfc6750() []Rule {
	return []Rule{
		{
			ID: "RFC6750/2/one-method", Level: Must,
			Text:  "A request with a token in two places is refused.",
			Needs: bearer,
			Check: func(t *T) {
				token := workingToken(t)
				a := t.Get(t.API().URL+"?access_token="+token, wire.Bearer(token))
				if a.Status/100 == 2 {
					t.Failf("a request with the token in the header and in the query was accepted")
				}
			},
		},
		{
			ID: "RFC6750/2.1/header", Level: Must,
			Text:  "A resource accepts a token in the Authorization header.",
			Needs: bearer,
			Check: func(t *T) {
				a := t.Get(t.API().URL, wire.Bearer(t.Machine().Access))
				if a.Status/100 != 2 {
					t.Failf("a valid token in the header is refused: %s", a)
				}
			},
		},
		{
			ID: "RFC6750/2.1/scheme-any-case", Level: Must,
			Text:  "The name of the scheme is case-insensitive.",
			Needs: bearer,
			Check: func(t *T) {
				token := workingToken(t)
				for _, scheme := range []string{"bearer", "BEARER"} {
					if a := t.Get(t.API().URL, wire.Header("Authorization", scheme+" "+token)); a.Status/100 != 2 {
						t.Failf("the scheme %s is refused: %s", scheme, a)
					}
				}
			},
		},
		{
			ID: "RFC6750/2.2/form", Level: May,
			Text:  "The sample API accepts no token in a form; only UserInfo does.",
			Needs: bearer,
			Check: func(t *T) {
				a := t.Post(t.API().URL, wire.Params("access_token", workingToken(t)))
				if a.Status/100 == 2 {
					t.Failf("the token in the body was accepted")
				}
			},
		},
		{
			ID: "RFC6750/2.3/not-in-query", Level: Should,
			Text:  "A resource accepts no token in the query.",
			Needs: bearer,
			Check: func(t *T) {
				a := t.Get(t.API().URL + "?access_token=" + workingToken(t))
				if a.Status/100 == 2 {
					t.Failf("the token in the query was accepted, although queries appear in logs and histories")
				}
			},
		},
		{
			ID: "RFC6750/2.3/private", Level: Should,
			Text:         "The response to a request with a token in the query has Cache-Control: private.",
			Inapplicable: "Tokens in the query are not accepted.",
		},
		{
			ID: "RFC6750/3/challenge", Level: Must,
			Text:  "A request without a token, or with an invalid one, is answered with a Bearer challenge.",
			Needs: bearer,
			Check: func(t *T) {
				for _, as := range [][]wire.Auth{{}, {wire.Bearer("conformance")}} {
					a := t.Get(t.API().URL, as...)
					blockIfAccepted(t, a)
					wantScheme(t, a, "Bearer")
				}
			},
		},
		{
			ID: "RFC6750/3/has-attribute", Level: Must,
			Text:  "The challenge has at least one attribute.",
			Needs: bearer,
			Check: func(t *T) {
				if len(challengeOf(t, t.Get(t.API().URL))) == 0 {
					t.Failf("the challenge has no attribute")
				}
			},
		},
		{
			ID: "RFC6750/3/attributes-once", Level: Must,
			Text:  "No attribute of the challenge appears twice.",
			Needs: bearer,
			Check: func(t *T) {
				for _, as := range [][]wire.Auth{{}, {wire.Bearer("conformance")}} {
					for name, values := range challengeOf(t, t.Get(t.API().URL, as...)) {
						if len(values) > 1 {
							t.Errorf("%s appears %d times", name, len(values))
						}
					}
				}
			},
		},
		{
			ID: "RFC6750/3/error-told", Level: Should,
			Text:  "The challenge for an invalid token has an error.",
			Needs: bearer,
			Check: func(t *T) {
				if len(challengeOf(t, t.Get(t.API().URL, wire.Bearer("conformance")))["error"]) == 0 {
					t.Failf("the challenge has no error")
				}
			},
		},
		{
			ID: "RFC6750/3/ascii", Level: Must,
			Text:  "The attributes of the challenge contain only printable ASCII.",
			Needs: bearer,
			Check: func(t *T) {
				challenge := challengeOf(t, t.Get(t.API().URL, wire.Header("Authorization", "Bearer \u00e9\"x")))
				for _, name := range []string{"error", "error_description", "error_uri", "scope"} {
					for _, value := range challenge[name] {
						wantASCII(t, name, value)
					}
				}
			},
		},
		{
			ID: "RFC6750/3.1/invalid-request-400", Level: Should,
			Text:  "A malformed request is refused with 400 and invalid_request.",
			Needs: bearer,
			Check: func(t *T) {
				token := workingToken(t)
				a := t.Get(t.API().URL+"?access_token="+token, wire.Bearer(token))
				blockIfAccepted(t, a)
				t.WantStatus(a, http.StatusBadRequest)
				wantChallengeError(t, a, "invalid_request")
			},
		},
		{
			ID: "RFC6750/3.1/invalid-token-401", Level: Should,
			Text:  "An invalid token is refused with 401 and invalid_token.",
			Needs: bearer,
			Check: func(t *T) {
				a := t.Get(t.API().URL, wire.Bearer("conformance-"+t.Random()))
				blockIfAccepted(t, a)
				t.WantStatus(a, http.StatusUnauthorized)
				wantChallengeError(t, a, "invalid_token")
			},
		},
		{
			ID: "RFC6750/3.1/insufficient-scope-403", Level: Should,
			Text:  "A token with insufficient scope is refused with 403 and insufficient_scope.",
			Needs: bearer,
			Check: func(t *T) {
				a := askRestricted(t)
				blockIfAccepted(t, a)
				t.WantStatus(a, http.StatusForbidden)
				wantChallengeError(t, a, "insufficient_scope")
			},
		},
		{
			ID: "RFC6750/3.1/scope-named", Level: May,
			Text:  "The challenge names the required scope.",
			Needs: bearer,
			Check: func(t *T) {
				challenge := challengeOf(t, askRestricted(t))
				if got := strings.Join(challenge["scope"], " "); got != t.API().Scope {
					t.Failf("the challenge has the scope %q, want %q", got, t.API().Scope)
				}
			},
		},
		{
			ID: "RFC6750/3.1/no-error-without-token", Level: Should,
			Text:  "A request without a token is answered with a challenge without an error.",
			Needs: bearer,
			Check: func(t *T) {
				a := t.Get(t.API().URL)
				t.WantStatus(a, http.StatusUnauthorized)
				if got := challengeOf(t, a)["error"]; len(got) > 0 {
					t.Failf("the challenge has the error %s", got[0])
				}
			},
		},
		{
			ID: "RFC6750/4/token-type", Level: Must,
			Text:  "The token response says that the token type is Bearer.",
			Needs: machine,
			Check: func(t *T) {
				if kind := t.Machine().Answer.Text("token_type"); !strings.EqualFold(kind, "Bearer") {
					t.Failf("token_type is %q", kind)
				}
			},
		},
		{
			ID: "RFC6750/5.2/tls", Level: Must,
			Text:  "The token endpoint uses TLS.",
			Needs: []Need{need.Token},
			Check: func(t *T) { wantTLS(t, t.Endpoint(need.Token)) },
		},
		{
			ID: "RFC6750/5.2/not-tampered-with", Level: Must,
			Text:  "A resource refuses a modified token.",
			Needs: bearer,
			Check: func(t *T) {
				for _, other := range Spoilt(workingToken(t)) {
					if a := t.Get(t.API().URL, wire.Bearer(other)); a.Status/100 == 2 {
						t.Failf("a modified access token was accepted")
					}
				}
			},
		},
		{
			ID: "RFC6750/5.2/lifetime-limited", Level: Must,
			Text:  "An access token has a limited lifetime.",
			Needs: machine,
			Check: func(t *T) {
				answer := t.Machine()
				seconds, told := answer.Answer.JSON()["expires_in"].(float64)
				if told && (seconds <= 0 || seconds > 366*24*3600) {
					t.Failf("expires_in is %v seconds", seconds)
				}
				if told {
					return
				}
				// RFC 6749 §5.1: the lifetime can be documented elsewhere.
				if !t.Has(need.Introspection) || !t.Has(need.Introspect) {
					t.Skipf("the response has no expires_in, and there is no introspection to show the lifetime")
				}
				ends, told := t.Introspected(answer.Access)["exp"].(float64)
				if !told || ends-float64(time.Now().Unix()) > 366*24*3600 {
					t.Failf("the response has no expires_in, and exp of introspection is %v", ends)
				}
			},
		},
		{
			ID: "RFC6750/5.3/one-hour", Level: Should,
			Text:   "The lifetime of an access token is an hour at most.",
			Needs:  machine,
			Waived: "Mandate's specification requires 36000 seconds; ACCESS_TOKEN_EXPIRE_SECONDS and each application can set less.",
			Check: func(t *T) {
				if seconds := tokenLifetime(t); seconds > 3600 {
					t.Failf("expires_in is %v seconds", seconds)
				}
			},
		},
		{
			ID: "RFC6750/5.3/audience", Level: Should,
			Text:  "A token names the resource servers for which it is valid.",
			Needs: append([]Need{need.Introspection, need.Introspect}, machine...),
			Check: func(t *T) {
				if liveToken(t, t.Machine().Access)["aud"] == nil {
					t.Failf("the introspection response has no aud")
				}
			},
		},
		{
			ID: "RFC6750/5.3/not-in-cookies", Level: Must,
			Text:  "Access tokens are not stored in cookies.",
			Needs: codeFlowNeeds(),
			Check: func(t *T) {
				b := t.NewBrowser()
				tokens := t.GrantIn(b, t.Request(t.Client(need.Code)))
				// From here on there is a token that a page could put into a cookie.
				t.Walk(b, t.Request(t.Client(need.Code)), true)
				wantNoCookie(t, b, tokens.Access)
			},
		},
	}
}

// wantNoCookie asserts that no cookie of a browser contains a token.
func wantNoCookie(t *T, b *browser.Browser, token string) {
	for _, cookie := range b.Cookies() {
		if strings.Contains(cookie.Value, token) {
			t.Errorf("the cookie %s holds the access token", cookie.Name)
		}
	}
}

// workingToken returns a token that the target's api accepts.
func workingToken(t *T) string {
	token := t.Machine().Access
	if a := t.Get(t.API().URL, wire.Bearer(token)); a.Status/100 != 2 {
		t.Blockedf("the resource refuses a valid token: %s", a)
	}
	return token
}

// blockIfAccepted blocks the check if the resource accepted a request that it should refuse. Another rule reports this.
func blockIfAccepted(t *T, a *wire.Answer) {
	if a.Status/100 == 2 {
		t.Blockedf("the resource accepted the request")
	}
}

// tokenLifetime returns expires_in. Without it the check is skipped.
func tokenLifetime(t *T) float64 {
	seconds, told := t.Machine().Answer.JSON()["expires_in"].(float64)
	if !told {
		t.Skipf("the response has no expires_in")
	}
	return seconds
}

var attributes = regexp.MustCompile(`([A-Za-z_]+)=("(?:[^"\\]|\\.)*"|[^\s,]+)`)

// challengeOf returns the attributes of a Bearer challenge. Without a challenge the check is blocked.
func challengeOf(t *T, a *wire.Answer) map[string][]string {
	for _, header := range a.Header.Values("WWW-Authenticate") {
		at := strings.Index(strings.ToLower(header), "bearer")
		if at < 0 {
			continue
		}
		found := map[string][]string{}
		for _, m := range attributes.FindAllStringSubmatch(header[at:], -1) {
			found[strings.ToLower(m[1])] = append(found[strings.ToLower(m[1])], strings.Trim(m[2], `"`))
		}
		return found
	}
	t.Blockedf("there is no Bearer challenge: %s", a)
	return nil
}

func wantChallengeError(t *T, a *wire.Answer, code string) {
	if got := strings.Join(challengeOf(t, a)["error"], " "); got != code {
		t.At(a)
		t.Errorf("the challenge has the error %q, want %s", got, code)
	}
}
