package storage

import (
	"context"
	"crypto/rand"
	"errors"
	"testing"
	"time"

	"mandate/storage/postgrestest"
)

// alone is a database whose commits wait for a standby that does not exist, after absent was called.
type alone struct {
	world
	admin *Store
}

func newAlone(t *testing.T) alone {
	t.Helper()
	server := postgrestest.New(t)
	w := migrated(t, server.URL(t))
	a := alone{w, opened(t, withParameter(t, w.url, "application_name", "admin"))}
	t.Cleanup(func() { // the removal of the database is a commit, too
		for _, statement := range []string{`ALTER SYSTEM RESET synchronous_standby_names`, `SELECT pg_reload_conf()`} {
			_, err := a.admin.write.ExecContext(context.WithoutCancel(t.Context()), statement)
			if err != nil {
				t.Error(err)
			}
		}
	})
	return a
}

func (a alone) standby(t *testing.T, name string) {
	t.Helper()
	for _, statement := range []string{`ALTER SYSTEM SET synchronous_standby_names = '` + name + `'`, `SELECT pg_reload_conf()`} {
		_, err := a.admin.write.ExecContext(t.Context(), statement)
		must(t, err)
	}
	// A process of the server, not the connection, reads the setting for all commits.
	probe := make(chan error, 1)
	eventually(t, "the setting is in use", func() bool {
		go func() {
			_, err := a.admin.write.ExecContext(context.WithoutCancel(t.Context()), `SELECT pg_logical_emit_message(true, 'probe', '')`)
			probe <- err
		}()
		for {
			select {
			case err := <-probe:
				return err == nil && name == ""
			default:
			}
			if name != "" && a.waiting(t) > 0 {
				count(t, a.admin, `SELECT COUNT(*) FROM (SELECT pg_cancel_backend(pid)`+waiter+`) x`)
				<-probe
				return true
			}
		}
	})
}

const waiter = ` FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'SyncRep'`

// waiting returns how many commits wait for the standby.
func (a alone) waiting(t *testing.T) int {
	t.Helper()
	return count(t, a.admin, `SELECT COUNT(*)`+waiter)
}

// end ends the wait of the one commit that waits, and returns the time of it.
func (a alone) end(t *testing.T, how string) (since time.Time) {
	t.Helper()
	must(t, a.admin.write.GetContext(t.Context(), &since, `SELECT query_start`+waiter))
	if count(t, a.admin, `SELECT COUNT(*) FROM (SELECT `+how+`(pid)`+waiter+`) x`) != 1 {
		t.Fatal("not one commit was waiting")
	}
	return since
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
	g := newGrant(alice.ID, app.ID)
	a.addGrant(t, g)
	pair := newPair(g.ID)
	d := Device{Digest: rand.Text(), UserCode: rand.Text(), ApplicationID: app.ID, State: DevicePending, Interval: 5, CreatedAt: at, ExpiresAt: at + 10_000}
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
		"RedeemCode":    func(ctx context.Context) error { return a.RedeemCode(ctx, g.ID, at, later, pair) },
		"a statement":   func(ctx context.Context) error { return a.AddGroup(ctx, rand.Text(), at) },
		"an upsert":     func(ctx context.Context) error { _, err := a.AddSetting(ctx, "one", "value"); return err },
		"a transaction": func(ctx context.Context) error { return a.RevokeToken(ctx, revoked.access) },
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
					a.standby(t, "nobody")
					done := make(chan error, 1)
					go func() { done <- write(t.Context()) }()
					eventually(t, name+again+" waits for the standby", func() bool { return a.waiting(t) == 1 })
					since := a.end(t, end)
					unknown, waits := error(nil), false
					eventually(t, name+again+" ends or waits again", func() bool {
						select {
						case unknown = <-done:
							return true
						default:
							waits = count(t, a.admin, `SELECT COUNT(*)`+waiter+` AND query_start > $1`, since) == 1
							return waits
						}
					})
					a.standby(t, "")
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

// The time of a request ends while its commit waits.
func TestCommitIsNotCancelledAtTheEndOfTheRequest(t *testing.T) {
	a := newAlone(t)
	for name, write := range a.writesOfEachKind(t) {
		a.standby(t, "nobody")
		ctx, stop := context.WithTimeout(t.Context(), 300*time.Millisecond)
		err := write(ctx)
		stop()
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: %v", name, err)
		}
		if a.waiting(t) == 0 {
			t.Errorf("%s: its commit does not wait any more", name)
		}
		a.standby(t, "")
		eventually(t, name+" has ended", func() bool { return a.waiting(t) == 0 })
	}
}
