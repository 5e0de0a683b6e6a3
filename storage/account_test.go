package storage

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The rules for what a change to a person ends, and what it must leave alone.

func TestUpdateUserWritesWhatMayChangeAndNothingElse(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		alice, bob := w.person(t, "alice"), w.person(t, "bob")
		change := alice
		change.Username, change.UsernameKey, change.Email, change.FirstName, change.LastName, change.Administrator = "Anna", "anna", "anna@example.com", "Anna", "A", true
		want := change
		change.Number, change.Password, change.CreatedAt, change.PasswordChangedAt = 99, "stolen", 1, 2
		must(t, w.UpdateUser(t.Context(), change, nil))
		got, err := w.UserByID(t.Context(), alice.ID)
		must(t, err)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		untouched, err := w.UserByID(t.Context(), bob.ID)
		must(t, err)
		if diff := cmp.Diff(bob, untouched); diff != "" {
			t.Error(diff)
		}
	})
}

// twoPeople are there with everything that a person can have.
func twoPeople(t *testing.T, w world, one, other string) (User, User, Application) {
	t.Helper()
	err := w.AddGroup(t.Context(), "staff", at)
	if err != nil && err != ErrConflict {
		t.Fatal(err)
	}
	alice, bob := w.person(t, one, "staff"), w.person(t, other, "staff")
	a := newApplication("App")
	a.OwnerID = &alice.ID
	must(t, w.AddApplication(t.Context(), a))
	for _, u := range []User{alice, bob} {
		w.session(t, u.ID)
		w.session(t, u.ID)
		must(t, w.KeepConsent(t.Context(), Consent{u.ID, a.ID, "read", at}))
		w.family(t, u.ID, a.ID)
		g := newGrant(u.ID, a.ID)
		g.GrantType, g.CodeDigest = "password", nil
		must(t, w.AddGrantWithTokens(t.Context(), g, newPair(g.ID)))
	}
	return alice, bob, a
}

// rowsOf says what one person has.
func rowsOf(t *testing.T, s *Store, userID string) map[string]int {
	t.Helper()
	rows := map[string]int{}
	for _, table := range []string{"memberships", "sessions", "consents", "grants"} {
		rows[table] = count(t, s, `SELECT COUNT(*) FROM `+table+` WHERE user_id = $1`, userID)
	}
	digests := []string{}
	must(t, s.write.SelectContext(t.Context(), &digests, `SELECT t.digest FROM tokens t JOIN grants g ON g.id = t.grant_id WHERE g.user_id = $1`, userID))
	for _, digest := range digests {
		_, err := s.TokenByDigest(t.Context(), digest)
		if err == nil {
			rows["live tokens"]++
		}
	}
	return rows
}

func TestWhatEndsWithAChangeToAPerson(t *testing.T) {
	has := map[string]int{"memberships": 1, "sessions": 2, "consents": 1, "grants": 2, "live tokens": 4}
	signedOut := map[string]int{"memberships": 1, "sessions": 0, "consents": 1, "grants": 0}
	each(t, func(t *testing.T, w world) {
		for name, c := range map[string]struct {
			change func(u User) error
			left   map[string]int
		}{
			"disabled": {
				func(u User) error { return w.DisableUser(t.Context(), u.ID) },
				signedOut,
			},
			"made inactive with the form": {
				func(u User) error {
					u.Active = false
					return w.UpdateUser(t.Context(), u, []string{"staff"})
				},
				signedOut,
			},
			"changed otherwise": {
				func(u User) error { return w.UpdateUser(t.Context(), u, []string{"staff"}) },
				has,
			},
			"deleted": {
				func(u User) error { return w.DeleteUser(t.Context(), u.ID) },
				map[string]int{"memberships": 0, "sessions": 0, "consents": 0, "grants": 0},
			},
			"new password": {
				func(u User) error { return w.SetPassword(t.Context(), u.ID, "new", later, "") },
				map[string]int{"memberships": 1, "sessions": 0, "consents": 1, "grants": 1, "live tokens": 2},
			},
			"rehashed": {
				func(u User) error { return w.Rehash(t.Context(), u.ID, u.Password, "new") },
				has,
			},
		} {
			alice, bob, a := twoPeople(t, w, name, "not "+name)
			must(t, c.change(alice))
			if diff := cmp.Diff(c.left, rowsOf(t, w.Store, alice.ID)); diff != "" {
				t.Errorf("%s: of the person: %s", name, diff)
			}
			if diff := cmp.Diff(has, rowsOf(t, w.Store, bob.ID)); diff != "" {
				t.Errorf("%s: of the other person: %s", name, diff)
			}
			_, err := w.Application(t.Context(), a.ID)
			must(t, err)
		}
	})
}

func TestNewPasswordEndsEverySessionButTheOneNamed(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		alice, bob := w.person(t, "alice"), w.person(t, "bob")
		here, there, others := w.session(t, alice.ID), w.session(t, alice.ID), w.session(t, bob.ID)
		must(t, w.SetPassword(t.Context(), alice.ID, "new", later, here.ID))
		_, err := w.SessionByDigest(t.Context(), here.Digest, at, 0)
		is(t, "the session named", err, nil)
		_, err = w.SessionByDigest(t.Context(), there.Digest, at, 0)
		is(t, "the session elsewhere", err, ErrNotFound)
		_, err = w.SessionByDigest(t.Context(), others.Digest, at, 0)
		is(t, "another person's session", err, nil)
		got, err := w.UserByID(t.Context(), alice.ID)
		must(t, err)
		if got.Password != "new" || got.PasswordChangedAt != later {
			t.Errorf("got password %q of %d", got.Password, got.PasswordChangedAt)
		}
	})
}

func TestNameOfAnotherPersonsSessionKeepsNone(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		alice, bob := w.person(t, "alice"), w.person(t, "bob")
		w.session(t, alice.ID)
		bobs := w.session(t, bob.ID)
		must(t, w.SetPassword(t.Context(), alice.ID, "new", later, bobs.ID))
		if n := count(t, w.Store, `SELECT COUNT(*) FROM sessions WHERE user_id = $1`, alice.ID); n != 0 {
			t.Errorf("%d sessions are left", n)
		}
	})
}

func TestRehashNeverUndoesAChangeOfPassword(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		alice := w.person(t, "alice")
		must(t, w.SetPassword(t.Context(), alice.ID, "changed", later, ""))
		must(t, w.Rehash(t.Context(), alice.ID, alice.Password, "the old password, hashed anew"))
		got, err := w.UserByID(t.Context(), alice.ID)
		must(t, err)
		if got.Password != "changed" {
			t.Errorf("the password is %q", got.Password)
		}
		must(t, w.Rehash(t.Context(), alice.ID, "changed", "better"))
		got, err = w.UserByID(t.Context(), alice.ID)
		must(t, err)
		if got.Password != "better" || got.PasswordChangedAt != later {
			t.Errorf("got password %q of %d", got.Password, got.PasswordChangedAt)
		}
	})
}

func TestDeletedPersonsApplicationsStayWithoutOwner(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		alice, bob, a := twoPeople(t, w, "alice", "bob")
		must(t, w.DeleteUser(t.Context(), alice.ID))
		got, err := w.Application(t.Context(), a.ID)
		must(t, err)
		if got.OwnerID != nil || got.Owner != nil {
			t.Errorf("owner %v is still named", got.OwnerID)
		}
		if diff := cmp.Diff(2, rowsOf(t, w.Store, bob.ID)["grants"]); diff != "" {
			t.Error(diff)
		}
		groups, err := w.Groups(t.Context())
		must(t, err)
		if !slices.Equal(groups, []Group{{"staff", 1}}) {
			t.Errorf("groups are %+v", groups)
		}
	})
}

func TestPersonWhoWasDisabledStartsAnewWhenActiveAgain(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		alice, a, _ := w.scene(t, "alice")
		must(t, w.DisableUser(t.Context(), alice.ID))
		// A login and an approval that were under way land afterwards.
		session, slipped := w.session(t, alice.ID), w.family(t, alice.ID, a.ID)
		_, err := w.SessionByDigest(t.Context(), session.Digest, at, 0)
		is(t, "session while disabled", err, ErrNotFound)
		_, err = w.TokenByDigest(t.Context(), slipped.access)
		is(t, "token while disabled", err, ErrNotFound)
		must(t, w.UpdateUser(t.Context(), alice, nil))
		_, err = w.SessionByDigest(t.Context(), session.Digest, at, 0)
		is(t, "session when active again", err, ErrNotFound)
		_, err = w.TokenByDigest(t.Context(), slipped.access)
		is(t, "token when active again", err, ErrNotFound)
	})
}
