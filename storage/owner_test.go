package storage

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// owned stores an application for which its owner is responsible.
func (w world) owned(t *testing.T, u User, name string) Application {
	t.Helper()
	a := newApplication(name)
	a.OwnerID, a.Responsible = &u.ID, ByOwner
	must(t, w.AddApplication(t.Context(), a, 0))
	a, err := w.Application(t.Context(), a.ID)
	must(t, err)
	return a
}

func TestApplicationsOfOnePersonAreBounded(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		alice, bob, stores := w.person(t, "alice"), w.person(t, "bob"), w.pair(t)
		w.owned(t, bob, "Other")
		vouched := newApplication("Vouched")
		vouched.OwnerID = &alice.ID
		must(t, w.AddApplication(t.Context(), vouched, 0))
		stored := 0
		for _, err := range race(16, func(i int) error {
			a := newApplication("App")
			a.OwnerID, a.Responsible = &alice.ID, ByOwner
			return stores[i%2].AddApplication(t.Context(), a, 3)
		}) {
			if err == nil {
				stored++
			} else {
				is(t, "AddApplication", err, ErrFull)
			}
		}
		if stored != 3 {
			t.Errorf("%d applications were stored, want 3", stored)
		}
		open := 0
		for _, err := range race(8, func(i int) error {
			a := newApplication("Open")
			a.Responsible = ByNobody
			return stores[i%2].AddApplication(t.Context(), a, 2)
		}) {
			if err == nil {
				open++
			}
		}
		if open != 2 {
			t.Errorf("%d open applications were stored, want 2", open)
		}
	})
}

// A flood of one kind of open applications leaves a quarter of the quota for the other kind.
func TestNeitherKindOfOpenApplicationsTakesTheWholeQuota(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		stores := w.pair(t)
		const most = 8
		add := func(i int, origin string) error {
			a := newApplication("Open " + origin)
			a.Responsible, a.Origin = ByNobody, origin
			if origin == FromDocument {
				return stores[i%2].AddApplication(t.Context(), a, most)
			}
			_, err := stores[i%2].RegisterApplication(t.Context(), a, most, "", at)
			return err
		}
		flood := func(origins ...string) int {
			t.Helper()
			stored := 0
			for _, err := range race(24, func(i int) error { return add(i, origins[i%len(origins)]) }) {
				if err == nil {
					stored++
				} else {
					is(t, "the quota", err, ErrFull)
				}
			}
			return stored
		}
		for _, kinds := range [][2]string{{FromRegistration, FromDocument}, {FromDocument, FromRegistration}} {
			first, second := flood(kinds[0]), flood(kinds[1])
			if first != 6 || second != 2 {
				t.Errorf("%d from a %s, then %d from a %s, want 6 and 2", first, kinds[0], second, kinds[1])
			}
			w.withoutApplications(t)
			if both := flood(kinds[0], kinds[1]); both != most {
				t.Errorf("%d of both kinds at once, want %d", both, most)
			}
			w.withoutApplications(t)
		}
	})
}

// withoutApplications deletes every application.
func (w world) withoutApplications(t *testing.T) {
	t.Helper()
	all, _, err := w.Applications(t.Context(), Selection{}, 100, 0)
	must(t, err)
	for _, a := range all {
		must(t, w.DeleteApplication(t.Context(), a.ID))
	}
}

func TestAnApplicationIsAssignedOnce(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		alice, bob, stores := w.person(t, "alice"), w.person(t, "bob"), w.pair(t)
		a := w.owned(t, alice, "App")
		permitted := a
		permitted.RefreshRotation, permitted.ClaimsInIDToken, permitted.EndpointAudience = "off", "on", true
		must(t, w.UpdateApplication(t.Context(), permitted, a))
		a.Version++
		won := oneWins(t, race(8, func(i int) error {
			if i%2 == 0 {
				return stores[0].AssignApplication(t.Context(), a, &bob.ID, ByOwner, at)
			}
			return stores[1].AssignApplication(t.Context(), a, nil, ByOperator, at)
		}))
		got, err := w.Application(t.Context(), a.ID)
		must(t, err)
		if want := map[bool]string{true: ByOwner, false: ByOperator}[won%2 == 0]; got.Responsible != want ||
			got.UpdatedAt != at || got.RefreshRotation != "" || got.ClaimsInIDToken != "" || got.EndpointAudience {
			t.Errorf("%s is responsible, want %s; rotation %q, an endpoint as audience %t", got.Responsible, want,
				got.RefreshRotation, got.EndpointAudience)
		}
		// A caller who read the application earlier cannot change it any more.
		is(t, "UpdateApplication", w.UpdateApplication(t.Context(), a, a), ErrNotFound)
		is(t, "AssignApplication", w.AssignApplication(t.Context(), a, nil, ByOperator, at), ErrSpent)
		must(t, w.UpdateApplication(t.Context(), got, got))
	})
}

func TestADeletedPersonsApplicationsGoOrStay(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		heir := w.person(t, "heir")
		for name, b := range map[string]Handover{
			"deleted":                           {Delete: true},
			"taken over":                        {Owner: &heir.ID, Responsible: ByOwner},
			"taken over by the operator":        {Responsible: ByOperator},
			"deleted, and a new owner is named": {Delete: true, Owner: &heir.ID, Responsible: ByOwner},
		} {
			u := w.person(t, name)
			theirs, others := []Application{w.owned(t, u, "One"), w.owned(t, u, "Two")}, w.owned(t, heir, "Other")
			vouched := newApplication("Vouched")
			vouched.OwnerID = &u.ID
			must(t, w.AddApplication(t.Context(), vouched, 0))
			listed, err := w.OwnedBy(t.Context(), u.ID)
			must(t, err)
			if len(listed) != 3 || listed[0].Name != "One" || listed[2].Name != "Vouched" {
				t.Errorf("%s: owns %d applications", name, len(listed))
			}
			is(t, name+", and there was no error", w.DeleteUser(t.Context(), u.ID, at, Handover{}), ErrResponsible)
			told := []Change{}
			w.OnChange(func(changes []Change) { told = append(told, changes...) })
			must(t, w.DeleteUser(t.Context(), u.ID, at, b))
			w.OnChange(nil)
			for _, a := range theirs {
				got, err := w.Application(t.Context(), a.ID)
				if b.Delete {
					is(t, name, err, ErrNotFound)
				} else if err != nil || cmp.Diff(got.OwnerID, b.Owner) != "" || got.Responsible != b.Responsible {
					t.Errorf("%s: %v, %v, %s", name, err, got.OwnerID, got.Responsible)
				}
				if !slices.Contains(told, Change{OfApplication, a.ID}) {
					t.Errorf("%s: no node is notified of %s", name, a.Name)
				}
			}
			got, err := w.Application(t.Context(), vouched.ID)
			if err != nil || got.OwnerID != nil || got.Responsible != ByOperator {
				t.Errorf("%s: the application of the operator: %v %v %s", name, err, got.OwnerID, got.Responsible)
			}
			got, err = w.Application(t.Context(), others.ID)
			if diff := cmp.Diff(others, got); err != nil || diff != "" {
				t.Errorf("%s: the application of another person: %v %s", name, err, diff)
			}
		}
	})
}

func TestOwnerIsReadWithTheApplication(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		alice := administrators(t, w, "alice", "root")[0]
		a := w.owned(t, alice, "App")
		state := func(active, administrator bool) {
			t.Helper()
			got, err := w.ApplicationByClientID(t.Context(), a.ClientID)
			if err != nil || *got.OwnerActive != active || *got.OwnerAdministrator != administrator {
				t.Errorf("%v: active %t, administrator %t", err, *got.OwnerActive, *got.OwnerAdministrator)
			}
			must(t, w.AddToken(t.Context(), Token{Digest: "own", ApplicationID: &a.ID, ExpiresAt: later}))
			token, err := w.TokenByDigest(t.Context(), "own", at)
			if err != nil || *token.OwnerActive != active || *token.OwnerAdministrator != administrator ||
				*token.OwnerID != alice.ID || token.Responsible != ByOwner {
				t.Errorf("token: %v %+v", err, token)
			}
		}
		state(true, true)
		must(t, w.DisableUser(t.Context(), alice.ID, at))
		state(false, true)
		must(t, w.EnableUser(t.Context(), alice.ID, at))
		state(true, true)
		alice.Administrator = false
		must(t, w.UpdateUser(t.Context(), alice, nil, nil, Beside{}))
		state(true, false)
	})
}

// Enabling a disabled person ends their old sessions and tokens. Enabling a person who
// was active all the time does not.
func TestEnableUserEndsNothingOfAnActivePerson(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		alice := w.person(t, "alice")
		n := w.session(t, alice.ID)
		must(t, w.EnableUser(t.Context(), alice.ID, at))
		if _, err := w.SessionByDigest(t.Context(), n.Digest, at, 0); err != nil {
			t.Error(err)
		}
	})
}
