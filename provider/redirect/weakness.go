package redirect

import (
	"fmt"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"mandate/provider/loopback"
)

// Weakness is why a redirect URI needs somebody with administrator rights who answers for it. The real programs that
// have such a redirect URI cannot change it.
type Weakness string

// The weaknesses.
const (
	Undotted Weakness = "scheme without a dot"
	Slashes  Weakness = "several slashes"
	Plain    Weakness = "http"
)

// WeaknessOf returns the weakness of a redirect URI that Check accepts, or "" if it has none.
func WeaknessOf(raw string) Weakness {
	scheme, rest, _ := strings.Cut(raw, ":")
	switch {
	case scheme == "https":
		return ""
	case scheme == "http":
		u, err := url.Parse(raw)
		if err == nil && isLoopback(u.Hostname()) {
			return ""
		}
		return Plain
	case !strings.Contains(scheme, "."):
		return Undotted
	case strings.HasPrefix(rest, "//"):
		return Slashes
	}
	return ""
}

// Warning says in a sentence what a redirect URI risks, or returns "".
func Warning(raw string) string {
	scheme, _, _ := strings.Cut(raw, ":")
	switch WeaknessOf(raw) {
	// RFC 8252 §7.1, §8.4: only the owner of a domain name may use it as a scheme; without a dot, nobody owns it.
	case Undotted:
		return fmt.Sprintf("%s: any app on a person's device can take the scheme %s, which has no dot, and receive the "+
			"response (RFC 8252, 7.1 and 8.4).", raw, scheme)
	// RFC 8252 §7.1: one slash, because a private-use scheme has no naming authority.
	case Slashes:
		return fmt.Sprintf("%s: what follows // is no host, and nobody has proven that it is theirs; another app on a "+
			"person's device can take the scheme %s (RFC 8252, 7.1 and 8.1).", raw, scheme)
	// RFC 9700 §2.6: no authorization response over a connection without encryption.
	case Plain:
		return fmt.Sprintf("%s: with http, others in the network can read and change the response on its way (RFC 9700, "+
			"2.6). Use https if you can.", raw)
	}
	return ""
}

// notOfApplications lists schemes without a dot that belong to browsers, operating systems and protocols.
var notOfApplications = []string{"about", "blob", "brave", "callto", "cid", "content", "data", "devtools", "edge",
	"facetime", "feed", "file", "filesystem",
	"ftp", "ftps", "geo", "gopher", "hcp", "help", "imap", "intent", "irc", "itms", "jar", "ldap", "ldaps", "magnet",
	"mailto", "market", "mhtml", "mid", "news", "nfs",
	"nntp", "opera", "pop", "res", "resource", "rlogin", "rtsp", "search", "sftp", "shell", "sip", "sips", "sms", "smsto",
	"smb", "ssh", "tel", "telnet", "urn", "view-source",
	"vivaldi", "webcal", "ws", "wss", "wyciwyg"}

// ofBrowsers is what other such schemes look like: scripts, extensions and inner pages of browsers, handlers of Windows
// (ms-), and what a person could take for http or https.
var ofBrowsers = regexp.MustCompile(
	`script|^(chrome|moz|safari|ms|search|itms|android|x-apple)-|^chrome$|^http|^hxxps?$|^h?t+p+s*$|^.$`)

// OfApplication reports whether a scheme without a dot can be that of an application.
func OfApplication(scheme string) bool {
	return !slices.Contains(notOfApplications, scheme) && !ofBrowsers.MatchString(scheme)
}

// ofNetworks lists the domains for names within a private network: nobody gets a certificate for them that browsers
// trust, so a program there often has none.
//
// RFC 6762 §3 and appendix G, RFC 8375 §3; internal is reserved by ICANN (2024).
var ofNetworks = []string{".lan", ".local", ".internal", ".home.arpa", ".home", ".corp", ".intranet", ".private"}

// inNetwork reports whether a host is within a private network: an address of RFC 1918 or RFC 4193, a name without a
// dot, or a name below one of ofNetworks. It has one spelling, because redirect URIs are compared as text.
//
// Link-local addresses do not count: no browser is sent to one, and a cloud keeps its secrets there. Those of RFC 6598
// do not either: other customers of the same provider have them too.
func inNetwork(host string) bool {
	address, err := netip.ParseAddr(host)
	if err == nil {
		return address.IsPrivate() && !address.Is4In6() && address.String() == host
	}
	below := func(domain string) bool { return strings.HasSuffix(host, domain) }
	return host != "" && strings.ToLower(host) == host &&
		(!strings.ContainsAny(host, ".:") || slices.ContainsFunc(ofNetworks, below))
}

// isLoopback reports whether a host is the computer of the browser. An address has one spelling, because redirect URIs
// are compared as text.
func isLoopback(host string) bool {
	return host == "127.0.0.1" || host == "::1" || loopback.IsName(host) && strings.ToLower(host) == host
}
