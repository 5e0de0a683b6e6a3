// Package policy decides what each application may do: which grants and scopes it may
// use (RFC 6749 §3.3), how long its tokens live, and what the server allows for its
// standing, that is, for the party that is responsible for it.
package policy

import (
	"cmp"
	"slices"
)

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
	if slices.Equal(c.DefaultScopes, []string{AllScopes}) {
		c.DefaultScopes = nil
	}
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
	In                []Translation // the description in each language, if there are several
	BuiltIn           bool          // it exists without configuration, and pages have its description in every language
}

// DescribedIn returns the description in a language, or else the usual one.
func (s Scope) DescribedIn(tag string) string {
	at := slices.IndexFunc(s.In, func(t Translation) bool { return t.Language == tag })
	if at < 0 {
		return s.Description
	}
	return cmp.Or(s.In[at].Text, s.Description)
}

// Translation is a text in one language.
type Translation struct{ Language, Text string }

// AllScopes is the default of DEFAULT_SCOPES, as in django-oauth-toolkit. It means what nil does.
const AllScopes = "__all__"

// Introspection is the scope of a token that may introspect other tokens. It is never a
// default scope: its holder can see what every token allows.
const Introspection = "introspection"

// OfflineAccess is the scope of tokens that outlive the login which they came from
// (OIDC Core §11). It is never a default scope: the application must request it, and
// the person must consent.
const OfflineAccess = "offline_access"

// Client types, as an application's record stores them.
const (
	Confidential = "confidential"
	Public       = "public"
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
