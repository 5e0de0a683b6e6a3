package mandate

import (
	crand "crypto/rand"
	"crypto/tls"
	"database/sql"
	"encoding/json"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"mandate/app"
	"mandate/storage/postgrestest"
	"mandate/testkit"
	"mandate/testkit/port"
)

// database is the database of a server. Several servers may share it.
type database struct {
	name     string // sqlite or postgres
	url      string // for DATABASE_URL
	migrated bool   // it has the newest schema, and keys that sign
}

// newSQLite returns a database that does not exist yet, in a folder that is removed
// after the test.
func newSQLite(t testing.TB) database {
	t.Helper()
	return database{name: "sqlite", url: "sqlite:///" + filepath.Join(t.TempDir(), "mandate.db")}
}

// newPostgres returns a database as a server has it after its first start, or skips the test.
func newPostgres(t testing.TB) database {
	t.Helper()
	return database{name: "postgres", url: postgrestest.Filled(t, begin), migrated: true}
}

// open opens the database directly, without the server, until the end of the test.
func (d database) open(t testing.TB) *sql.DB {
	t.Helper()
	pool, err := d.pool()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { pool.Close() })
	return pool
}

func (d database) pool() (*sql.DB, error) {
	driver, address := "postgres", d.url
	if d.name == "sqlite" {
		driver, address = "sqlite", "file:"+strings.TrimPrefix(d.url, "sqlite:///")+
			"?_pragma=busy_timeout(10000)&_pragma=foreign_keys(1)"
	}
	return sql.Open(driver, address)
}

// onADatabase runs a flow on a new database, of the kind that testkit.Databases chooses.
func onADatabase(t *testing.T, test func(t *testing.T, db database)) {
	t.Helper()
	chosen := testkit.Databases(t.Name())
	if len(chosen) > 1 {
		forEachDatabase(t, test)
		return
	}
	t.Parallel()
	if chosen[0] == "sqlite" {
		test(t, newSQLite(t))
		return
	}
	test(t, newPostgres(t))
}

// forEachDatabase runs a test on both databases, each time with a new one: a test of nodes, crashes, races or outages,
// where the databases differ. It runs beside other tests: while one waits, another one works.
func forEachDatabase(t *testing.T, test func(t *testing.T, db database)) {
	t.Helper()
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) { t.Parallel(); test(t, newSQLite(t)) })
	t.Run("postgres", func(t *testing.T) { t.Parallel(); test(t, newPostgres(t)) })
}

// forEachDatabaseInTurn is forEachDatabase for a test that measures short times, or
// that occupies all processors.
func forEachDatabaseInTurn(t *testing.T, test func(t *testing.T, db database)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) { test(t, newSQLite(t)) })
	t.Run("postgres", func(t *testing.T) { test(t, newPostgres(t)) })
}

// options change the default server, which has a new SQLite database and no settings
// except the address and cheap password hashes. Each setting is a line of YAML, such as
// `SAMPLE_API: true` or `SCOPES: {read: Read, write: Write}`.
type options struct {
	database database
	settings []string    // at the top level
	provider []string    // in the block OAUTH2_PROVIDER
	env      []string    // of the process, such as MANDATE_LOG_LEVEL=debug
	tls      *tls.Config // of the clients; nil: the server speaks plain http
	host     string      // the name of this machine in the address; empty: 127.0.0.1
	watched  bool        // the server is a process with the race detector
}

// ownURL is the address of the process in one of its own settings.
const ownURL = "THIS-PROCESS"

// server is one server with its configuration: a process of `mandate serve`, or a part of this process (separate).
type server struct {
	URL     string // the address of this process, without a trailing slash
	BaseURL string // BASE_URL: the same as URL, except for a second node
	Issuer  string

	database database
	dir      string
	config   string // the path of the configuration file
	options  options
	key      string
	secrets  *vault
	client   *http.Client

	test    string // its name
	apart   bool   // the test has called ownProcesses
	program string // empty: the binary of this tree
	log     logBuffer
	process *process
}

// startServer writes a configuration, runs the server and waits until it answers. At
// the end of the test it stops the server. The server must exit with 0, and its log
// must contain no panic, no data race and no secret.
func startServer(t testing.TB, o options) *server {
	t.Helper()
	if o.database == (database{}) {
		o.database = newSQLite(t)
	}
	s := newServer(t, o, "", installation(), &vault{})
	if o.database.migrated && s.ownKeys() {
		_, err := o.database.open(t).ExecContext(t.Context(), `DELETE FROM keys`)
		if err != nil {
			t.Fatal(err)
		}
	}
	if o.database.name == "postgres" && !o.database.migrated {
		// On SQLite the server migrates the database itself.
		s.mustCLI(t, "", "migrate")
	}
	s.start(t)
	return s
}

// node starts another process of the same installation: same database, key and
// BASE_URL.
func (s *server) node(t testing.TB) *server {
	t.Helper()
	n := newServer(t, s.options, s.BaseURL, s.key, s.secrets)
	n.start(t)
	return n
}

// cheap makes password hashes as cheap as the settings allow. By default a hash uses
// much memory, which the race detector must track.
var cheap = []string{"PASSWORD_HASH_MEMORY_KIB: 7168", "PASSWORD_HASH_ITERATIONS: 5"}

// newServer writes the configuration of a server. Its password hashes are cheap unless
// the options set their cost.
func newServer(t testing.TB, o options, baseURL, key string, secrets *vault) *server {
	t.Helper()
	listen, scheme := port.Address(), "http://"
	if o.tls != nil {
		scheme = "https://"
	}
	reached := listen
	if o.host != "" {
		_, number, _ := strings.Cut(listen, ":")
		reached = o.host + ":" + number
	}
	s := &server{
		URL: scheme + reached, BaseURL: baseURL, database: o.database, dir: t.TempDir(), options: o, key: key,
		secrets: secrets, test: t.Name(), apart: apart(t.Name()),
		client: &http.Client{
			Timeout: time.Minute,
			Transport: &http.Transport{MaxIdleConnsPerHost: 64, TLSClientConfig: o.tls.Clone(),
				ForceAttemptHTTP2: o.tls != nil},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
	if s.BaseURL == "" {
		s.BaseURL = s.URL
	}
	s.Issuer = s.BaseURL + "/o"
	s.config = filepath.Join(s.dir, "mandate.yaml")
	s.secret(key)
	address, err := url.Parse(o.database.url)
	if err == nil && address.User != nil {
		password, _ := address.User.Password()
		s.secret(password)
	}
	lines := []string{
		"BASE_URL: " + quote(s.BaseURL),
		"LISTEN: " + quote(listen),
		"DATABASE_URL: " + quote(o.database.url),
		"SECRET_KEY: " + quote(key),
	}
	if !slices.ContainsFunc(o.settings,
		func(setting string) bool { return strings.HasPrefix(setting, "PASSWORD_HASH_MEMORY_KIB") }) {
		lines = append(lines, cheap...)
	}
	lines = append(lines, o.settings...)
	if len(o.provider) > 0 {
		lines = append(lines, "OAUTH2_PROVIDER:", "  "+strings.Join(o.provider, "\n  "))
	}
	err = os.WriteFile(s.config, []byte(strings.ReplaceAll(strings.Join(lines, "\n"), ownURL, s.URL)+"\n"), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if s.process != nil && s.process.running() {
			s.stop(t)
		}
		s.checkLog(t)
		s.checkEvents(t)
		if t.Failed() {
			t.Logf("log of %s:\n%s", s.URL, s.log.String())
		}
	})
	return s
}

// quote returns a string for YAML, which accepts JSON strings.
func quote(value string) string {
	quoted, _ := json.Marshal(value) // it cannot fail
	return string(quoted)
}

// start runs the server, for the first time or again after stop or kill, and waits
// until it answers.
func (s *server) start(t testing.TB) {
	t.Helper()
	s.provide(t)
	if s.separate() {
		s.launch(t, s.binary(t), "serve")
	} else {
		s.process = s.inside(app.Process.Serve)
	}
	waitFor(t, "the server answers at "+s.URL, func() bool {
		if !s.process.running() {
			t.Fatalf("the server ended at once with code %d:\n%s", s.process.code, s.log.String())
		}
		answer, err := s.client.Get(s.URL + "/.well-known/oauth-authorization-server/o")
		if err == nil {
			answer.Body.Close()
		}
		return err == nil
	})
}

// launch runs a command of a program with the configuration of this server.
func (s *server) launch(t testing.TB, program, command string) {
	t.Helper()
	cmd := exec.Command(program, command, "--config", s.config)
	cmd.Dir, cmd.Env = s.dir, append(environment(), s.options.env...)
	var err error
	s.process, err = launch(cmd, &s.log)
	if err != nil {
		t.Fatalf("start %s: %v", command, err)
	}
}

// binary returns the path of the server's program: the one that people use, or with the race detector, if the options
// or MANDATE_TEST_RACE=all say so.
func (s *server) binary(t testing.TB) string {
	t.Helper()
	if s.program == "" && (s.options.watched || os.Getenv("MANDATE_TEST_RACE") == "all") {
		return built(t, watchedBinary)
	}
	return s.command(t)
}

// command returns the path of the program for the server's commands.
func (s *server) command(t testing.TB) string {
	t.Helper()
	if s.program != "" {
		return s.program
	}
	return built(t, binary)
}

// stop ends the server in order. It must exit with 0.
func (s *server) stop(t testing.TB) {
	t.Helper()
	s.client.CloseIdleConnections()
	s.process.end()
	select {
	case <-s.process.exited:
	case <-time.After(30 * time.Second):
		if s.process.cmd == nil {
			s.stacks()
			t.Fatalf("the server did not end within 30 s:\n%s", s.log.String())
		}
		_ = s.process.cmd.Process.Signal(syscall.SIGQUIT) // prints the stack of all goroutines
		select {
		case <-s.process.exited:
		case <-time.After(5 * time.Second):
			s.kill(t)
		}
		t.Errorf("the server did not end within 30 s of SIGTERM:\n%s", s.log.String())
		return
	}
	if s.process.code != 0 {
		t.Errorf("the server exited with %d:\n%s", s.process.code, s.log.String())
	}
}

// kill ends the server with SIGKILL, like a power failure.
func (s *server) kill(t testing.TB) {
	t.Helper()
	if s.process.cmd == nil {
		t.Fatal("only a process can be killed: begin the test with ownProcesses")
	}
	_ = s.process.cmd.Process.Kill()
	<-s.process.exited
	s.client.CloseIdleConnections()
}

var alarm = regexp.MustCompile(`(?i)\bpanic\b|DATA RACE`)

func (s *server) checkLog(t testing.TB) {
	t.Helper()
	log := s.log.String()
	if found := alarm.FindString(log); found != "" {
		t.Errorf("the log of the server says %q:\n%s", found, log)
	}
	for _, secret := range s.secrets.within(log) {
		t.Errorf("the log of the server holds the secret %q", secret)
	}
}

// checkEvents fails the test if an event has a secret. A database that does not answer, or that an earlier
// release has made, has none.
func (s *server) checkEvents(t testing.TB) {
	t.Helper()
	pool, err := s.database.pool()
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	rows, err := pool.Query(`SELECT kind, actor_id || ' ' || actor_name || ' ' || address || ' ' || user_agent || ' ' ||
		person_id || ' ' || person_name || ' ' || object_id || ' ' || object_name || ' ' || detail FROM events`)
	if err != nil {
		return
	}
	defer rows.Close()
	for rows.Next() {
		var kind, text string
		err = rows.Scan(&kind, &text)
		if err != nil {
			t.Fatal(err)
		}
		for _, secret := range s.secrets.within(text) {
			if !s.secrets.isName(secret) {
				t.Errorf("the event %s holds the secret %q: %s", kind, secret, text)
			}
		}
	}
}

// secret records a value that the server's log must never contain, and returns it. The
// functions of the harness record what they send and receive. Values of fewer than 8
// characters are ignored, because a log may contain them by chance.
func (s *server) secret(value string) string {
	s.secrets.add(value)
	return value
}

// cli runs a command with this server's configuration.
func (s *server) cli(t testing.TB, stdin string, args ...string) result {
	t.Helper()
	args = append(args, "--config", s.config)
	if !s.separate() {
		return commandInside(s.options.env, stdin, args...)
	}
	return runProgram(t, s.dir, append(environment(), s.options.env...), stdin, s.command(t), args...)
}

// mustCLI is cli for a command that must succeed. It returns the command's output.
func (s *server) mustCLI(t testing.TB, stdin string, args ...string) string {
	t.Helper()
	r := s.cli(t, stdin, args...)
	if r.code != 0 {
		t.Fatalf("mandate %s: exit code %d\n%s%s", strings.Join(args, " "), r.code, r.stdout, r.stderr)
	}
	return r.stdout
}

// person is a user of the server.
type person struct{ Name, Password string }

// person adds a user with a new password; args are more flags of `user add`.
func (s *server) person(t testing.TB, name string, args ...string) person {
	t.Helper()
	p := person{name, s.secret("pw " + crand.Text())}
	s.mustCLI(t, p.Password+"\n", append([]string{"user", "add", name, "--password-stdin"}, args...)...)
	return p
}

// application is a registered client.
type application struct {
	ID           string `json:"id"`
	ClientID     string `json:"client_id"`
	ClientSecret string `json:"client_secret"` // empty for a public client
	RedirectURI  string `json:"-"`             // the first registered one
	Settings     struct {
		Text string `json:"text"`
	} `json:"settings"` // only with --for
}

// application registers a client; args are the flags of `application add`, in pairs or `--flag=value`.
func (s *server) application(t testing.TB, args ...string) application {
	t.Helper()
	out := s.mustCLI(t, "", append([]string{"application", "add", "--json"}, args...)...)
	var a application
	err := json.Unmarshal([]byte(out), &a)
	if err != nil || a.ClientID == "" {
		t.Fatalf("application add --json printed %q: %v", out, err)
	}
	s.secret(a.ClientSecret)
	for i, arg := range args {
		value, joined := strings.CutPrefix(arg, "--redirect-uri=")
		if arg == "--redirect-uri" && i+1 < len(args) {
			value, joined = args[i+1], true
		}
		if joined {
			a.RedirectURI = value
			break
		}
	}
	return a
}
