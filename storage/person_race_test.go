package storage

import (
	"context"
	"testing"

	"mandate/storage/postgrestest"
)

// While something is being added to a person, somebody ends what the person has. Nothing of it may be left: neither
// what was being added, nor what depends on it. SQLite has one writer, so the two never meet there.
//
// Class: CWE-362, a check and a use that are apart.

type personRace struct {
	world
	other *Store
	alice User
	told  NewMail
}

func newPersonRace(t *testing.T) personRace {
	t.Helper()
	w := migrated(t, postgrestest.URL(t))
	r := personRace{w, opened(t, w.url), w.person(t, "alice"), NewMail{}}
	// Messages to one address take turns, so a message holds up the transaction that sends it.
	r.told = NewMail{Mail: Mail{ID: "told", Kind: "factor", UserID: &r.alice.ID, CreatedAt: at, DueAt: at,
		ExpiresAt: later},
		Limit: MailLimit{Recipient: "alice", PerHour: 20, Most: 100}}
	first := r.told
	first.ID = "first"
	must(t, w.AddMail(t.Context(), first))
	return r
}

// meet runs first, which sends told, and second while the first one waits to send it, and returns their errors.
func (r personRace) meet(t *testing.T, first, second func(context.Context) error) (error, error) {
	t.Helper()
	return r.meetAt(t, `UPDATE mail_counts SET messages = messages`, first, second)
}

// meetAt is meet for a first one that waits for the row of a statement.
func (r personRace) meetAt(t *testing.T, row string, first, second func(context.Context) error) (error, error) {
	t.Helper()
	busy, err := r.write.BeginTxx(t.Context(), nil)
	must(t, err)
	_, err = busy.ExecContext(t.Context(), row)
	must(t, err)
	one, two := make(chan error, 1), make(chan error, 1)
	go func() { one <- first(t.Context()) }()
	eventually(t, "the first waits", func() bool { return r.locked(t) == 1 })
	go func() { two <- second(t.Context()) }()
	var early []error
	eventually(t, "the second waits, or has ended", func() bool {
		select {
		case err := <-two:
			early = append(early, err)
			return true
		default:
			return r.locked(t) == 2
		}
	})
	must(t, busy.Commit())
	if len(early) > 0 {
		return <-one, early[0]
	}
	return <-one, <-two
}

func (r personRace) locked(t *testing.T) int {
	t.Helper()
	return count(t, r.Store, `SELECT COUNT(*) FROM pg_stat_activity WHERE datname = current_database()
		AND wait_event_type = 'Lock'`)
}

func TestAttackFactorThatIsAddedOutlivesTheReset(t *testing.T) {
	r := newPersonRace(t)
	renewed := renewal(r.session(t, r.alice.ID))
	renewed.Session.Factor = FactorUse{New: &TOTP{UserID: r.alice.ID, Secret: "of a thief", CreatedAt: at, LastStep: 1}}
	_, err := r.meet(t,
		func(ctx context.Context) error { return r.other.StrengthenSession(ctx, renewed, r.told) },
		func(ctx context.Context) error { return r.ResetFactors(ctx, r.alice.ID, at) })
	must(t, err)
	left, err := r.Factors(t.Context(), r.alice.ID)
	must(t, err)
	if left != (Factors{}) {
		t.Errorf("after the reset: %+v", left)
	}
}

func TestAttackRecoveryCodesOutliveTheLastFactor(t *testing.T) {
	r := newPersonRace(t)
	alice, _ := r.withTOTP(t, "bob")
	session := r.session(t, alice.ID)
	k := r.passkey(t, session)
	one, two := r.meet(t,
		func(ctx context.Context) error {
			return r.other.RemoveTOTP(ctx, renewal(session), Ways{Passkeys: true}, r.told)
		},
		func(ctx context.Context) error {
			return r.DeletePasskey(ctx, alice.ID, k.ID, Ways{Passkeys: true}, nil)
		})
	must(t, one)
	must(t, two)
	left, err := r.Factors(t.Context(), alice.ID)
	must(t, err)
	if left != (Factors{}) {
		t.Errorf("without any factor: %+v", left)
	}
}

func TestAttackSignInOutlivesTheEndOfAllSessions(t *testing.T) {
	r := newPersonRace(t)
	_, err := r.meet(t,
		func(ctx context.Context) error {
			return r.other.AddSession(ctx, newSession(r.alice.ID), "", r.alice.Password, 0, r.told)
		},
		func(ctx context.Context) error { _, err := r.EndSessions(ctx, r.alice.ID, at); return err })
	must(t, err)
	left, err := r.SessionsOf(t.Context(), r.alice.ID, at, 0)
	must(t, err)
	if len(left) != 0 {
		t.Errorf("%d sessions after the end of all", len(left))
	}
}

// The session begins after the revocation has locked those of the person.
func TestAttackGrantOfANewSessionOutlivesTheRevocation(t *testing.T) {
	r := newPersonRace(t)
	bob, app, _ := r.scene(t, "bob") // with a family that an application refreshes at this moment
	r.keepConsent(t, Consent{bob.ID, app.ID, "read write", "", at, 0})
	session := newSession(bob.ID)
	one, _ := r.meetAt(t, `UPDATE grants SET expires_at = expires_at`,
		func(ctx context.Context) error { return r.other.RevokeConsent(ctx, bob.ID, app.ID) },
		func(ctx context.Context) error {
			err := r.AddSession(ctx, session, "", bob.Password, 0)
			if err == nil {
				err = r.AddGrant(ctx, consented(inSession(newGrant(bob.ID, app.ID), session)), "", "")
			}
			return err
		})
	must(t, one)
	if rows := rowsOf(t, r.Store, bob.ID)["grants"]; rows != 0 {
		t.Errorf("%d grants outlive the revocation", rows)
	}
}
