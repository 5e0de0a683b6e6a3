package mandate

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

// Software statements (RFC 7591 §2.3, §3.1.1, §3.2.1), of an issuer whose keys are in the
// settings and of issuers who publish them.

const directory = "https://directory.example"

func TestStatement(t *testing.T) {
	onADatabase(t, func(t *testing.T, db database) {
		i := newStatementIssuer(t, directory)
		s := startServer(t, options{database: db,
			provider: append([]string{"SCOPES: {read: Read, write: Write, introspection: Introspect}", "DEFAULT_SCOPES: [read]",
				"SOFTWARE_STATEMENT_ISSUERS: [" + i.setting(t) + "]"}, openClients...)})
		t.Run("answer", func(t *testing.T) { s.statementAnswer(t, i) })
		t.Run("narrow", func(t *testing.T) { s.statementNarrows(t, i) })
		t.Run("token", func(t *testing.T) { s.statementWithToken(t, i) })
		t.Run("identical", func(t *testing.T) { s.identicalStatements(t, i) })
		t.Run("update", func(t *testing.T) { s.statementUpdate(t, i) })
	})
}

func (s *server) statementAnswer(t *testing.T, i *statementIssuer) {
	for _, alg := range []string{"ES256", "EdDSA", "RS256", "PS256"} {
		statement := i.sign(t,
			member{"client_name": "Planner", "software_id": "planner", "tos_uri": "https://planner.example/terms",
				"aud": []string{"https://other.example", s.Issuer},
				"iat": time.Now().Unix(), "exp": time.Now().Add(time.Hour).Unix()}, member{"alg": alg, "kid": alg})
		got := s.registers(t, nobody,
			member{"redirect_uris": []string{toolURI}, "client_name": "Bank", "client_name#de": "Sparkasse",
				"software_id": "bank", "software_version": "1",
				"software_statement": statement})
		// RFC 7591 §3.1.1: the values of the statement. RFC 7591 §3.2.1: the statement itself,
		// and its values beside it.
		for name, want := range map[string]string{"client_name": "Planner", "client_name#de": "", "software_id": "planner",
			"software_version": "1", "tos_uri": "https://planner.example/terms", "software_statement": statement} {
			if textOf(got, name) != want {
				t.Errorf("%s: %s is %q, want %q", alg, name, textOf(got, name), want)
			}
		}
		read := s.send(t, "GET", textOf(got, "registration_client_uri"), bearer(textOf(got, "registration_access_token")),
			nil).JSON(t)
		if textOf(read, "software_statement") != statement || textOf(read, "client_name") != "Planner" {
			t.Errorf("RFC 7592 §2.1: %v", read)
		}
	}
}

// A statement gives no right that the registrant lacks.
func (s *server) statementNarrows(t *testing.T, i *statementIssuer) {
	got := s.registers(t, nobody,
		member{"software_statement": i.sign(t,
			member{"redirect_uris": []string{"https://planner.example/cb", "http://planner.example/cb"},
				"grant_types": []string{"authorization_code", "client_credentials", "password",
					"urn:ietf:params:oauth:grant-type:device_code"}, "token_endpoint_auth_method": "client_secret_basic",
				"scope": "read write introspection", "skip_consent": true, "may_introspect": true, "responsible": "operator"},
			nil)})
	for name, want := range map[string]string{"redirect_uris": "https://planner.example/cb",
		"grant_types": "authorization_code refresh_token", "token_endpoint_auth_method": "none",
		"scope": "read openid offline_access", "client_secret": ""} {
		if text := textOf(got, name) + listOf(got, name); text != want {
			t.Errorf("%s is %q, want %q", name, text, want)
		}
	}
	for name, test := range map[string]struct {
		claims member
		code   string
	}{
		"only another grant type": {member{"redirect_uris": []string{toolURI},
			"grant_types": []string{"client_credentials"}}, "invalid_client_metadata"},
		"only bad redirect URIs": {member{"redirect_uris": []string{"http://planner.example/cb"}},
			"invalid_redirect_uri"},
		"a method of another kind": {member{"redirect_uris": []string{toolURI},
			"token_endpoint_auth_method": "tls_client_auth"}, "invalid_client_metadata"},
		"a logout address of others": {member{"redirect_uris": []string{toolURI}, "client_uri": "javascript:alert(1)"},
			"invalid_client_metadata"},
		"a name that can be misread": {member{"redirect_uris": []string{toolURI}, "client_name": "Bank\u202e"},
			"invalid_client_metadata"},
		"more than an open client is": {member{"redirect_uris": []string{toolURI},
			"contacts": []string{strings.Repeat("a", 2000), strings.Repeat("b", 2000)}}, "invalid_client_metadata"},
	} {
		err := s.registration(t, nobody,
			member{"redirect_uris": []string{"https://plain.example/"}, "software_statement": i.sign(t, test.claims, nil)}).
			refused(400, test.code)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// An initial access token limits what a statement can say, and a refused statement does not
// use the token up.
func (s *server) statementWithToken(t *testing.T, i *statementIssuer) {
	token := s.initialToken(t, "--scope", "read")
	wide := i.sign(t, member{"redirect_uris": []string{toolURI},
		"grant_types": []string{"authorization_code", "client_credentials"}, "scope": "read write introspection"}, nil)
	for _, bad := range []string{wide[:len(wide)-8] + "AAAAAAAA", i.sign(t, member{"scope": "write"}, nil),
		i.sign(t, member{"redirect_uris": []string{"http://planner.example/cb"}}, nil)} {
		if a := s.registration(t, bearer(token),
			member{"redirect_uris": []string{toolURI}, "software_statement": bad}); a.Status != 400 {
			t.Errorf("%d %s", a.Status, a.Body)
		}
	}
	got := s.registers(t, bearer(token), member{"scope": "write", "software_statement": wide})
	if textOf(got, "scope") != "read" || listOf(got, "grant_types") != "authorization_code refresh_token" ||
		textOf(got, "software_statement") != wide || textOf(got, "client_secret") == "" {
		t.Errorf("%v", got)
	}
}

// A statement is a part of what is registered.
func (s *server) identicalStatements(t *testing.T, i *statementIssuer) {
	claims := member{"client_name": "Same", "redirect_uris": []string{"https://same.example/cb"}}
	statement := i.sign(t, claims, nil)
	register := func(statement string) string {
		m := member{"client_name": "Same", "redirect_uris": []string{"https://same.example/cb"}}
		if statement != "" {
			m["software_statement"] = statement
		}
		return textOf(s.registers(t, nobody, m), "client_id")
	}
	first := register(statement)
	if again := register(statement); again != first {
		t.Error("an identical registration gets another client id")
	}
	claims["jti"] = "2"
	for name, other := range map[string]string{"without the statement": "",
		"with another statement": i.sign(t, claims, nil)} {
		if register(other) == first {
			t.Errorf("a registration %s gets the client id of the one with it", name)
		}
	}
}

func (s *server) statementUpdate(t *testing.T, i *statementIssuer) {
	made := s.registers(t, nobody,
		member{"software_statement": i.sign(t,
			member{"client_name": "Before", "redirect_uris": []string{"https://update.example/cb"}}, nil)})
	at, token := textOf(made, "registration_client_uri"), bearer(textOf(made, "registration_access_token"))
	update := func(statement string) answer {
		m := member{"client_id": made["client_id"], "client_name": "Mine",
			"redirect_uris": []string{"https://update.example/cb"}}
		if statement != "" {
			m["software_statement"] = statement
		}
		return s.send(t, "PUT", at, token, m)
	}
	// RFC 7592 §2.2: an update replaces all, so it needs a statement for values that one has
	// vouched for.
	if err := update("").refused(400, "invalid_client_metadata"); err != nil {
		t.Error(err)
	}
	for name, bad := range map[string]string{"has expired": i.sign(t, member{"exp": time.Now().Add(-time.Hour).Unix()},
		nil),
		"has the key of another issuer": newStatementIssuer(t, directory).sign(t, nil, nil),
		"is for another client":         i.sign(t, member{"client_id": "x"}, nil)} {
		if err := update(bad).refused(400, "invalid_software_statement"); err != nil {
			t.Errorf("the statement %s: %v", name, err)
		}
	}
	if read := s.send(t, "GET", at, token, nil).JSON(t); textOf(read, "client_name") != "Before" {
		t.Errorf("a refused update has changed the client: %v", read)
	}
	next := i.sign(t, member{"client_name": "After"}, nil)
	a := update(next)
	if got := a.JSON(t); a.Status != 200 || textOf(got, "client_name") != "After" ||
		textOf(got, "software_statement") != next {
		t.Errorf("%d %s", a.Status, a.Body)
	}
}

// The issuer publishes its keys. A stranger cannot make the server fetch them again and again,
// and a failure is never the fault of the statement.
func TestStatementKeysOfAURI(t *testing.T) {
	h := newDocumentHost(t)
	i := newStatementIssuer(t, h.URL)
	serve := func(status int, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			_, _ = w.Write([]byte(body))
		}
	}
	issuers := []string{fmt.Sprintf("{ISSUER: %s, JWKS_URI: %s}", i.name, h.page("/keys", serve(200, i.keySet(t))))}
	broken := map[string]*statementIssuer{}
	for name, page := range map[string]http.HandlerFunc{"an error": serve(500, ""), "no keys": serve(200, `{"keys":[]}`),
		"no JSON":     serve(200, "<html>"),
		"a large set": serve(200, strings.Repeat(" ", 70_000)+i.keySet(t)),
		"a redirect":  http.RedirectHandler("/keys", http.StatusFound).ServeHTTP} {
		path := "/" + strings.ReplaceAll(name, " ", "-")
		broken[name] = &statementIssuer{name: h.URL + path, keys: i.keys}
		issuers = append(issuers, fmt.Sprintf("{ISSUER: %s, JWKS_URI: %s}", h.URL+path, h.page(path, page)))
	}
	o := options{env: []string{"SSL_CERT_FILE=" + h.file},
		provider: append([]string{"SOFTWARE_STATEMENT_ISSUERS: [" + strings.Join(issuers, ", ") + "]"}, openClients...)}
	allowed := o
	allowed.settings = []string{"OUTBOUND_ALLOWED_NETWORKS: [127.0.0.0/8]"}
	s := startServer(t, allowed)
	with := func(s *server, statement string) answer {
		return s.registration(t, nobody, member{"redirect_uris": []string{toolURI}, "software_statement": statement})
	}
	began := time.Now()
	for n := range 3 {
		if a := with(s, i.sign(t, member{"client_name": fmt.Sprint("Planner ", n)}, nil)); a.Status != 201 {
			t.Fatalf("%d %s", a.Status, a.Body)
		}
	}
	for n := range 20 {
		if err := with(s, i.sign(t, nil, member{"kid": fmt.Sprint("invented ", n)})).refused(400,
			"invalid_software_statement"); err != nil {
			t.Error(err)
		}
	}
	// One fetch for the first statement, one for the invented ids, and one more each 10 s.
	if n, most := h.fetches("/keys"), 2+int(time.Since(began)/(10*time.Second)); n > most {
		t.Errorf("the server has fetched the keys %d times, want at most %d", n, most)
	}
	unavailable := func(name string, a answer) {
		if err := a.refused(503, "temporarily_unavailable"); err != nil || a.Header.Get("Retry-After") == "" {
			t.Errorf("%s: %v, Retry-After %q", name, err, a.Header.Get("Retry-After"))
		}
	}
	for name, issuer := range broken {
		unavailable(name, with(s, issuer.sign(t, nil, nil)))
	}
	// The setting is no way around the rules for outbound calls.
	before := h.fetches("/keys")
	guarded := startServer(t, o)
	unavailable("an address that may not be called", with(guarded, i.sign(t, nil, nil)))
	if h.fetches("/keys") != before {
		t.Error("a special-use address was called")
	}
}

// With OPEN_SOFTWARE_STATEMENT_REQUIRED, strangers need a statement.
func TestStatementRequired(t *testing.T) {
	i := newStatementIssuer(t, directory)
	s := startServer(t, options{
		provider: append([]string{"OPEN_SOFTWARE_STATEMENT_REQUIRED: true", "SOFTWARE_STATEMENT_ISSUERS: [" + i.setting(t) +
			"]"}, openClients...)})
	plain := member{"redirect_uris": []string{toolURI}}
	if err := s.registration(t, nobody, plain).refused(400, "invalid_client_metadata"); err != nil {
		t.Error(err)
	}
	if err := s.registration(t, nobody, member{"redirect_uris": []string{toolURI}, "software_statement": ""}).refused(400,
		"invalid_client_metadata"); err != nil {
		t.Error(err)
	}
	s.registers(t, nobody, member{"redirect_uris": []string{toolURI}, "software_statement": i.sign(t, nil, nil)})
	s.registers(t, bearer(s.initialToken(t)), plain)
}
