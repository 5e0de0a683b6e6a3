package provider

import (
	"encoding/base64"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"mandate/provider/oauth"
	"mandate/provider/people"
	"mandate/provider/seal"
	"mandate/storage"
)

func TestSession(t *testing.T) {
	alive := func(t *testing.T, f *fixture, cookie string) bool {
		t.Helper()
		s, err := f.People.SignedIn(t.Context(), cookie)
		if err != nil && !errors.Is(err, oauth.ErrNotFound) {
			t.Fatal(err)
		}
		return err == nil && s != nil
	}
	sign := func(t *testing.T, f *fixture) string {
		t.Helper()
		in, err := f.People.Login(t.Context(), "alice", goodPassword,
			people.Browser{Address: "192.0.2.1", UserAgent: "agent"})
		if err != nil {
			t.Fatal(err)
		}
		return in.Session
	}
	bubble := func(rule string, test func(t *testing.T, f *fixture), changes ...func(*Config)) {
		t.Run(rule, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := begin(t, changes...)
				f.person("alice")
				test(t, f)
			})
		})
	}
	bubble("it ends after disuse", func(t *testing.T, f *fixture) {
		used, idle := sign(t, f), sign(t, f)
		time.Sleep(day - time.Second)
		if !alive(t, f, used) {
			t.Error("it ends a second early")
		}
		time.Sleep(time.Second)
		if alive(t, f, idle) || !alive(t, f, used) {
			t.Error("idle:", alive(t, f, idle), "used:", alive(t, f, used))
		}
	})
	bubble("it ends at last, however busy", func(t *testing.T, f *fixture) {
		cookie := sign(t, f)
		for range 14*2 - 1 {
			time.Sleep(day / 2)
			if !alive(t, f, cookie) {
				t.Fatal("it ended")
			}
		}
		time.Sleep(day / 2)
		if alive(t, f, cookie) {
			t.Error("it is alive")
		}
	})
	bubble("without an idle limit only its end counts", func(t *testing.T, f *fixture) {
		cookie := sign(t, f)
		time.Sleep(14*day - time.Second)
		if !alive(t, f, cookie) {
			t.Error("it ended")
		}
	}, func(c *Config) { c.People.SessionIdle = 0 })
	bubble("it ends with the sign-out, the person and the password", func(t *testing.T, f *fixture) {
		for name, end := range map[string]func(*storage.SignedIn) error{
			"sign-out": func(s *storage.SignedIn) error { return f.Logouts.Logout(t.Context(), s) },
			"ended":    func(s *storage.SignedIn) error { return f.People.EndSession(t.Context(), s.User.ID, s.Session.ID) },
			"password": func(*storage.SignedIn) error { return f.People.ResetPassword(t.Context(), "alice", goodPassword) },
			"disabled": func(*storage.SignedIn) error { f.sql("UPDATE users SET active = FALSE"); return nil },
		} {
			f.sql("UPDATE users SET active = TRUE")
			cookie := sign(t, f)
			s, err := f.People.SignedIn(t.Context(), cookie)
			if err != nil {
				t.Fatal(err)
			}
			err = end(s)
			if err != nil || alive(t, f, cookie) {
				t.Error(name, err)
			}
		}
		f.sql("UPDATE users SET active = TRUE")
		s := f.login("alice")
		for range 2 { // a second logout succeeds too
			err := f.Logouts.Logout(t.Context(), s)
			if err != nil {
				t.Error(err)
			}
		}
	})
	bubble("no cookie, and none that is near a right one", func(t *testing.T, f *fixture) {
		cookie := sign(t, f)
		for _, near := range []string{"", cookie[1:], cookie + "A", cookie + "=", swapCase(cookie), seal.Digest(cookie),
			" " + cookie} {
			if alive(t, f, near) {
				t.Errorf("%q is a session", near)
			}
		}
	})
}

// Only the cookie protects a session, so it has 256 random bits, which nobody can guess.
func TestSessionCookieHas256Bits(t *testing.T) {
	f := begin(t)
	f.person("alice")
	seen := map[string]bool{}
	for range 8 {
		in, err := f.People.Login(t.Context(), "alice", goodPassword, people.Browser{})
		if err != nil {
			t.Fatal(err)
		}
		raw, err := base64.RawURLEncoding.DecodeString(in.Session)
		if err != nil || len(raw) != 32 {
			t.Errorf("the cookie has %d bytes: %v", len(raw), err)
		}
		for i := range len(raw) / 8 {
			seen[string(raw[8*i:8*i+8])] = true
		}
	}
	// No part of a cookie is repeated, in the same cookie or in the next one.
	if len(seen) != 8*4 {
		t.Errorf("%d of 32 parts differ", len(seen))
	}
}
