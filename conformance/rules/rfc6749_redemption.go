package rules

import (
	"net/url"
	"strings"

	"mandate/conformance/check"
	"mandate/conformance/need"
	"mandate/conformance/target"
	"mandate/conformance/wire"
)

// rfc6749Redemption has the checks of the rules about the exchange of a code for tokens (RFC 6749 §4.1.3, §4.1.4).
var rfc6749Redemption = checks{
	"RFC6749/4.1.3/client-authenticated": func(t *T) {
		c := t.Client(need.Code)
		wantAuthenticated(t, c, func() url.Values { return t.Code(t.Request(c)).Form() })
	},
	"RFC6749/4.1.3/code-bound-to-client": func(t *T) {
		c, thief := t.Client(need.Code), t.Client(need.Second)
		t.Grant(c)
		t.Grant(thief)
		t.WantRefused(t.Token(thief, t.Code(t.Request(c)).Form()), "the code was issued to another client")
		form := t.Code(t.Request(c)).Form()
		form.Set("redirect_uri", thief.RedirectURI())
		t.WantRefused(t.Token(thief, form), "the code was issued to another client")
	},
	"RFC6749/4.1.3/code-bound-to-public-client": func(t *T) {
		confidential, public := t.Client(need.Code), t.Client(need.Public)
		t.Grant(confidential)
		t.Grant(public)
		t.WantRefused(t.Token(public, t.Code(t.Request(confidential)).Form()), "the code was issued to another client")
		t.WantRefused(t.Token(confidential, t.Code(t.Request(public)).Form()), "the code was issued to another client")
	},
	"RFC6749/4.1.3/public-identifies": func(t *T) {
		c := t.Client(need.Public)
		t.Grant(c)
		t.WantRefused(t.Post(t.Endpoint(need.Token), t.Code(t.Request(c)).Form()), "the request has no client_id")
	},
	"RFC6749/4.1.3/code-valid": func(t *T) {
		wantWhole(t, t.Code(t.Request(t.Client(need.Code))))
	},
	"RFC6749/4.1.3/redirect-uri-present": func(t *T) {
		wantBound(t, func() *check.Request { return t.Request(t.Client(need.Several)) })
	},
	"RFC6749/4.1.3/only-redirect-uri-present": func(t *T) {
		wantBound(t, func() *check.Request { return t.Request(t.Client(need.Code)) })
	},
	"RFC6749/4.1.3/redirect-uri-identical": func(t *T) {
		c := t.Client(need.Several)
		t.Grant(c)
		for _, uri := range []string{c.RedirectURIs[1], c.RedirectURIs[0] + "/", "https://attacker.example/"} {
			form := t.Code(t.Request(c)).Form()
			form.Set("redirect_uri", uri)
			t.WantRefused(t.Token(c, form), "the redirect URI is not the one of the authorization request")
		}
	},
	"RFC6749/4.1.3/failure-spends-nothing": func(t *T) {
		c := t.Client(need.Code)
		code := t.Code(t.Request(c))
		form := code.Form()
		form.Set("redirect_uri", "https://attacker.example/")
		t.Refused(t.Token(c, form))
		t.WantGranted(t.Redeem(code))
	},
	"RFC6749/4.1.4/granted": func(t *T) { t.WantGranted(t.Redeem(t.Code(t.Request(t.Client(need.Code))))) },
	"RFC6749/4.1.4/refresh-token": func(t *T) {
		if t.Grant(t.Client(need.Code)).Refresh == "" {
			t.Failf("the response has no refresh token")
		}
	},
}

// wantBound asserts that a code works only with what binds it to its authorization request: with redirect_uri, or with
// the verifier of its challenge. If the server issues a code without a challenge, that code needs redirect_uri.
func wantBound(t *T, request func() *check.Request) {
	c := request().Client
	t.GrantFor(request())
	unbound := request().Del("code_challenge", "code_challenge_method")
	if r := settled(t, t.Authorize(unbound)); r.Params.Get("code") != "" {
		t.WantRefused(t.Token(c, formWithout(t.CodeOf(r), "redirect_uri")),
			"the request has no redirect_uri, and the code no code_challenge")
	}
	t.WantRefused(t.Token(c, formWithout(t.Code(request()), "redirect_uri", "code_verifier")),
		"the request has neither redirect_uri nor code_verifier")
}

// wantAuthenticated asserts that a token request of a confidential client is refused without its secret and with a
// wrong one. fresh returns a request that was not sent before, because a server can invalidate the code or token of a
// refused request.
func wantAuthenticated(t *T, c *target.Client, fresh func() url.Values) {
	t.Granted(t.Token(c, fresh()))
	t.WantRefused(t.Post(t.Endpoint(need.Token), fresh(), wire.InBody(c.ID, "")), "no secret was sent")
	t.WantRefused(t.Post(t.Endpoint(need.Token), fresh(), c.With("wrong-"+t.Random())), "the secret was wrong")
}

// wantWhole asserts that modified codes are refused.
func wantWhole(t *T, code *check.Code) {
	t.Granted(t.Redeem(t.Code(code.Request)))
	for _, value := range Spoilt(code.Value) {
		form := code.Form()
		form.Set("code", value)
		t.WantRefused(t.Token(code.Request.Client, form), "the server did not issue the code")
	}
}

// Spoilt returns modified copies of a text.
func Spoilt(token string) []string {
	middle := len(token) / 2
	other := "x"
	if token[middle] == 'x' {
		other = "y"
	}
	all := []string{token + "A", token[:len(token)-1], token[1:], token[:middle],
		token[:middle] + other + token[middle+1:]}
	if upper := strings.ToUpper(token); upper != token {
		all = append(all, upper)
	}
	return all
}
