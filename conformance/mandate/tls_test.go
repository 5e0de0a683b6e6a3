package mandate

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"mandate/conformance/target"
	"mandate/testkit"
	"mandate/testkit/port"
)

// LISTEN with TLS_CERTIFICATE_FILE and TLS_KEY_FILE: no proxy in front of the program.

// certificate is a certificate for 127.0.0.1 that signs itself, and its key.
type certificate struct {
	file, key string
	issued    *x509.Certificate
	trust     *x509.CertPool // each certificate that the files have contained
}

func newCertificate(t testing.TB) *certificate {
	t.Helper()
	dir := t.TempDir()
	c := &certificate{file: filepath.Join(dir, "certificate.pem"), key: filepath.Join(dir, "key.pem"),
		trust: x509.NewCertPool()}
	c.renew(t)
	return c
}

// renew replaces the files by those of a new key.
func (c *certificate) renew(t testing.TB) {
	t.Helper()
	var err error
	c.issued, err = target.WriteCertificate(c.file, c.key)
	if err != nil {
		t.Fatal(err)
	}
	c.trust.AddCert(c.issued)
}

// options returns the options of a server with the certificate.
func (c *certificate) options(o options) options {
	o.settings = append(o.settings, "TLS_CERTIFICATE_FILE: "+quote(c.file), "TLS_KEY_FILE: "+quote(c.key))
	o.tls = &tls.Config{RootCAs: c.trust}
	return o
}

func TestTLSFlow(t *testing.T) {
	t.Parallel()
	c := newCertificate(t)
	s := startServer(t, c.options(options{settings: []string{"SAMPLE_API: true"}}))
	if !strings.HasPrefix(s.URL, "https://") {
		t.Error(s.URL)
	}
	s.says(t, "Mandate listens at "+s.URL+".", 0)
	response, err := s.client.Get(s.URL + "/.well-known/oauth-authorization-server/o")
	if err != nil {
		t.Fatal(err)
	}
	var metadata struct{ Issuer string }
	err = json.NewDecoder(response.Body).Decode(&metadata)
	response.Body.Close()
	if err != nil || metadata.Issuer != s.URL+"/o" || response.Proto != "HTTP/2.0" ||
		response.Header.Get("Strict-Transport-Security") == "" {
		t.Errorf("%v: issuer %q by %s, %v", err, metadata.Issuer, response.Proto, response.Header)
	}

	alice, app := s.person(t, "alice"), s.whole(t, "all grants")
	b := s.browser(t)
	address, verifier := s.authorizeURL(app)
	issued := s.redeem(t, app, b.code(t, address, alice), verifier)
	refreshed := s.mustToken(t, app.auth(), params("grant_type", "refresh_token", "refresh_token", issued.RefreshToken))
	// The sample API introspects the token at this process, by TLS too.
	for token, want := range map[string]int{refreshed.AccessToken: http.StatusOK,
		"mat_invented": http.StatusUnauthorized} {
		if a := s.get(t, "/users/", bearer(token)); a.Status != want {
			t.Errorf("the sample API: %d, want %d: %s", a.Status, want, a.Body)
		}
	}
	if a := s.get(t, "/readyz", nobody); a.Status != http.StatusOK {
		t.Errorf("readiness: %d", a.Status)
	}

	plain, err := http.Get(strings.Replace(s.URL, "https:", "http:", 1) + "/")
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(plain.Body)
	plain.Body.Close()
	if err != nil || plain.StatusCode != http.StatusBadRequest || !strings.Contains(string(text), "HTTPS") {
		t.Errorf("plain http: %d %q, %v", plain.StatusCode, text, err)
	}
}

// Another implementation of TLS and HTTP/2: its client credentials request, with each
// version.
func TestTLSWithCurl(t *testing.T) {
	t.Parallel()
	curl := testkit.Program(t, "curl", "curl")
	c := newCertificate(t)
	s := startServer(t, c.options(options{}))
	robot := s.application(t, "--name", "Robot", "--grant", "client_credentials")
	for name, test := range map[string]struct {
		args []string
		ok   bool
	}{
		"TLS 1.3":              {[]string{"--tlsv1.3"}, true},
		"TLS 1.2":              {[]string{"--tls-max", "1.2"}, true},
		"TLS 1.2 with AES-CBC": {[]string{"--tls-max", "1.2", "--ciphers", "ECDHE-ECDSA-AES128-SHA"}, false},
		"TLS 1.1":              {[]string{"--tlsv1.1", "--tls-max", "1.1", "--ciphers", "DEFAULT@SECLEVEL=0"}, false},
	} {
		cmd := exec.Command(curl, append(test.args, "--silent", "--show-error", "--cacert", c.file, "--config", "-", "--data",
			"grant_type=client_credentials", s.URL+"/o/token/")...)
		cmd.Stdin = strings.NewReader("user = " + quote(robot.ClientID+":"+robot.ClientSecret) + "\n")
		out, err := cmd.Output()
		var got tokens
		if test.ok {
			err = json.Unmarshal(out, &got)
		}
		if (err == nil && got.AccessToken != "") != test.ok {
			t.Errorf("%s: %v: %s", name, err, out)
		}
		s.secret(got.AccessToken)
	}
}

// A renewed certificate is used without a restart, and open connections remain.
func TestTLSRenewal(t *testing.T) {
	t.Parallel()
	c := newCertificate(t)
	s := startServer(t, c.options(options{}))
	shows := func() *x509.Certificate {
		conn, err := tls.Dial("tcp", strings.TrimPrefix(s.URL, "https://"), s.options.tls)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		return conn.ConnectionState().PeerCertificates[0]
	}
	first := c.issued
	if !shows().Equal(first) {
		t.Fatal("not the certificate of the file")
	}
	err := os.WriteFile(c.key, []byte("no key\n"), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	const kept = "the earlier certificate remains in use"
	waitFor(t, "the server logs that the key is wrong", func() bool {
		if !shows().Equal(first) {
			t.Fatal("with a wrong key, the certificate changed")
		}
		return strings.Contains(s.log.String(), kept)
	})
	c.renew(t)
	waitFor(t, "the server uses the new certificate", func() bool { return shows().Equal(c.issued) })
	if n := strings.Count(s.log.String(), kept); n != 1 {
		t.Errorf("%d lines about the wrong key, want 1", n)
	}
	if a := s.get(t, "/readyz", nobody); a.Status != http.StatusOK {
		t.Errorf("an open connection: %d", a.Status)
	}
}

func TestTLSResourceServer(t *testing.T) {
	t.Parallel()
	c := newCertificate(t)
	s := startServer(t, c.options(options{}))
	robot := s.application(t, "--name", "Robot", "--grant", "client_credentials")
	asker := s.introspector(t)
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, r.Header.Get("X-Forwarded-Proto"))
	}))
	t.Cleanup(api.Close)
	protects := func(api string) *server {
		return s.guardWith(t, c.options(options{env: []string{"SSL_CERT_FILE=" + c.file}, provider: []string{
			"RESOURCE_SERVER_INTROSPECTION_URL: " + quote(s.URL+"/o/introspect/"),
			"RESOURCE_SERVER_INTROSPECTION_CREDENTIALS: [" + quote(asker.ClientID) + ", " + quote(asker.ClientSecret) + "]",
		}}), api, []string{"{PATH: /, SCOPES: [read], WEBSOCKET: true}"})
	}
	g := protects(api.URL)
	if !strings.HasPrefix(g.URL, "https://") {
		t.Error(g.URL)
	}
	g.says(t, "at "+g.URL, 0)
	issued := s.mustToken(t, robot.auth(), params("grant_type", "client_credentials"))
	for token, want := range map[string]answer{issued.AccessToken: {Status: http.StatusOK, Body: "https"},
		"mat_invented": {Status: http.StatusUnauthorized}} {
		a := g.get(t, "/", bearer(token))
		if a.Status != want.Status || want.Body != "" && a.Body != want.Body {
			t.Errorf("%d %q, want %d %q", a.Status, a.Body, want.Status, want.Body)
		}
	}

	// A WebSocket has a connection of its own, with HTTP/1.1.
	sockets := newSwitcher(t)
	sockets.answers(accepting)
	conn, _, response := protects(sockets.url).switches(t, "/", issued.AccessToken, handshake()...)
	if response.StatusCode != http.StatusSwitchingProtocols {
		t.Fatalf("a WebSocket: %d", response.StatusCode)
	}
	const frame = "\x89\x80\x00\x00\x00\x00" // a ping
	_, err := io.WriteString(conn, frame)
	if err != nil {
		t.Fatal(err)
	}
	arrived := ""
	waitFor(t, "the frame arrives", func() bool { arrived += sockets.got(); return arrived == frame })
}

// A start that cannot work ends with a text that names the setting. Commands that serve
// nothing do not read the files, since their account may not be allowed to.
func TestTLSStart(t *testing.T) {
	one, other := newCertificate(t), newCertificate(t)
	api := []string{"UPSTREAM: http://127.0.0.1:1", "RULES: [{PATH: /}]", "OAUTH2_PROVIDER:",
		"  RESOURCE_SERVER_INTROSPECTION_URL: http://127.0.0.1:1/", "  RESOURCE_SERVER_AUTH_TOKEN: x"}
	for name, test := range map[string]struct {
		certificate, key, base string
		want                   string
	}{
		"no such file":  {one.file, one.key + ".missing", "", "TLS_KEY_FILE: "},
		"another key":   {one.file, other.key, "", "the second needs the private key of the server's certificate"},
		"no key":        {one.file, "", "", "TLS_CERTIFICATE_FILE: needs TLS_KEY_FILE"},
		"BASE_URL http": {one.file, one.key, "http://127.0.0.1:8000", "BASE_URL: is plain http, but LISTEN speaks TLS"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			lines := append([]string{"LISTEN: " + quote(port.Address())}, cheap...)
			for key, value := range map[string]string{"TLS_CERTIFICATE_FILE": test.certificate, "TLS_KEY_FILE": test.key,
				"BASE_URL": test.base} {
				if value != "" {
					lines = append(lines, key+": "+quote(value))
				}
			}
			config := filepath.Join(dir, "mandate.yaml")
			start := func(lines []string, args ...string) {
				t.Helper()
				err := os.WriteFile(config, []byte(strings.Join(lines, "\n")+"\n"), 0o600)
				if err != nil {
					t.Fatal(err)
				}
				r := run(t, dir, nil, "", append(args, "--config", config)...)
				if r.code != 1 || r.stdout != "" || !strings.Contains(r.stderr, test.want) {
					t.Errorf("%v: exit code %d, %q, %q without %q", args, r.code, r.stdout, r.stderr, test.want)
				}
			}
			start(lines, "serve")
			start(lines, "config", "check")
			start(append(lines, api...), "resource-server")
			start(append(lines, api...), "config", "check")
		})
	}
	s := startServer(t, one.options(options{}))
	err := os.Remove(one.key)
	if err != nil {
		t.Fatal(err)
	}
	s.mustCLI(t, "", "application", "list")
}
