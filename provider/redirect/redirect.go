// Package redirect validates and compares redirect URIs (RFC 6749 §3.1.2, RFC 8252
// §7, RFC 9700 §2.1 and §4.1.3).
package redirect

import (
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"mandate/provider/authority"
	"mandate/provider/parameter"
)

const maxLength = 2000

// Policy is what an operator decides about redirect URIs.
type Policy struct {
	// Schemes restricts the schemes of redirect URIs to those listed: `https`, `http` (loopback only) and private-use
	// schemes with a dot (RFC 8252 §7.1).
	//
	// If it is empty, all three kinds are allowed, and those that only an administrator registers.
	Schemes []string `key:"ALLOWED_REDIRECT_URI_SCHEMES" default:"[]" subject:"Redirect URIs" after:"REQUEST_APPROVAL_PROMPT"`
	// LocalhostLoopback lets the port of a redirect URI with the host name `localhost` vary, as it may for loopback
	// addresses (against RFC 8252 §8.3).
	//
	// For native applications that register `http://localhost`.
	LocalhostLoopback bool `key:"ALLOW_LOCALHOST_LOOPBACK" default:"false"`

	// PrivateSchemes lists private-use schemes without a dot that are allowed too, if
	// Schemes allows them.
	PrivateSchemes []string
	// PlainPrivate refuses a redirect URI with a private-use scheme that can be a command (IsCommand).
	PlainPrivate bool
	// Vouched allows what somebody with administrator rights answers for (WeaknessOf).
	Vouched bool
}

const notAbsolute = "must be absolute: begin with https://, or with http:// for 127.0.0.1, [::1] and localhost"

var hostWithPort = regexp.MustCompile(`^([^:/?]*|\[[^]/?]*\]):[0-9]+([/?]|$)`)

// Check says what is wrong with a redirect URI that is to be registered, or returns "".
func (p Policy) Check(raw string) string {
	if wrong := CheckText(raw); wrong != "" {
		return wrong
	}
	// A host with a port is easily read as a scheme, and is often typed without one.
	if hostWithPort.MatchString(raw) {
		return notAbsolute
	}
	u, err := url.Parse(raw)
	if err != nil {
		return "is not a URI"
	}
	if u.Scheme == "" {
		return notAbsolute
	}
	return p.checkRedirectParts(raw, u)
}

// CheckText checks the characters of a URI that is to be registered. It says what is
// wrong, or returns "".
func CheckText(raw string) string {
	if len(raw) > maxLength {
		return "is longer than 2000 bytes"
	}
	for _, r := range raw {
		if r <= ' ' || r > '~' || strings.ContainsRune("\\\"<>^`{|}", r) {
			// Percent-encoding is no remedy for a host.
			if wrong := authority.Check(raw); wrong != "" {
				return wrong
			}
			return "contains a character that a URI must not contain: percent-encode it"
		}
	}
	// RFC 6749 §3.1.2: an absolute URI without a fragment.
	if strings.Contains(raw, "#") {
		return "must not have a fragment (#...)"
	}
	return ""
}

func (p Policy) checkRedirectParts(raw string, u *url.URL) string {
	// RFC 9700 §4.1.3: no patterns. Only the exact URI gets the code.
	if strings.Contains(raw, "*") {
		return "must not have a wildcard: register each URI"
	}
	if wrong := authority.Check(raw); wrong != "" {
		return wrong
	}
	// RFC 6749 §3.1: no parameter is there more than once. With the one of the query, a client would take the code, the
	// state or the issuer that somebody else has chosen.
	if name := parameter.In(u.RawQuery, ofResponse[:]...); name != "" {
		return "must not have the parameter " + name + " in its query: the response has it, and the client could read the " +
			"one of the query"
	}
	// A browser resolves such a path before it sends the code.
	if HasDotSegment(u) {
		return "must not have . or .. in its path"
	}
	return p.checkRedirectScheme(raw, u)
}

// isPort reports whether a text is the number of a port.
func isPort(text string) bool {
	_, err := strconv.ParseUint(text, 10, 16)
	return err == nil
}

// ofResponse lists the parameters of a response (RFC 6749 §4.1.2, §4.1.2.1, RFC 9207 §2, JARM §2.3.1).
var ofResponse = [...]string{"code", "state", "iss", "error", "error_description", "error_uri", "response"}

// HasDotSegment reports whether a path contains . or .. as a segment (RFC 3986 §3.3), also
// percent-encoded.
func HasDotSegment(u *url.URL) bool {
	for segment := range strings.SplitSeq(strings.ToLower(u.EscapedPath()), "/") {
		if segment := strings.ReplaceAll(segment, "%2e", "."); segment == "." || segment == ".." {
			return true
		}
	}
	return false
}

func (p Policy) checkRedirectScheme(raw string, u *url.URL) string {
	if len(p.Schemes) > 0 && !slices.Contains(p.Schemes, u.Scheme) {
		return "has a scheme that this server does not allow: use " + strings.Join(p.Schemes, ", ")
	}
	// The match is byte by byte, so the case of the scheme matters.
	if !strings.HasPrefix(raw, u.Scheme+":") {
		return "must have its scheme in lower case"
	}
	if wrong := asCommand(raw, u); p.PlainPrivate && wrong != "" {
		return wrong
	}
	switch {
	case u.Scheme == "https":
		if u.Hostname() == "" || u.Opaque != "" {
			return "has no host"
		}
	case u.Scheme == "http":
		// RFC 9700 §2.6: no http, except to a program on the same computer. OIDC Core §3.1.2.1 allows it for a
		// confidential client; within a network where nobody gets a certificate, an administrator decides.
		if u.Opaque == "" && (isLoopback(u.Hostname()) || p.Vouched && inNetwork(u.Hostname())) {
			return ""
		}
		wrong := "must use https: http is only for 127.0.0.1, [::1], localhost and names below it"
		switch {
		case p.Vouched:
			wrong += ", and for private networks, as in http://192.168.1.10/, http://name/ and http://name.lan/"
		case inNetwork(u.Hostname()):
			wrong += byAdministrator
		}
		return wrong
	case slices.Contains(p.PrivateSchemes, u.Scheme):
		// Such a scheme is used with a host, as in cursor://server/path.
		if u.Opaque != "" || u.Host == "" && !strings.HasPrefix(u.Path, "/") {
			return "must be written as " + u.Scheme + "://name/path or " + u.Scheme + ":/path"
		}
	case !strings.Contains(u.Scheme, ".") && !OfApplication(u.Scheme):
		return "has the scheme " + u.Scheme + ", which is not that of an application: use https, http with a loopback " +
			"address, or a private-use scheme with a dot such as com.example.app"
	case p.Vouched:
		if u.Opaque != "" || !strings.HasPrefix(raw[len(u.Scheme)+1:], "/") {
			return "must be written as " + u.Scheme + ":/path or " + u.Scheme + "://name/path"
		}
	case strings.Contains(u.Scheme, "."):
		// RFC 8252 §7.1: a private-use scheme is a domain name in reverse order.
		if rest := raw[len(u.Scheme)+1:]; strings.HasPrefix(rest, "//") {
			return "must be written as " + u.Scheme + ":/path, with one slash" + byAdministrator
		} else if !strings.HasPrefix(rest, "/") {
			return "must be written as " + u.Scheme + ":/path, with one slash"
		}
	default:
		return "has the scheme " + u.Scheme + ": use https, http with a loopback address, or a private-use scheme with a " +
			"dot such as com.example.app" + byAdministrator
	}
	return ""
}

// byAdministrator ends the message about a weakness that an administrator may allow.
const byAdministrator = "; if the application cannot change it, an administrator can register it"

// IsCommand reports whether a URI can be a command: it has a private-use scheme, and a query or the
// address of something else than an extension. Such a link does not only open an application on the device
// of a person, but can tell it what to do: install an extension, connect to a computer, or send a message.
func IsCommand(uri string) bool {
	u, err := url.Parse(uri)
	return err != nil || asCommand(uri, u) != ""
}

// extension is the name by which editors find who gets a link: PUBLISHER.EXTENSION. What has no dot, such
// as file, vscode-remote and mcp, is a command of the editor itself.
var extension = regexp.MustCompile(`^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)+$`)

// asCommand says why a URI can be a command, or returns "".
func asCommand(raw string, u *url.URL) string {
	switch {
	case u.Scheme == "https" || u.Scheme == "http":
	case strings.Contains(raw, "?"):
		return "must not have a query (?...): with one, a private-use scheme can be a command for the application on a " +
			"person's device"
	case !strings.Contains(u.Scheme, ".") && !extension.MatchString(u.Host):
		return "must have a name with a dot, as in " + u.Scheme + "://publisher.extension/callback: without one, it can be " +
			"a command for the application on a person's device"
	}
	return ""
}

// AtHost reports whether a redirect URI leads to a host of the network that has a certificate, so
// that no program on the person's own computer receives the response.
func AtHost(raw string) bool {
	u, err := url.Parse(raw)
	if err != nil || u.Scheme != "https" || authority.Check(raw) != "" {
		return false
	}
	host := strings.ToLower(strings.TrimSuffix(u.Hostname(), "."))
	address, err := netip.ParseAddr(host)
	if err == nil {
		return !address.Unmap().IsLoopback() && !address.IsUnspecified()
	}
	// RFC 6761 §6.3: every name below localhost is the same computer.
	return host != "" && host != "localhost" && !strings.HasSuffix(host, ".localhost")
}

// Match reports whether the redirect URI of a request matches a registered one.
//
// RFC 6749 §3.1.2.3, RFC 9700 §2.1: simple string comparison.
// RFC 8252 §7.3: the port of a loopback address may vary, and nothing else.
func (p Policy) Match(sent string, registered []string) bool {
	for _, known := range registered {
		if sent == known {
			return true
		}
		host, rest, ok := p.splitLoopback(known)
		sentHost, sentRest, sentOK := p.splitLoopback(sent)
		if ok && sentOK && host == sentHost && rest == sentRest {
			return true
		}
	}
	return false
}

// WithoutPort returns a redirect URI without its port, if the port may vary. Two redirect
// URIs for which the results are equal match the same requests.
func (p Policy) WithoutPort(uri string) string {
	host, rest, ok := p.splitLoopback(uri)
	if !ok {
		return uri
	}
	return host + rest
}

// splitLoopback removes the port from a loopback URI. It returns the scheme with the
// host, and what follows the port. ok is false for any other URI.
func (p Policy) splitLoopback(uri string) (host, rest string, ok bool) {
	hosts := []string{"http://127.0.0.1", "http://[::1]"}
	if p.LocalhostLoopback {
		hosts = append(hosts, "http://localhost")
	}
	for _, host := range hosts {
		rest, found := strings.CutPrefix(uri, host)
		if !found {
			continue
		}
		if port, ok := strings.CutPrefix(rest, ":"); ok {
			digits := len(port) - len(strings.TrimLeft(port, "0123456789"))
			if !isPort(port[:digits]) {
				return "", "", false
			}
			rest = port[digits:]
		}
		if rest == "" || rest[0] == '/' || rest[0] == '?' {
			return host, rest, true
		}
	}
	return "", "", false
}

// Mismatch shows how a redirect URI differs from the nearest registered one. Only the
// owner of the application may see the registered one.
type Mismatch struct {
	Part          string // the first part that differs, as differingPart names it; "": nothing is registered
	Sent, Nearest string
	From          int // the bytes before From are equal
	SentTo        int // the bytes from SentTo on equal those from NearestTo on
	NearestTo     int
	OwnerID       string
	Public        bool // everybody may see the registered one: a document publishes it
}

// Compare shows how a redirect URI that does not match differs from the nearest
// registered one.
func (p Policy) Compare(sent string, registered []string, ownerID string) *Mismatch {
	m := &Mismatch{Sent: sent, SentTo: len(sent), OwnerID: ownerID}
	best := -1
	for _, known := range registered {
		prefix := commonPrefix(sent, known)
		if prefix > best {
			best, m.Nearest = prefix, known
		}
	}
	if best < 0 {
		return m
	}
	suffix := min(commonSuffix(sent, m.Nearest), len(sent)-best, len(m.Nearest)-best)
	m.From, m.SentTo, m.NearestTo = best, len(sent)-suffix, len(m.Nearest)-suffix
	m.Part = p.differingPart(sent, m.Nearest)
	return m
}

func commonPrefix(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

func commonSuffix(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[len(a)-1-n] == b[len(b)-1-n] {
		n++
	}
	return n
}

// differingPart names the first part in which two URIs differ.
func (p Policy) differingPart(sent, known string) string {
	a, err := url.Parse(sent)
	if err != nil {
		return "syntax"
	}
	b, err := url.Parse(known)
	if err != nil {
		return "syntax"
	}
	_, _, anyPort := p.splitLoopback(known)
	switch {
	case a.Scheme != b.Scheme:
		return "scheme"
	case a.User.String() != b.User.String():
		return "user information"
	case a.Hostname() != b.Hostname():
		return "host"
	case a.Port() != b.Port() && !anyPort:
		return "port"
	case a.EscapedPath() != b.EscapedPath() || a.Opaque != b.Opaque:
		return "path"
	case a.RawQuery != b.RawQuery || a.ForceQuery != b.ForceQuery:
		return "query"
	case strings.Contains(sent, "#"):
		return "fragment"
	case a.Port() != b.Port():
		return "port" // of a post-logout redirect URI, whose port may not vary
	}
	return "spelling"
}
