package storage

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The changes to a person: what each of them must end, and what it must not affect.

func TestUpdateUserWritesWhatMayChangeAndNothingElse(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		alice, bob := w.person(t, "alice"), w.person(t, "bob")
		change := alice
		change.Username, change.UsernameKey, change.Email, change.FirstName, change.LastName, change.Administrator = "Anna",
			"anna", "anna@example.com", "Anna", "A", true
		want := change
		change.Number, change.Password, change.CreatedAt, change.PasswordChangedAt = 99, "stolen", 1, 2
		must(t, w.UpdateUser(t.Context(), change, nil, nil, Beside{}))
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

// twoPeople stores two people with every kind of record that a person can have.
func twoPeople(t *testing.T, w world, one, other string) (User, User, Application) {
	t.Helper()
	err := w.AddGroup(t.Context(), "staff", at)
	if err != nil && err != ErrConflict {
		t.Fatal(err)
	}
	alice, bob := w.person(t, one, "staff"), w.person(t, other, "staff")
	a := newApplication("App")
	a.OwnerID = &alice.ID
	must(t, w.AddApplication(t.Context(), a, 0))
	for _, u := range []User{alice, bob} {
		w.session(t, u.ID) // the token family has its own session
		w.keepConsent(t, Consent{u.ID, a.ID, "read", "", at, 0})
		w.family(t, u.ID, a.ID)
		g := newGrant(u.ID, a.ID)
		g.GrantType, g.CodeDigest = "password", nil
		must(t, w.AddGrantWithTokens(t.Context(), g, newPair(g.ID), proof(w.Store, g.UserID)))
	}
	return alice, bob, a
}

// rowsOf counts the rows of one person by table.
func rowsOf(t *testing.T, s *Store, userID string) map[string]int {
	t.Helper()
	rows := map[string]int{}
	for _, table := range []string{"memberships", "sessions", "consents", "grants"} {
		rows[table] = count(t, s, `SELECT COUNT(*) FROM `+table+` WHERE user_id = $1`, userID)
	}
	digests := []string{}
	must(t, s.write.SelectContext(t.Context(), &digests, `SELECT t.digest FROM tokens t JOIN grants g ON g.id = t.grant_id
		WHERE g.user_id = $1`, userID))
	for _, digest := range digests {
		_, err := s.TokenByDigest(t.Context(), digest, at)
		if err == nil {
			rows["live tokens"]++
		}
	}
	return rows
}

func TestWhatEndsWithAChangeToAPerson(t *testing.T) {
	has := map[string]int{"memberships": 1, "sessions": 2, "consents": 1, "grants": 2, "live tokens": 4}
	signedOut := map[string]int{"memberships": 1, "sessions": 0, "consents": 1, "grants": 0}
	forgotten := map[string]int{"memberships": 1, "sessions": 0, "consents": 0, "grants": 0}
	each(t, func(t *testing.T, w world) {
		for name, c := range map[string]struct {
			change func(u User) error
			left   map[string]int
		}{
			"disabled": {
				func(u User) error { return w.DisableUser(t.Context(), u.ID, at) },
				signedOut,
			},
			"made inactive with the form": {
				func(u User) error {
					u.Active = false
					return w.UpdateUser(t.Context(), u, []string{"staff"}, nil, Beside{})
				},
				signedOut,
			},
			"changed otherwise": {
				func(u User) error { return w.UpdateUser(t.Context(), u, []string{"staff"}, nil, Beside{}) },
				has,
			},
			"changed otherwise, with a new password": {
				func(u User) error {
					return w.UpdateUser(t.Context(), u, []string{"staff"}, nil, Beside{Password: "new"})
				},
				forgotten,
			},
			"deleted": {
				func(u User) error { return w.DeleteUser(t.Context(), u.ID, at, Handover{Responsible: ByOperator}) },
				map[string]int{"memberships": 0, "sessions": 0, "consents": 0, "grants": 0},
			},
			"new password": {
				func(u User) error { return w.SetPassword(t.Context(), u.ID, "new", later) },
				forgotten,
			},
			"new password from a session": {
				func(u User) error {
					return w.ChangePassword(t.Context(), proof(w.Store, u.ID), "new", later, renewal(w.session(t, u.ID)), false)
				},
				map[string]int{"memberships": 1, "sessions": 1, "consents": 0, "grants": 0},
			},
			"new password from a session that keeps the grants": {
				func(u User) error {
					return w.ChangePassword(t.Context(), proof(w.Store, u.ID), "new", later, renewal(w.session(t, u.ID)), true)
				},
				map[string]int{"memberships": 1, "sessions": 1, "consents": 1, "grants": 1, "live tokens": 2},
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
		must(t, w.ChangePassword(t.Context(), proof(w.Store, alice.ID), "new", later, renewal(here), false))
		_, err := w.SessionByDigest(t.Context(), here.Digest, at, 0)
		is(t, "the session named", err, nil)
		_, err = w.SessionByDigest(t.Context(), there.Digest, at, 0)
		is(t, "the other session", err, ErrNotFound)
		_, err = w.SessionByDigest(t.Context(), others.Digest, at, 0)
		is(t, "another person's session", err, nil)
		got, err := w.UserByID(t.Context(), alice.ID)
		must(t, err)
		if got.Password != "new" || got.PasswordChangedAt != later {
			t.Errorf("got password %q of %d", got.Password, got.PasswordChangedAt)
		}
	})
}

func TestSessionOfAnotherPersonChangesNoPassword(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		alice, bob := w.person(t, "alice"), w.person(t, "bob")
		w.session(t, alice.ID)
		bobs := w.session(t, bob.ID)
		r := renewal(bobs)
		r.Session.UserID = alice.ID
		is(t, "ChangePassword", w.ChangePassword(t.Context(), proof(w.Store, alice.ID), "new", later, r, false), ErrSpent)
		if got := proof(w.Store, alice.ID); got == "new" {
			t.Error("the password was changed")
		}
	})
}

func TestRehashNeverUndoesAChangeOfPassword(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		alice := w.person(t, "alice")
		must(t, w.SetPassword(t.Context(), alice.ID, "changed", later))
		must(t, w.Rehash(t.Context(), alice.ID, alice.Password, "the old password, hashed again"))
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
		must(t, w.DeleteUser(t.Context(), alice.ID, at, Handover{Responsible: ByOperator}))
		got, err := w.Application(t.Context(), a.ID)
		must(t, err)
		if got.OwnerID != nil || got.Owner != nil {
			t.Errorf("the owner is still %v", got.OwnerID)
		}
		if diff := cmp.Diff(2, rowsOf(t, w.Store, bob.ID)["grants"]); diff != "" {
			t.Error(diff)
		}
		groups, err := w.Groups(t.Context(), at)
		must(t, err)
		if !slices.Equal(groups, []Group{{"staff", 1}}) {
			t.Errorf("groups are %+v", groups)
		}
	})
}

func TestPersonWhoWasDisabledStartsAnewWhenActiveAgain(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		alice, a, _ := w.scene(t, "alice")
		must(t, w.DisableUser(t.Context(), alice.ID, at))
		slipped := w.family(t, alice.ID, a.ID) // a grant that started earlier is stored afterwards
		_, err := w.TokenByDigest(t.Context(), slipped.access, at)
		is(t, "token while disabled", err, ErrNotFound)
		must(t, w.UpdateUser(t.Context(), alice, nil, nil, Beside{}))
		_, err = w.TokenByDigest(t.Context(), slipped.access, at)
		is(t, "token when active again", err, ErrNotFound)
	})
}

// Sessions and grants must not outlive the password that opened them. Checking a
// password takes time, and the password may be reset in the meantime.
func TestPasswordThatIsNoLongerTheirsOpensNothing(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		a := w.application(t, "App")
		for name, end := range map[string]func(User) error{
			"reset":    func(u User) error { return w.SetPassword(t.Context(), u.ID, "new", later) },
			"disabled": func(u User) error { return w.DisableUser(t.Context(), u.ID, at) },
			"deleted":  func(u User) error { return w.DeleteUser(t.Context(), u.ID, at, Handover{Responsible: ByOperator}) },
		} {
			u := w.person(t, name)
			must(t, end(u))
			g := newGrant(u.ID, a.ID)
			g.CodeDigest = nil
			is(t, name+": AddSession", w.AddSession(t.Context(), newSession(u.ID), "", u.Password, 0), ErrSpent)
			is(t, name+": AddGrantWithTokens", w.AddGrantWithTokens(t.Context(), g, newPair(g.ID), u.Password), ErrSpent)
		}
		rows := counts(t, w.Store)
		if rows["sessions"]+rows["grants"]+rows["tokens"] != 0 {
			t.Errorf("something was stored: %v", rows)
		}
	})
}

func TestPasswordThatWasResetIsNotChangedByItsOldOne(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		alice, _, _ := w.scene(t, "alice")
		here := w.session(t, alice.ID)
		must(t, w.SetPassword(t.Context(), alice.ID, "reset", later))
		is(t, "ChangePassword", w.ChangePassword(t.Context(), alice.Password, "thief's", later, renewal(here), false),
			ErrSpent)
		if got := proof(w.Store, alice.ID); got != "reset" {
			t.Errorf("the password is %q", got)
		}
	})
}

func TestLoginInARaceWithAResetLeavesNothing(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		alice, a, stores := w.person(t, "alice"), w.application(t, "App"), w.pair(t)
		for i, err := range race(48, func(i int) error {
			switch s := stores[i%2]; {
			case i == 24:
				return s.SetPassword(t.Context(), alice.ID, "new", later)
			case i%4 < 2:
				return s.AddSession(t.Context(), newSession(alice.ID), "", alice.Password, 0)
			default:
				g := newGrant(alice.ID, a.ID)
				g.CodeDigest = nil
				return s.AddGrantWithTokens(t.Context(), g, newPair(g.ID), alice.Password)
			}
		}) {
			if err != nil && (i == 24 || !errors.Is(err, ErrSpent)) {
				t.Errorf("%d: %v", i, err)
			}
		}
		want := map[string]int{"memberships": 0, "sessions": 0, "consents": 0, "grants": 0}
		if diff := cmp.Diff(want, rowsOf(t, w.Store, alice.ID)); diff != "" {
			t.Error(diff)
		}
	})
}

func administrators(t *testing.T, w world, names ...string) []User {
	t.Helper()
	people := make([]User, len(names))
	for i, name := range names {
		u := newUser(name)
		u.Administrator = true
		must(t, w.AddUser(t.Context(), u, nil))
		people[i] = u
	}
	return people
}

// lessOf lists every way to remove an administrator.
func lessOf(t *testing.T, s *Store) map[string]func(User) error {
	return map[string]func(User) error{
		"demoted": func(u User) error {
			u.Administrator = false
			return s.UpdateUser(t.Context(), u, nil, nil, Beside{})
		},
		"made inactive": func(u User) error {
			u.Active = false
			return s.UpdateUser(t.Context(), u, nil, nil, Beside{})
		},
		"disabled": func(u User) error { return s.DisableUser(t.Context(), u.ID, at) },
		"deleted":  func(u User) error { return s.DeleteUser(t.Context(), u.ID, at, Handover{Responsible: ByOperator}) },
	}
}

func TestLastAdministratorStays(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		root := administrators(t, w, "root")[0]
		w.session(t, root.ID)
		w.person(t, "alice")
		inactive := newUser("inactive")
		inactive.Administrator, inactive.Active = true, false
		must(t, w.AddUser(t.Context(), inactive, nil))
		before, err := w.UserByID(t.Context(), root.ID)
		must(t, err)
		for name, less := range lessOf(t, w.Store) {
			is(t, name, less(root), ErrLastAdministrator)
			after, err := w.UserByID(t.Context(), root.ID)
			must(t, err)
			if diff := cmp.Diff(before, after); diff != "" {
				t.Errorf("%s: %s", name, diff)
			}
			if n := count(t, w.Store, `SELECT COUNT(*) FROM sessions`); n != 1 {
				t.Errorf("%s: the session ended", name)
			}
		}
		root.FirstName = "New"
		is(t, "another change", w.UpdateUser(t.Context(), root, nil, nil, Beside{}), nil)
		is(t, "somebody else", w.DeleteUser(t.Context(), inactive.ID, at, Handover{Responsible: ByOperator}), nil)
		administrators(t, w, "second")
		is(t, "no longer the last", w.DeleteUser(t.Context(), root.ID, at, Handover{Responsible: ByOperator}), nil)
	})
}

func TestAdministratorsNeverTakeEachOtherAway(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		stores := w.pair(t)
		for name := range lessOf(t, w.Store) {
			must(t, second(w.write.ExecContext(t.Context(), `DELETE FROM users`)))
			people := administrators(t, w, "a", "b", "c", "d", "e", "f", "g", "h")
			refused := 0
			for _, err := range race(len(people), func(i int) error { return lessOf(t, stores[i%2])[name](people[i]) }) {
				if err != nil {
					refused++
					is(t, name, err, ErrLastAdministrator)
				}
			}
			left := count(t, w.Store, `SELECT COUNT(*) FROM users WHERE administrator AND active`)
			if refused != 1 || left != 1 {
				t.Errorf("%s: %d changes were refused, %d administrators are left", name, refused, left)
			}
		}
	})
}

// Two administrators change a person at the same moment: nothing that UpdateUser writes is overwritten unseen.
func TestUpdateUserOverwritesNothingUnseen(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		must(t, w.AddGroup(t.Context(), "staff", at))
		must(t, w.AddGroup(t.Context(), "crew", at))
		for what, change := range map[string]string{
			"username": `UPDATE users SET username = 'other' WHERE id = $1`, "email": `UPDATE users
				SET email = 'new@company.example' WHERE id = $1`,
			"first name": `UPDATE users SET first_name = 'Other' WHERE id = $1`, "last name": `UPDATE users
				SET last_name = 'Other' WHERE id = $1`,
			"profile": `UPDATE users SET profile = '{"nickname":"other"}' WHERE id = $1`, "enabled": `UPDATE users
				SET active = FALSE WHERE id = $1`,
			"attributes": `UPDATE users SET attributes = '{}' WHERE id = $1`, "rights": `UPDATE users SET
				administrator = TRUE WHERE id = $1`, "a group more": `INSERT INTO memberships
				(user_id, group_name) VALUES ($1, 'crew')`,
			"a group less": `DELETE FROM memberships WHERE user_id = $1`, "another group": `UPDATE memberships
				SET group_name = 'crew' WHERE user_id = $1`,
			"deleted": `DELETE FROM users WHERE id = $1`,
		} {
			u := newUser(strings.ReplaceAll(what, " ", ""))
			must(t, w.AddUser(t.Context(), u, []string{"staff"}))
			u, err := w.UserByID(t.Context(), u.ID)
			must(t, err)
			seen := NewUser{User: u, Groups: []string{"staff"}}
			u.FirstName = "First"
			must(t, w.UpdateUser(t.Context(), u, seen.Groups, &seen, Beside{}))
			seen.FirstName = "First"
			_, err = w.exec(t.Context(), change, u.ID)
			must(t, err)
			u.FirstName = "Second"
			is(t, what, w.UpdateUser(t.Context(), u, seen.Groups, &seen, Beside{}), ErrSpent)
			if n := count(t, w.Store, `SELECT COUNT(*) FROM users WHERE id = $1 AND first_name = 'Second'`, u.ID); n != 0 {
				t.Errorf("%s: the person was written", what)
			}
		}
	})
}

// A new password is stored with the other changes of its form, or none of them is.
func TestUpdateUserWithAPassword(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		alice := w.person(t, "alice")
		w.person(t, "bob")
		stored, err := w.UserByID(t.Context(), alice.ID)
		must(t, err)
		seen := NewUser{User: stored}
		change := seen.User
		change.Username, change.UsernameKey, change.UpdatedAt = "carol", "carol", later
		taken := change
		taken.Username, taken.UsernameKey = "bob", "bob"
		other := seen
		other.Email = "seen@company.example"
		r := renewal(w.session(t, alice.ID))
		ended := r
		ended.Was = "another digest"
		for _, test := range []struct {
			what  string
			u     User
			still NewUser
			by    *Renewal
			want  error
		}{
			{"a username that somebody has", taken, seen, &r, ErrConflict},
			{"another person than the caller has seen", change, other, &r, ErrSpent},
			{"a session that has ended", change, seen, &ended, ErrSpent},
			{"nothing of it", change, seen, &r, nil},
		} {
			is(t, test.what, w.UpdateUser(t.Context(), test.u, nil, &test.still,
				Beside{By: test.by, Password: "new", Notices: []NewMail{newMail(alice)}}), test.want)
			got, err := w.UserByID(t.Context(), alice.ID)
			must(t, err)
			messages := len(w.due(t, at))
			if stored := got.Username == "carol" && got.Password == "new" &&
				got.PasswordChangedAt == later; stored != (test.want == nil) || !stored && got != seen.User ||
				messages != 0 != stored {
				t.Errorf("%s: %+v, %d messages", test.what, got, messages)
			}
		}
		left, err := w.SessionsOf(t.Context(), alice.ID, at, 0)
		must(t, err)
		if len(left) != 0 {
			t.Errorf("%d sessions after a new password", len(left))
		}
	})
}
