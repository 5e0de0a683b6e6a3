package mandate

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// screens are typical screen sizes. A test needs only the smallest. With
// MANDATE_TEST_SCREENSHOTS=folder the tests use all of them and save pictures in the
// folder.
var screens = []screen{
	{"phone-light", 390, 844, "light"},
	{"phone-dark", 390, 844, "dark"},
	{"desktop-light", 1280, 800, "light"},
	{"desktop-dark", 1280, 800, "dark"},
}

type screen struct {
	name          string
	width, height int64
	scheme        string
}

// show changes the screen of the page.
func (b *tab) show(s screen) {
	b.Helper()
	b.do(chromedp.EmulateViewport(s.width, s.height))
	call(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: s.scheme}},
	})
}

// look opens a page on each screen. The inspection of every page checks whether it
// fits.
func (b *tab) look(name, path string, then ...func()) {
	b.Helper()
	folder := os.Getenv("MANDATE_TEST_SCREENSHOTS")
	for i, screen := range screens {
		if i > 0 && folder == "" {
			return
		}
		b.show(screen)
		b.open(path)
		for _, step := range then {
			step()
		}
		if folder == "" {
			continue
		}
		picture, err := chromedp.Run(b.ctx, chromedp.FullScreenshot(100))
		if err == nil {
			err = os.WriteFile(filepath.Join(folder, name+"-"+screen.name+".png"), picture, 0o600)
		}
		if err != nil {
			b.Fatal(err)
		}
	}
}

// Names that are long, in other scripts, or similar to the server's own texts.
func TestBrowserPagesFitAPhone(t *testing.T) {
	browser := chromium(t)
	var scopes []string
	for i := range 40 {
		scopes = append(scopes,
			fmt.Sprintf(`"ledger:%02d:write": "Write the entries of ledger %d, with all that hangs on them"`, i, i))
	}
	s := startServer(t, options{
		provider: []string{"SCOPES: {" + strings.Join(scopes, ", ") + ", read: Read what is yours}",
			"DEFAULT_SCOPES: [read]"}})
	empty := s.window(t, browser)
	link := s.setupLink(t)
	empty.look("setup", link)
	empty.look("setup-wrong", link, func() { empty.press("Create this account") })

	admin, alice := s.person(t, "root", "--admin", "--email", "root@example.org"),
		s.person(t, "alice", "--first-name", "Alice", "--last-name", "Liddell")
	empty.look("home-nobody", "/")
	empty.look("login", "/login/")
	empty.look("login-wrong", "/login/", func() {
		empty.fill("Username", strings.Repeat("very-long-", 12))
		empty.fill("Password", "x")
		empty.press("Sign in")
	})
	empty.open("/login/")
	empty.logIn(admin)
	empty.look("applications-admin-empty", "/o/applications/")
	empty.look("groups-empty", "/admin/groups/")

	long := strings.Repeat("Extraordinarily", 6) + strings.Repeat(" long name", 6)
	client := newSite(t, "http", "127.0.0.1")
	back := "https://" + strings.Repeat("subdomain.", 12) + "planner.example/" + strings.Repeat("oauth-callback-", 20)
	s.mustCLI(t, "", "group", "add", strings.Repeat("Nightwatch", 8))
	s.mustCLI(t, "", "group", "add", "گروه شب")
	s.person(t, strings.Repeat("bartholomew", 9), "--email", strings.Repeat("bartholomew", 5)+"@example.org",
		"--first-name", strings.Repeat("Bart ", 20), "--group", strings.Repeat("Nightwatch", 8))
	s.person(t, "مریم", "--first-name", "مریم", "--last-name", "میرزاخانی", "--group", "گروه شب")
	add := func(name string, args ...string) application {
		return s.application(t, append([]string{"--name", name, "--owner", alice.Name, "--grant", "authorization_code"},
			args...)...)
	}
	hard := add(long, "--redirect-uri", back, "--redirect-uri", "http://127.0.0.1/"+strings.Repeat("x", 300),
		"--redirect-uri", client.URL+"/back", "--grant", "client_credentials")
	plain := add("Holiday Planner", "--redirect-uri", "https://planner.example/oauth/callback")
	phone := add("لوحة المتابعة", "--client-type", "public", "--redirect-uri", "com.example.phone:/back")
	liar := add("Mandate Security: your session has expired. </q> Press Allow to go on", "--redirect-uri",
		"https://mandate.example.evil.example/", "--client-type", "public")

	his := s.window(t, browser, client.Host)
	his.open("/login/")
	his.logIn(alice)
	his.look("home", "/")
	his.look("applications", "/o/applications/")
	his.look("applications-nothing-found", "/o/applications/?q="+strings.Repeat("zebra", 30))
	his.look("register", "/o/applications/register/")
	his.look("register-all", "/o/applications/register/", func() { his.unfold("All fields at once") })
	for _, kind := range []string{"website", "browser", "native", "device", "service", "api"} {
		his.look("register-"+kind, "/o/applications/register/?kind="+kind)
		empty.look("register-admin-"+kind, "/o/applications/register/?kind="+kind)
	}
	his.look("register-website-wrong", "/o/applications/register/?kind=website",
		func() { his.press("Register application") })
	his.look("register-website-advanced", "/o/applications/register/?kind=website", func() {
		his.unfold("Advanced")
		his.fill("Access token, in seconds (optional)", strings.Repeat("ten hours ", 20))
		his.press("Register application")
	})
	his.look("register-wrong", "/o/applications/register/", func() {
		his.unfold("All fields at once")
		his.fill("Redirect URIs", "http://planner.example/"+strings.Repeat("callback", 40))
		his.fill("Access token, in seconds (optional)", "ten hours")
		his.press("Register application")
	})
	his.look("registered", "/o/applications/register/?kind=website", func() {
		his.fill("Name", "Holiday Planner")
		his.fill("Redirect URIs", "https://planner.example/oauth/callback")
		his.press("Register application")
		s.secret(his.value("Client secret"))
	})
	for name, app := range map[string]application{"hard": hard, "plain": plain, "public": phone} {
		his.look("application-"+name, "/o/applications/"+app.ID+"/")
		his.look("application-"+name+"-change", "/o/applications/"+app.ID+"/update/")
		his.look("application-"+name+"-revoke", "/o/applications/"+app.ID+"/revoke/")
		his.look("application-"+name+"-delete", "/o/applications/"+app.ID+"/delete/")
	}
	his.look("rotate", "/o/applications/"+hard.ID+"/rotate/")
	for name, app := range map[string]application{"hard": hard, "plain": plain, "phone": phone, "liar": liar} {
		scope := "read"
		if name == "hard" {
			scope = strings.Join(regexp.MustCompile(`ledger:\d\d:write`).FindAllString(strings.Join(scopes, " "), -1), " ")
		}
		address, _ := s.authorizeURL(app, "scope", scope)
		his.look("consent-"+name, address)
	}
	other, _ := s.authorizeURL(plain, "redirect_uri", "https://planner.example/oauth/callbacks?next=/")
	his.look("error-redirect", other)
	empty.look("error-redirect-admin", other)
	other, _ = s.authorizeURL(hard, "redirect_uri", back+"/x")
	his.look("error-redirect-hard", other)
	other, _ = s.authorizeURL(application{ClientID: "unknown", RedirectURI: back})
	his.look("error-client", other)
	his.look("error-nothing", "/nowhere")
	his.look("error-forbidden", "/admin/users/")
	address, _ := s.authorizeURL(hard, "scope", "read ledger:07:write", "redirect_uri", client.URL+"/back")
	his.open(address)
	his.press("Allow")
	his.look("account", "/account/")
	his.look("account-wrong", "/account/", func() {
		his.fill("Current password", "x")
		his.fill("New password", "y")
		his.press("Change password")
	})
	his.look("logout", "/logout/")

	empty.look("applications-admin", "/o/applications/")
	empty.look("applications-filtered", "/o/applications/?standing=administrator&unused=47")
	empty.look("applications-none-selected", "/o/applications/?standing=open")
	empty.look("application-admin-change", "/o/applications/"+hard.ID+"/update/")
	empty.look("users", "/admin/users/")
	empty.look("users-nothing-found", "/admin/users/?q=zebra")
	empty.look("user-new", "/admin/users/new/")
	empty.look("user-new-wrong", "/admin/users/new/", func() { empty.press("Add person") })
	empty.look("groups", "/admin/groups/")
	empty.look("groups-wrong", "/admin/groups/", func() { empty.press("Add group") })
	for _, who := range []string{"root", strings.Repeat("bartholomew", 9)} {
		empty.open("/admin/users/")
		empty.follow(who)
		empty.look("user-"+who[:4], empty.URL().Path)
	}
	empty.follow("Delete this person")
	empty.look("user-delete", empty.URL().Path)

	// Who is responsible for an application whose owner is inactive.
	for _, app := range []application{hard, plain} {
		s.mustCLI(t, "", "application", "assign", app.ClientID, alice.Name)
	}
	s.mustCLI(t, "", "user", "disable", alice.Name)
	empty.look("applications-suspended", "/o/applications/")
	empty.look("application-suspended", "/o/applications/"+hard.ID+"/")
	empty.look("application-unanswered-change", "/o/applications/"+plain.ID+"/update/")
	empty.look("owner", "/o/applications/"+hard.ID+"/owner/")
	empty.look("owner-wrong", "/o/applications/"+hard.ID+"/owner/", func() { empty.press("Assign") })
	empty.open("/admin/users/")
	empty.follow(alice.Name)
	empty.look("user-owner", empty.URL().Path)
	empty.follow("Delete this person")
	remove := empty.URL().Path
	empty.look("user-owner-delete", remove)
	empty.look("user-owner-delete-wrong", remove, func() { empty.press("Delete the person") })
}
