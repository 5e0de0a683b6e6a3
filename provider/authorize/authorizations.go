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

	"mandate/provider/access"
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
	// CodeLifetime is the lifetime of an authorization code in seconds. RFC 6749 §4.1.2 recommends ten minutes at
	// most.
	CodeLifetime time.Duration `key:"AUTHORIZATION_CODE_EXPIRE_SECONDS" default:"60" min:"1" max:"600" subject:"Authorization requests" after:"OPEN_MAX_LIVE_TOKENS"`
	// PushedLifetime is the number of seconds in which a request URI of a pushed authorization request can be opened.
	//
	// RFC 9126 §2.2 leaves the number to the server, and gives 5 to 600 seconds as its example; FAPI 2.0 Security
	// Profile §5.3.2.2 requires less than 600 seconds. Use more than the default only if people need longer to reach
	// the browser, such as on another device. A person who has opened it has an hour for the login, and an hour for
	// the consent page.
	PushedLifetime time.Duration `key:"PUSHED_REQUEST_EXPIRE_SECONDS" default:"90" min:"5" max:"599"`
	// MaxPushed is the largest number of pushed authorization requests of one application that have no answer yet. 0
	// means no limit.
	//
	// It counts those that somebody has opened or can still open. If an administrator is not responsible, it is for
	// all applications of one owner together. One IPv4 /24 or IPv6 /48 may have a tenth of it (at least one) if the
	// application is public, or if nobody is responsible for it.
	MaxPushed int `key:"PUSHED_REQUEST_MAX_PENDING" default:"10000" min:"0" max:"1000000"`
	// RequirePushed refuses authorization requests that the application did not push (RFC 9126 §5). The setting of an
	// application can require it for this application alone.
	RequirePushed bool `key:"REQUIRE_PUSHED_AUTHORIZATION_REQUESTS" default:"false"`
	// RequireSigned refuses authorization requests that are in no request object which the application signed (RFC
	// 9101 §10.5).
	//
	// The setting of an application can require it for this application alone.
	RequireSigned bool `key:"REQUIRE_SIGNED_REQUEST_OBJECT" default:"false"`
	// ObjectsByReference lets an application name the address of a request object in `request_uri` (RFC 9101 §5.2).
	//
	// The server reads addresses that the application has registered, and no others.
	ObjectsByReference bool `key:"REQUEST_OBJECTS_BY_REFERENCE" default:"false"`
	// ApprovalPrompt decides when the consent page is shown: `auto` skips it if the person approved the same scopes
	// before, `force` always shows it.
	ApprovalPrompt string `key:"REQUEST_APPROVAL_PROMPT" default:"auto" oneof:"auto force" after:"PKCE_REQUIRED"`

	Issuer    string
	OpenID    bool
	ACRValues []string // that a login at this server can reach
}

// Authorizations makes the decisions of the authorization endpoint.
type Authorizations struct {
	config  Config
	rules   *policy.Rules
	store   *storage.Store
	limits  *limits.Limits
	clients *clients.Clients
	access  *access.Access
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
	may *access.Access,
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
		access:  may,
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
