package people

import (
	"strings"
	"testing"

	"mandate/provider/oauth"
	"mandate/storage"
)

func TestNewPassword(t *testing.T) {
	for _, test := range []struct {
		rule, password string
		shortest       int
		good           bool
	}{
		{"fifteen characters", "words in a row.", 0, true},
		{"fourteen characters", "words in a row", 0, false},
		{"nothing", "", 0, false},
		{"characters are counted, not bytes", "äöürßéêçñõ", 10, true},
		{"nine of many bytes", "äöürßéêçñ", 10, false},
		{"the operator's length", "eighteen chars: ok", 20, false},
		{"the operator's length, reached", "twenty characters ok", 20, true},
		{"spaces and every character", "  \t \U0001F511 \x01  x ", 10, true},
		{"no rule on characters", "seven rivers deep", 10, true},
		{"repeated characters", "aaaaaaaaaa", 10, false},
		{"sequential characters", "abcdefghijklmno", 0, false},
		{"a common password", "manchesterunited", 0, false},
		{"a derivation of a common password", "Passw0rd!Passw0rd!", 0, false},
		{"the address", "somebody@corp.example", 0, false},
		{"the name of the service", "Hearth & Home 2026", 0, false},
		{"the host of the server", "login.hearth.example", 0, false},
		{"at most 1024 characters", "words in a row " + strings.Repeat("ä", 1009), 0, true},
		{"more than 1024 characters", "words in a row " + strings.Repeat("ä", 1010), 0, false},
		{"not UTF-8", "abcdefghij\xff", 10, false},
		{"the user name", "somebody.long", 10, false},
		{"the user name in another case", "SomeBody.Long", 10, false},
		{"the user name and a digit", "somebody.long1", 10, false},
		{"the user name and more", "somebody.long has a dog", 10, true},
	} {
		t.Run("NIST SP 800-63B "+test.rule, func(t *testing.T) {
			found := &oauth.Invalid{}
			Config{PasswordMinLength: test.shortest, ServerName: "Hearth & Home",
				Base: "https://login.hearth.example/auth"}.checkNewPassword(found, "password", test.password,
				storage.User{Username: "somebody.long", Email: "somebody@corp.example"})
			if (found.Err() == nil) != test.good {
				t.Error(found)
			}
		})
	}
}
