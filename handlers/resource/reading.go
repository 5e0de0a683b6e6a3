package resource

import (
	"math"
	"net/url"
	"regexp"
	"strings"
	"unicode/utf8"
)

// reading is the path of a request as servers read it.
type reading struct {
	// exact is the path for a server that splits it at the slashes as they are written and
	// decodes each segment once. An encoded slash is a NUL there.
	exact string

	// plain says that all servers read the path in this way.
	plain bool

	// script is the number of segments up to the last script, if the path is not plain only
	// because something follows scripts.
	script int

	// others are the paths that other servers read, folded: they merge slashes, remove what follows a
	// semicolon before they decode, after it, or both, remove the session of ASP.NET, or serve
	// what follows a script. A question mark ends the path for some: the same rule covers what is before it,
	// because no rule contains one.
	others []string
}

const (
	// maxPath limits the path of a request, and that of a Destination, as they are written: each is read
	// in several ways before a token is checked.
	//
	// RFC 9110 §4.1: every recipient should support URIs of 8000 octets.
	maxPath = 8 << 10

	// maxScripts limits the scripts in a path, in one way of reading it: what follows each of them is a
	// path too, to which the rules are applied.
	maxScripts = 8
)

// readPath returns the readings of a path. It returns false for a path that is never forwarded.
func readPath(u *url.URL) (reading, bool) {
	if u.Opaque != "" || !strings.HasPrefix(u.Path, "/") || !utf8.ValidString(u.Path) ||
		strings.ContainsFunc(u.Path, forbidden) || decodable.MatchString(u.Path) {
		return reading{}, false
	}
	r := reading{exact: exactPath(written(u))}
	r.plain = plainPath(u.Path) && r.exact == u.Path
	if !r.plain {
		r.script = math.MaxInt
	}
	segments := strings.Split(withoutIgnorable(u.Path)[1:], "/")
	var cut otherPath
	for i, segment := range segments {
		s, _, _ := strings.Cut(segment, ";")
		// A server that gives a semicolon no meaning takes x;a.cgi for a script.
		isScript := script.MatchString(s) || s != segment && script.MatchString(segment)
		end := strings.IndexAny(s, "?#")
		if trimmed(segment) || trimmed(s) || end >= 0 && trimmed(s[:end]) {
			return reading{}, false
		}
		switch {
		case session.MatchString(s):
			r.plain, r.script = false, math.MaxInt
		default:
			cut.add(s, isScript)
		}
		if i < len(segments)-1 && isScript {
			r.plain, r.script = false, max(r.script, i+1)
		}
		if len(cut.arguments) > maxScripts {
			return reading{}, false
		}
	}
	if r.plain {
		return r, true
	}
	r.others = cut.paths()
	for _, again := range []bool{false, true} {
		cut, ok := cutAsWritten(written(u), again)
		if !ok {
			return reading{}, false
		}
		r.others = append(r.others, cut.paths()...)
	}
	return r, true
}

// otherPath is a path as another server reads it. It is kept once, however many scripts are in it.
type otherPath struct {
	text      strings.Builder
	arguments []int // where in the text the arguments of its scripts begin
}

// add adds a segment, unless it is empty.
func (o *otherPath) add(segment string, isScript bool) {
	if segment != "" {
		o.text.WriteByte('/')
		o.text.WriteString(segment)
	}
	if isScript {
		o.arguments = append(o.arguments, o.text.Len())
	}
}

// paths returns the path, and those that are arguments of its scripts, folded. They share one text.
func (o *otherPath) paths() []string {
	text, from := o.text.String(), 0
	var folded strings.Builder
	var begins []int
	for _, to := range o.arguments {
		folded.WriteString(fold(text[from:to]))
		begins, from = append(begins, folded.Len()), to
	}
	folded.WriteString(fold(text[from:]))
	paths := []string{folded.String()}
	for _, begin := range begins {
		paths = append(paths, paths[0][begin:])
	}
	return paths
}

// cutAsWritten returns the segments for a server that removes what follows a semicolon up to the
// next slash as it is written, and then decodes, as Tomcat and Jetty do. It removes that again
// after it has decoded, if again is set. It returns false for a path that is never forwarded.
//
// RFC 3986 §2.4: a URI is split before it is decoded.
func cutAsWritten(written string, again bool) (*otherPath, bool) {
	kept := &otherPath{}
	for part := range strings.SplitSeq(written, "/") {
		part, _, _ = strings.Cut(part, ";")
		decoded, err := url.PathUnescape(part)
		if err != nil {
			return nil, false // not reached: net/http has decoded the path
		}
		for s := range strings.SplitSeq(withoutIgnorable(decoded), "/") {
			if again {
				s, _, _ = strings.Cut(s, ";")
			}
			if trimmed(s) {
				return nil, false
			}
			if !session.MatchString(s) {
				kept.add(s, script.MatchString(s))
			}
			if len(kept.arguments) > maxScripts {
				return nil, false
			}
		}
	}
	return kept, true
}

var (
	// decodable is what a server that decodes twice would decode again.
	decodable = regexp.MustCompile(`%[0-9A-Fa-f]{2}`)

	// script is the name of a script that can be a front controller: what follows it in the path
	// is an argument (PATH_INFO, RFC 3875 §4.1.5).
	script = regexp.MustCompile(
		`(?i)\.(php[0-9]?|phtml|phar|cgi|fcgi|pl|py|rb|lua|` +
			`wsgi|psgi|aspx?|ashx|asmx|axd|svc|cshtml|jspx?|jhtml|cfml?|cfc|dll|exe|nsf|hh|tcl|sh)$`)

	// session is the session or the login of ASP.NET in a path: /(S(5q1mvn45))/admin is /admin.
	session = regexp.MustCompile(`^\([A-Za-z]\(`)
)

// written returns the path as the client wrote it.
func written(u *url.URL) string {
	if u.RawPath != "" {
		return u.RawPath
	}
	return u.EscapedPath()
}

// exactPath decodes each segment of a path. What is between two slashes stays between them.
func exactPath(written string) string {
	segments := strings.Split(written, "/")
	for i, s := range segments {
		decoded, err := url.PathUnescape(s)
		if err != nil {
			return "" // not reached: net/http has decoded the path
		}
		segments[i] = strings.ReplaceAll(decoded, "/", "\x00")
	}
	return strings.Join(segments, "/")
}

// pathToForward returns the path in the form in which the upstream receives it, for url.URL.RawPath.
//
// RFC 3986 §2.2: %3A and a colon have different meanings where the upstream gives one to the
// colon, so each stays as the client wrote it. §6.2.2.2: an encoded letter has the same meaning
// as the letter, but a server might compare it with no decoding.
func pathToForward(u *url.URL, asWritten bool) string {
	const hex = "0123456789ABCDEF"
	from := written(u)
	var b strings.Builder
	for i := 0; i < len(from); i++ {
		c := from[i]
		switch {
		case c == '%':
			decoded, err := url.PathUnescape(from[i : i+3])
			if err == nil && !asWritten && unreserved(decoded[0]) {
				b.WriteString(decoded)
			} else {
				b.WriteString(from[i : i+3])
			}
			i += 2
		case unreserved(c) || strings.IndexByte("!$&'()*+,;=:@[]/", c) >= 0:
			b.WriteByte(c)
		default:
			b.Write([]byte{'%', hex[c>>4], hex[c&15]})
		}
	}
	return b.String()
}

func unreserved(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte("-._~", c) >= 0
}

// fold returns the same text for all spellings of a path that differ only in case or in
// characters without a glyph. It converts to capitals first, because some characters are
// equal only as capitals.
func fold(path string) string {
	return strings.ToLower(strings.ToUpper(withoutIgnorable(path)))
}
