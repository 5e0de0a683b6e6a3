// Package authority checks and shows the authority of a URL: the host with its port (RFC 3986 §3.2). A browser and this
// server must read the same host, and a person must be able to recognize it.
//
// url.Parse decodes the percent-encoding of a host. A browser does so too, and then also maps it: full-width digits
// become digits, an ideographic full stop a dot, and a character that nobody sees nothing (WHATWG URL, host parsing;
// UTS #46). So a host has only one spelling that all read alike: the A-label in ASCII.
package authority

import (
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"golang.org/x/net/idna"
)

const (
	maxHost  = 253 // bytes of a name, without a dot at its end
	maxLabel = 63
)

// notPlain is wrong with a host for which there is no better advice.
const notPlain = "has a host that is not a plain name or address: write it in letters, digits, hyphens and dots of " +
	"ASCII, without percent-encoding"

// Check says what is wrong with the authority of an absolute URL, or returns "". It reads the text of the URL itself,
// and not what a library makes of it. A URL without an authority, such as com.example.app:/cb, has nothing wrong.
func Check(raw string) string {
	scheme, written := split(raw)
	host, port, hasPort := cutPort(written)
	wrong := checkHost(scheme, host)
	switch {
	case strings.Contains(written, "@"):
		return "must not have user information (user@)"
	case wrong != "":
		return wrong
	case hasPort && port == "":
		return "has a colon without a port after its host: remove the colon"
	case hasPort && !isPort(port):
		return "has a port that does not exist: use one up to 65535"
	}
	return ""
}

// IsOrigin reports whether a browser can send this text as an origin: scheme, host and port alone, in lower case and
// without a default port.
//
// WHATWG HTML, serialization of an origin: a browser compares and sends no other form.
func IsOrigin(text string) bool {
	u, err := url.Parse(text)
	return err == nil && u.Scheme != "" && u.Host != "" && u.Scheme+"://"+Shown(text) == text && Check(text) == ""
}

// Shown returns the authority of a URL as a browser shows it in its address: the host in lower case and as an A-label,
// and a port that is not the default one. A host that breaks the rules of Check, such as one that an older release
// stored, stays in ASCII too: what has no A-label is percent-encoded.
func Shown(raw string) string {
	scheme, written := split(raw)
	written = written[strings.LastIndex(written, "@")+1:]
	host, port, hasPort := cutPort(written)
	number, err := strconv.ParseUint(port, 10, 16)
	switch {
	case !hasPort:
	case err != nil:
		port = ":" + url.QueryEscape(port)
	case scheme == "https" && number == 443 || scheme == "http" && number == 80:
		port = ""
	default:
		port = ":" + strconv.FormatUint(number, 10)
	}
	return ascii(host) + port
}

// split returns the scheme of a URL in lower case, and its authority as it is written: "" if there is none.
func split(raw string) (scheme, written string) {
	scheme, rest, _ := strings.Cut(raw, ":")
	written, has := strings.CutPrefix(rest, "//")
	if end := strings.IndexAny(written, `/?#\`); end >= 0 {
		written = written[:end]
	}
	if !has {
		written = ""
	}
	return strings.ToLower(scheme), written
}

func cutPort(written string) (host, port string, has bool) {
	at := strings.LastIndexByte(written, ':')
	if at < 0 || at < strings.LastIndexByte(written, ']') {
		return written, "", false
	}
	return written[:at], written[at+1:], true
}

func isPort(text string) bool {
	_, err := strconv.ParseUint(text, 10, 16)
	return err == nil
}

func checkHost(scheme, host string) string {
	web := scheme == "https" || scheme == "http"
	literal, isLiteral := strings.CutPrefix(host, "[")
	switch {
	case host == "" && web:
		return "has no host"
	case host == "":
		return ""
	case isLiteral:
		return checkLiteral(literal)
	// RFC 3986 §3.2.2: percent-encoded octets of a host are UTF-8, and a name that is looked up in the DNS is written
	// as A-labels (RFC 5890 §2.3.2.1), so that no letter looks like another one.
	case !isASCII(host) || strings.Contains(host, "%"):
		if name := ascii(host); checkName(name) == "" && !isOddIPv4(name) {
			return "has a host that is not in ASCII: write it as " + name
		}
		return notPlain
	}
	wrong := checkName(host)
	if wrong == "" && web && isOddIPv4(host) {
		wrong = "has a host that browsers read as an IPv4 address: write it as four decimal numbers, as in 192.0.2.1"
	}
	return wrong
}

// checkLiteral checks what follows the bracket of an IP literal.
//
// RFC 6874 §1: a zone has a meaning only on the machine that it is written on.
func checkLiteral(literal string) string {
	address, err := netip.ParseAddr(strings.TrimSuffix(literal, "]"))
	if err != nil || !address.Is6() || address.Zone() != "" || !strings.HasSuffix(literal, "]") {
		return "has brackets around something that is no IPv6 address, or has a zone in it"
	}
	return ""
}

// checkName checks a host that is no IP literal: LDH labels with dots between (RFC 5890 §2.3.1), and perhaps a dot at
// the end. The underscore is allowed too: names in private networks have it, such as those of containers (my_app), and
// everything reads it alike.
func checkName(host string) string {
	name := strings.TrimSuffix(host, ".")
	if len(name) > maxHost {
		return "has a host that is longer than 253 bytes"
	}
	for label := range strings.SplitSeq(strings.ToLower(name), ".") {
		if label == "" || len(label) > maxLabel || label[0] == '-' || label[len(label)-1] == '-' ||
			strings.Trim(label, "abcdefghijklmnopqrstuvwxyz0123456789_-") != "" {
			return notPlain
		}
		if strings.HasPrefix(label, "xn--") && !isALabel(label) {
			return "has a host with a label that begins with xn-- and is no A-label (RFC 5890)"
		}
	}
	return ""
}

// browsers maps a name as browsers do (WHATWG URL, domain to ASCII; UTS #46 §4).
var browsers = idna.New(idna.MapForLookup(), idna.Transitional(false), idna.BidiRule(), idna.CheckJoiners(true),
	idna.CheckHyphens(false), idna.StrictDomainName(false))

// isALabel reports whether a label is the only A-label of what it stands for.
func isALabel(label string) bool {
	name, err := browsers.ToUnicode(label)
	if err != nil || isASCII(name) {
		return false
	}
	back, err := browsers.ToASCII(name)
	return err == nil && back == label
}

// ascii returns a host as a browser writes it, or percent-encoded if no browser goes there.
func ascii(host string) string {
	if literal, is := strings.CutPrefix(host, "["); is {
		address, err := netip.ParseAddr(strings.TrimSuffix(literal, "]"))
		if err == nil && address.Zone() == "" {
			return "[" + literalOf(address) + "]"
		}
	}
	decoded, err := url.PathUnescape(host)
	if err == nil {
		name, err := browsers.ToASCII(decoded)
		if err == nil && isASCII(name) &&
			!strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || strings.ContainsRune("%/?#@:<>\\^|[]", r) }) {
			return name
		}
	}
	var b strings.Builder
	for i := range len(host) {
		if c := host[i]; c <= ' ' || c > '~' {
			b.WriteString(url.PathEscape(string([]byte{c})))
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

// literalOf returns an IPv6 address as browsers write it: the last 32 bits of an IPv4-mapped one are hexadecimal too.
func literalOf(address netip.Addr) string {
	if !address.Is4In6() {
		return address.String()
	}
	octets := address.As4()
	group := func(a, b byte) string { return strconv.FormatUint(uint64(a)<<8|uint64(b), 16) }
	return "::ffff:" + group(octets[0], octets[1]) + ":" + group(octets[2], octets[3])
}

func isASCII(text string) bool {
	return strings.IndexFunc(text, func(r rune) bool { return r > '~' }) < 0
}

// isOddIPv4 reports whether a browser reads a host as an IPv4 address in another form than its usual one, or as a wrong
// one. https://127.1/, https://2130706433/ and https://0x7f.1/ are the computer of the browser.
//
// WHATWG URL, host parsing: a host is an IPv4 address if its last label is a number.
func isOddIPv4(host string) bool {
	if _, err := netip.ParseAddr(host); err == nil {
		return false
	}
	labels := strings.Split(strings.TrimSuffix(host, "."), ".")
	last := strings.ToLower(labels[len(labels)-1])
	digits := "0123456789"
	if hex, is := strings.CutPrefix(last, "0x"); is {
		last, digits = "0"+hex, digits+"abcdef"
	}
	return last != "" && strings.Trim(last, digits) == ""
}
