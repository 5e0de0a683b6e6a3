package storage

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// launches returns the names of what the start page of a person may list.
func (w world) launches(t *testing.T, u User, search string, limit int) []string {
	t.Helper()
	found, err := Launches{w.Store}.Of(t.Context(), u.ID, search, at, limit)
	must(t, err)
	var names []string
	for _, a := range found {
		names = append(names, fmt.Sprint(a.Name, " ", a.UsedAt-at))
	}
	return names
}

// Whoever registers an application chooses its name and its address: it must not come to the start page of others.
func TestStartPageListsWhatAnAdministratorAnswersFor(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		alice, bob, root := w.person(t, "alice"), w.person(t, "bob"), administrators(t, w, "root", "boss")[0]
		add := func(name, responsible string, owner *string, launch string) Application {
			a := newApplication(name)
			a.Responsible, a.OwnerID, a.LaunchURL = responsible, owner, launch
			if responsible == ByNobody {
				a.Metadata = `{"client_uri":"https://a.example/"}`
			}
			must(t, w.AddApplication(t.Context(), a, 0))
			return a
		}
		at443 := "https://a.example/"
		add("wiki", ByOperator, nil, at443)
		add("Without address", ByOperator, nil, "")
		add("Of root", ByOwner, &root.ID, at443)
		bobs := add("Of bob", ByOwner, &bob.ID, at443)
		open := add("Open", ByNobody, nil, "")
		is := func(what string, u User, want ...string) {
			t.Helper()
			if d := cmp.Diff(want, w.launches(t, u, "", 10)); d != "" {
				t.Errorf("%s: %s", what, d)
			}
		}
		never := fmt.Sprint(" ", -at)
		is("at first", alice, "Of root"+never, "wiki"+never)
		is("of an owner", bob, "Of bob"+never, "Of root"+never, "wiki"+never)
		session := w.session(t, alice.ID)
		for i, a := range []Application{bobs, open} {
			must(t, w.KeepConsent(t.Context(), Consent{UserID: alice.ID, ApplicationID: a.ID, Scope: "read",
				CreatedAt: int64(at + i)}, session.ID, replace))
		}
		is("after a consent", alice, "Open 1", "Of bob 0", "Of root"+never, "wiki"+never)
		must(t, w.RevokeConsent(t.Context(), alice.ID, open.ID))
		is("after it was revoked", alice, "Of bob 0", "Of root"+never, "wiki"+never)
		must(t, w.DisableUser(t.Context(), bob.ID, at))
		is("of a disabled owner", alice, "Of root"+never, "wiki"+never)
		must(t, w.DisableUser(t.Context(), root.ID, at))
		is("of a disabled administrator", alice, "wiki"+never)
	})
}

func TestStartPageIsSearched(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		alice := w.person(t, "alice")
		for _, name := range []string{"Wiki", "Ämter 50%", "Zeit"} {
			a := newApplication(name)
			a.LaunchURL = "https://" + name[len(name)-2:] + ".example/"
			must(t, w.AddApplication(t.Context(), a, 0))
		}
		for search, want := range map[string]int{
			"": 3, "wiki": 1, "WIKI": 1, "Äm": 1, "%": 1, "_": 0, "ki.example": 1, "x": 3,
		} {
			if got := w.launches(t, alice, search, 10); len(got) != want {
				t.Errorf("%q finds %v", search, got)
			}
		}
		if got := w.launches(t, alice, "", 2); len(got) != 2 {
			t.Errorf("a limit of 2 gives %v", got)
		}
	})
}
