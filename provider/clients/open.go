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
	// Clients says which applications may come that nobody registered: `documents`, `registration`, or both. If the
	// list is empty, none may.
	//
	// `documents` are those whose client id is the URL of a metadata document (Client ID Metadata Documents),
	// `registration` are those that register themselves (RFC 7591). Nobody is responsible for such an application, and
	// a person is asked each time before it gets a code.
	Clients []string `key:"OPEN_CLIENTS" default:"[]" subject:"Applications that nobody registered" after:"PERSON_MAX_LIVE_TOKENS"`
	// WithToken enables the registration endpoint (RFC 7591) for requests with an initial access token.
	//
	// Administrators make these tokens by `mandate registration-token add` and on a page. If `OPEN_CLIENTS` has
	// `registration`, such requests are accepted too.
	WithToken bool `key:"REGISTRATION_WITH_TOKEN" default:"false"`
	// StatementRequired refuses a registration without an initial access token that has no software statement.
	//
	// With `OPEN_CLIENTS: [registration]`, only applications with a statement then register themselves.
	StatementRequired bool `key:"OPEN_SOFTWARE_STATEMENT_REQUIRED" default:"false"`
	// Hosts lists the hosts to which an application of `OPEN_CLIENTS` may belong: the host of its client id and of its
	// `https` redirect URIs.
	//
	// `claude.ai` is that host, `*.example.com` is each host below `example.com`. If it is empty, every host is
	// allowed.
	Hosts []string `key:"OPEN_HOSTS" default:"[]"`
	// Schemes lists private-use schemes without a dot that applications of `OPEN_CLIENTS` may have in their redirect
	// URIs (against RFC 8252 §7.1). Common programs have them.
	//
	// Such a redirect URI names an extension, with a dot (`vscode://publisher.extension/callback`): others can be
	// commands. They apply only if `ALLOWED_REDIRECT_URI_SCHEMES` is empty or lists them.
	Schemes []string `key:"OPEN_REDIRECT_URI_SCHEMES" default:"[cursor, vscode, vscode-insiders]"`
	// LocalhostLoopback does for applications of `OPEN_CLIENTS` what `ALLOW_LOCALHOST_LOOPBACK` does for all: the port
	// of `http://localhost` may vary.
	//
	// Common command line programs need it.
	LocalhostLoopback bool `key:"OPEN_LOCALHOST_LOOPBACK" default:"true"`
	// NeverUsedLifetime is the number of seconds after which an application that registered itself is deleted if
	// nobody has ever approved it.
	NeverUsedLifetime time.Duration `key:"OPEN_NEVER_USED_EXPIRE_SECONDS" default:"86400" min:"60" max:"315360000" after:"OPEN_REFRESH_TOKEN_GRACE_PERIOD_SECONDS"`
	// UnusedLifetime is the number of seconds after which an application of `OPEN_CLIENTS` is deleted, with its
	// tokens, if it got no code and no token in that time.
	UnusedLifetime time.Duration `key:"OPEN_UNUSED_EXPIRE_SECONDS" default:"7776000" min:"3600" max:"315360000"`

	// Outbound says from which networks metadata documents may be fetched.
	Outbound outbound.Config `key:"-"`
}

// The values of OPEN_CLIENTS.
const (
	OpenDocuments    = "documents"
	OpenRegistration = "registration"
)

// Documents reports whether the client id of an application may be the URL of a metadata document.
func (c OpenConfig) Documents() bool { return slices.Contains(c.Clients, OpenDocuments) }

// Registration reports whether an application may register itself (RFC 7591).
func (c OpenConfig) Registration() bool { return slices.Contains(c.Clients, OpenRegistration) }

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
	rules.LocalhostLoopback = rules.LocalhostLoopback || p.config.Open.LocalhostLoopback
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
