package storage

import (
	"crypto/rand"
	"errors"
	"testing"
)

func newLink(u User, kind string) NewLink {
	return NewLink{Link: Link{Digest: rand.Text(), Kind: kind, UserID: u.ID, Email: u.Email, CreatedAt: at,
		ExpiresAt: later}}
}

func (w world) link(t *testing.T, u User, kind string) Link {
	t.Helper()
	l := newLink(u, kind)
	must(t, w.AddLink(t.Context(), l))
	return l.Link
}

func TestResetLinkWorksOnce(t *testing.T) {
	eachIsolation(t, func(t *testing.T, w world) {
		alice, _, f := w.scene(t, "alice")
		bob, _, other := w.scene(t, "bob")
		n, stores := w.session(t, alice.ID), w.pair(t)
		l := w.link(t, alice, LinkReset)
		found, err := w.LinkByDigest(t.Context(), l.Digest, LinkReset, at)
		must(t, err)
		if found.ID != alice.ID {
			t.Errorf("the link is of %s", found.Username)
		}
		notice := newMail(alice)
		oneWins(t, race(8, func(i int) error {
			return stores[i%2].ResetByLink(t.Context(), l.Digest, "new hash", at,
				NewMail{Mail: with(notice.Mail, i), Limit: notice.Limit})
		}))
		if got := proof(w.Store, alice.ID); got != "new hash" {
			t.Errorf("the password is %q", got)
		}
		if got := proof(w.Store, bob.ID); got != bob.Password {
			t.Errorf("the password of another person is %q", got)
		}
		got := live(t, w.Store, map[string]string{"access": f.access, "refresh": f.refresh, "other": other.access})
		if got["access"] || got["refresh"] || !got["other"] {
			t.Errorf("valid tokens: %v", got)
		}
		is(t, "the session", second(w.SessionByDigest(t.Context(), n.Digest, at, 0)), ErrNotFound)
		is(t, "the link", second(w.LinkByDigest(t.Context(), l.Digest, LinkReset, at)), ErrNotFound)
		if n := len(w.due(t, at)); n != 1 {
			t.Errorf("%d notices, want 1", n)
		}
	})
}

func with(m Mail, i int) Mail {
	m.ID += string(rune('a' + i))
	return m
}

func TestResetLinkEnds(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		change := func(u User, change func(*User)) error {
			change(&u)
			return w.UpdateUser(t.Context(), u, nil, nil, Beside{})
		}
		for name, end := range map[string]func(u User) error{
			"another password": func(u User) error { return w.SetPassword(t.Context(), u.ID, "new", at) },
			"the person's own change": func(u User) error {
				return w.ChangePassword(t.Context(), u.Password, "new", at, renewal(w.session(t, u.ID)), true)
			},
			"another address": func(u User) error { return change(u, func(u *User) { u.Email = "new@example.com" }) },
			"another address, and back": func(u User) error {
				return errors.Join(change(u, func(u *User) { u.Email = "" }), change(u, func(*User) {}))
			},
			"disabled":             func(u User) error { return w.DisableUser(t.Context(), u.ID, at) },
			"disabled on the page": func(u User) error { return change(u, func(u *User) { u.Active = false }) },
			"disabled and enabled again": func(u User) error {
				return errors.Join(w.DisableUser(t.Context(), u.ID, at), w.EnableUser(t.Context(), u.ID, at))
			},
			"deleted": func(u User) error { return w.DeleteUser(t.Context(), u.ID, at, Handover{Delete: true}) },
			// A concurrent transaction may have added the link after the change.
			"another address, link left": func(u User) error {
				return second(w.exec(t.Context(), `UPDATE users SET email = 'x' WHERE id = $1`, u.ID))
			},
			"inactive, link left": func(u User) error {
				return second(w.exec(t.Context(), `UPDATE users SET active = FALSE WHERE id = $1`, u.ID))
			},
		} {
			u := w.person(t, name)
			l := w.link(t, u, LinkReset)
			must(t, end(u))
			is(t, name+": LinkByDigest", second(w.LinkByDigest(t.Context(), l.Digest, LinkReset, at)), ErrNotFound)
			is(t, name+": ResetByLink", w.ResetByLink(t.Context(), l.Digest, "stolen", at), ErrSpent)
			if got := proof(w.Store, u.ID); got == "stolen" {
				t.Errorf("%s: the link set the password", name)
			}
		}
		kept := w.person(t, "kept")
		l := w.link(t, kept, LinkReset)
		must(t, change(kept, func(u *User) { u.FirstName = "New" }))
		for name, err := range map[string]error{
			"another kind": second(w.LinkByDigest(t.Context(), l.Digest, LinkAddress, at)),
			"expired":      second(w.LinkByDigest(t.Context(), l.Digest, LinkReset, later)),
		} {
			is(t, name, err, ErrNotFound)
		}
		is(t, "expired", w.ResetByLink(t.Context(), l.Digest, "x", later), ErrSpent)
		must(t, w.ResetByLink(t.Context(), l.Digest, "x", later-1))
	})
}

func TestLinkIsForAPersonWithThisAddress(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		alice := w.person(t, "alice")
		wrong := newLink(alice, LinkReset)
		wrong.Email = "former@example.com"
		is(t, "another address", w.AddLink(t.Context(), wrong), ErrSpent)
		full := withMail(newLink(alice, LinkReset), alice)
		full.Mail.Limit.PerHour = 1
		must(t, w.AddLink(t.Context(), full))
		again := withMail(newLink(alice, LinkReset), alice)
		again.Mail.Limit.PerHour = 1
		is(t, "a second message", w.AddLink(t.Context(), again), ErrFull)
		crowded := withMail(newLink(alice, LinkReset), alice)
		crowded.Mail.Limit.Most = 1
		is(t, "a full queue", w.AddLink(t.Context(), crowded), ErrFull)
		must(t, w.DisableUser(t.Context(), alice.ID, at))
		is(t, "disabled", w.AddLink(t.Context(), newLink(alice, LinkReset)), ErrSpent)
		if n := count(t, w.Store, `SELECT COUNT(*) FROM links`); n != 0 {
			t.Errorf("%d links are left", n)
		}
	})
}

func TestAddressLinkConfirmsTheAddress(t *testing.T) {
	eachIsolation(t, func(t *testing.T, w world) {
		alice, bob, stores := w.person(t, "alice"), w.person(t, "bob"), w.pair(t)
		l := w.link(t, alice, LinkAddress)
		confirmed := func(profile string) (string, error) { return profile + "confirmed", nil }
		is(t, "another person", w.ConfirmByLink(t.Context(), l.Digest, renewal(w.session(t, bob.ID)), at, confirmed),
			ErrSpent)
		oneWins(t, race(4, func(i int) error {
			return stores[i%2].ConfirmByLink(t.Context(), l.Digest, renewal(w.session(t, alice.ID)), at, confirmed)
		}))
		u, err := w.UserByID(t.Context(), alice.ID)
		must(t, err)
		if u.Profile != "confirmed" {
			t.Errorf("the profile is %q", u.Profile)
		}
		failing := errors.New("no JSON")
		l = w.link(t, alice, LinkAddress)
		is(t, "a profile that cannot be changed",
			w.ConfirmByLink(t.Context(), l.Digest, renewal(w.session(t, alice.ID)), at,
				func(string) (string, error) { return "", failing }), failing)
		must(t, w.ConfirmByLink(t.Context(), l.Digest, renewal(w.session(t, alice.ID)), at, confirmed))
		l = w.link(t, alice, LinkAddress)
		u.Email = "new@example.com"
		must(t, w.UpdateUser(t.Context(), u, nil, nil, Beside{}))
		is(t, "another address", w.ConfirmByLink(t.Context(), l.Digest, renewal(w.session(t, alice.ID)), at, confirmed),
			ErrSpent)
	})
}

func TestUsersByEmail(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		var want []string
		for _, name := range []string{"a", "b", "c", "d"} {
			u := newUser(name)
			u.Email = "Shared@Example.com"
			must(t, w.AddUser(t.Context(), u, nil))
			want = append(want, u.ID)
		}
		must(t, w.DisableUser(t.Context(), want[0], at))
		found, err := w.UsersByEmail(t.Context(), "sHARED@example.COM", 2)
		must(t, err)
		if len(found) != 2 || found[0].ID != want[1] || found[1].ID != want[2] {
			t.Errorf("%+v", found)
		}
		none, err := w.UsersByEmail(t.Context(), "%@example.com", 2)
		must(t, err)
		if len(none) != 0 {
			t.Errorf("%+v", none)
		}
	})
}
