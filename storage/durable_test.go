package storage

import (
	"context"
	"crypto/rand"
	"errors"
	"testing"
	"time"

	"mandate/storage/postgrestest"
)

// alone is a database on a server of its own.
type alone struct {
	world
	server *postgrestest.Cluster
}

func newAlone(t *testing.T) alone {
	t.Helper()
	server := postgrestest.New(t)
	return alone{migrated(t, server.URL(t)), server}
}

// writesOfEachKind are the ways in which this package writes to PostgreSQL.
func (a alone) writesOfEachKind(t *testing.T) map[string]func(context.Context) error {
	t.Helper()
	alice, app := a.person(t, "alice"), a.application(t, "App")
	token := func() Token {
		token := newPair("")[0]
		token.GrantID, token.ApplicationID = nil, &app.ID
		return token
	}
	rotated, kept, revoked := a.family(t, alice.ID, app.ID), a.family(t, alice.ID, app.ID), a.family(t, alice.ID, app.ID)
	used := a.family(t, alice.ID, app.ID)
	must(t, a.RotateRefresh(t.Context(), used.refresh, used.ID, "answer", at, later, newPair(used.ID)))
	g := newGrant(alice.ID, app.ID)
	a.addGrant(t, g)
	pair := newPair(g.ID)
	d := Device{Digest: rand.Text(), UserCode: rand.Text(), ApplicationID: app.ID, State: DevicePending, Interval: 5,
		CreatedAt: at, ExpiresAt: at + 10_000}
	must(t, a.AddDevice(t.Context(), d, 0, 0))
	value := func() OneTime { return OneTime{rand.Text(), later, at} }
	return map[string]func(context.Context) error{
		"AddToken":     func(ctx context.Context) error { return a.AddToken(ctx, token()) },
		"AddTokenOnce": func(ctx context.Context) error { return a.AddTokenOnce(ctx, token(), value()) },
		"SeeOnce":      func(ctx context.Context) error { return a.SeeOnce(ctx, value()) },
		"PollDevice":   func(ctx context.Context) error { _, err := a.PollDevice(ctx, d.Digest, app.ID, at); return err },
		"RotateRefresh": func(ctx context.Context) error {
			return a.RotateRefresh(ctx, rotated.refresh, rotated.ID, "", at, later, newPair(rotated.ID))
		},
		"KeepRefresh": func(ctx context.Context) error {
			return a.KeepRefresh(ctx, kept.refresh, kept.ID, at, later, later, newPair(kept.ID)[0])
		},
		"RedeemCode":      func(ctx context.Context) error { return a.RedeemCode(ctx, g.ID, at, later, pair) },
		"a statement":     func(ctx context.Context) error { return a.AddGroup(ctx, rand.Text(), at) },
		"an upsert":       func(ctx context.Context) error { _, err := a.AddSetting(ctx, "one", "value"); return err },
		"a transaction":   func(ctx context.Context) error { return a.RevokeToken(ctx, revoked.access) },
		"Settle":          a.Settle,
		"ConfirmRotation": func(ctx context.Context) error { return a.ConfirmRotation(ctx, used.refresh, "answer") },
	}
}

// PostgreSQL reports a success for a commit whose wait for the standby was ended: by the driver, an operator, or the
// end of the connection. If the primary is then lost, so is the change.
func TestNothingIsReportedAsStoredThatTheStandbyDoesNotHave(t *testing.T) {
	for _, end := range []string{"pg_cancel_backend", "pg_terminate_backend"} {
		t.Run(end, func(t *testing.T) {
			a := newAlone(t)
			for name, write := range a.writesOfEachKind(t) {
				for _, again := range []string{"", ", again by the client"} {
					a.server.StandbyIsMissing(t)
					done := make(chan error, 1)
					go func() { done <- write(t.Context()) }()
					eventually(t, name+again+" waits for the standby", func() bool { return a.server.Waiting(t, time.Time{}) == 1 })
					since := a.server.EndWait(t, end)
					unknown, waits := error(nil), false
					eventually(t, name+again+" ends or waits again", func() bool {
						select {
						case unknown = <-done:
							return true
						default:
							waits = a.server.Waiting(t, since) == 1
							return waits
						}
					})
					a.server.StandbyIsBack(t)
					if waits {
						unknown = <-done
					}
					// KeepRefresh marks nothing as used, so the client may repeat it.
					repeatable := name == "KeepRefresh" && errors.Is(unknown, ErrConflict)
					if !repeatable && !errors.Is(unknown, errUnknown) && (unknown != nil || !waits) {
						t.Errorf("%s%s: %v", name, again, unknown)
					}
					if name != "a transaction" {
						break
					}
				}
			}
		})
	}
}

// late is a context whose time ends when the test closes over.
type late struct {
	context.Context
	over chan struct{}
}

func (l late) Done() <-chan struct{} { return l.over }

func (l late) Err() error {
	select {
	case <-l.over:
		return context.DeadlineExceeded
	default:
		return nil
	}
}

// The time of a request ends while its commit waits.
func TestCommitIsNotCancelledAtTheEndOfTheRequest(t *testing.T) {
	a := newAlone(t)
	for name, write := range a.writesOfEachKind(t) {
		a.server.StandbyIsMissing(t)
		ctx, done := late{t.Context(), make(chan struct{})}, make(chan error, 1)
		go func() { done <- write(ctx) }()
		eventually(t, name+" waits for the standby", func() bool { return a.server.Waiting(t, time.Time{}) == 1 })
		close(ctx.over)
		select {
		case err := <-done:
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%s: %v", name, err)
			}
		case <-time.After(30 * time.Second):
			t.Fatalf("%s: the request waits on", name)
		}
		if a.server.Waiting(t, time.Time{}) == 0 {
			t.Errorf("%s: its commit does not wait any more", name)
		}
		a.server.StandbyIsBack(t)
		eventually(t, name+" has ended", func() bool { return a.server.Waiting(t, time.Time{}) == 0 })
	}
}

// Another primary may have taken over that does not have the rotation.
func TestRotationThatTheDatabaseLacksIsNotConfirmed(t *testing.T) {
	w := migrated(t, postgrestest.URL(t))
	alice, app := w.person(t, "alice"), w.application(t, "App")
	unused, used := w.family(t, alice.ID, app.ID), w.family(t, alice.ID, app.ID)
	must(t, w.RotateRefresh(t.Context(), used.refresh, used.ID, "answer", at, later, newPair(used.ID)))
	is(t, "the rotation", w.ConfirmRotation(t.Context(), used.refresh, "answer"), nil)
	is(t, "an unused token", w.ConfirmRotation(t.Context(), unused.refresh, "answer"), ErrNotFound)
	is(t, "another rotation", w.ConfirmRotation(t.Context(), used.refresh, "another answer"), ErrNotFound)
}

// While the standby is missing, strangers who sign out must not take all connections.
func TestWaitsForTheStandbyShareAConnection(t *testing.T) {
	a := newAlone(t)
	a.server.StandbyIsMissing(t)
	const calls = 20
	done := make(chan error, calls)
	for range calls {
		go func() { done <- a.Settle(t.Context()) }()
	}
	eventually(t, "all calls wait", func() bool {
		a.settling.mu.Lock()
		defer a.settling.mu.Unlock()
		return int(a.settling.tally.items.Load())+len(a.settling.waiting) == calls && a.server.Waiting(t, time.Time{}) > 0
	})
	if n := a.server.Waiting(t, time.Time{}); n != 1 {
		t.Errorf("%d connections wait", n)
	}
	a.server.StandbyIsBack(t)
	for range calls {
		must(t, <-done)
	}
}
