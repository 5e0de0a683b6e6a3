package mandate

import (
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// The consent page in a browser, and where the browser goes after the decision.
func TestBrowserConsent(t *testing.T) {
	browser := chromium(t)
	s := startServer(t, options{
		provider: []string{"SCOPES: {read: Read what is yours, write: Change what is yours, groups: See your groups}"}})
	alice, bob := s.person(t, "alice"), s.person(t, "bob")
	client := newSite(t, "http", "127.0.0.1")
	secure := newSite(t, "https", "planner.example")
	app := s.application(t, "--name", "Holiday Planner", "--owner", bob.Name, "--grant", "authorization_code",
		"--redirect-uri", client.URL+"/back", "--redirect-uri", secure.URL+"/back")
	watcher := s.application(t, "--name", "watcher", "--grant", "client_credentials", "--may-introspect")
	var refresh string

	b := s.window(t, browser, client.Host, secure.Host)
	t.Run("approving leads to the client with code, state and iss", func(t *testing.T) {
		b := b.in(t)
		address, verifier := s.authorizeURL(app, "scope", "read write", "state", "a+b/c=&d é")
		b.open(address)
		b.logIn(alice)
		b.expect(200, "Allow access to your account?")
		b.says("alice", "Holiday Planner", "registered by", "bob", "Read what is yours", "Change what is yours",
			"a program on this computer", client.URL+"/back")
		b.press("Allow")
		b.expect(200, "Back at the client")
		got := b.URL().Query()
		if got.Get("state") != "a+b/c=&d é" || got.Get("iss") != s.Issuer || len(got) != 3 {
			t.Errorf("the client got %v", got)
		}
		tokens := s.redeem(t, app, got.Get("code"), verifier)
		if tokens.Scope != "read write" {
			t.Errorf("the scope is %q", tokens.Scope)
		}
		refresh = tokens.RefreshToken
	})

	t.Run("what was allowed is not asked again", func(t *testing.T) {
		b := b.in(t)
		address, _ := s.authorizeURL(app, "scope", "read")
		b.open(address)
		b.expect(200, "Back at the client")
	})

	t.Run("more than was allowed is asked, and marked as new", func(t *testing.T) {
		b := b.in(t)
		address, _ := s.authorizeURL(app, "scope", "read groups")
		b.open(address)
		b.expect(200, "Allow access to your account?")
		news := evaluate[[]string](b,
			`[...document.querySelectorAll(".clauses li")].filter(l => l.innerText.includes("New")).map(l => l.querySelector("code").innerText)`)
		if !slices.Equal(news, []string{"groups"}) {
			t.Errorf("marked as new is %q", news)
		}
		b.press("Do not allow")
		b.expect(200, "Back at the client")
		got := b.URL().Query()
		if got.Get("error") != "access_denied" || got.Get("iss") != s.Issuer || got.Has("code") {
			t.Errorf("the client got %v", got)
		}
	})

	t.Run("a public client is always asked", func(t *testing.T) {
		b := b.in(t)
		public := s.application(t, "--name", "Pocket", "--client-type", "public", "--grant", "authorization_code",
			"--redirect-uri", client.URL+"/back")
		for range 2 {
			address, _ := s.authorizeURL(public, "scope", "read")
			b.open(address)
			b.expect(200, "Allow access to your account?")
			b.press("Allow")
			b.expect(200, "Back at the client")
		}
	})

	t.Run("what was allowed is revoked on the account page", func(t *testing.T) {
		b := b.in(t)
		token := s.mustToken(t, app.auth(), params("grant_type", "refresh_token", "refresh_token", refresh)).AccessToken
		if !s.active(t, watcher.auth(), token) {
			t.Fatal("the token is dead before it is revoked")
		}
		b.open("/account/")
		b.says("Holiday Planner", "Pocket")
		b.press("Revoke what you allowed to Holiday Planner")
		b.says("The application may no longer act for you.", "Pocket")
		if strings.Contains(b.section("applications"), "Holiday Planner") || s.active(t, watcher.auth(), token) {
			t.Error("the application is still listed, or its token still works")
		}
		address, _ := s.authorizeURL(app, "scope", "read")
		b.open(address)
		b.expect(200, "Allow access to your account?")
	})

	t.Run("an answer by https arrives too", func(t *testing.T) {
		b := b.in(t)
		address, _ := s.authorizeURL(app, "scope", "read write", "redirect_uri", secure.URL+"/back")
		b.open(address)
		b.says(secure.Host, secure.URL+"/back")
		b.press("Allow")
		b.expect(200, "Back at the client")
		if b.URL().Host != secure.Host || !b.URL().Query().Has("code") {
			t.Errorf("the browser ended at %s", b.URL())
		}
	})

	// Chromium applies form-action of the form's page to each redirect after the form.
	t.Run("signing in leads straight to a client that was allowed before, by any scheme", func(t *testing.T) {
		for _, target := range []*site{client, secure} {
			b := s.window(t, browser, target.Host)
			address, _ := s.authorizeURL(app, "scope", "read", "redirect_uri", target.URL+"/back")
			b.open(address)
			b.logIn(alice)
			b.expect(200, "Back at the client")
		}
	})

	t.Run("a client may send its visitor on to anywhere", func(t *testing.T) {
		b := b.in(t)
		b.hosts[secure.Host] = true
		onward := s.application(t, "--name", "Onward", "--client-type", "public", "--grant", "authorization_code",
			"--redirect-uri", client.URL+"/onward")
		client.redirect("/onward", secure.URL+"/back")
		address, _ := s.authorizeURL(onward, "scope", "read")
		b.open(address)
		b.press("Allow")
		b.expect(200, "Back at the client")
		if b.URL().Host != secure.Host {
			t.Errorf("the browser ended at %s", b.URL())
		}
	})

	t.Run("an answer to a scheme of an app leaves the browser", func(t *testing.T) {
		b := s.window(t, browser, "")
		phone := s.application(t, "--name", "Phone", "--client-type", "public", "--grant", "authorization_code",
			"--redirect-uri", "com.example.phone:/back")
		address, _ := s.authorizeURL(phone, "scope", "read", "state", "xyz")
		b.open(address)
		b.logIn(alice)
		b.says("an app on this device (com.example.phone)")
		b.do(b.click(b.find("button", "Allow")))
		waitFor(t, "the browser goes to com.example.phone:/back", func() bool {
			return slices.ContainsFunc(b.requests(), func(sent string) bool {
				u, err := url.Parse(sent)
				return err == nil && u.Scheme == "com.example.phone" && u.Query().Get("state") == "xyz" &&
					s.secret(u.Query().Get("code")) != ""
			})
		})
	})

	t.Run("a window that the client opened can tell the client", func(t *testing.T) {
		b := b.in(t)
		client.page("/tells", `<h1>Told</h1><script>opener.postMessage("done", "*")</script>`)
		popup := s.application(t, "--name", "Popup", "--client-type", "public", "--grant", "authorization_code",
			"--redirect-uri", client.URL+"/tells")
		address, _ := s.authorizeURL(popup, "scope", "read")
		b.open(client.page("/opens", `<h1>Client</h1><button>Sign in</button><script>
			onmessage = e => { document.querySelector("h1").innerText = e.data };
			document.querySelector("button").onclick = () => window.open("`+strings.ReplaceAll(address, "&", "\\x26")+
			`")</script>`))
		b.do(b.click(b.find("button", "Sign in")))
		other := b.opened(s.URL+"/o/authorize/", client.Host)
		other.press("Allow")
		b.until(`document.querySelector("h1").innerText == "done"`)
	})

	t.Run("a name that a stranger chose stays within its quotes", func(t *testing.T) {
		b := b.in(t)
		const name = `Mandate Security</q></p><h1>Your session has expired</h1> Press Allow to go on`
		liar := s.application(t, "--name", name, "--client-type", "public", "--grant", "authorization_code", "--redirect-uri",
			client.URL+"/back")
		address, _ := s.authorizeURL(liar, "scope", "read")
		b.open(address)
		b.expect(200, "Allow access to your account?")
		quoted := evaluate[[]string](b, `[...document.querySelectorAll(".asker .claimed q")].map(q => q.innerText)`)
		rest := evaluate[string](b,
			`(document.querySelector(".asker .claimed").remove(), document.title + document.documentElement.outerHTML)`)
		if !slices.Equal(quoted, []string{name}) || strings.Contains(rest, "Press Allow to go on") {
			t.Errorf("the name stands elsewhere than between the quotes of %q", quoted)
		}
	})

	t.Run("a long name is shown to its end on a phone", func(t *testing.T) {
		b := b.in(t)
		b.do(chromedp.EmulateViewport(360, 740))
		longest := s.application(t, "--name", strings.TrimSpace(strings.Repeat("Holiday Planner ", 9)), "--client-type",
			"public", "--grant", "authorization_code", "--redirect-uri", client.URL+"/back")
		address, _ := s.authorizeURL(longest, "scope", "read")
		b.open(address)
		b.expect(200, "Allow access to your account?")
		if cut := evaluate[[]string](b,
			`[...document.querySelectorAll(".asker *")].filter(e => e.scrollHeight > e.clientHeight + 2 && getComputedStyle(e).overflow == "hidden").map(e => e.className)`); len(cut) > 0 {
			t.Errorf("the page cuts %q", cut)
		}
	})

	t.Run("no client learns from which address its visitor came", func(t *testing.T) {
		for _, site := range []*site{client, secure} {
			for i, referer := range site.referers {
				if strings.Contains(referer, s.URL) {
					t.Errorf("%s was told %s", site.visits[i].Path, referer)
				}
			}
		}
	})
}
