// Package policy decides what each application may do: which grants and scopes it may
// use (RFC 6749 §3.3), how long its tokens live, and what the server allows for its
// standing, that is, for the party that is responsible for it.
package policy

import (
	"cmp"
	"time"
)

// Settings is what an operator decides about applications.
type Settings struct {
	Scopes        []Scope  // in the operator's order; New adds the built-in ones
	DefaultScopes []string // nil: every configured scope except introspection and the identity scopes
	OpenID        bool
	StrictScopes  bool   // refuse a request with a scope that the application cannot get, in place of leaving it out
	PKCE          string // PKCEForAll, PKCEForPublic or PKCEForPublicOnly

	AccessTokenLifetime     time.Duration
	JWTAccessTokenLifetime  time.Duration // of signed access tokens
	RefreshTokenLifetime    time.Duration // after which an unused refresh token expires
	RefreshTokenMaxLifetime time.Duration // of the whole token family

	// The longest lifetimes that an administrator may give an application, in addition
	// to RefreshTokenMaxLifetime. A value below the server's own lifetime has no
	// effect.
	AccessTokenMax    time.Duration
	JWTAccessTokenMax time.Duration

	// Grants and scopes that only applications with the standing administrator may
	// have.
	GrantsByAdministrator []string
	ScopesByAdministrator []string
	KeyMethods            []string // of client authentication, for applications for which nobody is responsible
	PersonQuota           Quota    // for all applications of one person together
	OpenQuota             Quota    // for all applications together that registered themselves

	// The longest lifetimes of the tokens of applications for which nobody is
	// responsible.
	OpenAccessTokenLifetime, OpenRefreshTokenLifetime time.Duration

	// For how long a refresh token that was replaced returns its successor again, and the same
	// for applications for which nobody is responsible.
	RefreshGrace, OpenRefreshGrace time.Duration

	// AllowsDocument reports whether a client may come whose metadata document is at this
	// client id. nil: none may.
	AllowsDocument func(clientID string) bool
	// OpenSchemes lists private-use schemes without a dot that applications which come by themselves may have.
	OpenSchemes []string
	// AllowsRegistration says that applications may register themselves without a token.
	AllowsRegistration bool
}

// Rules decides what each application may do.
type Rules struct {
	Settings
	configured []string               // the names of the configured scopes
	defaults   []string               // the default scopes
	allowed    map[Standing]Allowance // computed once, because nearly every request needs one
}

// New makes the rules, and computes what each standing allows.
func New(s Settings) *Rules {
	c := &Rules{Settings: s, allowed: map[Standing]Allowance{}}
	c.configured = c.ScopeNames()
	if c.OpenID {
		c.Scopes = withBuiltIn(c.Scopes)
	}
	c.defaults = c.findDefaults()
	for _, standing := range Standings() {
		c.allowed[standing] = c.allowance(standing)
	}
	return c
}

// ScopeNames returns the names of all scopes, in the operator's order.
func (c *Rules) ScopeNames() []string {
	names := make([]string, len(c.Scopes))
	for i, s := range c.Scopes {
		names[i] = s.Name
	}
	return names
}

// Describe returns the scopes with the given names, in the given order. A name that is
// not configured has an empty description.
func (c *Rules) Describe(names []string) []Scope {
	described := make([]Scope, 0, len(names))
	for _, name := range names {
		scope := Scope{Name: name}
		for _, s := range c.Scopes {
			if s.Name == name {
				scope = s
			}
		}
		described = append(described, scope)
	}
	return described
}

// Scope is a configured scope: its name, and the description that people see.
type Scope struct {
	Name, Description string
	In                map[string]string // the description in other languages, by language tag
	BuiltIn           bool              // it exists without configuration, and pages have its description in every language
}

// DescribedIn returns the description in a language, or else the usual one.
func (s Scope) DescribedIn(tag string) string { return cmp.Or(s.In[tag], s.Description) }

// Introspection is the scope of a token that may introspect other tokens. It is never a
// default scope: its holder can see what every token allows.
const Introspection = "introspection"

// OfflineAccess is the scope of tokens that outlive the login which they came from
// (OIDC Core §11). It is never a default scope: the application must request it, and
// the person must consent.
const OfflineAccess = "offline_access"

// Client types and grant types, as an application's record stores them.
const (
	Confidential = "confidential"
	Public       = "public"

	GrantCode     = "authorization_code"
	GrantClient   = "client_credentials"
	GrantPassword = "password"
	GrantRefresh  = "refresh_token"
	GrantDevice   = "urn:ietf:params:oauth:grant-type:device_code"
)

// The formats of an application's access tokens. An opaque token is a random text,
// which only this server can interpret. A JWT is signed, and everybody can read it (RFC
// 9068).
const (
	FormatOpaque = "opaque"
	FormatJWT    = "jwt"
)

// DefaultAlgorithm signs the tokens of an application that has no algorithm registered
// (OIDC Registration §2).
const DefaultAlgorithm = "RS256"
