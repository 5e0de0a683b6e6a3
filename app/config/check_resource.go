package config

import (
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"path"
	"regexp"
	"strings"

	"mandate/provider/authority"
	"mandate/provider/loopback"
)

var (
	// RFC 6750 §2.1: the form of a bearer token.
	bearerToken = regexp.MustCompile(`^[A-Za-z0-9._~+/-]+=*$`)
	// RFC 6749 appendix A.1, A.2: client id and secret are printable ASCII.
	credential = regexp.MustCompile(`^[\x20-\x7e]+$`)
)

func (l *loader) checkIntrospection() {
	const (
		endpoint    = providerBlock + "RESOURCE_SERVER_INTROSPECTION_URL"
		token       = providerBlock + "RESOURCE_SERVER_AUTH_TOKEN"
		credentials = providerBlock + "RESOURCE_SERVER_INTROSPECTION_CREDENTIALS"
	)
	p := l.c.Provider
	if l.ok(endpoint) && p.ResourceServerIntrospectionURL != "" {
		u, wrong := webURL(p.ResourceServerIntrospectionURL)
		if wrong != "" {
			l.wrong(wrong, endpoint)
		} else {
			l.checkTransport(u, endpoint, loopback.Is)
		}
	}
	if l.ok(token) && p.ResourceServerAuthToken != "" && !bearerToken.MatchString(p.ResourceServerAuthToken) {
		l.wrong("is not a bearer token; set the access token alone, without the word Bearer (RFC 6750 §2.1)", token)
	}
	pair := p.ResourceServerIntrospectionCredentials
	notPair := len(pair) != 2 || !credential.MatchString(pair[0]) || !credential.MatchString(pair[1])
	if l.ok(credentials) && len(pair) > 0 && notPair {
		l.wrong("must be a list of two: the client id and the client secret", credentials)
	}
	if !l.ok(endpoint, token, credentials) {
		return
	}
	switch {
	case p.ResourceServerAuthToken != "" && len(pair) > 0:
		l.wrong(
			"RESOURCE_SERVER_AUTH_TOKEN and RESOURCE_SERVER_INTROSPECTION_CREDENTIALS are both set; keep one", token,
			credentials,
		)
	case p.ResourceServerIntrospectionURL != "" && p.ResourceServerAuthToken == "" && len(pair) == 0:
		l.wrong(
			"needs RESOURCE_SERVER_AUTH_TOKEN or RESOURCE_SERVER_INTROSPECTION_CREDENTIALS to authenticate with (RFC 7662 "+
				"§2.1); set one",
			endpoint,
		)
	case p.ResourceServerIntrospectionURL == "" && (p.ResourceServerAuthToken != "" || len(pair) > 0):
		l.wrong("has no effect without RESOURCE_SERVER_INTROSPECTION_URL; set that too, or remove this", token, credentials)
	}
}

// checkSigned: RFC 9068 §4: a resource server that verifies a token itself compares
// its issuer and audience. Otherwise it would accept tokens of other servers and
// for other APIs.
func (l *loader) checkSigned() {
	const keys, issuer, audience = providerBlock + "RESOURCE_SERVER_JWKS_URL", providerBlock + "RESOURCE_SERVER_ISSUER",
		providerBlock + "RESOURCE_SERVER_AUDIENCE"
	const typ = providerBlock + "RESOURCE_SERVER_JWT_TYP"
	p := l.c.Provider
	if !l.ok(keys, issuer, audience, typ) {
		return
	}
	if p.ResourceServerJWKSURL == "" {
		if p.ResourceServerIssuer != "" && p.ResourceServerAudience == "" {
			l.wrong("has no effect without RESOURCE_SERVER_AUDIENCE; set that too, or remove this", issuer)
		}
		if p.ResourceServerJWTTyp == "JWT" {
			l.wrong("has no effect without RESOURCE_SERVER_JWKS_URL; set that too, or remove this", typ)
		}
		return
	}
	u, wrong := webURL(p.ResourceServerJWKSURL)
	switch {
	case wrong != "":
		l.wrong(wrong, keys)
	case p.ResourceServerIssuer == "" || p.ResourceServerAudience == "":
		l.wrong(
			"needs RESOURCE_SERVER_ISSUER and RESOURCE_SERVER_AUDIENCE, with which tokens are compared (RFC 9068 §4); set both",
			keys,
		)
	default:
		l.checkTransport(u, keys, loopback.Is)
	}
}

// checkMetadata checks what an API publishes about itself, and who may call it.
func (l *loader) checkMetadata() {
	const issuer, audience, origins = providerBlock + "RESOURCE_SERVER_ISSUER", providerBlock + "RESOURCE_SERVER_AUDIENCE",
		providerBlock + "RESOURCE_SERVER_ALLOWED_ORIGINS"
	const name, documentation = providerBlock + "RESOURCE_SERVER_NAME", providerBlock + "RESOURCE_SERVER_DOCUMENTATION"
	p := l.c.Provider
	if l.ok(issuer) && p.ResourceServerIssuer != "" && p.ResourceServerJWKSURL == "" {
		if _, wrong := webURL(p.ResourceServerIssuer); wrong != "" {
			l.wrong(wrong+": it is the issuer in the metadata of the authorization server (RFC 8414 §2)", issuer)
		}
	}
	if l.ok(documentation) && p.ResourceServerDocumentation != "" {
		if _, wrong := webURL(p.ResourceServerDocumentation); wrong != "" {
			l.wrong(wrong, documentation)
		}
	}
	// The sample API of this server has both by default.
	if l.ok(
		issuer, audience, name, documentation,
	) && !l.c.SampleAPI && (p.ResourceServerIssuer == "" || p.ResourceServerAudience == "") {
		const needs = "has no effect without RESOURCE_SERVER_ISSUER and RESOURCE_SERVER_AUDIENCE, with which the API " +
			"publishes metadata; set both, or remove this"
		if p.ResourceServerName != "" {
			l.wrong(needs, name)
		}
		if p.ResourceServerDocumentation != "" {
			l.wrong(needs, documentation)
		}
	}
	if !l.ok(origins) {
		return
	}
	for i, origin := range p.ResourceServerAllowedOrigins {
		if origin != "*" && !authority.IsOrigin(origin) {
			l.element(
				origins, i,
				"is not an origin as a browser sends it; write scheme, host and port alone, without a default port "+
					"(https://app.example.com), or * for every origin",
			)
		}
	}
}

// checkUpstream: UPSTREAM without RULES would refuse every request, and RULES
// without UPSTREAM would protect nothing.
func (l *loader) checkUpstream() {
	const upstream, rules, pass, endpoint = "UPSTREAM", "RULES", "PASS_AUTHORIZATION",
		providerBlock + "RESOURCE_SERVER_INTROSPECTION_URL"
	const reserved = "RESERVED_HEADERS"
	for i, name := range l.c.ReservedHeaders {
		if l.ok(reserved) && !headerName.MatchString(strings.TrimSuffix(name, "*")) {
			l.element(
				reserved, i,
				"is not the name of a header; write letters, digits and hyphens, and * at the end for all names that begin so",
			)
		}
	}
	if !l.ok(upstream) {
		return
	}
	if l.c.Upstream == "" {
		if l.ok(rules) && len(l.c.Rules) > 0 {
			l.wrong("has no effect without UPSTREAM; set that too, or remove the rules", rules)
		}
		if l.ok(pass) && l.c.PassAuthorization {
			l.wrong("has no effect without UPSTREAM; set that too, or remove this", pass)
		}
		if l.ok(reserved) && len(l.c.ReservedHeaders) > 0 {
			l.wrong("has no effect without UPSTREAM; set that too, or remove this", reserved)
		}
		return
	}
	u, wrong := webURL(l.c.Upstream)
	if wrong == "" && strings.Contains(l.c.Upstream, "?") {
		wrong = "contains a query; remove everything from the ? on"
	}
	if wrong != "" {
		l.wrong(wrong, upstream)
		return
	}
	if l.ok("LISTEN") && leadsTo(u, l.c.Listen) {
		l.wrong(
			"is the address that LISTEN binds, so that this server would forward each request to itself; use another port",
			upstream,
		)
	}
	if l.ok(pass) && l.c.PassAuthorization { // RFC 6750 §5.3: tokens need TLS
		l.checkTransport(u, upstream, loopback.Is)
	}
	if l.ok(rules) && len(l.c.Rules) == 0 {
		l.wrong("needs RULES: for example `- {PATH: /, SCOPES: [read]}`", upstream)
	}
	if l.ok(endpoint) && l.c.Provider.ResourceServerIntrospectionURL == "" && l.c.Provider.ResourceServerJWKSURL == "" {
		l.wrong(
			"needs OAUTH2_PROVIDER.RESOURCE_SERVER_INTROSPECTION_URL to check tokens, or RESOURCE_SERVER_JWKS_URL; set one",
			upstream,
		)
	}
}

// leadsTo reports whether a URL of this machine leads to a listener.
func leadsTo(u *url.URL, listen string) bool {
	host, port, err := net.SplitHostPort(listen)
	if err != nil || port != u.Port() || !loopback.Is(u.Hostname()) {
		return false
	}
	number := func(host string) netip.Addr {
		if loopback.IsName(host) {
			host = "127.0.0.1"
		}
		addr, _ := netip.ParseAddr(host)
		return addr
	}
	at, to := number(host), number(u.Hostname())
	// The unspecified IPv6 address accepts connections of both families.
	return host == "" || at == to || at.IsUnspecified() && (at.Is6() || to.Is4())
}

// RFC 9110 §5.6.2, in upper case as all registered methods are.
var method = regexp.MustCompile(`^[A-Z][A-Z0-9-]*$`)

func (l *loader) checkRules() {
	if !l.ok("RULES") {
		return
	}
	seen := map[string]bool{}
	for i, rule := range l.c.Rules {
		name := fmt.Sprintf("RULES[%d]", i)
		if !isRulePath(rule.Path) {
			l.wrong("needs as PATH a plain path that starts with a slash (/users/)", name+".PATH", name)
		}
		for j, m := range rule.Methods {
			if !method.MatchString(m) {
				l.element(name+".METHODS", j, "is not an HTTP method in upper case")
			}
			l.checkRepeat(seen, rule.Path+" "+m, name)
		}
		if len(rule.Methods) == 0 {
			l.checkRepeat(seen, rule.Path, name)
		}
		for j, scope := range rule.Scopes {
			if !scopeToken.MatchString(scope) {
				l.element(name+".SCOPES", j, scopeTokenText)
			}
		}
		for j, acr := range rule.ACRValues {
			if !scopeToken.MatchString(acr) {
				l.element(name+".ACR_VALUES", j, `is not an acr; use printable ASCII without spaces, " and \`)
			}
		}
	}
}

// isRulePath accepts only the form that a cleaned request path has: no other path
// would match.
func isRulePath(p string) bool {
	clean := strings.TrimSuffix(p, "/")
	return strings.HasPrefix(p, "/") && (clean == "" || path.Clean(clean) == clean) && !strings.ContainsAny(p, "?#%*\\ ")
}

func (l *loader) checkRepeat(seen map[string]bool, what, name string) {
	if seen[what] {
		l.wrong("has the path and method of an earlier rule; put the scopes into one rule", name)
	}
	seen[what] = true
}
