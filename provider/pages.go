package provider

import (
	"context"
	"time"
)

// What pages show of the configuration, and of what is stored.

// Scopes lists the scopes that anybody may give to an application of theirs:
// all but introspection, which has a switch of its own.
func (p *Provider) Scopes() []Scope {
	var scopes []Scope
	for _, s := range p.config.Scopes {
		if s.Name != introspectionScope {
			scopes = append(scopes, s)
		}
	}
	return scopes
}

// AllowedScopes lists what an application may ask for now.
func (p *Provider) AllowedScopes(a Application) []string { return p.config.allowedScopes(a) }

// Lifetimes are those of an application that has none of its own.
type Lifetimes struct{ Access, JWT, Refresh time.Duration }

// Lifetimes gives the server's own.
func (p *Provider) Lifetimes() Lifetimes {
	return Lifetimes{p.config.AccessTokenLifetime, p.config.JWTAccessTokenLifetime, p.config.RefreshTokenLifetime}
}

// OwnApplications counts what a person has registered.
func (p *Provider) OwnApplications(ctx context.Context, u User) (int, error) {
	_, n, err := p.store.Applications(ctx, u.ID, "", 1, 0)
	return n, stored(err)
}
