package jose

import (
	"encoding/base64"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
)

// A verification takes longer with a longer key, so a server could keep a check busy with one.
func TestLimitsOfKeys(t *testing.T) {
	key := func(bytes int) JWK {
		n := base64.RawURLEncoding.EncodeToString([]byte(strings.Repeat("\xff", bytes)))
		return JWK{Type: "RSA", N: n, E: base64.RawURLEncoding.EncodeToString([]byte{0x7f, 0xff, 0xff, 0xff})}
	}
	token := func(bytes int) *JWT {
		j, err := Read(Encoded(map[string]any{"alg": "RS256"}) + "." + Encoded(map[string]any{"sub": "alice"}) + "." +
			base64.RawURLEncoding.EncodeToString(make([]byte, bytes)))
		if err != nil {
			t.Fatal(err)
		}
		return j
	}
	for _, c := range []struct {
		bytes, keys int
		unsupported bool
	}{{16384 / 8, 1, false}, {16384/8 + 1, 1, true}, {32 << 10, 1, true}, {256, 100, false}, {256, 100 + 1, true}} {
		began := time.Now()
		err := token(c.bytes).Verify(slices.Repeat([]JWK{key(c.bytes)}, c.keys), "")
		if took := time.Since(began); err == nil || errors.Is(err, ErrUnsupported) != c.unsupported || took > 5*time.Second {
			t.Errorf("%d keys of %d bytes: %v after %s", c.keys, c.bytes, err, took)
		}
	}
}
