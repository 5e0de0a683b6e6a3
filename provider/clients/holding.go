package clients

import (
	"context"

	"mandate/provider/events"
	"mandate/provider/oauth"
	"mandate/provider/policy"
	"mandate/storage"
)

const (
	// examined is how many rows are read at most to count what an application holds.
	examined = 5_000
	// MostCounted is the highest number of people or of tokens that Holding returns.
	MostCounted = 1_000
)

// Holding counts what an application holds now.
func (p *Clients) Holding(ctx context.Context, a storage.Application) (storage.Holding, error) {
	h, err := p.store.Holding(ctx, a, policy.ChargedTo(a), oauth.Now(), examined, MostCounted)
	return h, oauth.Stored(err)
}

// RevokeAll revokes everything that an application holds: its tokens, and what people have
// approved. The application stays, and can get new tokens.
func (p *Clients) RevokeAll(ctx context.Context, actor policy.Actor, id string) error {
	a, err := p.Application(ctx, actor, id)
	if err != nil {
		return err
	}
	revoked := events.Event{Kind: events.ApplicationRevoked, Person: events.OwnerOf(a), Object: events.Application(a)}
	return oauth.Stored(p.store.RevokeAllOf(events.Attach(ctx, revoked), id))
}
