package mail

import (
	"context"
	"crypto/x509"
	"errors"
	"net"
	"net/url"
	"os"
	"strings"
	"testing"

	"mandate/testkit/smtpd"
)

func message(to string) Message {
	return Message{ID: "abc", To: to, At: 1_700_000_000,
		Mail: Letter{Subject: "Grüße", Text: "Open https://auth.example/password/reset/x/\n", HTML: "<p>Open it</p>\n"}}
}

// newSender makes a sender for a server. A host that is not an address is led to the server.
func newSender(t *testing.T, address string, to *smtpd.Server) *Sender {
	t.Helper()
	s, err := New(Config{URL: address, From: "Mandate <noreply@example.org>"})
	if err != nil {
		t.Fatal(err)
	}
	if to.Certificate != "" {
		text, err := os.ReadFile(to.Certificate)
		if err != nil {
			t.Fatal(err)
		}
		s.roots = x509.NewCertPool()
		s.roots.AppendCertsFromPEM(text)
	}
	if strings.Contains(address, "smtp.example") {
		s.dial = func(ctx context.Context, network, _ string) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, network, to.Address)
		}
	}
	return s
}

func TestSend(t *testing.T) {
	for _, test := range []struct {
		name    string
		options smtpd.Options
		url     string // HERE stands for the address of the server
		tls     bool
	}{
		{"STARTTLS and a password", smtpd.Options{TLS: true, User: "u@example.org", Password: "p@ss word"},
			"smtp://u%40example.org:p%40ss%20word@smtp.example.org", true},
		{"TLS from the first byte", smtpd.Options{Implicit: true, User: "u@example.org", Password: "secret"},
			"smtps://u%40example.org:secret@HERE", true},
		{"this machine, without TLS", smtpd.Options{}, "smtp://HERE", false},
		{"this machine, with a password", smtpd.Options{User: "u", Password: "secret"}, "smtp://u:secret@HERE", false},
		{"this machine, with a certificate that nobody issued", smtpd.Options{TLS: true, User: "u", Password: "secret"},
			"smtp://u:secret@HERE", true},
	} {
		t.Run(test.name, func(t *testing.T) {
			server := smtpd.Start(t, test.options)
			s := newSender(t, strings.ReplaceAll(test.url, "HERE", server.Address), server)
			err := s.Send(t.Context(), message("alice@example.com"))
			if err != nil {
				t.Fatal(err)
			}
			got := server.Messages(t)
			if len(got) != 1 {
				t.Fatalf("%d messages", len(got))
			}
			m := got[0]
			if m.From != "noreply@example.org" || strings.Join(m.To, ",") != "alice@example.com" || m.TLS != test.tls ||
				m.Login != test.options.User {
				t.Errorf("%+v", m)
			}
			want := message("").Mail
			if m.Text != want.Text || m.HTML != want.HTML || m.Header.Get("Subject") != "=?UTF-8?q?Gr=C3=BC=C3=9Fe?=" {
				t.Errorf("%q %q %v", m.Text, m.HTML, m.Header)
			}
			for name, value := range map[string]string{"From": `"Mandate" <noreply@example.org>`, "To": "<alice@example.com>",
				"Message-ID": "<abc@example.org>",
				"Date":       "Tue, 14 Nov 2023 22:13:20 +0000", "Auto-Submitted": "auto-generated", "User-Agent": "",
				"X-Mailer": ""} {
				if m.Header.Get(name) != value {
					t.Errorf("%s: %q, want %q", name, m.Header.Get(name), value)
				}
			}
		})
	}
}

// A check signs in as for a message, and sends none. The password is in no error.
func TestCheckSendsNothing(t *testing.T) {
	server := smtpd.Start(t, smtpd.Options{User: "u", Password: "secret"})
	for password, works := range map[string]bool{"secret": true, "wrong-word": false} {
		err := newSender(t, "smtp://u:"+password+"@"+server.Address, server).Check(t.Context())
		if (err == nil) != works || err != nil && strings.Contains(err.Error(), password) {
			t.Errorf("%s: %v", password, err)
		}
	}
	if n := len(server.Messages(t)); n != 0 {
		t.Errorf("%d messages", n)
	}
}

// A server elsewhere must prove who it is, and must encrypt.
func TestSendRefusesAnUnsafeConnection(t *testing.T) {
	t.Run("no STARTTLS", func(t *testing.T) {
		server := smtpd.Start(t, smtpd.Options{User: "u", Password: "secret"})
		fails(t, server, newSender(t, "smtp://u:secret@smtp.example.org", server))
	})
	t.Run("no STARTTLS, and no password that would stay secret", func(t *testing.T) {
		server := smtpd.Start(t, smtpd.Options{})
		fails(t, server, newSender(t, "smtp://smtp.example.org", server))
	})
	t.Run("an unknown authority", func(t *testing.T) {
		server := smtpd.Start(t, smtpd.Options{TLS: true})
		s := newSender(t, "smtp://smtp.example.org", server)
		s.roots = nil
		fails(t, server, s)
	})
	t.Run("the certificate of another host", func(t *testing.T) {
		server := smtpd.Start(t, smtpd.Options{TLS: true})
		fails(t, server, newSender(t, "smtp://smtp.example.net", server))
	})
}

// fails requires that nothing is sent, for a reason that may end.
func fails(t *testing.T, server *smtpd.Server, s *Sender) {
	t.Helper()
	err := s.Send(t.Context(), message("alice@example.com"))
	if err == nil || errors.Is(err, ErrRefused) || len(server.Messages(t)) != 0 {
		t.Errorf("%v, %d messages", err, len(server.Messages(t)))
	}
}

func TestSendTellsErrorsApart(t *testing.T) {
	server := smtpd.Start(t, smtpd.Options{User: "u", Password: "secret-password"})
	sends := func(password, to string) error {
		return newSender(t, "smtp://u:"+password+"@"+server.Address, server).Send(t.Context(), message(to))
	}
	for _, test := range []struct {
		name, password, to string
		permanent          bool
	}{
		{"an unknown mailbox", "secret-password", "refused@example.com", true},
		{"content that is not wanted", "secret-password", "unwanted@example.com", true},
		{"a busy mailbox", "secret-password", "later@example.com", false},
		{"a wrong password", "wrong-password", "alice@example.com", false},
	} {
		err := sends(test.password, test.to)
		if err == nil || errors.Is(err, ErrRefused) != test.permanent {
			t.Errorf("%s: %v", test.name, err)
		}
		if err != nil && (strings.Contains(err.Error(), test.to) || strings.Contains(err.Error(), test.password) ||
			strings.ContainsAny(err.Error(), "\r\n")) {
			t.Errorf("%s: the error shows too much: %q", test.name, err)
		}
	}
	// The sender is a setting, so the operator may correct it.
	s := newSender(t, "smtp://u:secret-password@"+server.Address, server)
	s.from.Address = "refused@example.org"
	fails(t, server, s)
	server.Stop()
	fails(t, server, newSender(t, "smtp://"+server.Address, server))
}

// The server has confirmed the message. What fails afterwards does not count: otherwise it would be sent twice.
func TestSendEndsWithTheConfirmation(t *testing.T) {
	server := smtpd.Start(t, smtpd.Options{})
	err := newSender(t, "smtp://"+server.Address, server).Send(t.Context(), message("unfriendly@example.com"))
	if got := server.Messages(t); err != nil || len(got) != 1 {
		t.Errorf("%v, %d messages", err, len(got))
	}
}

// Only a server on this machine may do without TLS and without a certificate.
func TestServer(t *testing.T) {
	for raw, want := range map[string]struct {
		local bool
		port  int
	}{
		"smtp://localhost": {true, 587}, "smtp://127.0.0.1": {true, 587}, "smtp://127.9.9.9:25": {true, 25},
		"smtps://[::1]":    {true, 465},
		"smtp://192.0.2.1": {false, 587}, "smtps://[2001:db8::1]": {false, 465}, "smtp://127.example.org": {false, 587},
		"smtp://localhost.example.org:65535": {false, 65535}, "smtp://mail.localhost": {false, 587},
	} {
		s, wrong := parse(raw)
		if wrong != "" || s.local() != want.local || s.port != want.port {
			t.Errorf("%s: local %t, port %d, %s", raw, s.local(), s.port, wrong)
		}
	}
}

// The server has the message, but the client does not know it: it may be sent again, with the same ID.
func TestSendWithoutAnAnswer(t *testing.T) {
	server := smtpd.Start(t, smtpd.Options{})
	s := newSender(t, "smtp://"+server.Address, server)
	err := s.Send(t.Context(), message("dropped@example.com"))
	if err == nil || errors.Is(err, ErrRefused) {
		t.Error(err)
	}
	if got := server.Messages(t); len(got) != 1 || got[0].Header.Get("Message-ID") != "<abc@example.org>" {
		t.Errorf("%+v", got)
	}
}

// No text of a person can add a header or a recipient.
func TestSendRefusesHeaderInjection(t *testing.T) {
	server := smtpd.Start(t, smtpd.Options{})
	s := newSender(t, "smtp://"+server.Address, server)
	for _, bad := range []func(*Message){
		func(m *Message) { m.To = "alice@example.com\r\nBcc: eve@example.com" },
		func(m *Message) { m.To = "alice@example.com>\r\nRCPT TO:<eve@example.com" },
		func(m *Message) { m.To = "alice@example.com, eve@example.com" },
		func(m *Message) { m.To = "Alice <alice@example.com>" },
		func(m *Message) { m.To = "\"a\r\nb\"@example.com" },
		func(m *Message) { m.To = "" },
		func(m *Message) { m.Mail.Subject = "Hello\r\nBcc: eve@example.com" },
		func(m *Message) { m.Mail.Subject = "Hello\nBcc: eve@example.com" },
		func(m *Message) { m.Mail.Subject = "Hello\x00" },
		func(m *Message) { m.ID = "a\r\nBcc: eve@example.com" },
	} {
		m := message("alice@example.com")
		bad(&m)
		err := s.Send(t.Context(), m)
		if !errors.Is(err, ErrRefused) {
			t.Errorf("%q, %q: %v", m.To, m.Mail.Subject, err)
		}
	}
	// A line with a dot alone does not end the message (RFC 5321 §4.5.2).
	m := message("alice@example.com")
	m.Mail.Text = "a\r\n.\r\nMAIL FROM:<eve@example.com>\r\n"
	err := s.Send(t.Context(), m)
	if err != nil {
		t.Fatal(err)
	}
	got := server.Messages(t)
	if len(got) != 1 || got[0].Text != "a\n.\nMAIL FROM:<eve@example.com>\n" {
		t.Errorf("%+v", got)
	}
}

func TestCheckURL(t *testing.T) {
	for raw, good := range map[string]bool{
		"smtp://mail.example.org": true, "smtp://u:p@mail.example.org:2525": true, "smtps://u:p%40@[::1]:465": true,
		"smtp://localhost": true, "smtp://127.0.0.1:25/": true,
		"": false, "mail.example.org": false, "mail.example.org:25": false, "http://mail.example.org": false,
		"smtp://": false, "smtp://:25": false,
		"smtp://mail.example.org:0": false, "smtp://mail.example.org:65536": false, "smtp://mail.example.org:x": false,
		"smtp://u@mail.example.org": false, "smtp://u:@mail.example.org": false, "smtp://:p@mail.example.org": false,
		"smtp://u:p%0d%0a@mail.example.org": false,
		"smtp://mail.example.org/x":         false, "smtp://mail.example.org?tls=no": false,
		"smtp://mail.example.org#x":     false,
		"smtp://u:p#q@mail.example.org": false, "smtp://u:p%@mail.example.org": false,
	} {
		if wrong := CheckURL(raw); (wrong == "") != good {
			t.Errorf("%s: %q", raw, wrong)
		} else if password := passwordOf(raw); password != "" && strings.Contains(wrong, password) {
			t.Errorf("%s: the text shows the password: %s", raw, wrong)
		}
	}
}

func passwordOf(raw string) string {
	u, err := url.Parse(raw)
	if err != nil || u.User == nil {
		return ""
	}
	password, _ := u.User.Password()
	if len(password) < 2 {
		return ""
	}
	return password
}

func TestCheckFrom(t *testing.T) {
	for text, good := range map[string]bool{
		"noreply@example.org": true, "Mandate <noreply@example.org>": true, `"A, B" <noreply@example.org>`: true,
		"Grüße <noreply@example.org>": true,
		"":                            false, "noreply": false, "a@example.org, b@example.org": false,
		"a@example.org\r\nBcc: b@example.org": false,
		"\"a\r\n\" <a@example.org>":           false,
	} {
		if wrong := CheckFrom(text); (wrong == "") != good {
			t.Errorf("%q: %q", text, wrong)
		}
	}
}

func FuzzCheckURL(f *testing.F) {
	for _, raw := range []string{"smtp://u:p@mail.example.org:25", "smtps://[::1]", "smtp://u:p%41@h", "x"} {
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		s, wrong := parse(raw)
		if wrong == "" && (s.host == "" || s.port < 1 || s.port > 65535 || (s.user == "") != (s.password == "") ||
			!oneLine(s.user+s.password)) {
			t.Errorf("%q: %+v", raw, s)
		}
	})
}
