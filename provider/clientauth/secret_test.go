package clientauth

import (
	"context"
	"strings"
	"testing"

	"mandate/provider/limits"
	"mandate/provider/oauth/oauthtest"
	"mandate/provider/password"
	"mandate/provider/seal"
	"mandate/storage"
)

func TestStoredSecret(t *testing.T) {
	sealer, err := seal.New(make([]byte, 32), "client-secret")
	if err != nil {
		t.Fatal(err)
	}
	p := &Checks{limits: limits.New(password.Cost{MemoryKiB: 64, Iterations: 1}, 1), secrets: sealer}
	ctx := t.Context()
	const id, secret = "application", "a secret of some length"
	forms := map[string]string{}
	for name, how := range map[string][2]bool{
		"made and hashed":     {true, true},
		"made and readable":   {true, false},
		"chosen and hashed":   {false, true},
		"chosen and readable": {false, false},
	} {
		stored, err := p.StoreSecret(ctx, id, secret, how[0], how[1])
		if err != nil {
			t.Fatal(err)
		}
		forms[name] = stored
	}
	for name, prefix := range map[string]string{
		"made and hashed":     "sha256:",
		"made and readable":   "sealed:made:",
		"chosen and hashed":   "$argon2id$",
		"chosen and readable": "sealed:chosen:",
	} {
		stored := forms[name]
		t.Run("a secret "+name+" says itself what it is", func(t *testing.T) {
			if !strings.HasPrefix(stored, prefix) || strings.Contains(stored, secret) {
				t.Error(stored)
			}
			if want := strings.HasPrefix(
				prefix, "sealed",
			); Readable(stored) != want || SecretIsReadable(storage.Application{Secret: stored}) != want {
				t.Error("readable:", Readable(stored))
			}
		})
		for sent, want := range map[string]bool{
			secret:                  true,
			"":                      false,
			secret + " ":            false,
			secret[1:]:              false,
			strings.ToUpper(secret): false,
			stored:                  false,
			seal.Digest(secret):     false,
			"\x00":                  false,
		} {
			got, err := p.matches(ctx, id, stored, sent)
			if err != nil || got != want {
				t.Errorf("%s: %q matches: %t, %v", name, sent, got, err)
			}
		}
	}
	t.Run("an empty secret matches nothing, whatever is stored", func(t *testing.T) {
		empty := []string{
			"",
			storedDigest,
			storedDigest + seal.Digest(""),
			storedMade,
			storedMade + p.secrets.Seal(nil, id),
			storedChosen + p.secrets.Seal(nil, id),
			"$argon2id$",
			"{plain}",
			"sha256",
		}
		hash, err := p.limits.People.Hash(ctx, "")
		if err != nil {
			t.Fatal(err)
		}
		for _, stored := range append(empty, hash) {
			got, _ := p.matches(ctx, id, stored, "")
			if got {
				t.Errorf("%q matches the empty secret", stored)
			}
		}
		got, _ := p.matches(ctx, id, "", secret)
		if got {
			t.Error("a secret matches where none is stored")
		}
	})
	t.Run("a form that is not known matches nothing", func(t *testing.T) {
		for _, stored := range []string{
			secret,
			"plain:" + secret,
			"SHA256:" + seal.Digest(secret),
			"$2a$10$IxMdI6d.LIRZPpSfEwNoeu4rY3FhDREsxFJXikcgdRRAStxUlsuEO",
		} {
			got, err := p.matches(ctx, id, stored, secret)
			if got || err != nil {
				t.Errorf("%q: %t, %v", stored, got, err)
			}
		}
	})
	t.Run("a sealed secret opens for its own application only", func(t *testing.T) {
		for _, name := range []string{"made and readable", "chosen and readable"} {
			got, err := p.matches(ctx, "another", forms[name], secret)
			if got {
				t.Error("it matches")
			}
			// The row was changed, or the server key is another one, so the secret cannot be checked.
			oauthtest.Want(t, err, "503 temporarily_unavailable")
		}
	})
	t.Run("hashing a readable secret keeps it right, and cannot be undone", func(t *testing.T) {
		for name, prefix := range map[string]string{
			"made and readable":   storedDigest,
			"chosen and readable": "$argon2id$",
			"made and hashed":     storedDigest,
			"chosen and hashed":   "$argon2id$",
		} {
			hashed, err := p.HashStored(ctx, id, forms[name])
			if err != nil || !strings.HasPrefix(hashed, prefix) {
				t.Error(hashed, err)
			}
			ok, err := p.matches(ctx, id, hashed, secret)
			if !ok || err != nil {
				t.Error(name, ok, err)
			}
		}
	})
}

// matches reports whether the secret is the stored one. It uses the slow hash if the stored form
// needs it.
func (p *Checks) matches(ctx context.Context, id, stored, secret string) (bool, error) {
	ok, slow, err := p.secretMatches(id, stored, secret)
	if slow {
		ok, _, err = p.limits.Programs.Matches(ctx, stored, secret)
	}
	return ok, err
}
