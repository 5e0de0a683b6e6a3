package pkce

import (
	"strings"
	"testing"

	"mandate/provider/oauth/oauthtest"
	"mandate/provider/seal"
)

// RFC 7636 appendix B.
const (
	verifier  = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
	challenge = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
)

func TestVerifier(t *testing.T) {
	verifiers := []struct{ name, text string }{
		{"none", ""}, {"right", verifier}, {"wrong", strings.Repeat("a", 43)}, {"the challenge itself", challenge},
		{"short", verifier[:42]}, {"long", strings.Repeat("a", 129)},
		{"bad alphabet", verifier[:42] + "+"}, {"space", verifier[:42] + " "}, {"unicode", verifier[:42] + "ü"},
		{"case", strings.ToUpper(verifier)}, {"longer than right", verifier + "A"},
	}
	for _, v := range verifiers {
		t.Run("RFC7636/4.6 challenge and verifier "+v.name, func(t *testing.T) {
			want := "400 invalid_grant"
			if v.name == "right" {
				want = "no error"
			}
			oauthtest.Want(t, CheckVerifier(challenge, v.text), want)
		})
		t.Run("RFC9700/2.1.1 no challenge and verifier "+v.name, func(t *testing.T) {
			want := "400 invalid_grant"
			if v.name == "none" {
				want = "no error"
			}
			oauthtest.Want(t, CheckVerifier("", v.text), want)
		})
	}
	t.Run("RFC7636/4.1 43 to 128 characters, every one of the alphabet", func(t *testing.T) {
		const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"
		for _, text := range []string{alphabet, strings.Repeat("~", 43), strings.Repeat("~", 128)} {
			oauthtest.Want(t, CheckVerifier(seal.Digest(text), text), "no error")
		}
		for b := range 256 {
			text := verifier + string([]byte{byte(b)})
			want := "400 invalid_grant"
			if strings.IndexByte(alphabet, byte(b)) >= 0 {
				want = "no error"
			}
			if got := oauthtest.Kind(CheckVerifier(seal.Digest(text), text)); got != want {
				t.Errorf("byte %#x: %s, want %s", b, got, want)
			}
		}
	})
}
