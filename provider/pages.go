package provider

import (
	"context"
	"slices"
	"time"

	"mandate/provider/oauth"
	"mandate/provider/policy"
	"mandate/provider/redirect"
	"mandate/storage"
)

// The methods in this file return what the pages show of the configuration and of the
// database.

// Choices returns what the actor may register for an application. If a is nil, it returns what
// the actor may register for a new application.
func (p *Provider) Choices(actor storage.User, a *storage.Application) policy.Allowance {
	if a == nil {
		return p.Rules.Allowance(policy.StandingOfPerson(actor))
	}
	return p.Rules.AllowanceOf(*a)
}

// Scopes returns the names of the configured scopes, without introspection, which has its own
// setting.
func (p *Provider) Scopes() []string {
	return oauth.Without(p.Rules.ScopeNames(), policy.Introspection)
}

// ResourceScopes returns the names of the configured scopes that the registration of a resource
// can list. The scopes of OpenID Connect are not among them, because every resource has them.
func (p *Provider) ResourceScopes() []string {
	return slices.DeleteFunc(p.Scopes(), p.Rules.IsIdentityScope)
}

// Lifetimes holds the token lifetimes of an application that has none of its own.
type Lifetimes struct{ Access, JWT, Refresh time.Duration }

// Lifetimes returns the token lifetimes of the server.
func (p *Provider) Lifetimes() Lifetimes {
	return Lifetimes{p.config.AccessTokenLifetime, p.config.JWTAccessTokenLifetime, p.config.RefreshTokenLifetime}
}

// LifetimesOf returns the lifetimes in seconds that the tokens of an application have now. The second one is 0 for an
// application without refresh tokens.
func (p *Provider) LifetimesOf(a storage.Application) (access, refresh int64) {
	if policy.HasGrant(a, policy.GrantRefresh) {
		refresh = p.Rules.RefreshLifetime(a)
	}
	return p.Rules.AccessLifetime(a), refresh
}

// HasOpenID reports whether OpenID Connect is on.
func (p *Provider) HasOpenID() bool { return p.config.OpenID }

// OwnApplications returns how many applications a person has registered.
func (p *Provider) OwnApplications(ctx context.Context, u storage.User) (int, error) {
	_, n, err := p.store.Applications(ctx, storage.Selection{OwnerID: u.ID}, 1, 0)
	return n, oauth.Stored(err)
}

// ClaimsInIDToken reports whether the ID tokens of an application have the claims of the granted scopes.
func (p *Provider) ClaimsInIDToken(a storage.Application) bool {
	return p.config.OpenID && p.Rules.ClaimsInIDToken(a)
}

// NeedsPKCE reports whether the authorization requests of an application that leaves PKCE to the server need a code
// challenge. If a is nil, it is a new confidential application of the actor. nonce says that the requests have the
// scope openid and a nonce.
func (p *Provider) NeedsPKCE(actor storage.User, a *storage.Application, nonce bool) bool {
	of := policy.OwnedBy(actor)
	of.ClientType = policy.Confidential
	if a != nil {
		of = *a
	}
	of.PKCE = ""
	return p.Rules.NeedsPKCE(of, nonce)
}

// KeepsRefreshTokens reports whether the refresh tokens of a confidential application are not
// rotated, unless it is set otherwise.
func (p *Provider) KeepsRefreshTokens() bool { return !p.config.Grant.RotateRefreshTokens }

// RedirectWarnings says what the redirect URIs of an application risk, in a sentence for each that is weak.
func RedirectWarnings(a storage.Application) []string {
	var warnings []string
	for _, uri := range oauth.Union(oauth.Lines(a.RedirectURIs), oauth.Lines(a.PostLogoutURIs)) {
		if warning := redirect.Warning(uri); warning != "" {
			warnings = append(warnings, warning)
		}
	}
	return warnings
}
