package provider

import (
	"context"
	"slices"

	"mandate/provider/access"
	"mandate/provider/policy"
	"mandate/provider/tokens"
	"mandate/storage"
)

// Outcome is what would happen if a person used an application. A page and a command show it.
type Outcome struct {
	access.Verdict

	Scopes []string // the most that the application can get; none: it may not get anything about the person
	Claims []tokens.Expected
}

// WhatWouldHappen returns the conditions for a person and an application, and what the application would learn. Consent
// is given by the person alone, so the outcome says what all scopes would tell.
func (p *Provider) WhatWouldHappen(ctx context.Context, a storage.Application, u storage.User) (Outcome, error) {
	v, err := p.Access.Check(ctx, a, u)
	asks := slices.ContainsFunc(policy.PersonGrants(), func(grant string) bool { return policy.HasGrant(a, grant) })
	out := Outcome{Verdict: v}
	if err != nil || !v.Allowed() || !asks {
		return out, err
	}
	out.Scopes = p.Rules.AllowedScopes(a)
	out.Claims, err = p.Tokens.Expect(ctx, a, u, out.Scopes)
	return out, err
}
