package provider

import (
	"testing"

	"mandate/provider/clients"
	"mandate/provider/policy"
)

// An administrator has allowed an application what protects people less, as it was then. A change by a person who has
// become responsible for it removes that permanently: it does not come back with the next administrator.
func TestChangeByAPersonRemovesLenientValues(t *testing.T) {
	f := begin(t, openID)
	app := f.app(func(r *clients.Registration) {
		r.PKCE, r.ClaimsInIDToken, r.RefreshRotation = policy.PKCEIfSent, policy.ClaimsOn, policy.RotationOff
		r.Claims = []string{`{"name":"role","from":"groups","in":["id_token"]}`}
	})
	id, alice := app.Application.ID, f.person("alice")
	f.sql("UPDATE applications SET responsible = 'owner', owner_id = '" + alice.ID + "' WHERE id = '" + id + "'")
	before, err := f.Clients.Application(t.Context(), policy.Operator(), id)
	if err != nil || before.PKCE != policy.PKCEIfSent || policy.StandingOf(before) != policy.StandingPerson {
		t.Fatalf("%+v, %v", before, err)
	}
	_, err = f.Clients.Change(
		t.Context(),
		policy.By(alice),
		id,
		func(r *clients.Registration) error { r.Name = "Mine"; return nil },
	)
	if err != nil {
		t.Fatal(err)
	}
	a, err := f.Clients.Application(t.Context(), policy.Operator(), id)
	if err != nil || a.Name != "Mine" || a.PKCE != "" || a.ClaimsInIDToken != "" || a.RefreshRotation+a.Claims != "" {
		t.Errorf("%q %q %q %q %q, %v", a.Name, a.PKCE, a.ClaimsInIDToken, a.RefreshRotation, a.Claims, err)
	}
}
