package people

import (
	"strings"
	"unicode/utf8"

	"mandate/provider/oauth"
)

// checkNewPassword holds a password to NIST SP 800-63B-4 §3.1.1.2: a length, no
// rule on its characters, not the name itself.
func (c Config) checkNewPassword(found *oauth.Invalid, field, password, username string) {
	shortest := c.PasswordMinLength
	if shortest == 0 {
		shortest = 15
	}
	switch {
	case !utf8.ValidString(password):
		found.Add(field, "The password is not valid UTF-8 text.")
	case utf8.RuneCountInString(password) < shortest:
		found.Add(field, "Use at least %d characters. A few words in a row are good.", shortest)
	case len(password) > 1024:
		found.Add(field, "Use at most 1024 bytes.")
	case strings.EqualFold(password, username):
		found.Add(field, "The password must not be the user name.")
	}
}
