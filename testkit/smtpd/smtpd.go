// Package smtpd runs an SMTP server for tests: Debian's aiosmtpd, which is not our code. It keeps
// the messages that it accepts. It refuses the recipients whose names begin with "refused" for
// good and those that begin with "later" for now, senders that begin with "refused", and the content of
// a message for "unwanted". It ends without an answer, after it has kept a message, if the recipient begins
// with "dropped", and does not take leave if it begins with "unfriendly".
package smtpd

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	_ "embed" // the program
	"encoding/json"
	"encoding/pem"
	"io"
	"math/big"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	"net"
	"net/mail"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"mandate/testkit"
	"mandate/testkit/port"
)

//go:embed smtpd.py
var program []byte

const python = "/usr/bin/python3" // the one that Debian's packages are for

// Options describe the server.
type Options struct {
	TLS      bool   // STARTTLS is required
	Implicit bool   // TLS from the first byte
	User     string // authentication is required
	Password string
}

// Server is an SMTP server that a test can stop and start again.
type Server struct {
	Address     string // host:port
	Certificate string // the path of its certificate, for 127.0.0.1 and smtp.example.org
	options     Options
	dir         string
	cmd         *exec.Cmd
}

// Message is one message that the server has accepted.
type Message struct {
	From  string
	To    []string
	Data  string
	TLS   bool
	Login string // who has authenticated

	Header     mail.Header `json:"-"`
	Text, HTML string      `json:"-"`
}

// Start starts a server, which stops with the test.
func Start(t testing.TB, o Options) *Server {
	t.Helper()
	if exec.Command(python, "-c", "import aiosmtpd").Run() != nil {
		testkit.Missing(t, "aiosmtpd is not installed: apt-get install python3-aiosmtpd")
	}
	s := &Server{Address: port.Address(), options: o, dir: t.TempDir()}
	err := os.WriteFile(filepath.Join(s.dir, "smtpd.py"), program, 0o600)
	if err == nil && (o.TLS || o.Implicit) {
		s.Certificate = filepath.Join(s.dir, "certificate.pem")
		err = s.writeCertificate()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	s.Restart(t)
	return s
}

// Restart starts the server again at the same address, after Stop.
func (s *Server) Restart(t testing.TB) {
	t.Helper()
	_, number, err := net.SplitHostPort(s.Address)
	if err != nil {
		t.Fatal(err)
	}
	key, implicit := "", ""
	if s.Certificate != "" {
		key = filepath.Join(s.dir, "key.pem")
	}
	if s.options.Implicit {
		implicit = "implicit"
	}
	s.cmd = exec.Command(python, filepath.Join(s.dir, "smtpd.py"), s.dir, number, s.Certificate, key, implicit,
		s.options.User, s.options.Password)
	s.cmd.Stderr = os.Stderr
	out, err := s.cmd.StdoutPipe()
	if err == nil {
		err = s.cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || line != "listens\n" {
		t.Fatalf("the SMTP server printed %q: %v", line, err)
	}
}

// Stop ends the server. Its messages remain.
func (s *Server) Stop() {
	if s.cmd == nil {
		return
	}
	_ = s.cmd.Process.Kill() // it may have ended by itself
	_ = s.cmd.Wait()         // its exit code is that of the signal
	s.cmd = nil
}

// Messages returns the messages that the server has accepted.
func (s *Server) Messages(t testing.TB) []Message {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(s.dir, "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(files)
	var found []Message
	for _, file := range files {
		text, err := os.ReadFile(file)
		var m Message
		if err == nil {
			err = json.Unmarshal(text, &m)
		}
		if err == nil {
			err = m.read()
		}
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		found = append(found, m)
	}
	return found
}

// read reads the two parts of a message.
func (m *Message) read() error {
	parsed, err := mail.ReadMessage(strings.NewReader(m.Data))
	if err != nil {
		return err
	}
	m.Header = parsed.Header
	_, parameters, err := mime.ParseMediaType(m.Header.Get("Content-Type"))
	if err != nil {
		return err
	}
	parts := multipart.NewReader(parsed.Body, parameters["boundary"])
	for {
		part, err := parts.NextRawPart()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		text, err := io.ReadAll(quotedprintable.NewReader(part))
		if err != nil {
			return err
		}
		content := strings.ReplaceAll(string(text), "\r\n", "\n")
		if strings.HasPrefix(part.Header.Get("Content-Type"), "text/html") {
			m.HTML = content
		} else {
			m.Text = content
		}
	}
}

// writeCertificate makes a certificate that signs itself.
func (s *Server) writeCertificate() error {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "smtp.example.org"},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		DNSNames:    []string{"smtp.example.org"}, NotBefore: time.Now().Add(-time.Hour),
		NotAfter:              time.Now().AddDate(1, 0, 0),
		BasicConstraintsValid: true, IsCA: true,
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
	signed, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		return err
	}
	key, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return err
	}
	err = os.WriteFile(s.Certificate, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: signed}), 0o600)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(s.dir, "key.pem"), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key}),
		0o600)
}
