package provider

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"mandate/provider/oauth"
)

const (
	// readyPatience is how long Ready waits for the database. It is shorter than the usual timeout
	// of a readiness probe.
	readyPatience = 2500 * time.Millisecond
	// proofLife is for how long a proof holds. However often somebody asks, there is one write in this time.
	proofLife = 250 * time.Millisecond
)

var errSilent = errors.New("a write to the database has not ended in time")

// probe proves that the database stores a write.
type probe struct {
	mu    sync.Mutex
	last  *proof
	ended time.Time // the last one; zero: it still runs
}

// proof is one write. All callers during it share it.
type proof struct {
	done chan struct{}
	err  error
}

// Ready returns nil if the database stores what is written, and the clock of this node is right. It answers within
// readyPatience, whatever the database does. The log says when the answer changes.
func (p *Provider) Ready(ctx context.Context) error {
	err := p.ready(ctx)
	switch {
	case ctx.Err() != nil: // the one who asked has gone
	case err != nil && !p.unready.Swap(true):
		p.log.Warn("this node is not ready: a load balancer that asks for /readyz sends it no requests", "error", err)
	case err == nil && p.unready.Swap(false):
		p.log.Info("this node is ready again")
	}
	return err
}

func (p *Provider) ready(ctx context.Context) error {
	if !p.store.Embedded() {
		err := p.clock.Err()
		if err != nil {
			return oauth.Later(http.StatusServiceUnavailable, time.Second,
				"The clock of this node differs too much from that of the database.").Because(err)
		}
	}
	patience := time.NewTimer(readyPatience)
	defer patience.Stop()
	proven := p.probe.begin(p.store.ProveWrite)
	select {
	case <-proven.done:
		if proven.err != nil {
			return oauth.Unavailable(proven.err)
		}
		return nil
	case <-patience.C:
		return oauth.Unavailable(errSilent)
	case <-ctx.Done():
		return oauth.Unavailable(ctx.Err())
	}
}

// begin returns the proof that runs, or one that has just ended, or begins another. A proof ends by itself: the
// database abandons a server that is silent. Until then no other one begins, because each takes a connection.
func (b *probe) begin(write func(context.Context) error) *proof {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.last != nil && (b.ended.IsZero() || time.Since(b.ended) < proofLife) {
		return b.last
	}
	one := &proof{done: make(chan struct{})}
	b.last, b.ended = one, time.Time{}
	go func() {
		one.err = write(context.Background())
		b.mu.Lock()
		b.ended = time.Now()
		b.mu.Unlock()
		close(one.done)
	}()
	return one
}
