package mandate

import (
	"crypto/rand"
	"database/sql"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"mandate/storage/postgrestest"
	"mandate/testkit"
)

// Several nodes on one database. Each caches what it has read. If a node or a command
// changes a record, the other nodes know it a moment later, and the changing node at
// once.

const (
	heardIn = 50 * time.Millisecond // with notifications between nodes
	seenIn  = 2 * time.Second       // without notifications
)

// cluster is a fixture with two nodes: one where everything is changed, and another one.
type cluster struct {
	*fixture
	other *server
	root  *browser
}

func newCluster(t testing.TB, o options) *cluster {
	t.Helper()
	ownProcesses(t)
	o.settings = append(o.settings, "TRUSTED_PROXIES: [127.0.0.1]", "PASSWORD_HASH_CONCURRENCY: 2")
	o.provider = append(o.provider, "OIDC_ENABLED: true", openidScopes)
	v := &fixture{server: startServer(t, o)}
	v.admin = v.person(t, "root", "--admin")
	v.asker = v.application(t, "--name", "Asker", "--grant", "client_credentials", "--may-introspect")
	return &cluster{fixture: v, root: v.signedIn(t, v.admin)}
}

// nodeBy starts another node that reaches the database by another address.
func (s *server) nodeBy(t testing.TB, address string) *server {
	t.Helper()
	o := s.options
	o.database.url = address
	n := newServer(t, o, s.BaseURL, s.key, s.secrets)
	n.start(t)
	return n
}

// news is a change of a record: a check whether a node still has the old state, and the
// change itself.
type news struct {
	name      string
	byCommand bool
	prepare   func(t testing.TB, c *cluster) (before func(*server) bool, change func())
}

func (c *cluster) alive(t testing.TB, token string) func(*server) bool {
	return func(s *server) bool { return s.active(t, c.asker.auth(), token) }
}

func (c *cluster) client(t testing.TB) application {
	t.Helper()
	return c.application(t, "--name", "Shop", "--grant", "authorization_code", "--grant", "client_credentials", "--grant",
		"password", "--redirect-uri", webURI)
}

func (c *cluster) own(t testing.TB, a application) string {
	t.Helper()
	return c.mustToken(t, a.auth(), params("grant_type", "client_credentials", "scope", "read")).AccessToken
}

func (c *cluster) somebody(t testing.TB) person {
	t.Helper()
	return c.person(t, strings.ToLower(rand.Text()))
}

func (c *cluster) typed(t testing.TB, p person) string {
	t.Helper()
	return c.mustToken(t, c.client(t).auth(),
		params("grant_type", "password", "username", p.Name, "password", p.Password)).AccessToken
}

var everyNews = []news{
	{"token_revoked", false, func(t testing.TB, c *cluster) (func(*server) bool, func()) {
		a := c.client(t)
		token := c.own(t, a)
		return c.alive(t, token), func() { c.revoke(t, a.auth(), token) }
	}},
	{"token_revoked_by_command", true, func(t testing.TB, c *cluster) (func(*server) bool, func()) {
		token := c.own(t, c.client(t))
		return c.alive(t, token), func() { c.mustCLI(t, token, "token", "revoke") }
	}},
	{"account_disabled", false, func(t testing.TB, c *cluster) (func(*server) bool, func()) {
		p := c.somebody(t)
		l := &life{fixture: c.fixture, root: c.root, person: p}
		path, token := l.userPath(t), c.typed(t, p)
		l.root.open(t, path)
		return c.alive(t, token), func() { l.root.submit(t, "Save changes", url.Values{"active": nil}) }
	}},
	{"account_disabled_by_command", true, func(t testing.TB, c *cluster) (func(*server) bool, func()) {
		p := c.somebody(t)
		return c.alive(t, c.typed(t, p)), func() { c.mustCLI(t, "", "user", "disable", p.Name) }
	}},
	{"owner_disabled", false, func(t testing.TB, c *cluster) (func(*server) bool, func()) {
		p := c.somebody(t)
		token, _ := c.server.own(t, c.signedIn(t, p).registered(t))
		l := &life{fixture: c.fixture, root: c.root, person: p}
		l.root.open(t, l.userPath(t))
		return c.alive(t, token.AccessToken), func() { l.root.submit(t, "Save changes", url.Values{"active": nil}) }
	}},
	{"owner_disabled_by_command", true, func(t testing.TB, c *cluster) (func(*server) bool, func()) {
		p := c.somebody(t)
		token, _ := c.server.own(t, c.signedIn(t, p).registered(t))
		return c.alive(t, token.AccessToken), func() { c.mustCLI(t, "", "user", "disable", p.Name) }
	}},
	{"application_deleted", false, func(t testing.TB, c *cluster) (func(*server) bool, func()) {
		a := c.client(t)
		return c.alive(t, c.own(t, a)), func() { c.root.send(t, "/o/applications/"+a.ID+"/delete/", nil) }
	}},
	{"application_deleted_by_command", true, func(t testing.TB, c *cluster) (func(*server) bool, func()) {
		a := c.client(t)
		return c.alive(t, c.own(t, a)), func() { c.mustCLI(t, "", "application", "delete", a.ClientID) }
	}},
	{"resource_deleted_by_command", true, func(t testing.TB, c *cluster) (func(*server) bool, func()) {
		uri := "https://" + strings.ToLower(c.somebody(t).Name) + ".example"
		asker := c.application(t, "--name", "API", "--grant", "client_credentials", "--may-introspect")
		c.mustCLI(t, "", "resource", "add", uri, "--name", "API", "--introspector", asker.ClientID)
		token := c.mustToken(t, c.client(t).auth(),
			params("grant_type", "client_credentials", "scope", "read", "resource", uri)).AccessToken
		active := func(s *server) bool { return s.active(t, asker.auth(), token) }
		waitFor(t, "the other node knows the resource", func() bool { return active(c.other) })
		return active, func() { c.mustCLI(t, "", "resource", "delete", uri) }
	}},
	{"consent_revoked", false, func(t testing.TB, c *cluster) (func(*server) bool, func()) {
		p := c.somebody(t)
		tab := c.signedIn(t, p)
		token := tab.family(t, c.client(t), p, "scope", "read").AccessToken
		tab.open(t, "/account/")
		path := regexp.MustCompile(`/account/applications/[^/"]+/revoke/`).FindString(tab.Body)
		return c.alive(t, token), func() { tab.send(t, path, nil) }
	}},
	{"session_ended", false, func(t testing.TB, c *cluster) (func(*server) bool, func()) {
		p := c.somebody(t)
		tab := c.signedIn(t, p)
		token := tab.family(t, c.client(t), p, "scope", "openid read").AccessToken
		return c.alive(t, token), func() { tab.send(t, "/logout/", nil) }
	}},
	{"session_ended_by_command", true, func(t testing.TB, c *cluster) (func(*server) bool, func()) {
		p := c.somebody(t)
		token := c.signedIn(t, p).family(t, c.client(t), p, "scope", "openid read").AccessToken
		return c.alive(t, token), func() { c.mustCLI(t, "", "user", "logout", p.Name) }
	}},
	{"secret_rotated", false, func(t testing.TB, c *cluster) (func(*server) bool, func()) {
		a := c.client(t)
		return knows(t, a), func() { c.root.send(t, "/o/applications/"+a.ID+"/rotate/", params("overlap", "0")) }
	}},
	{"secret_rotated_by_command", true, func(t testing.TB, c *cluster) (func(*server) bool, func()) {
		a := c.client(t)
		return knows(t, a), func() {
			c.secret(c.mustCLI(t, "", "application", "rotate-secret", a.ClientID, "--overlap", "0s", "--json"))
		}
	}},
}

// knows reports whether a node accepts the secret of an application.
func knows(t testing.TB, a application) func(*server) bool {
	return func(s *server) bool {
		got := s.post(t, "/o/token/", afar(a.auth()), params("grant_type", "client_credentials", "scope", "read"))
		if got.Status != http.StatusOK && got.refused(401, "invalid_client") != nil {
			t.Errorf("%d %s", got.Status, got.Body)
		}
		return got.Status == http.StatusOK
	}
}

// lag makes a change and returns the time until the other node has seen it: from the
// answer to the change until the last question that still got the old state. So a busy
// computer, on which questions take long, does not add to it.
func (c *cluster) lag(t testing.TB, n news) time.Duration {
	t.Helper()
	before, change := n.prepare(t, c)
	for _, s := range []*server{c.server, c.other, c.server, c.other} { // each node caches the record
		if !before(s) {
			t.Fatalf("%s: it is not as it should be before", s.URL)
		}
	}
	change()
	answered := time.Now()
	if before(c.server) && !n.byCommand {
		t.Error("the node that changed it goes on as before")
	}
	for last := time.Duration(0); ; {
		asked := time.Since(answered)
		if !before(c.other) && !(n.byCommand && before(c.server)) {
			return last
		}
		last = asked
		if asked > 10*time.Second {
			t.Fatal("a node goes on as before, after ten seconds")
		}
		// The time is measured in steps of 10 ms. Checks without a pause would only load
		// the nodes.
		time.Sleep(max(time.Millisecond, asked/100))
	}
}

// hears checks that every change arrives in the time that notifications need.
func (c *cluster) hears(t *testing.T, every []news) {
	t.Helper()
	own := *c
	own.root = c.signedIn(t, c.admin) // a lasting change needs a fresh sign-in
	for _, n := range every {
		t.Run(n.name, func(t *testing.T) { own.within(t, n, heardIn) })
	}
}

// misses checks that every change arrives in the time after which cached records
// expire. All wait at the same time.
func (c *cluster) misses(t *testing.T, every []news) {
	t.Helper()
	t.Run("missed", func(t *testing.T) {
		for _, n := range every {
			t.Run(n.name, func(t *testing.T) {
				t.Parallel()
				own := *c
				own.root = c.signedIn(t, c.admin)
				own.within(t, n, seenIn+heardIn)
			})
		}
	})
}

// within gives a busy computer three attempts: a delay caused by a bug occurs each
// time.
func (c *cluster) within(t *testing.T, n news, limit time.Duration) {
	t.Helper()
	var lags []time.Duration
	for range 3 {
		lags = append(lags, c.lag(t, n))
		if lags[len(lags)-1] <= limit {
			t.Logf("seen after %v", lags)
			return
		}
	}
	t.Errorf("seen after %v, want %v", lags, limit)
}

// says waits until a node's log contains a text one more time than before.
func (s *server) says(t testing.TB, text string, before int) {
	t.Helper()
	waitFor(t, s.URL+" says "+text, func() bool { return strings.Count(s.log.String(), text) > before })
}

const (
	unheard = "receives no notifications about changes by other processes"
	again   = "receives notifications about changes by other processes again"
)

func TestNodes(t *testing.T) {
	forEachDatabaseInTurn(t, func(t *testing.T, db database) {
		c := newCluster(t, options{database: db})
		c.other = c.node(t)
		c.hears(t, everyNews)
	})
}

// TestNodesUnheard: the notifications between nodes are lost, with and without an
// error.
func TestNodesUnheard(t *testing.T) {
	t.Parallel()
	db := newPostgres(t)
	c := newCluster(t, options{database: db})
	proxy, through := postgrestest.NewProxy(t, db.url)
	c.other = c.nodeBy(t, through)
	waitFor(t, "the other node listens", func() bool { return proxy.Listening() == 1 })
	t.Run("heard", func(t *testing.T) { c.hears(t, everyNews[:1]) })
	for _, lost := range []struct {
		name   string
		action postgrestest.Action
		every  []news
	}{{"cut", postgrestest.Cut, everyNews}, {"silent", postgrestest.Hang, everyNews[:3]}} {
		t.Run(lost.name, func(t *testing.T) {
			before := strings.Count(c.other.log.String(), unheard)
			proxy.Rule(postgrestest.OfListening(lost.action))
			if lost.action == postgrestest.Hang { // at first no node notices the lost connection
				c.misses(t, lost.every)
			}
			c.other.says(t, unheard, before)
			c.misses(t, lost.every)
			before = strings.Count(c.other.log.String(), again)
			proxy.Rule(postgrestest.OfListening(postgrestest.Pass))
			c.other.says(t, again, before)
			c.hears(t, everyNews[:3])
		})
	}
	t.Run("terminated", func(t *testing.T) {
		admin, err := sql.Open("postgres", db.url)
		if err != nil {
			t.Fatal(err)
		}
		defer admin.Close()
		count := func(what string) (n int) {
			t.Helper()
			err := admin.QueryRow(`SELECT count(` + what + `) FROM pg_stat_activity WHERE datname = current_database()
				AND application_name = 'mandate, listening'`).Scan(&n)
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
		// PostgreSQL may notice the end of the silent connection only later.
		waitFor(t, "one connection of each node listens", func() bool { return count("pid") == 2 })
		before := strings.Count(c.other.log.String(), again)
		ended := count("pg_terminate_backend(pid)")
		if ended != 2 {
			t.Fatalf("%d listening connections ended", ended)
		}
		c.other.says(t, again, before)
		c.hears(t, everyNews[:3])
	})
}

// TestNodesDeaf: a database that supports PostgreSQL's protocol but neither LISTEN nor
// pg_notify.
func TestNodesDeaf(t *testing.T) {
	t.Parallel()
	db := newPostgres(t)
	admin, err := sql.Open("postgres", db.url)
	if err != nil {
		t.Fatal(err)
	}
	defer admin.Close()
	_, err = admin.Exec(`SET allow_system_table_mods = on; DELETE FROM pg_proc WHERE proname = 'pg_notify'`)
	if err != nil {
		testkit.Missing(t, fmt.Sprintf("this PostgreSQL does not let its catalogue be changed: %v", err))
	}
	proxy, through := postgrestest.NewProxy(t, db.url)
	proxy.Rule(postgrestest.OfListening(postgrestest.Refuse))
	c := newCluster(t, options{database: database{name: db.name, url: through}})
	c.other = c.nodeBy(t, through)
	for _, s := range []*server{c.server, c.other} {
		s.says(t, "does not support LISTEN and NOTIFY", 0)
	}
	c.misses(t, []news{everyNews[1], everyNews[2], everyNews[4], everyNews[7], everyNews[9]})
	for _, s := range []*server{c.server, c.other} {
		if strings.Count(s.log.String(), unheard) != 1 {
			t.Errorf("%s says more than once that it hears nothing", s.URL)
		}
	}
}
