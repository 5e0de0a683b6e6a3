// Package indicator validates and compares resource indicators: the URIs that name an API
// in the parameter resource, and in the audience of a token (RFC 8707 §2, RFC 9728 §1.2).
package indicator

import (
	"net/url"
	"strings"

	"mandate/provider/authority"
)

const maxLength = 2000

// Check says what is wrong with a resource indicator, or returns "".
//
// RFC 8707 §2: a resource indicator is an absolute URI without a fragment.
func Check(raw string) string {
	if len(raw) > maxLength {
		return "is longer than 2000 bytes"
	}
	for _, r := range raw {
		if r <= ' ' || r > '~' || strings.ContainsRune("\\\"<>^`{|}", r) {
			return "contains a character that a URI must not contain: percent-encode it"
		}
	}
	if strings.Contains(raw, "#") {
		return "must not have a fragment (#...)"
	}
	u, err := url.Parse(raw)
	switch {
	case err != nil:
		return "is not a URI"
	case u.Scheme == "":
		return "must be absolute: begin with https://"
	case u.User != nil:
		return "must not have user information (user@)"
	case isWeb(u) && (u.Hostname() == "" || u.Opaque != ""):
		return "has no host"
	case isWeb(u) && authority.Check(raw) != "":
		return authority.Check(raw)
	case u.Opaque == "" && u.Host == "" && u.Path == "":
		return "is only a scheme"
	}
	return ""
}

// Normal returns a resource indicator in the form in which two of them are compared as
// text (RFC 3986 §6.2.2, §6.2.3): the scheme and the host are in lower case, the default
// port is removed, and an empty path is a slash. Everything else stays as it is.
func Normal(raw string) string {
	u, err := url.Parse(raw)
	if err != nil || !isWeb(u) || u.Opaque != "" {
		scheme, rest, _ := strings.Cut(raw, ":")
		return strings.ToLower(scheme) + ":" + rest
	}
	port := u.Port()
	if u.Scheme == "https" && port == "443" || u.Scheme == "http" && port == "80" {
		port = ""
	}
	host := strings.ToLower(u.Hostname())
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	if port != "" {
		host += ":" + port
	}
	path := u.EscapedPath()
	if path == "" {
		path = "/"
	}
	if u.RawQuery != "" || u.ForceQuery {
		path += "?" + u.RawQuery
	}
	return u.Scheme + "://" + host + path
}

// Sibling returns a normal resource indicator with a slash more or less at the end of its
// path. Some clients put their URLs through a library that adds one.
func Sibling(normal string) string {
	path, query, has := strings.Cut(normal, "?")
	if strings.HasSuffix(path, "/") {
		path = path[:len(path)-1]
	} else {
		path += "/"
	}
	if has {
		path += "?" + query
	}
	return path
}

func isWeb(u *url.URL) bool { return u.Scheme == "https" || u.Scheme == "http" }

// Same reports whether two resource indicators name the same resource.
func Same(a, b string) bool { return a == b || Normal(a) == Normal(b) }

// Stored names a resource in a record, such as a grant, that ends with it: a resource that is added
// later with the same URI has another generation. A URI of a resource has no fragment.
func Stored(uri, generation string) string {
	if generation == "" {
		return uri
	}
	return uri + "#" + generation
}

// Split returns the URI and the generation of a resource that Stored has named.
func Split(stored string) (uri, generation string) {
	uri, generation, _ = strings.Cut(stored, "#")
	return uri, generation
}
