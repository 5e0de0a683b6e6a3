package provider

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestPHC(t *testing.T) {
	p := newPasswords(Config{PasswordMemoryKiB: 64, PasswordIterations: 1})
	good, err := p.hash(t.Context(), goodPassword)
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
		"nothing": "", "a password": goodPassword, "argon2i": strings.Replace(good, "argon2id", "argon2i", 1), "another version": strings.Replace(good, "v=19", "v=16", 1), "no version": strings.Replace(good, "$v=19", "", 1),
		"bcrypt": "$2a$10$IxMdI6d.LIRZPpSfEwNoeu4rY3FhDREsxFJXikcgdRRAStxUlsuEO", "no iterations": strings.Replace(good, "t=1", "t=0", 1), "no lanes": strings.Replace(good, "p=1", "p=0", 1), "too many lanes": strings.Replace(good, "p=1", "p=256", 1),
		"negative memory": strings.Replace(good, "m=64", "m=-64", 1), "memory beyond bounds": strings.Replace(good, "m=64", "m=1048577", 1), "time beyond bounds": strings.Replace(good, "t=1", "t=65", 1), "another order": strings.Replace(good, "m=64,t=1", "t=1,m=64", 1),
		"a short sum": head + salt + "$" + sum[:42], "a long sum": head + salt + "$" + sum + "AAAA", "a sum that is not Base64": head + salt + "$" + strings.Repeat("?", 43), "a salt that is not Base64": head + "???$" + sum, "no sum": head + salt, "an empty sum": head + salt + "$",
		"a part more": good + "$", "text before": "x" + good, "parameters that are words": strings.Replace(good, "m=64", "m=x", 1),
	} {
		t.Run("RFC9106 "+rule+" is no hash", func(t *testing.T) {
			_, err := parsePHC(stored)
			if err == nil {
				t.Error("parsed")
			}
			for _, password := range []string{"", goodPassword, stored} {
				ok, stale, err := p.matches(t.Context(), stored, password)
				if ok || stale || err != nil {
					t.Errorf("%q matches: %t, %v", password, ok, err)
				}
			}
		})
	}
	t.Run("RFC9106 the right password matches, and no other", func(t *testing.T) {
		for password, want := range map[string]bool{goodPassword: true, "": false, goodPassword + " ": false, strings.ToUpper(goodPassword): false, "-" + goodPassword: false} {
			ok, stale, err := p.matches(t.Context(), good, password)
			if ok != want || stale || err != nil {
				t.Errorf("%q: %t, %t, %v", password, ok, stale, err)
			}
		}
		other, err := p.hash(t.Context(), goodPassword)
		if err != nil || other == good {
			t.Error("twice the same hash", err)
		}
	})
	t.Run("what is no hash matches nothing", func(t *testing.T) {
		for _, stored := range []string{"", "x", "$argon2id$v=19$m=64,t=1,p=1$$", p.encode(p.decoy.salt, p.decoy.sum)} {
			for _, password := range []string{"", "-", goodPassword, stored} {
				ok, _, err := p.matches(t.Context(), stored, password)
				if ok || err != nil {
					t.Error(stored, password, ok, err)
				}
			}
		}
	})
	t.Run("a hash of the highest cost that may be configured can be read back", func(t *testing.T) {
		p := &passwords{memory: MaxPasswordMemoryKiB, iterations: MaxPasswordIterations}
		_, err := parsePHC(p.encode(make([]byte, 16), make([]byte, 32)))
		if err != nil {
			t.Error(err)
		}
	})
	t.Run("a hash of another cost is stale", func(t *testing.T) {
		for _, c := range []Config{{PasswordMemoryKiB: 128, PasswordIterations: 1}, {PasswordMemoryKiB: 64, PasswordIterations: 2}} {
			now := newPasswords(c)
			ok, stale, err := now.matches(t.Context(), good, goodPassword)
			if !ok || !stale || err != nil {
				t.Error(c, ok, stale, err)
			}
			ok, stale, _ = now.matches(t.Context(), good, "wrong")
			if ok || stale {
				t.Error("a wrong password:", ok, stale)
			}
		}
	})
	t.Run("without settings the cost is OWASP's", func(t *testing.T) {
		p := newPasswords(Config{})
		if p.memory != 19<<10 || p.iterations != 2 {
			t.Error(p.memory, p.iterations)
		}
	})
	t.Run("hashes wait for each other, and not for ever", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			p := newPasswords(Config{PasswordMemoryKiB: 64, PasswordIterations: 1, PasswordConcurrency: 1})
			p.slots <- struct{}{}
			begin := time.Now()
			_, err := p.hash(context.Background(), goodPassword)
			wantError(t, err, "503 temporarily_unavailable")
			if waited := time.Since(begin); waited != 10*time.Second {
				t.Error("waited", waited)
			}
			<-p.slots
			_, err = p.hash(context.Background(), goodPassword)
			wantError(t, err, "no error")
		})
	})
}

func TestNewPassword(t *testing.T) {
	for _, test := range []struct {
		rule, password string
		shortest       int
		good           bool
	}{
		{"fifteen characters", "abcdefghijklmno", 0, true},
		{"fourteen characters", "abcdefghijklmn", 0, false},
		{"nothing", "", 0, false},
		{"characters are counted, not bytes", "äöüäöüäöüä", 10, true},
		{"nine of many bytes", "äöüäöüäöü", 10, false},
		{"the operator's length", "abcdefghijklmnopqr", 20, false},
		{"the operator's length, reached", "abcdefghijklmnopqrst", 20, true},
		{"spaces and every character", "  \t \U0001F511 \x01  x ", 10, true},
		{"no rule on characters", "aaaaaaaaaa", 10, true},
		{"at most 1024 bytes", strings.Repeat("a", 1024), 0, true},
		{"more than 1024 bytes", strings.Repeat("a", 1025), 0, false},
		{"not UTF-8", "abcdefghij\xff", 10, false},
		{"the user name", "somebody.long", 10, false},
		{"the user name in another case", "SomeBody.Long", 10, false},
		{"the user name and more", "somebody.long1", 10, true},
	} {
		t.Run("NIST SP 800-63B "+test.rule, func(t *testing.T) {
			found := &Invalid{}
			Config{PasswordMinLength: test.shortest}.checkNewPassword(found, "password", test.password, "somebody.long")
			if (found.err() == nil) != test.good {
				t.Error(found)
			}
		})
	}
}
