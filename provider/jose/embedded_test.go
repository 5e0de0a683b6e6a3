package jose

import (
	"crypto/ecdsa"
	"encoding/base64"
	"encoding/json"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParsePublic(t *testing.T) {
	for _, kind := range Kinds() {
		private, err := Generate(kind)
		if err != nil {
			t.Fatal(err)
		}
		k, err := NewJWK(private.Public())
		if err != nil {
			t.Fatal(err)
		}
		members := map[string]any{}
		text, _ := json.Marshal(k)
		if err := json.Unmarshal(text, &members); err != nil {
			t.Fatal(err)
		}
		parse := func(change map[string]any) (JWK, error) {
			changed := maps.Clone(members)
			maps.Copy(changed, change)
			raw, err := json.Marshal(changed)
			if err != nil {
				t.Fatal(err)
			}
			read, public, err := ParsePublic(raw)
			if err == nil {
				if d := cmp.Diff(private.Public(), public); d != "" {
					t.Error(kind, d)
				}
			}
			return read, err
		}
		for name, change := range map[string]map[string]any{
			"as it is": nil, "another kid": {"kid": "mine"}, "an unknown member": {"x5t": []int{1}},
			"RFC7517/4 a name has a case": {"D": "AQ", "KTY": "oct", "X5C": 1, "K": "AQ"},
			"to verify":                   {"key_ops": []string{"verify"}},
		} {
			if read, err := parse(change); err != nil || read.ID != k.ID {
				t.Errorf("%s, %s: %v %v", kind, name, read, err)
			}
		}
		for _, name := range []string{"d", "p", "q", "dp", "dq", "qi", "oth", "k"} {
			for _, value := range []any{"AQ", "", nil, 7, []any{map[string]any{"r": "AQ"}}} {
				if _, err := parse(map[string]any{name: value}); err == nil ||
					!strings.Contains(err.Error(), "private member "+name+",") {
					t.Errorf("%s with %s=%v: %v", kind, name, value, err)
				}
			}
		}
		for want, change := range map[string]map[string]any{
			"must be for signatures": {"kty": "oct"}, "be for signatures": {"use": "enc"},
			"for signatures": {"key_ops": []string{"sign"}}, "signatures": {"key_ops": "verify"},
			"without padding": {"x": k.X + "\n", "n": k.N + "\n"}, "have its numbers": {"x": sloppy(k.X), "n": sloppy(k.N)},
			"base64url without": {"x": sloppy(k.X), "n": padded(t, k.N)}, "line breaks": {"x": "\r" + k.X, "e": k.E + "\r"},
		} {
			if _, err := parse(change); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s with %v: %v", kind, change, err)
			}
		}
	}
	// Two numbers of 33 and 31 bytes make the same point.
	private, err := Generate("EC")
	if err != nil {
		t.Fatal(err)
	}
	point, err := private.Public().(*ecdsa.PublicKey).Bytes()
	if err != nil {
		t.Fatal(err)
	}
	b64 := base64.RawURLEncoding.EncodeToString
	raw, _ := json.Marshal(JWK{Type: "EC", Curve: "P-256", X: b64(point[1:34]), Y: b64(point[34:])})
	if _, _, err := ParsePublic(raw); err == nil || !strings.Contains(err.Error(), "without padding") {
		t.Error("numbers of other lengths:", err)
	}
	for _, text := range []string{"", "null", "[]", `"x"`, "{", "{}", `{"kty":"EC"}`, `{"kty":7}`,
		`{"kty":"OKP","crv":"Ed25519","x":7}`, `{"kty":"oct","k":"AQ"}`} {
		if k, public, err := ParsePublic([]byte(text)); err == nil || public != nil {
			t.Errorf("%s is read: %v", text, k)
		}
	}
}

// sloppy changes a bit that a lenient decoder ignores.
func sloppy(text string) string {
	if text == "" {
		return ""
	}
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	return text[:len(text)-1] + string(alphabet[strings.IndexByte(alphabet, text[len(text)-1])|1])
}

// padded puts a zero byte before a number.
func padded(t *testing.T, text string) string {
	raw, err := Decode(text)
	if err != nil {
		t.Fatal(err)
	}
	return base64.RawURLEncoding.EncodeToString(append([]byte{0}, raw...))
}

// The older and the newer name of EdDSA have one hash.
func TestAtHashOfBothNames(t *testing.T) {
	if AtHash(Ed25519, "token") != AtHash("EdDSA", "token") || AtHash(Ed25519, "token") == AtHash("ES256", "token") {
		t.Error(AtHash(Ed25519, "token"))
	}
}
