package provider

import (
	"errors"
	"testing"

	"mandate/provider/clients"
	"mandate/provider/oauth"
	"mandate/provider/people"
	"mandate/provider/policy"
	"mandate/storage"
)

// A caller that forgets to say who acts gets nothing, and a person without administrator
// rights gets what is theirs.
func TestActorsWithoutRights(t *testing.T) {
	f := begin(t)
	alice, bob := f.person("alice"), f.person("bob")
	r := clients.Registration{
		Name:             "Robot",
		ClientType:       policy.Confidential,
		GrantTypes:       []string{policy.GrantClient},
		HashClientSecret: true,
	}
	made, err := f.Clients.Register(t.Context(), policy.By(alice), r)
	if err != nil {
		t.Fatal(err)
	}
	for name, actor := range map[string]policy.Actor{
		"nobody":               {},
		"a user without an id": policy.By(storage.User{Administrator: true, Active: true}),
		"bob":                  policy.By(bob),
	} {
		t.Run(name, func(t *testing.T) {
			id := made.Application.ID
			_, err := f.Clients.Application(t.Context(), actor, id)
			wantNotFound(t, "Application", err)
			_, err = f.Clients.ApplicationByClientID(t.Context(), actor, made.Application.ClientID)
			wantNotFound(t, "ApplicationByClientID", err)
			_, err = f.Clients.Update(t.Context(), actor, id, f.version(id), r)
			wantNotFound(t, "Update", err)
			_, err = f.Clients.RotateSecret(t.Context(), actor, id, 0)
			wantNotFound(t, "RotateSecret", err)
			_, err = f.Clients.TakeOver(t.Context(), actor, id, f.version(id))
			wantNotFound(t, "TakeOver", err)
			wantNotFound(t, "Delete", f.Clients.Delete(t.Context(), actor, id))
			list, total, err := f.Clients.Applications(t.Context(), actor, storage.Selection{}, 10, 0)
			if err != nil || len(list) > 0 || total > 0 {
				t.Errorf("sees %d of %d applications, %v", len(list), total, err)
			}
			wantError(t, f.People.DeleteUser(t.Context(), actor, alice.ID, ""), "403 access_denied")
			wantError(t, f.People.UpdateUser(
				t.Context(), actor, alice.ID, people.Person{Username: "alice"},
			), "403 access_denied")
			if actor.Nobody() {
				_, err = f.Clients.Register(t.Context(), actor, r)
				wantError(t, err, "403 access_denied")
			}
		})
	}
	_, err = f.Clients.TakeOver(t.Context(), policy.By(alice), made.Application.ID, f.version(made.Application.ID))
	wantError(t, err, "403 access_denied")
}

func wantNotFound(t *testing.T, what string, err error) {
	t.Helper()
	if !errors.Is(err, oauth.ErrNotFound) {
		t.Errorf("%s: %v, want ErrNotFound", what, err)
	}
}
