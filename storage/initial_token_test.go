package storage

import (
	"errors"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func newInitialToken(id string) InitialToken {
	return InitialToken{Digest: "digest of " + id, ID: id, ByOperator: true, Limits: "{}",
		Resources: "https://api.example/", UsesLeft: 1, CreatedAt: at, ExpiresAt: later}
}

func TestInitialTokenIsUsedAsOftenAsItSays(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		i, stores := newInitialToken("i"), w.pair(t)
		i.UsesLeft = 3
		must(t, w.AddInitialToken(t.Context(), i, 10))
		got, err := w.InitialTokenByDigest(t.Context(), i.Digest)
		must(t, err)
		if d := cmp.Diff(i, got); d != "" {
			t.Error(d)
		}
		won := 0
		for _, err := range race(32, func(n int) error {
			_, err := stores[n%2].RegisterApplication(t.Context(), newApplication("App "+strconv.Itoa(n)), 0, i.Digest, at)
			return err
		}) {
			if err == nil {
				won++
			} else if !errors.Is(err, ErrSpent) {
				t.Error(err)
			}
		}
		_, stored, err := w.Applications(t.Context(), Selection{}, 1, 0)
		must(t, err)
		if won != 3 || stored != 3 {
			t.Errorf("%d registrations succeeded, %d applications are stored, want 3", won, stored)
		}
	})
}

func TestInitialTokenFailsWithItsMaker(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		root := administrators(t, w, "Root", "Other")[0]
		byPerson := newInitialToken("by a person")
		byPerson.ByOperator, byPerson.MakerID, byPerson.UsesLeft = false, &root.ID, 100
		must(t, w.AddInitialToken(t.Context(), byPerson, 10))
		use := func(digest string, now int64) error {
			_, err := w.RegisterApplication(t.Context(), newApplication("A"), 0, digest, now)
			return err
		}
		must(t, use(byPerson.Digest, at))
		is(t, "an expired token", use(byPerson.Digest, later), ErrSpent)
		is(t, "an unknown token", use("unknown", at), ErrSpent)
		demoted := root
		demoted.Administrator = false
		must(t, w.UpdateUser(t.Context(), demoted, nil, nil, Beside{}))
		is(t, "a maker without administrator rights", use(byPerson.Digest, at), ErrSpent)
		must(t, w.UpdateUser(t.Context(), root, nil, nil, Beside{}))
		must(t, use(byPerson.Digest, at))
		must(t, w.DisableUser(t.Context(), root.ID, at))
		is(t, "a disabled maker", use(byPerson.Digest, at), ErrSpent)
		must(t, w.DeleteUser(t.Context(), root.ID, at, Handover{Responsible: ByOperator}))
		is(t, "a deleted maker", use(byPerson.Digest, at), ErrSpent)
		left, err := w.InitialTokens(t.Context())
		must(t, err)
		if len(left) != 0 {
			t.Errorf("%d tokens are left of a person who was deleted", len(left))
		}
	})
}

func TestInitialTokensAreFewAndEnd(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		must(t, w.AddInitialToken(t.Context(), newInitialToken("a"), 2))
		b := newInitialToken("b")
		b.CreatedAt++
		must(t, w.AddInitialToken(t.Context(), b, 2))
		is(t, "a third", w.AddInitialToken(t.Context(), newInitialToken("c"), 2), ErrFull)
		found, err := w.InitialTokens(t.Context())
		must(t, err)
		if len(found) != 2 || found[0].ID != "b" || found[1].ID != "a" {
			t.Errorf("%+v", found)
		}
		must(t, w.DeleteInitialToken(t.Context(), "a"))
		is(t, "the second deletion", w.DeleteInitialToken(t.Context(), "a"), ErrNotFound)
		n, err := w.Sweep(t.Context(), later-1, 10)
		must(t, err)
		if n != 0 {
			t.Errorf("%d were deleted too early", n)
		}
		n, err = w.Sweep(t.Context(), later, 10)
		must(t, err)
		if n != 1 {
			t.Errorf("%d were deleted, want 1", n)
		}
	})
}
