package storage

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSessionIsReadWithItsPerson(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		alice := w.person(t, "Alice")
		w.session(t, w.person(t, "bob").ID)
		n := w.session(t, alice.ID)
		got, err := w.SessionByDigest(t.Context(), n.Digest, at, at-1)
		must(t, err)
		if diff := cmp.Diff(SignedIn{n, alice}, got); diff != "" {
			t.Error(diff)
		}
	})
}

func TestSessionThatHasEndedIsNotFound(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		alice := w.person(t, "alice")
		n := w.session(t, alice.ID)
		for name, c := range map[string]struct {
			digest         string
			now, idleSince int64
			want           error
		}{
			"last moment":      {n.Digest, n.ExpiresAt - 1, n.SeenAt - 1, nil},
			"expired":          {n.Digest, n.ExpiresAt, n.SeenAt - 1, ErrNotFound},
			"idle":             {n.Digest, at, n.SeenAt, ErrNotFound},
			"unknown":          {"unknown", at, 0, ErrNotFound},
			"id, not a digest": {n.ID, at, 0, ErrNotFound},
			"empty":            {"", at, 0, ErrNotFound},
		} {
			_, err := w.SessionByDigest(t.Context(), c.digest, c.now, c.idleSince)
			is(t, name, err, c.want)
			if c.digest != n.Digest {
				continue
			}
			list, err := w.SessionsOf(t.Context(), alice.ID, c.now, c.idleSince)
			must(t, err)
			if (len(list) == 1) != (c.want == nil) {
				t.Errorf("%s: listed %+v", name, list)
			}
		}
	})
}

func TestSessionOfSomebodyInactiveIsNotFound(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		alice := w.person(t, "alice")
		n := w.session(t, alice.ID)
		_, err := w.write.ExecContext(t.Context(), `UPDATE users SET active = FALSE`) // as an operator could do with SQL
		must(t, err)
		_, err = w.SessionByDigest(t.Context(), n.Digest, at, 0)
		is(t, "SessionByDigest", err, ErrNotFound)
	})
}

func TestSessionOfSomebodyWhoIsGoneIsNotStored(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		old := w.session(t, w.person(t, "alice").ID)
		is(t, "AddSession", w.AddSession(t.Context(), newSession("nobody"), old.Digest, "hash", 0), ErrSpent)
		_, err := w.SessionByDigest(t.Context(), old.Digest, at, 0)
		is(t, "the replaced session", err, nil)
	})
}

func TestNewSessionEndsTheOneItReplaces(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		alice, bob := w.person(t, "alice"), w.person(t, "bob")
		planted, other, n := w.session(t, bob.ID), w.session(t, alice.ID), newSession(alice.ID)
		must(t, w.AddSession(t.Context(), n, planted.Digest, proof(w.Store, n.UserID), 0))
		_, err := w.SessionByDigest(t.Context(), planted.Digest, at, 0)
		is(t, "the planted session", err, ErrNotFound)
		for _, digest := range []string{other.Digest, n.Digest} {
			_, err = w.SessionByDigest(t.Context(), digest, at, 0)
			is(t, "another one", err, nil)
		}
		again := newSession(alice.ID)
		again.Digest = n.Digest
		is(t, "AddSession with a cookie that exists",
			w.AddSession(t.Context(), again, other.Digest, proof(w.Store, again.UserID), 0), ErrConflict)
		_, err = w.SessionByDigest(t.Context(), other.Digest, at, 0)
		is(t, "the session that the failed call would replace", err, nil)
	})
}

// The language of the browser is stored with the person. A browser that names none leaves it.
func TestSessionStoresTheLanguage(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		alice := w.person(t, "alice")
		for _, c := range []struct{ language, want string }{{"de", "de"}, {"", "de"}, {"fr", "fr"}} {
			n := newSession(alice.ID)
			n.Language = c.language
			must(t, w.AddSession(t.Context(), n, "", proof(w.Store, alice.ID), 0))
			got, err := w.SessionByDigest(t.Context(), n.Digest, at, at-1)
			must(t, err)
			if got.User.Language != c.want {
				t.Errorf("after a browser with the language %q: %q, want %q", c.language, got.User.Language, c.want)
			}
		}
		n := newSession(alice.ID)
		n.Language = "es"
		is(t, "with another password", w.AddSession(t.Context(), n, "", "another hash", 0), ErrSpent)
		u, err := w.UserByID(t.Context(), alice.ID)
		must(t, err)
		if u.Language != "fr" {
			t.Errorf("a failed sign-in stored the language %q", u.Language)
		}
	})
}

func TestTouchSessionNeverGoesBack(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		alice := w.person(t, "alice")
		n, other := w.session(t, alice.ID), w.session(t, alice.ID)
		must(t, w.TouchSession(t.Context(), n.ID, at+59, 60)) // too soon for an update
		got, err := w.SessionsOf(t.Context(), alice.ID, at, at-1)
		must(t, err)
		for _, s := range got {
			if s.SeenAt != at {
				t.Errorf("seen at %d", s.SeenAt)
			}
		}
		must(t, w.TouchSession(t.Context(), n.ID, at+100, 60))
		must(t, w.TouchSession(t.Context(), n.ID, at+50, 60))
		must(t, w.TouchSession(t.Context(), "nothing", at+5, 60))
		n.SeenAt = at + 100
		got, err = w.SessionsOf(t.Context(), alice.ID, at, 0)
		must(t, err)
		if diff := cmp.Diff([]Session{n, other}, got); diff != "" {
			t.Errorf("the session used last is not the first: %s", diff)
		}
	})
}

func TestSessionIsEndedByItsOwnPersonOnly(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		alice, bob := w.person(t, "alice"), w.person(t, "bob")
		n, other := w.session(t, alice.ID), w.session(t, alice.ID)
		is(t, "somebody else", w.EndSession(t.Context(), bob.ID, n.ID, at, false), ErrNotFound)
		_, err := w.SessionByDigest(t.Context(), n.Digest, at, 0)
		is(t, "after somebody else tried", err, nil)
		is(t, "its person", w.EndSession(t.Context(), alice.ID, n.ID, at, false), nil)
		is(t, "twice", w.EndSession(t.Context(), alice.ID, n.ID, at, false), ErrNotFound)
		_, err = w.SessionByDigest(t.Context(), other.Digest, at, 0)
		is(t, "another session", err, nil)
	})
}
