package openid

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"strings"
	"testing"
	"time"
)

// A logout is a module of RP-Initiated Logout: what it sends, and where the
// browser ends.
type logout struct {
	name      string
	hint      func(idToken string) string // nil sends none
	after     string                      // what is put behind the registered address; - sends no address
	state     string
	redirects bool // to the suite
	signedOut bool
	shows     int // how often the suite's log keeps a page
}

var logouts = []logout{
	{name: "oidcc-rp-initiated-logout", hint: asItIs, state: "s1", redirects: true, signedOut: true},
	{name: "oidcc-rp-initiated-logout-no-state", hint: asItIs, redirects: true, signedOut: true},
	{name: "oidcc-rp-initiated-logout-bad-post-logout-redirect-uri", hint: asItIs, after: "/other", state: "s1", shows: 1},
	{name: "oidcc-rp-initiated-logout-query-added-to-post-logout-redirect-uri", hint: asItIs, after: "?foo=bar",
		state: "s1", shows: 1},
	{name: "oidcc-rp-initiated-logout-modified-id-token-hint", hint: unsigned, state: "s1", shows: 1},
	{name: "oidcc-rp-initiated-logout-bad-id-token-hint", hint: signedByAnother, state: "s1", shows: 1},
	{name: "oidcc-rp-initiated-logout-no-id-token-hint", state: "s1", shows: 1},
	{name: "oidcc-rp-initiated-logout-no-params", after: "-", signedOut: true, shows: 1},
	{name: "oidcc-rp-initiated-logout-only-state", after: "-", state: "s1", signedOut: true, shows: 1},
	{name: "oidcc-rp-initiated-logout-no-post-logout-redirect-uri", hint: asItIs, after: "-", state: "s1",
		signedOut: true, shows: 1},
}

func asItIs(idToken string) string { return idToken }

func unsigned(idToken string) string {
	return base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none"}`)) + "." + strings.Split(idToken, ".")[1] + "."
}

func signedByAnother(idToken string) string {
	end := strings.LastIndex(idToken, ".") + 1
	return idToken[:end] + strings.Repeat("A", len(idToken)-end)
}

// signIn gives the ID token of a new login.
func (r *rehearsal) signIn(t *testing.T, b *browser, p plan, module string) string {
	t.Helper()
	b.visit(p.entries(module), r.request(p, p.Client, nil))
	form := url.Values{"grant_type": {"authorization_code"}, "code": r.answer()["code"],
		"redirect_uri": {r.suite + "/test/a/" + p.Alias + "/callback"}}
	return r.redeem(t, p.Client, form, false).ID
}

func (r *rehearsal) logout(t *testing.T, p plan, l logout) {
	b := newBrowser(t)
	idToken := r.signIn(t, b, p, l.name)
	q := url.Values{}
	if l.hint != nil {
		q.Set("id_token_hint", l.hint(idToken))
	}
	to := r.suite + "/test/a/" + p.Alias + "/post_logout_redirect"
	if l.after != "-" {
		q.Set("post_logout_redirect_uri", to+l.after)
	}
	if l.state != "" {
		q.Set("state", l.state)
		to += "?state=" + l.state
	}
	b.visit(p.entries(l.name), r.endpoints.EndSession+"?"+q.Encode())
	if l.redirects != (b.at == to) || b.shown != l.shows {
		t.Errorf("ended at %s after %d kept pages, want %d and %s: %v", b.at, b.shown, l.shows, to, l.redirects)
	}
	b.visit(p.entries(l.name), r.request(p, p.Client, url.Values{"prompt": {"none"}}))
	if r.answer().Has("error") != l.signedOut {
		t.Errorf("signed out: %v, want %v", !l.signedOut, l.signedOut)
	}
}

// backchannel logs out, and waits until the client is told.
func (r *rehearsal) backchannel(t *testing.T, p plan) {
	b := newBrowser(t)
	idToken := r.signIn(t, b, p, "oidcc-backchannel-rp-initiated-logout")
	b.visit(p.Browser, r.endpoints.EndSession+"?"+url.Values{"id_token_hint": {idToken},
		"post_logout_redirect_uri": {r.suite + "/test/a/" + p.Alias + "/post_logout_redirect"},
		"state":                    {"a state"}}.Encode())
	select {
	case form := <-r.told:
		token := payload(t, form.Get("logout_token"))
		hint := payload(t, idToken)
		if token["sub"] != hint["sub"] || token["sid"] != hint["sid"] || token["sid"] == nil || token["aud"] == nil {
			t.Errorf("the logout token %v is not of the login %v", token, hint)
		}
	case <-time.After(30 * time.Second):
		t.Error("nobody called the back-channel address")
	}
}

// payload reads a token without a look at its signature.
func payload(t *testing.T, token string) (claims map[string]any) {
	t.Helper()
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		t.Fatalf("%q is no token", token)
	}
	text, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		t.Fatal(err)
	}
	err = json.Unmarshal(text, &claims)
	if err != nil {
		t.Fatal(err)
	}
	return claims
}
