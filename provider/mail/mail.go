// Package mail sends messages to one SMTP server (RFC 5321), with STARTTLS (RFC 3207) or over
// TLS (RFC 8314), and with authentication (RFC 4954).
package mail

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	netmail "net/mail"
	"strings"
	"time"

	smtp "github.com/wneessen/go-mail"
)

// ErrRefused means that the server refuses this message or this recipient for good. Every other
// error may be gone at the next attempt: the server is down, is busy, or its settings are wrong.
var ErrRefused = errors.New("the mail server refuses the message")

// patience is the longest time for the connection and the authentication together, and again for
// the message.
const patience = 15 * time.Second

// Longest is longer than one call of Send can take.
const Longest = 3 * patience

// Config is what an operator decides about mail.
type Config struct {
	// URL is the mail server by which Mandate sends mail to people, such as `smtp://user:password@host:587`.
	//
	// With `smtp:`, STARTTLS is required unless the host is this machine. `smtps://user:password@host:465` speaks TLS
	// from the first byte. If the setting is empty, Mandate sends no mail, and administrators pass links on
	// themselves.
	URL string `key:"SMTP_URL" default:"" secret:"url" subject:"Mail"`
	// From is the sender of this mail: `noreply@example.org`, or `Example <noreply@example.org>`. It is required with
	// `SMTP_URL`.
	From string `key:"MAIL_FROM" default:""`
}

// Sender sends messages. It opens a connection for each.
type Sender struct {
	server server
	from   netmail.Address
	roots  *x509.CertPool // nil: those of the system; tests have their own

	dial smtp.DialContextFunc // nil: the usual one; a test leads a host name to itself
}

// New makes a Sender. It opens no connection.
func New(c Config) (*Sender, error) {
	to, wrong := parse(c.URL)
	if wrong != "" {
		return nil, errors.New("the URL of the mail server " + wrong)
	}
	from, wrong := sender(c.From)
	if wrong != "" {
		return nil, errors.New("the sender of mail " + wrong)
	}
	return &Sender{server: to, from: from}, nil
}

// Message is one message to one person.
type Message struct {
	ID   string // identifies the message: a server that gets it twice can notice
	To   string // name@example.org
	At   int64  // when it was written, in seconds
	Mail Letter
}

// Letter is what a person reads: a subject, and the same content as text and as HTML.
type Letter struct{ Subject, Text, HTML string }

// Send gives a message to the server. An error that is ErrRefused is permanent. The error does
// not contain the address of the recipient, nor the password.
func (s *Sender) Send(ctx context.Context, m Message) error {
	message, err := s.compose(m)
	if err != nil {
		return err
	}
	client, err := s.client()
	if err != nil {
		return fmt.Errorf("prepare the connection to the mail server: %w", err)
	}
	err = client.DialAndSendWithContext(ctx, message)
	// The server has the message once it has confirmed it. What fails afterwards, such as QUIT,
	// must not lead to a second one.
	if err == nil || message.IsDelivered() {
		return nil
	}
	cause := errors.New(s.quiet(err.Error(), m.To))
	if refuses(err) {
		return fmt.Errorf("%w: %w", ErrRefused, cause)
	}
	return cause
}

// Check connects to the server and signs in to it, as for a message, and sends none.
func (s *Sender) Check(ctx context.Context) error {
	client, err := s.client()
	if err != nil {
		return fmt.Errorf("prepare the connection to the mail server: %w", err)
	}
	err = client.DialWithContext(ctx)
	if err != nil {
		return errors.New(s.quiet(err.Error(), ""))
	}
	_ = client.Close() // nothing depends on the end of the conversation
	return nil
}

// refuses reports whether the server has refused the recipient or the content for good. RFC 5321
// §4.2.1: a reply 5yz is permanent. A refusal of the connection, of the password or of the
// sender is about the settings and not about this message, so an operator may correct it.
func refuses(err error) bool {
	said, ok := errors.AsType[*smtp.SendError](err)
	if !ok || said.ErrorCode() < 500 || said.ErrorCode() > 599 {
		return false
	}
	switch said.Reason {
	case smtp.ErrSMTPRcptTo, smtp.ErrSMTPDataClose:
		return true
	}
	return false
}

// quiet removes from a text what a log must not contain.
func (s *Sender) quiet(text, to string) string {
	for _, hidden := range []string{to, s.server.password} {
		if hidden != "" {
			text = strings.ReplaceAll(text, hidden, "…")
		}
	}
	return strings.Join(strings.Fields(strings.ToValidUTF8(text, "")), " ")
}

// compose writes the message. A line break in a header would begin another header, so an address
// or a subject with a control character is an error, and the message is never sent.
func (s *Sender) compose(m Message) (*smtp.Msg, error) {
	_, wrong := sender(m.To)
	if wrong != "" || strings.ContainsAny(m.To, "<>") {
		return nil, fmt.Errorf("%w: the recipient is not an address", ErrRefused)
	}
	if !oneLine(m.Mail.Subject) || !oneLine(m.ID) {
		return nil, fmt.Errorf("%w: its subject or its ID has control characters", ErrRefused)
	}
	message := smtp.NewMsg(smtp.WithEncoding(smtp.EncodingQP), smtp.WithNoDefaultUserAgent())
	err := message.FromFormat(s.from.Name, s.from.Address)
	if err == nil {
		err = message.To(m.To)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: an address cannot be written", ErrRefused)
	}
	message.Subject(m.Mail.Subject)
	message.SetDateWithValue(time.Unix(m.At, 0).UTC())
	_, host, _ := strings.Cut(s.from.Address, "@")
	message.SetMessageIDWithValue(m.ID + "@" + host)
	// RFC 3834 §5: nobody's out-of-office reply comes back.
	message.SetGenHeader("Auto-Submitted", "auto-generated")
	message.SetBodyString(smtp.TypeTextPlain, m.Mail.Text)
	message.AddAlternativeString(smtp.TypeTextHTML, m.Mail.HTML)
	return message, nil
}

// client makes the client for one connection.
func (s *Sender) client() (*smtp.Client, error) {
	at := s.server
	secure := &tls.Config{ServerName: at.host, MinVersion: tls.VersionTLS12, RootCAs: s.roots}
	options := []smtp.Option{smtp.WithPort(at.port), smtp.WithTimeout(patience), smtp.WithTLSConfig(secure)}
	auth := []smtp.SMTPAuthType{smtp.SMTPAuthSCRAMSHA256, smtp.SMTPAuthSCRAMSHA1, smtp.SMTPAuthPlain, smtp.SMTPAuthLogin}
	switch {
	case at.implicit:
		options = append(options, smtp.WithSSL())
	case at.local():
		// Nobody else is on the way to this machine. Its mail server often has no TLS, or a
		// certificate that no authority issued.
		secure.InsecureSkipVerify = true
		auth = []smtp.SMTPAuthType{smtp.SMTPAuthSCRAMSHA256, smtp.SMTPAuthSCRAMSHA1, smtp.SMTPAuthPlainNoEnc,
			smtp.SMTPAuthLoginNoEnc}
		options = append(options, smtp.WithTLSPolicy(smtp.TLSOpportunistic))
	default:
		// RFC 8314 §3: the messages contain links with secrets.
		options = append(options, smtp.WithTLSPolicy(smtp.TLSMandatory))
	}
	if at.user != "" {
		options = append(options, smtp.WithUsername(at.user), smtp.WithPassword(at.password),
			smtp.WithOpportunisticSMTPAuth(auth...))
	}
	if s.dial != nil {
		options = append(options, smtp.WithDialContextFunc(s.dial))
	}
	return smtp.NewClient(at.host, options...)
}
