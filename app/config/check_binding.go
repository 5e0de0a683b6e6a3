package config

import (
	"encoding/base64"
	"strings"

	"mandate/provider/loopback"
)

// checkBinding examines the settings for access tokens that are bound to a key or to a
// certificate, and decodes the key of the nonces.
func (l *loader) checkBinding() {
	const urls, required = providerBlock + "RESOURCE_SERVER_BASE_URLS", providerBlock + "RESOURCE_SERVER_REQUIRED_BINDING"
	p := l.c.Provider
	l.checkNonceKey()
	if !l.ok(urls) {
		return
	}
	for i, base := range p.ResourceServerBaseURLs {
		u, wrong := originURL(base)
		switch {
		case wrong != "":
			l.element(urls, i, wrong)
		case strings.Contains(base, "?"):
			l.element(urls, i, "contains a query; remove everything from the ? on")
		case u.Scheme != "https" && !loopback.Is(u.Hostname()) && !l.c.AllowInsecureHTTP:
			l.element(
				urls, i,
				"is plain http: everybody on the network path can read the access tokens; use https, or set ALLOW_INSECURE_HTTP: "+
					"true in a test network",
			)
		}
	}
	if !l.ok(
		required, providerBlock+"RESOURCE_SERVER_AUDIENCE", "MTLS_LISTEN", "MTLS_CERTIFICATE_HEADER", "UPSTREAM",
		"SAMPLE_API",
	) {
		return
	}
	_, notURL := webURL(p.ResourceServerAudience)
	// The sample API has the URL of this server.
	keys := len(p.ResourceServerBaseURLs) > 0 || notURL == "" || l.c.Upstream == ""
	certificates := l.c.AsksForCertificates()
	switch {
	case p.ResourceServerRequiredBinding == "dpop" && !keys:
		l.wrong("needs the URL of the API, for which a client makes its proofs: set RESOURCE_SERVER_BASE_URLS", required)
	case p.ResourceServerRequiredBinding == "certificate" && !certificates:
		l.wrong(
			"needs MTLS_LISTEN, or MTLS_CERTIFICATE_HEADER for a reverse proxy: otherwise nobody asks clients for a certificate",
			required,
		)
	case p.ResourceServerRequiredBinding == "any" && !keys && !certificates:
		l.wrong(
			"needs RESOURCE_SERVER_BASE_URLS for keys, or MTLS_LISTEN or MTLS_CERTIFICATE_HEADER for certificates; set one",
			required,
		)
	}
}

// AsksForCertificates reports whether clients can show a certificate.
func (c *Config) AsksForCertificates() bool {
	return c.MTLSListen != "" || c.MTLSCertificateHeader != ""
}

func (l *loader) checkNonceKey() {
	const nonce, name = providerBlock + "RESOURCE_SERVER_DPOP_NONCE", providerBlock + "RESOURCE_SERVER_DPOP_NONCE_KEY"
	p := l.c.Provider
	if !l.ok(nonce, name) || p.ResourceServerDPoPNonceKey == "" {
		return
	}
	key, err := base64.StdEncoding.DecodeString(p.ResourceServerDPoPNonceKey)
	switch {
	case err != nil || len(key) != 32:
		l.wrong("must be 32 random bytes in base64, as `openssl rand -base64 32` prints them", name)
	case p.ResourceServerDPoPNonceKey == l.c.SecretKey:
		// RFC 9449 §9: a nonce works at the server that gave it out only.
		l.wrong("is also SECRET_KEY; make a key of its own", name)
	case !p.ResourceServerDPoPNonce:
		l.wrong("has no effect without RESOURCE_SERVER_DPOP_NONCE: true; set that too, or remove this", name)
	default:
		l.c.NonceKey = key
	}
}
