package mandate

import (
	"net/url"
	"slices"
	"strings"
	"testing"
)

// The response reaches a redirect URI of each form that an administrator can register, from the consent page and from
// the login page that leads on without it.
func TestBrowserWeakRedirectURIs(t *testing.T) {
	browser := chromium(t)
	s := startServer(t, options{})
	alice := s.person(t, "alice")
	for _, uri := range []string{"audiobookshelf://oauth", "kitchenowl:/signin/redirect", "app.immich:///oauth-callback"} {
		t.Run(uri, func(t *testing.T) {
			target, err := url.Parse(uri)
			if err != nil {
				t.Fatal(err)
			}
			b := s.window(t, browser, target.Host)
			phone := s.application(t, "--name", "Phone", "--client-type", "public", "--grant", "authorization_code",
				"--redirect-uri", uri)
			address, _ := s.authorizeURL(phone, "scope", "read", "state", "xyz")
			b.open(address)
			b.logIn(alice)
			scheme, _, _ := strings.Cut(uri, ":")
			b.says("an app on this device ("+scheme+")", uri)
			b.do(b.click(b.find("button", "Allow")))
			waitFor(t, "the browser goes to "+uri, func() bool {
				return slices.ContainsFunc(b.requests(), func(sent string) bool {
					query, found := strings.CutPrefix(sent, uri+"?")
					values, err := url.ParseQuery(query)
					return found && err == nil && values.Get("state") == "xyz" && s.secret(values.Get("code")) != ""
				})
			})
		})
	}
	t.Run("http in a private network", func(t *testing.T) {
		site := newSite(t, "http", "grafana.lan")
		b := s.window(t, browser, site.Host)
		app := s.application(t, "--name", "Grafana", "--grant", "authorization_code", "--redirect-uri", site.URL+"/back")
		for _, step := range []string{"with the consent page", "without it"} {
			address, verifier := s.authorizeURL(app, "scope", "read")
			b.open(address)
			if step == "without it" {
				b = s.window(t, browser, site.Host)
				b.open(address)
			}
			b.logIn(alice)
			if step == "with the consent page" {
				b.says(site.Host, site.URL+"/back")
				b.press("Allow")
			}
			b.expect(200, "Back at the client")
			if got := s.redeem(t, app, b.URL().Query().Get("code"), verifier); got.AccessToken == "" {
				t.Errorf("%s: no token", step)
			}
		}
	})
}
