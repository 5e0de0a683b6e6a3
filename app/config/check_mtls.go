package config

import (
	"net"
	"net/url"
	"regexp"
	"strings"

	"mandate/app/httpserve"
)

// headerName is the name of a header (RFC 9110 §5.1).
var headerName = regexp.MustCompile(`^[A-Za-z0-9-]+$`)

// checkMTLS examines the settings for clients with certificates, and derives
// MTLS_BASE_URL. It does not read the file: other commands run as accounts that cannot.
func (l *loader) checkMTLS() {
	const listen, base, authorities, header = "MTLS_LISTEN", "MTLS_BASE_URL", "MTLS_CLIENT_AUTHORITIES_FILE",
		"MTLS_CERTIFICATE_HEADER"
	if !l.ok(
		listen, base, authorities, header, "LISTEN", "BASE_URL", "TLS_CERTIFICATE_FILE", "TRUSTED_PROXIES", "UPSTREAM",
	) {
		return
	}
	c := l.c
	switch {
	case c.MTLSListen != "" && !httpserve.IsAddress(c.MTLSListen):
		l.wrong("must be host:port (127.0.0.1:8443, or :8443 for every address)", listen)
	case c.MTLSListen != "" && c.MTLSListen == c.Listen:
		l.wrong("is also the address of LISTEN; choose another port", listen)
	case c.MTLSListen != "" && c.TLSCertificateFile == "":
		l.wrong("needs TLS: set TLS_CERTIFICATE_FILE and TLS_KEY_FILE", listen)
	case c.MTLSCertificateHeader != "" && !headerName.MatchString(c.MTLSCertificateHeader):
		l.wrong("is not the name of a header; write Client-Cert, or the header that your reverse proxy sets", header)
	case c.MTLSCertificateHeader != "" && len(c.TrustedProxies) == 0:
		// RFC 9440 §4: anybody can send the header.
		l.wrong("is read from TRUSTED_PROXIES only: list the addresses of your reverse proxies there", header)
	// a resource server has other URLs
	case c.MTLSCertificateHeader != "" && c.MTLSListen == "" && c.MTLSBaseURL == "" && c.Upstream == "":
		l.wrong("needs MTLS_BASE_URL, the URL at which the reverse proxy asks for certificates", header)
	case c.MTLSBaseURL != "" && c.MTLSListen == "" && c.MTLSCertificateHeader == "":
		l.wrong("has no certificates: set MTLS_LISTEN, or MTLS_CERTIFICATE_HEADER for a reverse proxy", base)
	case c.MTLSClientAuthoritiesFile != "" && c.MTLSListen == "" && c.MTLSCertificateHeader == "":
		l.wrong("has no certificates to check: set MTLS_LISTEN, or MTLS_CERTIFICATE_HEADER for a reverse proxy", authorities)
	case c.MTLSBaseURL == "" && httpserve.IsSocket(c.MTLSListen) && c.Upstream == "":
		l.wrong("is required, because MTLS_LISTEN is a socket: set it to the URL by which clients reach it", base)
	case c.MTLSBaseURL != "":
		l.checkMTLSBaseURL(base)
	case c.MTLSListen != "":
		l.c.MTLSBaseURL = withPort(c.BaseURL, c.MTLSListen)
	}
}

func (l *loader) checkMTLSBaseURL(name string) {
	l.c.MTLSBaseURL = strings.TrimSuffix(l.c.MTLSBaseURL, "/")
	u, wrong := originURL(l.c.MTLSBaseURL)
	own, err := url.Parse(l.c.BaseURL)
	switch {
	case wrong != "":
		l.wrong(wrong, name)
	case u.Scheme != "https":
		l.wrong("must begin with https://: a client shows its certificate in TLS only", name)
	case err == nil && u.EscapedPath() != own.EscapedPath() || u.RawQuery != "":
		l.wrong("must have the path of BASE_URL, and no query", name)
	}
}

// withPort returns a base URL with the port of an address. A port that the system chooses is
// not known yet.
func withPort(base, listen string) string {
	u, err := url.Parse(base)
	_, port, wrong := net.SplitHostPort(listen)
	if err != nil || wrong != nil || strings.Trim(port, "0") == "" {
		return ""
	}
	host := u.Hostname()
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	u.Host = host
	if port = strings.TrimLeft(port, "0"); port != "443" {
		u.Host += ":" + port
	}
	return u.String()
}
