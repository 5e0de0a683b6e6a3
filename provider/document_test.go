package provider

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"

	"mandate/provider/clients"
	"mandate/provider/oauth"
	"mandate/provider/policy"
	"mandate/storage"
)

// documentSite serves metadata documents over TLS.
type documentSite struct {
	*httptest.Server
	mu       sync.Mutex
	requests map[string]int
	bodies   map[string]string // "": 404
}

func newDocumentSite(t *testing.T) *documentSite {
	t.Helper()
	s := &documentSite{requests: map[string]int{}, bodies: map[string]string{}}
	s.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.requests[r.URL.Path]++
		if s.bodies[r.URL.Path] == "" {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(s.bodies[r.URL.Path]))
	}))
	t.Cleanup(s.Close)
	return s
}

// serves publishes a document with these members, and returns its client as one that is not
// registered.
func (s *documentSite) serves(path, members string) *clients.Registered {
	s.mu.Lock()
	defer s.mu.Unlock()
	clientID := s.URL + path
	if !strings.Contains(members, "redirect_uris") {
		members += `,"redirect_uris":["` + callback + `"]`
	}
	s.bodies[path] = `{"client_id":"` + clientID + `"` + members + `}`
	return &clients.Registered{Application: storage.Application{ClientID: clientID, ClientType: policy.Public}}
}

func (s *documentSite) removes(path string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bodies[path] = ""
}

func (s *documentSite) fetches(path string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.requests[path]
}

// reads configures a provider that may fetch documents from the site.
func (s *documentSite) reads(c *Config) {
	c.Issuer = "http://127.0.0.1:8000/o"
	c.Open = clients.OpenConfig{Clients: []string{clients.OpenDocuments}, LocalhostLoopback: true,
		Hosts: []string{"127.0.0.1", "client.example"}}
	c.Outbound.Networks = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	c.TraceOutbound = func(rt http.RoundTripper) http.RoundTripper {
		trusting := rt.(*http.Transport).Clone()
		trusting.TLSClientConfig = s.Client().Transport.(*http.Transport).TLSClientConfig.Clone()
		return trusting
	}
}

// approved runs the code grant with the consent page and returns the tokens.
func (f *fixture) approved(t *testing.T, app *clients.Registered, s *storage.SignedIn, pairs ...string) *storageTokens {
	t.Helper()
	code := queryOf(t, f.approve(t, app, s, pairs...)).Get("code")
	answer := f.must(f.exchange(app, code))
	return &storageTokens{answer.AccessToken, answer.RefreshToken}
}

type storageTokens struct{ access, refresh string }

func TestMetadataDocument(t *testing.T) {
	site := newDocumentSite(t)
	f := begin(t, site.reads)
	alice, bob := f.login("alice"), f.login("bob")
	app := site.serves("/c", `,"client_name":"Example"`)

	// Nothing is stored before the first approval.
	a := f.authorize(app)
	if a.Application.Name != "Example" || a.Application.ID != "" || f.count("applications") != 0 {
		t.Errorf(
			"%q has the ID %q, and %d applications are stored", a.Application.Name, a.Application.ID, f.count("applications"),
		)
	}
	asked := f.ask(t, app, alice)
	denied, err := f.Authorizations.Resume(t.Context(), asked.Ticket, alice)
	if err != nil || !strings.Contains(
		f.Authorizations.Deny(denied).Location(), "access_denied",
	) || f.count("applications") != 0 {
		t.Error("denied:", err, f.count("applications"))
	}
	tokens := f.approved(t, app, alice, "scope", "read write")
	f.wantActive(true, tokens.access, tokens.refresh)
	id := f.authorize(app).Application.ID
	_, err = f.Clients.Update(t.Context(), policy.Operator(), id, f.version(id), clients.Registration{
		Name:         "Other",
		ClientType:   policy.Public,
		GrantTypes:   []string{policy.GrantCode},
		RedirectURIs: []string{callback},
	})
	wantInvalid(t, err, "name")
	first, err := f.Clients.Client(t.Context(), app.Application.ClientID)
	if err != nil || first.Origin != storage.FromDocument || first.Responsible != storage.ByNobody ||
		first.ClientType != policy.Public || first.LastUsedAt == 0 {
		t.Fatalf("%+v, %v", first, err)
	}
	f.approved(t, app, bob)
	if n := f.count("applications"); n != 1 {
		t.Errorf("%d applications after two approvals, want 1", n)
	}
	if n := site.fetches("/c"); n != 1 {
		t.Errorf("%d fetches, want 1", n)
	}

	// OIDC Core §3.1.2.6, RFC 8252 §8.6: no silent approval, although alice approved before.
	if f.ask(t, app, alice, "scope", "read write").Ticket == "" {
		t.Error("alice is not asked again")
	}

	// Without its document the client keeps what it has, and gets no new code.
	site.removes("/c")
	g, err := f.another(t, site)
	if err != nil {
		t.Fatal(err)
	}
	refreshed := g.must(g.refresh(app, tokens.refresh))
	g.wantActive(true, refreshed.AccessToken)
	_, err = g.Authorizations.Authorize(t.Context(), g.query(app))
	wantError(t, err, "400 invalid_client")
	// A person may have approved under the old document on this node, which keeps it.
	f.authorize(app)
}

// another makes a second provider on the same database, as another node has it.
func (f *fixture) another(t *testing.T, site *documentSite) (*fixture, error) {
	t.Helper()
	config := testConfig()
	site.reads(&config)
	p, err := New(t.Context(), config, f.store, f.log)
	return &fixture{p, t, f.file, f.back, f.logged}, err
}

// A row that was deleted does not come back with the next approval: its tokens stay invalid.
func TestDeletedDocumentClient(t *testing.T) {
	site := newDocumentSite(t)
	f := begin(t, site.reads)
	alice := f.login("alice")
	app := site.serves("/c", "")
	old := f.approved(t, app, alice)
	row, err := f.Clients.ApplicationByClientID(t.Context(), policy.Operator(), app.Application.ClientID)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Clients.Delete(t.Context(), policy.Operator(), row.ID); err != nil {
		t.Fatal(err)
	}
	f.wantActive(false, old.access, old.refresh)
	_, err = f.refresh(app, old.refresh)
	wantError(t, err, "401 invalid_client")
	again := f.approved(t, app, alice)
	f.wantActive(false, old.access, old.refresh)
	f.wantActive(true, again.access)
}

// The person approves what the page has shown.
func TestDocumentChangesBeforeTheApproval(t *testing.T) {
	for rule, test := range map[string]struct{ members, want string }{
		"another name":          {`,"client_name":"Bank"`, "400 invalid_request"},
		"another redirect URI":  {`,"redirect_uris":["https://client.example/other"]`, "400 invalid_request"},
		"one more redirect URI": {`,"redirect_uris":["` + callback + `","http://localhost/callback"]`, "400 invalid_request"},
		"another policy":        {`,"policy_uri":"https://client.example/policy"`, "400 invalid_request"},
		"it becomes invalid":    {`,"client_secret":"x"`, "400 invalid_client"},
		"an unknown member":     {`,"x":1`, ""},
		"the same":              {``, ""},
	} {
		t.Run(rule, func(t *testing.T) {
			site := newDocumentSite(t)
			f := begin(t, site.reads)
			alice := f.login("alice")
			app := site.serves("/c", "")
			ticket := f.ask(t, app, alice).Ticket
			site.serves("/c", test.members)
			g, err := f.another(t, site)
			if err != nil {
				t.Fatal(err)
			}
			a, err := g.Authorizations.Resume(t.Context(), ticket, alice)
			if test.want != "" {
				wantError(t, err, test.want)
			} else if err != nil || a.Refused != nil {
				t.Error(err, a.Refused)
			}
		})
	}
}

func TestDocumentChangesTheApplication(t *testing.T) {
	site := newDocumentSite(t)
	f := begin(t, site.reads)
	alice := f.login("alice")
	app := site.serves("/c", `,"client_name":"First"`)
	tokens := f.approved(t, app, alice)
	site.serves("/c", `,"client_name":"Second","scope":"read"`)
	g, err := f.another(t, site)
	if err != nil {
		t.Fatal(err)
	}
	g.approved(t, app, alice)
	row, err := g.Clients.Client(t.Context(), app.Application.ClientID)
	if err != nil || row.Name != "Second" || row.Scopes != "read" || g.count("applications") != 1 {
		t.Errorf("%+v, %v", row, err)
	}
	// The narrower scope holds for the tokens from before too.
	answer := g.must(g.refresh(app, tokens.refresh))
	if answer.Scope != "read" {
		t.Errorf("the scope is %q, want read", answer.Scope)
	}
}

// Two people approve the same client for the first time, at the same moment.
func TestFirstApprovalsAtOnce(t *testing.T) {
	site := newDocumentSite(t)
	f := begin(t, site.reads, func(c *Config) { c.OpenQuota.Applications = 1 })
	app := site.serves("/c", "")
	var approving sync.WaitGroup
	var ids sync.Map
	for range 16 {
		approving.Go(func() {
			a, err := f.Clients.ForAuthorization(t.Context(), app.Application.ClientID)
			if err == nil {
				a, err = f.Clients.Admit(t.Context(), a)
			}
			if err != nil {
				t.Error(err)
			}
			ids.Store(a.ID, true)
		})
	}
	approving.Wait()
	n := 0
	ids.Range(func(any, any) bool { n++; return true })
	if n != 1 || f.count("applications") != 1 {
		t.Errorf("%d IDs, and %d applications are stored", n, f.count("applications"))
	}
}

func TestDocumentQuota(t *testing.T) {
	site := newDocumentSite(t)
	f := begin(t, site.reads, func(c *Config) { c.OpenQuota.Applications = 1 })
	alice := f.login("alice")
	first, second := site.serves("/1", ""), site.serves("/2", "")
	f.approved(t, first, alice)
	at := queryOf(t, f.approve(t, second, alice, "state", "s"))
	if at.Get("error") != "temporarily_unavailable" || at.Get("state") != "s" || !strings.Contains(
		at.Get("error_description"), "OPEN_MAX_APPLICATIONS",
	) {
		t.Error("the client is told", at)
	}
	if f.count("applications") != 1 || f.count("consents") != 1 {
		t.Errorf("%d applications, %d consents", f.count("applications"), f.count("consents"))
	}
	f.approved(t, first, alice) // it has its place
}

// While the operator does not allow documents, or their host, such an application is
// suspended, with its tokens. One for which somebody is responsible is not.
func TestDocumentsAreNotAllowedAnyMore(t *testing.T) {
	for rule, change := range map[string]func(*clients.OpenConfig){
		"documents": func(o *clients.OpenConfig) { o.Clients = nil },
		"the host":  func(o *clients.OpenConfig) { o.Hosts = []string{"client.example"} },
	} {
		t.Run(rule, func(t *testing.T) {
			site := newDocumentSite(t)
			f := begin(t, site.reads)
			alice := f.login("alice")
			app, taken := site.serves("/c", ""), site.serves("/taken", "")
			tokens, kept := f.approved(t, app, alice), f.approved(t, taken, alice)
			row, err := f.Clients.ApplicationByClientID(t.Context(), policy.Operator(), taken.Application.ClientID)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := f.Clients.TakeOver(t.Context(), policy.Operator(), row.ID, f.version(row.ID)); err != nil {
				t.Fatal(err)
			}
			site.removes("/taken")
			config := testConfig()
			site.reads(&config)
			change(&config.Open)
			p, err := New(t.Context(), config, f.store, f.log)
			if err != nil {
				t.Fatal(err)
			}
			g := &fixture{p, t, f.file, f.back, f.logged}
			g.wantActive(false, tokens.access, tokens.refresh)
			_, err = g.refresh(app, tokens.refresh)
			wantError(t, err, "401 invalid_client")
			_, err = g.Authorizations.Authorize(t.Context(), g.query(app))
			wantError(t, err, "400 unauthorized_client")
			// Somebody answers for this one: its document decides nothing any more.
			g.wantActive(true, kept.access)
			g.must(g.refresh(taken, kept.refresh))
			if g.ask(t, taken, alice).Ticket == "" {
				t.Error("nobody is asked for consent")
			}
			// The operator allows them again.
			f.forgetCopies()
			f.wantActive(true, tokens.access, tokens.refresh)
		})
	}
}

// An application that the operator registered with a URL as its client id has no document.
func TestRegisteredURLHasNoDocument(t *testing.T) {
	site := newDocumentSite(t)
	f := begin(t, site.reads)
	id := site.serves("/c", "").Application.ClientID
	_, err := f.Clients.Register(t.Context(), policy.Operator(), clients.Registration{
		Name:         "Client",
		ClientType:   policy.Public,
		GrantTypes:   []string{policy.GrantCode},
		RedirectURIs: []string{callback},
		ClientID:     id,
	})
	if invalid, ok := errors.AsType[*oauth.Invalid](err); !ok || !strings.Contains(
		invalid.At("client_id"), "OPEN_CLIENTS",
	) {
		t.Error("a URL is accepted as a client id:", err)
	}
	// A database from before may have one.
	app := f.app(public)
	f.sql("UPDATE applications SET client_id = '" + id + "'")
	app.Application.ClientID = id
	f.authorize(app)
	if n := site.fetches("/c"); n != 0 {
		t.Errorf("%d fetches, want none", n)
	}
}

func TestUnknownClientIDs(t *testing.T) {
	site := newDocumentSite(t)
	for rule, test := range map[string]struct {
		clientID  string
		documents bool
		want      string
	}{
		"no URL":               {"nobody", true, "400 invalid_client"},
		"a URL, documents off": {site.URL + "/c", false, "400 invalid_client"},
		"no such document":     {site.URL + "/c", true, "400 invalid_client"},
		"a wrong URL":          {site.URL + "/c?x", true, "400 invalid_client"},
		"another host":         {"https://elsewhere.example/c", true, "400 unauthorized_client"},
		"http":                 {"http" + strings.TrimPrefix(site.URL, "https") + "/c", true, "400 invalid_client"},
	} {
		f := begin(t, site.reads, func(c *Config) {
			if !test.documents {
				c.Open.Clients = nil
			}
		})
		_, err := f.Authorizations.Authorize(t.Context(), values("client_id", test.clientID))
		t.Run(rule, func(t *testing.T) { wantError(t, err, test.want) })
		// The token endpoint fetches nothing.
		_, err = f.token(&clients.Registered{Application: storage.Application{
			ClientID:   test.clientID,
			ClientType: policy.Public,
		}}, "grant_type", policy.GrantCode, "code", "x")
		t.Run(rule+" at the token endpoint", func(t *testing.T) { wantError(t, err, "401 invalid_client") })
	}
	if n := site.fetches("/c"); n != 1 {
		t.Errorf("%d fetches, want 1", n)
	}
}

// CIMD-02 §8.6: the networks of the operator count only together with a list of hosts, and
// loopback addresses only while the server is on one.
func TestDocumentsFromSpecialUseAddresses(t *testing.T) {
	for rule, test := range map[string]struct {
		change func(*Config)
		want   bool
	}{
		"a server on loopback that lists the host": {func(*Config) {}, true},
		"a server on localhost":                    {func(c *Config) { c.Issuer = "http://localhost:8000/o" }, true},
		"a server on the internet":                 {func(c *Config) { c.Issuer = "https://auth.example/o" }, false},
		"every host may come":                      {func(c *Config) { c.Open.Hosts = nil }, false},
		"the network is not listed":                {func(c *Config) { c.Outbound.Networks = nil }, false},
	} {
		site := newDocumentSite(t)
		f := begin(t, site.reads, test.change)
		app := site.serves("/c", "")
		_, err := f.Authorizations.Authorize(t.Context(), f.query(app))
		if (err == nil) != test.want || site.fetches("/c") > 0 != test.want {
			t.Errorf("%s: %v, %d fetches", rule, err, site.fetches("/c"))
		}
		if err != nil && strings.Contains(err.(*oauth.Error).Description, "127.0.0.1") {
			t.Errorf("%s: the text names an address: %v", rule, err)
		}
	}
}
