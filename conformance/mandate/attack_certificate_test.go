package mandate

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mandate/testkit"
	"mandate/testkit/port"
)

// Clients that authenticate with a certificate (RFC 8705 §2.1).

// issuer is an authority that issues the certificates of clients.
type issuer struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

func newIssuer(t testing.TB) *issuer {
	t.Helper()
	a := &issuer{}
	made := a.issue(t, x509.Certificate{Subject: pkix.Name{CommonName: "Authority"}, IsCA: true,
		BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign})
	a.certificate, a.key = made.Leaf, made.PrivateKey.(*ecdsa.PrivateKey)
	return a
}

// issue returns a certificate. The first one signs itself.
func (a *issuer) issue(t testing.TB, template x509.Certificate) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template.SerialNumber = big.NewInt(time.Now().UnixNano())
	if template.NotAfter.IsZero() {
		template.NotBefore, template.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	}
	parent, signer := a.certificate, a.key
	if parent == nil {
		parent, signer = &template, key
	}
	der, err := x509.CreateCertificate(rand.Reader, &template, parent, &key.PublicKey, signer)
	if err != nil {
		t.Fatal(err)
	}
	made := tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
	made.Leaf, err = x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// client returns the certificate of a client with a DNS name.
func (a *issuer) client(t testing.TB, name string) tls.Certificate {
	t.Helper()
	return a.issue(t, x509.Certificate{Subject: pkix.Name{CommonName: name, Organization: []string{"Example, Inc."}},
		DNSNames: []string{name}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
}

func writePEM(t testing.TB, kind string, der []byte) string {
	t.Helper()
	return writeText(t, string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})))
}

// writeText writes a new file, and returns its path.
func writeText(t testing.TB, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "file")
	err := os.WriteFile(file, []byte(text), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// withCertificates returns a server with a listener for certificates of this authority, and the
// URL of the listener.
func withCertificates(t testing.TB, db database, a *issuer, settings ...string) (*server, string) {
	t.Helper()
	at := port.Address()
	c := newCertificate(t)
	s := startServer(t, c.options(options{database: db,
		settings: append(settings, "MTLS_LISTEN: "+quote(at),
			"MTLS_CLIENT_AUTHORITIES_FILE: "+quote(writePEM(t, "CERTIFICATE", a.certificate.Raw)))}))
	return s, "https://" + at
}

// issued returns the access token of an answer, which must have one.
func (a answer) issued(t testing.TB, name string) string {
	t.Helper()
	var issued tokens
	a.decode(t, &issued)
	if a.Status != http.StatusOK || issued.AccessToken == "" {
		t.Errorf("%s: %d %s", name, a.Status, a.Body)
	}
	return issued.AccessToken
}

// wrongClient checks that an answer is invalid_client with a text.
func (a answer) wrongClient(t testing.TB, name, text string) {
	t.Helper()
	err := a.refused(http.StatusUnauthorized, "invalid_client")
	if err != nil || !strings.Contains(a.Body, text) {
		t.Errorf("%s: %v, want %q: %s", name, err, text, a.Body)
	}
}

// by sends a form to a URL, with a certificate or without.
func (s *server) by(t testing.TB, certificate *tls.Certificate, to string, form url.Values, header http.Header) answer {
	t.Helper()
	request, err := http.NewRequest(http.MethodPost, to, strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	request.Header = header.Clone()
	if request.Header == nil {
		request.Header = http.Header{}
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return s.shows(t, certificate, request)
}

// fetch gets a URL, with a certificate or without.
func (s *server) fetch(t testing.TB, certificate *tls.Certificate, from string, header http.Header) answer {
	t.Helper()
	request, err := http.NewRequest(http.MethodGet, from, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header = header
	return s.shows(t, certificate, request)
}

// shows sends a request over a connection with a certificate, or without.
func (s *server) shows(t testing.TB, certificate *tls.Certificate, request *http.Request) answer {
	t.Helper()
	config := s.options.tls.Clone()
	if config == nil {
		config = &tls.Config{}
	}
	if certificate != nil {
		config.Certificates = []tls.Certificate{*certificate}
	}
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: config, ForceAttemptHTTP2: true},
		Timeout: time.Minute}
	defer client.CloseIdleConnections()
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	got := answer{Status: response.StatusCode, Header: response.Header, Body: string(text)}
	var issued struct {
		Token string `json:"access_token"`
	}
	if json.Unmarshal(text, &issued) == nil {
		s.secret(issued.Token)
	}
	return got
}

// RFC 8705 §2: the certificate must be the one that is registered for the client_id, and an
// authority of this server must have issued it.
func TestAttackCertificateOfAnother(t *testing.T) {
	attack(t, "client authentication with a certificate that is not the client's", "")
	onADatabase(t, func(t *testing.T, db database) {
		ours, stranger := newIssuer(t), newIssuer(t)
		s, mutual := withCertificates(t, db, ours)
		register := func(subject string) application {
			return s.application(t, "--name", "With a certificate", "--grant", "client_credentials", "--may-introspect",
				"--certificate-subject", subject)
		}
		app, other := register("san_dns=client.example"), register(`subject_dn=CN=other.example,O=Example\, Inc.`)
		secret := s.application(t, "--name", "With a secret", "--grant", "client_credentials")
		if app.ClientSecret != "" {
			t.Error("an application with a certificate gets a secret")
		}
		own, others := ours.client(t, "client.example"), ours.client(t, "other.example")
		token, ordinary := mutual+"/o/token/", s.URL+"/o/token/"
		form := func(a application, more ...string) url.Values {
			return params(append([]string{"grant_type", "client_credentials", "client_id", a.ClientID}, more...)...)
		}
		forged, self := stranger.client(t, "client.example"), (&issuer{}).client(t, "client.example")
		expired := ours.issue(t,
			x509.Certificate{DNSNames: []string{"client.example"}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
				NotBefore: time.Now().Add(-2 * time.Hour), NotAfter: time.Now().Add(-time.Hour)})
		server := ours.issue(t,
			x509.Certificate{DNSNames: []string{"client.example"}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}})
		passed := http.Header{"Client-Cert": {":" + base64.StdEncoding.EncodeToString(own.Leaf.Raw) + ":"}}
		user := http.Header{"Authorization": {"Basic " + base64.StdEncoding.EncodeToString([]byte(app.ClientID+":x"))}}
		var access string
		for name, test := range map[string]struct {
			certificate *tls.Certificate
			to          string
			form        url.Values
			header      http.Header
			want        string // "": a token
		}{
			"the client's own":     {&own, token, form(app), nil, ""},
			"another client's own": {&others, token, form(other), nil, ""},
			"a client with a secret, and no certificate": {nil, token, form(secret, "client_secret", secret.ClientSecret), nil,
				""},
			"no certificate":                  {nil, token, form(app), nil, "mtls_endpoint_aliases"},
			"the listener that asks for none": {&own, ordinary, form(app), nil, "mtls_endpoint_aliases"},
			"another client's certificate":    {&others, token, form(app), nil, "does not have the subject"},
			"the certificate without its client_id": {&own, token, params("grant_type", "client_credentials"), nil,
				"does not identify the client"},
			"the same subject from another authority": {&forged, token, form(app), nil, "not issued by an authority"},
			"the same subject, self-signed":           {&self, token, form(app), nil, "not issued by an authority"},
			"an expired certificate":                  {&expired, token, form(app), nil, "not valid now"},
			"the certificate of a server":             {&server, token, form(app), nil, "is not for clients"},
			"a header that no setting names":          {nil, token, form(app), passed, "mtls_endpoint_aliases"},
			"a secret beside it": {&own, token, form(app, "client_secret", "anything"), nil,
				"no secret"},
			"an empty secret": {nil, token, form(app, "client_secret", ""), nil,
				"mtls_endpoint_aliases"},
			"HTTP Basic beside it": {&own, token, params("grant_type", "client_credentials"), user,
				"no secret"},
			"a certificate in place of a secret": {&own, token, form(secret), nil, "must send its secret"},
		} {
			got := s.by(t, test.certificate, test.to, test.form, test.header)
			if test.want == "" {
				access = got.issued(t, name)
				continue
			}
			got.wrongClient(t, name, test.want)
		}
		// The same method serves the other endpoints.
		question := params("client_id", app.ClientID, "token", access)
		if a := s.by(t, &own, mutual+"/o/introspect/", question, nil); a.Status != http.StatusOK ||
			!strings.Contains(a.Body, `"active":true`) {
			t.Errorf("introspection: %d %s", a.Status, a.Body)
		}
		if err := s.by(t, &others, mutual+"/o/introspect/", question, nil).refused(http.StatusUnauthorized,
			"invalid_client"); err != nil {
			t.Errorf("introspection with another certificate: %v", err)
		}
		if err := s.by(t, &others, mutual+"/o/revoke_token/", question, nil).refused(http.StatusUnauthorized,
			"invalid_client"); err != nil {
			t.Errorf("revocation with another certificate: %v", err)
		}
		// There is no secret to replace.
		if r := s.cli(t, "", "application", "rotate-secret", app.ClientID); r.code == 0 ||
			!strings.Contains(r.stderr, "a certificate") {
			t.Errorf("rotate-secret: %d %s", r.code, r.stderr)
		}
	})
}

// RFC 9440 §4: a certificate in a header counts only if a trusted proxy sends it.
func TestAttackCertificateHeader(t *testing.T) {
	t.Parallel()
	attack(t, "a certificate in a header that the client sends", "keycloak-quickstarts PR 768")
	ours := newIssuer(t)
	own, others := ours.client(t, "client.example"), ours.client(t, "other.example")
	authorities := "MTLS_CLIENT_AUTHORITIES_FILE: " + quote(writePEM(t, "CERTIFICATE", ours.certificate.Raw))
	inPEM := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: own.Leaf.Raw}))
	for setting, value := range map[string]string{"Client-Cert": ":" + base64.StdEncoding.EncodeToString(own.Leaf.Raw) +
		":", "X-Client-Cert": url.PathEscape(inPEM)} {
		for proxy, want := range map[string]int{"127.0.0.0/8": http.StatusOK, "192.0.2.1": http.StatusUnauthorized} {
			s := startServer(t, options{settings: []string{"TRUSTED_PROXIES: [" + quote(proxy) + "]",
				"MTLS_CERTIFICATE_HEADER: " + setting, "MTLS_BASE_URL: https://mutual.example", authorities}})
			app := s.application(t, "--name", "With a certificate", "--grant", "client_credentials", "--certificate-subject",
				"san_dns=client.example")
			form := params("grant_type", "client_credentials", "client_id", app.ClientID)
			send := func(values ...string) answer {
				return s.by(t, nil, s.URL+"/o/token/", form, http.Header{setting: values})
			}
			if got := send(value); got.Status != want {
				t.Errorf("%s from %s: %d, want %d: %s", setting, proxy, got.Status, want, got.Body)
			}
			other := ":" + base64.StdEncoding.EncodeToString(others.Leaf.Raw) + ":"
			for name, values := range map[string][]string{"two headers": {value, value}, "another certificate": {other},
				"no certificate": {"none"}, "empty": {""}} {
				if err := send(values...).refused(http.StatusUnauthorized, "invalid_client"); err != nil {
					t.Errorf("%s from %s, %s: %v", setting, proxy, name, err)
				}
			}
			var metadata struct {
				Methods []string          `json:"token_endpoint_auth_methods_supported"`
				Aliases map[string]string `json:"mtls_endpoint_aliases"`
			}
			s.get(t, "/.well-known/oauth-authorization-server/o", nobody).decode(t, &metadata)
			if metadata.Aliases["token_endpoint"] != "https://mutual.example/o/token/" ||
				!strings.Contains(strings.Join(metadata.Methods, " "), "tls_client_auth") {
				t.Errorf("the metadata has %v, %v", metadata.Methods, metadata.Aliases)
			}
		}
	}
}

// Another implementation of TLS: curl with each version, and the registration by a request.
func TestCertificateWithCurl(t *testing.T) {
	t.Parallel()
	curl := testkit.Program(t, "curl", "curl")
	ours := newIssuer(t)
	s, mutual := withCertificates(t, newSQLite(t), ours, "OAUTH2_PROVIDER: {REGISTRATION_WITH_TOKEN: true}")
	initial := s.initialToken(t, "--uses", "2", "--may", "client_credentials")
	wanted := member{"client_name": "Robot", "grant_types": []string{"client_credentials"}, "response_types": []string{},
		"token_endpoint_auth_method": "tls_client_auth"}
	if err := s.registration(t, bearer(initial), wanted).refused(http.StatusBadRequest,
		"invalid_client_metadata"); err != nil {
		t.Errorf("without a subject: %v", err)
	}
	wanted["tls_client_auth_san_ip"], wanted["tls_client_auth_san_dns"] = "2001:db8::7", "client.example"
	if err := s.registration(t, bearer(initial), wanted).refused(http.StatusBadRequest,
		"invalid_client_metadata"); err != nil {
		t.Errorf("with two subjects: %v", err)
	}
	delete(wanted, "tls_client_auth_san_dns")
	wanted["tls_client_auth_san_ip"] = "client.example"
	refused := textOf(s.registration(t, bearer(initial), wanted).JSON(t), "error_description")
	checkEqual(t, "the mistake in a subject", refused, "tls_client_auth_san_ip is wrong: The value must be an IPv4 or "+
		"IPv6 address.")
	wanted["tls_client_auth_san_ip"] = "2001:db8::7"
	told := s.registers(t, bearer(initial), wanted)
	if textOf(told, "tls_client_auth_san_ip") != "2001:db8::7" ||
		textOf(told, "token_endpoint_auth_method") != "tls_client_auth" || told["client_secret"] != nil {
		t.Errorf("the answer is %v", told)
	}
	own := ours.issue(t,
		x509.Certificate{IPAddresses: []net.IP{net.ParseIP("2001:db8::7")},
			ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
	key, err := x509.MarshalPKCS8PrivateKey(own.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	trust := s.certificateFile(t)
	for _, version := range [][]string{{"--tlsv1.3"}, {"--tls-max", "1.2"}} {
		out, err := exec.Command(curl,
			append(version, "--silent", "--show-error", "--cacert", trust, "--cert", writePEM(t, "CERTIFICATE", own.Leaf.Raw),
				"--key", writePEM(t, "PRIVATE KEY", key),
				"--data", "grant_type=client_credentials&client_id="+textOf(told, "client_id"), mutual+"/o/token/")...).Output()
		var got tokens
		if err != nil || json.Unmarshal(out, &got) != nil || got.AccessToken == "" {
			t.Errorf("%v: %v, %s", version, err, out)
		}
		s.secret(got.AccessToken)
	}
}
