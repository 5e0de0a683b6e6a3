package mandate

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
)

// Each change of a person, an application, an approval, a token or a session, checked
// against everything that was issued before. What must end ends at once, at every
// endpoint and every node; everything else continues to work.

// life holds everything that one person and one application share.
type life struct {
	*fixture
	app     application
	person  person
	tab     *browser // the browser in which the person is signed in
	session string   // its cookie
	ticket  string   // of a consent page that is open in that browser
	code    url.Values
	mine    tokens // of an approval
	typed   tokens // from the password grant
	own     tokens // from the client credentials grant
	root    *browser
}

// fate is the expected state of each part after a change. A text is the error of the
// token endpoint; an empty one means that the request succeeds.
type fate struct {
	mine, typed, own                bool // the access tokens
	mineRefresh, typedRefresh, code string
	scope                           string // the scope of tokens from a refresh and from the code
	session                         bool
	ticket, again                   string // code, consent, login, page, or an error at the client
}

const lifeScope = "read write"

func unchanged() fate {
	return fate{mine: true, typed: true, own: true, scope: lifeScope, session: true, ticket: "code", again: "code"}
}

// Parts of a fate.
func (f fate) withoutPerson() fate {
	f.mine, f.typed, f.mineRefresh, f.typedRefresh, f.code = false, false, "invalid_grant", "invalid_grant",
		"invalid_grant"
	return f.withoutSession()
}

func (f fate) withoutSession() fate {
	f.session, f.ticket, f.again = false, "page", "login"
	return f
}

// withoutTokens: the tokens temporarily have no access.
func (f fate) withoutTokens() fate {
	f.mine, f.typed = false, false
	return f
}

func (f fate) withoutPassword() fate {
	f.typed, f.typedRefresh = false, "invalid_grant"
	return f
}

func (f fate) withoutMine() fate {
	f.mine, f.mineRefresh = false, "invalid_grant"
	return f
}

// atToken returns a fate with this error at the token endpoint for everything.
func (f fate) atToken(code string) fate {
	f.mineRefresh, f.typedRefresh, f.code = code, code, code
	return f
}

func (f fate) atClient(code string) fate {
	f.ticket, f.again = code, code
	return f
}

func TestLifecycle(t *testing.T) {
	ownProcesses(t)
	forEachDatabase(t, func(t *testing.T, db database) {
		v := newFixture(t, options{database: db})
		other := v.node(t)
		root := v.signedIn(t, v.admin)
		for n, c := range changes() {
			t.Run(c.name, func(t *testing.T) {
				l := v.newLife(t, root, n)
				c.change(t, l)
				l.check(t, other, c.want)
			})
		}
		t.Run("introspection_no_longer_allowed", func(t *testing.T) { v.stopsIntrospection(t, root) })
		t.Run("rights_taken_away", func(t *testing.T) { v.endsAdministration(t, root) })
	})
}

type change struct {
	name   string
	change func(t testing.TB, l *life)
	want   fate
}

func changes() []change {
	none := unchanged()
	gone := none.atToken("invalid_client").atClient("page")
	gone.mine, gone.typed, gone.own = false, false, false
	// A new request gets what is left. The open page shows more than that.
	narrowed, emptied := none, none.atToken("invalid_grant").atClient("invalid_scope").withoutTokens()
	narrowed.scope, narrowed.ticket, emptied.ticket = "read", "page", "page"
	own, consent := none, none.withoutMine().withoutPassword()
	own.own = false
	reset := none.withoutMine().withoutPassword().withoutSession()
	reset.code = "invalid_grant"
	consent.code, consent.again = "invalid_grant", "consent"
	// The browser that changes the password has another cookie afterwards.
	kept, asked := none.withoutPassword(), consent
	kept.session, asked.session, asked.ticket = false, false, "page"
	return []change{
		{"nothing", func(testing.TB, *life) {}, none},
		{"user_disabled", func(t testing.TB, l *life) { l.mustCLI(t, "", "user", "disable", l.person.Name) },
			none.withoutPerson()},
		{"user_disabled_on_the_page", func(t testing.TB, l *life) { l.userForm(t, url.Values{"active": nil}) },
			none.withoutPerson()},
		{"user_disabled_and_enabled", func(t testing.TB, l *life) {
			l.mustCLI(t, "", "user", "disable", l.person.Name)
			l.userForm(t, url.Values{"active": {"on"}})
			l.signedIn(t, l.person)
		}, none.withoutPerson()},
		{"user_deleted", func(t testing.TB, l *life) { l.done(t, l.userPath(t)+"delete/", nil) }, none.withoutPerson()},
		{"password_changed_here", func(t testing.TB, l *life) { l.changePassword(t, l.tab) }, asked},
		{"password_changed_here_approvals_kept",
			func(t testing.TB, l *life) { l.changePassword(t, l.tab, "approvals", "asked") }, kept},
		{"password_changed_elsewhere", func(t testing.TB, l *life) { l.changePassword(t, l.signedIn(t, l.person)) }, reset},
		{"password_changed_elsewhere_approvals_kept", func(t testing.TB, l *life) {
			l.changePassword(t, l.signedIn(t, l.person), "approvals", "asked")
		}, none.withoutPassword().withoutSession()},
		{"password_set_by_an_administrator", func(t testing.TB, l *life) {
			l.userForm(t, url.Values{"password": {l.person.Password + "?"}})
		}, reset},
		{"password_set_by_command", func(t testing.TB, l *life) {
			l.mustCLI(t, l.person.Password+"?\n", "user", "passwd", l.person.Name, "--password-stdin")
		}, reset},
		{"user_renamed", func(t testing.TB, l *life) { l.userForm(t, url.Values{"username": {l.person.Name + "-smith"}}) },
			none},
		{"application_deleted", func(t testing.TB, l *life) { l.done(t, "/o/applications/"+l.app.ID+"/delete/", nil) }, gone},
		{"application_deleted_by_command",
			func(t testing.TB, l *life) { l.mustCLI(t, "", "application", "delete", l.app.ClientID) }, gone},
		{"scope_removed", func(t testing.TB, l *life) { l.applicationForm(t, url.Values{"scope": {"read"}}) }, narrowed},
		{"every_granted_scope_removed", func(t testing.TB, l *life) {
			l.applicationForm(t, url.Values{"scope": {"groups"}})
		}, emptied},
		{"grants_removed", func(t testing.TB, l *life) {
			l.applicationForm(t, url.Values{"grant_type": {"client_credentials"}})
		}, none.atToken("unauthorized_client").atClient("unauthorized_client")},
		{"redirect_URI_removed", func(t testing.TB, l *life) {
			l.applicationForm(t, url.Values{"redirect_uris": {"https://elsewhere.example/"}})
		}, none.atClient("page")},
		{"secret_rotated", func(t testing.TB, l *life) { l.rotate(t, "0s") }, none.atToken("invalid_client")},
		{"secret_rotated_and_used", func(t testing.TB, l *life) { l.app.ClientSecret = l.rotate(t, "0s") }, none},
		{"secret_rotated_with_overlap", func(t testing.TB, l *life) { l.rotate(t, "1h") }, none},
		{"secret_rotated_with_overlap_and_used", func(t testing.TB, l *life) { l.app.ClientSecret = l.rotate(t, "1h") },
			none},
		{"secret_rotated_twice", func(t testing.TB, l *life) { l.rotate(t, "1h"); l.rotate(t, "1h") },
			none.atToken("invalid_client")},
		{"made_public", func(t testing.TB, l *life) { l.makePublic(t); l.app.ClientSecret = "" }, none},
		{"made_public_but_uses_its_secret", func(t testing.TB, l *life) { l.makePublic(t) }, none.atToken("invalid_client")},
		{"consent_taken_back", func(t testing.TB, l *life) {
			l.tab.open(t, "/account/")
			l.tab.send(t, regexp.MustCompile(`/account/applications/[^/"]+/revoke/`).FindString(l.tab.Body), nil)
		}, consent},
		{"access_token_revoked", func(t testing.TB, l *life) { l.revoke(t, l.app.auth(), l.mine.AccessToken) },
			none.withoutMine()},
		{"refresh_token_revoked", func(t testing.TB, l *life) { l.revoke(t, l.app.auth(), l.mine.RefreshToken) },
			none.withoutMine()},
		{"access_token_revoked_by_command",
			func(t testing.TB, l *life) { l.mustCLI(t, l.mine.AccessToken, "token", "revoke") }, none.withoutMine()},
		{"refresh_token_revoked_by_command",
			func(t testing.TB, l *life) { l.mustCLI(t, l.mine.RefreshToken, "token", "revoke") }, none.withoutMine()},
		{"tokens_for_the_password_revoked", func(t testing.TB, l *life) { l.revoke(t, l.app.auth(), l.typed.RefreshToken) },
			none.withoutPassword()},
		{"own_token_revoked", func(t testing.TB, l *life) { l.revoke(t, l.app.auth(), l.own.AccessToken) }, own},
		{"session_ended_elsewhere", func(t testing.TB, l *life) {
			elsewhere := l.signedIn(t, l.person)
			elsewhere.open(t, "/account/")
			elsewhere.send(t, regexp.MustCompile(`/account/sessions/[^/"]+/end/`).FindString(elsewhere.Body), nil)
		}, none.withoutSession()},
		{"logged_out", func(t testing.TB, l *life) { l.tab.send(t, "/logout/", nil) }, none.withoutSession()},
	}
}

// newLife creates a person and an application, with everything that they can share.
func (v *fixture) newLife(t testing.TB, root *browser, n int) *life {
	t.Helper()
	l := &life{fixture: v, root: root,
		person: person{fmt.Sprint("person", n), v.secret(fmt.Sprint("a password of its own ", n))}}
	l.done(t, "/admin/users/new/", params("username", l.person.Name, "password", l.person.Password, "active", "on"))
	l.app = v.application(t, "--name", "Lived with", "--redirect-uri", fmt.Sprintf("https://app%d.example/back", n),
		"--grant", "authorization_code", "--grant", "password", "--grant", "client_credentials")
	l.tab = v.signedIn(t, l.person)
	l.session = l.tab.cookie(t, "/", "mandate_session")
	l.mine = l.tab.family(t, l.app, l.person, "scope", lifeScope)
	l.code = l.tab.issue(t, l.app, l.person, "scope", lifeScope)
	l.typed = v.mustToken(t, l.app.auth(),
		params("grant_type", "password", "username", l.person.Name, "password", l.person.Password, "scope", lifeScope))
	l.own = v.mustToken(t, l.app.auth(), params("grant_type", "client_credentials"))
	l.ticket = l.tab.ticket(t, l.app, "scope", lifeScope+" groups")
	return l
}

// done sends a form as the administrator. It must be accepted.
func (l *life) done(t testing.TB, path string, form url.Values) {
	t.Helper()
	l.root.send(t, path, form)
	if l.root.Status != http.StatusOK || len(l.root.Hops) == 0 {
		t.Fatalf("POST %s: %d\n%s", path, l.root.Status, l.root.Body)
	}
}

func (l *life) userPath(t testing.TB) string {
	t.Helper()
	var people []struct{ ID, Username string }
	err := json.Unmarshal([]byte(l.mustCLI(t, "", "user", "list", "--json")), &people)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range people {
		if p.Username == l.person.Name {
			return "/admin/users/" + p.ID + "/"
		}
	}
	t.Fatalf("no user %s", l.person.Name)
	return ""
}

// change sends a form as the administrator with its current values, except for some
// fields.
func (l *life) change(t testing.TB, path string, fields url.Values) {
	t.Helper()
	l.root.open(t, path)
	l.root.submit(t, "Save changes", fields)
	if l.root.Status != http.StatusOK || len(l.root.Hops) == 0 {
		t.Fatalf("%s with %v: %d\n%s", path, fields, l.root.Status, l.root.Body)
	}
}

func (l *life) userForm(t testing.TB, fields url.Values) {
	t.Helper()
	l.change(t, l.userPath(t), fields)
}

func (l *life) applicationForm(t testing.TB, fields url.Values) {
	t.Helper()
	l.change(t, "/o/applications/"+l.app.ID+"/update/", fields)
}

func (l *life) makePublic(t testing.TB) {
	t.Helper()
	l.applicationForm(t, url.Values{"client_type": {"public"}, "grant_type": {"authorization_code", "password"}})
}

// changePassword sends the password form of the account page, with more fields.
func (l *life) changePassword(t testing.TB, b *browser, more ...string) {
	t.Helper()
	b.send(t, "/account/password/",
		params(append(more, "current_password", l.person.Password, "new_password", l.person.Password+"!")...))
	if b.Status != http.StatusOK || len(b.Hops) == 0 {
		t.Fatalf("the password is not changed: %d\n%s", b.Status, b.Body)
	}
}

func (l *life) rotate(t testing.TB, overlap string) string {
	t.Helper()
	var rotated application
	err := json.Unmarshal([]byte(l.mustCLI(t, "", "application", "rotate-secret", l.app.ClientID, "--overlap", overlap,
		"--json")), &rotated)
	if err != nil || rotated.ClientSecret == "" || rotated.ClientSecret == l.app.ClientSecret {
		t.Fatalf("no new secret: %v", err)
	}
	return l.secret(rotated.ClientSecret)
}

// check compares everything with its fate. It checks the tokens at another node than
// the one that made the change.
func (l *life) check(t *testing.T, node *server, want fate) {
	for _, c := range []struct {
		name  string
		token string
		live  bool
	}{
		{"access token of the approval", l.mine.AccessToken, want.mine},
		{"access token for the password", l.typed.AccessToken, want.typed},
		{"the application's own access token", l.own.AccessToken, want.own},
		{"refresh token of the approval", l.mine.RefreshToken, want.mine},
		{"refresh token for the password", l.typed.RefreshToken, want.typed},
	} {
		if got := node.active(t, l.asker.auth(), c.token); got != c.live {
			t.Errorf("%s: active %t at introspection, want %t", c.name, got, c.live)
		}
		a := node.get(t, "/resource", bearer(c.token))
		if live := c.live && strings.HasPrefix(c.token, "mat_"); (a.Status == http.StatusOK) != live ||
			a.Status != http.StatusOK && a.Status != http.StatusUnauthorized {
			t.Errorf("%s: %d at the sample API, want it live: %t", c.name, a.Status, live)
		}
	}
	for _, c := range []struct {
		name, refused string
		form          url.Values
	}{
		{"code", want.code, l.code},
		{"refresh of the approval", want.mineRefresh, refreshForm(l.mine.RefreshToken)},
		{"refresh for the password", want.typedRefresh, refreshForm(l.typed.RefreshToken)},
	} {
		a := node.post(t, "/o/token/", afar(l.app.auth()), c.form)
		switch got := l.tokens(t, a); {
		case c.refused == "" && (a.Status != http.StatusOK || got.Scope != want.scope):
			t.Errorf("%s: %d %s, want the scope %s", c.name, a.Status, a.Body, want.scope)
		case c.refused != "" && (a.Status < 400 || a.Status > 401 || got.Error != c.refused || got.AccessToken != ""):
			t.Errorf("%s: %d %s, want %s", c.name, a.Status, a.Body, c.refused)
		}
	}
	if a := node.get(t, "/account/",
		withCookie("mandate_session", l.session)); (a.Status == http.StatusOK) != want.session {
		t.Errorf("session: %d, want it live: %t", a.Status, want.session)
	}
	address, _ := l.authorizeURL(l.app, "scope", lifeScope)
	l.tab.open(t, address)
	l.tab.wantPlace(t, "a new request", want.again)
	l.tab.send(t, "/o/consent/", params("ticket", l.ticket, "decision", "approve"))
	l.tab.wantPlace(t, "the consent page", want.ticket)
}

// wantPlace checks the address that a browser has reached.
func (b *browser) wantPlace(t testing.TB, what, want string) {
	t.Helper()
	place := fmt.Sprintf("%d %s", b.Status, b.URL.Path)
	switch {
	case b.Away != nil && b.Away.Query().Has("code"):
		place = "code"
	case b.Away != nil:
		place = b.Away.Query().Get("error")
	case b.shows("decision"):
		place = "consent"
	case b.URL.Path == "/login/":
		place = "login"
	case b.Status == http.StatusBadRequest:
		place = "page"
	}
	if place != want {
		t.Errorf("%s leads to %s, want %s", what, place, want)
	}
}

// stopsIntrospection: a client that may no longer introspect gets no more answers, not
// even with an access token that it got for that purpose.
func (v *fixture) stopsIntrospection(t *testing.T, root *browser) {
	l := &life{fixture: v, root: root,
		app: v.application(t, "--name", "Asked", "--grant", "client_credentials", "--may-introspect")}
	token := v.mustToken(t, l.app.auth(), params("grant_type", "client_credentials", "scope", "introspection")).AccessToken
	asks := func(as auth) answer { return v.post(t, "/o/introspect/", as, params("token", token)) }
	for _, as := range []auth{l.app.auth(), bearer(token)} {
		if a := asks(as); a.Status != http.StatusOK {
			t.Errorf("before: %d %s", a.Status, a.Body)
		}
	}
	l.applicationForm(t, url.Values{"may_introspect": nil})
	for code, as := range map[string]auth{"unauthorized_client": l.app.auth(), "insufficient_scope": bearer(token)} {
		err := asks(as).refused(403, code)
		if err != nil {
			t.Error(err)
		}
	}
	err := v.post(t, "/o/token/", l.app.auth(),
		params("grant_type", "client_credentials", "scope", "introspection")).refused(400, "invalid_scope")
	if err != nil {
		t.Error(err)
	}
}

// endsAdministration: a person who is no longer an administrator is refused at the next
// request.
func (v *fixture) endsAdministration(t *testing.T, root *browser) {
	l := &life{fixture: v, root: root, person: v.person(t, "deputy", "--admin")}
	deputy := v.signedIn(t, l.person)
	deputy.open(t, "/admin/users/")
	if deputy.Status != http.StatusOK {
		t.Fatalf("an administrator sees %d", deputy.Status)
	}
	l.userForm(t, url.Values{"administrator": nil})
	for _, path := range []string{"/admin/users/", "/admin/groups/", "/admin/resources/", l.userPath(t)} {
		deputy.open(t, path)
		if deputy.Status != http.StatusForbidden {
			t.Errorf("%s: %d", path, deputy.Status)
		}
	}
	deputy.open(t, "/o/applications/"+v.web.ID+"/")
	if deputy.Status != http.StatusNotFound {
		t.Errorf("another's application: %d", deputy.Status)
	}
}
