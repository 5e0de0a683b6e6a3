package provider

import (
	"context"
	"time"

	"mandate/provider/oauth"
	"mandate/provider/policy"
)

// What pages show of the configuration, and of what is stored.

// Choices are what may be registered for an application, or for the next one of the
// actor where there is none yet.
func (p *Provider) Choices(actor User, a *Application) policy.Allowance {
	if a == nil {
		return p.rules.Allowance(policy.StandingOfPerson(actor))
	}
	return p.rules.AllowanceOf(*a)
}

// Scopes lists the scopes there are, but for introspection, which has a switch of
// its own.
func (p *Provider) Scopes() []string {
	return oauth.Without(p.rules.ScopeNames(), policy.Introspection)
}

// Describe gives the scopes of these names with what they mean to a person.
func (p *Provider) Describe(names []string) []policy.Scope { return p.rules.Describe(names) }

// AllowedScopes lists what an application may ask for now.
func (p *Provider) AllowedScopes(a Application) []string { return p.rules.AllowedScopes(a) }

// Lifetimes are those of an application that has none of its own.
type Lifetimes struct{ Access, JWT, Refresh time.Duration }

// Lifetimes gives the server's own.
func (p *Provider) Lifetimes() Lifetimes {
	return Lifetimes{p.config.AccessTokenLifetime, p.config.JWTAccessTokenLifetime, p.config.RefreshTokenLifetime}
}

// OwnApplications counts what a person has registered.
func (p *Provider) OwnApplications(ctx context.Context, u User) (int, error) {
	_, n, err := p.store.Applications(ctx, u.ID, "", 1, 0)
	return n, oauth.Stored(err)
}

// InForce is an application as it may act now, and whether more is registered for it.
func (p *Provider) InForce(a Application) (Application, bool) { return p.rules.InForce(a) }
