package mandate

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// An administrator adds, changes and deletes a resource in a browser, and people see on
// their pages for which API an application asks.
func TestBrowserResources(t *testing.T) {
	browser := chromium(t)
	s := startServer(t, options{provider: []string{openIDOff,
		"SCOPES: {read: Read what is yours, write: Change what is yours}"}})
	admin, alice := s.person(t, "root", "--admin"), s.person(t, "alice")
	client := newSite(t, "http", "127.0.0.1")
	app := s.application(t, "--name", "Holiday Planner", "--owner", alice.Name, "--grant", "authorization_code",
		"--redirect-uri", client.URL+"/back")
	api := s.application(t, "--name", "Mail API", "--grant", "client_credentials", "--may-introspect")
	const mail, ledger = "https://mail.example/v1?a=b", "urn:example:ledger"
	b, her := s.window(t, browser), s.window(t, browser, client.Host)

	t.Run("mistakes are named at their fields and nothing typed is lost", func(t *testing.T) {
		b := b.in(t)
		b.open("/")
		b.follow("Sign in")
		b.logIn(admin)
		b.look("resources-empty", "/admin/resources/")
		b.open("/")
		b.follow("Resources")
		b.says("There is no resource yet.", "A resource is an API that tokens can be issued for.")
		b.follow("Add the first one")
		if b.focused() != "name" {
			t.Errorf("the focus is at %s", b.focused())
		}
		b.fill("URI", "mail.example")
		b.tick("checkbox", "write")
		b.tick("radio", "JWT")
		b.fill("Access token lifetime, in seconds (optional)", "soon")
		b.fill("Introspectors (optional)", "nobody")
		b.press("Add resource")
		b.expect(422, "Add a resource")
		if b.focused() != "problem" || len(b.all("alert", "")) != 1 {
			t.Errorf("the focus is at %s, not at the summary", b.focused())
		}
		b.summarizes("Name", "URI", "Access token", "Introspectors")
		wrong := evaluate[[]string](b,
			`[...document.querySelectorAll(".wrong > label, .wrong > legend")].map(e => e.innerText)`)
		if want := []string{"Name", "URI", "Access token lifetime, in seconds (optional)",
			"Introspectors (optional)"}; !slices.Equal(wrong, want) {
			t.Errorf("errors stand beside %q, want %q", wrong, want)
		}
		if b.value("URI") != "mail.example" || b.value("Introspectors (optional)") != "nobody" || b.chosen() != "read jwt  " {
			t.Errorf("what was typed or chosen is lost: %q", b.chosen())
		}
	})

	t.Run("the keyboard alone is enough", func(t *testing.T) {
		b := b.in(t)
		b.open("/admin/resources/new/")
		b.do(chromedp.KeyEvent("Mailbox\t" + mail + "\t\t \t\t\t\t600\t\t" + api.ClientID + "\t"))
		if got := evaluate[string](b, "document.activeElement.innerText"); got != "Add resource" || b.chosen() != "read   " {
			t.Fatalf("the Tab key stops at %q, chosen is %q", got, b.chosen())
		}
		b.leave(chromedp.KeyEvent("\r"))
		b.says("The resource is added.", "Mailbox", mail, "That of the application")
	})

	t.Run("a change that somebody else has not seen is not overwritten", func(t *testing.T) {
		b := b.in(t)
		other := s.window(t, browser)
		other.open("/admin/resources/")
		other.logIn(admin)
		b.follow("Mailbox")
		other.follow("Mailbox")
		other.says(mail)
		if len(other.all("textbox", "URI")) != 0 || other.value("Access token lifetime, in seconds (optional)") != "600" ||
			other.chosen() != "read   " {
			t.Errorf("the form has a field for the URI, or other values: %q", other.chosen())
		}
		other.fill("Name", "Postbox")
		other.press("Save changes")
		other.says("Your changes are saved.", "Postbox")
		b.fill("Name", "Letters")
		b.press("Save changes")
		b.expect(422, "Change a resource")
		b.says("Somebody changed")
		if b.value("Name") != "Letters" {
			t.Error("what was typed is lost")
		}
		b.follow("Open the resource as it is now")
		if b.value("Name") != "Postbox" {
			t.Errorf("the name is %q", b.value("Name"))
		}
		b.fill("Name", "Letters")
		b.press("Save changes")
		b.says("Your changes are saved.", "Letters")
	})

	t.Run("the consent page says for which APIs the access is, and what is new", func(t *testing.T) {
		b, her := b.in(t), her.in(t)
		b.follow("Add a resource")
		b.fill("Name", "Ledger")
		b.fill("URI", ledger)
		b.press("Add resource")
		address, verifier := s.authorizeURL(app, "scope", "read", "resource", mail)
		her.open(address)
		her.logIn(alice)
		her.says("The access is for this API", "Letters", mail)
		if strings.Contains(her.text(), "New") || strings.Contains(her.text(), "Ledger") {
			t.Errorf("the page marks something as new, or shows another API:\n%s", her.text())
		}
		her.press("Allow")
		her.expect(200, "Back at the client")
		token := s.redeem(t, app, her.URL().Query().Get("code"), verifier).AccessToken
		got := s.introspect(t, api.auth(), token)
		if got["aud"] != mail {
			t.Errorf("the token is for %v", got["aud"])
		}
		address, _ = s.authorizeURL(app, "scope", "read", "resource", mail, "resource", ledger, "resource", s.URL)
		her.open(address)
		her.says("The access is for these APIs", "Letters", "Ledger", ledger, "This server itself")
		news := evaluate[[]string](her,
			`[...document.querySelectorAll(".apis li")].filter(l => l.innerText.includes("New")).map(l => l.querySelector("code").innerText)`)
		if !slices.Equal(news, []string{ledger}) {
			t.Errorf("marked as new is %q", news)
		}
		her.press("Allow")
		her.open("/account/")
		her.says("It may act at these APIs:", "Letters", mail, "Ledger", ledger)
		address, _ = s.authorizeURL(app, "scope", "read")
		her.open(address)
		her.expect(200, "Back at the client")
	})

	t.Run("an application is limited to a resource", func(t *testing.T) {
		b, her := b.in(t), her.in(t)
		b.open("/o/applications/" + app.ID + "/")
		b.follow("Change")
		b.fill("Resources (optional)", "https://unknown.example/")
		b.press("Save changes")
		b.expect(422, "Change an application")
		b.summarizes("Resources")
		b.fill("Resources (optional)", ledger+"\n"+mail)
		b.press("Save changes")
		b.says("Your changes are saved.", ledger, mail, "Default")
		her.open("/admin/resources/")
		her.expect(403, "You may not do this")
	})

	t.Run("a deleted resource is gone, and so are its tokens", func(t *testing.T) {
		b := b.in(t)
		address, verifier := s.authorizeURL(app, "scope", "read", "resource", mail)
		her.open(address)
		token := s.redeem(t, app, her.URL().Query().Get("code"), verifier).AccessToken
		if !s.active(t, api.auth(), token) {
			t.Fatal("the token is inactive before the resource is deleted")
		}
		b.open("/admin/resources/")
		b.follow("Letters")
		b.follow("Delete this resource")
		b.expect(200, "Delete the resource “Letters”?")
		b.says(mail)
		b.press("Delete the resource")
		b.says("The resource is deleted.", "Ledger")
		if strings.Contains(b.text(), "Letters") || s.active(t, api.auth(), token) {
			t.Error("the list still shows the resource, or its token is active")
		}
		address, _ = s.authorizeURL(app, "scope", "read", "resource", mail)
		her.open(address)
		if got := her.URL().Query().Get("error"); got != "invalid_target" {
			t.Errorf("a request for it gets %q", got)
		}
		her.open("/account/")
		her.says("It may act at this API:", "Ledger")
	})
}

// chosen lists the checked options of the form of a resource.
func (b *tab) chosen() string {
	b.Helper()
	return evaluate[string](b, `[...document.querySelectorAll("main :checked")].map(e => e.value).join(" ")`)
}

// Pages of resources with long names and URIs, on small screens too.
func TestBrowserResourcesFitAPhone(t *testing.T) {
	browser := chromium(t)
	var scopes []string
	for i := range 20 {
		scopes = append(scopes,
			fmt.Sprintf(`"ledger:%02d:write": "Write the entries of ledger %d, with all that hangs on them"`, i, i))
	}
	s := startServer(t, options{
		provider: []string{"SCOPES: {" + strings.Join(scopes, ", ") + ", read: Read what is yours}", "DEFAULT_SCOPES: [read]",
			"RESOURCES: [{URI: 'urn:example:configured', NAME: Configured API, SCOPES: [read], TOKEN_FORMAT: jwt}]"}})
	admin, alice := s.person(t, "root", "--admin"), s.person(t, "alice")
	client := newSite(t, "http", "127.0.0.1")
	app := s.application(t, "--name", "Holiday Planner", "--owner", alice.Name, "--grant", "authorization_code",
		"--redirect-uri", client.URL+"/back")
	api := s.application(t, "--name", "Mail API", "--grant", "client_credentials", "--may-introspect")
	b, her := s.window(t, browser), s.window(t, browser, client.Host)
	b.open("/login/")
	b.logIn(admin)
	b.look("resource-new", "/admin/resources/new/")
	b.look("resource-new-wrong", "/admin/resources/new/", func() {
		b.fill("URI", "mail.example/"+strings.Repeat("callback", 40))
		b.fill("Access token lifetime, in seconds (optional)", "soon")
		b.fill("Introspectors (optional)", strings.Repeat("nobody", 40))
		b.press("Add resource")
	})
	long, hard := strings.Repeat("Extraordinarily", 6)+strings.Repeat(" long name", 6),
		"https://"+strings.Repeat("subdomain.", 12)+"mail.example/"+strings.Repeat("mailboxes-", 40)
	uris := []string{"https://mail.example/v1", hard, "urn:example:ledger"}
	for i, name := range []string{"Mailbox", long, "دفتر الحسابات"} {
		b.open("/admin/resources/new/")
		b.fill("Name", name)
		b.fill("URI", uris[i])
		if i == 1 {
			b.tick("checkbox", "ledger:07:write")
			b.fill("Introspectors (optional)", api.ClientID)
			b.tick("radio", "JWT")
			b.tick("radio", "EdDSA")
		}
		b.press("Add resource")
		b.expect(http.StatusOK, "Resources")
	}
	b.look("resources", "/admin/resources/")
	b.says("Configured API", "From the configuration", "can be changed only there")
	if len(b.all("link", "Configured API")) != 0 {
		t.Error("a resource of the configuration has a link to its form")
	}
	b.look("resource-configured", "/admin/resources/change/?uri=urn:example:configured", func() {
		b.expect(http.StatusForbidden, "You may not do this")
		b.says("RESOURCES")
	})
	b.look("resources-nothing-found", "/admin/resources/?q="+strings.Repeat("zebra", 30))
	b.open("/admin/resources/")
	b.follow(long)
	path := b.URL().RequestURI()
	b.look("resource-change", path)
	b.look("resource-delete", strings.Replace(path, "change", "delete", 1))
	b.look("resource-meanwhile", path, func() {
		evaluate[string](b, `document.querySelector("[name=version]").value = "99"`)
		b.press("Save changes")
		b.expect(http.StatusUnprocessableEntity, "Change a resource")
	})

	her.open("/login/")
	her.logIn(alice)
	address, _ := s.authorizeURL(app, "scope", "read", "resource", uris[0])
	her.look("consent-resource", address)
	her.press("Allow")
	address, _ = s.authorizeURL(app, "scope", "read", "resource", uris[0], "resource", uris[2], "resource", s.URL)
	her.look("consent-resources", address)
	address, _ = s.authorizeURL(app, "scope", "read", "resource", hard)
	her.look("consent-resource-hard", address)
	her.press("Allow")
	her.look("account-resources", "/account/")
	b.look("application-resources-wrong", "/o/applications/"+app.ID+"/update/", func() {
		b.fill("Resources (optional)", hard+"\nhttps://unknown.example/")
		b.press("Save changes")
	})
	b.look("application-meanwhile", "/o/applications/"+app.ID+"/update/", func() {
		b.fill("Access token, in seconds (optional)", "soon")
		evaluate[string](b, `document.querySelector("[name=version]").value = "99"`)
		b.press("Save changes")
		b.expect(http.StatusUnprocessableEntity, "Change an application")
	})
	b.fill("Access token, in seconds (optional)", "")
	b.fill("Resources (optional)", hard+"\n"+uris[2])
	b.press("Save changes")
	b.look("application-resources", b.URL().Path)
}
