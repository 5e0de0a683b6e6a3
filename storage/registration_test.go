package storage

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func newRegistered(name, digest string) Application {
	a := newApplication(name)
	a.Responsible, a.Origin, a.Management, a.RegistrationDigest = ByNobody, FromRegistration, ManagedAlone, &digest
	a.AuthMethod, a.RegistrationLimits, a.Metadata = "private_key_jwt", `{"grants":[]}`, `{"software_id":"x"}`
	a.AuthAlgorithm, a.JWKS, a.JWKSURI, a.EndpointAudience = "ES256", `{"keys":[]}`, "https://a.example/keys", true
	return a
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
		if got.CreatedAt != at || got.RenewedAt != at+5 || got.LastUsedAt != 0 || got.Management != ManagedByMany ||
			got.Version != 1 {
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
			n, err := w.EndUnusedApplications(t.Context(), now, now, 10, newEvent("deleted", User{}))
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
