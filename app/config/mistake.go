package config

import (
	"fmt"
	"net/url"
	"strings"

	"mandate/provider/authority"
)

// ok reports whether settings have had no problem so far: each mistake is reported
// once.
func (l *loader) ok(names ...string) bool {
	for _, name := range names {
		if l.bad[name] {
			return false
		}
	}
	return true
}

// wrong reports a problem at the first of names that is set.
func (l *loader) wrong(text string, names ...string) {
	for _, name := range names {
		at, set := l.c.sources[name]
		if set {
			l.report(at, name, text)
			return
		}
	}
	l.report(source{}, names[0], text)
}

// element reports a problem of one item of a list, at its own line if that is
// known.
func (l *loader) element(name string, i int, text string) {
	l.wrong(text, fmt.Sprintf("%s[%d]", name, i))
}

// webURL parses an absolute http or https URL. The text that it returns says what
// to change and does not contain the value, which may include a password.
func webURL(raw string) (*url.URL, string) {
	u, err := url.Parse(raw)
	switch {
	case err != nil:
		return nil, "is not a URL"
	case u.Scheme != "http" && u.Scheme != "https", u.Host == "":
		return nil, "must be an absolute URL (https://host/path)"
	case u.User != nil:
		return nil, "contains a user or a password; remove it from the URL"
	case strings.Contains(raw, "#"):
		return nil, "contains a fragment; remove everything from the # on"
	case strings.ToLower(u.Host) != u.Host:
		return nil, "has a host with capitals; write it in lower case"
	}
	if wrong := authority.Check(raw); wrong != "" {
		return nil, wrong
	}
	return u, ""
}

// originURL parses a URL whose origin is compared with that of requests. Browsers and clients leave the default port
// out (RFC 9110 §4.2.3), so an origin with this port would equal none of theirs.
func originURL(raw string) (*url.URL, string) {
	u, wrong := webURL(raw)
	if wrong == "" && hasDefaultPort(u) {
		return nil, "names the default port of " + u.Scheme + "; remove :" + u.Port() + " (RFC 9110 §4.2.3)"
	}
	return u, wrong
}

// checkTransport refuses plain http beyond this machine. RFC 6749 §3.1, §3.2: these
// endpoints carry credentials and require TLS.
// local says which hosts are this machine.
func (l *loader) checkTransport(u *url.URL, name string, local func(host string) bool) {
	if u.Scheme == "https" || local(u.Hostname()) || l.c.AllowInsecureHTTP || !l.ok("ALLOW_INSECURE_HTTP") {
		return
	}
	l.wrong(
		"is plain http: everybody on the network path can read the secrets; use https, or set ALLOW_INSECURE_HTTP: true in "+
			"a test network",
		name,
	)
}

func hasDefaultPort(u *url.URL) bool {
	port := strings.TrimLeft(u.Port(), "0")
	return u.Scheme == "https" && port == "443" || u.Scheme == "http" && port == "80"
}
