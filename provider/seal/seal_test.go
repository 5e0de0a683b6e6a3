package seal

import (
	"bytes"
	"encoding/base64"
	"strings"
	"testing"
)

func TestSeal(t *testing.T) {
	key := bytes.Repeat([]byte{7}, 32)
	s, err := New(key, "ticket")
	if err != nil {
		t.Fatal(err)
	}
	const text = "what nobody else may read or change"
	sealed := s.Seal([]byte(text), "context")
	refused := func(t *testing.T, s Sealer, sealed, context string) {
		t.Helper()
		got, err := s.Open(sealed, context)
		if err == nil || len(got) > 0 {
			t.Errorf("opened %.60q in %q: %q", sealed, context, got)
		}
	}
	t.Run("what was sealed opens", func(t *testing.T) {
		got, err := s.Open(sealed, "context")
		if err != nil || string(got) != text {
			t.Error(string(got), err)
		}
		for _, empty := range []string{"", "x"} {
			got, err = s.Open(s.Seal([]byte(empty), ""), "")
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
			other, err := New(key, purpose)
			if err != nil {
				t.Fatal(err)
			}
			refused(t, other, sealed, "context")
		}
	})
	t.Run("it opens under its key only", func(t *testing.T) {
		other, err := New([]byte(strings.Repeat("x", 32)), "ticket")
		if err != nil {
			t.Fatal(err)
		}
		refused(t, other, sealed, "context")
	})
	t.Run("the same text is never sealed the same way", func(t *testing.T) {
		if s.Seal([]byte(text), "context") == sealed {
			t.Error("twice the same")
		}
	})
}
