package resource

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Every Unicode character is tried in every normalization form. A character is refused
// if its result contains a forbidden character, and only then.
func TestPlainPathNormalized(t *testing.T) {
	forms := map[string]norm.Form{"NFC": norm.NFC, "NFD": norm.NFD, "NFKC": norm.NFKC, "NFKD": norm.NFKD}
	for c := rune(utf8.RuneSelf); c <= unicode.MaxRune; c++ {
		if !utf8.ValidRune(c) {
			continue
		}
		inside, end, because := false, false, ""
		for name, form := range forms {
			text := form.String(string(c))
			if strings.ContainsAny(text, `/\.%;?#`) {
				inside, because = true, name
			}
			end = end || strings.HasSuffix(text, " ")
		}
		if plainPath("/a"+string(c)+"b") == inside {
			t.Errorf("%U inside a segment: plain is %v, and %q contains a character with a meaning in paths (%s)", c, !inside,
				norm.NFKC.String(string(c)), because)
		}
		if end && plainPath("/a"+string(c)) {
			t.Errorf("%U, a space when normalized, ends a segment", c)
		}
	}
}

// A character without a glyph does not hide an ambiguous segment.
func TestPlainPathIgnorable(t *testing.T) {
	for path, want := range map[string]bool{
		"/a\u200db":       true,
		"/a/\ufe0f":       true, // as /a/
		"/a/.\u200d./b":   false,
		"/a/..\u00ad/b":   false,
		"/\u2060/b":       false,
		"/a \u034f":       false,
		"/a/\U000e0001/b": false,
	} {
		if got := plainPath(path); got != want {
			t.Errorf("%+q: got %t", path, got)
		}
	}
}
