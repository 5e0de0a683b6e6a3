package mandate

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// administered is a server with an administrator whose sign-in is too long ago for important changes.
type administered struct {
	*server
	root, alice person
	shop        application
	intranet    application // asks nobody
	browser     *browser
	page        string // of alice
	former      string // the page of an administrator whose account is disabled
	second      string // the page of another administrator
}

func newAdministered(t *testing.T, db database) *administered {
	t.Helper()
	s := startServer(t, options{database: db,
		provider: append([]string{"OIDC_ENABLED: true", openidScopes}, openClients...)})
	a := &administered{server: s, root: s.person(t, "root", "--admin"),
		alice: s.person(t, "alice", "--email", "alice@example.org"), shop: s.relyingParty(t, "--required-acr", mfa)}
	a.intranet = s.application(t, "--name", "intranet", "--grant", "authorization_code", "--redirect-uri",
		"https://intranet.example/cb", "--skip-consent", "--scope", "read")
	s.mustCLI(t, "", "group", "add", "staff")
	a.browser = s.signedIn(t, a.root)
	a.browser.open(t, "/admin/users/")
	a.page = regexpSubmatch(t, `href="(/admin/users/[^/"]+/)"><bdi class="brief">alice<`, a.browser.Body)
	s.person(t, "former", "--admin")
	s.mustCLI(t, "", "user", "disable", "former")
	s.person(t, "second", "--admin")
	a.former, a.second = "/admin/users/"+s.userID(t, "former")+"/", "/admin/users/"+s.userID(t, "second")+"/"
	s.earlier(t, 301)
	return a
}

// state is what the thief of a session must not change.
func (a *administered) state(t *testing.T) string {
	t.Helper()
	var user, app string
	behind(t, a.database, `SELECT username || ' ' || email || ' ' || password || ' ' || profile || CASE WHEN administrator
		THEN ' administrator' ELSE '' END FROM users WHERE username_key LIKE 'alice%'`, &user)
	behind(t, a.database, `SELECT secret || ' ' || grant_types || ' ' || redirect_uris || ' ' || required_acr || ' ' ||
		jwks || ' ' || COALESCE(owner_id, '') || CASE WHEN skip_consent THEN ' skips' ELSE '' END FROM applications
			WHERE client_id = '`+a.shop.ClientID+`'`, &app)
	var rights string
	behind(t, a.database, `SELECT scopes || ' ' || grant_types || ' ' || resources FROM applications WHERE client_id = '`+
		a.intranet.ClientID+`'`, &rights)
	return fmt.Sprint(user, "\n", app, "\n", rights, "\n", rows(t, a.database, "users"),
		rows(t, a.database, "users WHERE administrator AND active"), rows(t, a.database, "links"),
		rows(t, a.database, "initial_tokens"), rows(t, a.database, "applications"))
}

// protected are the changes with which the thief of an administrator's session takes an account, an application
// or the server over: the page, the button and the fields.
func (a *administered) protected() []struct {
	what, path, button string
	fields             url.Values
} {
	app := "/o/applications/" + a.shop.ID + "/"
	return []struct {
		what, path, button string
		fields             url.Values
	}{
		{"a password", a.page, "Save changes", params("password", "the words of the thief")},
		{"an address", a.page, "Save changes", params("email", "thief@example.org")},
		{"a verified address", a.page, "Save changes", params("email_verified", "on")},
		{"a username", a.page, "Save changes", params("username", "alice2")},
		{"a verified phone number", a.page, "Save changes",
			params("phone_number", "+41443334455", "phone_number_verified", "on")},
		{"the account of a former administrator", a.former, "Save changes", params("active", "on")},
		{"the account of another administrator", a.second, "Save changes", url.Values{"active": nil}},
		{"the rights", a.page, "Save changes", params("administrator", "on")},
		{"a reset link", a.page, "Make a link", nil},
		{"deletion", a.page + "delete/", "", nil},
		{"another administrator", "/admin/users/new/", "Add person",
			params("username", "thief", "password", "the words of the thief", "administrator", "on")},
		{"a person with the address of another one", "/admin/users/new/", "Add person",
			params("username", "thief", "password", "the words of the thief", "email", "alice@example.org",
				"email_verified", "on")},
		{"a person with the phone number of another one", "/admin/users/new/", "Add person",
			params("username", "thief", "password", "the words of the thief", "phone_number", "+41443334455",
				"phone_number_verified", "on")},
		{"a secret", app + "rotate/", "Create a new secret", nil},
		{"a key", app, "", params("algorithm", "ES256")},
		{"a redirect URI", app + "update/", "", params("redirect_uris", "https://thief.example/back")},
		{"no consent", app + "update/", "", params("skip_consent", "on")},
		{"a weaker login", app + "update/", "", params("required_acr", "")},
		{"more rights without consent", "/o/applications/" + a.intranet.ID + "/update/", "",
			url.Values{"scope": {"read", "write"}}},
		{"an owner", app + "owner/", "Assign", params("owner", "alice")},
		{"the server's application", app + "owner/", "Take it over", nil},
		{"an application that acts alone", "/o/applications/register/", "",
			params("name", "thief", "grant_type", "client_credentials")},
		{"the right to act alone", app + "update/", "",
			url.Values{"grant_type": {"authorization_code", "client_credentials"}}},
		{"a token for applications that act alone", "/admin/registration-tokens/", "Make a token",
			params("may", "client_credentials")},
		{"an application that asks nobody", "/o/applications/register/", "",
			params("name", "thief", "redirect_uris", "https://thief.example/back", "skip_consent", "on")},
	}
}

// The stolen session of an administrator takes nobody's account over, and makes nobody an administrator.
func TestAttackStolenSessionOfAnAdministrator(t *testing.T) {
	attack(t, "account taken over by an administrator's stolen session (CWE-306)", "")
	onADatabase(t, func(t *testing.T, db database) {
		a := newAdministered(t, db)
		thief := a.carrying(t, "mandate_session", a.browser.cookie(t, "/", "mandate_session"))
		before := a.state(t)
		for _, one := range a.protected() {
			t.Run(one.what, func(t *testing.T) {
				thief.open(t, one.path)
				switch {
				case one.what == "deletion":
					thief.send(t, one.path, url.Values{})
				case one.what == "a key":
					thief.send(t, one.path+"test-key/", one.fields)
				default:
					thief.submit(t, one.button, one.fields)
				}
				thief.awaitsLogin(t, one.what)
				if after := a.state(t); after != before {
					t.Errorf("it has changed something:\n%s\n%s", before, after)
				}
			})
		}
		if strings.Contains(a.log.String(), "the words of the thief") {
			t.Error("the log has a password")
		}
		// Nor does it change anything else that outlives it.
		for _, one := range []struct {
			path, button string
			fields       url.Values
		}{
			{a.page, "Save changes", params("first_name", "Alice", "group", "staff", "nickname", "Al")},
			{a.page, "Save changes", url.Values{"active": nil}},
			{"/o/applications/" + a.shop.ID + "/update/", "", params("name", "The shop")},
			{"/o/applications/" + a.shop.ID + "/delete/", "Delete the application", nil},
			{"/admin/groups/staff/delete/", "Delete the group", nil},
			{"/o/applications/register/", "", params("name", "tool", "grant_type", "password")},
		} {
			thief.open(t, one.path)
			thief.submit(t, one.button, one.fields)
			thief.awaitsLogin(t, one.path)
		}
		checkEqual(t, "the groups", rows(t, db, "groups"), 1)
		checkEqual(t, "what has changed", a.state(t), before)
	})
}

// An administrator who has to sign in again loses nothing that the form had, except the password, which no page
// has.
func TestConfirmKeepsTheForm(t *testing.T) {
	onADatabase(t, func(t *testing.T, db database) {
		a := newAdministered(t, db)
		b := a.browser
		app := "/o/applications/" + a.shop.ID + "/"
		const password = "new words for this person"
		for _, one := range []struct {
			path, button  string
			fields, again url.Values
		}{
			{a.page, "Save changes", params("email", "al@example.org", "first_name", "Ælice & <b>", "group", "staff", "address",
				"1 Road\nTown", "password", password, "active", "on"), params("password", password)},
			{"/admin/users/new/", "Add person",
				params("username", "third", "administrator", "on", "password", password, "last_name", "Zwei"),
				params("password", password)},
			{app + "update/", "Save changes",
				params("name", "Another name", "redirect_uris", "https://new.example/back\nhttps://new.example/2"), nil},
			{"/o/applications/register/", "Register application",
				params("name", "New", "redirect_uris", "https://new.example/back", "skip_consent", "on"), nil},
			{app + "rotate/", "Create a new secret", params("overlap", "604800"), nil},
			{app + "owner/", "Assign", params("owner", "alice"), nil},
			{"/admin/registration-tokens/", "Make a token", params("may", "client_credentials", "uses", "3"), nil},
		} {
			a.earlier(t, 301)
			b.open(t, one.path)
			b.submit(t, one.button, one.fields)
			b.awaitsLogin(t, one.path)
			if strings.Contains(b.Body, password) {
				t.Error("the page has the password")
			}
			// Without the new sign-in, the page shows what is stored.
			b.open(t, one.path)
			if strings.Contains(b.Body, "Nothing is saved yet") {
				t.Errorf("%s: the form came back without a sign-in", one.path)
			}
			b.open(t, "/login/?reason=confirm&next="+url.QueryEscape(one.path))
			b.logIn(t, a.root)
			checkEqual(t, "the login leads to", b.URL.Path, one.path)
			b.isAt(t, one.path, http.StatusOK, "Nothing is saved yet: review the form and send it.")
			f, _ := b.find(t, one.button, nil)
			values := f.values()
			for name, want := range one.fields {
				if name == "password" {
					want = []string{""}
				}
				got := values[name]
				if strings.Join(got, "|") != strings.Join(want, "|") {
					t.Errorf("%s: %s is %q, want %q", one.path, name, got, want)
				}
			}
			if len(one.again) > 0 && !strings.Contains(b.Body, "Type the new password again") {
				t.Errorf("%s: the page does not say that the password is missing", one.path)
			}
			b.submit(t, one.button, one.again)
			checkEqual(t, one.path+" after the sign-in", b.Status, 200)
			if b.shows("password") && b.URL.Path == "/login/" || strings.Contains(b.Body, `id="problem"`) {
				t.Errorf("%s is not saved: %s\n%s", one.path, b.URL, b.Body)
			}
		}
		// A button alone has no form. It is pressed once more, and the page says so.
		a.earlier(t, 301)
		b.open(t, a.page)
		b.submit(t, "Make a link", nil)
		b.awaitsLogin(t, a.page+"reset-link/")
		b.open(t, a.page+"reset-link/")
		if strings.Contains(b.Body, "choose it once more") {
			t.Error("the page speaks of a sign-in before it")
		}
		for path, page := range map[string]string{a.page + "reset-link/": a.page, app + "test-key/": app} {
			a.earlier(t, 301)
			b.open(t, "/login/?reason=confirm&next="+url.QueryEscape(path))
			b.logIn(t, a.root)
			b.isAt(t, path, http.StatusOK, "What you wanted is not done yet: choose it once more.")
			checkEqual(t, "the login leads to", b.URL.Path, page)
		}
		var email, first string
		behind(t, db, `SELECT email, first_name FROM users WHERE username = 'alice'`, &email, &first)
		checkEqual(t, "alice is", email+" "+first, "al@example.org Ælice & <b>")
		// The new password works.
		a.signedIn(t, person{"alice", password})
		// Somebody else does not see the form.
		a.earlier(t, 301)
		b.open(t, a.page)
		b.submit(t, "Save changes", params("email", "other@example.org"))
		draft := b.cookie(t, a.page, "mandate_draft")
		second := a.signedIn(t, person{"third", password})
		stranger := a.carrying(t, "mandate_draft", draft, "mandate_session", second.cookie(t, "/", "mandate_session"))
		stranger.open(t, a.page)
		if strings.Contains(stranger.Body, "other@example.org") || !strings.Contains(stranger.Body, "al@example.org") {
			t.Error("another administrator sees the form, or no form")
		}
		// A form that is too long for a cookie comes back at once.
		var uris []string
		for n := range 60 {
			uris = append(uris, "https://new.example/"+digestOf(fmt.Sprint(n)))
		}
		b.open(t, app+"update/")
		b.submit(t, "Save changes", params("redirect_uris", strings.Join(uris, "\n")))
		checkEqual(t, "a long form", b.Status, http.StatusUnprocessableEntity)
		if !strings.Contains(b.Body, uris[59]) || !strings.Contains(b.Body, "too long to keep") {
			t.Errorf("the long form is lost:\n%s", b.Body)
		}
	})
}

// People are not asked again about an application that they have allowed. So the stolen session of its owner, who need
// not be an administrator, must not decide who gets what it gets.
func TestAttackStolenSessionOfAnOwner(t *testing.T) {
	attack(t, "application taken over by its owner's stolen session (CWE-306)", "")
	onADatabase(t, func(t *testing.T, db database) {
		s := startServer(t, options{database: db})
		bob, alice := s.signedIn(t, s.person(t, "bob")), s.person(t, "alice")
		app := bob.registered(t, "grant_type", "authorization_code", "redirect_uris", "https://tool.example/cb",
			"client_type", "confidential", "scope", "read")
		app.RedirectURI = "https://tool.example/cb"
		visitor := s.signedIn(t, alice)
		visitor.issue(t, app, alice, "scope", "read")
		s.earlier(t, 301)
		thief := s.carrying(t, "mandate_session", bob.cookie(t, "/", "mandate_session"))
		page := "/o/applications/" + app.ID + "/"
		var before, after string
		const state = `SELECT secret || ' ' || redirect_uris || ' ' || jwks FROM applications`
		behind(t, db, state, &before)
		for _, one := range []struct {
			path, button string
			fields       url.Values
		}{
			{page + "update/", "Save changes", params("redirect_uris", "https://tool.example/cb\nhttps://thief.example/cb")},
			{page + "rotate/", "Create a new secret", nil},
			{page, "", nil},
		} {
			thief.open(t, one.path)
			if one.path == page {
				thief.send(t, page+"test-key/", params("algorithm", "ES256"))
			} else {
				thief.submit(t, one.button, one.fields)
			}
			thief.awaitsLogin(t, one.path)
		}
		behind(t, db, state, &after)
		if before != after {
			t.Errorf("the application was %q, and is %q", before, after)
		}
		app.RedirectURI = "https://thief.example/cb"
		address, _ := s.authorizeURL(app, "scope", "read", "prompt", "none")
		visitor.open(t, address)
		if visitor.Away != nil {
			t.Errorf("the browser is sent to %s", visitor.Away)
		}
		// Nor does it change or delete anything else.
		thief.open(t, page+"update/")
		thief.submit(t, "Save changes", params("name", "Another name"))
		thief.awaitsLogin(t, "another name")
		thief.open(t, page+"delete/")
		thief.submit(t, "Delete the application", nil)
		thief.awaitsLogin(t, "deletion")
		checkEqual(t, "applications", rows(t, db, "applications"), 1)
	})
}
