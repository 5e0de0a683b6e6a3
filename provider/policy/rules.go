package policy

import (
	"strings"
	"time"

	"mandate/provider/oauth"
	"mandate/storage"
)

// Settings is what an operator decides about applications.
type Settings struct {
	Scopes        []Scope  // in the operator's order
	DefaultScopes []string // nil: every scope except introspection and openid
	OpenID        bool

	AccessTokenLifetime     time.Duration
	JWTAccessTokenLifetime  time.Duration // of signed access tokens
	RefreshTokenLifetime    time.Duration // without use
	RefreshTokenMaxLifetime time.Duration // of the whole token family

	// The longest lifetimes that an administrator may give an application, beside
	// RefreshTokenMaxLifetime; never less than the server's own.
	AccessTokenMax    time.Duration
	JWTAccessTokenMax time.Duration

	// Grants and scopes that only applications of administrators may have.
	GrantsByAdministrator []string
	ScopesByAdministrator []string
	PersonQuota           Quota // of all applications of one person
	OpenQuota             Quota // of all applications together that registered themselves
}

// Rules decide what each application may do.
type Rules struct {
	Settings
	allowed map[Standing]Allowance // made once, since nearly every request needs one
}

// NewRules makes the table of allowances.
func New(s Settings) *Rules {
	c := &Rules{s, map[Standing]Allowance{}}
	for _, standing := range Standings() {
		c.allowed[standing] = c.allowance(standing)
	}
	return c
}

func (c *Rules) ScopeNames() []string {
	names := make([]string, len(c.Scopes))
	for i, s := range c.Scopes {
		names[i] = s.Name
	}
	return names
}

func (c *Rules) Describe(names []string) []Scope {
	described := make([]Scope, 0, len(names))
	for _, name := range names {
		scope := Scope{name, ""}
		for _, s := range c.Scopes {
			if s.Name == name {
				scope = s
			}
		}
		described = append(described, scope)
	}
	return described
}

// InForce is an application as it may act now, and whether more is registered for
// it.
func (c *Rules) InForce(a storage.Application) (storage.Application, bool) {
	now, may := c.Effective(a), c.AllowanceOf(a)
	more := now.GrantTypes != a.GrantTypes || now.MayIntrospect != a.MayIntrospect || now.SkipConsent != a.SkipConsent || now.PKCEExempt != a.PKCEExempt ||
		!oauth.Covers(may.Scopes, strings.Fields(a.Scopes)) || a.AccessTokenLifetime > c.AccessLifetime(a) || a.RefreshTokenLifetime > c.RefreshLifetime(a)
	return now, more
}

// Scope is a configured scope: its name and what it means to a person.
type Scope struct{ Name, Description string }

// introspectionScope lets a token ask about other tokens. It is never a
// default: whoever holds it sees what every token may do.
const Introspection = "introspection"

// offlineAccess lets tokens outlive the login that they came from (OIDC Core
// §11). It is never a default: the application asks for it, and the person agrees.
const OfflineAccess = "offline_access"

// The values that an application's fields may have.
const (
	Confidential = "confidential"
	Public       = "public"

	GrantCode     = "authorization_code"
	GrantClient   = "client_credentials"
	GrantPassword = "password"
	GrantRefresh  = "refresh_token"
)

// The forms that an application's access tokens may have: a random text that
// this server alone can say something of, or a signed JWT that whoever has the
// public keys can read (RFC 9068).
const (
	FormatOpaque = "opaque"
	FormatJWT    = "jwt"
)

// DefaultAlgorithm signs the tokens of an application that has registered none (OIDC
// Registration §2).
const DefaultAlgorithm = "RS256"
