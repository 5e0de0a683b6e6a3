package mandate

import (
	"html"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
)

// What other sites can do to a person who is signed in here, and what works without
// scripts.
func TestBrowserSafety(t *testing.T) {
	browser := chromium(t)
	s := startServer(t, options{})
	alice := s.person(t, "alice", "--admin")
	evil := newSite(t, "http", "evil.example")
	client := newSite(t, "http", "127.0.0.1")
	app := s.application(t, "--name", "Holiday Planner", "--grant", "authorization_code", "--redirect-uri",
		client.URL+"/back")
	b := s.window(t, browser, evil.Host, client.Host)

	// Another site, and another origin of the same site, whose forms are sent with the
	// cookie.
	t.Run("a form of another origin is refused", func(t *testing.T) {
		b := b.in(t)
		b.open("/account/")
		b.logIn(alice)
		for _, from := range []*site{evil, client} {
			for path, fields := range map[string][]string{
				"/account/password/": {"current_password", alice.Password, "new_password", "chosen by somebody else"},
				"/admin/users/new/": {"username", "mallory", "password", "chosen by somebody else", "active", "on",
					"administrator", "on"},
				"/o/applications/register/": {"name", "Mallory", "client_type", "confidential", "grant_type", "client_credentials",
					"scope", "read"},
				"/login/":     {"username", alice.Name, "password", alice.Password},
				"/logout/":    {"x", "y"},
				"/o/consent/": {"ticket", "x", "decision", "approve"},
			} {
				b.open(from.page("/form", formTo(s.URL+path, params(fields...))))
				b.press("Win a prize")
				b.expect(403, "You may not do this")
				b.says("This form was sent from another site, so nothing was done.")
			}
		}
		b.open("/admin/users/")
		b.expect(200, "People")
		if strings.Contains(b.text(), "mallory") {
			t.Error("there is a user that another site has made")
		}
	})

	t.Run("an authorization request may come as a form of another site and finds the person signed in",
		func(t *testing.T) {
			b := b.in(t)
			for _, from := range []*site{evil, client} {
				address, _ := s.authorizeURL(app, "scope", "read", "state", "xyz")
				u, err := url.Parse(address)
				if err != nil {
					t.Fatal(err)
				}
				b.open(from.page("/form", formTo(s.URL+"/o/authorize/", u.Query())))
				b.press("Win a prize")
				b.expect(200, "Allow access to your account?")
				b.says(alice.Name)
				b.press("Do not allow")
				if got := b.URL().Query(); got.Get("error") != "access_denied" || got.Get("state") != "xyz" {
					t.Errorf("the client got %v", got)
				}
			}
		})

	// The other origin belongs to the same site here, so its frames send the cookie.
	t.Run("no page is shown in a frame", func(t *testing.T) {
		b := b.in(t)
		address, _ := s.authorizeURL(app, "scope", "read")
		framed := func(address string) string {
			b.open(client.page("/frame", `<h1>Prizes</h1><iframe src="`+html.EscapeString(address)+`"></iframe>`))
			frames := call(b, page.GetFrameTree, cdp.Empty{}).FrameTree.ChildFrames
			if len(frames) != 1 {
				t.Fatalf("the page has %d frames", len(frames))
			}
			return frames[0].Frame.URL
		}
		for _, address := range []string{s.URL + "/", s.URL + "/login/", s.URL + "/account/", s.URL + "/nowhere", address} {
			if shown := framed(address); !strings.HasPrefix(shown, "chrome-error://") {
				t.Errorf("a frame shows %s", shown)
			}
			if !slices.ContainsFunc(b.complaints(), func(c string) bool { return strings.Contains(c, "frame-ancestors") }) {
				t.Errorf("%s is not kept out of the frame by its policy", address)
			}
		}
		if shown := framed(client.URL + "/back"); shown != client.URL+"/back" {
			t.Errorf("the frame of this test shows nothing at all: %s", shown)
		}
	})

	t.Run("nothing needs a script", func(t *testing.T) {
		b := s.window(t, browser, client.Host)
		call(b, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
		b.open("/o/applications/register/")
		b.logIn(alice)
		b.follow("Website with a server")
		b.fill("Name", "No Script")
		b.fill("Redirect URIs", "http://evil.example/back")
		b.press("Register application")
		b.expect(422, "Register an application")
		b.fill("Redirect URIs", client.URL+"/back")
		b.press("Register application")
		b.expect(200, "No Script")
		made := application{ClientSecret: s.secret(b.value("Client secret")), RedirectURI: client.URL + "/back",
			ClientID: evaluate[string](b, `document.querySelector("code[data-copy]").innerText`)}
		if buttons := b.all("button", "Copy the client secret"); len(buttons) > 0 {
			t.Error("there is a button that does nothing")
		}
		address, verifier := s.authorizeURL(made, "scope", "read")
		b.open(address)
		b.press("Allow")
		b.expect(200, "Back at the client")
		s.redeem(t, made, b.URL().Query().Get("code"), verifier)
		b.open("/account/")
		b.press("Revoke what you allowed to No Script")
		b.says("The application may no longer act for you.")
		b.follow("Applications")
		b.follow("No Script")
		b.follow("Replace the secret")
		b.press("Create a new secret")
		if b.value("Client secret") == made.ClientSecret {
			t.Error("the secret is the old one")
		}
		s.secret(b.value("Client secret"))
		b.follow("Delete this application")
		b.press("Delete the application")
		b.press("Sign out")
		b.says("You are signed out.")
	})
}
