package mandate

import (
	"crypto/rand"
	"crypto/tls"
	"encoding/base64"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"mandate/testkit"
	"mandate/testkit/port"
)

// nginx of Debian does TLS, and passes the certificates of clients.

const nginxProgram = "/usr/sbin/nginx"

// The lines of docs/deployment.md for nginx.
const (
	nginxPasses  = `proxy_set_header X-Client-Cert $ssl_client_escaped_cert;`
	nginxAsks    = `ssl_verify_client optional_no_ca;`
	nginxRemoves = `proxy_set_header X-Client-Cert "";`
	nginxHeaders = `proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;`
)

// TestRehearsalFAPINginx performs the flow of each kind of client behind a reverse proxy, on both
// databases.
func TestRehearsalFAPINginx(t *testing.T) {
	onADatabase(t, func(t *testing.T, db database) {
		r := newRehearsalBehindNginx(t, db)
		for _, v := range variants {
			t.Run(v.name, func(t *testing.T) {
				one, two := r.pair(t, v)
				happyFlow(t, one, two)
				refreshes(t, one, two)
			})
		}
	})
}

// newRehearsalBehindNginx starts a server without TLS, and nginx in front of it at two addresses.
func newRehearsalBehindNginx(t testing.TB, db database) *rehearsal {
	t.Helper()
	ownProcesses(t)
	_, err := os.Stat(nginxProgram)
	if err != nil {
		testkit.Missing(t, "nginx is not installed: apt-get install nginx")
	}
	ours, c := newIssuer(t), newCertificate(t)
	plain, mutual := port.Address(), port.Address()
	key := make([]byte, 32)
	_, _ = rand.Read(key) // it cannot fail
	s := newServer(t, options{database: db,
		settings: []string{"SAMPLE_API: true", "TRUSTED_PROXIES: [127.0.0.1]", "MTLS_CERTIFICATE_HEADER: X-Client-Cert",
			"MTLS_BASE_URL: https://" + mutual, "MTLS_CLIENT_AUTHORITIES_FILE: " +
				quote(writePEM(t, "CERTIFICATE", ours.certificate.Raw))},
		provider: []string{"OIDC_ENABLED: true", openidScopes, "RESOURCE_SERVER_TOKEN_CACHING_SECONDS: 0"}}, "https://"+plain,
		base64.StdEncoding.EncodeToString(key), &vault{})
	s.mustCLI(t, "", "migrate")
	s.start(t)
	s.nginx(t, c, map[string]string{plain: nginxRemoves, mutual: nginxPasses})
	r := &rehearsal{&server{BaseURL: s.BaseURL, Issuer: s.Issuer, dir: s.dir, config: s.config, secrets: s.secrets,
		options: options{tls: &tls.Config{RootCAs: c.trust}}}, "https://" + mutual, ours, person{}}
	r.server = r.reached(s.BaseURL, nil)
	r.alice = r.somebody(t, "alice")
	return r
}

// nginx starts nginx with these addresses, and the line about the certificate of each.
func (s *server) nginx(t testing.TB, c *certificate, at map[string]string) {
	t.Helper()
	documented, err := os.ReadFile(filepath.Join("..", "..", "docs", "deployment.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{nginxPasses, nginxAsks, nginxRemoves, nginxHeaders} {
		if !strings.Contains(string(documented), line) {
			t.Errorf("docs/deployment.md does not have the line %s", line)
		}
	}
	dir := t.TempDir()
	config := "daemon off; master_process off; pid pid; error_log stderr; events {} http { access_log off;\n"
	for _, path := range []string{"client_body", "proxy", "fastcgi", "uwsgi", "scgi"} {
		config += path + "_temp_path " + filepath.Join(dir, path) + ";\n"
	}
	for address, line := range at {
		asks := ""
		if line == nginxPasses {
			asks = nginxAsks
		}
		config += fmt.Sprintf("server { listen %s ssl; ssl_certificate %s; ssl_certificate_key %s; ssl_protocols TLSv1.2 "+
			"TLSv1.3; %s\nlocation / { proxy_pass %s; proxy_http_version 1.1; proxy_set_header Connection \"\"; %s %s } }\n",
			address, c.file, c.key, asks, s.URL, nginxHeaders, line)
	}
	file := filepath.Join(dir, "nginx.conf")
	err = os.WriteFile(file, []byte(config+"}\n"), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	var log logBuffer
	p, err := launch(exec.Command(nginxProgram, "-p", dir, "-c", file), &log)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = p.cmd.Process.Signal(syscall.SIGTERM) // it may have ended
		select {
		case <-p.exited:
		case <-time.After(30 * time.Second):
			_ = p.cmd.Process.Kill()
			<-p.exited
			t.Error("nginx did not end within 30 s of SIGTERM")
		}
		if t.Failed() {
			t.Logf("log of nginx:\n%s", log.String())
		}
	})
	for address := range at {
		waitFor(t, "nginx answers at "+address, func() bool {
			if !p.running() {
				t.Fatalf("nginx has ended:\n%s", log.String())
			}
			conn, err := tls.Dial("tcp", address, &tls.Config{RootCAs: c.trust})
			if err == nil {
				conn.Close()
			}
			return err == nil
		})
	}
}
