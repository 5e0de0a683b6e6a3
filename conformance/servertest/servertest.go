// Package servertest runs the built server for tests, with a person and a client for each role.
package servertest

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sync"
	"syscall"
	"testing"
	"time"

	"mandate/conformance/engine"
	"mandate/conformance/need"
	"mandate/conformance/rules"
	"mandate/conformance/target"
	"mandate/storage/postgrestest"
	"mandate/testkit"
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

// Watched says that the servers have the race detector. A package that wants it sets it before its first test.
var Watched bool

// watchedBinary builds the program once with the race detector.
var watchedBinary = sync.OnceValues(func() (string, error) {
	return testkit.Built(root(), workDir, true)
})

// settings of the server, except for its address and its database.
const settings = `SAMPLE_API: true
OUTBOUND_ALLOWED_NETWORKS: [127.0.0.0/8]
PASSWORD_HASH_MEMORY_KIB: 7168
PASSWORD_HASH_ITERATIONS: 5
OAUTH2_PROVIDER:
  SCOPES: {read: Read scope, write: Write scope, groups: Groups, introspection: Introspect}
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
		// Many rules run at once, and the default of 5 seconds is short for a connection on a busy machine.
		address = postgrestest.URL(lasting{t}) + "&connect_timeout=20"
	}
	s := &Server{dir: filepath.Join(workDir, name), exited: make(chan struct{}), tls: name == Secured}
	servers[name] = s
	s.err = s.Start(address)
	if s.err != nil {
		t.Fatal(s.err)
	}
	return s
}

// Secured is the name of a SQLite database whose server does TLS itself, and asks clients for certificates itself.
const Secured = "secured"

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
	program := Binary
	if Watched {
		program = watchedBinary
	}
	path, err := program()
	if err != nil {
		return err
	}
	err = s.prepare()
	if err != nil {
		return err
	}
	key := make([]byte, 32)
	_, _ = rand.Read(key) // it cannot fail
	listeners, err := s.listeners(port.Address())
	if err != nil {
		return err
	}
	config := fmt.Sprintf("BASE_URL: %q\nDATABASE_URL: %q\nSECRET_KEY: %s\nMTLS_CLIENT_AUTHORITIES_FILE: %q\n%s%s",
		s.known(), database, base64.StdEncoding.EncodeToString(key), s.clients.path("authority"), listeners, settings)
	err = os.WriteFile(filepath.Join(s.dir, "mandate.yaml"), []byte(config), 0o600)
	if err != nil {
		return err
	}
	_, err = s.CLI("", "migrate")
	if err != nil {
		return err
	}
	s.cmd = exec.Command(path, "serve")
	s.cmd.Dir, s.cmd.Env, s.cmd.Stdout, s.cmd.Stderr = s.dir, append(Environment(), "SSL_CERT_FILE="+s.Certificate()),
		&s.log, &s.log
	err = s.launch()
	if err != nil {
		return err
	}
	target, err := s.target()
	if err != nil {
		return err
	}
	s.Certified, err = s.WithCertificates(target, need.CertificateAuth)
	if err != nil {
		return err
	}
	s.Runner, err = engine.NewRunner(context.Background(), target, rules.Documents(), s.Options())
	return err
}

// listeners chooses the addresses of the server, and returns its settings for them.
func (s *Server) listeners(listen string) (string, error) {
	if s.tls {
		mutual := port.Address()
		s.URL, s.mutual = "https://"+listen, "https://"+mutual
		return fmt.Sprintf("LISTEN: %q\nTLS_CERTIFICATE_FILE: %q\nTLS_KEY_FILE: %q\nMTLS_LISTEN: %q\n", listen,
			s.Certificate(), s.key(), mutual), nil
	}
	var err error
	s.URL = "http://" + listen
	s.mutual, err = s.askForCertificates()
	return fmt.Sprintf("LISTEN: %q\nTRUSTED_PROXIES: [127.0.0.0/8]\nMTLS_BASE_URL: %q\nMTLS_CERTIFICATE_HEADER: "+
		"Client-Cert\n", listen, s.mutual), err
}

// prepare makes the folder of the server, and in it the certificates.
func (s *Server) prepare() error {
	clients := filepath.Join(s.dir, "clients")
	err := os.MkdirAll(clients, 0o700)
	if err != nil {
		return err
	}
	_, err = target.WriteCertificate(s.Certificate(), s.key())
	if err != nil {
		return err
	}
	s.clients, err = newAuthority(clients)
	return err
}

// launch starts the process, and waits until it answers.
func (s *Server) launch() error {
	err := StartChild(s.cmd, s.exited)
	if err != nil {
		return err
	}
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: s.Options().CA}}}
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		answer, err := client.Get(s.URL + "/healthz")
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
	t := &target.Target{Issuer: s.known() + "/o", Origins: []string{s.mutual},
		User: target.User{Username: "alice", Password: "pw " + rand.Text()}, Clients: map[need.Need]*target.Client{},
		API: target.API{URL: s.known() + "/resource", Restricted: s.known() + "/groups/", Scope: "groups",
			Resource: s.known(), Certified: s.mutual}, Backchannel: port.Address(),
		Documents: target.Documents{Listen: port.Address(), Certificate: s.Certificate(), Key: s.key()}}
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
	for _, api := range []target.Resource{{URI: "https://one.example/v1", Scope: "read"},
		{URI: "https://two.example/v1", Scope: "write"}} {
		_, err := s.CLI("", "resource", "add", api.URI, "--name", api.URI, "--scope", api.Scope, "--scope", "read",
			"--introspector", t.Clients[need.Introspect].ID)
		if err != nil {
			return nil, err
		}
		t.Resources = append(t.Resources, api)
	}
	t.Register = target.Once
	t.InitialAccessToken, err = s.initialToken()
	if err != nil {
		return nil, err
	}
	return t, t.Check()
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
		return fmt.Errorf("the server's log contains a panic or a race:\n%s", s.log.String())
	}
	return nil
}
