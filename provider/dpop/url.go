package dpop

import (
	"net/url"
	"strings"
)

// Normal returns an http or https URL without its query and fragment, in the form in which two
// of them are compared as text, or "" if the text is no such URL:
//
//   - RFC 3986 §6.2.2: the scheme, the host and percent-encodings have one case, unreserved
//     characters are not encoded, and dot segments are removed;
//   - RFC 3986 §6.2.3: the default port is removed, and an empty path is a slash.
//
// User information is no part of the URL of a request (RFC 9110 §4.2.4).
func Normal(raw string) string {
	raw = bare(raw)
	for i := range len(raw) {
		if c := raw[i]; c <= ' ' || c > '~' || strings.IndexByte("\\\"<>^`{|}", c) >= 0 {
			return ""
		}
	}
	u, err := url.Parse(raw)
	if err != nil || u.User != nil || u.Opaque != "" || u.Scheme != "https" && u.Scheme != "http" {
		return ""
	}
	host := u.Hostname()
	// The parser decodes the percent-encoding of a host. A name in DNS needs none, and the lower
	// case of a letter outside ASCII can be one of ASCII.
	if host == "" || strings.ContainsFunc(host, func(c rune) bool { return c <= ' ' || c > '~' || c == '%' }) {
		return ""
	}
	host = strings.ToLower(host)
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	if port := u.Port(); port != "" && !(u.Scheme == "https" && port == "443") && !(u.Scheme == "http" && port == "80") {
		host += ":" + port
	}
	return u.Scheme + "://" + host + withoutDots(normalEncoding(u.EscapedPath()))
}

// bare returns a URL without its query and fragment.
func bare(raw string) string {
	if i := strings.IndexAny(raw, "?#"); i >= 0 {
		return raw[:i]
	}
	return raw
}

// normalEncoding decodes unreserved characters, and writes the other percent-encodings in upper
// case (RFC 3986 §6.2.2.1, §6.2.2.2). The parser has checked that each is complete. What is
// decoded is not decoded again: %2541 stays.
func normalEncoding(path string) string {
	if !strings.Contains(path, "%") {
		return path
	}
	var b strings.Builder
	for i := 0; i < len(path); i++ {
		if path[i] != '%' || i+2 >= len(path) {
			b.WriteByte(path[i])
			continue
		}
		if c := unhex(path[i+1])<<4 | unhex(path[i+2]); isUnreserved(c) {
			b.WriteByte(c)
		} else {
			b.WriteString(strings.ToUpper(path[i : i+3]))
		}
		i += 2
	}
	return b.String()
}

func unhex(c byte) byte {
	if c <= '9' {
		return c - '0'
	}
	return c&^0x20 - 'A' + 10
}

func isUnreserved(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte("-._~", c) >= 0
}

// withoutDots removes the segments "." and ".." of an absolute path (RFC 3986 §5.2.4). Empty
// segments stay: two slashes are not one.
func withoutDots(path string) string {
	if path == "" {
		return "/"
	}
	if !strings.Contains(path, "/.") {
		return path
	}
	segments := strings.Split(path[1:], "/")
	kept := segments[:0]
	for i, segment := range segments {
		last := i == len(segments)-1
		switch {
		case segment == ".." && len(kept) > 0:
			kept = kept[:len(kept)-1]
		case segment != "." && segment != "..":
			kept = append(kept, segment)
			continue
		}
		if last { // a path that ends with a dot segment ends with a slash
			kept = append(kept, "")
		}
	}
	return "/" + strings.Join(kept, "/")
}
