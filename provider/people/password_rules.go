package people

import (
	"strings"
	"unicode/utf8"

	"mandate/provider/oauth"
)

// checkNewPassword checks a new password as NIST SP 800-63B-4 §3.1.1.2 asks: it has a
// minimum length, any characters, and is not the user name.
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
