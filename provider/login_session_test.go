package provider

import (
	"encoding/base64"
	"testing"

	"mandate/provider/people"
)

// Only the cookie protects a session, so it has 256 random bits, which nobody can guess.
func TestSessionCookieHas256Bits(t *testing.T) {
	f := begin(t)
	f.person("alice")
	seen := map[string]bool{}
	for range 8 {
		in, err := f.Login(t.Context(), "alice", goodPassword, people.Browser{})
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
