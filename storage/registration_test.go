package storage

import (
	"errors"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func newRegistered(name, digest string) Application {
	a := newApplication(name)
	a.Responsible, a.Origin, a.Management, a.RegistrationDigest = ByNobody, FromRegistration, ManagedAlone, &digest
	a.AuthMethod, a.RegistrationLimits, a.Metadata = "none", `{"grants":[]}`, `{"software_id":"x"}`
	return a
}

func newInitialToken(id string) InitialToken {
	return InitialToken{Digest: "digest of " + id, ID: id, ByOperator: true, Limits: "{}", Resources: "https://api.example/", UsesLeft: 1, CreatedAt: at, ExpiresAt: later}
}

func TestIdenticalRegistrationsGetOneApplication(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		stores := w.pair(t)
		ids := make([]string, 32)
		for _, err := range race(32, func(i int) error {
			got, err := stores[i%2].RegisterApplication(t.Context(), newRegistered("A", "same"), 0, "", at+int64(i))
			ids[i] = got.ID
			return err
		}) {
			must(t, err)
		}
		for _, id := range ids {
			if id != ids[0] {
				t.Fatalf("two applications: %v", ids)
			}
		}
		got, err := w.RegistrationByDigest(t.Context(), "same")
		must(t, err)
		if got.ID != ids[0] || got.Management != ManagedByMany {
			t.Errorf("id %s, management %q", got.ID, got.Management)
		}
		is(t, "DeleteRegistration of a shared one", w.DeleteRegistration(t.Context(), got.ID), ErrNotFound)
		_, err = w.RegisterApplication(t.Context(), newRegistered("A", "other"), 1, "", at)
		is(t, "another one beyond the quota", err, ErrFull)
		again, err := w.RegisterApplication(t.Context(), newRegistered("A", "same"), 1, "", at)
		must(t, err)
		if again.ID != got.ID {
			t.Error("the quota counts an application that exists")
		}
	})
}

func TestRegistrationIsReadAsItWasStored(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		a := newRegistered("A", "a")
		stored, err := w.RegisterApplication(t.Context(), a, 0, "", at)
		must(t, err)
		read, err := w.RegistrationByDigest(t.Context(), "a")
		must(t, err)
		for _, got := range []Application{stored, read} {
			if d := cmp.Diff(a, got); d != "" {
				t.Error(d)
			}
		}
		_, err = w.RegistrationByDigest(t.Context(), "b")
		is(t, "an unknown digest", err, ErrNotFound)
		_, err = w.ShareRegistration(t.Context(), "b", at)
		is(t, "an unknown digest", err, ErrNotFound)
	})
}

// The clean-up counts from the last registration. The time of issue stays, and a stranger
// cannot make an application look used.
func TestSharedRegistrationCountsItsTimeAnew(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		a := newRegistered("A", "a")
		_, err := w.RegisterApplication(t.Context(), a, 0, "", at)
		must(t, err)
		got, err := w.ShareRegistration(t.Context(), "a", at+5)
		must(t, err)
		if got.CreatedAt != at || got.RenewedAt != at+5 || got.LastUsedAt != 0 || got.Management != ManagedByMany || got.Version != 1 {
			t.Errorf("never used: %+v", got)
		}
		must(t, w.NoteUses(t.Context(), map[string]int64{a.ID: at + 6}))
		got, err = w.ShareRegistration(t.Context(), "a", at+7)
		must(t, err)
		if got.CreatedAt != at || got.RenewedAt != at+7 || got.LastUsedAt != at+6 {
			t.Errorf("used: %+v", got)
		}
		never := newRegistered("Never used", "b")
		_, err = w.RegisterApplication(t.Context(), never, 0, "", at)
		must(t, err)
		_, err = w.ShareRegistration(t.Context(), "b", at+7)
		must(t, err)
		for now, want := range map[int64]int64{at + 6: 0, at + 7: 2} {
			n, err := w.EndUnusedApplications(t.Context(), now, now, 10)
			must(t, err)
			if n != want {
				t.Errorf("%d applications ended that were renewed at %d, %d seconds later, want %d", n, at+7, now-at-7, want)
			}
		}
	})
}

func TestChangedRegistrationIsNotSharedAnyMore(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		alice := administrators(t, w, "Alice")[0]
		for name, change := range map[string]func(Application) error{
			"a change by its registrant": func(a Application) error {
				changed := a
				changed.Name, changed.Metadata, changed.AuthMethod = "New", "{}", "client_secret_post"
				return w.UpdateApplication(t.Context(), changed, a)
			},
			"another owner": func(a Application) error {
				return w.AssignApplication(t.Context(), a, &alice.ID, ByOwner, at)
			},
		} {
			a := newRegistered(name, name)
			_, err := w.RegisterApplication(t.Context(), a, 0, "", at)
			must(t, err)
			must(t, change(a))
			_, err = w.RegistrationByDigest(t.Context(), name)
			is(t, name, err, ErrNotFound)
			other, err := w.RegisterApplication(t.Context(), newRegistered(name, name), 0, "", at)
			must(t, err)
			if other.ID == a.ID {
				t.Errorf("%s: a later registration gets the changed application", name)
			}
		}
	})
}

// A registrant who has read the application before somebody else registered it cannot
// change it afterwards.
func TestChangeLosesAgainstASecondRegistration(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		a := newRegistered("A", "a")
		_, err := w.RegisterApplication(t.Context(), a, 0, "", at)
		must(t, err)
		_, err = w.ShareRegistration(t.Context(), "a", at)
		must(t, err)
		moved := a
		moved.RedirectURIs = "https://evil.example/"
		is(t, "UpdateApplication", w.UpdateApplication(t.Context(), moved, a), ErrNotFound)
		is(t, "DeleteRegistration", w.DeleteRegistration(t.Context(), a.ID), ErrNotFound)
	})
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
		must(t, w.UpdateUser(t.Context(), demoted, nil))
		is(t, "a maker without administrator rights", use(byPerson.Digest, at), ErrSpent)
		must(t, w.UpdateUser(t.Context(), root, nil))
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
