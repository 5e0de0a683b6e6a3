package mail

import (
	"net/mail"
	"net/url"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"mandate/provider/loopback"
)

// server is what a URL says about a mail server.
type server struct {
	host           string
	port           int
	user, password string
	implicit       bool // TLS from the first byte (RFC 8314 §3.3)
}

// local reports whether the server is on this machine.
func (s server) local() bool {
	return loopback.Is(s.host)
}

// CheckURL returns what is wrong with the URL of a mail server, or "". The text does not contain
// the URL, which may have a password.
func CheckURL(raw string) string {
	_, wrong := parse(raw)
	return wrong
}

// CheckFrom returns what is wrong with the sender of all messages, or "".
func CheckFrom(text string) string {
	_, wrong := sender(text)
	return wrong
}

// parse reads a URL, and returns what is wrong with it.
func parse(raw string) (server, string) {
	u, err := url.Parse(raw)
	if err != nil {
		return server{}, "is not a URL; write special characters of the user name and of the password as %XX"
	}
	s := server{host: u.Hostname(), port: 587, implicit: u.Scheme == "smtps"}
	if s.implicit {
		s.port = 465
	}
	if text := u.Port(); text != "" {
		s.port, err = strconv.Atoi(text)
	}
	if u.User != nil {
		s.user = u.User.Username()
		s.password, _ = u.User.Password()
	}
	switch {
	case u.Scheme != "smtp" && u.Scheme != "smtps", u.Host == "":
		return s, "must be smtp://user:password@host:587, or smtps://user:password@host:465 for TLS from the first byte"
	case s.host == "" || strings.ContainsAny(s.host, " /\\%") || err != nil || s.port < 1 || s.port > 65535:
		return s, "has an invalid host or port"
	case u.Path != "" && u.Path != "/" || u.RawQuery != "" || strings.ContainsAny(raw, "?#"):
		return s, "has something after the port; remove it, or write special characters of the password as %XX"
	case u.User != nil && (s.user == "" || s.password == ""):
		return s, "needs both a user name and a password, or neither"
	case !oneLine(s.user) || !oneLine(s.password):
		return s, "has a control character in the user name or in the password"
	}
	return s, ""
}

// sender reads an address with or without a name, and returns what is wrong with it.
func sender(text string) (mail.Address, string) {
	const form = "must be an address: name@example.org, or Name <name@example.org>"
	if !oneLine(text) {
		return mail.Address{}, form
	}
	found, err := mail.ParseAddress(text)
	if err != nil || !oneLine(found.Name) || len(found.Address) > 254 {
		return mail.Address{}, form
	}
	return *found, ""
}

func oneLine(text string) bool {
	return utf8.ValidString(text) && !strings.ContainsFunc(text, unicode.IsControl)
}
