package conformance

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// visit is a person's sign-in at a client, in a browser of its own that can be logged out.
type visit struct {
	client  *Client
	browser *Browser
	tokens  *Tokens
	id      *JWT // the ID token
}

func (t *T) visit(role Need, scopes ...string) *visit {
	return t.visitIn(t.NewBrowser(), role, scopes...)
}

// visitIn is one in a browser where there may have been another.
func (t *T) visitIn(b *Browser, role Need, scopes ...string) *visit {
	r := t.OpenID(t.Client(role), scopes...).Set("nonce", t.Random())
	if slices.Contains(scopes, "offline_access") {
		r.Set("prompt", "consent") // OIDC Core §11
	}
	tokens := t.ByBrowser(b, r)
	v := &visit{r.Client, b, tokens, t.IDToken(tokens)}
	t.server.visited.Store(v.id.Text("sid"), true)
	return v
}

// stillIn says whether the person is signed in: a silent request gets a code then.
func (t *T) stillIn(v *visit) bool {
	r := t.Walk(v.browser, t.OpenID(v.client).Set("prompt", "none"), true)
	switch {
	case r.Params.Get("code") != "", r.ErrorCode() == "consent_required":
		return true
	case r.ErrorCode() == "login_required":
		return false
	}
	t.Blockedf("could not see whether the person is signed in: %s", r)
	return false
}

// wantOut asserts that the person is no longer signed in.
func (t *T) wantOut(v *visit) {
	shown := t.seen
	if t.stillIn(v) {
		t.At(shown)
		t.Failf("the person is still signed in")
	}
}

// wantIn asserts that the person is signed in, although something happened.
func (t *T) wantIn(v *visit, although string) {
	shown := t.seen
	if !t.stillIn(v) {
		t.At(shown)
		t.Failf("the person was logged out, although %s", although)
	}
}

// wantIgnored asserts that a logout request neither ends the session nor sends the browser anywhere before somebody
// has said yes.
func (t *T) wantIgnored(v *visit, request url.Values, although string) {
	if d := t.look(v.browser, request); d.away != "" {
		t.At(d.answer)
		t.Errorf("the browser was sent to %s, although %s", clip(d.away, 200), although)
	}
	t.wantIn(v, although)
}

// backTo is a logout request with the registered address to go back to, and a state.
func (t *T) backTo(v *visit, pairs ...string) url.Values {
	request := params(pairs...)
	request.Set("post_logout_redirect_uri", v.client.PostLogoutRedirectURIs[0])
	request.Set("state", t.Random())
	return request
}

// departure is how a logout request ended.
type departure struct {
	away   string // where the browser was sent, or ""
	answer *Answer
}

func (t *T) wantNotSent(d *departure, uri string) {
	if strings.HasPrefix(d.away, uri) {
		t.At(d.answer)
		t.Failf("the browser was sent to %s", clip(d.away, 200))
	}
}

func (t *T) endSession(request url.Values) string {
	return withQuery(t.Endpoint(NeedEndSession), request)
}

// look sends a logout request, and answers no question.
func (t *T) look(b *Browser, request url.Values) *departure {
	err := b.Open(t.endSession(request))
	if err != nil {
		t.Blockedf("%v", err)
	}
	return &departure{b.Away, b.Page}
}

// leave sends a logout request, and says yes to what is asked.
func (t *T) leave(b *Browser, request url.Values) *departure {
	return t.sayYes(b, b.Open(t.endSession(request)))
}

// leaveByPost is leave from a page of another site that posts a form.
func (t *T) leaveByPost(b *Browser, request url.Values) *departure {
	r, err := http.NewRequest(http.MethodPost, t.Endpoint(NeedEndSession), strings.NewReader(request.Encode()))
	if err != nil {
		t.Blockedf("%v", err)
	}
	r.Header.Set("Content-Type", formEncoded)
	r.Header.Set("Origin", "https://client.example")
	r.Header.Set("Sec-Fetch-Site", "cross-site")
	return t.sayYes(b, b.follow(r))
}

func (t *T) sayYes(b *Browser, err error) *departure {
	for range steps {
		if err != nil {
			t.Blockedf("%v", err)
		}
		f := parsePage(b.Page).logoutForm(t.server.Target.Forms)
		if b.Away != "" || b.Page.Status >= http.StatusBadRequest || f == nil {
			break
		}
		err = b.submit(f)
	}
	return &departure{b.Away, b.Page}
}
