package check

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"mandate/conformance/browser"
	"mandate/conformance/jose"
	"mandate/conformance/need"
	"mandate/conformance/target"
	"mandate/conformance/wire"
)

// Visit is a person's login at a client, in a browser of its own, so that it can be ended.
type Visit struct {
	Client  *target.Client
	Browser *browser.Browser
	Tokens  *Tokens
	ID      *jose.JWT // the ID token
}

// Visit signs the person in to the client of a role, in a new browser.
func (t *T) Visit(role need.Need, scopes ...string) *Visit {
	return t.VisitIn(t.NewBrowser(), role, scopes...)
}

// VisitIn does the same in a given browser.
func (t *T) VisitIn(b *browser.Browser, role need.Need, scopes ...string) *Visit {
	r := t.OpenID(t.Client(role), scopes...).Set("nonce", t.Random())
	if slices.Contains(scopes, "offline_access") {
		r.Set("prompt", "consent") // OIDC Core §11
	}
	tokens := t.GrantIn(b, r)
	v := &Visit{r.Client, b, tokens, t.IDToken(tokens)}
	t.server.visited.Store(v.ID.Text("sid"), true)
	return v
}

// StillSignedIn reports whether the person is signed in. Then a request with prompt=none is answered with a code. It
// fills in no form, because the person would then sign in again at a server without prompt=none. Such a server shows
// its login page, or not, for an ordinary request. If the server does not remember a sign-in, the check is blocked.
func (t *T) StillSignedIn(v *Visit) bool {
	if t.hasSession(v) {
		return true
	}
	t.WantRemembered()
	return false
}

func (t *T) hasSession(v *Visit) bool {
	r := t.Silently(v.Browser, t.OpenID(v.Client))
	switch {
	case r.Params.Get("code") != "", r.ErrorCode() == "consent_required":
		return true
	case r.ErrorCode() == "login_required":
		return false
	}
	asks, _ := t.AsksPassword(v.Browser, t.OpenID(v.Client))
	return !asks
}

// WantSignedIn asserts that the person is still signed in.
func (t *T) WantSignedIn(v *Visit, although string) {
	shown := t.seen
	if !t.StillSignedIn(v) {
		t.At(shown)
		t.Failf("the person was signed out, although %s", although)
	}
}

// LogoutRequest returns a logout request with the registered post-logout redirect URI and a state.
func (t *T) LogoutRequest(v *Visit, pairs ...string) url.Values {
	request := wire.Params(pairs...)
	request.Set("post_logout_redirect_uri", v.Client.PostLogoutRedirectURIs[0])
	request.Set("state", t.Random())
	return request
}

// LogoutOutcome is the outcome of a logout request.
type LogoutOutcome struct {
	Away      string // where the browser was sent, or ""
	Answer    *wire.Answer
	Confirmed bool // the server asked the person, who said yes
}

// WantNotSent asserts that the browser was not sent to an address.
func (t *T) WantNotSent(d *LogoutOutcome, uri string) {
	if strings.HasPrefix(d.Away, uri) {
		t.At(d.Answer)
		t.Failf("the browser was sent to %s", wire.Place(d.Away))
	}
}

func (t *T) endSession(request url.Values) string {
	return wire.WithQuery(t.Endpoint(need.EndSession), request)
}

// OpenLogout sends a logout request, and confirms nothing.
func (t *T) OpenLogout(b *browser.Browser, request url.Values) *LogoutOutcome {
	err := b.Open(t.endSession(request))
	if err != nil {
		t.Blockedf("%v", err)
	}
	return &LogoutOutcome{b.Away, b.Page, false}
}

// Logout sends a logout request, and confirms it if asked.
func (t *T) Logout(b *browser.Browser, request url.Values) *LogoutOutcome {
	return t.sayYes(b, b.Open(t.endSession(request)))
}

// LogoutByPost does the same by POST, from a page of another site.
func (t *T) LogoutByPost(b *browser.Browser, request url.Values) *LogoutOutcome {
	r, err := http.NewRequest(http.MethodPost, t.Endpoint(need.EndSession), strings.NewReader(request.Encode()))
	if err != nil {
		t.Blockedf("%v", err)
	}
	r.Header.Set("Content-Type", wire.FormEncoded)
	r.Header.Set("Origin", "https://client.example")
	r.Header.Set("Sec-Fetch-Site", "cross-site")
	return t.sayYes(b, b.Follow(r))
}

func (t *T) sayYes(b *browser.Browser, err error) *LogoutOutcome {
	confirmed := false
	for range steps {
		if err != nil {
			t.Blockedf("%v", err)
		}
		f := browser.Parse(b.Page).LogoutForm(t.server.Target.Forms)
		if b.Away != "" || b.Page.Status >= http.StatusBadRequest || f == nil {
			break
		}
		confirmed, err = true, b.Submit(f)
	}
	return &LogoutOutcome{b.Away, b.Page, confirmed}
}
