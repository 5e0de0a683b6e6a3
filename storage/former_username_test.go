package storage

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Programs find people by the username, so nobody gets that of a former person without an administrator: neither by
// an invitation nor from another server (CWE-289).
func TestAttackFormerUsername(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		alice, bob := w.person(t, "alice"), w.person(t, "bob")
		i := w.invitation(t, "new@example.com")
		named := func(key string) User {
			u := guest(i)
			u.Username, u.UsernameKey = key, key
			return u
		}
		must(t, w.DeleteUser(t.Context(), alice.ID, at, Handover{}))
		bob.Username, bob.UsernameKey = "robert", "robert"
		must(t, w.UpdateUser(t.Context(), bob, nil, nil, Beside{}))
		bob.Username = "Robert" // the same one
		must(t, w.UpdateUser(t.Context(), bob, nil, nil, Beside{}))
		before := counts(t, w.Store)
		for _, name := range []string{"alice", "bob"} {
			u := named(name)
			is(t, name+" by an invitation", second(w.AcceptInvitation(t.Context(), i.Digest, u, nil)), ErrFormerName)
			is(
				t,
				name+" from another server",
				second(w.AddUserWithIdentity(t.Context(), u, newIdentity(u.ID), InvitedIgnored)),
				ErrFormerName,
			)
			was, err := w.WasUsername(t.Context(), name)
			if err != nil || !was {
				t.Errorf("%s: %t, %v", name, was, err)
			}
		}
		if diff := cmp.Diff(before, counts(t, w.Store)); diff != "" {
			t.Error(diff)
		}
		for _, name := range []string{"robert", "carol"} {
			was, err := w.WasUsername(t.Context(), name)
			if err != nil || was {
				t.Errorf("%s: %t, %v", name, was, err)
			}
		}
		if n := count(t, w.Store, `SELECT COUNT(*) FROM former_usernames WHERE digest LIKE '%alice%'
			OR LENGTH(digest) <> 64`); n != 0 {
			t.Errorf("%d names are stored", n)
		}
		// An administrator gives the name to whomever it should be for, and takes it again.
		again := w.person(t, "alice")
		must(t, w.DeleteUser(t.Context(), again.ID, later, Handover{}))
		is(t, "alice after that", second(w.AcceptInvitation(t.Context(), i.Digest, named("alice"), nil)), ErrFormerName)
		is(t, "another name", second(w.AcceptInvitation(t.Context(), i.Digest, named("carol"), nil)), nil)
	})
}

// A name that a person loses at this very moment is not free either.
func TestAttackFormerUsernameAtTheSameMoment(t *testing.T) {
	eachIsolation(t, func(t *testing.T, w world) {
		stores := w.pair(t)
		for range 10 {
			alice, i := w.person(t, "alice"), w.invitation(t, "new@example.com")
			must(t, second(w.exec(t.Context(), `DELETE FROM former_usernames`)))
			errs := race(2, func(n int) error {
				if n == 0 {
					return stores[0].DeleteUser(t.Context(), alice.ID, at, Handover{})
				}
				u := guest(i)
				u.Username, u.UsernameKey = "alice", "alice"
				return second(stores[1].AcceptInvitation(t.Context(), i.Digest, u, nil))
			})
			must(t, errs[0])
			if errs[1] != ErrConflict && errs[1] != ErrFormerName {
				t.Fatalf("the newcomer: %v", errs[1])
			}
			must(t, w.DeleteInvitation(t.Context(), i.ID))
		}
	})
}
