package conformance

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"time"
)

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

// Posted sends an authentication request by POST, from a page of another site, and fills in no form.
func (t *T) Posted(b *Browser, r *Request) *Response {
	post, err := http.NewRequest(http.MethodPost, r.endpoint, strings.NewReader(r.Params.Encode()))
	if err != nil {
		t.Blockedf("%s is not an address: %v", r.endpoint, err)
	}
	post.Header.Set("Content-Type", formEncoded)
	post.Header.Set("Origin", origin(r.Client.redirectURI()))
	post.Header.Set("Sec-Fetch-Site", "cross-site")
	return ended(r, b, b.follow(post))
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
	err := b.Open(r.Set("prompt", "none").URL())
	response := ended(r, b, err)
	if f := t.posted(parsePage(b.Page)); err == nil && f != nil {
		response.deliver("form_post", f.action, f.values)
	}
	return response
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
		t.Pause(100 * time.Millisecond)
	}
	t.Blockedf("the server's clock is %v seconds behind its own tokens", at+seconds-serverTime(t.seen))
}

// Keys are those that the server publishes (RFC 7517 §5); without any the check is blocked.
func (t *T) Keys() []JWK {
	a := t.Get(t.Endpoint(NeedKeys))
	var set struct {
		Keys []JWK `json:"keys"`
	}
	err := json.Unmarshal(a.Body, &set)
	if err != nil || len(set.Keys) == 0 {
		t.Blockedf("jwks_uri has no set of keys: %s", a)
	}
	return set.Keys
}
