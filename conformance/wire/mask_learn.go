package wire

import (
	"encoding/base64"
	"net/url"
	"strings"
)

// Learn finds the secrets that an answer issues, and the values in its request that the check has made up.
func (m *Mask) Learn(a *Answer) {
	if _, known := m.learned[a]; known {
		return
	}
	m.learned[a] = false
	for name, values := range a.SentHeader {
		for _, value := range values {
			m.learnSent(name, value)
		}
	}
	for _, text := range []string{a.URL.RawQuery, a.SentForm} {
		sent, _ := url.ParseQuery(text) // what cannot be read has no name
		for name, values := range sent {
			for _, value := range values {
				m.choose(name, value)
			}
		}
	}
	add := m.learnFrom(a)
	m.hideNamed(string(a.Body), add)
	for name, values := range a.Header {
		for _, value := range values {
			m.learnReceived(name, value, add)
		}
	}
}

// learnSent learns the values of a request header. All cookies come from the server, perhaps in an earlier check.
func (m *Mask) learnSent(name, value string) {
	switch name {
	case "Authorization":
		credentials, basic := basicAuth(value)
		_, rest, found := strings.Cut(value, " ")
		if !found {
			rest = value
		}
		if basic {
			_, rest, _ = strings.Cut(credentials, ":")
			m.choose("client_secret", unescaped(rest))
		}
		m.choose("access_token", rest)
	case "Cookie":
		for pair := range strings.SplitSeq(value, ";") {
			learnCookie(pair, m.Add)
		}
	case "Dpop":
		m.choose(proofName, value)
	}
}

// learnReceived passes the secrets in a header of an answer to add.
func (m *Mask) learnReceived(name, value string, add func(name, secret string) string) {
	if name != "Set-Cookie" {
		m.hideNamed(value, add)
		return
	}
	pair, _, _ := strings.Cut(value, ";")
	learnCookie(pair, add)
}

func learnCookie(pair string, add func(name, secret string) string) {
	_, value, _ := strings.Cut(pair, "=")
	if strings.Trim(value, `" `) != "" {
		add(cookieName, value)
	}
}

// cookieName is the name of the variables for cookies.
const cookieName = "COOKIE"

func unescaped(text string) string {
	plain, err := url.QueryUnescape(text)
	if err != nil {
		return text
	}
	return plain
}

// sentHeader returns the value of a request header with its secrets masked.
func (m *Mask) sentHeader(name, value string) string {
	switch name {
	case "Authorization":
		scheme, rest, _ := strings.Cut(value, " ")
		switch credentials, basic := basicAuth(value); {
		case basic:
			return scheme + " (" + m.basic(credentials) + ")"
		case rest != "":
			return scheme + " " + m.hideKnown(m.known("", rest))
		}
		return m.hideKnown(m.known("", value))
	case "Cookie":
		pairs := strings.Split(value, ";")
		for i, pair := range pairs {
			pairs[i] = m.cookie(pair)
		}
		return strings.Join(pairs, ";")
	}
	return m.hide(value)
}

// gotHeader returns the value of a response header with its secrets masked.
func (m *Mask) gotHeader(name, value string) string {
	if name != "Set-Cookie" {
		return m.hide(value)
	}
	pair, attributes, found := strings.Cut(value, ";")
	pair = m.cookie(pair)
	if found {
		pair += ";" + attributes
	}
	return pair
}

func (m *Mask) cookie(pair string) string {
	name, value, found := strings.Cut(pair, "=")
	if !found || strings.Trim(value, `" `) == "" {
		return pair
	}
	return name + "=" + m.known("", value)
}

// basicAuth returns the credentials of HTTP Basic authentication, client_id:client_secret, if the header has such.
func basicAuth(value string) (string, bool) {
	scheme, rest, _ := strings.Cut(value, " ")
	raw, err := base64.StdEncoding.DecodeString(rest)
	return string(raw), err == nil && strings.EqualFold(scheme, "Basic")
}

// basic masks the client secret in the credentials, where it is form-encoded (RFC 6749 §2.3.1).
func (m *Mask) basic(credentials string) string {
	id, secret, found := strings.Cut(credentials, ":")
	if !found {
		return m.hide(credentials)
	}
	plain := unescaped(secret)
	if m.names[plain] == "" {
		plain = secret
	}
	return id + ":" + m.hideKnown(m.known("", plain))
}

// learnFrom returns a function that gives a secret a name, and records the answer that issued it.
func (m *Mask) learnFrom(a *Answer) func(name, secret string) string {
	issued := 0
	return func(name, secret string) string {
		_, known := m.issuer[secret]
		if !known && secret != "" && m.names[secret] == "" && !m.chosen[secret] {
			issued++
			if issued > mostOfAnswer || len(m.names) >= mostOfMask {
				m.learned[a], m.full = true, true
				return secret
			}
		}
		if !known && secret != "" {
			m.issuer[secret] = a
		}
		return m.Add(name, secret)
	}
}
