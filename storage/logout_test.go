package storage

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// bound adds a token family that ends with its session, or one that outlives it. It
// returns the digest of the family's access token.
func (w world) bound(t *testing.T, n Session, applicationID string, endsAt int64) string {
	t.Helper()
	g := inSession(newGrant(n.UserID, applicationID), n)
	g.SessionEndsAt = endsAt
	pair := newPair(g.ID)
	must(t, w.AddGrant(t.Context(), g, "owner", ""))
	must(t, w.RedeemCode(t.Context(), g.ID, at, later, pair))
	return pair[0].Digest
}

func due(t *testing.T, s *Store, now int64) []Login {
	t.Helper()
	found, err := s.DueLogins(t.Context(), now, 100, 100)
	must(t, err)
	logins := []Login{}
	for _, l := range found {
		logins = append(logins, l.Login)
	}
	return logins
}

// whoIsDue lists the sessions whose logout notifications are due.
func whoIsDue(t *testing.T, s *Store) []string {
	t.Helper()
	ids := []string{}
	for _, l := range due(t, s, later) {
		ids = append(ids, l.SessionID)
	}
	slices.Sort(ids)
	return ids
}

func TestEndOfASessionEndsItsFamiliesAndMakesItsApplicationsDue(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		alice, a, b := w.person(t, "alice"), w.application(t, "A"), w.application(t, "B")
		n, other := w.session(t, alice.ID), w.session(t, alice.ID)
		tokens := map[string]string{"bound": w.bound(t, n, a.ID, later), "offline": w.bound(t, n, b.ID, 0),
			"elsewhere": w.bound(t, other, a.ID, later)}
		w.bound(t, n, a.ID, later) // a second login causes no second notification
		if early := due(t, w.Store, later); len(early) > 0 {
			t.Fatalf("due before anything ended: %v", early)
		}
		must(t, w.EndSession(t.Context(), alice.ID, n.ID, at+5, false))
		if diff := cmp.Diff(map[string]bool{"bound": false, "offline": true, "elsewhere": true},
			live(t, w.Store, tokens)); diff != "" {
			t.Error(diff)
		}
		if early := due(t, w.Store, at+4); len(early) > 0 {
			t.Errorf("due before its time: %v", early)
		}
		want := []Login{{SessionID: n.ID, ApplicationID: a.ID, UserID: alice.ID, Owner: "owner", DueAt: at + 5},
			{SessionID: n.ID, ApplicationID: b.ID, UserID: alice.ID, Owner: "owner", DueAt: at + 5}}
		byApplication := func(x, y Login) int { return slices.Compare([]byte(x.ApplicationID), []byte(y.ApplicationID)) }
		got := due(t, w.Store, at+5)
		slices.SortFunc(want, byApplication)
		slices.SortFunc(got, byApplication)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	})
}

func TestFamiliesMayBeKeptWhenTheirSessionEnds(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		alice, a := w.person(t, "alice"), w.application(t, "A")
		n := w.session(t, alice.ID)
		token := w.bound(t, n, a.ID, later)
		must(t, w.EndSession(t.Context(), alice.ID, n.ID, at, true))
		if !live(t, w.Store, map[string]string{"": token})[""] {
			t.Error("the family has ended")
		}
		if diff := cmp.Diff([]string{n.ID}, whoIsDue(t, w.Store)); diff != "" {
			t.Error(diff)
		}
	})
}

func TestWhateverEndsASessionMakesItsApplicationsDue(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		for name, end := range map[string]func(u User, n Session) error{
			"sign out everywhere": func(u User, _ Session) error { return second(w.EndSessions(t.Context(), u.ID, at)) },
			"password changed elsewhere": func(u User, _ Session) error {
				return w.ChangePassword(t.Context(), u.Password, "new", at, renewal(w.session(t, u.ID)), true)
			},
			"password reset": func(u User, _ Session) error { return w.SetPassword(t.Context(), u.ID, "new", at) },
			"disabled":       func(u User, _ Session) error { return w.DisableUser(t.Context(), u.ID, at) },
			"disabled by a change": func(u User, _ Session) error {
				u.Active, u.UpdatedAt = false, at
				return w.UpdateUser(t.Context(), u, nil, nil, Beside{})
			},
			"deleted": func(u User, _ Session) error {
				return w.DeleteUser(t.Context(), u.ID, at, Handover{Responsible: ByOperator})
			},
			"somebody else signs in": func(_ User, n Session) error {
				next := newSession(w.person(t, "next").ID)
				return w.AddSession(t.Context(), next, n.Digest, proof(w.Store, next.UserID), 0)
			},
		} {
			u, a := w.person(t, name), w.application(t, name)
			n := w.session(t, u.ID)
			token := w.bound(t, n, a.ID, later)
			must(t, end(u, n))
			if diff := cmp.Diff([]string{n.ID}, whoIsDue(t, w.Store)); diff != "" {
				t.Errorf("%s: %s", name, diff)
			}
			if live(t, w.Store, map[string]string{"": token})[""] {
				t.Errorf("%s: the family has not ended", name)
			}
			must(t, w.ForgetLogin(t.Context(), Login{SessionID: n.ID, ApplicationID: a.ID}))
		}
	})
}

func TestWhoeverSignsInAgainKeepsTheirSession(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		alice, a := w.person(t, "alice"), w.application(t, "A")
		n := w.session(t, alice.ID)
		token := w.bound(t, n, a.ID, later)
		again := newSession(alice.ID)
		again.AuthTime, again.SeenAt, again.ExpiresAt = at+7, at+7, later+7
		must(t, w.AddSession(t.Context(), again, n.Digest, alice.Password, 0))
		_, err := w.SessionByDigest(t.Context(), n.Digest, at, 0)
		is(t, "the old cookie", err, ErrNotFound)
		again.ID = n.ID
		got, err := w.SessionByDigest(t.Context(), again.Digest, at, 0)
		must(t, err)
		if diff := cmp.Diff(again, got.Session); diff != "" {
			t.Error(diff)
		}
		if !live(t, w.Store, map[string]string{"": token})[""] {
			t.Error("the family has ended")
		}
		if n := count(t, w.Store, `SELECT COUNT(*) FROM logins WHERE due_at = 0 AND expires_at = $1`,
			later+7+notifyFor); n != 1 {
			t.Error("the login expires before the renewed session")
		}
		// An expired session is not renewed.
		late := newSession(alice.ID)
		late.AuthTime, late.SeenAt, late.ExpiresAt = later+7, later+7, later+100
		must(t, w.AddSession(t.Context(), late, again.Digest, alice.Password, 0))
		got, err = w.SessionByDigest(t.Context(), late.Digest, later+8, 0)
		must(t, err)
		if got.Session.ID != late.ID {
			t.Error("an expired session was renewed")
		}
	})
}

func TestNothingIsAddedToASessionThatHasEnded(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		alice, bob, a := w.person(t, "alice"), w.person(t, "bob"), w.application(t, "A")
		n := w.session(t, alice.ID)
		is(t, "somebody else's", w.AddGrant(t.Context(), inSession(newGrant(bob.ID, a.ID), n), "owner", ""), ErrSpent)
		must(t, w.EndSession(t.Context(), alice.ID, n.ID, at, false))
		is(t, "one that ended", w.AddGrant(t.Context(), inSession(newGrant(alice.ID, a.ID), n), "owner", ""), ErrSpent)
		for _, table := range []string{"grants", "logins"} {
			if rows := count(t, w.Store, `SELECT COUNT(*) FROM `+table); rows != 0 {
				t.Errorf("%d %s", rows, table)
			}
		}
	})
}

// A grant that is made while its session ends is either refused or revoked.
func TestGrantAndEndOfItsSessionAtOnce(t *testing.T) {
	eachIsolation(t, func(t *testing.T, w world) {
		alice, a, stores := w.person(t, "alice"), w.application(t, "A"), w.pair(t)
		for range 20 {
			n := w.session(t, alice.ID)
			g := inSession(newGrant(alice.ID, a.ID), n)
			g.SessionEndsAt = later
			errs := race(2, func(i int) error {
				if i == 0 {
					return stores[0].AddGrant(context.WithoutCancel(t.Context()), g, "owner", "")
				}
				return stores[1].EndSession(context.WithoutCancel(t.Context()), alice.ID, n.ID, at, false)
			})
			must(t, errs[1])
			if errs[0] != nil {
				is(t, "AddGrant", errs[0], ErrSpent)
			}
			if left := count(t, w.Store, `SELECT COUNT(*) FROM grants WHERE session_id = $1`, n.ID); left != 0 {
				t.Fatal("the grant is active after the end of its session")
			}
			if told := count(t, w.Store, `SELECT COUNT(*) FROM logins WHERE session_id = $1 AND due_at > 0`,
				n.ID); (told == 1) != (errs[0] == nil) {
				t.Fatalf("%d applications are due, AddGrant gave %v", told, errs[0])
			}
		}
	})
}

func TestOneNodeTellsAnApplication(t *testing.T) {
	eachIsolation(t, func(t *testing.T, w world) {
		alice, a, stores := w.person(t, "alice"), w.application(t, "A"), w.pair(t)
		n := w.session(t, alice.ID)
		w.bound(t, n, a.ID, later)
		must(t, w.EndSession(t.Context(), alice.ID, n.ID, at, false))
		l := due(t, w.Store, at)[0]
		oneWins(t, race(8, func(i int) error { return stores[i%2].ClaimLogin(context.WithoutCancel(t.Context()), l, at+30) }))
		if again := due(t, w.Store, at+29); len(again) > 0 {
			t.Errorf("due while the application is being notified: %v", again)
		}
		l.DueAt, l.Attempts = at+30, 1
		if diff := cmp.Diff([]Login{l}, due(t, w.Store, at+30)); diff != "" {
			t.Error(diff)
		}
		must(t, w.ForgetLogin(t.Context(), l))
		is(t, "ClaimLogin of a deleted login", w.ClaimLogin(t.Context(), l, at+60), ErrSpent)
	})
}

// Nobody displaces the logins of those in whom the operator has more trust, however many owners they seem to be.
func TestAttackDueLoginsOfManyStrangers(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		alice, root := w.person(t, "alice"), w.administrator(t, "root")
		add := func(dueAt int64, owner, responsible string, of *string) string {
			t.Helper()
			n, a := w.session(t, alice.ID), newApplication("A")
			a.Responsible, a.OwnerID, a.BackchannelURI = responsible, of, "https://"+owner+".example/"
			must(t, w.AddApplication(t.Context(), a, 0))
			must(t, w.AddGrant(t.Context(), inSession(newGrant(alice.ID, a.ID), n), owner, ""))
			must(t, w.EndSession(t.Context(), alice.ID, n.ID, dueAt, false))
			return a.ID
		}
		for i := range 6 {
			add(at, fmt.Sprint("stranger-", i), ByNobody, nil)
		}
		last := add(at+1, "gone", ByNobody, nil)
		add(at+2, "alice", ByOwner, &alice.ID)
		add(at+3, "root", ByOwner, &root.ID)
		add(at+4, "operator", ByOperator, nil)
		facts := func(limit int) []string {
			t.Helper()
			found, err := w.DueLogins(t.Context(), later, 2, limit)
			must(t, err)
			said := []string{}
			for _, l := range found {
				is := func(b *bool) string {
					if b == nil {
						return "-"
					}
					return fmt.Sprint(*b)
				}
				said = append(said, fmt.Sprint(l.BackchannelURI, " ", l.Responsible, " ", is(l.OwnerActive), " ",
					is(l.OwnerAdministrator), " ", l.Turn))
			}
			return said
		}
		trusted := []string{"https://alice.example/ owner true false 1", "https://root.example/ owner true true 1",
			"https://operator.example/ operator - - 1"}
		got := facts(3)
		if len(got) != 6 {
			t.Fatal(got)
		}
		if diff := cmp.Diff(trusted, got[3:]); diff != "" {
			t.Error(diff)
		}
		// An application that is gone hides nothing either, and its login is found.
		_, err := w.exec(t.Context(), `DELETE FROM applications WHERE id = $1`, last)
		must(t, err)
		got = facts(100)
		if len(got) != 10 || !slices.Contains(got, " nobody - - 1") {
			t.Error(got)
		}
	})
}

// An owner with a thousand applications that do not answer does not delay the
// notifications of other owners.
func TestDueLoginsAreOfManyOwners(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		alice := w.person(t, "alice")
		for i, owner := range []string{"greedy", "greedy", "greedy", "greedy", "modest"} {
			n, a := w.session(t, alice.ID), w.application(t, "A")
			must(t, w.AddGrant(t.Context(), inSession(newGrant(alice.ID, a.ID), n), owner, ""))
			must(t, w.EndSession(t.Context(), alice.ID, n.ID, at+int64(i), false))
		}
		owners := []string{}
		found, err := w.DueLogins(t.Context(), later, 2, 10)
		must(t, err)
		for _, l := range found {
			owners = append(owners, l.Owner)
		}
		// The first of each owner comes before the second of any.
		if diff := cmp.Diff([]string{"greedy", "modest", "greedy"}, owners); diff != "" {
			t.Error(diff)
		}
		must(t, w.PauseLogins(t.Context(), found[0].ApplicationID, 3, later+9))
		n, err := w.ForgetLogins(t.Context(), found[2].ApplicationID)
		must(t, err)
		if left := due(t, w.Store, later); n != 1 || len(left) != 3 {
			t.Errorf("%d deleted, due: %v", n, left)
		}
		for _, l := range due(t, w.Store, later+9) {
			if l.ApplicationID == found[0].ApplicationID && (l.DueAt != later+9 || l.Attempts != 3) {
				t.Errorf("postponed: %+v", l)
			}
		}
	})
}

// Somebody else has deleted the person meanwhile.
func TestEndSessionsOfNobody(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		n, err := w.EndSessions(t.Context(), "nobody", at)
		must(t, err)
		if n != 0 {
			t.Errorf("%d sessions end", n)
		}
	})
}
