// Package authorize implements the authorization endpoint for the response type code. It
// checks the authorization request, decides whether the person must sign in or approve, and
// issues the authorization code. The documents are the authorization code grant (RFC 6749
// §4.1.1, §4.1.2), PKCE (RFC 7636), the issuer in the response (RFC 9207), and the
// authentication request of OpenID Connect (OIDC Core §3.1.2).
package authorize

import (
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/ory/fosite"

	"mandate/provider/clients"
	"mandate/provider/framework"
	"mandate/provider/limits"
	"mandate/provider/policy"
	"mandate/provider/possession"
	"mandate/provider/resources"
	"mandate/provider/seal"
	"mandate/provider/tokens"
	"mandate/storage"
)

// Config holds the operator's settings for authorization requests.
type Config struct {
	Issuer       string
	OpenID       bool
	AlwaysAsk    bool // show the consent page even if the person approved the same request before
	CodeLifetime time.Duration

	RequirePushed      bool          // refuse requests that were not pushed (RFC 9126 §5)
	RequireSigned      bool          // refuse requests that the client did not sign (RFC 9101 §10.5)
	PushedLifetime     time.Duration // how long a request URI can be opened
	ObjectsByReference bool          // read request objects at the addresses that an application registered
	MaxPushed          int           // unused pushed requests of one application, or of the applications of one owner; 0: no limit
	ACRValues          []string      // that a login at this server can reach
}

// Authorizations makes the decisions of the authorization endpoint.
type Authorizations struct {
	config  Config
	rules   *policy.Rules
	store   *storage.Store
	limits  *limits.Limits
	clients *clients.Clients
	tokens  *tokens.Tokens
	apis    *resources.Resources
	proofs  *possession.Checks
	tickets seal.Sealer // encrypts requests that wait for the person, in the browser
	fosite  *fosite.Fosite
	codes   atomic.Int64 // the number of codes issued since the start of the process
}

// New returns the component.
func New(
	config Config,
	rules *policy.Rules,
	store *storage.Store,
	l *limits.Limits,
	c *clients.Clients,
	t *tokens.Tokens,
	apis *resources.Resources,
	proofs *possession.Checks,
	tickets seal.Sealer,
) *Authorizations {
	p := &Authorizations{
		config:  config,
		rules:   rules,
		store:   store,
		limits:  l,
		clients: c,
		tokens:  t,
		apis:    apis,
		proofs:  proofs,
		tickets: tickets,
	}
	p.fosite = framework.Authorization(c, rules, config.CodeLifetime, authorizationCodes{p: p})
	return p
}

// Framework returns what issues the codes, for tests.
func (p *Authorizations) Framework() *fosite.Fosite { return p.fosite }

// CodesIssued returns the number of codes issued since the start of the process.
func (p *Authorizations) CodesIssued() int64 { return p.codes.Load() }

// requiresPush reports whether an application must push its authorization requests.
func (p *Authorizations) requiresPush(a storage.Application) bool {
	return p.config.RequirePushed || a.RequirePushed
}

// requiresSigned reports whether an application must sign its authorization requests.
func (p *Authorizations) requiresSigned(a storage.Application) bool {
	return p.config.RequireSigned || a.RequireSigned
}

// MayBeQueries reports whether the authorization requests of an application, and the responses, may
// be the query of an address.
func (p *Authorizations) MayBeQueries(a storage.Application) bool {
	modes := strings.Fields(a.ResponseModes)
	return !p.requiresPush(a) && !p.requiresSigned(a) && (len(modes) == 0 || slices.Contains(modes, "query"))
}
