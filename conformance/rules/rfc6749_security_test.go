package rules

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"testing"
)

// Random values of 16 bytes hold 128 bits in every run of a check, however they are written. Shorter ones and numbers
// that count up do not.
func TestVariableBits(t *testing.T) {
	const runs = 20_000
	source := rand.NewChaCha8([32]byte{})
	bytes := func(n int) []byte {
		all := make([]byte, n)
		_, _ = source.Read(all) // it cannot fail
		return all
	}
	chosen := rand.New(source)
	of := func(alphabet string, n int) string {
		text := make([]byte, n)
		for i := range text {
			text[i] = alphabet[chosen.IntN(len(alphabet))]
		}
		return string(text)
	}
	const lower = "0123456789abcdefghijklmnopqrstuvwxyz"
	for name, c := range map[string]struct {
		value func(n int) string
		want  bool
	}{
		"base64url":   {func(int) string { return base64.RawURLEncoding.EncodeToString(bytes(16)) }, true},
		"hexadecimal": {func(int) string { return hex.EncodeToString(bytes(16)) }, true},
		"UUID": {func(int) string {
			b := bytes(16)
			return fmt.Sprintf("%x-%x-4%s-8%s-%x", b[:4], b[4:6], hex.EncodeToString(b[6:8])[1:],
				hex.EncodeToString(b[8:10])[1:], b[10:])
		}, true},
		"25 lower-case":       {func(int) string { return of(lower, 25) }, true},
		"40 digits":           {func(int) string { return of(lower[:10], 40) }, true},
		"20 lower-case":       {func(int) string { return of(lower, 20) }, false},
		"30 digits":           {func(int) string { return of(lower[:10], 30) }, false},
		"12 bytes, base64url": {func(int) string { return base64.RawURLEncoding.EncodeToString(bytes(12)) }, false},
		"a number":            {func(n int) string { return fmt.Sprintf("token-of-the-server-%030d", n) }, false},
	} {
		n := 0
		for range runs {
			var values []string
			for range samples {
				n++
				values = append(values, c.value(n))
			}
			if held := variableBits(values); (held >= 128*0.9) != c.want {
				t.Errorf("%s: %q hold %.0f bits", name, values, held)
				break
			}
		}
	}
}
