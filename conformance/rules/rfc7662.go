package rules

import (
	"maps"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"mandate/conformance/check"
	"mandate/conformance/jose"
	"mandate/conformance/need"
	"mandate/conformance/wire"
)

// rfc7662Endpoint has the checks of the rules about requests and responses (RFC 7662 §2).
var rfc7662Endpoint = checks{
	"RFC7662/2/tls":    func(t *T) { wantTLS(t, t.Endpoint(need.Introspection)) },
	"RFC7662/2.1/post": rfc7662Post,
	"RFC7662/2.1/not-by-get": func(t *T) {
		address := wire.WithQuery(t.Endpoint(need.Introspection), wire.Params("token", t.Machine().Access))
		if a := t.Get(address, t.Client(need.Introspect).Credentials()); a.JSON()["active"] == true {
			t.Failf("the token in the query was introspected")
		}
	},
	"RFC7662/2.1/hint-is-a-hint": func(t *T) {
		token := t.Machine().Access
		liveToken(t, token)
		for _, hint := range []string{"access_token", "refresh_token", "conformance"} {
			switch a := t.AskAbout(token, "token_type_hint", hint); {
			case a.Status != http.StatusOK: // without a hint the introspection has worked
				t.Failf("with the hint %s the introspection of a valid access token is answered with %s", hint, t.Failure(a))
			case a.JSON()["active"] != true:
				t.Failf("with the hint %s a valid access token is inactive", hint)
			}
		}
	},
	"RFC7662/2.1/caller-authorized": rfc7662CallerAuthorized,
	"RFC7662/2.1/bearer-caller": func(t *T) {
		form := wire.Params("grant_type", "client_credentials", "scope", "introspection")
		granted := t.Token(t.Client(need.Introspect), form)
		if !granted.Granted() {
			t.Skipf("the rule applies to a server that issues tokens with the scope introspection to the client "+
				"introspection: %s", granted.Failure())
		}
		caller := check.TokensOf(granted).Access
		token := t.Machine().Access
		liveToken(t, token)
		a := t.Post(t.Endpoint(need.Introspection), wire.Params("token", token), wire.Bearer(caller))
		if a.JSON()["active"] != true {
			t.Failf("the token with the scope introspection is refused: %s", a.Failure())
		}
	},
	"RFC7662/2.1/bearer-caller-needs-scope": func(t *T) {
		token := t.Machine().Access
		a := t.Post(t.Endpoint(need.Introspection), wire.Params("token", token), wire.Bearer(token))
		t.WantStatus(a, http.StatusForbidden)
		t.WantError(a, "insufficient_scope")
	},
	"RFC7662/2.1/token-required": func(t *T) {
		t.Introspect("conformance-" + t.Random())
		t.WantError(introspectAs(t, wire.Params("token_type_hint", "access_token")), "invalid_request")
	},
	"RFC7662/2.2/json": func(t *T) {
		a := introspectAs(t, wire.Params("token", t.Machine().Access))
		callerTaken(t, a)
		if a.MediaType() != "application/json" || a.JSON() == nil {
			t.Failf("the response is %s with the type %q", a, a.Header.Get("Content-Type"))
		}
	},
	"RFC7662/2.2/active": rfc7662Active,
	"RFC7662/2.2/inactive": func(t *T) {
		token, unsigned := t.Machine().Access, map[string]any{"iss": t.Issuer(), "sub": "conformance", "exp": 4102444800}
		callerTaken(t, introspectAs(t, wire.Params("token", token)))
		texts := map[string][]string{"a modified token": Spoilt(token), "a short text": {"conformance"},
			"an unsigned JWT": jose.Unsigned("." + jose.Encoded(unsigned) + ".")[:1]}
		for _, what := range slices.Sorted(maps.Keys(texts)) {
			for _, text := range texts[what] {
				a := introspectAs(t, wire.Params("token", text))
				if a.Status != http.StatusOK || a.JSON()["active"] != false {
					t.Failf("for %s the response is %s: %s", what, a, activeIn(a))
				}
			}
		}
	},
	"RFC7662/2.2/inactive-tells-nothing": func(t *T) {
		object := t.Introspect("conformance-" + t.Random())
		if object["active"] != false {
			t.Blockedf("a text that is no token is active")
		}
		if len(object) != 1 {
			t.Failf("the response has %d members", len(object))
		}
	},
	"RFC7662/2.2/code-inactive": func(t *T) {
		if t.Introspect(t.Code(t.Request(t.Client(need.Code))).Value)["active"] != false {
			t.Failf("the code is active")
		}
	},
	"RFC7662/2.2/refresh-token": func(t *T) {
		token := t.GrantRefresh(t.Client(need.Code)).Refresh
		if t.Introspect(token)["active"] != false {
			t.Errorf("the response is active, so an API that checks only active would accept a refresh token")
		}
		if t.Introspect(token, "token_type_hint", "refresh_token")["active"] != true {
			t.Errorf("the refresh token is inactive with token_type_hint=refresh_token too")
		}
	},
	"RFC7662/2.2/facts": func(t *T) {
		c := t.Client(need.Code)
		tokens := t.Grant(c)
		object := liveToken(t, tokens.Access)
		for _, name := range []string{"scope", "client_id", "token_type", "exp", "iat", "nbf", "sub", "iss", "jti"} {
			if object[name] == nil {
				t.Errorf("%s is missing", name)
			}
		}
		if object["username"] != t.User().Username {
			t.Errorf("username is %s, want %q", Quoted(object["username"]), t.User().Username)
		}
	},
	"RFC7662/2.2/member-types": rfc7662MemberTypes,
	"RFC7662/2.2/facts-right":  rfc7662FactsRight,
	"RFC7662/2.3/invalid-client-401": func(t *T) {
		c := t.Client(need.Introspect)
		token := wire.Params("token", t.Machine().Access)
		if right := introspectAs(t, token); right.Status != http.StatusOK {
			t.Blockedf("introspection with the correct secret failed: %s", right.Failure())
		}
		a := t.Post(t.Endpoint(need.Introspection), token, c.With("wrong-"+t.Random()))
		blockIfActive(t, a)
		t.WantStatus(a, http.StatusUnauthorized)
	},
	"RFC7662/2.3/invalid-token-401": func(t *T) {
		token := wire.Params("token", t.Machine().Access)
		if !hasChallenge(t.Post(t.Endpoint(need.Introspection), token)) {
			t.Skipf("the introspection endpoint has no Bearer challenge for a caller without credentials: the rule needs a " +
				"server that accepts bearer tokens from callers, and says so")
		}
		a := t.Post(t.Endpoint(need.Introspection), token, wire.Bearer("conformance"))
		blockIfActive(t, a)
		t.WantStatus(a, http.StatusUnauthorized)
	},
	"RFC7662/2.3/nobody-challenged": func(t *T) {
		a := t.Post(t.Endpoint(need.Introspection), wire.Params("token", t.Machine().Access))
		blockIfActive(t, a)
		t.WantStatus(a, http.StatusUnauthorized)
		if a.Header.Get("WWW-Authenticate") == "" {
			t.Errorf("there is no WWW-Authenticate")
		}
	},
	"RFC7662/2.3/not-allowed-403": func(t *T) {
		a := t.Post(t.Endpoint(need.Introspection), wire.Params("token", t.Machine().Access),
			t.Client(need.Code).Credentials())
		if a.JSON()["active"] == true {
			t.Skipf("the server lets the client code introspect the token of another client: the rule needs a client that may " +
				"not")
		}
		t.WantStatus(a, http.StatusForbidden)
	},
}

func rfc7662Post(t *T) {
	a := introspectAs(t, wire.Params("token", t.Machine().Access))
	if active, is := a.JSON()["active"].(bool); is {
		if !active {
			t.Blockedf("%s", inactive)
		}
		return
	}
	// A server may refuse to introspect a token of a certain format.
	other := introspectAs(t, wire.Params("token", "conformance-"+t.Random()))
	if _, is := other.JSON()["active"].(bool); !is {
		t.At(a)
		callerTaken(t, a)
		t.Failf("neither for a valid token nor for another text the response has active: %s", a.Failure())
	}
}

func rfc7662CallerAuthorized(t *T) {
	token := wire.Params("token", t.Machine().Access)
	liveToken(t, token.Get("token"))
	for _, caller := range []struct {
		why string
		as  wire.Auth
	}{
		{"nobody authenticated", func(http.Header, url.Values) {}},
		{"the secret was wrong", t.Client(need.Introspect).With("wrong-" + t.Random())},
		{"a public client asked, which has no secret", t.Client(need.Public).Credentials()},
		{"the caller's bearer token was invalid", wire.Bearer("conformance")},
	} {
		a := t.Post(t.Endpoint(need.Introspection), token, caller.as)
		if a.JSON()["active"] == true {
			t.Failf("a token was introspected, although %s", caller.why)
		}
	}
}

func rfc7662Active(t *T) {
	answered := false
	for _, token := range []string{t.Machine().Access, "conformance"} {
		a := introspectAs(t, wire.Params("token", token))
		if a.Status != http.StatusOK {
			continue // this is an error, and no introspection response
		}
		answered = true
		if _, is := a.JSON()["active"].(bool); !is {
			t.Failf("%s", activeIn(a))
		}
	}
	if !answered {
		t.Blockedf("the server answers no introspection request of the client introspection with 200")
	}
}

func rfc7662MemberTypes(t *T) {
	object := liveToken(t, t.Grant(t.Client(need.Code)).Access)
	for _, name := range []string{"scope", "iss", "jti"} {
		if value := object[name]; value != nil && notText(value) != "" {
			t.Errorf("%s is %s, which is no string", name, Quoted(value))
		}
	}
	for _, name := range []string{"exp", "iat", "nbf"} {
		seconds, is := object[name].(float64)
		if object[name] != nil && (!is || seconds != math.Trunc(seconds)) {
			t.Errorf("%s is %s, which is no whole number", name, Quoted(object[name]))
		}
	}
	list, is := object["aud"].([]any)
	if !is && object["aud"] != nil {
		list = []any{object["aud"]}
	}
	for _, value := range list {
		if notText(value) != "" {
			t.Errorf("aud is %s, which is neither a string nor a list of strings", Quoted(object["aud"]))
		}
	}
}

func rfc7662FactsRight(t *T) {
	c := t.Client(need.Code)
	tokens := t.Grant(c)
	object := liveToken(t, tokens.Access)
	if got, is := object["client_id"].(string); is && got != c.ID {
		t.Errorf("client_id is %q, want %q", got, c.ID)
	}
	if got, is := object["iss"].(string); is && got != t.Issuer() && got != t.Metadata().Text("issuer") {
		t.Errorf("iss is %q, want %q", got, t.Issuer())
	}
	got, _ := object["scope"].(string)
	for scope := range strings.FieldsSeq(got) {
		if tokens.Scope != "" && !slices.Contains(strings.Fields(tokens.Scope), scope) {
			t.Errorf("scope is %q, and the token was issued with %q", got, tokens.Scope)
			break
		}
	}
	expires, _ := object["exp"].(float64)
	issued, _ := object["iat"].(float64)
	life, _ := tokens.Answer.JSON()["expires_in"].(float64)
	if expires != 0 && issued != 0 && life != 0 && (expires-issued < life-5 || expires-issued > life+5) {
		t.Errorf("exp is %.0f seconds after iat, but expires_in was %.0f", expires-issued, life)
	}
}

// introspectAs sends an introspection request.
func introspectAs(t *T, form url.Values) *wire.Answer {
	return t.Post(t.Endpoint(need.Introspection), form, t.Client(need.Introspect).Credentials())
}

// callerTaken blocks the check if the server refuses the client introspection (RFC 7662 §2.3).
func callerTaken(t *T, a *wire.Answer) {
	if a.Status == http.StatusUnauthorized || a.Status == http.StatusForbidden || a.Text("error") == "invalid_client" {
		t.Blockedf("the server refuses the client introspection: %s", a.Failure())
	}
}

// inactive is the reason to block a rule if introspection of a new token shows nothing. The document wants this answer
// also if the caller may not introspect the token (§2.2).
// blockIfActive blocks the check if a caller without permission learned something about a token. Another rule reports
// this.
func blockIfActive(t *T, a *wire.Answer) {
	if a.JSON()["active"] == true {
		t.Blockedf("the caller learned that the token is active")
	}
}
