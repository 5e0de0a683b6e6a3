package rules

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"mandate/conformance/check"
	"mandate/conformance/jose"
	"mandate/conformance/need"
	"mandate/conformance/wire"
)

// accessJWT parses an access token. If it is no JWT, the check is skipped: no document requires JWT access tokens.
func accessJWT(t *T, tokens *check.Tokens) *jose.JWT {
	t.At(tokens.Answer)
	j, err := jose.Read(tokens.Access)
	if err != nil {
		t.Skipf("the access token of the client jwt is no signed JWT (%v): let the server issue access tokens of RFC 9068 "+
			"to it, or remove the client from the target", err)
	}
	return j
}

// personJWT returns an access token of the client jwt for the person.
func personJWT(t *T) *jose.JWT { return accessJWT(t, t.Grant(t.Client(need.JWT))) }

// signedTokens returns the tokens of the client jwt for itself. If the client may not use client credentials, the
// check is skipped.
func signedTokens(t *T, as ...wire.Auth) *check.Tokens {
	form := wire.Params("grant_type", need.GrantMachine)
	if t.Scoped() {
		form.Set("scope", strings.Fields(t.Request(t.Client(need.JWT)).Params.Get("scope"))[0])
	}
	a := t.Token(t.Client(need.JWT), form, as...)
	if code := a.Text("error"); code == "unauthorized_client" || code == "unsupported_grant_type" {
		t.Skipf("the rule needs a client jwt that may use the client credentials grant: %s", a.Failure())
	}
	return t.Granted(a)
}

// twoJWTs returns two access tokens for the same request. Two equal ones can be issued in the same second. If the
// server returns the same token later too, the check is skipped.
func twoJWTs(t *T) (one, other *jose.JWT) {
	first, second := t.Grant(t.Client(need.JWT)), t.Grant(t.Client(need.JWT))
	if first.Access == second.Access {
		t.Pause(1100 * time.Millisecond)
		second = t.Grant(t.Client(need.JWT))
	}
	if first.Access == second.Access {
		t.Skipf("the rule applies to a server that issues a new access token for each grant: this one returned the same " +
			"token twice")
	}
	return accessJWT(t, first), accessJWT(t, second)
}

// wantTime asserts that a claim is a time in seconds.
func wantTime(t *T, j *jose.JWT, name string) float64 {
	at := j.Number(name)
	if at < 1e9 || at > 1e11 {
		t.Failf("%s of the access token is %s, which is no time in seconds", name, Quoted(j.Claims[name]))
	}
	return at
}

// wantClaim asserts that an access token has a claim with a value.
func wantClaim(t *T, name string) any {
	j := personJWT(t)
	if j.Claims[name] == nil || j.Claims[name] == "" {
		t.Failf("the access token has no %s; its claims are %s", name, strings.Join(slices.Sorted(maps.Keys(j.Claims)), ", "))
	}
	return j.Claims[name]
}

var rfc9068Header = checks{
	"RFC9068/2.1/signed": func(t *T) {
		j := personJWT(t)
		if strings.HasPrefix(j.Algorithm(), "HS") {
			t.Skipf("the rule applies to access tokens with an asymmetric signature: this one has %s, whose key only the "+
				"server and its resource servers know", j.Algorithm())
		}
		wantSignature(t, j, t.Client(need.JWT))
	},
	"RFC9068/2.1/asymmetric": func(t *T) {
		if alg := personJWT(t).Algorithm(); strings.HasPrefix(alg, "HS") {
			t.Failf("alg is %s", alg)
		}
	},
	"RFC9068/2.1/not-none": func(t *T) {
		if alg := personJWT(t).Algorithm(); alg == "" || strings.EqualFold(alg, "none") {
			t.Failf("alg is %q", alg)
		}
	},
	"RFC9068/2.1/typ": func(t *T) {
		typ, _ := personJWT(t).Header["typ"].(string)
		if strings.TrimPrefix(strings.ToLower(typ), "application/") != "at+jwt" {
			t.Failf("typ is %q", typ)
		}
	},
	"RFC9068/2.1/typ-short": func(t *T) {
		typ, _ := personJWT(t).Header["typ"].(string)
		if strings.HasPrefix(strings.ToLower(typ), "application/") {
			t.Failf("typ is %q", typ)
		}
	},
}

var rfc9068Claims = checks{
	"RFC9068/2.2/iss": func(t *T) {
		if iss := wantClaim(t, "iss"); iss != t.Issuer() {
			t.Failf("iss is %v, want %s", iss, t.Issuer())
		}
	},
	"RFC9068/2.2/exp": func(t *T) {
		tokens := t.Grant(t.Client(need.JWT))
		if exp := wantTime(t, accessJWT(t, tokens), "exp"); exp <= t.DateOf(tokens.Answer) {
			t.Failf("exp is %.0f, but the time of the response is %.0f", exp, t.DateOf(tokens.Answer))
		}
	},
	"RFC9068/2.2/exp-and-expires-in": func(t *T) {
		tokens := t.Grant(t.Client(need.JWT))
		lives, said := tokens.Answer.JSON()["expires_in"].(float64)
		if !said {
			t.Skipf("the rule applies to a server whose token responses have expires_in")
		}
		j := accessJWT(t, tokens)
		if off := j.Number("exp") - j.Number("iat") - lives; off < -1 || off > 1 {
			t.Failf("exp is %.0f seconds after iat, but expires_in is %.0f", j.Number("exp")-j.Number("iat"), lives)
		}
	},
	"RFC9068/2.2/aud": func(t *T) {
		aud := personJWT(t).Audience()
		if len(aud) == 0 || slices.Contains(aud, "") {
			t.Failf("aud is %q", aud)
		}
	},
	"RFC9068/2.2/sub": func(t *T) { wantClaim(t, "sub") },
	"RFC9068/2.2/sub-of-person": func(t *T) {
		tokens := t.GrantFor(t.OpenID(t.Client(need.JWT)))
		if sub := t.Subject(t.IDToken(tokens)); accessJWT(t, tokens).Text("sub") != sub {
			t.Failf("sub is %q in the access token, but %q in the ID token", accessJWT(t, tokens).Text("sub"), sub)
		}
	},
	"RFC9068/2.2/sub-of-client": func(t *T) {
		one, other := accessJWT(t, signedTokens(t)).Text("sub"), accessJWT(t, signedTokens(t)).Text("sub")
		if one == "" || one != other {
			t.Failf("sub is %q, and %q in the next token of the client itself", one, other)
		}
		if person := personJWT(t).Text("sub"); person == one {
			t.Failf("sub is %q both in a token of the client itself and in a token of the person", one)
		}
	},
	"RFC9068/2.2/client-id": func(t *T) {
		if id := wantClaim(t, "client_id"); id != t.Client(need.JWT).ID {
			t.Failf("client_id is %v, want %s", id, t.Client(need.JWT).ID)
		}
	},
	"RFC9068/2.2/iat": func(t *T) {
		tokens := t.Grant(t.Client(need.JWT))
		at := wantTime(t, accessJWT(t, tokens), "iat")
		if off := t.DateOf(tokens.Answer) - at; off < -1 || off > 60 {
			t.Failf("iat is %.0f, but the time of the response is %.0f", at, t.DateOf(tokens.Answer))
		}
	},
	"RFC9068/2.2/iat-of-refresh": func(t *T) {
		first := t.GrantRefresh(t.Client(need.JWT))
		at := accessJWT(t, first).Number("iat")
		t.WaitPast(at, 1)
		second := t.Granted(t.Refresh(t.Client(need.JWT), first.Refresh))
		if second.Access == first.Access {
			t.Skipf("the rule applies to a server that issues a new access token for a refresh: this one returned the same " +
				"token")
		}
		if next := accessJWT(t, second).Number("iat"); next <= at {
			t.Failf("iat of the refreshed token is not later than that of the first token")
		}
	},
	"RFC9068/2.2/jti": func(t *T) {
		one, other := twoJWTs(t)
		if one.Text("jti") == "" {
			t.Failf("the access token has no jti")
		}
		if one.Text("jti") == other.Text("jti") {
			t.Failf("two access tokens have the same jti, %q", one.Text("jti"))
		}
	},
	"RFC9068/2.2.1/of-the-login": func(t *T) {
		first := t.GrantRefresh(t.Client(need.JWT))
		was := accessJWT(t, first)
		about := slices.DeleteFunc([]string{"auth_time", "acr", "amr"},
			func(name string) bool { return was.Claims[name] == nil })
		if len(about) == 0 {
			t.Skipf("the rule applies to a server whose access tokens have auth_time, acr or amr, which are optional")
		}
		is := accessJWT(t, t.Granted(t.Refresh(t.Client(need.JWT), first.Refresh)))
		for _, name := range about {
			if !reflect.DeepEqual(was.Claims[name], is.Claims[name]) {
				t.Errorf("%s is %s after a refresh, but was %s", name, Quoted(is.Claims[name]), Quoted(was.Claims[name]))
			}
		}
	},
	"RFC9068/2.2.1/told": func(t *T) {
		j := personJWT(t)
		if j.Number("auth_time") < 0 || j.Text("acr") == "" {
			t.Failf("auth_time is %s, and acr is %s", Quoted(j.Claims["auth_time"]), Quoted(j.Claims["acr"]))
		}
	},
	"RFC9068/2.2.3/scope": rfc9068Scope,
}

func rfc9068Scope(t *T) {
	c := t.Client(need.JWT)
	requested := t.Request(c).Params.Get("scope")
	if requested == "" {
		requested = t.Grant(c).Scope // the default scope
	}
	if requested == "" {
		t.Skipf("the server names no scope to request: name one in the target")
	}
	tokens := t.GrantFor(t.Request(c).Set("scope", requested))
	granted := tokens.Scope
	if granted == "" {
		granted = requested // RFC 6749 §5.1
	}
	scope := accessJWT(t, tokens).Text("scope")
	if scope == "" {
		t.Failf("the access token has no scope, although %q was requested", requested)
	}
	for name := range strings.FieldsSeq(scope) {
		if !slices.Contains(strings.Fields(granted), name) {
			t.Errorf("scope of the access token is %q, but %q was granted", scope, granted)
		}
	}
}
