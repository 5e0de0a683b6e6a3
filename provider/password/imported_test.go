package password

import (
	"bytes"
	"context"
	"crypto/pbkdf2"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// vector is a hash that another program made. See testdata/make.py.
type vector struct{ scheme, password, hash string }

func vectors(t testing.TB) []vector {
	t.Helper()
	text, err := os.ReadFile("testdata/imported.tsv")
	if err != nil {
		t.Fatal(err)
	}
	var list []vector
	for line := range strings.Lines(string(text)) {
		parts := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(parts) != 3 {
			t.Fatalf("%q", line)
		}
		list = append(list, vector{parts[0], parts[1], parts[2]})
	}
	return list
}

// A hash that is damaged matches nothing, and cannot be imported.
func TestImportedHashIsWhole(t *testing.T) {
	const (
		bcrypt  = "$2b$10$3.3d1jodGHbXkMCIdFBxfOO45IUYymWULvE/Bey8AFA9ioR.Buy0."
		argon   = "$argon2id$v=19$m=8192,t=1,p=1$WGJsTYDq2j4$1O/5/AIuosGcNK7XvKnYAw"
		django  = "pbkdf2_sha256$1000$btXBOzVWKBggEpOlj0MMeL$DBBf2J3clQuHA/3vcJiFRLFjPfxI3xJ9N+EnSBM16JY="
		scrypt  = "$scrypt$ln=4,r=8,p=1$AsB4DyGkNAYAgJDyPqcUog$svH1Ey6U/DXu5QB+6AFhNMVzu5tAzQ4Pn3nYU0qD1js"
		dscrypt = "scrypt$16$salt$8$1$DBBf2J3clQuHA/3vcJiFRLFjPfxI3xJ9N+EnSBM16JY="
		passlib = "$pbkdf2-sha256$1000$NKa0NmYsxbjXes/ZO6cUgg$xdIzP2D.g3Q4v2XZGz5BMslvkhwWkIAtWo27a9pmsUc"
	)
	p := New(Cost{64, 1}, 0)
	change := strings.Replace
	for stored, want := range map[string]error{
		bcrypt: nil, argon: nil, django: nil, scrypt: nil, dscrypt: nil, passlib: nil,
		"": errScheme, "x": errScheme, "$": errScheme, "$$$$": errScheme, "!unusable": errScheme,
		"md5$salt$0cc175b9c0f1b6a831c399e269772661": errScheme, "plain": errScheme,
		"$1$salt$hash": errScheme, "$6$salt$hash": errScheme,
		"$argon2d$v=19$m=8192,t=1,p=1$c2FsdHNhbHQ$1O/5/AIuosGcNK7XvKnYAw": errScheme, "pbkdf2_md5$1$a$b": errScheme,
		"argon2":                      errScheme,
		change(bcrypt, "2b", "2x", 1): errScheme, change(bcrypt, "2b", "2", 1): errScheme, bcrypt + "x": errForm,
		bcrypt[:59]: errForm, change(bcrypt, "$10$", "$03$", 1): errForm, change(bcrypt, "$10$", "$1$", 1): errForm,
		change(bcrypt, ".Buy0.", "\nBuy0.", 1): errForm, "bcrypt$" + bcrypt[1:]: errForm, "bcrypt_sha256" + bcrypt: errForm,
		change(argon, "v=19", "v=16", 1): errForm, change(argon, "$v=19", "", 1): errForm,
		change(argon, "t=1", "t=0", 1): errForm, change(argon, "p=1", "p=0", 1): errForm,
		change(argon, "m=8192", "m=7", 1): errForm, change(argon, "m=8192", "m=-1", 1): errForm,
		change(argon, "m=8192", "m=+8192", 1): errForm, change(argon, "m=8192", "m=08192", 1): errForm,
		change(argon, "t=1,p=1", "p=1,t=1", 1): errForm, argon + "$": errForm, change(argon, "AwX", "?", 1) + "=": errForm,
		argon[:len(argon)-4]: errForm,
		change(argon, "WGJsTYDq2j4", strings.Repeat("AAAA", 43), 1): errForm, argon + strings.Repeat("A", 200): errForm,
		change(django, "$1000$", "$0$", 1): errForm, change(django, "$1000$", "$$", 1): errForm,
		change(django, "$1000$", "$1e3$", 1): errForm, django[:len(django)-1]: errForm, django + "$": errForm,
		change(django, "=", "", 1):         errForm,
		change(dscrypt, "$16$", "$15$", 1): errForm, change(dscrypt, "$16$", "$1$", 1): errForm,
		change(dscrypt, "$8$", "$0$", 1): errForm, change(scrypt, "ln=4", "ln=0", 1): errForm,
		change(scrypt, "ln=4", "ln=63", 1):   errForm,
		change(passlib, "$1000$", "$-1$", 1): errForm,
	} {
		if err := CheckImported(stored); !errors.Is(err, want) {
			t.Errorf("%q: %v, want %v", stored, err, want)
		}
		if want == nil {
			continue
		}
		for _, password := range []string{"", goodPassword, stored} {
			ok, stale, err := p.Matches(t.Context(), stored, password)
			if ok || stale || err != nil {
				t.Errorf("%q matches: %t, %v", stored, ok, err)
			}
		}
	}
}

// Every byte of a hash counts, and the hash of an empty password lets nobody in.
func TestImportedHashIsCompared(t *testing.T) {
	p := New(Cost{64, 1}, 0)
	for password, want := range map[string]bool{goodPassword: true, "": false} {
		sum, err := pbkdf2.Key(sha256.New, password, []byte("salt"), 1, 32)
		if err != nil {
			t.Fatal(err)
		}
		matches := func(sum []byte) bool {
			t.Helper()
			ok, _, err := p.Matches(t.Context(), "pbkdf2_sha256$1$salt$"+base64.StdEncoding.EncodeToString(sum), password)
			if err != nil {
				t.Error(err)
			}
			return ok
		}
		if matches(sum) != want {
			t.Errorf("%q: want %t", password, want)
		}
		for n := range sum {
			altered := bytes.Clone(sum)
			altered[n] ^= 1
			if matches(altered) {
				t.Errorf("%q: byte %d does not count", password, n)
			}
		}
	}
}

// A hash must not make a sign-in exhaust the memory or the time of the server.
func TestImportedHashCostsLittle(t *testing.T) {
	sum := "DBBf2J3clQuHA/3vcJiFRLFjPfxI3xJ9N+EnSBM16JY"
	for stored, ok := range map[string]bool{
		"$2b$14$3.3d1jodGHbXkMCIdFBxfOO45IUYymWULvE/Bey8AFA9ioR.Buy0.":        true,
		"$2b$15$3.3d1jodGHbXkMCIdFBxfOO45IUYymWULvE/Bey8AFA9ioR.Buy0.":        false,
		"bcrypt$$2b$31$3.3d1jodGHbXkMCIdFBxfOO45IUYymWULvE/Bey8AFA9ioR.Buy0.": false,
		"$argon2id$v=19$m=262144,t=4,p=16$c2FsdHNhbHQ$" + sum:                 true,
		"$argon2id$v=19$m=262145,t=1,p=1$c2FsdHNhbHQ$" + sum:                  false,
		"$argon2id$v=19$m=262144,t=5,p=1$c2FsdHNhbHQ$" + sum:                  false,
		"$argon2id$v=19$m=8192,t=1,p=17$c2FsdHNhbHQ$" + sum:                   false,
		"$argon2i$v=19$m=4294967295,t=1,p=1$c2FsdHNhbHQ$" + sum:               false,
		"argon2$argon2id$v=19$m=8,t=4294967295,p=1$c2FsdHNhbHQ$" + sum:        false,
		"$argon2id$v=19$m=99999999999999999999,t=1,p=1$c2FsdHNhbHQ$" + sum:    false,
		"pbkdf2_sha256$3000000$salt$" + sum + "=":                             true,
		"pbkdf2_sha256$3000001$salt$" + sum + "=":                             false,
		// each of its two parts takes the iterations
		"pbkdf2_sha1$2000000$salt$" + sum + "=":       false,
		"pbkdf2_sha256$99999999999$salt$" + sum + "=": false,
		"$pbkdf2-sha512$3000001$c2FsdA$" + sum:        false,
		"$scrypt$ln=18,r=8,p=1$c2FsdA$" + sum:         true,
		"$scrypt$ln=18,r=8,p=2$c2FsdA$" + sum:         false,
		"$scrypt$ln=19,r=8,p=1$c2FsdA$" + sum:         false,
		"$scrypt$ln=40,r=8,p=1$c2FsdA$" + sum:         false,
		"$scrypt$ln=4,r=8,p=17$c2FsdA$" + sum:         false,
		"scrypt$16$salt$9999999999$1$" + sum + "=":    false,
		"scrypt$4294967296$salt$1$1$" + sum + "=":     false,
	} {
		if err := CheckImported(stored); (err == nil) != ok {
			t.Errorf("%s: %v", stored, err)
		}
	}
}

// Of the hashes that take much memory, one is computed at a time. The others take their turns beside it.
func TestLargeHashesRunOneAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := New(Cost{64, 1}, 4)
		var mu sync.Mutex
		inside, most := 0, 0
		count := func(n int) {
			mu.Lock()
			defer mu.Unlock()
			inside += n
			most = max(most, inside)
		}
		go func() {
			_ = p.run(context.Background(), 65, func() {
				count(1)
				time.Sleep(5 * time.Second)
				count(-1)
			})
		}()
		for range 3 {
			go func() {
				_ = p.run(context.Background(), 65, func() {
					count(1)
					time.Sleep(time.Second)
					count(-1)
				})
			}()
		}
		synctest.Wait()
		begin := time.Now()
		ok, _, err := p.Matches(t.Context(), p.encode(make([]byte, 16), make([]byte, 32)), goodPassword)
		if ok || err != nil || time.Since(begin) > time.Second {
			t.Errorf("a usual hash: %t, %v after %v", ok, err, time.Since(begin))
		}
		time.Sleep(20 * time.Second)
		mu.Lock()
		defer mu.Unlock()
		if most != 1 {
			t.Errorf("%d large hashes at a time", most)
		}
	})
}

func FuzzImportedHash(f *testing.F) {
	for _, v := range vectors(f) {
		f.Add(v.hash)
	}
	f.Fuzz(func(t *testing.T, stored string) {
		h, err := parseImported(stored)
		if err != nil {
			return
		}
		if h.memoryKiB > maxImportedKiB || h.bcrypt == "" && !isSum(h.want) {
			t.Errorf("%q: %d KiB", stored, h.memoryKiB)
		}
	})
}
