package provider

import (
	"context"
	"time"

	"mandate/provider/oauth"
)

// deletedBatch multiplies the batch size for the search for rows of deleted applications. The
// search reads more rows, because it deletes only a few of them.
const deletedBatch = 10

// sweep ends old sessions and deletes expired rows, batch by batch, until none are left. One node does it for all, by
// the clock of the database.
func (p *Provider) sweep(ctx context.Context) {
	for {
		asked := time.Now()
		now, mine, err := p.store.TakeTurn(ctx, p.node, func(now time.Time) bool {
			if !p.store.Embedded() {
				p.clock.Compare(asked, time.Now(), now)
			}
			return p.clock.Right()
		})
		at := now.Unix()
		n := int64(0)
		switch {
		case err == nil && !p.clock.Right():
			return // watchClock says so
		case err == nil && mine:
			n, err = p.sweepBatch(ctx, at)
		}
		if err == nil {
			p.counters.swept.Store(at)
		}
		if err != nil && ctx.Err() == nil {
			p.counters.sweepsFailed.Add(1)
			p.log.Warn("clean-up failed", "error", err)
		}
		if err != nil || n < int64(p.config.SweepBatch) {
			return
		}
	}
}

// rightForOthers reports whether this node may give up messages that another node could still send. On SQLite there is
// no other node: waiting would only let the messages expire.
func (p *Provider) rightForOthers() bool { return p.store.Embedded() || p.clock.Right() }

// sweepBatch deletes a batch of each kind. It returns the largest number of rows of a kind.
func (p *Provider) sweepBatch(ctx context.Context, at int64) (int64, error) {
	batch := p.config.SweepBatch
	old, err := p.store.EndOldSessions(ctx, at, p.People.IdleSince(at), batch)
	var n int64
	if err == nil {
		n, err = p.store.Sweep(ctx, at, batch)
	}
	if err == nil {
		_, err = p.Clients.EndUnused(ctx, at, batch)
	}
	if err == nil {
		var ended int64
		ended, err = p.People.EndMemberships(ctx, at, batch)
		old = max(old, ended)
	}
	if err == nil {
		var looked int64
		looked, err = p.store.SweepExcluded(ctx, at, batch)
		old = max(old, looked)
	}
	if old > 0 {
		p.Logouts.NotifyNow()
	}
	if err == nil {
		err = p.store.SweepDeletedApplications(ctx, deletedBatch*batch)
	}
	if err == nil {
		err = p.store.Reclaim(ctx)
	}
	n = max(n, old)
	if err == nil && p.config.EventRetention > 0 {
		old, err = p.store.SweepEvents(ctx, at-oauth.Seconds(p.config.EventRetention), batch)
		n = max(n, old)
	}
	return n, err
}

// compareEvery is how often a node compares its clock with that of the database.
const compareEvery = 5 * time.Second

// watchClock compares the clocks until ctx ends.
func (p *Provider) watchClock(ctx context.Context) {
	tick := time.NewTicker(compareEvery)
	defer tick.Stop()
	wrong := false // whether the log says so
	for {
		err := p.compareClocks(ctx) // while the database does not answer, the last comparison holds
		if err == nil {
			err = p.clock.Err()
			if err != nil && !wrong {
				p.log.Error("the clock is not right: this node deletes nothing, sends no mail and adds no key", "error", err)
			}
			if err == nil && wrong {
				p.log.Info("the clock of this node is right again")
			}
			wrong = err != nil
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// compareClocks compares the clock of this node with that of the database.
func (p *Provider) compareClocks(ctx context.Context) error {
	if p.store.Embedded() {
		p.clock.Settle()
		return nil
	}
	asked := time.Now()
	now, err := p.store.Clock(ctx)
	if err == nil {
		p.clock.Compare(asked, time.Now(), now)
	}
	return oauth.Stored(err)
}
