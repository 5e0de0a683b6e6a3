package clients

import (
	"net/url"
	"slices"
	"strings"
	"time"

	"mandate/provider/outbound"
	"mandate/provider/policy"
	"mandate/provider/redirect"
	"mandate/storage"
)

// OpenConfig is what an operator decides about applications that come by themselves.
type OpenConfig struct {
	Documents    bool // the client id may be the URL of a metadata document
	Registration bool // an application may register itself (RFC 7591)
	WithToken    bool // with an initial access token it may, even if Registration is false
	// StatementRequired refuses a registration without an initial access token that has no
	// software statement.
	StatementRequired bool

	// Hosts lists the hosts to which such an application may belong: "claude.ai" is that
	// host, "*.example.com" each host below example.com. If it is empty, every host may.
	Hosts []string
	// Schemes lists private-use schemes without a dot that its redirect URIs may have.
	Schemes []string
	// FixedLocalhostPort requires the registered port of a redirect URI with the host
	// localhost.
	FixedLocalhostPort bool

	// Outbound says from which networks metadata documents may be fetched.
	Outbound outbound.Config

	NeverUsedLifetime time.Duration // after which an application that was never used is deleted
	UnusedLifetime    time.Duration // after which an application is deleted that is not used any more
}

// Redirects returns the rules for the redirect URIs of an application.
func (p *Clients) Redirects(a storage.Application) redirect.Policy {
	if !policy.CameByItself(a) {
		return p.config.Redirects
	}
	rules := p.OpenRedirects()
	rules.PlainPrivate = policy.StandingOf(a) == policy.StandingOpen
	return rules
}

// OpenRedirects returns the rules for the redirect URIs of applications that come by
// themselves. RFC 8252 §8.3 prefers IP addresses to localhost, and its §7.1 wants a dot in
// the scheme, but common native applications have neither. A person is always asked before
// such an application gets a code.
func (p *Clients) OpenRedirects() redirect.Policy {
	rules := p.config.Redirects
	rules.LocalhostLoopback = rules.LocalhostLoopback || !p.config.Open.FixedLocalhostPort
	rules.PrivateSchemes, rules.PlainPrivate = p.config.Open.Schemes, true
	return rules
}

// AllowsHost reports whether an application that comes by itself may belong to the host of
// a URL. A port is not part of the comparison.
func (c OpenConfig) AllowsHost(of *url.URL) bool {
	host := strings.ToLower(of.Hostname())
	return len(c.Hosts) == 0 || slices.ContainsFunc(c.Hosts, func(allowed string) bool {
		if parent, below := strings.CutPrefix(allowed, "*"); below {
			return strings.HasSuffix(host, parent) && len(host) > len(parent)
		}
		return host == allowed
	})
}
