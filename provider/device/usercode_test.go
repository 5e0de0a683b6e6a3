package device

import (
	"strings"
	"testing"
)

// RFC 8628 §6.1.
func TestReadUserCode(t *testing.T) {
	for typed, want := range map[string]string{
		"BCDF-GHJK": "BCDFGHJK", "bcdfghjk": "BCDFGHJK", " b.c d-f_G/h j\tk ": "BCDFGHJK", "BCDF–GHJK": "BCDFGHJK",
		"ｂｃｄｆー ghjk": "BCDFGHJK", "ｂｃｄｆ－ＧＨＪＫ": "BCDFGHJK", "\u200eBCDF\u2011GHJK\u00a0": "BCDFGHJK",
		"BCDF-GHJ": "", "BCDF-GHJKL": "", "": "", "----": "", "BCDF-GHJA": "", "BCDF-GHJ0": "", "BCDF-GHJÉ": "",
		"BCDF-GHJК": "", strings.Repeat("B", 1000): "",
	} {
		got, ok := readUserCode(typed)
		if ok != (want != "") || ok && got != want {
			t.Errorf("%.20q is read as %.20q (%v), want %q", typed, got, ok, want)
		}
	}
}

func TestUserCodesAreRandom(t *testing.T) {
	seen, letter := map[string]bool{}, map[rune]int{}
	for range 2000 {
		code := newUserCode()
		read, ok := readUserCode(displayed(code))
		if !ok || read != code || seen[code] {
			t.Fatalf("%s: read as %s, %v, seen %v", code, read, ok, seen[code])
		}
		seen[code] = true
		for _, r := range code {
			letter[r]++
		}
	}
	// Each letter is expected 800 times, with a standard deviation of 28.
	for _, r := range letters {
		if letter[r] < 600 || letter[r] > 1000 {
			t.Errorf("%c occurs %d times in 16000 letters", r, letter[r])
		}
	}
}
