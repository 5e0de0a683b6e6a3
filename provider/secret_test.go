package provider

import (
	"testing"
	"testing/synctest"
	"time"

	"mandate/provider/clients"
	"mandate/provider/policy"
)

func TestSecretRotation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := begin(t)
		for name, change := range map[string]func(*clients.Registration){
			"hashed": func(*clients.Registration) {}, "readable": func(r *clients.Registration) { r.HashClientSecret = false },
			"chosen": func(r *clients.Registration) { r.ClientSecret = "chosen by a person" }} {
			app := f.app(change)
			works := func(secret string) bool {
				_, err := f.token(&clients.Registered{Application: app.Application, Secret: secret}, "grant_type",
					policy.GrantClient)
				if err != nil && kind(err) != "401 invalid_client" {
					t.Fatal(err)
				}
				return err == nil
			}
			second, err := f.Clients.RotateSecret(t.Context(), policy.Operator(), app.Application.ID, time.Hour)
			if err != nil {
				t.Fatal(err)
			}
			if !works(app.Secret) || !works(second.Secret) || works("neither") {
				t.Error(name, "both must work within the overlap")
			}
			time.Sleep(time.Hour - time.Second)
			if !works(app.Secret) {
				t.Error(name, "the old secret ends too early")
			}
			time.Sleep(time.Second)
			if works(app.Secret) || !works(second.Secret) {
				t.Error(name, "after the overlap only the new one may work")
			}
			third, err := f.Clients.RotateSecret(t.Context(), policy.Operator(), app.Application.ID, 0)
			if err != nil {
				t.Fatal(err)
			}
			if works(second.Secret) || works(app.Secret) || !works(third.Secret) {
				t.Error(name, "without an overlap only the new one may work")
			}
			_, err = f.Clients.RotateSecret(t.Context(), policy.Operator(), app.Application.ID, time.Hour)
			if err != nil {
				t.Fatal(err)
			}
			if works(second.Secret) || !works(third.Secret) {
				t.Error(name, "only the secret just before may overlap")
			}
		}
		_, err := f.Clients.RotateSecret(t.Context(), policy.Operator(), f.app(public).Application.ID, 0)
		wantInvalid(t, err, "overlap")
	})
}
