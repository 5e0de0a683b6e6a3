package clients

import (
	"context"
	"sync"

	"mandate/provider/events"
	"mandate/provider/oauth"
	"mandate/storage"
)

const (
	// UseInterval is how old the stored time of the last use may be, in seconds, before a
	// new one is stored.
	UseInterval = 600
	maxUses     = 10_000 // that wait to be stored; about 100 bytes each
	useBatch    = 500    // that one transaction stores
)

// uses holds when something was used, until StoreUses stores it.
type uses[K comparable] struct {
	mu sync.Mutex
	at map[K]int64
}

// Used notes that an application gets a code or a token. The first use is stored at once:
// applications that nobody uses are deleted, and this one must not be among them. Later
// uses are stored together by StoreUses, so that a token request has no write more.
func (p *Clients) Used(ctx context.Context, a storage.Application) error {
	now := oauth.Now()
	if a.LastUsedAt == 0 {
		return oauth.Stored(p.store.NoteUses(ctx, map[string]int64{a.ID: now}))
	}
	if now-a.LastUsedAt >= UseInterval {
		p.uses.add(a.ID, now)
	}
	return nil
}

// WithoutPKCE notes that an application got a code without a code challenge. StoreUses stores it.
func (p *Clients) WithoutPKCE(a storage.Application) {
	now := oauth.Now()
	if now-a.LastWithoutPKCEAt >= UseInterval {
		p.withoutPKCE.add(a.ID, now)
	}
}

func (u *uses[K]) add(id K, at int64) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.at == nil {
		u.at = map[K]int64{}
	}
	if len(u.at) < maxUses || u.at[id] != 0 {
		u.at[id] = max(u.at[id], at)
	}
}

// take removes at most useBatch uses and returns them.
func (u *uses[K]) take() map[K]int64 {
	u.mu.Lock()
	defer u.mu.Unlock()
	taken := map[K]int64{}
	for id, at := range u.at {
		if len(taken) == useBatch {
			break
		}
		taken[id] = at
		delete(u.at, id)
	}
	return taken
}

// StoreUses stores the uses that wait. After an error the next call stores them.
func (p *Clients) StoreUses(ctx context.Context) error {
	err := p.uses.store(func(taken map[string]int64) error { return p.store.NoteUses(ctx, taken) })
	if err == nil {
		err = p.withoutPKCE.store(func(taken map[string]int64) error { return p.store.NoteWithoutPKCE(ctx, taken) })
	}
	if err != nil {
		return err
	}
	return p.keyUses.store(func(taken map[storage.KeyUse]int64) error { return p.store.NoteKeyUses(ctx, taken) })
}

func (u *uses[K]) store(note func(map[K]int64) error) error {
	for {
		taken := u.take()
		if len(taken) == 0 {
			return nil
		}
		err := note(taken)
		if err != nil {
			for id, at := range taken {
				u.add(id, at)
			}
			return err
		}
	}
}

// EndUnused deletes at most limit applications for which nobody is responsible and that
// nobody uses. now is the time of the database. It returns their number.
func (p *Clients) EndUnused(ctx context.Context, now int64, limit int) (int64, error) {
	each := events.Row(ctx,
		events.Event{Kind: events.ApplicationDeleted, Object: events.Application(storage.Application{}), Detail: "unused"})
	return p.store.EndUnusedApplications(ctx, now-oauth.Seconds(p.config.Open.NeverUsedLifetime),
		now-oauth.Seconds(p.config.Open.UnusedLifetime), limit, each)
}
