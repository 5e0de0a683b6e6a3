package resource

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
)

// oddHeader says which header of a request an upstream could read as another one, or not at
// all, or "".
func (p *Proxy) oddHeader(r *http.Request) string {
	h := r.Header
	if len(h["Trailer"]) > 0 || len(r.Trailer) > 0 {
		// RFC 9110 §6.5.1: a server may merge trailer fields into the header, where the rules
		// have not seen them.
		return "The request announces trailers (header Trailer), and this server does not forward them."
	}
	for name := range h {
		// CGI, WSGI and PHP fold all other characters into underscores: they read X_Token_Subject
		// as X-Token-Subject. gunicorn takes SCRIPT_NAME for the part of the path that it removes.
		// A program on the way may have set the header with the certificate.
		if strings.ContainsFunc(name, foldedByCGI) && !strings.EqualFold(name, p.guard.certificates.Header) {
			return "The name of the header " + name + " contains a character that is no letter, digit or hyphen."
		}
	}
	if slices.ContainsFunc(h["Destination"], func(uri string) bool { return len(uri) > maxPath }) {
		return fmt.Sprintf("The header Destination is longer than %d bytes.", maxPath)
	}
	return oddConnection(h)
}

// maxOptions limits the options of the header Connection. Real clients send up to three.
const maxOptions = 16

// oddConnection says what is wrong with the header Connection, or "".
func oddConnection(h http.Header) string {
	options := 0
	for _, line := range h["Connection"] {
		options += 1 + strings.Count(line, ",")
	}
	if options > maxOptions {
		return fmt.Sprintf("The header Connection has more than %d options.", maxOptions)
	}
	// RFC 9110 §7.6.1: a proxy removes the headers that Connection names, and a sender names no
	// header that is for the upstream.
	for _, line := range h["Connection"] {
		for option := range strings.SplitSeq(line, ",") {
			name := http.CanonicalHeaderKey(strings.TrimSpace(option))
			if _, sent := h[name]; sent && !slices.Contains(ofConnection, headerAlias(name)) {
				return "The header Connection names the header " + name + ", which is not one of a connection."
			}
		}
	}
	return ""
}

// ofConnection are the headers that are for the next server alone (RFC 9110 §7.6.1).
var ofConnection = []string{"close", "connection", "proxy-connection", "keep-alive", "te", "transfer-encoding",
	"upgrade", "http2-settings"}

func foldedByCGI(c rune) bool {
	return c != '-' && (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z')
}

// isReservedHeader reports whether only a proxy may set headers with this alias: facts of the
// token, addresses on the way of the request, headers that change the path, and those that the
// operator has named.
func (p *Proxy) isReservedHeader(alias string) bool {
	begins := func(b string) bool { return strings.HasPrefix(alias, b) }
	return slices.Contains(reserved, alias) || slices.Contains(p.reserved, alias) ||
		alias == headerAlias(p.guard.certificates.Header) ||
		slices.ContainsFunc(reservedBeginnings, begins) || slices.ContainsFunc(p.reservedBeginnings, begins)
}

// ErrReservedHeaders means that ProxyConfig.ReservedHeaders has a wrong name.
var ErrReservedHeaders = errors.New("ReservedHeaders")

// reserve adds the names of headers from the configuration.
func (p *Proxy) reserve(names []string) error {
	for _, name := range names {
		plain, many := strings.CutSuffix(name, "*")
		beginning := headerAlias(plain)
		if plain == "" || strings.ContainsFunc(plain, foldedByCGI) {
			return fmt.Errorf("%w: %q: write letters, digits and hyphens, and * at the end for all names that begin so",
				ErrReservedHeaders, name)
		}
		needed := func(n string) bool { return n == beginning || many && strings.HasPrefix(n, beginning) }
		if slices.ContainsFunc(neverReserved, needed) || slices.ContainsFunc(ofConnection, needed) {
			return fmt.Errorf("%w: %q: requests need a header of this name; remove it from the list", ErrReservedHeaders, name)
		}
		if many {
			p.reservedBeginnings = append(p.reservedBeginnings, beginning)
		} else {
			p.reserved = append(p.reserved, beginning)
		}
	}
	return nil
}

// neverReserved are headers that say what a request is, beside ofConnection. PassAuthorization is for
// the first one.
var neverReserved = []string{"authorization", "host", "content-type", "content-length", "content-encoding"}

// reservedBeginnings are beginnings of the aliases of reserved headers.
var reservedBeginnings = []string{
	"x-token-",
	"x-forward", "x-real-", "x-envoy-", "x-proxied-", // the way of the request
	"fly-forwarded-", "x-vercel-", "x-appengine-", "x-azure-", "cloudfront-", // the same of CDNs and clouds
	"x-ssl-", "x-tls-", "ssl-client-", "x-client-cert", "x-client-verify", "x-amzn-mtls-", // the certificate of the client
	// Who the client is: oauth2-proxy, Grafana, authentik, Kong and APISIX, CouchDB, Pomerium, Hasura, Cortex and Loki,
	// Vouch, Teleport, Azure, Google, AWS, Istio and WSO2, Cloudflare, Tailscale, mod_auth_openidc, Shibboleth,
	// SiteMinder, IBM, Oracle.
	"x-auth-request-", "x-webauth-", "x-authentik-", "x-authenticated-", "x-remote-", "x-consumer-", "x-credential-",
	"x-anonymous-consumer",
	"x-auth-couchdb-", "x-pomerium-", "x-hasura-", "x-scope-", "x-vouch-", "teleport-", "x-ms-client-principal",
	"x-ms-token-",
	"x-goog-authenticated-user-", "x-goog-iap-", "x-apigateway-api-", "x-endpoint-api-", "x-amzn-oidc-", "x-jwt-payload",
	"x-jwt-claim-", "x-jwt-assertion",
	"cf-access-", "tailscale-user-", "oidc-claim-", "shib-", "sm-user", "iv-", "oam-remote-",
	// another person: Kubernetes, Elasticsearch, OpenSearch
	"impersonate-", "es-security-runas-", "x-opendistro-impersonate-",
	"x-original-", "x-rewrite-", "x-replaced-", // IIS, Symfony, Traefik: the path before a change
	"x-proxy", "wl-proxy-", "proxy-", // Solr and NiFi: X-ProxyContextPath; WebLogic; Sun and Oracle: Proxy-Auth-Cert
	"x-invoke-", "x-middleware-rewrite", // Next.js
	"ms-aspnetcore-",
}

// reserved are aliases of other reserved headers.
var reserved = []string{
	"host",                                                                    // of HTTP/2, beside :authority
	"x-client-ip", "true-client-ip", "client-ip", "http-client-ip", "real-ip", // the way of the request
	"x-cluster-client-ip", "forwarded", "forwarded-for", "x-originating-ip", "remote-addr",
	"cf-connecting-ip", "cf-connecting-ipv6", "cf-pseudo-ipv4", "cf-visitor", // CDNs and clouds
	"fastly-client-ip", "fastly-ssl", "fly-client-ip", "x-nf-client-connection-ip", "do-connecting-ip", "incap-client-ip",
	"x-sucuri-clientip", "cdn-src-ip", "cdn-real-ip", "ali-cdn-real-ip",
	// mod_wsgi, Tornado
	"x-host", "x-host-override", "x-http-host-override", "x-scheme", "x-https", "https", "x-url-scheme", "front-end-https",
	"x-protocol", "x-client-proto", "x-arr-ssl", "x-arr-clientcert", // IIS
	"remote-user", "remote-email", "remote-name", "remote-group", "remote-groups", // Authelia
	// APISIX, Gogatekeeper
	"x-userinfo", "x-auth-username", "x-auth-userid", "x-auth-subject", "x-auth-roles", "x-auth-groups",
	// gunicorn, mod_wsgi, Flask
	"script-name", "x-script-name", "path-info", "x-path-info", "request-uri", "x-request-uri",
	"daphne-root-path", "root-path", "x-root-path", "x-ingress-path", "x-request-base", // Daphne, Home Assistant, Catalyst
	"unencoded-url", "iis-wasurlrewritten", "orig-path-info", // IIS
	"x-matched-path", "x-middleware-subrequest", // Next.js, CVE-2025-29927
	"x-sendfile-type", "x-accel-mapping", // Rack::Sendfile, CVE-2025-61780
	"content-length", "transfer-encoding", // the transport writes these itself
	"proxy", // a CGI program reads it as the variable HTTP_PROXY
	// RFC 9449 §7.1: the proof is for this server. RFC 9440 §4: a stranger's certificate must not
	// look like that of a client.
	"dpop", "client-cert", "client-cert-chain",
}

// headerAlias returns one common name for all spellings of a header that a CGI-like
// upstream cannot distinguish: it sees X_Token-Subject as HTTP_X_TOKEN_SUBJECT.
func headerAlias(name string) string {
	return strings.Map(func(c rune) rune {
		switch {
		case 'A' <= c && c <= 'Z':
			return c + ('a' - 'A')
		case foldedByCGI(c):
			return '-'
		}
		return c
	}, name)
}

// plainHost reports whether all servers read the same host in this text.
func plainHost(host string) bool {
	return !strings.ContainsFunc(host, func(c rune) bool { return foldedByCGI(c) && !strings.ContainsRune("._:[]", c) })
}

// forwarded tells the upstream how the client reached this server. The client chooses the
// header Host, so the upstream gets the configured URL of the API if there is one.
func (p *Proxy) forwarded(pr *httputil.ProxyRequest) {
	pr.SetXForwarded()
	if len(p.bases) == 0 {
		return
	}
	base := p.bases[0]
	for _, b := range p.bases {
		if strings.EqualFold(b.Host, pr.In.Host) {
			base = b
		}
	}
	pr.Out.Header.Set("X-Forwarded-Host", base.Host)
	pr.Out.Header.Set("X-Forwarded-Proto", base.Scheme)
}

// apiURLs returns the URLs by which clients reach an API. An audience that belongs to the
// authorization server is not one of them.
func apiURLs(c GuardConfig) []*url.URL {
	var urls []*url.URL
	for _, base := range c.BaseURLs {
		u, err := url.Parse(base)
		if err == nil {
			urls = append(urls, u)
		}
	}
	if u := resourceURL(c); len(urls) == 0 && u != nil {
		ofServer := func(issuer string) bool { return strings.HasPrefix(issuer+"/", u.Scheme+"://"+u.Host+"/") }
		if !slices.ContainsFunc(c.AuthorizationServers, ofServer) {
			urls = append(urls, u)
		}
	}
	return urls
}
