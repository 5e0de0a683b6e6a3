package rules

import (
	"net/http"
	"slices"
	"strings"

	"mandate/conformance/check"
	"mandate/conformance/need"
	"mandate/conformance/wire"
)

// rfc9700Redirects has the checks of the rules about redirect URIs, mix-up attacks, downgrades and open redirectors
// (RFC 9700 §4.1.3 to §4.13).
var rfc9700Redirects = checks{
	"RFC9700/4.1.3/a2-loopback-port": func(t *T) { wantAnyPort(t) },
	"RFC9700/4.1.3/a53-fragment": func(t *T) {
		r := t.Authorize(t.Request(t.Client(need.Code)))
		if !r.Arrived() {
			t.Blockedf("%s", r)
		}
		if strings.Contains(r.Location, "#") {
			t.At(r.Answer)
			t.Failf("the response has a fragment")
		}
	},
	"RFC9700/4.3.1/form-post": func(t *T) {
		if m := provider(t); !m.Lists("response_modes_supported", "form_post") {
			t.Failf("response_modes_supported does not contain form_post")
		}
	},
	"RFC9700/4.3.2/a46-not-in-query": func(t *T) {
		token := t.GrantFor(t.OpenID(t.Client(need.Code))).Access
		if a := t.Get(t.Endpoint(need.UserInfo), wire.Bearer(token)); a.Status/100 != 2 {
			t.Blockedf("UserInfo refuses a valid token: %s", a)
		}
		if a := t.Get(wire.WithQuery(t.Endpoint(need.UserInfo), wire.Params("access_token", token))); a.Status/100 == 2 {
			t.Failf("the token in the query was accepted")
		}
	},
	"RFC9700/4.4.2.1/a45-iss":        func(t *T) { wantIssuerInAnswers(t) },
	"RFC9700/4.8.2/a14-no-downgrade": rfc9700A14NoDowngrade,
	"RFC9700/4.11.2/a4-invalid-pair-not-redirected": func(t *T) {
		c := t.Client(need.Code)
		for _, uri := range []string{t.Client(need.Second).RedirectURI(), "https://attacker.example/"} {
			wantNotArrived(t, t.OpenAnonymously(t.Request(c).Set("redirect_uri", uri)),
				"it is not a redirect URI of the client code")
			wantNotArrived(t, t.Authorize(t.Request(c).Set("redirect_uri", uri)), "it is not a redirect URI of the client code")
		}
		wantNotArrived(t, t.OpenAnonymously(t.Request(c).Set("client_id", "conformance-"+t.Random())),
			"the client_id is unknown")
	},
	"RFC9700/4.11.2/a5-person-first": func(t *T) {
		c := t.Client(need.Code)
		for _, r := range []*check.Request{t.Request(c), t.Request(c).Set("scope", "conformance-unknown"),
			t.Request(c).Set("response_type", "conformance"), t.Request(c).Del("response_type")} {
			wantNotArrived(t, t.OpenAnonymously(r), "nobody has signed in")
		}
	},
	"RFC9700/4.12/a8-no-307": func(t *T) {
		if a := afterPassword(t); a.Status == http.StatusTemporaryRedirect {
			t.At(a)
			t.Failf("the login form is answered with %s", a)
		}
	},
	"RFC9700/4.12/a9-303": func(t *T) {
		a := afterPassword(t)
		if a.Status/100 != 3 {
			t.Skipf("the rule applies to a server that answers the login form with a redirect: %s", a)
		}
		if a.Status != http.StatusSeeOther {
			t.At(a)
			t.Failf("the login form is answered with %s, want 303", a)
		}
	},
}

func rfc9700A14NoDowngrade(t *T) {
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
}

// wantNotArrived asserts that the browser was not sent to the redirect URI of the request.
func wantNotArrived(t *T, r *check.Response, although string) {
	if r.Arrived() {
		t.At(r.Answer)
		t.Failf("the browser was sent to %s with %s, although %s", r.Request.Params.Get("redirect_uri"),
			r.Outcome(), although)
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

// rfc9700Refresh has the checks of the rules about refresh tokens (RFC 9700 §4.14.2).
var rfc9700Refresh = checks{
	"RFC9700/4.14.2/a23-bound-to-resource-servers": func(t *T) {
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
	"RFC9700/4.14.2/a20-one-successor": func(t *T) {
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
	"RFC9700/4.14.2/a26-replaced-ends-too": func(t *T) {
		c := t.Client(need.Public)
		first := t.GrantRefresh(c)
		second := t.Granted(t.Refresh(c, first.Refresh))
		if second.Refresh == "" || second.Refresh == first.Refresh {
			t.Skipf("the rule needs a server that replaces refresh tokens, and this one returned no other")
		}
		revokeOK(t, t.Revoke(c, second.Refresh))
		t.WantRefused(t.Refresh(c, first.Refresh), "its successor was revoked")
	},
}

// rfc9700Clients has the checks of the rules about clients that impersonate people (RFC 9700 §4.15.1).
var rfc9700Clients = checks{
	"RFC9700/4.15.1/a36-no-person": func(t *T) {
		machine, person := t.Introspect(t.Machine().Access), t.Introspect(t.Grant(t.Client(need.Code)).Access)
		for _, name := range []string{"sub", "username"} {
			if machine[name] != nil && machine[name] == person[name] {
				t.Errorf("introspection returns %s %v both for a token of the client machine itself and for a token of a person",
					name, machine[name])
			}
		}
	},
	"RFC9700/4.15.1/a36-told-apart": func(t *T) {
		machine, person := t.Introspect(t.Machine().Access), t.Introspect(t.Grant(t.Client(need.Code)).Access)
		if person["sub"] == nil && person["username"] == nil {
			t.Skipf("the rule applies to a server whose introspection responses name the person")
		}
		client := machine["sub"] == nil || machine["sub"] == t.Client(need.Machine).ID
		if !client || person["sub"] == t.Client(need.Code).ID {
			t.Failf("sub is %v for a client itself, and %v for a person", machine["sub"], person["sub"])
		}
	},
}
