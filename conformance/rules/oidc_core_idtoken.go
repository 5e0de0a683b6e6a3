package rules

import (
	"math"
	"net/url"
	"strings"

	"mandate/conformance/check"
	"mandate/conformance/jose"
	"mandate/conformance/need"
)

// oidcIDToken has the checks of the rules about the ID token (OIDC Core §2, §3.1.3.6).
var oidcIDToken = checks{
	"OIDCCore/2/jwt": func(t *T) {
		text := rawIDToken(t, t.GrantFor(t.OpenID(t.Client(need.Code))))
		// An encrypted ID token has five parts. Other rules check its content.
		if strings.Count(text, ".") == 4 {
			return
		}
		if _, err := jose.Read(text); err != nil {
			t.Failf("the ID token is no JWT: %v", err)
		}
	},
	"OIDCCore/2/iss": func(t *T) {
		wantIssuerURL(t, t.SignIn(t.Client(need.Code)).Text("iss"))
	},
	"OIDCCore/2/sub": func(t *T) {
		j := t.SignIn(t.Client(need.Code))
		if j.Text("sub") == "" {
			t.Failf("sub is %v", j.Claims["sub"])
		}
	},
	"OIDCCore/2/sub-length": func(t *T) {
		sub := t.SignIn(t.Client(need.Code)).Text("sub")
		if len(sub) > 255 || strings.ContainsFunc(sub, func(r rune) bool { return r > 127 }) {
			t.Failf("sub has %d bytes: %q", len(sub), t.Clip(sub, 300))
		}
	},
	"OIDCCore/2/sub-stays": func(t *T) {
		c := t.Client(need.Code)
		one := t.Subject(t.IDToken(t.GrantIn(t.NewBrowser(), t.OpenID(c))))
		other := t.Subject(t.IDToken(t.GrantIn(t.NewBrowser(), t.OpenID(c))))
		if one != other {
			t.Failf("the same person has one sub at the first login and another at the second")
		}
	},
	"OIDCCore/2/aud": func(t *T) {
		c := t.Client(need.Code)
		j := t.SignIn(c)
		for _, audience := range j.Audience() {
			if audience == c.ID {
				return
			}
		}
		t.Failf("aud is %v, but the client is %s", j.Claims["aud"], c.ID)
	},
	"OIDCCore/2/aud-single": func(t *T) {
		c := t.Client(need.Code)
		if j := t.SignIn(c); j.Text("aud") != c.ID {
			t.Failf("aud is %v", j.Claims["aud"])
		}
	},
	"OIDCCore/2/exp": func(t *T) {
		tokens := t.GrantFor(t.OpenID(t.Client(need.Code)))
		if j := t.IDToken(tokens); wantNumber(t, j, "exp") <= t.DateOf(tokens.Answer) {
			t.Failf("exp is not later than the time of the response")
		}
	},
	"OIDCCore/2/iat": func(t *T) {
		tokens := t.GrantFor(t.OpenID(t.Client(need.Code)))
		if j := t.IDToken(tokens); math.Abs(wantNumber(t, j, "iat")-t.DateOf(tokens.Answer)) > 60 {
			t.Failf("iat differs from the time of the response by more than a minute")
		}
	},
	"OIDCCore/2/auth-time-with-max-age": func(t *T) {
		wantNumber(t, t.IDToken(t.GrantFor(t.OpenID(t.Client(need.Code)).Set("max_age", "36000"))), "auth_time")
	},
	"OIDCCore/2/auth-time-essential": func(t *T) {
		wantsClaimsParameter(t)
		wantNumber(t, t.IDToken(
			t.GrantFor(asking(t, t.Client(need.Code), "id_token", "auth_time", map[string]any{"essential": true}))), "auth_time")
	},
	"OIDCCore/2/auth-time-always": func(t *T) {
		wantNumber(t, t.SignIn(t.Client(need.Code)), "auth_time")
	},
	"OIDCCore/2/auth-time-of-login": oidcCoreAuthTimeOfLogin,
	"OIDCCore/2/nonce":              oidcCoreNonce,
	"OIDCCore/2/nonce-not-processed": func(t *T) {
		for _, nonce := range unusualNonces() {
			wantTaken(t, t.OpenID(t.Client(need.Code)).Set("nonce", nonce), "nonce")
		}
	},
	"OIDCCore/2/acr": func(t *T) {
		acr := optional(t, t.SignIn(t.Client(need.Code)), "acr")
		if _, is := acr.(string); !is {
			t.Failf("acr is %s, which is no string", Quoted(acr))
		}
	},
	"OIDCCore/2/acr-name": func(t *T) {
		j := t.SignIn(t.Client(need.Code))
		acr, text := optional(t, j, "acr"), j.Text("acr")
		u, err := url.Parse(text)
		switch {
		case text == "0": // OIDC Core §2 defines this value.
		case text == "" || strings.ContainsAny(text, " \t\n"):
			t.Failf("acr is %s, which is neither a URI nor a name that can be registered", Quoted(acr))
		case err != nil || !u.IsAbs():
			t.Skipf("acr is %q, which is no URI: a person has to look it up in the registry of RFC 6711", text)
		}
	},
	"OIDCCore/2/amr": func(t *T) {
		amr := optional(t, t.SignIn(t.Client(need.Code)), "amr")
		list, is := amr.([]any)
		if !is {
			t.Failf("amr is %s, which is no array", Quoted(amr))
		}
		for _, method := range list {
			if _, is := method.(string); !is {
				t.Errorf("amr contains %s, which is no string", Quoted(method))
			}
		}
	},
	"OIDCCore/2/azp": func(t *T) {
		c := t.Client(need.Code)
		if azp := optional(t, t.SignIn(c), "azp"); azp != any(c.ID) {
			t.Failf("azp is %s, and the client is %s", Quoted(azp), c.ID)
		}
	},
	"OIDCCore/2/signed": func(t *T) {
		c := t.Client(need.Code)
		wantSignature(t, t.SignIn(c), c)
	},
	"OIDCCore/2/alg-none": func(t *T) {
		if alg := t.SignIn(t.Client(need.Code)).Algorithm(); alg == "" || strings.EqualFold(alg, "none") {
			t.Failf("alg is %q", alg)
		}
	},
	"OIDCCore/2/no-key-headers": func(t *T) {
		j := t.SignIn(t.Client(need.Code))
		for _, name := range []string{"x5u", "x5c", "jku", "jwk"} {
			if j.Header[name] != nil {
				t.Errorf("the header has %s", name)
			}
		}
	},
	"OIDCCore/3.1.3.6/at-hash": func(t *T) {
		tokens := t.GrantFor(t.OpenID(t.Client(need.Code)))
		optional(t, t.IDToken(tokens), "at_hash")
		wantHash(t, t.IDToken(tokens), tokens)
	},
	"OIDCCore/3.1.3.6/at-hash-always": func(t *T) {
		if t.SignIn(t.Client(need.Code)).Text("at_hash") == "" {
			t.Failf("the ID token has no at_hash")
		}
	},
}

func oidcCoreAuthTimeOfLogin(t *T) {
	b := t.NewBrowser()
	first := withMaxAge(t, b)
	at := loginTime(t, first)
	if math.Abs(at-t.DateOf(first.Answer)) > 60 {
		t.Failf("the person has just signed in, but auth_time differs from this time by more than a minute")
	}
	t.WaitPast(at, 0)
	logins := t.SignIns(b)
	second := withMaxAge(t, b)
	if t.SignIns(b) > logins {
		t.WantRemembered()
		t.Blockedf("the server asked the person to sign in again within max_age=36000, so that auth_time has to change")
	}
	if loginTime(t, second) != at {
		t.At(second.Answer)
		t.Failf("a second ID token of the same login has another auth_time, although the person did not sign in again")
	}
}

func oidcCoreNonce(t *T) {
	nonce := "Nonce-" + t.Random() + "_~." + strings.ToLower(t.Random())
	ask := func(nonce string) *check.Request { return t.OpenID(t.Client(need.Code)).Set("nonce", nonce) }
	wantNonce(t, t.GrantFor(ask(nonce)), nonce)
	for _, nonce := range unusualNonces() {
		// A server that refuses it processes nonces, which is the next rule.
		r := settled(t, t.Authorize(ask(nonce)))
		if r.Params.Get("code") == "" {
			continue
		}
		a := t.Redeem(t.CodeOf(r))
		if a.Granted() || len(nonce) >= 8 { // §15.5.2: a server may require a nonce that cannot be guessed
			wantNonce(t, t.Granted(a), nonce)
		}
	}
}

// unusualNonces are texts that a server could change or refuse, if it processed nonces.
func unusualNonces() []string {
	return []string{" a b+c%20d&e=f#g\"<h>\\i/é?", "0", "null", strings.Repeat("n", 512)}
}

// wantNonce asserts that the ID token has the nonce of the request.
func wantNonce(t *T, tokens *check.Tokens, nonce string) {
	got, there := t.IDToken(tokens).Claims["nonce"]
	if got == any(nonce) {
		return
	}
	t.At(tokens.Answer)
	if !there {
		t.Failf("the ID token has no nonce, although the request had one")
	}
	text, _ := got.(string)
	t.Errorf("the nonce of the request was %q, and that of the ID token is %q", t.Clip(nonce, 40), t.Clip(text, 40))
}

// optional returns an optional claim of an ID token. Without it the check is skipped. A claim that is null has no
// value: it should be left out (OIDC Core §13.3), which is a rule of its own.
func optional(t *T, j *jose.JWT, name string) any { return optionalOf(t, "ID tokens", j, name) }

// optionalOf does the same for tokens of a certain kind.
func optionalOf(t *T, kind string, j *jose.JWT, name string) any {
	value := j.Claims[name]
	if value == nil {
		t.Skipf("the rule applies to a server whose %s have %s, which is optional", kind, name)
	}
	return value
}

// wantNumber asserts that an ID token has a claim that is a number, and returns it.
func wantNumber(t *T, j *jose.JWT, name string) float64 {
	value, there := j.Claims[name]
	if !there {
		t.Failf("the ID token has no %s", name)
	}
	number, is := value.(float64)
	if !is {
		t.Failf("%s is %s, which is no number", name, Quoted(value))
	}
	return number
}

// wantHash asserts that at_hash, if present, is the hash of the access token.
func wantHash(t *T, j *jose.JWT, tokens *check.Tokens) {
	hash := j.Claims["at_hash"]
	if hash == nil {
		return
	}
	want := jose.LeftHash(j.Algorithm(), tokens.Access)
	if want == "" {
		t.Skipf("the checks cannot calculate the hash for %s: use a client whose ID tokens are signed with another algorithm",
			j.Algorithm())
	}
	if hash != any(want) {
		t.At(tokens.Answer)
		t.Failf("at_hash is not the left half of the hash of the access token for the algorithm %s", j.Algorithm())
	}
}
