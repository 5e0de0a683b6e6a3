package programs

import (
	"bytes"
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"mandate/conformance/servertest"
	"mandate/conformance/target"
	"mandate/testkit/port"
)

// server is Mandate with its default settings. It may call this machine, where the programs are.
type server struct {
	dir    string
	issuer string
	client *http.Client // trusts its certificate
	ca     string       // the file of its certificate, if it has one
}

const settings = `BASE_URL: %q
LISTEN: %q
OUTBOUND_ALLOWED_NETWORKS: [127.0.0.0/8]
`

// alice is the person who signs in.
var alice = struct{ username, password string }{"alice", "correct horse battery staple"}

// startServer runs the server until the end of the test. secured has TLS.
func startServer(t *testing.T, secured bool) *server {
	t.Helper()
	listen := port.Address()
	return startAt(t, listen, listen, secured)
}

// startAt runs the server on an address, which people and programs reach by a name with the same port.
func startAt(t *testing.T, listen, host string, secured bool) *server {
	t.Helper()
	s := &server{dir: t.TempDir(),
		client: &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
	scheme, config := "http://", ""
	if secured {
		s.ca = filepath.Join(s.dir, "certificate.pem")
		key := filepath.Join(s.dir, "key.pem")
		certificate, err := target.WriteCertificate(s.ca, key)
		if err != nil {
			t.Fatal(err)
		}
		scheme, config = "https://", fmt.Sprintf("TLS_CERTIFICATE_FILE: %q\nTLS_KEY_FILE: %q\n", s.ca, key)
		pool := x509.NewCertPool()
		pool.AddCert(certificate)
		s.client.Transport = &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}
	}
	base := scheme + host
	s.issuer = base + "/o"
	err := os.WriteFile(filepath.Join(s.dir, "mandate.yaml"), fmt.Appendf(nil, settings+config, base, listen), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	s.cli(t, "", "migrate")
	s.cli(t, "", "group", "add", "staff")
	s.cli(t, "", "group", "add", "admins")
	s.cli(t, alice.password+"\n", "user", "add", alice.username, "--password-stdin", "--email", "alice@example.com",
		"--email-verified",
		"--first-name", "Alice", "--last-name", "Liddell", "--group", "staff", "--group", "admins")
	path, err := servertest.Binary()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, "serve")
	cmd.Dir, cmd.Env = s.dir, servertest.Environment()
	servertest.Serve(t, cmd, s.client, scheme+listen+"/healthz", func(status int) bool { return status == http.StatusOK })
	return s
}

// cli runs the program with arguments, and returns its output.
func (s *server) cli(t *testing.T, stdin string, args ...string) string {
	t.Helper()
	path, err := servertest.Binary()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, args...)
	var stdout, stderr bytes.Buffer
	cmd.Dir, cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = s.dir, servertest.Environment(), strings.NewReader(stdin),
		&stdout, &stderr
	err = cmd.Run()
	if err != nil {
		t.Fatalf("mandate %s: %v\n%s", strings.Join(args, " "), err, &stderr)
	}
	return stdout.String()
}

// register registers an application as an operator does, and returns its identifier and its secret.
func (s *server) register(t *testing.T, p program, redirectURIs ...string) (id, secret string) {
	t.Helper()
	arguments := append(
		[]string{"application", "add", "--json", "--name", p.name, "--grant", cmp.Or(p.grant, "authorization_code")},
		p.flags...)
	for _, uri := range redirectURIs {
		arguments = append(arguments, "--redirect-uri", uri)
	}
	var made struct {
		ID     string `json:"client_id"`
		Secret string `json:"client_secret"`
	}
	err := json.Unmarshal([]byte(s.cli(t, "", arguments...)), &made)
	if err != nil {
		t.Fatal(err)
	}
	return made.ID, made.Secret
}

// registerFor registers the program by its name, and keeps the settings that Mandate prints for it.
func (s *site) registerFor(t *testing.T, preset, below string) {
	t.Helper()
	var made struct {
		ID       string                `json:"client_id"`
		Secret   string                `json:"client_secret"`
		Settings struct{ Text string } `json:"settings"`
	}
	err := json.Unmarshal(
		[]byte(s.server.cli(t, "", "application", "add", "--json", "--for", preset, "--url", s.url(below))),
		&made,
	)
	if err != nil {
		t.Fatal(err)
	}
	s.id, s.secret, s.printed = made.ID, made.Secret, made.Settings.Text
}

// base returns the address under which its pages are.
func (s *server) base() string { return strings.TrimSuffix(s.issuer, "/o") }
