package mandate

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// What people can do with applications that they registered and for which they alone
// are responsible.

// registered registers an application on the page, for the client credentials grant
// unless fields say otherwise.
func (b *browser) registered(t testing.TB, fields ...string) application {
	t.Helper()
	f := params("name", "Own", "client_type", "confidential", "grant_type", "client_credentials")
	for name, values := range params(fields...) {
		f[name] = values
	}
	b.open(t, "/o/applications/register/")
	return b.registers(t, f)
}

// refuses sends the registration form and checks that it is refused at a field.
func (b *browser) refuses(t testing.TB, field string, fields ...string) {
	t.Helper()
	f := params("name", "Own", "client_type", "confidential", "grant_type", "client_credentials", "scope", "read")
	for name, values := range params(fields...) {
		f[name] = values
	}
	b.send(t, "/o/applications/register/", f)
	if b.Status != http.StatusUnprocessableEntity || !strings.Contains(b.Body, `href="#`+field+`"`) {
		t.Errorf("registering with %v leads to %d %s, want a mistake at %s", params(fields...), b.Status, b.URL, field)
	}
}

// behind runs a statement directly in the database, without the server.
func behind(t testing.TB, db database, statement string, into ...any) {
	t.Helper()
	pool := db.open(t)
	defer pool.Close()
	var err error
	if len(into) > 0 {
		err = pool.QueryRowContext(t.Context(), statement).Scan(into...)
	} else {
		_, err = pool.ExecContext(t.Context(), statement)
	}
	if err != nil {
		t.Fatal(statement, err)
	}
}

// rows counts the rows of a table.
func rows(t testing.TB, db database, table string) int {
	t.Helper()
	var n int
	behind(t, db, "SELECT COUNT(*) FROM "+table, &n)
	return n
}

// own requests a token by the client credentials grant.
func (s *server) own(t testing.TB, app application, more ...string) (tokens, answer) {
	t.Helper()
	return s.token(t, app.auth(), params(append([]string{"grant_type", "client_credentials"}, more...)...))
}

func (s *server) wantOwn(t testing.TB, what string, app application, status int, code string) {
	t.Helper()
	if got, a := s.own(t, app); a.Status != status || got.Error != code {
		t.Errorf("%s: client credentials answer %d %q, want %d %q: %s", what, a.Status, got.Error, status, code,
			got.ErrorDescription)
	}
}

func TestAttackSignedTokensOfAYear(t *testing.T) {
	t.Parallel()
	attack(t, "tokens that outlive every revocation", "")
	s := startServer(t, options{})
	b := s.signedIn(t, s.person(t, "mallory"))
	const year = "31536000"
	b.refuses(t, "access_token_lifetime", "access_token_format", "jwt", "access_token_lifetime", year)
	b.refuses(t, "access_token_lifetime", "access_token_format", "jwt", "access_token_lifetime", "601")
	// A lifetime that is valid for opaque tokens is shortened if the tokens become
	// signed by a direct change of the database.
	app := b.registered(t, "access_token_lifetime", "36000")
	behind(t, s.database, "UPDATE applications SET access_token_format = 'jwt', access_token_lifetime = "+year+
		" WHERE client_id = '"+app.ClientID+"'")
	app2 := b.registered(t, "access_token_format", "jwt", "access_token_lifetime", "60")
	for client, most := range map[application]int64{app: 600, app2: 60} {
		if got, a := s.own(t, client); a.Status != http.StatusOK || got.ExpiresIn > most {
			t.Errorf("a signed token: %d, lives %d s, want at most %d", a.Status, got.ExpiresIn, most)
		}
	}
	admin := s.signedIn(t, s.person(t, "root", "--admin"))
	admin.refuses(t, "access_token_lifetime", "access_token_format", "jwt", "access_token_lifetime", "86401")
	if got, _ := s.own(t,
		admin.registered(t, "access_token_format", "jwt", "access_token_lifetime", "86400")); got.ExpiresIn != 86400 {
		t.Errorf("an administrator's signed token lives %d s", got.ExpiresIn)
	}
}

func TestAttackApplicationOutlivesItsOwner(t *testing.T) {
	attack(t, "rights that outlive who had them", "CVE-2026-43983 (Pocket ID): refresh ignores that the user was disabled")
	onADatabase(t, func(t *testing.T, db database) {
		s := startServer(t, options{database: db, settings: []string{"SAMPLE_API: true"},
			provider: []string{"RESOURCE_SERVER_TOKEN_CACHING_SECONDS: 0"}})
		asker := s.introspector(t)
		root := s.signedIn(t, s.person(t, "root", "--admin"))
		mallory, victim := s.person(t, "mallory"), s.person(t, "victim")
		b := s.signedIn(t, mallory)
		app := b.registered(t, "grant_type", "client_credentials", "grant_type", "authorization_code", "redirect_uris",
			"https://own.example/cb")
		own, _ := s.own(t, app)
		family := s.signedIn(t, victim).family(t, app, victim)
		suspended := func(what string, is bool) {
			t.Helper()
			status, code := http.StatusOK, ""
			if is {
				status, code = http.StatusUnauthorized, "invalid_client"
			}
			// A command is another process, so the server receives the change a moment
			// later.
			waitFor(t, what, func() bool {
				return s.post(t, "/o/token/", app.auth(), params("grant_type", "client_credentials")).Status == status
			})
			s.wantOwn(t, what, app, status, code)
			for _, token := range []string{own.AccessToken, family.AccessToken, family.RefreshToken} {
				if s.active(t, asker.auth(), token) == is {
					t.Errorf("%s: %.8s... is active: %t", what, token, !is)
				}
			}
			if a := s.get(t, "/resource", bearer(own.AccessToken)); (a.Status == http.StatusOK) == is {
				t.Errorf("%s: the API answers %d", what, a.Status)
			}
			address, _ := s.authorizeURL(app)
			v := s.signedIn(t, victim)
			v.open(t, address)
			if refused := v.Status == http.StatusBadRequest && v.Away == nil &&
				strings.Contains(v.Body, "suspended"); refused != is {
				t.Errorf("%s: a login through it leads to %d %s %v", what, v.Status, v.URL, v.Away)
			}
		}
		suspended("before", false)
		s.mustCLI(t, "", "user", "disable", "mallory")
		suspended("its owner is disabled", true)
		s.mustCLI(t, "", "user", "enable", "mallory")
		suspended("its owner is active again", false)
		// The owner is deleted in the way of the previous release.
		behind(t, db, "DELETE FROM users WHERE username = 'mallory'")
		s.stop(t)
		s.start(t)
		suspended("its owner is gone", true)
		root.open(t, "/o/applications/"+app.ID+"/owner/")
		root.submit(t, "Take it over", nil)
		suspended("an administrator takes it over", false)
	})
}

func TestAttackFormerAdministratorIntrospects(t *testing.T) {
	t.Parallel()
	attack(t, "rights that outlive who had them", "CVE-2026-43983 (Pocket ID): refresh ignores that the group was taken "+
		"away")
	s := startServer(t, options{})
	root, former := s.person(t, "root", "--admin"), s.person(t, "former", "--admin")
	b := s.signedIn(t, former)
	api := b.registered(t, "may_introspect", "on", "skip_consent", "on", "pkce", "if-sent", "grant_type",
		"client_credentials", "grant_type", "authorization_code", "redirect_uris", "https://own.example/cb")
	token, _ := s.own(t, api, "scope", "read")
	ask := func(as auth) int {
		return s.post(t, "/o/introspect/", as, params("token", token.AccessToken)).Status
	}
	if ask(api.auth()) != http.StatusOK {
		t.Fatal("an administrator's application cannot introspect")
	}
	tab := s.signedIn(t, root)
	var id string
	behind(t, s.database, "SELECT id FROM users WHERE username = 'former'", &id)
	tab.send(t, "/admin/users/"+id+"/", params("username", "former", "active", "on"))
	if got := ask(api.auth()); got != http.StatusForbidden {
		t.Errorf("a former administrator's application introspects: %d", got)
	}
	// It cannot skip the consent page, and it needs PKCE.
	v := s.signedIn(t, s.person(t, "victim"))
	address, _ := s.authorizeURL(api, "code_challenge", "", "code_challenge_method", "")
	v.open(t, address)
	if v.Away == nil || v.Away.Query().Get("error") != "invalid_request" {
		t.Errorf("without PKCE: %d %s %v", v.Status, v.URL, v.Away)
	}
	address, _ = s.authorizeURL(api)
	v.open(t, address)
	if v.Away != nil || v.Status != http.StatusOK || v.URL.Path != "/o/authorize/" {
		t.Errorf("people are not asked: %d %s %v", v.Status, v.URL, v.Away)
	}
}

func TestAttackTokenRowsWithoutBound(t *testing.T) {
	attack(t, "resources without a bound", "")
	onADatabase(t, func(t *testing.T, db database) {
		s := startServer(t, options{database: db,
			provider: []string{"PERSON_MAX_APPLICATIONS: 3", "PERSON_MAX_LIVE_TOKENS: 20", "PERSON_MAX_APPROVALS: 40",
				"PERSON_MAX_SESSIONS: 3"}})
		mallory := s.person(t, "mallory")
		b := s.signedIn(t, mallory)
		b.refuses(t, "access_token_lifetime", "access_token_lifetime", "36001")
		b.refuses(t, "refresh_token_lifetime", "grant_type", "password", "refresh_token_lifetime", "2592001")

		apps := []application{b.registered(t), b.registered(t),
			b.registered(t, "grant_type", "authorization_code", "redirect_uris", "https://own.example/cb")}
		b.refuses(t, "name")
		given := 0
		for range 30 {
			got, a := s.own(t, apps[given%2])
			if a.Status == http.StatusTooManyRequests && got.Error == "temporarily_unavailable" &&
				a.Header.Get("Retry-After") != "" {
				break
			}
			if a.Status != http.StatusOK {
				t.Fatal(a.Status, a.Body)
			}
			given++
		}
		if given != 20 {
			t.Errorf("the applications of one person got %d tokens, want 20", given)
		}
		behind(t, db, "DELETE FROM tokens")
		approvals := 0
		for range 8 {
			address, _ := s.authorizeURL(apps[2])
			away := b.authorize(t, address, mallory, "approve")
			if away.Query().Get("error") == "temporarily_unavailable" {
				break
			}
			approvals++
		}
		if approvals != 4 {
			t.Errorf("%d approvals by one person, want a tenth of the quota: 4", approvals)
		}
		for range 5 {
			s.signedIn(t, mallory)
		}
		if n := rows(t, db, "sessions"); n != 3 {
			t.Errorf("%d sessions, want 3", n)
		}
		// Applications for which administrators are responsible have no quota.
		vouched := s.application(t, "--name", "Vouched", "--owner", "mallory", "--grant", "client_credentials")
		for range 25 {
			s.wantOwn(t, "no quota", vouched, http.StatusOK, "")
		}
		for _, app := range append(apps, vouched) {
			s.mustCLI(t, "", "application", "delete", app.ClientID)
		}
		waitFor(t, "the rows of deleted applications are gone",
			func() bool { return rows(t, db, "tokens")+rows(t, db, "grants") == 0 })
	})
}

func TestAttackTokensPerMinute(t *testing.T) {
	attack(t, "resources without a bound", "")
	s := startServer(t, options{provider: []string{"PERSON_MAX_TOKENS_PER_MINUTE: 5"}})
	b := s.signedIn(t, s.person(t, "mallory"))
	one, two := b.registered(t), b.registered(t)
	given := 0
	for i := range 8 {
		_, a := s.own(t, []application{one, two}[i%2])
		if a.Status == http.StatusOK {
			given++
		}
	}
	if given < 5 || given > 6 { // one attempt may be available again
		t.Errorf("%d tokens at once, want 5", given)
	}
	s.wantOwn(t, "somebody else's", s.signedIn(t, s.person(t, "alice")).registered(t), http.StatusOK, "")
}

func TestAttackOwnerIsDeletedToLiftALimit(t *testing.T) {
	t.Parallel()
	attack(t, "rights that grow when something is missing", "")
	s := startServer(t, options{provider: []string{"GRANTS_BY_ADMINISTRATOR: [password]"}})
	root := s.signedIn(t, s.person(t, "root", "--admin"))
	gone := func(name, fate string) application {
		b := s.signedIn(t, s.person(t, name))
		app := b.registered(t)
		var id string
		behind(t, s.database, "SELECT id FROM users WHERE username = '"+name+"'", &id)
		root.open(t, "/admin/users/"+id+"/delete/")
		if !strings.Contains(root.Body, app.ClientID) {
			t.Errorf("the page does not list the application: %s", root.Body)
		}
		root.send(t, "/admin/users/"+id+"/delete/", nil)
		if root.Status != http.StatusUnprocessableEntity {
			t.Errorf("deleted without a word about the applications: %d %s", root.Status, root.URL)
		}
		s.wantOwn(t, "nothing was deleted", app, http.StatusOK, "")
		root.send(t, "/admin/users/"+id+"/delete/", params("applications", fate))
		if root.Status != http.StatusOK {
			t.Errorf("delete: %d %s", root.Status, root.Body)
		}
		return app
	}
	s.wantOwn(t, "deleted with its owner", gone("ann", "delete"), http.StatusUnauthorized, "invalid_client")
	kept := gone("ben", "take-over")
	s.wantOwn(t, "taken over", kept, http.StatusOK, "")
	if out := s.mustCLI(t, "", "application", "show", kept.ClientID); !strings.Contains(out, "root") ||
		!strings.Contains(out, "administrator") {
		t.Error(out)
	}
	// After its owner is deleted nobody is responsible for the application. It gets no
	// new permission from that.
	b := s.signedIn(t, s.person(t, "cat"))
	b.refuses(t, "grant_type", "grant_type", "password")
	orphan := b.registered(t)
	behind(t, s.database, "UPDATE applications SET grant_types = 'password client_credentials' WHERE client_id = '"+
		orphan.ClientID+"'")
	behind(t, s.database, "DELETE FROM users WHERE username = 'cat'")
	s.stop(t)
	s.start(t)
	s.wantOwn(t, "without an owner", orphan, http.StatusUnauthorized, "invalid_client")
}

func TestAttackRemovedScopeStaysInLiveTokens(t *testing.T) {
	t.Parallel()
	attack(t, "rights that outlive who had them", "CVE-2026-43983 (Pocket ID): refresh ignores that the group was taken "+
		"away")
	s := startServer(t, options{settings: []string{"SAMPLE_API: true"},
		provider: []string{"OIDC_ENABLED: true", openidScopes, "RESOURCE_SERVER_TOKEN_CACHING_SECONDS: 0"}})
	asker := s.introspector(t)
	alice := s.person(t, "alice")
	b := s.signedIn(t, alice)
	app := b.registered(t, "grant_type", "authorization_code", "redirect_uris", "https://own.example/cb")
	got := b.family(t, app, alice, "scope", "openid read write")
	only := b.family(t, app, alice, "scope", "openid write")
	change := func(scopes ...string) {
		b.open(t, "/o/applications/"+app.ID+"/update/")
		b.submit(t, "Save changes", url.Values{"scope": scopes})
		if b.Status != http.StatusOK {
			t.Fatal(b.Status, b.Body)
		}
	}
	at := func(path string, token tokens, form url.Values) int {
		if form != nil {
			return s.post(t, path, bearer(token.AccessToken), form).Status
		}
		return s.get(t, path, bearer(token.AccessToken)).Status
	}
	change("read")
	if scope := s.introspect(t, asker.auth(), got.AccessToken)["scope"]; scope != "read" {
		t.Errorf("introspection says the scope is %q", scope)
	}
	if s.active(t, asker.auth(), only.AccessToken) {
		t.Error("a token that may do nothing is active")
	}
	for what, check := range map[string][2]int{
		"reading":  {at("/users/", got, nil), http.StatusOK},
		"writing":  {at("/users/", got, params("username", "new", "password", "not that important")), http.StatusForbidden},
		"UserInfo": {at("/o/userinfo/", got, nil), http.StatusForbidden},
		"nothing":  {at("/resource", only, nil), http.StatusUnauthorized},
	} {
		if check[0] != check[1] {
			t.Errorf("%s answers %d, want %d", what, check[0], check[1])
		}
	}
	change("openid", "read", "write")
	if scope := fmt.Sprint(s.introspect(t, asker.auth(), got.AccessToken)["scope"]); scope != "openid read write" {
		t.Errorf("the scope that came back is %q", scope)
	}
}

// Whoever has a used assertion that has not expired can send it again. Each time is refused, and
// must not count as a token of the owner.
func TestAttackReplaysUseUpTheOwnersTokens(t *testing.T) {
	t.Parallel()
	attack(t, "resources without a bound", "")
	s := startServer(t, options{provider: []string{"PERSON_MAX_TOKENS_PER_MINUTE: 8"}})
	s.person(t, "mallory")
	for name, more := range map[string][]string{"opaque": nil, "signed": {"--access-token-format", "jwt"}} {
		a := s.keyHolder(t, name, append(more, "--owner", "mallory")...)
		behind(t, s.database, "UPDATE applications SET responsible = 'owner' WHERE client_id = '"+a.ClientID+"'")
		used := asserting(s.assert(t, a, nil, nil))
		s.mustToken(t, used, forItself)
		for range 20 {
			s.refusedAssertion(t, name+", again", used)
		}
		s.mustToken(t, asserting(s.assert(t, a, nil, nil)), forItself)
	}
}
