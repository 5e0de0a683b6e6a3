package sites

import (
	"errors"
	"net/http"
	"net/url"
	"path"
	"strings"

	"mandate/provider/authority"
)

// Forwarded is a request to a site, as a reverse proxy describes it.
type Forwarded struct {
	Method string
	Host   string // as authority.Shown writes it: without the default port
	Target string // the path with the query, as the browser has sent it
}

var (
	errDescription = errors.New("the description of the request is not complete, or not well formed")
	// errTwice means that a header is there twice. One of the two may come from the client.
	errTwice    = errors.New("a header that describes the request is there twice")
	errInsecure = errors.New("the request did not come over https")
)

// The headers in which reverse proxies describe a request. No other header is read, such as Forwarded (RFC 7239),
// X-Forwarded-Prefix or X-Forwarded-For: a proxy that does not know them passes on what the client has sent.
const (
	forwardedMethod = "X-Forwarded-Method"
	forwardedScheme = "X-Forwarded-Proto"
	forwardedHost   = "X-Forwarded-Host"
	forwardedTarget = "X-Forwarded-Uri"
	originalMethod  = "X-Original-Method"
	originalURL     = "X-Original-Url"
)

// readForward reads the headers of Traefik, Caddy and HAProxy.
func readForward(h http.Header) (Forwarded, error) {
	values, err := only(h, forwardedMethod, forwardedScheme, forwardedHost, forwardedTarget)
	if err != nil {
		return Forwarded{}, err
	}
	return forwarded(values[0], values[1], values[2], values[3])
}

// readOriginal reads the headers of nginx.
func readOriginal(h http.Header) (Forwarded, error) {
	values, err := only(h, originalMethod, originalURL)
	if err != nil {
		return Forwarded{}, err
	}
	scheme, rest, found := strings.Cut(values[1], "://")
	at := strings.IndexByte(rest, '/')
	if !found || at < 0 {
		return Forwarded{}, errDescription
	}
	return forwarded(values[0], scheme, rest[:at], rest[at:])
}

// readStartLine reads the request line, and X-Forwarded-Proto. Envoy sends the checked request itself, below a path.
func readStartLine(h http.Header, method, host, target string) (Forwarded, error) {
	values, err := only(h, forwardedScheme)
	if err != nil {
		return Forwarded{}, err
	}
	return forwarded(method, values[0], host, target)
}

// only returns the one value of each of these headers.
func only(h http.Header, names ...string) ([]string, error) {
	values := make([]string, len(names))
	for i, name := range names {
		all := h[name]
		if len(all) > 1 {
			return nil, errTwice
		}
		if len(all) == 0 || all[0] == "" {
			return nil, errDescription
		}
		values[i] = all[0]
	}
	return values, nil
}

// forwarded checks the parts of a request.
func forwarded(method, scheme, host, target string) (Forwarded, error) {
	// RFC 9110 §9.1: a method is a token, and has its case.
	if strings.Trim(method, "ABCDEFGHIJKLMNOPQRSTUVWXYZ-") != "" || !isTarget(target) {
		return Forwarded{}, errDescription
	}
	shown, ok := hostOf(host)
	if !ok {
		return Forwarded{}, errDescription
	}
	if scheme == "http" {
		return Forwarded{}, errInsecure
	}
	if scheme != "https" {
		return Forwarded{}, errDescription
	}
	return Forwarded{method, shown, target}, nil
}

// hostOf returns the one spelling of the value of a header Host.
func hostOf(host string) (string, bool) {
	raw := "https://" + host
	if host == "" || strings.ContainsAny(host, "@/?#\\") || authority.Check(raw) != "" {
		return "", false
	}
	return strings.TrimSuffix(authority.Shown(raw), "."), true
}

// isTarget reports whether a text is the origin form of a request target (RFC 9112 §3.2.1), for which a browser stays
// at the same host: it begins with one slash alone. Browsers read a backslash as a slash.
func isTarget(text string) bool {
	if len(text) > maxTarget || !strings.HasPrefix(text, "/") || strings.HasPrefix(text, "//") ||
		strings.ContainsFunc(text, func(c rune) bool { return c <= ' ' || c > '~' || c == '\\' || c == '#' }) {
		return false
	}
	_, err := url.ParseRequestURI(text)
	return err == nil
}

// maxTarget limits the length of a request target: with everything around it, an address of the server has to hold it.
const maxTarget = 4 << 10

// isPublic reports whether a path begins with one of the prefixes, by whole segments. A path that the application could
// read in another way is not public: one with dot segments, empty segments, a semicolon, or any percent-encoding.
func isPublic(target string, prefixes []string) bool {
	at, _, _ := strings.Cut(target, "?")
	if strings.ContainsAny(at, "%;\\") || path.Clean(at) != strings.TrimSuffix(at, "/") && at != "/" {
		return false
	}
	for _, prefix := range prefixes {
		if at == prefix || strings.HasPrefix(at, strings.TrimSuffix(prefix, "/")+"/") {
			return true
		}
	}
	return false
}
