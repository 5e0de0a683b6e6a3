package jose

import (
	"crypto"
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/golang-jwt/jwt/v5"
)

func TestVerify(t *testing.T) {
	keys := map[string]crypto.Signer{}
	for _, kind := range Kinds() {
		key, err := Generate(kind)
		if err != nil {
			t.Fatal(err)
		}
		keys[kind] = key
	}
	secret := []byte(strings.Repeat("s", 32))
	sign := func(algorithm, kind string) string {
		t.Helper()
		var key any = secret
		if algorithm != HS256 {
			key = keys[KindOf(algorithm)]
		}
		text, err := Sign(algorithm, kind, "id", key, Claims{"sub": "alice"})
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	// public gives the key of the kind that the header's algorithm takes.
	public := func(h Header, _ []byte) ([]any, error) {
		if h.Algorithm == HS256 {
			return []any{[]byte("another secret"), secret}, nil
		}
		return []any{keys[KindOf(h.Algorithm)].Public()}, nil
	}
	strict := Verifier{Algorithms: Algorithms(), Types: []string{"at+jwt"}, Keys: public}
	t.Run("RFC8725/3.1 every algorithm of the list, with every key that is given", func(t *testing.T) {
		for _, algorithm := range append(Algorithms(), Ed25519, HS256) {
			v := Verifier{Algorithms: []string{algorithm}, Types: []string{"at+jwt"}, Keys: public}
			raw, err := v.Verify(sign(algorithm, "at+jwt"))
			if err != nil || string(raw) != `{"sub":"alice"}` {
				t.Error(algorithm, string(raw), err)
			}
			if header, err := Decode(strings.Split(sign(algorithm, "at+jwt"), ".")[0]); err != nil ||
				!strings.Contains(string(header), `"alg":"`+algorithm+`"`) {
				t.Error(algorithm, string(header), err)
			}
		}
	})
	t.Run("RFC7515/4.1.9 a type has no case and may have its prefix", func(t *testing.T) {
		for _, kind := range []string{"AT+JWT", "application/at+jwt", "Application/At+jwt"} {
			if _, err := strict.Verify(sign("ES256", kind)); err != nil {
				t.Error(kind, err)
			}
		}
	})
	t.Run("a token without typ needs a verifier that says so", func(t *testing.T) {
		untyped := resigned(t, keys["EC"], `{"alg":"ES256","kid":"id"}`)
		if _, err := strict.Verify(untyped); !errors.Is(err, ErrInvalid) {
			t.Error(err)
		}
		loose := Verifier{Algorithms: Algorithms(), Types: []string{"jwt", ""}, Keys: public}
		if _, err := loose.Verify(untyped); err != nil {
			t.Error(err)
		}
	})
	good := sign("ES256", "at+jwt")
	parts := strings.Split(good, ".")
	header := func(text string) string {
		return base64.RawURLEncoding.EncodeToString([]byte(text)) + "." + parts[1] + "." + parts[2]
	}
	// The last character of an ES256 signature has four bits that a lenient decoder ignores.
	last := good[len(good)-1]
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	sloppy := good[:len(good)-1] + string(alphabet[strings.IndexByte(alphabet, last)|1])
	for rule, text := range map[string]string{
		"nothing": "", "two parts": parts[0] + "." + parts[1], "four parts": good + ".", "a line break": good[:10] + "\n" +
			good[10:], "padding": good + "=",
		"RFC4648/3.5 bits that a decoder may ignore":   sloppy,
		"RFC8725/3.2 none":                             header(`{"alg":"none","typ":"at+jwt"}`),
		"RFC8725/3.1 an algorithm that is not listed":  sign(HS256, "at+jwt"),
		"RFC8725/3.1 another algorithm than the key's": header(`{"alg":"RS256","typ":"at+jwt"}`),
		"RFC8725/3.11 another type":                    sign("ES256", "JWT"),
		"RFC7515/4.1.11 an extension that it must know": resigned(t, keys["EC"],
			`{"alg":"ES256","typ":"at+jwt","crit":["exp"],"exp":1}`),
		"another header":           header(`{"alg":"ES256","typ":"at+jwt"}`),
		"a header that is no JSON": header(`x`),
		"other claims": parts[0] + "." +
			base64.RawURLEncoding.EncodeToString([]byte(`{"sub":"bob"}`)) + "." + parts[2],
		"no signature": parts[0] + "." + parts[1] + ".",
	} {
		t.Run(rule, func(t *testing.T) {
			if raw, err := strict.Verify(text); !errors.Is(err, ErrInvalid) {
				t.Error(string(raw), err)
			}
		})
	}
	t.Run("a key of another kind verifies nothing", func(t *testing.T) {
		v := strict
		v.Keys = func(Header, []byte) ([]any, error) { return []any{keys["RSA"].Public(), nil, secret}, nil }
		if _, err := v.Verify(good); !errors.Is(err, ErrInvalid) {
			t.Error(err)
		}
	})
	t.Run("an error of the keys is passed on", func(t *testing.T) {
		v, down := strict, errors.New("the database is down")
		v.Keys = func(Header, []byte) ([]any, error) { return nil, down }
		if _, err := v.Verify(good); !errors.Is(err, down) || errors.Is(err, ErrInvalid) {
			t.Error(err)
		}
	})
	t.Run("the keys see the claims before they are verified", func(t *testing.T) {
		v, seen := strict, ""
		v.Keys = func(h Header, unverified []byte) ([]any, error) {
			seen = h.KeyID + " " + string(unverified)
			return public(h, unverified)
		}
		if _, err := v.Verify(good); err != nil || seen != `id {"sub":"alice"}` {
			t.Error(seen, err)
		}
	})
}

// resigned is a token with any header, signed with an EC key.
func resigned(t *testing.T, key crypto.Signer, header string) string {
	t.Helper()
	signed, err := signText(key, base64.RawURLEncoding.EncodeToString([]byte(header))+"."+
		base64.RawURLEncoding.EncodeToString([]byte(`{}`)))
	if err != nil {
		t.Fatal(err)
	}
	return signed
}

func signText(key crypto.Signer, text string) (string, error) {
	signature, err := jwt.SigningMethodES256.Sign(text, key)
	return text + "." + base64.RawURLEncoding.EncodeToString(signature), err
}

func TestSignRefusesUnknownAlgorithms(t *testing.T) {
	key, err := Generate("RSA")
	if err != nil {
		t.Fatal(err)
	}
	for _, algorithm := range []string{"", "none", "HS512", "RS1", "RS512"} {
		if text, err := Sign(algorithm, "JWT", "", key, nil); err == nil {
			t.Error(algorithm, text)
		}
	}
}

func TestAudience(t *testing.T) {
	for text, want := range map[string]string{`"a"`: "a", `["a","b"]`: "a b", `[]`: "", `1`: "", `null`: "",
		`["a",1]`: ""} {
		var c Claims
		err := json.Unmarshal([]byte(`{"aud":`+text+`}`), &c)
		if got := strings.Join(c.Audience(), " "); err != nil || got != want {
			t.Errorf("%s: %q, %v", text, got, err)
		}
	}
}

// RFC 7519 §2, §4.1.4.
func TestInstant(t *testing.T) {
	for text, want := range map[string]int64{
		"1700000000": 1700000000, "1700000000.9": 1700000000, "1.7e9": 1700000000, "9007199254740991": 9007199254740991,
		"0": 0, "-0.0": 0, "0.5": 0, "-1": -1,
	} {
		at, ok := parsed(t, text).Time("exp")
		if !ok || at != want {
			t.Errorf("%s: %d %t, want %d", text, at, ok, want)
		}
	}
	for _, text := range []string{"-1e300", "1e300", "9007199254740992", `"1700000000"`, `""`, "null", "true",
		"[1]", "{}"} {
		if at, ok := parsed(t, text).Time("exp"); ok {
			t.Errorf("%s: %d", text, at)
		}
	}
	if _, ok := (Claims{}).Time("exp"); ok {
		t.Error("one that is not there")
	}
}

func parsed(t testing.TB, exp string) Claims {
	t.Helper()
	claims, err := ParseClaims([]byte(`{"exp":` + exp + `}`))
	if err != nil {
		t.Fatal(err)
	}
	return claims
}
