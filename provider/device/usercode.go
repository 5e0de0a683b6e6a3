package device

import (
	"crypto/rand"
	"strings"
	"unicode"

	"mandate/provider/typed"
)

// letters are the characters of a user code: no vowels, so that a code is no word, and no
// digits, which look like letters (RFC 8628 §6.1).
const letters = "BCDFGHJKLMNPQRSTVWXZ"

// codeLength gives 34.5 bits: one guess at one code succeeds once in 25 thousand million
// (RFC 8628 §5.1). The number of guesses is limited.
const codeLength = 8

// newUserCode returns a random user code, without the hyphen that is shown.
func newUserCode() string {
	var code []byte
	for one := make([]byte, 1); len(code) < codeLength; {
		rand.Read(one) // never fails
		// A byte from the incomplete last part of its range would make some letters more
		// frequent.
		if n := int(one[0]); n < 256/len(letters)*len(letters) {
			code = append(code, letters[n%len(letters)])
		}
	}
	return string(code)
}

// displayed returns a user code as people see it: XXXX-XXXX.
func displayed(code string) string { return code[:codeLength/2] + "-" + code[codeLength/2:] }

// readUserCode returns the user code that a person typed, and whether it has the form of one.
//
// RFC 8628 §6.1: letters may be lower case, and punctuation is ignored.
func readUserCode(text string) (string, bool) {
	code := strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return r
		}
		return -1
	}, typed.Code(text))
	wrong := func(r rune) bool { return !strings.ContainsRune(letters, r) }
	return code, len(code) == codeLength && !strings.ContainsFunc(code, wrong)
}
