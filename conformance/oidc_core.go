package conformance

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"
)

func oidcCore() []Rule {
	return slices.Concat(oidcIDToken(), oidcRequest(), oidcPrompt(), oidcHints(), oidcValidation(), oidcResponse(), oidcToken(),
		oidcOtherFlows(), oidcStandardClaims(), oidcUserInfo(), oidcUserInfoSigned(), oidcScopes(), oidcClaims(), oidcClaimTypes(),
		oidcRequestObjects(), oidcSubjects(), oidcClients(), oidcSigning(), oidcOffline(), oidcRefresh(), oidcSerialization(),
		oidcMandatory(), oidcSecurity(), oidcPrivacy())
}

// signIn is what a check needs that has a person sign in to a client.
func signIn(more ...Need) []Need { return append(codeFlow(NeedOpenID), more...) }

// openID is what an authentication request needs that is not redeemed.
func openID(more ...Need) []Need { return append(asking(NeedOpenID), more...) }

// OpenID is an authentication request (OIDC Core §3.1.2.1) with the scope openid and more scopes.
func (t *T) OpenID(c *Client, scopes ...string) *Request {
	t.need(NeedOpenID)
	return t.Request(c).Set("scope", strings.Join(slices.Compact(append([]string{"openid"}, scopes...)), " "))
}

// Try is Authorize, and once more in a browser of its own if nothing comes back to the client: what is asked
// here of a session that other checks have at the same time is more than some servers can sort out.
func (t *T) Try(r *Request) *Response {
	response := t.Authorize(r)
	if !response.Arrived() {
		response = t.Walk(t.NewBrowser(), r, true)
	}
	return response
}

// Refuse is Deny in the same manner.
func (t *T) Refuse(r *Request) *Response {
	response := t.Deny(r)
	if !response.Arrived() {
		response = t.Walk(t.NewBrowser(), r, false)
	}
	return response
}

// said is a response to which the person has said something; where nobody was asked, the check is blocked.
func (t *T) said(r *Response) *Response {
	if !r.Asked {
		t.Blockedf("the person was not asked: %s", r)
	}
	return r
}

// signedInto goes the whole way for an authentication request.
func (t *T) signedInto(r *Request) *Tokens { return t.Granted(t.Redeem(t.codeOf(t.Try(r)))) }

// ByBrowser is signedInto in a certain browser.
func (t *T) ByBrowser(b *Browser, r *Request) *Tokens {
	return t.Granted(t.Redeem(t.codeOf(t.Walk(b, r, true))))
}

// IDToken reads the ID token of an answer; without one the check is blocked.
func (t *T) IDToken(tokens *Tokens) *JWT {
	if tokens.ID == "" {
		t.Blockedf("there is no ID token in the answer")
	}
	j, err := readJWT(tokens.ID)
	if err != nil {
		t.Blockedf("the ID token cannot be read: %v", err)
	}
	return j
}

// SignIn is the ID token of a plain login to a client.
func (t *T) SignIn(c *Client) *JWT { return t.IDToken(t.signedInto(t.OpenID(c))) }

// Subject is the sub of a JWT; without one the check is blocked.
func (t *T) Subject(j *JWT) string {
	if j.Text("sub") == "" {
		t.Blockedf("the token has no sub")
	}
	return j.Text("sub")
}

// wantSignature asserts that a JWT for a client is signed as it says it is.
func (t *T) wantSignature(j *JWT, c *Client) {
	var keys []JWK
	if !strings.HasPrefix(j.Algorithm(), "HS") {
		keys = t.Keys()
	}
	err := j.verify(keys, c.Secret)
	switch {
	case errors.Is(err, errForeign):
		t.Skipf("%v", err)
	case err != nil:
		t.Failf("the signature by %s does not hold: %v", j.Algorithm(), err)
	}
}

// UserInfo asks about the person of an access token.
func (t *T) UserInfo(access string) *Answer { return t.Get(t.Endpoint(NeedUserInfo), Bearer(access)) }

// UserClaims is what UserInfo says, be it signed; without an answer the check is blocked.
func (t *T) UserClaims(access string) map[string]any {
	a := t.UserInfo(access)
	claims := a.JSON()
	if a.MediaType() == "application/jwt" {
		j, err := readJWT(string(a.Body))
		if err != nil {
			t.Blockedf("the answer of UserInfo cannot be read: %v", err)
		}
		claims = j.Claims
	}
	if a.Status/100 != 2 || claims == nil {
		t.Blockedf("UserInfo does not answer: %s", a)
	}
	return claims
}

// wantsScope ends the check if the server does not list a scope.
func (t *T) wantsScope(scope string) {
	if !t.Metadata().lists("scopes_supported", scope) {
		t.Skipf("the server does not list the scope %s", scope)
	}
}

// wantsClaimsParameter ends the check if the server does not have the parameter.
func (t *T) wantsClaimsParameter() {
	if !t.Metadata().is("claims_parameter_supported") {
		t.Skipf("the server does not say claims_parameter_supported")
	}
}

// Refreshable is an authentication request whose answer has a refresh token, where one can be had at all:
// many servers give one for offline access only.
func (t *T) Refreshable(c *Client) *Request {
	if t.Metadata().lists("scopes_supported", "offline_access") {
		return t.OpenID(c, "offline_access").Set("prompt", "consent")
	}
	return t.OpenID(c)
}

// refreshable goes the whole way with it.
func (t *T) refreshable(c *Client) *Tokens { return t.withRefresh(c, t.signedInto(t.Refreshable(c))) }

// withID skips the check if a refresh gave no ID token.
func (t *T) withID(tokens *Tokens) *Tokens {
	if tokens.ID == "" {
		t.Skipf("a refresh gives no ID token, which it need not")
	}
	return tokens
}

// serverTime is the clock of the server, in seconds, where it tells it, and ours where it does not.
func serverTime(a *Answer) float64 {
	at, err := http.ParseTime(a.Header.Get("Date"))
	if err != nil {
		at = time.Now()
	}
	return float64(at.Unix())
}

// waitPast waits until the server's clock has gone past a time by more than some seconds.
func (t *T) waitPast(at, seconds float64) {
	for range 100 {
		if serverTime(t.Get(t.Endpoint(NeedKeys))) > at+seconds {
			return
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-t.ctx.Done():
			t.Blockedf("no answer: %v", t.ctx.Err())
		}
	}
	t.Blockedf("the server's clock is %v seconds behind its own tokens", at+seconds-serverTime(t.seen))
}

// wantsPassword opens a request and says whether the person is asked to sign in. A page that can only be
// used with scripts blocks the check.
func (t *T) wantsPassword(b *Browser, r *Request) (bool, *Response) {
	response := t.open(b, r)
	if response.Stuck != "" {
		t.Blockedf("%s", response)
	}
	if response.Location != "" {
		return false, response
	}
	p, h := parsePage(b.Page), t.run.Target.Forms
	for _, f := range p.forms {
		name := f.username(h)
		if f.password(h) != nil || name != nil && nameWords.MatchString(name.hint) {
			return true, response
		}
	}
	if p.scripted && len(p.forms) == 0 {
		t.Blockedf("not drivable: the page at %s has no form, it seems to need a script", bare(b.Page.URL))
	}
	return false, response
}

// loginPage is a new browser at the page where a request has a person sign in; without one the check is blocked.
func (t *T) loginPage(r *Request) *Browser {
	b := t.NewBrowser()
	asked, response := t.wantsPassword(b, r)
	if !asked {
		t.Blockedf("nobody is asked to sign in: %s", response)
	}
	return b
}

// wantReauthentication asserts that a request in a browser where somebody is signed in leads to the login,
// or else to an error.
func (t *T) wantReauthentication(b *Browser, r *Request, why string) {
	asked, response := t.wantsPassword(b, r)
	if asked || response.ErrorCode() != "" {
		return
	}
	t.At(response.Answer)
	t.Failf("nobody is asked to sign in, although %s: %s", why, response)
}

// wantErrorBack asserts that a request came back to the client with some error and no code.
func (t *T) wantErrorBack(r *Response, why string) {
	t.WantNoCode(r, why)
	if !r.Arrived() || r.ErrorCode() == "" {
		t.Failf("no error came back to the redirect URI, although %s: %s", why, r)
	}
}

// wantCode asserts that a request is granted.
func (t *T) wantCode(r *Response, what string) {
	if r.Stuck != "" {
		t.Blockedf("%s", r)
	}
	if r.Params.Get("code") == "" {
		t.At(r.Answer)
		t.Failf("%s ends with %s", what, r.outcome())
	}
}

// Posted sends an authentication request by POST, from a page of another site, and fills in no form.
func (t *T) Posted(b *Browser, r *Request) *Response {
	post, err := http.NewRequest(http.MethodPost, r.endpoint, strings.NewReader(r.Params.Encode()))
	if err != nil {
		t.Blockedf("%s is not an address: %v", r.endpoint, err)
	}
	post.Header.Set("Content-Type", formEncoded)
	post.Header.Set("Origin", origin(r.Client.redirectURI()))
	post.Header.Set("Sec-Fetch-Site", "cross-site")
	response := &Response{request: r}
	response.end(b, b.follow(post))
	return response
}

// approved has the user sign in and approve a request once, so that it can be repeated without a page.
func (t *T) approved(r *Request) *Browser {
	b := t.SignedIn()
	response := t.Walk(b, r, true)
	if !response.Arrived() {
		b = t.NewBrowser()
		response = t.Walk(b, r, true)
	}
	t.codeOf(response)
	return b
}

// silently sends a request with prompt=none in a browser.
func (t *T) silently(b *Browser, r *Request) *Response {
	response := &Response{request: r.Set("prompt", "none")}
	err := b.Open(r.URL())
	response.end(b, err)
	if f := t.posted(parsePage(b.Page)); err == nil && f != nil {
		response.deliver("form_post", f.action, f.values)
	}
	return response
}

// wantOwnQuestion asserts that a person's yes counts for the question that their own browser was asked: an attacker's
// question, answered by it, gives no code.
func (t *T) wantOwnQuestion(attackers *Browser, ask func() *Request) {
	victims := t.NewBrowser()
	// Asked to ask (OIDC Core §3.1.2.1), in case that a yes is remembered.
	question := t.Question(attackers, ask().Set("prompt", "consent"))
	question.action = attackers.Page.URL.ResolveReference(mustURL(question.action)).String()
	t.Question(victims, ask().Set("prompt", "consent"))
	r := &Response{request: ask()}
	r.end(victims, victims.submit(question))
	t.WantNoCode(r, "the answer is to a question that another browser was asked")
}
