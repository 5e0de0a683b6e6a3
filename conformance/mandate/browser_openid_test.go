package mandate

import (
	"net/url"
	"testing"
)

// OIDC Form Post §2 in a real browser: the form submits itself, although the page's
// policy blocks other scripts.
func TestBrowserFormPost(t *testing.T) {
	browser := chromium(t)
	s := openidServer(t, newSQLite(t))
	alice := s.person(t, "alice")
	client := newSite(t, "https", "shop.example")
	app := s.application(t, "--name", "shop", "--grant", "authorization_code", "--redirect-uri", client.URL+"/back")
	b := s.window(t, browser, client.Host)
	b.open(first(s.authorizeURL(app, "scope", "openid", "response_mode", "form_post")))
	b.logIn(alice)
	b.do(b.click(b.find("button", "Allow"))) // the form's page disappears before the test can inspect it
	b.until(`document.title == "Elsewhere"`)
	back, err := url.Parse(client.URL + "/back")
	if err != nil || b.URL().Host != back.Host || b.URL().RawQuery != "" {
		t.Errorf("the browser is at %s, %v", b.URL(), err)
	}
}
