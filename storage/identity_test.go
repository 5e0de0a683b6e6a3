package storage

import (
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func newIdentity(userID string) Identity {
	return Identity{Issuer: "https://company.example", Subject: rand.Text(), UserID: userID, CreatedAt: at}
}

func (w world) identity(t *testing.T, n Session) Identity {
	t.Helper()
	i := newIdentity(n.UserID)
	must(t, w.AddIdentity(t.Context(), i, renewal(n), 20))
	return i
}

// by returns a session that begins with an identity.
func by(i Identity) Session {
	n := newSession(i.UserID)
	n.Issuer, n.Subject, n.SeenAt = i.Issuer, i.Subject, at+5
	return n
}

func TestIdentitiesOfAPerson(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		alice, bob := w.person(t, "alice"), w.person(t, "bob")
		n, his := w.session(t, alice.ID), w.session(t, bob.ID)
		one, two := w.identity(t, n), newIdentity(alice.ID)
		two.CreatedAt, two.Issuer = at+1, "https://other.example"
		must(t, w.AddIdentity(t.Context(), two, renewal(n), 20))
		other := w.identity(t, his)
		want := func(userID string, expected ...Identity) {
			t.Helper()
			got, err := w.IdentitiesOf(t.Context(), userID)
			must(t, err)
			if diff := cmp.Diff(expected, got); diff != "" {
				t.Error(diff)
			}
		}
		want(alice.ID, one, two)
		again := one
		again.UserID = bob.ID
		is(t, "somebody else's identity", w.AddIdentity(t.Context(), again, renewal(his), 20), ErrConflict)
		again.Issuer = two.Issuer
		is(t, "the same subject at another server", w.AddIdentity(t.Context(), again, renewal(his), 20), nil)
		is(t, "one more than allowed", w.AddIdentity(t.Context(), newIdentity(alice.ID), renewal(n), 2), ErrFull)
		is(t, "in somebody else's session", w.AddIdentity(t.Context(), newIdentity(alice.ID), renewal(his), 20), ErrSpent)

		one.UserID = bob.ID
		is(t, "deleted by somebody else", w.DeleteIdentity(t.Context(), one, Ways{}, nil), ErrNotFound)
		one.UserID = alice.ID
		is(t, "deleted", w.DeleteIdentity(t.Context(), one, Ways{}, nil), nil)
		_, err := w.Identity(t.Context(), one.Issuer, one.Subject)
		is(t, "read after that", err, ErrNotFound)
		want(alice.ID, two)
		must(t, w.DeleteUser(t.Context(), alice.ID, at, Handover{Delete: true}))
		want(alice.ID)
		want(bob.ID, other, again)
		must(t, w.EndSession(t.Context(), bob.ID, his.ID, at, false))
		is(t, "in a session that has ended", w.AddIdentity(t.Context(), newIdentity(bob.ID), renewal(his), 20), ErrSpent)
	})
}

// An identity that was removed, or is somebody else's, begins no session.
func TestSessionBeginsWithAnIdentity(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		alice, bob := w.person(t, "alice"), w.person(t, "bob")
		i := w.identity(t, w.session(t, alice.ID))
		n := by(i)
		is(t, "the person's own", w.AddSession(t.Context(), n, "", alice.Password, 0), nil)
		found, err := w.SessionByDigest(t.Context(), n.Digest, at, 0)
		must(t, err)
		if found.Session.Issuer != i.Issuer {
			t.Errorf("the session has the issuer %q", found.Session.Issuer)
		}
		used, err := w.Identity(t.Context(), i.Issuer, i.Subject)
		must(t, err)
		if used.LastUsedAt != at+5 {
			t.Errorf("used at %d", used.LastUsedAt)
		}
		// The person signs in with the password in the same browser: the session is not one of the other server any more.
		again := newSession(alice.ID)
		must(t, w.AddSession(t.Context(), again, n.Digest, alice.Password, 0))
		found, err = w.SessionByDigest(t.Context(), again.Digest, at, 0)
		must(t, err)
		if found.Session.Issuer != "" || found.Session.ID != n.ID {
			t.Errorf("%+v", found.Session)
		}
		stolen := i
		stolen.UserID = bob.ID
		is(t, "somebody else's", w.AddSession(t.Context(), by(stolen), "", bob.Password, 0), ErrSpent)
		must(t, w.DeleteIdentity(t.Context(), i, Ways{}, nil))
		is(t, "one that was removed", w.AddSession(t.Context(), by(i), "", alice.Password, 0), ErrSpent)
	})
}

// The login at the other server may be older than a session here. It does not renew one that has expired.
func TestOldLoginRenewsNoExpiredSession(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		alice := w.person(t, "alice")
		old := w.session(t, alice.ID)
		n := newSession(alice.ID)
		n.AuthTime, n.SeenAt, n.ExpiresAt = at-500, later+1, later+1000
		must(t, w.AddSession(t.Context(), n, old.Digest, alice.Password, 0))
		found, err := w.SessionByDigest(t.Context(), n.Digest, later+1, 0)
		must(t, err)
		if found.Session.ID != n.ID || found.Session.AuthTime != at-500 {
			t.Errorf("%+v", found.Session)
		}
	})
}

// linking begins a session that links an identity, of at most three.
func (w world) linking(t *testing.T, s *Store, i Identity, u User, notices ...NewMail) error {
	t.Helper()
	n := by(i)
	n.ID, n.Digest = rand.Text(), rand.Text()
	n.Link = &IdentityLink{Identity: i, Email: u.Email, Profile: u.Profile, Most: 3}
	return s.AddSession(t.Context(), n, "", proof(s, i.UserID), 0, notices...)
}

// What led to the person must still hold when the identity is stored.
func TestIdentityIsLinkedToThePersonThatWasRead(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		alice := w.person(t, "alice")
		for what, change := range map[string]string{
			"the address has changed":     `UPDATE users SET email = 'new@example.com'`,
			"it is not verified any more": `UPDATE users SET profile = '{}x'`,
			"the account is disabled":     `UPDATE users SET active = FALSE`,
		} {
			_, err := w.exec(t.Context(), `UPDATE users SET email = $1, profile = $2, active = TRUE`, alice.Email, alice.Profile)
			must(t, err)
			_, err = w.exec(t.Context(), change)
			must(t, err)
			is(t, what, w.linking(t, w.Store, newIdentity(alice.ID), alice), ErrSpent)
		}
		_, err := w.exec(t.Context(), `UPDATE users SET email = $1, profile = $2, active = TRUE`, alice.Email, alice.Profile)
		must(t, err)
		i := newIdentity(alice.ID)
		is(t, "nothing has changed", w.linking(t, w.Store, i, alice), nil)
		bob := w.person(t, "bob")
		i.UserID = bob.ID
		is(t, "to a second person", w.linking(t, w.Store, i, bob), ErrConflict)
	})
}

// An address leads to a person once: not if they have or had an account of the same server, nor beyond the limit.
func TestIdentityIsNotLinkedTwice(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		alice := w.person(t, "alice")
		one, two := newIdentity(alice.ID), newIdentity(alice.ID)
		must(t, w.linking(t, w.Store, one, alice))
		is(t, "a second one of the server", w.linking(t, w.Store, two, alice), ErrSpent)
		must(t, w.DeleteIdentity(t.Context(), one, Ways{}, nil))
		for what, i := range map[string]Identity{"the one that was removed": one, "another one after the removal": two} {
			is(t, what, w.linking(t, w.Store, i, alice), ErrSpent)
		}
		had, err := w.HadIdentity(t.Context(), alice.ID, one.Issuer)
		must(t, err)
		if !had {
			t.Error("the removed identity is forgotten")
		}
		// The way back, if an administrator says so: the server names the person differently now.
		dan := w.person(t, "dan")
		renamed, other := newIdentity(dan.ID), newIdentity(dan.ID)
		must(t, w.linking(t, w.Store, renamed, dan))
		must(t, w.DeleteIdentity(t.Context(), renamed, Ways{}, nil))
		must(t, w.atomically(t.Context(), func(x tx) error { return x.addIdentity(renamed) }))
		is(t, "while the person has one", w.linking(t, w.Store, other, dan), ErrSpent)
		must(t, w.ForgetIdentity(t.Context(), renamed, Ways{}))
		had, err = w.HadIdentity(t.Context(), dan.ID, renamed.Issuer)
		must(t, err)
		if had {
			t.Error("the identity is not forgotten")
		}
		is(t, "after it was forgotten", w.linking(t, w.Store, other, dan), nil)
		is(t, "somebody else", w.linking(t, w.Store, two, alice), ErrSpent)
		is(t, "what nobody has", w.ForgetIdentity(t.Context(), renamed, Ways{}), ErrNotFound)
		for n := range 4 {
			i := newIdentity(alice.ID)
			i.Issuer = fmt.Sprint("https://", n, ".example")
			want := error(nil)
			if n == 3 {
				want = ErrFull
			}
			is(t, i.Issuer, w.linking(t, w.Store, i, alice), want)
		}
		// Of several people there with the address, one is linked.
		bob, stores := w.person(t, "bob"), w.pair(t)
		linked := 0
		for _, err := range race(8, func(i int) error { return w.linking(t, stores[i%2], newIdentity(bob.ID), bob) }) {
			if err == nil {
				linked++
			} else {
				is(t, "another one", err, ErrSpent)
			}
		}
		if linked != 1 || count(t, w.Store, `SELECT COUNT(*) FROM identities WHERE user_id = $1`, bob.ID) != 1 {
			t.Errorf("%d were linked", linked)
		}
	})
}

func TestPersonComesWithAnIdentity(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		alice := newUser("alice@example.com")
		alice.Email, alice.Password = "alice@example.com", ""
		i := newIdentity(alice.ID)
		must(t, second(w.AddUserWithIdentity(t.Context(), alice, i, InvitedIgnored)))
		got, err := w.Identity(t.Context(), i.Issuer, i.Subject)
		must(t, err)
		if diff := cmp.Diff(i, got); diff != "" {
			t.Error(diff)
		}
		before := counts(t, w.Store)
		other := newUser("second")
		i.UserID = other.ID
		is(t, "an identity that somebody has", second(w.AddUserWithIdentity(t.Context(), other, i, InvitedIgnored)), ErrSpent)
		is(t, "a username that somebody has",
			second(w.AddUserWithIdentity(t.Context(), newUser("alice@example.com"), newIdentity("x"), InvitedIgnored)),
			ErrConflict)
		other.Email = "ALICE@Example.com"
		is(t, "an address that somebody has",
			second(w.AddUserWithIdentity(t.Context(), other, newIdentity(other.ID), InvitedIgnored)), ErrAddressTaken)
		if diff := cmp.Diff(before, counts(t, w.Store)); diff != "" {
			t.Error(diff)
		}
		found, err := w.UsersByAddress(t.Context(), "Alice@EXAMPLE.com")
		must(t, err)
		if len(found) != 1 || found[0].ID != alice.ID {
			t.Errorf("%+v", found)
		}
	})
}

// The same person signs in for the first time on two nodes, and two people with one address do.
func TestOnePersonPerIdentityAndAddress(t *testing.T) {
	eachIsolation(t, func(t *testing.T, w world) {
		stores := w.pair(t)
		i := newIdentity("")
		errs := race(8, func(n int) error {
			u := newUser(rand.Text())
			i := i
			i.UserID = u.ID
			return second(stores[n%2].AddUserWithIdentity(t.Context(), u, i, InvitedIgnored))
		})
		oneWins(t, errs)
		errs = race(8, func(n int) error {
			u := newUser(rand.Text())
			u.Email = "same@example.com"
			return second(stores[n%2].AddUserWithIdentity(t.Context(), u, newIdentity(u.ID), InvitedIgnored))
		})
		for n, err := range errs {
			if errors.Is(err, ErrAddressTaken) {
				errs[n] = ErrSpent
			}
		}
		oneWins(t, errs)
	})
}

func TestLastWayToSignInStays(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		alice := newUser("alice")
		alice.Password = ""
		one := newIdentity(alice.ID)
		all := Ways{Passkeys: true, Issuers: []string{one.Issuer}}
		must(t, second(w.AddUserWithIdentity(t.Context(), alice, one, InvitedIgnored)))
		n := w.session(t, alice.ID)
		is(t, "the only one", w.DeleteIdentity(t.Context(), one, all, nil), ErrLastWay)
		two := w.identity(t, n)
		is(t, "if nothing left can be used",
			w.DeleteIdentity(t.Context(), two, Ways{Passkeys: true, Issuers: []string{"https://other.example"}}, nil),
			ErrLastWay)
		is(t, "one of two", w.DeleteIdentity(t.Context(), two, all, nil), nil)
		k := w.passkey(t, n)
		is(t, "beside a passkey that no browser offers", w.DeleteIdentity(t.Context(), one, Ways{}, nil), ErrLastWay)
		is(t, "beside a passkey", w.DeleteIdentity(t.Context(), one, all, nil), nil)
		is(t, "the passkey", w.DeletePasskey(t.Context(), alice.ID, k.ID, all, nil), ErrLastWay)
		must(t, w.SetPassword(t.Context(), alice.ID, "hash", at))
		is(t, "the passkey beside a password", w.DeletePasskey(t.Context(), alice.ID, k.ID, all, nil), nil)
	})
}

// Each of two ways is removed while the other one is still there.
func TestOneOfTwoLastWaysStays(t *testing.T) {
	eachIsolation(t, func(t *testing.T, w world) {
		stores := w.pair(t)
		alice := newUser("alice")
		alice.Password = ""
		i := newIdentity(alice.ID)
		ways := Ways{Passkeys: true, Issuers: []string{i.Issuer}}
		must(t, second(w.AddUserWithIdentity(t.Context(), alice, i, InvitedIgnored)))
		k := w.passkey(t, w.session(t, alice.ID))
		errs := race(2, func(n int) error {
			if n == 0 {
				return stores[0].DeleteIdentity(t.Context(), i, ways, nil)
			}
			return stores[1].DeletePasskey(t.Context(), alice.ID, k.ID, ways, nil)
		})
		for n, err := range errs {
			if errors.Is(err, ErrLastWay) {
				errs[n] = ErrSpent
			}
		}
		oneWins(t, errs)
	})
}

func TestMappedGroups(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		for _, name := range []string{"own", "staff", "admins", "left"} {
			must(t, w.AddGroup(t.Context(), name, at))
		}
		alice, bob := w.person(t, "alice", "own", "left"), w.person(t, "bob", "left")
		mapped := []string{"staff", "admins", "left", "gone", "staff"}
		set := func(member []string, missing []string, want ...string) {
			t.Helper()
			got, err := w.SetMappedGroups(t.Context(), alice.ID, mapped, member, at)
			must(t, err)
			if !slices.Equal(got, missing) {
				t.Errorf("missing %q, want %q", got, missing)
			}
			memberOf(t, w, alice, want...)
		}
		set([]string{"staff", "gone", "own"}, []string{"gone"}, "own", "staff")
		set([]string{"staff", "gone", "own"}, []string{"gone"}, "own", "staff")
		set([]string{"admins"}, nil, "admins", "own")
		set(nil, nil, "own")
		memberOf(t, w, bob, "left")
		_, err := w.SetMappedGroups(t.Context(), "nobody", mapped, nil, at)
		is(t, "of a person who does not exist", err, ErrNotFound)
	})
}
