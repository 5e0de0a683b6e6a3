package storage

import (
	"crypto/rand"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func newPasskey(userID string) Passkey {
	return Passkey{ID: rand.Text(), UserID: userID, PublicKey: "key", Name: "Phone", SignCount: 7, BackupEligible: true,
		Transports: "internal hybrid",
		AAGUID:     "AAAAAAAAAAAAAAAAAAAAAA", CreatedAt: at}
}

func (w world) passkey(t *testing.T, n Session, changes ...func(*Passkey)) Passkey {
	t.Helper()
	k := newPasskey(n.UserID)
	for _, change := range changes {
		change(&k)
	}
	must(t, w.AddPasskey(t.Context(), k, renewal(n), 20))
	return k
}

// signIn begins a session with a passkey, as the store s.
func signIn(t *testing.T, s *Store, k Passkey, counter int64) error {
	n := newSession(k.UserID)
	n.Factor.Passkey = &PasskeyUse{ID: k.ID, SignCount: counter, BackedUp: true, At: at + 5}
	return s.AddSession(t.Context(), n, "", proof(s, k.UserID), 0)
}

func TestPasskeysOfAPerson(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		alice, bob := w.person(t, "alice"), w.person(t, "bob")
		n, his := w.session(t, alice.ID), w.session(t, bob.ID)
		one := w.passkey(t, n)
		two := w.passkey(t, n, func(k *Passkey) { k.CreatedAt = at + 1 })
		other := w.passkey(t, his)
		want := func(userID string, expected ...Passkey) {
			t.Helper()
			got, err := w.PasskeysOf(t.Context(), userID)
			must(t, err)
			if diff := cmp.Diff(expected, got); diff != "" {
				t.Error(diff)
			}
		}
		want(alice.ID, one, two)
		got, err := w.Passkey(t.Context(), one.ID)
		must(t, err)
		if diff := cmp.Diff(one, got); diff != "" {
			t.Error(diff)
		}

		again := newPasskey(bob.ID)
		again.ID = one.ID
		is(t, "the ID of somebody else's passkey", w.AddPasskey(t.Context(), again, renewal(his), 20), ErrConflict)
		is(t, "renamed by somebody else", w.RenamePasskey(t.Context(), bob.ID, one.ID, "mine"), ErrNotFound)
		is(t, "deleted by somebody else", w.DeletePasskey(t.Context(), bob.ID, one.ID, Ways{Passkeys: true}, nil),
			ErrNotFound)
		is(t, "renamed", w.RenamePasskey(t.Context(), alice.ID, one.ID, "Laptop"), nil)
		one.Name = "Laptop"
		want(alice.ID, one, two)
		is(t, "deleted", w.DeletePasskey(t.Context(), alice.ID, one.ID, Ways{Passkeys: true}, nil), nil)
		is(t, "deleted twice", w.DeletePasskey(t.Context(), alice.ID, one.ID, Ways{Passkeys: true}, nil), ErrNotFound)
		_, err = w.Passkey(t.Context(), one.ID)
		is(t, "read after that", err, ErrNotFound)
		want(alice.ID, two)

		must(t, w.DeleteUser(t.Context(), alice.ID, at, Handover{Delete: true}))
		want(alice.ID)
		want(bob.ID, other)
	})
}

func TestPasskeyIsAddedOnlyInASessionThatGoesOn(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		alice, bob := w.person(t, "alice"), w.person(t, "bob")
		n := w.session(t, alice.ID)
		is(t, "in somebody else's session", w.AddPasskey(t.Context(), newPasskey(bob.ID), renewal(n), 20), ErrSpent)
		must(t, w.EndSession(t.Context(), alice.ID, n.ID, at, false))
		is(t, "in a session that has ended", w.AddPasskey(t.Context(), newPasskey(alice.ID), renewal(n), 20), ErrSpent)
		n = w.session(t, alice.ID)
		_, err := w.exec(t.Context(), `UPDATE users SET active = FALSE`)
		must(t, err)
		is(t, "by a disabled person", w.AddPasskey(t.Context(), newPasskey(alice.ID), renewal(n), 20), ErrSpent)
		if left := count(t, w.Store, `SELECT COUNT(*) FROM passkeys`); left != 0 {
			t.Errorf("%d passkeys are stored", left)
		}
	})
}

// Requests at the same time do not get around the limit.
func TestPasskeysOfAPersonAreLimited(t *testing.T) {
	eachIsolation(t, func(t *testing.T, w world) {
		n := w.session(t, w.person(t, "alice").ID)
		stores := w.pair(t)
		added := 0
		for _, err := range race(16, func(i int) error {
			return stores[i%2].AddPasskey(t.Context(), newPasskey(n.UserID), renewal(n), 5)
		}) {
			switch {
			case err == nil:
				added++
			case !errors.Is(err, ErrFull):
				t.Fatal(err)
			}
		}
		if stored := count(t, w.Store, `SELECT COUNT(*) FROM passkeys`); added != 5 || stored != 5 {
			t.Errorf("%d were added, %d are stored", added, stored)
		}
		w.passkey(t, w.session(t, w.person(t, "bob").ID))
	})
}

func TestSignatureCounterNeverGoesBack(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		n := w.session(t, w.person(t, "alice").ID)
		counted, plain := w.passkey(t, n), w.passkey(t, n, func(k *Passkey) { k.SignCount = 0 })
		for _, c := range []struct {
			what    string
			key     Passkey
			counter int64
			want    error
		}{
			{"the same counter", counted, 7, ErrFactorUsed},
			{"a lower one", counted, 6, ErrFactorUsed},
			{"none any more", counted, 0, ErrFactorUsed},
			{"a higher one", counted, 9, nil},
			{"the highest", counted, 1<<32 - 1, nil},
			{"no counter", plain, 0, nil},
			{"again no counter", plain, 0, nil},
			{"a counter from now on", plain, 1, nil},
			{"and then none", plain, 0, ErrFactorUsed},
			{"a passkey that does not exist", newPasskey(n.UserID), 1, ErrFactorUsed},
			{"the passkey of another person", Passkey{ID: counted.ID, UserID: w.person(t, "bob").ID}, 1 << 33, ErrFactorUsed},
		} {
			before := count(t, w.Store, `SELECT COUNT(*) FROM sessions`)
			is(t, c.what, signIn(t, w.Store, c.key, c.counter), c.want)
			began := count(t, w.Store, `SELECT COUNT(*) FROM sessions`) - before
			if (began == 1) != (c.want == nil) {
				t.Errorf("%s: %d sessions began", c.what, began)
			}
		}
		got, err := w.Passkey(t.Context(), counted.ID)
		must(t, err)
		if got.SignCount != 1<<32-1 || !got.BackedUp || got.LastUsedAt != at+5 {
			t.Errorf("stored is %+v", got)
		}
	})
}

// An authenticator and its copy send the same counter at the same moment, to two nodes.
func TestOneOfTwoCopiesOfAnAuthenticatorSignsIn(t *testing.T) {
	eachIsolation(t, func(t *testing.T, w world) {
		k := w.passkey(t, w.session(t, w.person(t, "alice").ID))
		stores := w.pair(t)
		errs := race(16, func(i int) error { return signIn(t, stores[i%2], k, 8) })
		for i, err := range errs {
			if errors.Is(err, ErrFactorUsed) {
				errs[i] = ErrSpent
			}
		}
		oneWins(t, errs)
	})
}

// Recovery codes replace a second factor. They end with the last one, whichever that is.
func TestRecoveryCodesEndWithTheLastFactor(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		alice, _ := w.withTOTP(t, "alice")
		n := w.session(t, alice.ID)
		k := w.passkey(t, n)
		want := func(expected Factors) {
			t.Helper()
			got, err := w.Factors(t.Context(), alice.ID)
			must(t, err)
			if diff := cmp.Diff(expected, got); diff != "" {
				t.Error(diff)
			}
		}
		want(Factors{TOTPSince: at, Passkeys: 1, RecoveryCodes: 2})
		must(t, w.RemoveTOTP(t.Context(), renewal(n), Ways{Passkeys: true}))
		want(Factors{Passkeys: 1, RecoveryCodes: 2})
		must(t, w.DeletePasskey(t.Context(), alice.ID, k.ID, Ways{Passkeys: true}, nil))
		want(Factors{})
		is(t, "new recovery codes without a factor",
			w.ReplaceRecoveryCodes(t.Context(), renewal(n), []string{"one"}, at, Ways{Passkeys: true}), ErrNotFound)
		w.passkey(t, n)
		must(t, w.ReplaceRecoveryCodes(t.Context(), renewal(n), []string{"one"}, at, Ways{Passkeys: true}))
		must(t, w.ResetFactors(t.Context(), alice.ID, at))
		want(Factors{})
	})
}
