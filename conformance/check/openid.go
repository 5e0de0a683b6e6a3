package check

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"time"

	"mandate/conformance/browser"
	"mandate/conformance/jose"
	"mandate/conformance/need"
	"mandate/conformance/target"
	"mandate/conformance/wire"
)

// OpenID returns an authentication request (OIDC Core §3.1.2.1) with the scope openid and further scopes.
func (t *T) OpenID(c *target.Client, scopes ...string) *Request {
	t.Require(need.OpenID)
	return t.Request(c).Set("scope", strings.Join(slices.Compact(append([]string{"openid"}, scopes...)), " "))
}

// GrantFor performs the authorization code grant for an authentication request.
func (t *T) GrantFor(r *Request) *Tokens { return t.Granted(t.Redeem(t.CodeOf(t.Authorize(r)))) }

// GrantIn does the same in a given browser.
func (t *T) GrantIn(b *browser.Browser, r *Request) *Tokens {
	return t.Granted(t.Redeem(t.CodeOf(t.Walk(b, r, true))))
}

// IDToken reads the ID token among the tokens. Without one the check is blocked.
func (t *T) IDToken(tokens *Tokens) *jose.JWT {
	if tokens.ID == "" {
		t.Blockedf("there is no ID token in the answer")
	}
	j, err := jose.Read(tokens.ID)
	if err != nil {
		t.Blockedf("the ID token cannot be read: %v", err)
	}
	return j
}

// SignIn signs the person in to a client, and returns the ID token.
func (t *T) SignIn(c *target.Client) *jose.JWT { return t.IDToken(t.GrantFor(t.OpenID(c))) }

// Subject returns sub of a JWT. Without one the check is blocked.
func (t *T) Subject(j *jose.JWT) string {
	if j.Text("sub") == "" {
		t.Blockedf("the token has no sub")
	}
	return j.Text("sub")
}

// UserInfo sends a UserInfo request with an access token.
func (t *T) UserInfo(access string) *wire.Answer {
	return t.Get(t.Endpoint(need.UserInfo), wire.Bearer(access))
}

// UserClaims returns the claims of a UserInfo response, signed or not. Without claims the check is blocked.
func (t *T) UserClaims(access string) map[string]any {
	a := t.UserInfo(access)
	claims := a.JSON()
	if a.MediaType() == "application/jwt" {
		j, err := jose.Read(string(a.Body))
		if err != nil {
			t.Blockedf("the UserInfo response cannot be read: %v", err)
		}
		claims = j.Claims
	}
	if a.Status/100 != 2 || claims == nil {
		t.Blockedf("there is no UserInfo response: %s", a)
	}
	return claims
}

// Refreshable returns an authentication request for which the server issues a refresh token, if it does at all. Many
// servers do so for offline access only.
func (t *T) Refreshable(c *target.Client) *Request {
	if t.Metadata().Lists("scopes_supported", "offline_access") {
		return t.OpenID(c, "offline_access").Set("prompt", "consent")
	}
	return t.OpenID(c)
}

// GrantOffline performs the authorization code grant with it.
func (t *T) GrantOffline(c *target.Client) *Tokens {
	return t.WithRefresh(c, t.GrantFor(t.Refreshable(c)))
}

// Posted sends an authentication request by POST, from a page of another site, and fills in no form.
func (t *T) Posted(b *browser.Browser, r *Request) *Response {
	post, err := http.NewRequest(http.MethodPost, r.Endpoint, strings.NewReader(r.Params.Encode()))
	if err != nil {
		t.Blockedf("%s is not an address: %v", r.Endpoint, err)
	}
	post.Header.Set("Content-Type", wire.FormEncoded)
	post.Header.Set("Origin", wire.Origin(r.Client.RedirectURI()))
	post.Header.Set("Sec-Fetch-Site", "cross-site")
	return Ended(r, b, b.Follow(post))
}

// Approved has the person sign in and approve a request, so that the request can be repeated without pages.
func (t *T) Approved(r *Request) *browser.Browser {
	b := t.SignedIn()
	t.CodeOf(t.Walk(b, r, true))
	return b
}

// Silently sends a request with prompt=none in a browser.
func (t *T) Silently(b *browser.Browser, r *Request) *Response {
	err := b.Open(r.Set("prompt", "none").URL())
	response := Ended(r, b, err)
	if f := t.posted(browser.Parse(b.Page)); err == nil && f != nil {
		response.deliver("form_post", f.Action, f.Values)
	}
	return response
}

// ServerTime returns the server's time in seconds from the header Date, or our own time.
func ServerTime(a *wire.Answer) float64 {
	at, err := http.ParseTime(a.Header.Get("Date"))
	if err != nil {
		at = time.Now()
	}
	return float64(at.Unix())
}

// DateOf returns the server's time in seconds from the header Date of an answer. Without it, a server on this machine
// has our own clock. With any other server the check is blocked, because a difference could be that of two clocks.
func (t *T) DateOf(a *wire.Answer) float64 {
	_, err := http.ParseTime(a.Header.Get("Date"))
	if err != nil && t.Reach(a.URL.Hostname()) != wire.ThisMachine {
		t.At(a)
		t.Blockedf("the answer has no Date (RFC 9110 §6.6.1), so that the server's time is not known")
	}
	return ServerTime(a)
}

// WaitPast waits until the server's time has passed a time by some seconds.
func (t *T) WaitPast(at, seconds float64) {
	for range 100 {
		if ServerTime(t.Get(t.Endpoint(need.Keys))) > at+seconds {
			return
		}
		t.Pause(100 * time.Millisecond)
	}
	t.Blockedf("the server's clock is %v seconds behind its own tokens", at+seconds-ServerTime(t.seen))
}

// Keys returns the keys that the server publishes (RFC 7517 §5). Without keys the check is blocked.
func (t *T) Keys() []jose.JWK {
	a := t.Get(t.Endpoint(need.Keys))
	var set struct {
		Keys []jose.JWK `json:"keys"`
	}
	err := json.Unmarshal(a.Body, &set)
	if err != nil || len(set.Keys) == 0 {
		t.Blockedf("jwks_uri has no set of keys: %s", a)
	}
	return set.Keys
}
