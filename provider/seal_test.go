package provider

import (
	"encoding/base64"
	"strings"
	"testing"
)

func TestSeal(t *testing.T) {
	key := testConfig().ServerKey
	s, err := newSealer(key, "ticket")
	if err != nil {
		t.Fatal(err)
	}
	const text = "what nobody else may read or change"
	sealed := s.seal([]byte(text), "context")
	refused := func(t *testing.T, s sealer, sealed, context string) {
		t.Helper()
		got, err := s.open(sealed, context)
		if err == nil || len(got) > 0 {
			t.Errorf("opened %.60q in %q: %q", sealed, context, got)
		}
	}
	t.Run("what was sealed opens", func(t *testing.T) {
		got, err := s.open(sealed, "context")
		if err != nil || string(got) != text {
			t.Error(string(got), err)
		}
		for _, empty := range []string{"", "x"} {
			got, err = s.open(s.seal([]byte(empty), ""), "")
			if err != nil || string(got) != empty {
				t.Error(string(got), err)
			}
		}
	})
	t.Run("every flipped bit is noticed", func(t *testing.T) {
		raw, _ := base64.RawURLEncoding.DecodeString(sealed)
		for i := range raw {
			for bit := range 8 {
				raw[i] ^= 1 << bit
				refused(t, s, base64.RawURLEncoding.EncodeToString(raw), "context")
				raw[i] ^= 1 << bit
			}
		}
	})
	t.Run("every truncation is noticed", func(t *testing.T) {
		for i := range sealed {
			refused(t, s, sealed[:i], "context")
			refused(t, s, sealed[i+1:], "context")
		}
		refused(t, s, sealed+"A", "context")
		refused(t, s, sealed+"=", "context")
		refused(t, s, sealed+sealed, "context")
		refused(t, s, sealed[:5]+"\n"+sealed[5:], "context")
	})
	t.Run("it opens in its context only", func(t *testing.T) {
		for _, context := range []string{"", "Context", "context ", "other"} {
			refused(t, s, sealed, context)
		}
	})
	t.Run("it opens for its purpose only", func(t *testing.T) {
		for _, purpose := range []string{"", "client-secret", "device", "flash", "ticke", "ticket "} {
			other, err := newSealer(key, purpose)
			if err != nil {
				t.Fatal(err)
			}
			refused(t, other, sealed, "context")
		}
	})
	t.Run("it opens under its key only", func(t *testing.T) {
		other, err := newSealer([]byte(strings.Repeat("x", 32)), "ticket")
		if err != nil {
			t.Fatal(err)
		}
		refused(t, other, sealed, "context")
	})
	t.Run("the same text is never sealed the same way", func(t *testing.T) {
		if s.seal([]byte(text), "context") == sealed {
			t.Error("twice the same")
		}
	})
	t.Run("the provider keeps its purposes apart", func(t *testing.T) {
		f := begin(t)
		sealers := map[string]sealer{"secrets": f.secrets, "tickets": f.tickets, "devices": f.devices, "flashes": f.flashes}
		for a, from := range sealers {
			for b, to := range sealers {
				_, err := to.open(from.seal([]byte(text), "x"), "x")
				if (err == nil) != (a == b) {
					t.Errorf("sealed for %s, opened for %s: %v", a, b, err)
				}
			}
		}
	})
}

func TestFlash(t *testing.T) {
	f := begin(t)
	alice, again := f.login("alice"), f.login("alice")
	sealed := f.Flash(alice, "secret of x", "shown once")
	for _, test := range []struct {
		rule string
		s    *SignedIn
		page string
		text string
		want string
	}{
		{"it is shown where it belongs", alice, "secret of x", sealed, "shown once"},
		{"not on another page", alice, "secret of y", sealed, ""},
		{"not in another session", again, "secret of x", sealed, ""},
		{"not altered", alice, "secret of x", sealed + "A", ""},
		{"not where there is nothing", alice, "secret of x", "", ""},
	} {
		if got := f.Unflash(test.s, test.page, test.text); got != test.want {
			t.Errorf("%s: %q", test.rule, got)
		}
	}
}

func TestRandomTexts(t *testing.T) {
	seen := map[string]bool{}
	for range 1000 {
		for _, prefix := range []string{codePrefix, accessPrefix, refreshPrefix} {
			text, sum := mint(prefix)
			raw, err := base64.RawURLEncoding.DecodeString(strings.TrimPrefix(text, prefix))
			if err != nil || len(raw) != 32 || !strings.HasPrefix(text, prefix) || sum != digest(text) || seen[text] {
				t.Fatal(text, sum, err)
			}
			seen[text] = true
		}
	}
}
