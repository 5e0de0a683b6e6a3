package tokens

import (
	"strings"
	"testing"
)

// Whoever has one of the tokens that take the place of a refresh token knows nothing of the other, and another salt or
// another refresh token makes other tokens.
func TestDerivedTokens(t *testing.T) {
	seen := map[string]string{}
	for _, from := range []struct{ token, salt string }{{"mrt_one", "salt"}, {"mrt_one", "other salt"},
		{"mrt_two", "salt"}} {
		source := Derived(from.token, from.salt, 1)
		again := Derived(from.token, from.salt, 1)
		access, refresh := source.AccessToken(), source.RefreshToken()
		if again.AccessToken() != access || again.RefreshToken() != refresh {
			t.Error(from, "the same source makes other tokens")
		}
		for _, text := range []string{strings.TrimPrefix(access, AccessPrefix), strings.TrimPrefix(refresh, refreshPrefix)} {
			if len(text) != 43 {
				t.Errorf("%s has %d characters", text, len(text))
			}
			if before, known := seen[text]; known {
				t.Errorf("%v makes what %s makes", from, before)
			}
			seen[text] = from.token + " " + from.salt
		}
	}
}
