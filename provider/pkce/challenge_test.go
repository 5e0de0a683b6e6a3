package pkce

import (
	"net/url"
	"strings"
	"testing"

	"mandate/provider/oauth/oauthtest"
)

func TestChallenge(t *testing.T) {
	for _, test := range []struct{ rule, challenge, method, needed, ifSent string }{
		{"RFC7636/4.3 S256", challenge, "S256", "no error", "no error"},
		{"RFC9700/2.1.1 none", "", "", "400 invalid_request", "no error"},
		{"RFC9700/2.1.1 no plain", verifier, "plain", "400 invalid_request", "400 invalid_request"},
		{"RFC7636/4.3 without a method it is plain", challenge, "", "400 invalid_request", "400 invalid_request"},
		{"RFC7636/4.4.1 an unknown method", challenge, "S512", "400 invalid_request", "400 invalid_request"},
		{"RFC7636/4.3 the method has its case", challenge, "s256", "400 invalid_request", "400 invalid_request"},
		{"RFC7636/4.3 a method alone", "", "S256", "400 invalid_request", "400 invalid_request"},
		{"RFC7636/4.2 a byte short", challenge[:42], "S256", "400 invalid_request", "400 invalid_request"},
		{"RFC7636/4.2 a byte long", challenge + "A", "S256", "400 invalid_request", "400 invalid_request"},
		{"RFC7636/4.2 padded", challenge + "=", "S256", "400 invalid_request", "400 invalid_request"},
		{"RFC7636/4.2 not base64url", strings.ReplaceAll(challenge, "-", "+"), "S256", "400 invalid_request",
			"400 invalid_request"},
		{"RFC7636/4.2 bits beyond the digest", challenge[:42] + "N", "S256", "400 invalid_request", "400 invalid_request"},
		{"RFC7636/4.2 a line feed", challenge + "\n", "S256", "400 invalid_request", "400 invalid_request"},
	} {
		for remedy, want := range map[string]string{"": test.ifSent, "Turn it on.": test.needed} {
			err := CheckChallenge(remedy, url.Values{"code_challenge": {test.challenge}, "code_challenge_method": {test.method}})
			if got := oauthtest.Kind(err); got != want {
				t.Errorf("%s, remedy %q: %s, want %s", test.rule, remedy, got, want)
			}
		}
	}
}
