package mandate

import (
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"mandate/storage/postgrestest"
	"mandate/testkit"
	"mandate/testkit/port"
)

// pooler starts PgBouncer in front of a database and returns the database's address
// through it. In mode transaction, each transaction gets any free connection of a small
// pool.
func pooler(t testing.TB, db database, mode string, connections int) string {
	t.Helper()
	path, err := exec.LookPath("pgbouncer")
	if err != nil {
		path = "/usr/sbin/pgbouncer"
		_, err = os.Stat(path)
	}
	if err != nil {
		testkit.Missing(t, "PgBouncer is not installed: apt-get install pgbouncer")
	}
	at, err := url.Parse(db.url)
	if err != nil {
		t.Fatal(err)
	}
	password, _ := at.User.Password()
	listen := port.Address()
	host, port, _ := strings.Cut(listen, ":")
	config := filepath.Join(t.TempDir(), "pgbouncer.ini")
	err = os.WriteFile(config, []byte(strings.Join([]string{
		"[databases]",
		fmt.Sprintf("* = host=%s port=%s user=%s password=%s", at.Hostname(), at.Port(), at.User.Username(), password),
		"[pgbouncer]",
		"listen_addr = " + host, "listen_port = " + port, "unix_socket_dir =",
		"auth_type = any", "pool_mode = " + mode, fmt.Sprint("default_pool_size = ", connections), "max_client_conn = 200",
	}, "\n")+"\n"), 0o644)
	if err != nil {
		t.Fatal(err)
	}
	args := []string{config}
	if os.Getuid() == 0 { // PgBouncer does not run as root and must be able to read its file
		args = []string{"-u", "nobody", config}
		for dir := filepath.Dir(config); dir != os.TempDir() && dir != "/"; dir = filepath.Dir(dir) {
			_ = os.Chmod(dir, 0o755) // otherwise the error is in its own log
		}
	}
	var log logBuffer
	p, err := launch(exec.Command(path, args...), &log)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		<-p.exited
		if t.Failed() {
			t.Logf("log of PgBouncer:\n%s", log.String())
		}
	})
	waitFor(t, "PgBouncer listens", func() bool {
		if !p.running() {
			t.Fatalf("PgBouncer ended at once:\n%s", log.String())
		}
		return strings.Contains(log.String(), "listening on "+listen)
	})
	at.Host = listen
	return at.String()
}

func TestNodesBehindASessionPooler(t *testing.T) {
	db := newPostgres(t)
	c := newCluster(t, options{database: database{name: db.name, url: pooler(t, db, "session", 40)},
		settings: []string{"DATABASE_MAX_CONNECTIONS: 8"}})
	c.other = c.node(t)
	c.hears(t, everyNews[:3])
}

// TestNodesBehindAPooler: the nodes use no prepared statements, and a direct connection
// for notifications.
func TestNodesBehindAPooler(t *testing.T) {
	db := newPostgres(t)
	through := database{name: db.name, url: pooler(t, db, "transaction", 4) + "&binary_parameters=yes"}
	c := newCluster(t, options{database: through,
		settings: []string{"SAMPLE_API: true", "DATABASE_MAX_CONNECTIONS: 8", "DATABASE_LISTEN_URL: " + quote(db.url)}})
	c.web, c.alice = c.client(t), c.somebody(t)
	c.other = c.node(t)
	c.hears(t, everyNews)
	t.Run("at_once", func(t *testing.T) {
		tab := c.signedIn(t, c.alice)
		families := make([]tokens, 16)
		for i := range families {
			families[i] = tab.family(t, c.web, c.alice, "scope", "openid read")
		}
		for range 4 {
			for i, a := range parallel(t, len(families), func(i int) (answer, error) {
				return []*server{c.server, c.other}[i%2].tryPost("/o/token/", c.web.auth(), refreshForm(families[i].RefreshToken))
			}) {
				if a.Status != http.StatusOK {
					t.Fatalf("%d %s", a.Status, a.Body)
				}
				families[i] = c.tokens(t, a)
			}
		}
	})
	t.Run("by_the_same_way", func(t *testing.T) {
		o := c.options
		o.settings = append([]string{}, o.settings[0], o.settings[1])
		deaf := newServer(t, o, c.BaseURL, c.key, c.secrets)
		deaf.start(t)
		deaf.says(t, "the test notification did not arrive", 0)
		c.other = deaf
		c.misses(t, everyNews[:2])
	})
}

// Without binary_parameters=yes, the names of prepared statements of two connections meet in the pooler, and the
// statement of another request runs.
func TestPoolerThatMixesStatementsIsRefused(t *testing.T) {
	db := database{name: "postgres", url: postgrestest.URL(t)}
	const refusal = "add binary_parameters=yes to DATABASE_URL"
	for _, c := range []struct {
		mode, parameter string
		connections     int
		refused         bool
	}{
		{"transaction", "", 1, true}, {"transaction", "", 4, true},
		{"transaction", "&binary_parameters=yes", 4, false}, {"session", "", 4, false},
	} {
		got := run(t, t.TempDir(), []string{"MANDATE_DATABASE_URL=" + pooler(t, db, c.mode, c.connections) + c.parameter,
			"MANDATE_SECRET_KEY=" + strings.Repeat("A", 43) + "="}, "", "migrate")
		if (got.code != 0) != c.refused || strings.Contains(got.stderr, refusal) != c.refused {
			t.Errorf("%s, %d connections, %q: %d %s", c.mode, c.connections, c.parameter, got.code, got.stderr)
		}
	}
}
