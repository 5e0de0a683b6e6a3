package people

import (
	"net/mail"
	"strings"
	"unicode"
	"unicode/utf8"

	"mandate/provider/oauth"
)

// hidden reports whether a character cannot be seen or reorders the text around it. A name
// with such characters could look like another name on the consent page.
func hidden(r rune) bool {
	return unicode.IsControl(r) || unicode.In(r, unicode.Bidi_Control, unicode.Other_Default_Ignorable_Code_Point,
		unicode.Variation_Selector, unicode.Zl, unicode.Zp) ||
		unicode.Is(unicode.Cf, r) && r != 0x200C && r != 0x200D // these two join letters in some scripts
}

// hiddenInAddress reports whether an email address or a URL has a character that cannot be
// seen. Unlike a name, it may not have a character that joins letters.
func hiddenInAddress(text string) bool {
	return !utf8.ValidString(text) ||
		strings.ContainsFunc(text, func(r rune) bool { return hidden(r) || r == 0x200C || r == 0x200D })
}

const noHidden = "Use text without control characters and without characters that cannot be seen."

// visible reports whether a text has a character that can be seen.
func visible(text string) bool {
	return strings.ContainsFunc(text, func(r rune) bool {
		// a braille cell without dots
		return unicode.IsGraphic(r) && !unicode.IsSpace(r) && !hidden(r) && !unicode.IsMark(r) && r != '\u2800'
	})
}

// CheckText checks a text of one line, such as a name: at most 150 characters, none of
// them hidden. An empty text is allowed.
func CheckText(found *oauth.Invalid, field, text string) {
	switch {
	case !utf8.ValidString(text) || strings.ContainsFunc(text, hidden):
		found.Add(field, noHidden)
	case text != "" && !visible(text):
		found.Add(field, "Use at least one character that can be seen.")
	case utf8.RuneCountInString(text) > 150:
		found.Add(field, "Use at most 150 characters.")
	}
}

// isAddress reports whether a text is an email address, and nothing else. RFC 5321 §4.1.3: name@[192.0.2.1] is one
// too. But anybody who may sign up could send the mail server to each machine of its own network with it.
func isAddress(email string) bool {
	parsed, err := mail.ParseAddress(email)
	return err == nil && parsed.Address == email && len(email) <= 254 && !strings.HasSuffix(email, "]")
}

// isASCII reports whether a text has only characters of ASCII that can be seen.
func isASCII(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' })
}
