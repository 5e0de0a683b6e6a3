package rules

import (
	"encoding/json"
	"errors"
	"strings"

	"mandate/conformance/browser"
	"mandate/conformance/check"
	"mandate/conformance/jose"
	"mandate/conformance/need"
	"mandate/conformance/target"
	"mandate/conformance/wire"
)

// wantSignature asserts that the signature of a JWT is valid. The last answer contains the JWT.
func wantSignature(t *T, j *jose.JWT, c *target.Client) {
	var keys []jose.JWK
	shown := t.Last()
	if !strings.HasPrefix(j.Algorithm(), "HS") {
		keys = t.Keys()
	}
	err := j.Verify(keys, c.Secret)
	switch {
	case errors.Is(err, jose.ErrUnsupported):
		t.Skipf("%v", err)
	case err != nil:
		t.At(shown)
		with := "a key that the server publishes"
		if keys == nil {
			with = "the secret of the client " + string(c.Role)
		}
		header, _ := json.Marshal(j.Header) // it was JSON before
		t.Failf("the token has the header %s, and its signature was not made with %s: %v", header, with, err)
	}
}

// withID skips the check if a refresh returned no ID token.
func withID(t *T, tokens *check.Tokens) *check.Tokens {
	if tokens.ID == "" {
		t.Skipf("the rule applies to a server that returns an ID token for a refresh, which is optional (OIDC Core §12.2)")
	}
	return tokens
}

// withMaxAge signs the person in with max_age, so that the ID token has auth_time.
func withMaxAge(t *T, b *browser.Browser) *check.Tokens {
	return t.GrantIn(b, t.OpenID(t.Client(need.Code)).Set("max_age", "36000"))
}

// loginTime returns auth_time of the ID token. Without it the check is blocked.
func loginTime(t *T, tokens *check.Tokens) float64 {
	at := t.IDToken(tokens).Number("auth_time")
	if at < 0 {
		t.Blockedf("the ID token has no auth_time (OIDCCore/2/auth-time-with-max-age)")
	}
	return at
}

// olderThan signs the person in with max_age, and waits until the login is some seconds old. It works without
// auth_time.
func olderThan(t *T, b *browser.Browser, seconds float64) *check.Tokens {
	tokens := withMaxAge(t, b)
	at := check.ServerTime(tokens.Answer)
	if named := t.IDToken(tokens).Number("auth_time"); named > at {
		at = named
	}
	t.WaitPast(at, seconds)
	return tokens
}

// rawIDToken returns the ID token without parsing it. Without one the check is blocked.
func rawIDToken(t *T, tokens *check.Tokens) string {
	if tokens.ID == "" {
		t.Blockedf("the response has no ID token (OIDCCore/3.1.3.3/id-token)")
	}
	return tokens.ID
}

// wantNewLogin asserts that with prompt=login no code is issued before a new login.
func wantNewLogin(t *T, c *target.Client) {
	b := t.NewBrowser()
	t.CodeOf(t.Walk(b, t.OpenID(c), true))
	wantReauthentication(t, b, t.OpenID(c).Set("prompt", "login"), "prompt is login")
}

// wantErrorBack asserts that the client receives an error and no code.
func wantErrorBack(t *T, r *check.Response, why string) {
	t.WantNoCode(r, why)
	if r.Arrived() && r.ErrorCode() != "" {
		return
	}
	if page := browser.Parse(r.Answer); r.Location == "" && page.Scripted && len(page.Forms) == 0 {
		t.Blockedf("the page at %s seems to need a script, and the checks run none", wire.Bare(r.Answer.URL))
	}
	t.Failf("no error was returned to the redirect URI, although %s: %s", why, r)
}

// wantConsentProtected asserts that another site cannot approve a request in a victim's browser (CSRF). A page of that
// site sends the consent form of an attacker's request, and gets no code. In the attacker's browser such a form gets
// one. The page can neither send the origin of the server nor cookies that SameSite withholds, so that either may
// protect the form.
func wantConsentProtected(t *T, attackers *browser.Browser, ask func() *check.Request) {
	victims := t.NewBrowser()
	// With prompt=consent the server asks even if the person has approved before (OIDC Core §3.1.2.1).
	own := t.ConsentForm(attackers, ask().Set("prompt", "consent"))
	if r := check.Ended(ask(), attackers, attackers.Submit(own)); r.Params.Get("code") == "" {
		t.Blockedf("the consent form gets no code in the browser to which it was sent either: %s", r)
	}
	question := t.ConsentForm(attackers, ask().Set("prompt", "consent"))
	question.Action = attackers.Page.URL.ResolveReference(wire.ParseURL(question.Action)).String()
	t.ConsentForm(victims, ask().Set("prompt", "consent"))
	r := check.Ended(ask(), victims, victims.SubmitFrom("https://attacker.example", question))
	if r.Stuck == "" && r.Params.Get("code") != "" {
		bearsDecision(t, attackers, ask)
	}
	t.At(r.Answer)
	settled(t, r)
	t.WantWithheld(r, "a page of another site sent the consent form, which belongs to the request of another browser")
}

// bearsDecision blocks the check if the consent form of a request gets a code in a browser without cookies too. Then
// the form stands for the person to whom it was sent, and the session of another browser adds nothing to it.
func bearsDecision(t *T, attackers *browser.Browser, ask func() *check.Request) {
	form := t.ConsentForm(attackers, ask().Set("prompt", "consent"))
	form.Action = attackers.Page.URL.ResolveReference(wire.ParseURL(form.Action)).String()
	empty := t.NewBrowser()
	empty.Page = attackers.Page // the page of the form
	if r := check.Ended(ask(), empty, empty.Submit(form)); r.Params.Get("code") != "" {
		t.Blockedf("the consent form gets a code in a browser without cookies too, so that the code can stand for the " +
			"person to whom the form was sent: the rule needs a server that keeps the sign-in in a cookie")
	}
}
