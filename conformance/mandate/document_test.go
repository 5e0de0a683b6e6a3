package mandate

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
)

// Clients whose client id is the URL of their metadata document, on both databases and on
// two nodes.

const agentURI = "http://localhost/callback"

// documentServer is a server with the host of documents and two nodes.
type documentServer struct {
	*fixture
	host *documentHost
	two  *server
}

func newDocumentServer(t *testing.T, o options) *documentServer {
	t.Helper()
	ownProcesses(t)
	h := newDocumentHost(t)
	v := newFixture(t, h.options(o))
	return &documentServer{v, h, v.node(t)}
}

// applications returns how many applications have this client id.
func (d *documentServer) applications(t testing.TB, clientID string) int {
	t.Helper()
	var n int
	err := d.database.open(t).QueryRowContext(t.Context(), "SELECT COUNT(*) FROM applications WHERE client_id = '"+
		clientID+"'").Scan(&n)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func (d *documentServer) wantApplications(t testing.TB, clientID string, want int) {
	t.Helper()
	if n := d.applications(t, clientID); n != want {
		t.Errorf("%d applications with the client id %s, want %d", n, clientID, want)
	}
}

func TestDocument(t *testing.T) {
	forEachDatabase(t, func(t *testing.T, db database) {
		var staleness []string
		if db.name == "sqlite" { // it does not notify the other node of changes
			staleness = []string{"MAX_STALENESS_SECONDS: 0"}
		}
		d := newDocumentServer(t, options{database: db, provider: []string{"OPEN_MAX_APPLICATIONS: 8"}, settings: staleness})
		t.Run("metadata", d.announced)
		t.Run("flow", d.flow)
		t.Run("fetched_once", d.fetchedOnce)
		t.Run("race_of_first_approvals", d.firstApprovals)
		t.Run("changed_before_the_approval", d.changedMeanwhile)
		t.Run("deleted", d.deletedApplication)
		t.Run("signed", d.signedTokens)
		t.Run("quota", d.quota) // the last one: it uses up all places
	})
}

// CIMD-02 §6: the metadata says that the server reads documents. Claude Code also requires the
// method none in it.
func (d *documentServer) announced(t *testing.T) {
	m := d.get(t, "/.well-known/oauth-authorization-server/o", nobody).JSON(t)
	methods, _ := m["token_endpoint_auth_methods_supported"].([]any)
	if m["client_id_metadata_document_supported"] != true || !slices.Contains(methods, any("none")) {
		t.Error(m["client_id_metadata_document_supported"], methods)
	}
	plain := startServer(t, options{})
	if m := plain.get(t, "/.well-known/oauth-authorization-server/o",
		nobody).JSON(t); m["client_id_metadata_document_supported"] != nil {
		t.Error("a server that reads no documents announces them")
	}
}

func (d *documentServer) flow(t *testing.T) {
	// As a native client does it: the document has no port, and the request has a random one.
	app := d.host.client("/flow", agentURI,
		map[string]any{"client_name": "Flow agent", "logo_uri": d.host.URL + "/logo.png"})
	app.RedirectURI = "http://localhost:53682/callback"
	alice := d.signedIn(t, d.alice)
	address, verifier := d.authorizeURL(app, "scope", "read write", "state", "s")
	alice.open(t, address)
	at, err := url.Parse(app.ClientID)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"Flow agent", ">" + at.Host + "<", app.ClientID, "Nobody has checked this application",
		"any program can use its name", "a program on this computer", app.RedirectURI} {
		if !strings.Contains(alice.Body, text) {
			t.Errorf("the consent page does not say %q:\n%s", text, alice.Body)
		}
	}
	if strings.Contains(alice.Body, "logo.png") {
		t.Error("the person's browser would fetch the logo")
	}
	d.wantApplications(t, app.ClientID, 0)
	alice.decide(t, "deny")
	if alice.Away.Query().Get("error") != "access_denied" {
		t.Error(alice.Away)
	}
	d.wantApplications(t, app.ClientID, 0)

	code := alice.code(t, address, d.alice)
	d.wantApplications(t, app.ClientID, 1)
	// The other node redeems the code. It has never seen the document, which has gone.
	d.host.page("/flow", nil)
	before := d.host.fetches("/flow")
	got := d.two.redeem(t, app, code, verifier)
	if got.Scope != "read write" || got.RefreshToken == "" || got.ExpiresIn != 3600 {
		t.Errorf("%+v", got)
	}
	refreshed := d.two.mustToken(t, app.auth(), refreshForm(got.RefreshToken))
	told := d.introspect(t, d.asker.auth(), refreshed.AccessToken)
	if told["active"] != true || told["client_id"] != app.ClientID || told["sub"] == app.ClientID {
		t.Error(told)
	}
	if d.two.post(t, "/o/revoke_token/", app.auth(), params("token", refreshed.RefreshToken)).Status != http.StatusOK ||
		d.two.active(t, d.asker.auth(), refreshed.AccessToken) {
		t.Error("the revocation ends the token family")
	}
	if n := d.host.fetches("/flow"); n != before {
		t.Errorf("%d fetches for redemption, refresh, introspection and revocation", n-before)
	}
	// An authorization request needs the document.
	bob := d.signedIn(t, d.bob)
	address, _ = d.two.authorizeURL(app)
	bob.open(t, strings.Replace(address, d.two.URL, d.URL, 1)) // this node keeps it
	if !bob.shows("decision") {
		t.Errorf("the node that keeps the document answers %d", bob.Status)
	}
	if a := d.two.get(t, strings.TrimPrefix(address, d.two.URL), nobody); a.Status != http.StatusBadRequest ||
		!strings.Contains(a.Body, "has the status 404") {
		t.Errorf("the other node answers %d:\n%s", a.Status, a.Body)
	}
}

// The first authorization request with a document costs one fetch, the next none.
func (d *documentServer) fetchedOnce(t *testing.T) {
	app := d.host.client("/once", agentURI, nil)
	address, _ := d.authorizeURL(app)
	for range 2 {
		for _, a := range parallel(t, crowd, func(int) (answer, error) {
			request, err := http.NewRequest("GET", address, nil)
			if err != nil {
				return answer{}, err
			}
			return d.do(request)
		}) {
			if a.Status != http.StatusSeeOther {
				t.Fatalf("status %d:\n%s", a.Status, a.Body)
			}
		}
	}
	if n := d.host.fetches("/once"); n != 1 {
		t.Errorf("%d fetches for %d requests, want 1", n, 2*crowd)
	}
}

// Many people approve a client for the first time, at the same moment and on two nodes.
func (d *documentServer) firstApprovals(t *testing.T) {
	app := d.host.client("/race", agentURI, nil)
	alice, bob := d.signedIn(t, d.alice), d.signedIn(t, d.bob)
	nodes := []*server{d.server, d.two}
	type attempt struct {
		as     auth
		ticket string
	}
	var attempts []attempt
	for _, b := range []*browser{alice, bob} {
		session := withCookie("mandate_session", b.cookie(t, "/", "mandate_session"))
		for range 8 {
			attempts = append(attempts, attempt{session, b.ticket(t, app)})
		}
	}
	d.wantApplications(t, app.ClientID, 0)
	answers := parallel(t, len(attempts), func(i int) (answer, error) {
		as := func(r *http.Request, form url.Values) {
			attempts[i].as(r, form)
			r.Header.Set("Sec-Fetch-Site", "same-origin")
		}
		return nodes[i%2].tryPost("/o/consent/", as, params("ticket", attempts[i].ticket, "decision", "approve"))
	})
	for _, a := range answers {
		at, err := url.Parse(a.Header.Get("Location"))
		if err != nil || a.Status != http.StatusSeeOther || at.Query().Get("code") == "" {
			t.Errorf("status %d, %s, %v\n%s", a.Status, at, err, a.Body)
		}
	}
	d.wantApplications(t, app.ClientID, 1)
}

// The person approves what the page has shown, and nothing else.
func (d *documentServer) changedMeanwhile(t *testing.T) {
	app := d.host.client("/changed", agentURI, nil)
	alice := d.signedIn(t, d.alice)
	ticket := alice.ticket(t, app)
	d.host.client("/changed", agentURI, map[string]any{"client_name": "Your bank"})
	session := withCookie("mandate_session", alice.cookie(t, "/", "mandate_session"))
	a := d.two.post(t, "/o/consent/", func(r *http.Request, form url.Values) {
		session(r, form)
		r.Header.Set("Sec-Fetch-Site", "same-origin")
	}, params("ticket", ticket, "decision", "approve"))
	if a.Status != http.StatusBadRequest || a.Header.Get("Location") != "" ||
		!strings.Contains(a.Body, "no longer valid") {
		t.Errorf("status %d, %s\n%s", a.Status, a.Header.Get("Location"), a.Body)
	}
	d.wantApplications(t, app.ClientID, 0)
}

// A deleted application does not come back with its old tokens.
func (d *documentServer) deletedApplication(t *testing.T) {
	app := d.host.client("/deleted", agentURI, nil)
	alice := d.signedIn(t, d.alice)
	old := alice.family(t, app, d.alice)
	d.mustCLI(t, "", "application", "delete", app.ClientID)
	again := alice.family(t, app, d.alice)
	for token, want := range map[string]bool{old.AccessToken: false, old.RefreshToken: false, again.AccessToken: true} {
		if d.active(t, d.asker.auth(), token) != want {
			t.Errorf("active: %v, want %v", !want, want)
		}
	}
}

// A signed access token ends with its application too, and does not work while the application
// may not come.
func (d *documentServer) signedTokens(t *testing.T) {
	const api = "https://signed.example/v1"
	d.mustCLI(t, "", "resource", "add", api, "--name", "Signed", "--token-format", "jwt", "--introspector",
		d.asker.ClientID)
	closed := d.options
	closed.provider = append(slices.DeleteFunc(slices.Clone(closed.provider),
		func(line string) bool { return strings.HasPrefix(line, "OPEN_CLIENTS") }), "OPEN_CLIENTS: [registration]")
	suspends := newServer(t, closed, d.BaseURL, d.key, d.secrets)
	suspends.start(t)
	app := d.host.client("/signed", agentURI, nil)
	token := d.signedIn(t, d.alice).family(t, app, d.alice, "resource", api).AccessToken
	if strings.Count(token, ".") != 2 {
		t.Fatal("the access token is not signed")
	}
	wants := func(when string, at *server, want bool) {
		t.Helper()
		if got := at.active(t, d.asker.auth(), token); got != want {
			t.Errorf("%s: active %v, want %v", when, got, want)
		}
	}
	wants("after the approval", d.server, true)
	wants("where documents are not allowed", suspends, false)
	wants("where they still are", d.two, true)
	d.mustCLI(t, "", "application", "delete", app.ClientID)
	wants("after the deletion", d.server, false)
	// The client that comes back has nothing of what it had.
	d.signedIn(t, d.alice).family(t, app, d.alice, "resource", api)
	wants("after another approval", d.server, false)
}

func (d *documentServer) quota(t *testing.T) {
	alice := d.signedIn(t, d.alice)
	var said url.Values
	var i int
	for i = range 20 {
		app := d.host.client(fmt.Sprint("/quota", i), agentURI, nil)
		address, _ := d.authorizeURL(app, "state", "s")
		said = alice.authorize(t, address, d.alice, "approve").Query()
		if said.Get("error") != "" {
			d.wantApplications(t, app.ClientID, 0)
			break
		}
	}
	if said.Get("error") != "temporarily_unavailable" || said.Get("state") != "s" ||
		!strings.Contains(said.Get("error_description"), "OPEN_MAX_APPLICATIONS") {
		t.Errorf("after %d clients: %v", i, said)
	}
	// A quarter of the quota is for applications that register themselves.
	for i, want := range []int{201, 201, 503} {
		a := d.send(t, "POST", "/o/register/", nobody, fmt.Sprintf(`{"redirect_uris":["https://tool.example/%d"]}`, i))
		if a.Status != want {
			t.Errorf("registration %d: %d, want %d: %s", i, a.Status, want, a.Body)
		}
	}
}

// What the documents of common clients look like, with their redirect URIs.
func TestDocumentsOfCommonClients(t *testing.T) {
	t.Parallel()
	h := newDocumentHost(t)
	s := startServer(t, h.options(options{}))
	for name, test := range map[string]struct {
		document    map[string]any
		redirectURI string
	}{
		"Claude Code": {map[string]any{"client_name": "Claude Code", "client_uri": "https://agent.example",
			"redirect_uris": []string{"http://localhost/callback", "http://127.0.0.1/callback"},
			"grant_types":   []string{"authorization_code", "refresh_token"}, "response_types": []string{"code"},
			"token_endpoint_auth_method": "none"}, "http://localhost:61234/callback"},
		"ChatGPT": {map[string]any{"client_name": "ChatGPT",
			"redirect_uris": []string{"https://chat.example/connector/oauth/x"}, "token_endpoint_auth_method": "private_key_jwt",
			"token_endpoint_auth_methods_supported": []string{"none", "private_key_jwt"},
			"token_endpoint_auth_signing_alg":       "RS256", "jwks_uri": "https://chat.example/jwks.json",
			"grant_types": []string{"authorization_code", "refresh_token"}}, "https://chat.example/connector/oauth/x"},
		"VS Code": {map[string]any{"client_name": "Visual Studio Code", "application_type": "native",
			"redirect_uris": []string{"http://127.0.0.1:33418/", "http://127.0.0.1/", "https://code.example/redirect"},
			"grant_types":   []string{"authorization_code", "refresh_token", "urn:ietf:params:oauth:grant-type:device_code"}},
			"http://127.0.0.1:49152/"},
		"Cursor": {map[string]any{"client_name": "Cursor",
			"redirect_uris": []string{"cursor://anysphere.cursor-mcp/oauth/callback",
				"https://www.cursor.example/agents/mcp/oauth/callback", "http://localhost:8787/callback"}},
			"cursor://anysphere.cursor-mcp/oauth/callback"},
		"without a name": {map[string]any{"client_name": ""}, agentURI},
	} {
		t.Run(name, func(t *testing.T) {
			app := h.client("/"+strings.ReplaceAll(name, " ", "-"), agentURI, test.document)
			app.RedirectURI = test.redirectURI
			address, _ := s.authorizeURL(app)
			a := s.get(t, strings.TrimPrefix(address, s.URL), nobody)
			if a.Status != http.StatusSeeOther || !strings.Contains(a.Header.Get("Location"), "/login/") {
				t.Errorf("status %d:\n%s", a.Status, a.Body)
			}
		})
	}
	// A redirect URI that is not in the document redirects nobody.
	app := h.client("/strict", "https://client.example/cb", nil)
	for uri, says := range map[string]string{"https://client.example/cb/": "https://client.example/cb",
		"https://client.example/CB": "https://client.example/", "https://evil.example/cb": "Differs", agentURI: "scheme",
		"https://evil.test/cb": "OPEN_HOSTS", "http://client.example/cb": "must use https"} {
		app.RedirectURI = uri
		address, _ := s.authorizeURL(app)
		if a := s.get(t, strings.TrimPrefix(address, s.URL), nobody); a.Status != http.StatusBadRequest ||
			a.Header.Get("Location") != "" || !strings.Contains(strings.ToLower(a.Body), strings.ToLower(says)) {
			t.Errorf("%s: status %d, without %q:\n%s", uri, a.Status, says, a.Body)
		}
	}
}

// RFC 8252 §8.6: all users of a native client share its client id, so a person is asked each
// time, and a silent request gets no code.
func TestDocumentClientIsNeverSilent(t *testing.T) {
	t.Parallel()
	h := newDocumentHost(t)
	s := startServer(t, h.options(
		options{provider: []string{"OIDC_ENABLED: true", "SCOPES: {read: Read, openid: Sign in, offline_access: Stay}"}}))
	alice := s.person(t, "alice")
	b := s.signedIn(t, alice)
	app := h.client("/c", "http://127.0.0.1/callback", nil)
	app.RedirectURI = "http://127.0.0.1:40123/callback"
	got := b.family(t, app, alice, "scope", "openid read")
	if got.AccessToken == "" {
		t.Fatal("no token")
	}
	address, _ := s.authorizeURL(app, "scope", "openid read", "prompt", "none")
	// Nobody is responsible for the address, so the person decides whether the browser goes there.
	refused := func(b *browser, code string) {
		t.Helper()
		if b.Away != nil || b.Status != 400 || !strings.Contains(b.Body, "127.0.0.1:40123/callback?error="+code) {
			t.Errorf("%s: %d, away %v", code, b.Status, b.Away)
		}
	}
	b.open(t, address)
	refused(b, "consent_required")
	// Nobody is signed in.
	stranger := s.browser(t)
	stranger.open(t, address)
	refused(stranger, "login_required")
	address, _ = s.authorizeURL(app, "scope", "openid read")
	b.open(t, address)
	if !b.shows("decision") {
		t.Errorf("the person is not asked again: %d, away %v", b.Status, b.Away)
	}
}
