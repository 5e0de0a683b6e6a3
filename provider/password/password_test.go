package password

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

const goodPassword = "a few words in a row"

func TestPHC(t *testing.T) {
	p := New(Cost{64, 1}, 0)
	good, err := p.Hash(t.Context(), goodPassword)
	if err != nil {
		t.Fatal(err)
	}
	parts := strings.Split(good, "$")
	salt, sum := parts[4], parts[5]
	const head = "$argon2id$v=19$m=64,t=1,p=1$"
	if !strings.HasPrefix(good, head) {
		t.Fatal(good)
	}
	for rule, stored := range map[string]string{
		"nothing": "", "a password": goodPassword, "argon2i": strings.Replace(good, "argon2id", "argon2i", 1),
		"another version": strings.Replace(good, "v=19", "v=16", 1), "no version": strings.Replace(good, "$v=19", "", 1),
		"bcrypt":        "$2a$10$IxMdI6d.LIRZPpSfEwNoeu4rY3FhDREsxFJXikcgdRRAStxUlsuEO",
		"no iterations": strings.Replace(good, "t=1", "t=0", 1), "no lanes": strings.Replace(good, "p=1", "p=0", 1),
		"too many lanes":       strings.Replace(good, "p=1", "p=256", 1),
		"negative memory":      strings.Replace(good, "m=64", "m=-64", 1),
		"memory beyond bounds": strings.Replace(good, "m=64", "m=1048577", 1),
		"time beyond bounds":   strings.Replace(good, "t=1", "t=65", 1),
		"another order":        strings.Replace(good, "m=64,t=1", "t=1,m=64", 1),
		"a short sum":          head + salt + "$" + sum[:42], "a long sum": head + salt + "$" + sum + "AAAA",
		"a sum that is not Base64": head + salt + "$" + strings.Repeat("?", 43), "a salt that is not Base64": head + "???$" +
			sum, "no sum": head + salt, "an empty sum": head + salt + "$",
		"a part more": good + "$", "text before": "x" + good,
		"parameters that are words": strings.Replace(good, "m=64", "m=x", 1),
	} {
		t.Run("RFC9106 "+rule+" is no hash", func(t *testing.T) {
			_, err := parsePHC(stored)
			if err == nil {
				t.Error("parsed")
			}
			for _, password := range []string{"", goodPassword, stored} {
				ok, stale, err := p.Matches(t.Context(), stored, password)
				if ok || stale || err != nil {
					t.Errorf("%q matches: %t, %v", password, ok, err)
				}
			}
		})
	}
	t.Run("RFC9106 the right password matches, and no other", func(t *testing.T) {
		for password, want := range map[string]bool{goodPassword: true, "": false, goodPassword + " ": false,
			strings.ToUpper(goodPassword): false, "-" + goodPassword: false} {
			ok, stale, err := p.Matches(t.Context(), good, password)
			if ok != want || stale || err != nil {
				t.Errorf("%q: %t, %t, %v", password, ok, stale, err)
			}
		}
		other, err := p.Hash(t.Context(), goodPassword)
		if err != nil || other == good {
			t.Error("twice the same hash", err)
		}
	})
	t.Run("what is no hash matches nothing", func(t *testing.T) {
		for _, stored := range []string{"", "x", "$argon2id$v=19$m=64,t=1,p=1$$", p.encode(p.decoy.salt, p.decoy.sum)} {
			for _, password := range []string{"", "-", goodPassword, stored} {
				ok, _, err := p.Matches(t.Context(), stored, password)
				if ok || err != nil {
					t.Error(stored, password, ok, err)
				}
			}
		}
	})
	t.Run("a hash of the highest cost that may be configured can be read back", func(t *testing.T) {
		p := &Hasher{Cost: Cost{maxMemoryKiB, maxIterations}}
		_, err := parsePHC(p.encode(make([]byte, 16), make([]byte, 32)))
		if err != nil {
			t.Error(err)
		}
	})
	t.Run("a hash of another cost is stale", func(t *testing.T) {
		for _, c := range []Cost{{128, 1}, {64, 2}} {
			now := New(c, 0)
			ok, stale, err := now.Matches(t.Context(), good, goodPassword)
			if !ok || !stale || err != nil {
				t.Error(c, ok, stale, err)
			}
			ok, stale, _ = now.Matches(t.Context(), good, "wrong")
			if ok || stale {
				t.Error("a wrong password:", ok, stale)
			}
		}
	})
	t.Run("without settings the cost is OWASP's", func(t *testing.T) {
		p := New(Cost{}, 0)
		if p.Cost.MemoryKiB != 19<<10 || p.Cost.Iterations != 2 {
			t.Error(p.Cost)
		}
	})
	t.Run("hashes wait for each other, and not for ever", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			p := New(Cost{64, 1}, 1)
			if err := p.Acquire(context.Background()); err != nil {
				t.Fatal(err)
			}
			begin := time.Now()
			_, err := p.Hash(context.Background(), goodPassword)
			if !errors.Is(err, ErrBusy) {
				t.Error(err)
			}
			if waited := time.Since(begin); waited != 10*time.Second {
				t.Error("waited", waited)
			}
			err = p.Pretend(context.Background(), goodPassword) // a name that nobody has takes as long
			if !errors.Is(err, ErrBusy) {
				t.Error(err)
			}
			p.Release()
			_, err = p.Hash(context.Background(), goodPassword)
			if err != nil {
				t.Error(err)
			}
		})
	})
}
