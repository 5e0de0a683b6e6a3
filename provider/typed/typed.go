// Package typed reads what people type: codes, passwords and secrets. Keyboards, clipboards and messages give the
// same text in different forms, and to a person they are the same.
package typed

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Code returns a code as it was meant: its letters in upper case, its digits in ASCII, and without what separates
// groups. The digits of every script count: a keyboard for Japanese or Arabic types its own.
func Code(text string) string {
	return strings.ToUpper(strings.Map(func(r rune) rune {
		switch {
		// Cc and Cf: what a clipboard adds cannot be seen, such as U+200E. U+2212 is the minus sign, and U+30FC is what
		// the key of the hyphen types on a keyboard for Japanese.
		case unicode.IsSpace(r), unicode.In(r, unicode.Pd, unicode.Cc, unicode.Cf), r == '\u2212', r == '\u30fc':
			return -1
		case r > unicode.MaxASCII && unicode.IsDigit(r):
			return digit(r)
		}
		return r
	}, norm.NFKC.String(text)))
}

// digit returns a decimal digit of any script in ASCII. Unicode §4.6: the ten digits of a script follow each other,
// from 0 to 9.
func digit(r rune) rune {
	for _, ten := range unicode.Nd.R16 {
		if rune(ten.Lo) <= r && r <= rune(ten.Hi) {
			return '0' + (r-rune(ten.Lo))%10
		}
	}
	for _, ten := range unicode.Nd.R32 {
		if rune(ten.Lo) <= r && r <= rune(ten.Hi) {
			return '0' + (r-rune(ten.Lo))%10
		}
	}
	return r
}

// Secret returns the one form in which a password or a secret is hashed and compared. The same keys give different
// characters: macOS composes an accent in another way than Windows, and a keyboard for Japanese types wide letters.
//
// NIST SP 800-63B-4 §3.1.1.2: characters beyond ASCII are normalized by NFKC before they are hashed. RFC 8265 §4.2.2:
// every space is the space of ASCII.
func Secret(text string) string {
	if isASCII(text) || !utf8.ValidString(text) {
		return text
	}
	return strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Zs, r) {
			return ' '
		}
		return r
	}, norm.NFKC.String(text))
}

func isASCII(text string) bool {
	for i := 0; i < len(text); i++ {
		if text[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
