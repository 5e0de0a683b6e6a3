package mandate

import (
	"encoding/json"
	"strings"
	"testing"
)

// An administrator makes an initial access token in a browser, sees it once, and deletes it.
func TestBrowserRegistrationTokens(t *testing.T) {
	browser := chromium(t)
	s := startServer(t, options{
		provider: []string{"SCOPES: {read: Read what is yours, write: Change what is yours, openid: Sign you in}",
			"DEFAULT_SCOPES: [read]", "OIDC_ENABLED: true", "REGISTRATION_WITH_TOKEN: true"}})
	admin := s.person(t, "root", "--admin")
	b := s.window(t, browser)
	b.open("/admin/registration-tokens/")
	b.logIn(admin)
	b.says("There is no initial access token.")

	b.fill("Number of applications", "many")
	b.tick("checkbox", "write")
	b.press("Make a token")
	b.expect(422, "Initial access tokens")
	if b.focused() != "problem" || b.value("Number of applications") != "many" {
		t.Errorf("the focus is at %s, and the field has %q", b.focused(), b.value("Number of applications"))
	}
	b.summarizes("Number of applications")

	b.fill("Number of applications", "2")
	b.press("Make a token")
	b.says("Copy it now. You will not see it again.", "2 uses are left", "Scopes: read write openid offline_access")
	token := s.secret(b.value("Initial access token"))
	made := s.registers(t, bearer(token), `{"redirect_uris":["https://tool.example/cb"]}`)
	if scope := textOf(made, "scope"); scope != "read write openid offline_access" {
		t.Errorf("the application gets the scope %q, and the page said read write openid offline_access", scope)
	}
	b.open("/admin/registration-tokens/")
	b.says("1 use is left", "authorization_code")
	if strings.Contains(b.text(), "Copy it now") ||
		evaluate[bool](b, `document.documentElement.outerHTML.includes("mit_")`) {
		t.Error("the page shows the token a second time")
	}

	b.follow("Delete the token " + s.initialTokenID(t))
	b.expect(200, "Delete this initial access token?")
	b.press("Delete the token")
	b.says("The initial access token is deleted.", "There is no initial access token.")
	if err := s.registration(t, bearer(token), `{"redirect_uris":["https://tool.example/2"]}`).refused(401,
		"invalid_token"); err != nil {
		t.Error(err)
	}
}

// The same pages fit a phone, also with long names and many scopes.
func TestBrowserRegistrationTokensFitAPhone(t *testing.T) {
	browser := chromium(t)
	long := "ledger:entries:write:with:all:that:hangs:on:them"
	s := startServer(t, options{
		provider: []string{`SCOPES: {read: Read what is yours, "` + long +
			`": "Write the entries of the ledger, with all that hangs on them"}`, "REGISTRATION_WITH_TOKEN: true"}})
	admin := s.person(t, strings.Repeat("administrator.", 8)+"root", "--admin")
	b := s.window(t, browser)
	b.open("/admin/registration-tokens/")
	b.logIn(admin)
	b.look("registration-tokens-empty", "/admin/registration-tokens/")
	b.look("registration-tokens-wrong", "/admin/registration-tokens/", func() {
		b.fill("Number of applications", "")
		b.press("Make a token")
		b.summarizes("Number of applications")
	})
	b.look("registration-tokens-new", "/admin/registration-tokens/", func() {
		b.press("Make a token")
		b.says("Copy it now. You will not see it again.", long)
		s.secret(b.value("Initial access token"))
	})
	b.look("registration-tokens-list", "/admin/registration-tokens/", func() { b.says("1 use is left") })
	b.look("registration-token-delete", "/admin/registration-tokens/"+s.initialTokenID(t)+"/delete/")
}

// initialTokenID returns the id of one initial access token.
func (s *server) initialTokenID(t testing.TB) string {
	t.Helper()
	var list []struct{ ID string }
	err := json.Unmarshal([]byte(s.mustCLI(t, "", "registration-token", "list", "--json")), &list)
	if err != nil || len(list) == 0 {
		t.Fatal(err, list)
	}
	return list[0].ID
}
