// Package servertest runs the built server for tests, with a person and a client for each role.
package servertest

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"mandate/conformance/engine"
	"mandate/conformance/need"
	"mandate/conformance/rules"
	"mandate/conformance/target"
	"mandate/storage/postgrestest"
	"mandate/testkit/port"
)

// The tests run the built binary, one server for each database, and stop the servers at the end.

// Main runs the tests of a package. Then it stops the servers that they started.
func Main(m *testing.M) int {
	dir, err := os.MkdirTemp("", "mandate-rules-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	workDir = dir
	code := postgrestest.Main(stopping{m})
	return code
}

// stopping stops the servers before the databases.
type stopping struct{ m *testing.M }

// Run runs the tests, and stops the servers.
func (s stopping) Run() int {
	code := s.m.Run()
	for _, server := range servers {
		err := server.stop()
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = max(code, 1)
		}
	}
	for _, clean := range cleanups {
		clean()
	}
	return code
}

// What the tests of a process share: a folder, the binary in it, and the servers.
var (
	workDir string
	serving sync.Mutex
	servers = map[string]*Server{} // by database

	cleanups []func() // for what all tests share
)

// Binary builds the program once, and returns its path.
var Binary = sync.OnceValues(func() (string, error) {
	path := filepath.Join(workDir, "mandate")
	// The go command records which files a test reads. It does not use a cached result if one of them has changed.
	for _, name := range []string{"go.mod", "go.sum", "cmd", "provider", "storage", "handlers", "templates", "conformance"} {
		err := filepath.WalkDir(filepath.Join(root(), name), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			_, err = os.Stat(path)
			return err
		})
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
	}
	out, err := exec.Command("go", "build", "-o", path, "mandate/cmd/mandate").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("build the binary: %w\n%s", err, out)
	}
	return path, nil
})

// root returns the folder of the module.
func root() string {
	dir := "."
	for range 8 {
		_, err := os.Stat(filepath.Join(dir, "go.mod"))
		if err == nil {
			break
		}
		dir = filepath.Join("..", dir)
	}
	return dir
}

// Server is a running Mandate with everything that the rules need.
type Server struct {
	dir, URL string
	Front    string // the address of a proxy in front of it, if there is one
	cmd      *exec.Cmd
	exited   chan struct{}
	log      bytes.Buffer
	clients  *authority // of the certificates of clients
	mutual   string     // the address of the proxy that asks clients for certificates
	Runner   *engine.Runner

	Certified *target.Target // the target, with clients of FAPI 2.0 that have certificates
	err       error          // why it did not start
}

// settings of the server, except for its address and its database.
const settings = `SAMPLE_API: true
OUTBOUND_ALLOWED_NETWORKS: [127.0.0.0/8]
PASSWORD_HASH_MEMORY_KIB: 7168
PASSWORD_HASH_ITERATIONS: 5
OAUTH2_PROVIDER:
  OIDC_ENABLED: true
  SCOPES: {read: Read scope, write: Write scope, groups: Groups, introspection: Introspect, openid: Sign you in,
    profile: Your name, email: Your email address, address: Your address, phone: Your telephone,
    offline_access: Stay signed in}
  DEFAULT_SCOPES: [read, write]
  DEVICE_MAX_PENDING: 0
  PUSHED_REQUEST_EXPIRE_SECONDS: 10
  OPEN_CLIENTS: [documents, registration]
  OPEN_HOSTS: [127.0.0.1, "*.example"]
`

// OnDatabase returns the server on a database: "postgres", or another name for a SQLite database. The first call starts
// it.
func OnDatabase(t *testing.T, name string) *Server {
	t.Helper()
	serving.Lock()
	defer serving.Unlock()
	if s := servers[name]; s != nil {
		if s.err != nil {
			t.Fatal(s.err)
		}
		return s
	}
	address := "sqlite:///" + filepath.Join(workDir, name+".db")
	if name == "postgres" {
		address = postgrestest.URL(lasting{t})
	}
	s := &Server{dir: filepath.Join(workDir, name), exited: make(chan struct{})}
	servers[name] = s
	s.err = s.Start(address)
	if s.err != nil {
		t.Fatal(s.err)
	}
	return s
}

// Behind returns a server on SQLite behind a proxy. The proxy's address is its base URL.
func Behind(name, front string) *Server {
	s := &Server{dir: filepath.Join(workDir, name), exited: make(chan struct{}), Front: front}
	serving.Lock()
	defer serving.Unlock()
	servers[name] = s
	return s
}

// Dir returns the folder of the tests. It is removed after them.
func Dir() string { return workDir }

// lasting keeps what a test creates until all tests have ended.
type lasting struct{ testing.TB }

// Cleanup runs clean after all tests.
func (lasting) Cleanup(clean func()) { cleanups = append(cleanups, clean) }

// Start starts the server, and registers a client for each role.
func (s *Server) Start(database string) error {
	path, err := Binary()
	if err != nil {
		return err
	}
	err = s.prepare()
	if err != nil {
		return err
	}
	key := make([]byte, 32)
	_, _ = rand.Read(key) // it cannot fail
	listen := port.Address()
	s.URL = "http://" + listen
	s.mutual, err = s.askForCertificates()
	if err != nil {
		return err
	}
	config := fmt.Sprintf("BASE_URL: %q\nLISTEN: %q\nDATABASE_URL: %q\nSECRET_KEY: %s\n%s",
		s.known(), listen, database, base64.StdEncoding.EncodeToString(key), settings)
	config += fmt.Sprintf("TRUSTED_PROXIES: [127.0.0.0/8]\nMTLS_BASE_URL: %q\nMTLS_CERTIFICATE_HEADER: Client-Cert\nMTLS_CLIENT_AUTHORITIES_FILE: %q\n",
		s.mutual, s.clients.path("authority"))
	if err == nil {
		err = os.WriteFile(filepath.Join(s.dir, "mandate.yaml"), []byte(config), 0o600)
	}
	if err != nil {
		return err
	}
	_, err = s.CLI("", "migrate")
	if err != nil {
		return err
	}
	s.cmd = exec.Command(path, "serve")
	s.cmd.Dir, s.cmd.Env, s.cmd.Stdout, s.cmd.Stderr = s.dir, append(Environment(), "SSL_CERT_FILE="+s.certificate()), &s.log, &s.log
	err = s.launch()
	if err != nil {
		return err
	}
	target, err := s.target()
	if err != nil {
		return err
	}
	s.Certified, err = s.certified(target)
	if err != nil {
		return err
	}
	s.Runner, err = engine.NewRunner(context.Background(), target, rules.Documents(), s.Options())
	return err
}

// prepare makes the folder of the server, and in it the certificates.
func (s *Server) prepare() error {
	clients := filepath.Join(s.dir, "clients")
	err := os.MkdirAll(clients, 0o700)
	if err != nil {
		return err
	}
	_, err = target.WriteCertificate(s.certificate(), filepath.Join(s.dir, "key.pem"))
	if err != nil {
		return err
	}
	s.clients, err = newAuthority(clients)
	return err
}

// certificate returns the path of the certificate that the server trusts. It is for the metadata documents of clients, and
// for the proxy that asks clients for certificates.
func (s *Server) certificate() string { return filepath.Join(s.dir, "certificate.pem") }

func (s *Server) known() string { return cmp.Or(s.Front, s.URL) }

// launch starts the process, and waits until it answers.
func (s *Server) launch() error {
	err := StartChild(s.cmd, s.exited)
	if err != nil {
		return err
	}
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		answer, err := http.Get(s.URL + "/healthz")
		if err == nil {
			answer.Body.Close()
			return nil
		}
		select {
		case <-s.exited:
			return fmt.Errorf("the server ended at once:\n%s", s.log.String())
		default:
		}
	}
	return fmt.Errorf("the server does not answer at %s", s.URL)
}

// target adds a person and the clients.
func (s *Server) target() (*target.Target, error) {
	t := &target.Target{Issuer: s.known() + "/o", Origins: []string{s.mutual}, User: target.User{Username: "alice", Password: "pw " + rand.Text()}, Clients: map[need.Need]*target.Client{},
		API: target.API{URL: s.known() + "/resource", Restricted: s.known() + "/groups/", Scope: "groups", Resource: s.known(), Certified: s.mutual}, Backchannel: port.Address(),
		Documents: target.Documents{Listen: port.Address(), Certificate: s.certificate(), Key: filepath.Join(s.dir, "key.pem")}}
	_, err := s.CLI("", "group", "add", "readers")
	if err != nil {
		return nil, err
	}
	err = s.AddPerson(t.User)
	if err != nil {
		return nil, err
	}
	for _, role := range need.Roles() {
		t.Clients[role.Name], err = s.Register(role, t.Backchannel)
		if err != nil {
			return nil, err
		}
	}
	for _, api := range []target.Resource{{URI: "https://one.example/v1", Scope: "read"}, {URI: "https://two.example/v1", Scope: "write"}} {
		_, err := s.CLI("", "resource", "add", api.URI, "--name", api.URI, "--scope", api.Scope, "--introspector", t.Clients[need.Introspect].ID)
		if err != nil {
			return nil, err
		}
		t.Resources = append(t.Resources, api)
	}
	t.Register = true
	t.InitialAccessToken, err = s.initialToken()
	if err != nil {
		return nil, err
	}
	return t, t.Check()
}

// AddPerson adds a person who has a value for every claim (OIDC Core §5.1).
func (s *Server) AddPerson(u target.User) error {
	_, err := s.CLI(u.Password+"\n", "user", "add", u.Username, "--password-stdin", "--email", u.Username+"@example.com",
		"--first-name", "Alice", "--last-name", "Liddell", "--group", "readers", "--email-verified", "--middle-name", "Pleasance", "--nickname", "al",
		"--gender", "female", "--birthdate", "0000-05-04", "--zoneinfo", "Europe/London", "--locale", "en-GB",
		"--phone-number", "+441865276150", "--phone-number-verified", "--profile", "https://alice.example/",
		"--picture", "https://alice.example/p.png", "--website", "https://alice.example/w",
		"--address", "Christ Church\nOxford", "--street-address", "Christ Church", "--locality", "Oxford", "--country", "UK")
	return err
}

// CLI runs the binary with arguments, and returns its output.
func (s *Server) CLI(stdin string, args ...string) (string, error) {
	path, err := Binary()
	if err != nil {
		return "", err
	}
	cmd := exec.Command(path, args...)
	cmd.Dir, cmd.Env, cmd.Stdin = s.dir, Environment(), strings.NewReader(stdin)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err = cmd.Run()
	if err != nil {
		return "", fmt.Errorf("mandate %s: %w\n%s", strings.Join(args, " "), err, &stderr)
	}
	return stdout.String(), nil
}

// stop stops the server. Its log must not contain a panic.
func (s *Server) stop() error {
	if s.cmd == nil || s.cmd.Process == nil {
		return nil
	}
	_ = s.cmd.Process.Signal(syscall.SIGTERM) // it may have ended already; the exit code shows it
	select {
	case <-s.exited:
	case <-time.After(30 * time.Second):
		_ = s.cmd.Process.Kill()
		<-s.exited
		return errors.New("the server did not end within 30 s of SIGTERM")
	}
	if code := s.cmd.ProcessState.ExitCode(); code != 0 {
		return fmt.Errorf("the server exited with %d:\n%s", code, s.log.String())
	}
	if regexp.MustCompile(`(?i)\bpanic\b|DATA RACE`).MatchString(s.log.String()) {
		return fmt.Errorf("the server's log contains a panic:\n%s", s.log.String())
	}
	return nil
}
