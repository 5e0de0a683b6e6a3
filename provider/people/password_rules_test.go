package people

import (
	"strings"
	"testing"

	"mandate/provider/oauth"
)

func TestNewPassword(t *testing.T) {
	for _, test := range []struct {
		rule, password string
		shortest       int
		good           bool
	}{
		{"fifteen characters", "abcdefghijklmno", 0, true},
		{"fourteen characters", "abcdefghijklmn", 0, false},
		{"nothing", "", 0, false},
		{"characters are counted, not bytes", "äöüäöüäöüä", 10, true},
		{"nine of many bytes", "äöüäöüäöü", 10, false},
		{"the operator's length", "abcdefghijklmnopqr", 20, false},
		{"the operator's length, reached", "abcdefghijklmnopqrst", 20, true},
		{"spaces and every character", "  \t \U0001F511 \x01  x ", 10, true},
		{"no rule on characters", "aaaaaaaaaa", 10, true},
		{"at most 1024 bytes", strings.Repeat("a", 1024), 0, true},
		{"more than 1024 bytes", strings.Repeat("a", 1025), 0, false},
		{"not UTF-8", "abcdefghij\xff", 10, false},
		{"the user name", "somebody.long", 10, false},
		{"the user name in another case", "SomeBody.Long", 10, false},
		{"the user name and more", "somebody.long1", 10, true},
	} {
		t.Run("NIST SP 800-63B "+test.rule, func(t *testing.T) {
			found := &oauth.Invalid{}
			Config{PasswordMinLength: test.shortest}.checkNewPassword(found, "password", test.password, "somebody.long")
			if (found.Err() == nil) != test.good {
				t.Error(found)
			}
		})
	}
}
