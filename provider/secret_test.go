package provider

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mandate/provider/clients"
	"mandate/provider/policy"
	"mandate/provider/seal"
)

func TestStoredSecret(t *testing.T) {
	f := begin(t)
	ctx := t.Context()
	const id, secret = "application", "a secret of some length"
	forms := map[string]string{}
	for name, how := range map[string][2]bool{"made and hashed": {true, true}, "made and readable": {true, false}, "chosen and hashed": {false, true}, "chosen and readable": {false, false}} {
		stored, err := f.StoreSecret(ctx, id, secret, how[0], how[1])
		if err != nil {
			t.Fatal(err)
		}
		forms[name] = stored
	}
	for name, prefix := range map[string]string{"made and hashed": "sha256:", "made and readable": "sealed:made:", "chosen and hashed": "$argon2id$", "chosen and readable": "sealed:chosen:"} {
		stored := forms[name]
		t.Run("a secret "+name+" says itself what it is", func(t *testing.T) {
			if !strings.HasPrefix(stored, prefix) || strings.Contains(stored, secret) {
				t.Error(stored)
			}
			if want := strings.HasPrefix(prefix, "sealed"); clients.Readable(stored) != want || clients.SecretIsReadable(Application{Secret: stored}) != want {
				t.Error("readable:", clients.Readable(stored))
			}
		})
		for sent, want := range map[string]bool{secret: true, "": false, secret + " ": false, secret[1:]: false, strings.ToUpper(secret): false, stored: false, seal.Digest(secret): false, "\x00": false} {
			got, err := f.matches(ctx, id, stored, sent)
			if err != nil || got != want {
				t.Errorf("%s: %q matches: %t, %v", name, sent, got, err)
			}
		}
	}
	t.Run("an empty secret matches nothing, whatever is stored", func(t *testing.T) {
		empty := []string{"", clients.StoredDigest, clients.StoredDigest + seal.Digest(""), clients.StoredMade, clients.StoredMade + f.sealers.secrets.Seal(nil, id), clients.StoredChosen + f.sealers.secrets.Seal(nil, id), "$argon2id$", "{plain}", "sha256"}
		hash, err := f.limits.People.Hash(ctx, "")
		if err != nil {
			t.Fatal(err)
		}
		for _, stored := range append(empty, hash) {
			got, _ := f.matches(ctx, id, stored, "")
			if got {
				t.Errorf("%q matches the empty secret", stored)
			}
		}
		got, _ := f.matches(ctx, id, "", secret)
		if got {
			t.Error("a secret matches where none is stored")
		}
	})
	t.Run("a form that is not known matches nothing", func(t *testing.T) {
		for _, stored := range []string{secret, "plain:" + secret, "SHA256:" + seal.Digest(secret), "$2a$10$IxMdI6d.LIRZPpSfEwNoeu4rY3FhDREsxFJXikcgdRRAStxUlsuEO"} {
			got, err := f.matches(ctx, id, stored, secret)
			if got || err != nil {
				t.Errorf("%q: %t, %v", stored, got, err)
			}
		}
	})
	t.Run("a sealed secret opens for its own application only", func(t *testing.T) {
		for _, name := range []string{"made and readable", "chosen and readable"} {
			got, err := f.matches(ctx, "another", forms[name], secret)
			if got {
				t.Error("it matches")
			}
			// The row was changed, or the server key is another one, so the secret cannot be checked.
			wantError(t, err, "503 temporarily_unavailable")
		}
	})
	t.Run("hashing a readable secret keeps it right, and cannot be undone", func(t *testing.T) {
		for name, prefix := range map[string]string{"made and readable": clients.StoredDigest, "chosen and readable": "$argon2id$", "made and hashed": clients.StoredDigest, "chosen and hashed": "$argon2id$"} {
			hashed, err := f.HashStored(ctx, id, forms[name])
			if err != nil || !strings.HasPrefix(hashed, prefix) {
				t.Error(hashed, err)
			}
			ok, err := f.matches(ctx, id, hashed, secret)
			if !ok || err != nil {
				t.Error(name, ok, err)
			}
		}
	})
}

// matches reports whether the secret is the stored one. It uses the slow hash if the stored form
// needs it.
func (f *fixture) matches(ctx context.Context, id, stored, secret string) (bool, error) {
	ok, slow, err := f.SecretMatches(id, stored, secret)
	if slow {
		ok, _, err = f.limits.Programs.Matches(ctx, stored, secret)
	}
	return ok, err
}

func TestSecretRotation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := begin(t)
		for name, change := range map[string]func(*clients.Registration){"hashed": func(*clients.Registration) {}, "readable": func(r *clients.Registration) { r.HashClientSecret = false }, "chosen": func(r *clients.Registration) { r.ClientSecret = "chosen by a person" }} {
			app := f.app(change)
			works := func(secret string) bool {
				_, err := f.token(&clients.Registered{Application: app.Application, Secret: secret}, "grant_type", policy.GrantClient)
				if err != nil && kind(err) != "401 invalid_client" {
					t.Fatal(err)
				}
				return err == nil
			}
			second, err := f.RotateSecret(t.Context(), nil, app.Application.ID, time.Hour)
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
			third, err := f.RotateSecret(t.Context(), nil, app.Application.ID, 0)
			if err != nil {
				t.Fatal(err)
			}
			if works(second.Secret) || works(app.Secret) || !works(third.Secret) {
				t.Error(name, "without an overlap only the new one may work")
			}
			_, err = f.RotateSecret(t.Context(), nil, app.Application.ID, time.Hour)
			if err != nil {
				t.Fatal(err)
			}
			if works(second.Secret) || !works(third.Secret) {
				t.Error(name, "only the secret just before may overlap")
			}
		}
		_, err := f.RotateSecret(t.Context(), nil, f.app(public).Application.ID, 0)
		wantInvalid(t, err, "overlap")
	})
}
