package provider

import (
	"encoding/base64"
	"strings"
	"testing"

	"mandate/provider/seal"
	"mandate/provider/tokens"
)

func TestTheProviderKeepsItsPurposesApart(t *testing.T) {
	const text = "what nobody else may read or change"
	f := begin(t)
	sealers := map[string]seal.Sealer{"secrets": f.sealers.secrets, "tickets": f.sealers.tickets, "devices": f.sealers.devices, "flashes": f.sealers.flashes}
	for a, from := range sealers {
		for b, to := range sealers {
			_, err := to.Open(from.Seal([]byte(text), "x"), "x")
			if (err == nil) != (a == b) {
				t.Errorf("sealed for %s, opened for %s: %v", a, b, err)
			}
		}
	}
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
		for _, prefix := range []string{tokens.CodePrefix, tokens.AccessPrefix, tokens.RefreshPrefix} {
			text, sum := tokens.Mint(prefix)
			raw, err := base64.RawURLEncoding.DecodeString(strings.TrimPrefix(text, prefix))
			if err != nil || len(raw) != 32 || !strings.HasPrefix(text, prefix) || sum != seal.Digest(text) || seen[text] {
				t.Fatal(text, sum, err)
			}
			seen[text] = true
		}
	}
}
