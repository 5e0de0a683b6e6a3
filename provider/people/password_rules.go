package people

import (
	"cmp"
	"net/url"
	"unicode/utf8"

	"mandate/provider/blocklist"
	"mandate/provider/oauth"
	"mandate/provider/typed"
	"mandate/storage"
)

// longestPassword is the largest number of characters in a new password.
const longestPassword = 1024

// PasswordLengths returns the smallest and the largest number of characters in a new password.
func (p *People) PasswordLengths() (shortest, longest int) {
	return p.config.shortestPassword(), longestPassword
}

func (c Config) shortestPassword() int { return cmp.Or(c.PasswordMinLength, 15) }

// checkNewPassword checks a new password of a person as NIST SP 800-63B-4 §3.1.1.2 asks: it has a minimum length,
// any characters, and is neither commonly used nor expected.
func (c Config) checkNewPassword(found *oauth.Invalid, field, password string, u storage.User) {
	// One sign can stand for up to eighteen characters, and several characters for one letter.
	as, form := utf8.RuneCountInString(password), typed.Secret(password)
	hashed, shortest := utf8.RuneCountInString(form), c.shortestPassword()
	switch {
	case !utf8.ValidString(password):
		found.Add(field, "The password is not valid UTF-8 text.")
		return
	case min(as, hashed) < shortest:
		found.Add(field, "Use at least %d characters. A few words in a row are good.", shortest)
		return
	case max(as, hashed) > longestPassword:
		found.Add(field, "Use at most %d characters.", longestPassword)
		return
	}
	own := []string{u.Username, u.Email, u.FirstName, u.LastName, c.ServerName}
	if base, err := url.Parse(c.Base); err == nil {
		own = append(own, base.Hostname())
	}
	switch blocklist.Check(form, own...) {
	case blocklist.Common:
		found.Add(field, "Many people use this password or one like it. Use several words that do not belong together.")
	case blocklist.Own:
		found.Add(field, "The password is made of your name, your address or the name of this service. Use several words "+
			"that do not belong together.")
	case blocklist.Row:
		found.Add(field, "The password repeats characters, or follows the keyboard or the alphabet. Use several words that "+
			"do not belong together.")
	}
}
