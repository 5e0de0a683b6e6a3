package mandate

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	devtools "github.com/chromedp/cdproto/browser"
	"github.com/chromedp/chromedp"
)

// A developer registers, changes and deletes an application in a browser.
func TestBrowserApplications(t *testing.T) {
	s := startServer(t, options{})
	alice := s.person(t, "alice")
	browser := chromium(t)
	b := s.window(t, browser)
	var app application
	works := func(secret string) bool {
		_, a := s.token(t, basic(app.ClientID, secret), params("grant_type", "client_credentials"))
		return a.Status == http.StatusOK
	}

	t.Run("mistakes are named at their fields and nothing typed is lost", func(t *testing.T) {
		b := b.in(t)
		b.open("/o/applications/")
		b.logIn(alice)
		b.says("You have not registered an application yet.")
		b.follow("Register the first one")
		b.unfold("All fields at once")
		typed := "https://planner.example/back#here\nplanner.example\njavascript:alert(1)"
		b.fill("Redirect URIs", typed)
		b.tick("checkbox", "Authorization code")
		b.fill("Access token, in seconds (optional)", "ten hours")
		b.tick("checkbox", "write")
		b.press("Register application")
		b.expect(422, "Register an application")

		wrong := evaluate[[]string](b,
			`[...document.querySelectorAll(".wrong > label, .wrong > legend")].map(e => e.innerText)`)
		if want := []string{"Name", "Grants", "Redirect URIs", "Access token, in seconds (optional)"}; !slices.Equal(wrong,
			want) {
			t.Errorf("errors stand beside %q, want %q", wrong, want)
		}
		if b.value("Redirect URIs") != typed || b.value("Access token, in seconds (optional)") != "ten hours" ||
			evaluate[bool](b, `document.querySelector("[name=scope][value=write]").checked`) ||
			!evaluate[bool](b, `document.querySelector("[name=scope][value=read]").checked`) {
			t.Errorf("what was typed is lost: %q", b.value("Redirect URIs"))
		}
		b.says("https://planner.example/back#here must not have a fragment")
		if lines := evaluate[[]string](b,
			`document.getElementById("redirect_uris-error").innerText.split("\n").filter(l => l.includes("planner.example") || l.includes("javascript:"))`); len(lines) != 3 {
			t.Errorf("the three wrong redirect URIs stand on the lines %q", lines)
		}
		// The summary of errors comes first, and each of its lines links to its field.
		b.press("Register application")
		if b.focused() != "problem" || len(b.all("alert", "")) != 1 {
			t.Errorf("the focus is at %s, not at the summary", b.focused())
		}
		b.summarizes("Name", "Grants", "Redirect URIs", "Access token")
		b.do(b.click(b.find("link", evaluate[string](b, `document.querySelector("#problem a").innerText`))))
		if b.focused() != "name" {
			t.Errorf("the first line of the summary leads to %s", b.focused())
		}
	})

	t.Run("the secret is shown once and can be copied", func(t *testing.T) {
		b := b.in(t)
		b.fill("Name", "Holiday Planner")
		b.fill("Redirect URIs", "https://planner.example/back\nhttp://127.0.0.1/back")
		b.fill("Access token, in seconds (optional)", "600")
		b.tick("checkbox", "Authorization code")
		b.tick("checkbox", "Client credentials")
		if !evaluate[bool](b, `document.querySelector("[value=authorization_code]").checked`) {
			b.tick("checkbox", "Authorization code")
		}
		b.press("Register application")
		b.expect(200, "Holiday Planner")
		b.says("The application is registered.", "Copy it now. You will not see it again.", "600 seconds (10 minutes)")
		app = application{ClientSecret: s.secret(b.value("Client secret")),
			ClientID: evaluate[string](b, `document.querySelector("code[data-copy]").innerText`)}

		// A browser lets a page write to the clipboard when a person presses a button. One without any window asks.
		for _, access := range []string{"clipboard-read", "clipboard-write"} {
			_, err := chromedp.CallBrowser(b.ctx, devtools.SetPermission, devtools.SetPermissionParams{Origin: s.URL,
				BrowserContextID: chromedp.FromContext(b.ctx).BrowserContextID,
				Permission:       &devtools.PermissionDescriptor{Name: access}, Setting: devtools.PermissionSettingGranted})
			if err != nil {
				t.Fatal(err)
			}
		}
		for button, want := range map[string]string{"Copy the client secret": app.ClientSecret,
			"Copy the client ID": app.ClientID} {
			b.do(b.click(b.find("button", button)))
			b.until(`[...document.querySelectorAll("button")].some(b => b.textContent == ` +
				quote("Copied"+strings.TrimPrefix(button, "Copy")) + `)`)
			if got := evaluate[string](b, `navigator.clipboard.readText()`); got != want {
				t.Errorf("%s: the clipboard holds %q, want %q", button, got, want)
			}
		}
		b.says("Kept as a hash. Nobody can read it")
		if !works(app.ClientSecret) {
			t.Error("the secret that was shown does not work")
		}
		// The browser keeps the page for its back button, although no-store is set.
		b.follow("Account")
		b.back()
		if html := evaluate[string](b, "document.documentElement.outerHTML"); strings.Contains(html, app.ClientSecret) ||
			!strings.Contains(html, app.ClientID) {
			t.Error("the way back leads to the secret, or not to the application")
		}
		b.reload()
		b.expect(200, "Holiday Planner")
		if html := evaluate[string](b, "document.documentElement.outerHTML"); strings.Contains(html, app.ClientSecret) ||
			strings.Contains(html, "is registered") {
			t.Error("the secret or the notice is shown again")
		}
	})

	t.Run("a change is kept", func(t *testing.T) {
		b := b.in(t)
		b.open("/o/applications/")
		b.follow("Holiday Planner")
		b.follow("Change")
		b.expect(200, "Change an application")
		b.fill("Name", "Trip Planner")
		b.fill("Redirect URIs", b.value("Redirect URIs")+"\nhttps://trips.example/back")
		b.press("Save changes")
		b.expect(200, "Trip Planner")
		b.says("Your changes are saved.", "https://planner.example/back", "https://trips.example/back")
		if !works(app.ClientSecret) {
			t.Error("the secret works no more")
		}
	})

	t.Run("a replaced secret goes on for the time that was chosen", func(t *testing.T) {
		b := b.in(t)
		old := app.ClientSecret
		b.follow("Replace the secret")
		b.tick("radio", "In an hour")
		b.press("Create a new secret")
		b.expect(200, "Trip Planner")
		b.says("The secret was replaced.", "The previous secret still works until")
		app.ClientSecret = s.secret(b.value("Client secret"))
		if app.ClientSecret == old || !works(old) || !works(app.ClientSecret) {
			t.Error("the old or the new secret does not work")
		}
		b.follow("Replace the secret")
		b.tick("radio", "At once")
		b.press("Create a new secret")
		last := s.secret(b.value("Client secret"))
		if works(old) || works(app.ClientSecret) || !works(last) {
			t.Error("a secret that was ended works, or the new one does not")
		}
		app.ClientSecret = last
	})

	t.Run("deleting asks first and ends the tokens", func(t *testing.T) {
		b := b.in(t)
		watcher := s.application(t, "--name", "watcher", "--grant", "client_credentials", "--may-introspect")
		token := s.mustToken(t, app.auth(), params("grant_type", "client_credentials")).AccessToken
		b.follow("Delete this application")
		b.expect(200, "Delete “Trip Planner”?")
		if !s.active(t, watcher.auth(), token) {
			t.Error("the token died before anybody said yes")
		}
		b.press("Delete the application")
		b.expect(200, "Applications")
		b.says("The application is deleted.", "You have not registered an application yet.")
		if s.active(t, watcher.auth(), token) || works(app.ClientSecret) {
			t.Error("the token or the secret still works")
		}
	})

	t.Run("a switch for administrators says what is wrong with it", func(t *testing.T) {
		b := s.window(t, browser)
		b.open("/o/applications/register/")
		b.logIn(s.person(t, "root", "--admin"))
		b.unfold("All fields at once")
		b.fill("Name", "Pocket")
		b.fill("Redirect URIs", "com.example.pocket:/back")
		b.tick("radio", "Public")
		b.tick("checkbox", "Skip the consent page")
		b.press("Register application")
		b.expect(422, "Register an application")
		b.summarizes("Skip the consent page")
		if !evaluate[bool](b, `document.getElementById("skip_consent").checked`) ||
			len(b.all("checkbox", "Skip the consent page")) != 1 ||
			!strings.Contains(said(b.all("checkbox", "Skip the consent page")[0].Description),
				"Any program on the computer of a person") {
			t.Error("the switch is off again, or does not say what is wrong with it")
		}
	})

	t.Run("others' applications are not there", func(t *testing.T) {
		b := b.in(t)
		other := s.application(t, "--name", "other", "--owner", s.person(t, "mallory").Name, "--grant", "client_credentials")
		for _, page := range []string{"", "update/", "rotate/", "revoke/", "delete/"} {
			b.open("/o/applications/" + other.ID + "/" + page)
			b.expect(404, "Page not found")
		}
	})
}

// summarizes fails unless the error summary of the form has these lines. Each begins
// with the label of a field and links to it.
func (b *tab) summarizes(fields ...string) {
	b.Helper()
	type line struct{ Text, Label string }
	lines := evaluate[[]line](b, `[...document.querySelectorAll("#problem a")].map(a => {
		const field = document.getElementById(a.hash.slice(1));
		return {Text: a.innerText, Label: (document.querySelector("label[for='" + field.id + "']") || field.querySelector("legend")).innerText};
	})`)
	for i, l := range lines {
		if i >= len(fields) || !strings.HasPrefix(l.Text, fields[i]+": ") || !strings.HasPrefix(l.Label, fields[i]) {
			b.Errorf("line %d of the summary is %q, for the field %q", i+1, l.Text, l.Label)
		}
	}
	if len(lines) != len(fields) {
		b.Errorf("the summary has %d lines, want %d", len(lines), len(fields))
	}
}
