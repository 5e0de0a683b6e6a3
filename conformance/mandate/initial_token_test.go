package mandate

import (
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Initial access tokens (RFC 7591 §3): what can be registered with them, and how long they
// work.

func TestInitialToken(t *testing.T) {
	ownProcesses(t)
	forEachDatabase(t, func(t *testing.T, db database) {
		s := startServer(t, options{database: db,
			provider: []string{"SCOPES: {read: Read, write: Write, openid: Sign in, introspection: Introspect}",
				"OIDC_ENABLED: true",
				"REGISTRATION_WITH_TOKEN: true"}})
		t.Run("required", func(t *testing.T) {
			a := s.registration(t, nobody, `{"redirect_uris":["https://tool.example/"]}`)
			if err := a.refused(401, "invalid_token"); err != nil ||
				strings.Contains(a.Header.Get("WWW-Authenticate"), "error") {
				t.Errorf("RFC 6750 §3.1: %v, %q", err, a.Header.Get("WWW-Authenticate"))
			}
		})
		t.Run("confidential", s.registersConfidential)
		t.Run("narrows", s.tokenNarrows)
		t.Run("introspects", s.registersIntrospector)
		t.Run("race", s.tokenRace)
		t.Run("maker", func(t *testing.T) { s.tokenOfPerson(t, db) })
	})
}

func (s *server) registersConfidential(t *testing.T) {
	token := s.initialToken(t, "--uses", "3", "--may", "authorization_code,client_credentials")
	made := s.registers(t, bearer(token),
		`{"client_name":"Nightly","grant_types":["client_credentials"],"token_endpoint_auth_method":"client_secret_post"}`)
	app := asApplication(made, "")
	if app.ClientSecret == "" || made["client_secret_expires_at"] != float64(0) ||
		textOf(made, "token_endpoint_auth_method") != "client_secret_post" ||
		listOf(made, "grant_types") != "client_credentials" || made["response_types"] != nil {
		t.Fatalf("%v", made)
	}
	// RFC 7591 §2: only the registered method works.
	s.mustToken(t, body(app.ClientID, app.ClientSecret), params("grant_type", "client_credentials"))
	if err := s.post(t, "/o/token/", basic(app.ClientID, app.ClientSecret),
		params("grant_type", "client_credentials")).refused(401, "invalid_client"); err != nil {
		t.Error(err)
	}
	at, manage := textOf(made, "registration_client_uri"), bearer(textOf(made, "registration_access_token"))
	read := s.send(t, "GET", at, manage, nil).JSON(t)
	if read["client_secret"] != nil || read["client_secret_expires_at"] != nil {
		t.Error("the secret is shown again")
	}
	// The present secret may come back, and no other.
	change := func(secret string) string {
		return fmt.Sprintf(`{"client_id":%q,"client_secret":%q,"grant_types":["client_credentials"]}`, app.ClientID, secret)
	}
	if err := s.send(t, "PUT", at, manage, change("a-secret-that-the-client-chose")).refused(400,
		"invalid_client_metadata"); err != nil {
		t.Error(err)
	}
	got := s.send(t, "PUT", at, manage, change(app.ClientSecret))
	if got.Status != 200 || got.JSON(t)["client_secret"] != nil ||
		textOf(got.JSON(t), "token_endpoint_auth_method") != "client_secret_basic" {
		t.Errorf("%d %s", got.Status, got.Body)
	}
	s.mustToken(t, basic(app.ClientID, app.ClientSecret), params("grant_type", "client_credentials"))
	// A public client that becomes confidential gets a secret.
	public := s.registers(t, bearer(token),
		`{"redirect_uris":["https://web.example/cb"],"token_endpoint_auth_method":"none"}`)
	got = s.send(t, "PUT", textOf(public, "registration_client_uri"), bearer(textOf(public, "registration_access_token")),
		member{"client_id": public["client_id"], "redirect_uris": []string{"https://web.example/cb"},
			"id_token_signed_response_alg": "HS256"})
	if secret := textOf(got.JSON(t), "client_secret"); got.Status != 200 || secret == "" ||
		got.JSON(t)["client_secret_expires_at"] != float64(0) {
		t.Errorf("%d %s", got.Status, got.Body)
	}
}

// Neither a registration nor a later change gives more than the token allows.
func (s *server) tokenNarrows(t *testing.T) {
	s.mustCLI(t, "", "resource", "add", "https://api.example/v1", "--name", "API")
	token := s.initialToken(t, "--uses", "9", "--scope", "read", "--resource", "https://api.example/v1")
	for name, test := range map[string]struct{ metadata, code string }{
		"another grant type": {`{"grant_types":["client_credentials"]}`, "invalid_client_metadata"},
		"only another scope": {`{"redirect_uris":["https://tool.example/"],"scope":"write introspection"}`,
			"invalid_client_metadata"},
		"one bad redirect URI among good": {`{"redirect_uris":["https://tool.example/","http://evil.example/"]}`,
			"invalid_redirect_uri"},
	} {
		if err := s.registration(t, bearer(token), test.metadata).refused(400, test.code); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	made := s.registers(t, bearer(token),
		`{"redirect_uris":["https://tool.example/"],"grant_types":["authorization_code","client_credentials"],"scope":"read write introspection","skip_consent":true}`)
	if textOf(made, "scope") != "read" || listOf(made, "grant_types") != "authorization_code refresh_token" {
		t.Errorf("%v", made)
	}
	at, manage, id := textOf(made, "registration_client_uri"), bearer(textOf(made, "registration_access_token")),
		textOf(made, "client_id")
	changed := s.send(t, "PUT", at, manage,
		member{"client_id": id, "redirect_uris": []string{"https://tool.example/"},
			"grant_types": []string{"authorization_code", "password"}}).JSON(t)
	if textOf(changed, "scope") != "read" || listOf(changed, "grant_types") != "authorization_code refresh_token" {
		t.Errorf("after a change: %v", changed)
	}
	var shown struct {
		Resources                  []string
		Standing, Origin, Owner    string
		PKCE                       string
		SkipConsent, MayIntrospect bool
	}
	err := json.Unmarshal([]byte(s.mustCLI(t, "", "application", "show", id, "--json")), &shown)
	if err != nil || len(shown.Resources) != 1 || shown.Resources[0] != "https://api.example/v1" || shown.PKCE != "" ||
		shown.SkipConsent || shown.MayIntrospect {
		t.Errorf("%v, %+v", err, shown)
	}
	// A refused request has used nothing.
	if list := s.mustCLI(t, "", "registration-token", "list"); !strings.Contains(list, " 8 ") {
		t.Error(list)
	}
}

func (s *server) registersIntrospector(t *testing.T) {
	token := s.initialToken(t, "--uses", "3", "--may", "client_credentials,introspection", "--scope", "read")
	asks := s.registers(t, bearer(token), `{"grant_types":["client_credentials"],"scope":"read introspection"}`)
	silent := s.registers(t, bearer(token), `{"grant_types":["client_credentials"]}`)
	if textOf(asks, "scope") != "read introspection" || textOf(silent, "scope") != "read" {
		t.Errorf("%q and %q", textOf(asks, "scope"), textOf(silent, "scope"))
	}
	some := s.mustToken(t, asApplication(silent, "").auth(), params("grant_type", "client_credentials"))
	if !s.active(t, asApplication(asks, "").auth(), some.AccessToken) {
		t.Error("the introspector cannot introspect")
	}
	if err := s.post(t, "/o/introspect/", asApplication(silent, "").auth(), params("token", some.AccessToken)).refused(403,
		"unauthorized_client"); err != nil {
		t.Error(err)
	}
	// RFC 7662 §2.1 needs a caller that authenticates.
	if err := s.registration(t, bearer(token),
		`{"grant_types":["client_credentials"],"token_endpoint_auth_method":"none","scope":"introspection"}`).refused(400,
		"invalid_client_metadata"); err != nil {
		t.Error(err)
	}
}

// A token without a list of scopes gives the default scopes, and introspection only if it
// says so itself.
func TestInitialTokenWithoutScopes(t *testing.T) {
	t.Parallel()
	s := startServer(t, options{
		provider: []string{"SCOPES: {read: Read, write: Write, kept: Kept, openid: Sign in, profile: Profile, " +
			"introspection: Introspect}",
			"DEFAULT_SCOPES: [read, kept]", "SCOPES_BY_ADMINISTRATOR: [kept]", "OIDC_ENABLED: true",
			"REGISTRATION_WITH_TOKEN: true"}})
	plain := s.initialToken(t, "--uses", "9", "--may", "client_credentials")
	introspects := s.initialToken(t, "--uses", "9", "--may", "client_credentials", "--may", "introspection")
	lists := s.initialToken(t, "--uses", "9", "--may", "client_credentials", "--scope", "write", "--scope", "kept",
		"--scope", "profile")
	for _, test := range []struct{ rule, token, scope, want string }{
		{"no scope", plain, "", "read openid offline_access"},
		{"no scope, with introspection", introspects, "", "read openid offline_access"},
		{"one of several", plain, "openid profile write", "openid"},
		{"introspection without the right", plain, "read introspection", "read"},
		{"introspection", introspects, "read introspection", "read introspection"},
		{"a list", lists, "", "write kept profile"},
		{"no scope that the token gives", plain, "write kept", ""},
		{"only introspection without the right", plain, "introspection", ""},
	} {
		metadata := member{"grant_types": []string{"client_credentials"}}
		if test.scope != "" {
			metadata["scope"] = test.scope
		}
		a := s.send(t, "POST", "/o/register/", bearer(test.token), metadata)
		if test.want == "" {
			if err := a.refused(400, "invalid_client_metadata"); err != nil {
				t.Errorf("%s: %v", test.rule, err)
			}
			continue
		}
		made := a.JSON(t)
		if a.Status != 201 || textOf(made, "scope") != test.want {
			t.Errorf("%s: %d, scope %q, want %q", test.rule, a.Status, textOf(made, "scope"), test.want)
			continue
		}
		s.secret(textOf(made, "client_secret"))
		// A change gives no more than the registration did.
		changed := s.send(t, "PUT", textOf(made, "registration_client_uri"),
			bearer(s.secret(textOf(made, "registration_access_token"))),
			member{"client_id": made["client_id"], "grant_types": []string{"client_credentials"}})
		want := map[bool]string{true: "write kept profile", false: "read openid offline_access"}[test.token == lists]
		if scope := textOf(changed.JSON(t), "scope"); scope != want {
			t.Errorf("%s, changed: scope %q, want %q", test.rule, scope, want)
		}
	}
}

// A token for one application registers one, however many ask at once and at which node.
func (s *server) tokenRace(t *testing.T) {
	nodes := []*server{s, s}
	if s.database.name == "postgres" {
		nodes[1] = s.node(t)
	}
	token := s.initialToken(t, "--uses", "1")
	won := 0
	for _, a := range parallel(t, 32, func(i int) (answer, error) {
		return nodes[i%2].trySend("POST", "/o/register/", bearer(token),
			fmt.Sprintf(`{"redirect_uris":["https://race.example/%d"]}`, i))
	}) {
		if a.Status == 201 {
			won++
		} else if err := a.refused(401, "invalid_token"); err != nil {
			t.Error(err)
		}
	}
	if won != 1 {
		t.Errorf("%d applications were registered", won)
	}
	if list := s.mustCLI(t, "", "application", "list"); strings.Count(list, "An application at race.example") != 1 {
		t.Error(list)
	}
}

// The administrator who made a token is responsible for its applications. The token ends
// with that right.
func (s *server) tokenOfPerson(t *testing.T, db database) {
	admin := s.person(t, "maker", "--admin")
	s.person(t, "another", "--admin")
	b := s.signedIn(t, admin)
	b.open(t, s.URL+"/admin/registration-tokens/")
	b.submit(t, "", params("uses", "5", "may", "authorization_code"))
	_, after, _ := strings.Cut(b.Body, `value="mit_`)
	text, _, _ := strings.Cut(after, `"`)
	token := s.secret("mit_" + text)
	if text == "" {
		t.Fatalf("the page shows no token:\n%s", b.Body)
	}
	b.open(t, s.URL+"/admin/registration-tokens/")
	if strings.Contains(b.Body, token) {
		t.Error("the page shows the token again")
	}
	made := s.registers(t, bearer(token), `{"client_name":"Of maker","redirect_uris":["https://maker.example/"]}`)
	if list := s.mustCLI(t, "", "application", "list"); !strings.Contains(list, "maker") {
		t.Error(list)
	}
	pool := db.open(t)
	refused := func(what, change, back string) {
		t.Helper()
		_, err := pool.ExecContext(t.Context(), "UPDATE users SET "+change+" WHERE username = 'maker'")
		if err != nil {
			t.Fatal(err)
		}
		if err := s.registration(t, bearer(token), `{"redirect_uris":["https://maker.example/2"]}`).refused(401,
			"invalid_token"); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		_, err = pool.ExecContext(t.Context(), "UPDATE users SET "+back+" WHERE username = 'maker'")
		if err != nil {
			t.Fatal(err)
		}
	}
	refused("a person without administrator rights", "administrator = FALSE", "administrator = TRUE")
	refused("a disabled account", "active = FALSE", "active = TRUE")
	s.mustCLI(t, "", "user", "disable", "maker")
	at, manage := textOf(made, "registration_client_uri"), bearer(textOf(made, "registration_access_token"))
	if err := s.send(t, "PUT", at, manage,
		member{"client_id": made["client_id"], "redirect_uris": []string{"https://evil.example/"}}).refused(403,
		"access_denied"); err != nil {
		t.Errorf("a change of a suspended application: %v", err)
	}
	s.mustCLI(t, "", "user", "delete", "maker", "--applications", "delete")
	if err := s.registration(t, bearer(token), `{"redirect_uris":["https://maker.example/2"]}`).refused(401,
		"invalid_token"); err != nil {
		t.Errorf("a deleted person: %v", err)
	}
}

// OIDC Registration §5: whoever owns the sector lists the redirect URIs.
func TestRegistrationSector(t *testing.T) {
	t.Parallel()
	var list string
	sector := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/moved" {
			http.Redirect(w, r, "/list", http.StatusFound)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(list))
	}))
	t.Cleanup(sector.Close)
	trusted := filepath.Join(t.TempDir(), "ca.pem")
	err := os.WriteFile(trusted, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: sector.Certificate().Raw}),
		0o600)
	if err != nil {
		t.Fatal(err)
	}
	s := startServer(t, options{provider: append([]string{"SCOPES: {read: Read, openid: Sign in}", "OIDC_ENABLED: true",
		"OPEN_HOSTS: [one.example, two.example, 127.0.0.1]"}, openClients...), settings: []string{thisHost},
		env: []string{"SSL_CERT_FILE=" + trusted}})
	register := func(path string) answer {
		return s.registration(t, nobody, member{"redirect_uris": []string{"https://one.example/cb", "https://two.example/cb"},
			"subject_type": "pairwise", "sector_identifier_uri": sector.URL + path})
	}
	for name, file := range map[string]string{"one is missing": `["https://one.example/cb"]`, "no array": `{"uris":[]}`,
		"no JSON": `https://one.example/cb`, "too long": `["` + strings.Repeat("a", 70_000) + `"]`} {
		list = file
		if err := register("/list").refused(400, "invalid_client_metadata"); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	list = `["https://other.example/","https://two.example/cb","https://one.example/cb"]`
	if err := register("/moved").refused(400, "invalid_client_metadata"); err != nil {
		t.Errorf("a redirect: %v", err)
	}
	made := register("/list")
	if made.Status != 201 || textOf(made.JSON(t), "sector_identifier_uri") != sector.URL+"/list" ||
		textOf(made.JSON(t), "subject_type") != "pairwise" {
		t.Fatalf("%d %s", made.Status, made.Body)
	}
	if text := s.mustCLI(t, "", "application", "show", textOf(made.JSON(t), "client_id")); !strings.Contains(text,
		"127.0.0.1") {
		t.Error(text)
	}
	// Without the file, pairwise subjects need one host.
	if err := s.registration(t, nobody,
		`{"redirect_uris":["https://one.example/cb","https://two.example/cb"],"subject_type":"pairwise"}`).refused(400,
		"invalid_client_metadata"); err != nil {
		t.Error(err)
	}
}

// Only a token that works lets the server fetch the file of a sector, and only a registration
// uses the token.
func TestRegistrationFetchesNothingWithoutAToken(t *testing.T) {
	onADatabase(t, func(t *testing.T, db database) {
		h := newDocumentHost(t)
		s := startServer(t, h.options(options{database: db,
			provider: []string{"SCOPES: {read: Read, openid: Sign in}", "OIDC_ENABLED: true"}}))
		missing := h.page("/missing", nil)
		sector := h.page("/sector", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(`["https://one.example/cb","https://two.example/cb"]`))
		})
		register := func(token, sector string) answer {
			return s.registration(t, bearer(token),
				member{"redirect_uris": []string{"https://one.example/cb", "https://two.example/cb"}, "subject_type": "pairwise",
					"sector_identifier_uri": sector})
		}
		token := s.initialToken(t, "--uses", "1")
		for range 2 {
			if err := register(token, missing).refused(400, "invalid_client_metadata"); err != nil {
				t.Error("a file that is missing:", err)
			}
		}
		// The two refusals have not used the token.
		if a := register(token, sector); a.Status != 201 {
			t.Fatalf("%d %s", a.Status, a.Body)
		}
		expired, deleted := s.initialToken(t), s.initialToken(t)
		pool := db.open(t)
		_, err := pool.ExecContext(t.Context(), "UPDATE initial_tokens SET expires_at = 1 WHERE uses_left > 0 AND digest = '"+
			digestOf(expired)+"'")
		if err == nil {
			_, err = pool.ExecContext(t.Context(), "DELETE FROM initial_tokens WHERE digest = '"+digestOf(deleted)+"'")
		}
		if err != nil {
			t.Fatal(err)
		}
		before := h.fetches("/sector")
		for name, token := range map[string]string{"used up": token, "expired": expired, "deleted": deleted,
			"unknown":         s.secret("mit_" + strings.Repeat("a", 43)),
			"of another kind": s.secret("mat_" + strings.Repeat("a", 43))} {
			if err := register(token, sector).refused(401, "invalid_token"); err != nil {
				t.Errorf("a token that is %s: %v", name, err)
			}
		}
		if n := h.fetches("/sector") - before; before != 1 || n != 0 {
			t.Errorf("%d fetches with the good token and %d with others, want 1 and 0", before, n)
		}
	})
}
