package storage

import (
	"fmt"
	"reflect"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestApplicationIsReadAsItWasStored(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		alice := administrators(t, w, "Alice")[0]
		a := newApplication("App")
		a.OwnerID, a.OldSecret, a.OldSecretExpiresAt = &alice.ID, "older", later
		a.MayIntrospect, a.SkipConsent, a.PKCE, a.RequirePushed = true, true, "if-sent", true
		a.AccessTokenLifetime, a.RefreshTokenLifetime, a.UpdatedAt, a.IntrospectionAlg = 60, 1<<40, later, "PS256"
		a.ObjectAlgorithm, a.RequireSigned, a.RequestURIs, a.ResponseAlgorithm, a.ResponseModes = "ES256", true,
			"https://c.example/r", "PS256", "jwt"
		a.RefreshRotation, a.ClaimsInIDToken, a.Program, a.LaunchURL = "off", "off", "grafana", "https://c.example/"
		must(t, w.AddApplication(t.Context(), a, 0))
		a.Owner, a.OwnerAdministrator, a.OwnerActive = &alice.Username, &alice.Administrator, &alice.Active
		byID, err := w.Application(t.Context(), a.ID)
		must(t, err)
		byClientID, err := w.ApplicationByClientID(t.Context(), a.ClientID)
		must(t, err)
		for _, got := range []Application{byID, byClientID} {
			if diff := cmp.Diff(a, got); diff != "" {
				t.Error(diff)
			}
		}
	})
}

func TestApplicationThatIsNotThereIsNotFound(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		a := w.application(t, "App")
		_, err := w.Application(t.Context(), a.ClientID)
		is(t, "Application by a client id", err, ErrNotFound)
		_, err = w.ApplicationByClientID(t.Context(), a.ID)
		is(t, "ApplicationByClientID by an id", err, ErrNotFound)
		is(t, "UpdateApplication", w.UpdateApplication(t.Context(), newApplication("No"), newApplication("No")), ErrNotFound)
		is(t, "DeleteApplication", w.DeleteApplication(t.Context(), "nothing"), ErrNotFound)
		is(t, "RotateSecret", w.RotateSecret(t.Context(), "nothing", "", "new", later, at), ErrSpent)
	})
}

func TestClientIDIsTakenOnce(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		a, b := w.application(t, "App"), newApplication("Other")
		b.ClientID = a.ClientID
		is(t, "AddApplication", w.AddApplication(t.Context(), b, 0), ErrConflict)
		b = newApplication("Other")
		b.ID = a.ID
		is(t, "AddApplication with an id that exists", w.AddApplication(t.Context(), b, 0), ErrConflict)
		got, err := w.Application(t.Context(), a.ID)
		must(t, err)
		if diff := cmp.Diff(a, got); diff != "" {
			t.Error(diff)
		}
	})
}

func TestApplicationOfSomebodyWhoIsGoneIsNotStored(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		a, nobody := newApplication("App"), "nobody"
		a.OwnerID = &nobody
		is(t, "AddApplication", w.AddApplication(t.Context(), a, 0), ErrNotFound)
	})
}

func TestUpdateApplicationWritesWhatMayChangeAndNothingElse(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		alice, other := w.person(t, "alice"), w.application(t, "Other")
		a := newApplication("App")
		a.OwnerID, a.OldSecret, a.OldSecretExpiresAt = &alice.ID, "older", later
		must(t, w.AddApplication(t.Context(), a, 0))
		change := a
		change.Name, change.ClientType, change.GrantTypes, change.RedirectURIs, change.Scopes = "New", "public", "password",
			"https://c.example/", ""
		change.HashClientSecret, change.Secret, change.OldSecret = false, "the same, sealed", ""
		change.MayIntrospect, change.SkipConsent, change.PKCE, change.RequirePushed = true, true, "required", true
		change.AccessTokenLifetime, change.RefreshTokenLifetime, change.UpdatedAt, change.IntrospectionAlg = 1, 2,
			later, "EdDSA"
		change.ObjectAlgorithm, change.RequireSigned, change.RequestURIs, change.ResponseAlgorithm,
			change.ResponseModes = "ES256", true, "https://c.example/r", "PS256", "jwt"
		change.RefreshRotation, change.ClaimsInIDToken, change.LaunchURL = "on", "on", "https://c.example/"
		want := change
		want.Owner, want.OwnerAdministrator, want.OwnerActive = &alice.Username, &alice.Administrator, &alice.Active
		want.Version = 1
		change.ClientID, change.OwnerID, change.OldSecretExpiresAt, change.CreatedAt, change.Program = other.ClientID, nil,
			7, 8, "gitea"
		must(t, w.UpdateApplication(t.Context(), change, a))
		got, err := w.Application(t.Context(), a.ID)
		must(t, err)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		got, err = w.Application(t.Context(), other.ID)
		must(t, err)
		if diff := cmp.Diff(other, got); diff != "" {
			t.Error(diff)
		}
	})
}

func TestUpdateApplicationNeverUndoesARotation(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		a := w.application(t, "App")
		must(t, w.RotateSecret(t.Context(), a.ID, a.Secret, "new", later, at))
		a.Name = "Changed"
		is(t, "UpdateApplication", w.UpdateApplication(t.Context(), a, a), ErrNotFound)
		got, err := w.Application(t.Context(), a.ID)
		must(t, err)
		if got.Secret != "new" || got.Name != "App" {
			t.Errorf("secret %q, name %q", got.Secret, got.Name)
		}
	})
}

// administratorsColumns returns a change to each value that only an administrator sets, by its column. The value of a
// list of groups is the group kept.
func administratorsColumns() map[string]func(*Application) {
	changes := map[string]func(*Application){}
	for f := range reflect.TypeFor[Application]().Fields() {
		value := f.Tag.Get("administrators")
		if value == "" {
			continue
		}
		changes[f.Tag.Get("db")] = func(a *Application) {
			switch field := reflect.ValueOf(a).Elem().FieldByIndex(f.Index).Addr().Interface().(type) {
			case *bool:
				*field = true
			case *string:
				*field = value
			}
		}
	}
	return changes
}

// An administrator's decision holds. An owner who read the application before the
// decision cannot change the redirect URIs of an application that skips the consent
// page.
func TestUpdateApplicationNeverUndoesADecisionOfAnAdministrator(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		stores := w.pair(t)
		must(t, w.AddGroup(t.Context(), "kept", at))
		for column, decide := range administratorsColumns() {
			for _, made := range []bool{true, false} {
				name := fmt.Sprint(column, " made: ", made)
				was, decided := newApplication(name), newApplication(name)
				if made {
					decide(&decided)
				} else {
					decide(&was)
				}
				must(t, w.AddApplication(t.Context(), was, 0))
				decided.ID, decided.ClientID = was.ID, was.ClientID
				decidedOnce(t, stores, name, was, decided)
			}
		}
	})
}

// decidedOnce changes an application to decided, while others change its redirect URIs.
func decidedOnce(t *testing.T, stores []*Store, name string, was, decided Application) {
	t.Helper()
	w, pointed, seen := stores[0], was, was
	pointed.RedirectURIs, seen.Version = "https://evil.example/", AnyVersion
	won := 0
	for i, err := range race(32, func(i int) error {
		if i%4 == 0 {
			return stores[i/4%2].UpdateApplication(t.Context(), decided, seen)
		}
		return stores[i%2].UpdateApplication(t.Context(), pointed, was)
	}) {
		if i%4 == 0 && err == nil {
			won++
		}
		if err != nil {
			is(t, name, err, ErrNotFound)
		}
	}
	got, err := w.Application(t.Context(), was.ID)
	must(t, err)
	decided.Version = got.Version
	if diff := cmp.Diff(decided, got); diff != "" || won != 1 {
		t.Errorf("%s: decided %d times: %s", name, won, diff)
	}
	is(t, name+": based on the previous version", w.UpdateApplication(t.Context(), pointed, was), ErrNotFound)
	is(t, name+": based on the previous decision", w.UpdateApplication(t.Context(), pointed, seen), ErrNotFound)
	is(t, name+": based on the present version", w.UpdateApplication(t.Context(), pointed, decided), nil)
}

// Another owner gets nothing that an administrator decided for the previous one, and keeps what is stricter, and who
// may use the application.
func TestAnotherOwnerGetsNoDecisionOfAnAdministrator(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		alice, decided, strict := w.person(t, "alice"), newApplication("Decided"), newApplication("Strict")
		must(t, w.AddGroup(t.Context(), "kept", at))
		for _, decide := range administratorsColumns() {
			decide(&decided)
		}
		strict.PKCE, strict.RefreshRotation, strict.ClaimsInIDToken = "required", "on", "off"
		for _, was := range []Application{decided, strict} {
			must(t, w.AddApplication(t.Context(), was, 0))
			must(t, w.AssignApplication(t.Context(), was, &alice.ID, ByOwner, at))
			got, err := w.Application(t.Context(), was.ID)
			must(t, err)
			want := newApplication(was.Name)
			want.AllowedGroups, want.DeniedGroups, want.NobodyNew = was.AllowedGroups, was.DeniedGroups, was.NobodyNew
			want.ID, want.ClientID = was.ID, was.ClientID
			if was.Name == "Strict" {
				want = strict
			}
			want.OwnerID, want.Responsible, want.UpdatedAt, want.Version = &alice.ID, ByOwner, at, got.Version
			want.Owner, want.OwnerAdministrator, want.OwnerActive = &alice.Username, &alice.Administrator, &alice.Active
			want.CreatedAt = got.CreatedAt
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		}
	})
}

func TestSecretIsRotatedOnce(t *testing.T) {
	eachIsolation(t, func(t *testing.T, w world) {
		a, other, stores := w.application(t, "App"), w.application(t, "Other"), w.pair(t)
		winner := oneWins(t, race(64, func(i int) error {
			return stores[i%2].RotateSecret(t.Context(), a.ID, a.Secret, fmt.Sprint("secret ", i), later, later)
		}))
		want := a
		want.Secret, want.OldSecret, want.OldSecretExpiresAt, want.UpdatedAt = fmt.Sprint("secret ", winner), a.Secret,
			later, later
		want.Version = 1
		got, err := w.Application(t.Context(), a.ID)
		must(t, err)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		got, err = w.Application(t.Context(), other.ID)
		must(t, err)
		if diff := cmp.Diff(other, got); diff != "" {
			t.Error(diff)
		}
	})
}

func TestDeletedApplicationTakesItsOwnWithIt(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		alice, a, gone := w.scene(t, "alice")
		b := w.application(t, "Other")
		stays := w.family(t, alice.ID, b.ID)
		tokens := map[string]string{"access": gone.access, "refresh": gone.refresh, "its own": "own",
			"other access": stays.access, "other's own": "other own"}
		must(t, w.AddToken(t.Context(), Token{Digest: "own", ApplicationID: &a.ID, ExpiresAt: later}))
		must(t, w.AddToken(t.Context(), Token{Digest: "other own", ApplicationID: &b.ID, ExpiresAt: later}))
		for _, id := range []string{a.ID, b.ID} {
			w.keepConsent(t, Consent{alice.ID, id, "read", "", at, 0})
		}
		must(t, w.DeleteApplication(t.Context(), a.ID))
		want := map[string]bool{"access": false, "refresh": false, "its own": false, "other access": true,
			"other's own": true}
		if diff := cmp.Diff(want, live(t, w.Store, tokens)); diff != "" {
			t.Error(diff)
		}
		_, err := w.Consent(t.Context(), alice.ID, a.ID)
		is(t, "its consent", err, ErrNotFound)
		_, err = w.Consent(t.Context(), alice.ID, b.ID)
		is(t, "another application's consent", err, nil)
		_, err = w.GrantByCode(t.Context(), *stays.CodeDigest, at)
		is(t, "another application's grant", err, nil)
		if n := count(t, w.Store, `SELECT COUNT(*) FROM grants WHERE application_id = $1`, a.ID); n != 1 {
			t.Errorf("%d grants of it are left, which expire later", n)
		}
		listed, err := w.AuthorizedBy(t.Context(), alice.ID, at)
		must(t, err)
		for _, x := range listed {
			if x.ApplicationID == a.ID {
				t.Error("it is listed as let in")
			}
		}
		must(t, second(w.Sweep(t.Context(), later+1, 10)))
		if n := count(t, w.Store, `SELECT COUNT(*) FROM grants`); n != 0 {
			t.Errorf("%d grants are never deleted", n)
		}
		is(t, "DeleteApplication twice", w.DeleteApplication(t.Context(), a.ID), ErrNotFound)
	})
}

// RFC 6749 appendix A.1: a client id can have spaces, and so can a name. Who has a part of it as a client id stays an
// introspector.
func TestDeletedApplicationWithSpacesIsForgotten(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		a := newApplication("My own API")
		a.ClientID = "urn:my client 100%"
		must(t, w.AddApplication(t.Context(), a, 0))
		all := []string{"client", "urn:my", a.ClientID, a.ClientID + " 2", "100%"}
		must(t, w.AddResource(t.Context(),
			Resource{Key: "https://api.example", URI: "https://api.example", Introspectors: NewIntrospectors(all)}, 9))
		must(t, w.DeleteApplication(t.Context(), a.ID))
		found, err := w.Resources(t.Context())
		must(t, err)
		want := []string{"client", "urn:my", a.ClientID + " 2", "100%"}
		if got := slices.Collect(found[0].IntrospectorIDs()); !slices.Equal(got, want) {
			t.Errorf("introspectors are %q, want %q", got, want)
		}
	})
}

func TestApplicationSearchAndPages(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		alice := w.person(t, "Alice")
		for i, name := range []string{"beta", "Alpha", "100%", "snake_case", "Wow!", "Ökonomie"} {
			a := newApplication(name)
			a.ClientID = fmt.Sprint("Client-", i)
			if i < 2 {
				a.OwnerID = &alice.ID
			}
			must(t, w.AddApplication(t.Context(), a, 0))
		}
		for _, c := range []struct {
			owner, search string
			limit, offset int
			total         int
			want          []string
		}{
			{"", "", 10, 0, 6, []string{"100%", "Alpha", "beta", "snake_case", "Wow!", "Ökonomie"}},
			{"", "", 2, 1, 6, []string{"Alpha", "beta"}},
			{"", "", 2, 6, 6, nil},
			{alice.ID, "", 10, 0, 2, []string{"Alpha", "beta"}},
			{alice.ID, "BET", 10, 0, 1, []string{"beta"}},
			{alice.ID, "snake", 10, 0, 0, nil},
			{"nobody", "", 10, 0, 0, nil},
			{"", "aLiCe", 10, 0, 2, []string{"Alpha", "beta"}}, // by the owner's name
			{"", "client-3", 10, 0, 1, []string{"snake_case"}},
			{"", "Ökonomie", 10, 0, 1, []string{"Ökonomie"}},
			{"", "%", 10, 0, 1, []string{"100%"}},
			{"", "_", 10, 0, 1, []string{"snake_case"}},
			{"", "!", 10, 0, 1, []string{"Wow!"}},
		} {
			found, total, err := w.Applications(t.Context(), Selection{OwnerID: c.owner, Search: c.search}, c.limit, c.offset)
			must(t, err)
			var got []string
			for _, a := range found {
				got = append(got, a.Name)
			}
			if !slices.Equal(got, c.want) || total != c.total {
				t.Errorf("owner %q, search %q, limit %d, offset %d: got %q of %d, want %q of %d", c.owner, c.search, c.limit,
					c.offset, got, total, c.want, c.total)
			}
		}
	})
}
