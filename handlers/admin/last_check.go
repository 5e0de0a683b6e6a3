package admin

import (
	"context"
	"net/http"
	"sync/atomic"
	"time"

	"mandate/provider/checkup"
	"mandate/provider/oauth"
)

const checkLife = 30 * time.Second // for how long the findings are shown again

const checkPatience = 20 * time.Second // shorter than what a request may take

// mostCheckWaits is how many requests wait for a check that runs. A page that somebody loads again and again holds no
// more.
const mostCheckWaits = 8

// lastCheck makes one check at a time, whoever asks: each sends requests to this server and connects to the mail
// server.
type lastCheck struct {
	turn    chan struct{} // whoever has put something in has it
	waiting atomic.Int32
	at      time.Time
	found   []checkup.Finding
}

func newLastCheck() *lastCheck { return &lastCheck{turn: make(chan struct{}, 1)} }

// take waits for the turn until ctx ends.
func (c *lastCheck) take(ctx context.Context) error {
	busy := oauth.Later(
		http.StatusServiceUnavailable,
		checkPatience,
		"A check is running, and others wait for it. Load the page again in a moment.",
	)
	defer c.waiting.Add(-1)
	if c.waiting.Add(1) > mostCheckWaits {
		return busy
	}
	select {
	case c.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return busy.Because(ctx.Err())
	}
}

// findings returns those of the last check, or makes another one.
func (c *lastCheck) findings(
	ctx context.Context,
	look func(context.Context) []checkup.Finding,
) ([]checkup.Finding, time.Time, error) {
	err := c.take(ctx)
	if err != nil {
		return nil, time.Time{}, err
	}
	defer func() { <-c.turn }()
	if c.at.IsZero() || time.Since(c.at) >= checkLife {
		// Others see the findings too, so they must not be those of a browser that has gone.
		ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), checkPatience)
		defer stop()
		c.found = look(ctx)
		c.at = time.Now()
	}
	return c.found, c.at, nil
}
