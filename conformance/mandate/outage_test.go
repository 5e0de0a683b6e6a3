package mandate

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"mandate/storage/postgrestest"
	"mandate/testkit/port"
)

// If the database does not answer, the server reports its own fault. It never says that
// a token is inactive, a client unknown or a password wrong. When the database returns,
// the server works again.

func TestOutage(t *testing.T) {
	ownProcesses(t)
	cluster := postgrestest.New(t)
	v := newFixture(t, options{database: database{name: "postgres", url: cluster.URL(t)}})
	guard := v.guardedAPI(t)
	before := v.holdings(t)
	for _, c := range []struct {
		name string
		end  func(testing.TB)
	}{{"stopped", cluster.Stop}, {"crashed", cluster.Crash}} {
		t.Run(c.name, func(t *testing.T) {
			v.works(t, guard, v.holdings(t))
			held := v.holdings(t)
			c.end(t)
			gone := time.Now()
			// Cached records are used for MAX_STALENESS_SECONDS and no longer.
			waitFor(t, "no copy is younger than two seconds", func() bool { return time.Since(gone) > 2*time.Second })
			v.unavailable(t, guard, held)
			cluster.Start(t)
			// One request may still use an old connection.
			waitFor(t, "the server is ready again", func() bool { return v.get(t, "/readyz", nobody).Status == http.StatusOK })
			// The failed requests used up no one-time value.
			v.works(t, guard, held)
		})
	}
	v.works(t, guard, before)
}

// holding is what a client and a browser have when the database fails.
type holding struct {
	code            url.Values // the form that exchanges a code
	refresh, access string
	asks            string // an access token that may introspect
	session, ticket string
	initial         string // an initial access token for one application
	registered      member // an application that registered itself
}

func (v *fixture) holdings(t testing.TB) *holding {
	t.Helper()
	tab := v.signedIn(t, v.alice)
	h := &holding{session: tab.cookie(t, "/", "mandate_session")}
	h.code = tab.issue(t, v.web, v.alice)
	family := tab.family(t, v.web, v.alice)
	h.refresh, h.access = family.RefreshToken, family.AccessToken
	h.asks = v.mustToken(t, v.asker.auth(),
		params("grant_type", "client_credentials", "scope", "introspection")).AccessToken
	h.ticket = tab.ticket(t, v.phone)
	h.initial = v.initialToken(t)
	h.registered = v.registers(t, bearer(v.initialToken(t)), `{"redirect_uris":["https://outage.example/"]}`)
	return h
}

// request is a request that needs the database, with the status of its normal answer.
type request struct {
	name   string
	send   func(t testing.TB) answer
	status int
}

func (v *fixture) requests(guard *guard, h *holding) []request {
	post := func(path string, as auth, form url.Values) func(testing.TB) answer {
		return func(t testing.TB) answer { t.Helper(); return v.post(t, path, as, form) }
	}
	get := func(path string, as auth) func(testing.TB) answer {
		return func(t testing.TB) answer { t.Helper(); return v.get(t, path, as) }
	}
	managed := func(method string, value any) func(testing.TB) answer {
		return func(t testing.TB) answer {
			t.Helper()
			return v.send(t, method, textOf(h.registered, "registration_client_uri"),
				bearer(textOf(h.registered, "registration_access_token")), value)
		}
	}
	session := withCookie("mandate_session", h.session)
	page := func(r *http.Request, form url.Values) { session(r, form); sameSite(r, form) }
	address, _ := v.authorizeURL(v.web)
	authorize := strings.TrimPrefix(address, v.URL)
	return []request{
		{"introspection by credentials", post("/o/introspect/", v.asker.auth(), params("token", h.access)), 200},
		{"introspection by a token", post("/o/introspect/", bearer(h.asks), params("token", h.access)), 200},
		{"introspection of a token that is unknown", post("/o/introspect/", v.asker.auth(), params("token", "mat_unknown")),
			200},
		{"introspection by an unknown client",
			post("/o/introspect/", basic("nobody", "a wrong secret"), params("token", h.access)), 401},
		{"sample API", get("/resource", bearer(h.access)), 200},
		{"sample API with a token that is unknown", get("/resource", bearer("mat_unknown")), 401},
		{"sample API, people", get("/users/", bearer(h.access)), 200},
		{"resource server", func(t testing.TB) answer { return guard.get(t, bearer(h.access)) }, 200},
		{"resource server with a token that is unknown",
			func(t testing.TB) answer { return guard.get(t, bearer("mat_unknown")) }, 401},
		{"client credentials", post("/o/token/", v.web.auth(), params("grant_type", "client_credentials")), 200},
		{"client credentials that are wrong",
			post("/o/token/", afar(basic(v.web.ClientID, "a wrong secret")), params("grant_type", "client_credentials")), 401},
		{"password", post("/o/token/", v.web.auth(),
			params("grant_type", "password", "username", v.bob.Name, "password", v.bob.Password)), 200},
		{"a wrong password",
			post("/o/token/", v.web.auth(),
				params("grant_type", "password", "username", "nobody", "password", "a wrong password")), 400},
		{"authorization without a session", get(authorize, nobody), 303},
		{"authorization with a session", get(authorize, session), 303},
		{"authorization of an unknown client", get("/o/authorize/?client_id=nobody", nobody), 400},
		{"consent", post("/o/consent/", page, params("ticket", h.ticket, "decision", "approve")), 303},
		{"a page", get("/account/", session), 200},
		{"login", post("/login/", page, params("username", v.bob.Name, "password", v.bob.Password)), 303},
		{"readiness", get("/readyz", nobody), 200},
		{"code", post("/o/token/", v.web.auth(), h.code), 200},
		{"refresh", post("/o/token/", v.web.auth(), refreshForm(h.refresh)), 200},
		{"registration", func(t testing.TB) answer {
			return v.registration(t, bearer(h.initial), `{"redirect_uris":["https://outage.example/new"]}`)
		}, 201},
		{"registration with a token that is unknown", func(t testing.TB) answer {
			return v.registration(t, bearer("mit_unknown"), `{"redirect_uris":["https://outage.example/new"]}`)
		}, 401},
		{"a registration", managed("GET", nil), 200},
		{"a change of a registration",
			managed("PUT", member{"client_id": h.registered["client_id"],
				"redirect_uris": []string{"https://outage.example/changed"}}), 200},
		{"the end of a registration", managed("DELETE", nil), 204},
		{"revocation", post("/o/revoke_token/", v.web.auth(), params("token", h.access)), 200},
		{"revocation of a token that is unknown", post("/o/revoke_token/", v.web.auth(), params("token", "mat_unknown")),
			200},
	}
}

func (v *fixture) works(t *testing.T, guard *guard, h *holding) {
	t.Helper()
	for _, r := range v.requests(guard, h) {
		if a := r.send(t); a.Status != r.status {
			t.Errorf("with the database, %s: %d, want %d: %s", r.name, a.Status, r.status, a.Body)
		}
	}
}

func (v *fixture) unavailable(t *testing.T, guard *guard, h *holding) {
	t.Helper()
	for _, r := range v.requests(guard, h) {
		a := r.send(t)
		// RFC 9110 §15.6.4, RFC 7009 §2.2.1: 503, and when to try again.
		if seconds, err := strconv.Atoi(a.Header.Get("Retry-After")); a.Status != http.StatusServiceUnavailable ||
			err != nil || seconds < 1 {
			t.Errorf("without the database, %s: %d, Retry-After %q: %s", r.name, a.Status, a.Header.Get("Retry-After"), a.Body)
		}
		for _, lie := range []string{`"active"`, "invalid_", "not registered", "is wrong"} {
			if strings.Contains(a.Body, lie) {
				t.Errorf("without the database, %s: the answer says %s: %s", r.name, lie, a.Body)
			}
		}
		if a.Header.Get("WWW-Authenticate") != "" || len(a.Header.Values("Set-Cookie")) != 0 ||
			a.Header.Get("Location") != "" {
			t.Errorf("without the database, %s: %v", r.name, a.Header)
		}
	}
	for _, path := range []string{"/healthz", "/o/.well-known/oauth-authorization-server", "/login/"} {
		if a := v.get(t, path, nobody); a.Status != http.StatusOK {
			t.Errorf("without the database, %s: %d", path, a.Status)
		}
	}
}

// guard is `mandate resource-server` in front of an API of the test.
type guard struct{ *server }

func (v *fixture) guardedAPI(t testing.TB) *guard {
	t.Helper()
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "let in") }))
	t.Cleanup(api.Close)
	path := built(t, binary)
	dir, listen := t.TempDir(), port.Address()
	g := &guard{&server{URL: "http://" + listen, secrets: v.secrets, client: v.client}}
	config := filepath.Join(dir, "guard.yaml")
	err := os.WriteFile(config, []byte(strings.Join([]string{
		"LISTEN: " + quote(listen),
		"UPSTREAM: " + quote(api.URL),
		"RULES: [{PATH: /, SCOPES: [read]}]",
		"OAUTH2_PROVIDER:",
		"  RESOURCE_SERVER_INTROSPECTION_URL: " + quote(v.URL+"/o/introspect/"),
		"  RESOURCE_SERVER_INTROSPECTION_CREDENTIALS: [" + quote(v.asker.ClientID) + ", " + quote(v.asker.ClientSecret) + "]",
		"  RESOURCE_SERVER_TOKEN_CACHING_SECONDS: 0",
	}, "\n")+"\n"), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, "resource-server", "--config", config)
	cmd.Dir, cmd.Env = dir, environment()
	g.process, err = launch(cmd, &g.log)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		g.stop(t)
		g.checkLog(t)
	})
	waitFor(t, "the resource server answers", func() bool {
		if !g.process.running() {
			t.Fatalf("the resource server ended at once:\n%s", g.log.String())
		}
		response, err := g.client.Get(g.URL + "/")
		if err == nil {
			response.Body.Close()
		}
		return err == nil
	})
	return g
}

// get sends a request to the protected API.
func (g *guard) get(t testing.TB, as auth) answer { t.Helper(); return g.server.get(t, "/", as) }

// pipe is a proxy between the server and its database. While it is frozen it accepts
// all data and forwards nothing, like a network that drops all packets.
type pipe struct {
	listener net.Listener
	target   string

	mu     sync.Mutex
	thawed chan struct{} // closed while bytes flow
	conns  []net.Conn
}

// newPipe returns a pipe and the database's URL through it.
func newPipe(t testing.TB, databaseURL string) (*pipe, string) {
	t.Helper()
	at, err := url.Parse(databaseURL)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &pipe{listener: listener, target: at.Host, thawed: make(chan struct{})}
	close(p.thawed)
	at.Host = listener.Addr().String()
	go p.serve()
	t.Cleanup(p.close)
	return p, at.String()
}

func (p *pipe) serve() {
	for {
		near, err := p.listener.Accept()
		if err != nil {
			return
		}
		far, err := net.Dial("tcp", p.target)
		if err != nil {
			near.Close()
			continue
		}
		p.mu.Lock()
		p.conns = append(p.conns, near, far)
		p.mu.Unlock()
		go p.pass(near, far)
		go p.pass(far, near)
	}
}

func (p *pipe) pass(from, to net.Conn) {
	defer from.Close()
	defer to.Close()
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		p.mu.Lock()
		thawed := p.thawed
		p.mu.Unlock()
		<-thawed
		if err != nil {
			return
		}
		_, err = to.Write(buffer[:n])
		if err != nil {
			return
		}
	}
}

func (p *pipe) freeze() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.thawed = make(chan struct{})
}

func (p *pipe) thaw() {
	p.mu.Lock()
	defer p.mu.Unlock()
	close(p.thawed)
}

func (p *pipe) close() {
	p.listener.Close()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.conns {
		c.Close()
	}
}

// TestOutageHang: if the database neither answers nor refuses, no request takes longer
// than its time limit.
func TestOutageHang(t *testing.T) {
	ownProcesses(t)
	t.Parallel()
	p, through := newPipe(t, newPostgres(t).url)
	v := newFixture(t, options{database: database{name: "postgres", url: through}})
	h := v.holdings(t)
	p.freeze()
	begun := time.Now()
	asked := []func() (answer, error){
		func() (answer, error) {
			return v.tryPost("/o/introspect/", v.asker.auth(), params("token", h.access))
		},
		func() (answer, error) { return v.tryPost("/o/token/", v.web.auth(), h.code) },
		func() (answer, error) { return v.tryPost("/o/token/", v.web.auth(), refreshForm(h.refresh)) },
		func() (answer, error) { return v.tryPost("/o/revoke_token/", v.web.auth(), params("token", h.access)) },
		func() (answer, error) { return v.tryGet("/resource", bearer(h.access)) },
		func() (answer, error) { return v.tryGet("/account/", withCookie("mandate_session", h.session)) },
		func() (answer, error) { return v.tryGet("/readyz", nobody) },
	}
	answers := parallel(t, len(asked), func(i int) (answer, error) { return asked[i]() })
	for i, a := range answers {
		if a.Status != http.StatusServiceUnavailable || a.Header.Get("Retry-After") == "" {
			t.Errorf("request %d: %d, Retry-After %q: %s", i, a.Status, a.Header.Get("Retry-After"), a.Body)
		}
	}
	if took := time.Since(begun); took > 40*time.Second {
		t.Errorf("the answers took %v", took)
	}
	if a := v.get(t, "/healthz", nobody); a.Status != http.StatusOK {
		t.Errorf("/healthz: %d", a.Status)
	}
	p.thaw()
	waitFor(t, "the server is ready again", func() bool { return v.get(t, "/readyz", nobody).Status == http.StatusOK })
	v.mustToken(t, v.web.auth(), params("grant_type", "client_credentials"))
	if !v.active(t, v.asker.auth(), h.access) {
		t.Error("the access token is lost")
	}
}

// tryGet is get for any goroutine.
func (s *server) tryGet(path string, as auth) (answer, error) {
	request, err := http.NewRequest("GET", s.URL+path, nil)
	if err != nil {
		return answer{}, err
	}
	as(request, url.Values{})
	return s.do(request)
}
