package web

import (
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"
)

// OwnAddress returns the path to which the login leads. It accepts only paths of
// this server below its base path, and returns the start page for anything else.
// Otherwise this server would be an open redirector (RFC 9700 §4.11.2).
func (s *Site) OwnAddress(next string) string {
	home := s.Path("/")
	if rest, ok := strings.CutPrefix(next, s.Origin); ok {
		next = rest
	}
	// A path with two slashes at its start names a host. A browser reads a backslash
	// as a slash.
	if !strings.HasPrefix(next, "/") || strings.HasPrefix(next, "//") || !utf8.ValidString(next) {
		return home
	}
	u, err := url.Parse(next)
	if err != nil || u.Scheme != "" || u.Host != "" || u.User != nil {
		return home
	}
	if u.Path != s.Base && !strings.HasPrefix(u.EscapedPath(), s.Base+"/") || !isNormalized(u.Path) {
		return home
	}
	// The query stays as it is. It may be an authorization request, whose state the
	// client gets back byte for byte.
	target := u.EscapedPath()
	if u.RawQuery != "" {
		target += "?" + u.RawQuery
	}
	return ASCIIURL(target)
}

// isNormalized reports whether a browser uses the path as it is and does not normalize it.
func isNormalized(path string) bool {
	if strings.Contains(path, "//") || strings.ContainsRune(path, '\\') || strings.ContainsFunc(path, unicode.IsControl) {
		return false
	}
	for segment := range strings.SplitSeq(path, "/") {
		if segment == "." || segment == ".." {
			return false
		}
	}
	return true
}

// AuthorizationRequest returns the parameters of the authorization request to which a login
// leads, or nil.
func (s *Site) AuthorizationRequest(next string) url.Values {
	to, err := url.Parse(next)
	if err != nil || strings.TrimSuffix(to.EscapedPath(), "/") != s.Path("/o/authorize") {
		return nil
	}
	request, err := url.ParseQuery(to.RawQuery)
	if err != nil {
		return nil
	}
	return request
}

// BrowserCookie is the cookie that names a browser while its person signs in for a pushed
// request, or for one in a request object, or with a passkey. Without it, a sign-in sees that the browser refuses
// cookies.
const BrowserCookie = "browser"
