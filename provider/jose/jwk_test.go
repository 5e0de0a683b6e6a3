package jose

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"math/big"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestThumbprint(t *testing.T) {
	for rule, test := range map[string]struct {
		key  JWK
		want string
	}{
		"RFC7638/3.1": {JWK{Type: "RSA", Algorithm: "RS256", ID: "2011-04-29", E: "AQAB",
			N: "0vx7agoebGcQSuuPiLJXZptN9nndrQmbXEps2aiAFbWhM78LhWx4cbbfAAtVT86zwu1RK7aPFFxuhDR1L6tSoc_BJECPebWKRXjBZCiFV4n3oknjhMstn64tZ_2W-5JsGY4Hc5n9yBXArwl93lqt7_RN5w6Cf0h4QyQ5v-65YGjQR0_FDW2QvzqY368QQMicAtaSqzs8KJZgnYb9c7d0zgdAZHzu6qMQvRL5hajrn1n91CbOpbISD08qNLyrdkt-bFTWhAI4vMQFh6WeZu0fM4lFd2NcRwr3XPksINHaQ-G_xBniIqbw0Ls1jF44-csFCur-kEgU8awapJzKnqDKgw"},
			"NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs"},
		"RFC8037/A.3": {JWK{Type: "OKP", Curve: "Ed25519", X: "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"},
			"kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k"},
	} {
		if got := test.key.Thumbprint(); got != test.want {
			t.Errorf("%s: %s", rule, got)
		}
		if test.key.Public() == nil {
			t.Errorf("%s: the key cannot be read", rule)
		}
	}
}

func TestKeyBecomesAJWKAndBack(t *testing.T) {
	for _, kind := range Kinds() {
		private, err := Generate(kind)
		if err != nil {
			t.Fatal(err)
		}
		k, err := NewJWK(private.Public())
		if err != nil || k.Type != kind || k.Use != "sig" || k.ID != k.Thumbprint() {
			t.Error(k, err)
		}
		if d := cmp.Diff(private.Public(), k.Public()); d != "" {
			t.Error(kind, d)
		}
		for _, algorithm := range append(Algorithms(), Ed25519, HS256, "none", "") {
			if got, want := k.Supports(algorithm), KindOf(algorithm) == kind; got != want {
				t.Errorf("%s takes %s: %t", kind, algorithm, got)
			}
		}
		k.Algorithm = "PS256"
		if got, want := k.Supports("RS256"), false; got != want {
			t.Errorf("%s takes RS256 although it is for PS256", kind)
		}
		for _, name := range []string{"EdDSA", Ed25519} {
			k.Algorithm = name
			if got := k.Supports("EdDSA") && k.Supports(Ed25519); got != (kind == "OKP") || k.Supports("ES256") {
				t.Errorf("RFC 9864: %s for %s takes both names: %t", kind, name, got)
			}
		}
		k.Algorithm = ""
		for _, change := range []func(*JWK){
			func(k *JWK) { k.Use = "enc" }, func(k *JWK) { k.Operations = []string{"sign"} }, func(k *JWK) { k.Type = "oct" },
			func(k *JWK) { k.N, k.X = "", "" }, func(k *JWK) { k.N, k.X = "AQAB", "AQAB" },
			func(k *JWK) { k.Curve, k.E = "P-384", "AQ" },
		} {
			changed := k
			change(&changed)
			if changed.Public() != nil {
				t.Errorf("%s: %+v is read", kind, changed)
			}
		}
	}
}

func TestKeysThatAreTooWeakOrOther(t *testing.T) {
	small, err := rsa.GenerateKey(rand.Reader, 1024)
	if err != nil {
		t.Fatal(err)
	}
	other, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	for want, public := range map[string]any{"1024 bits": &small.PublicKey, "P-256": &other.PublicKey,
		"key of type": "text"} {
		if _, err := NewJWK(public); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

func TestSetLeavesOutWhatIsNoKey(t *testing.T) {
	set, err := ParseSet([]byte(`{"keys":[1,{"kty":"OKP","kid":"a"},{"kty":7},null]}`))
	if err != nil || len(set.Keys) < 1 || set.Keys[0].ID != "a" {
		t.Error(set, err)
	}
	for _, text := range []string{"", "[]", `{"keys":{}}`} {
		if _, err := ParseSet([]byte(text)); err == nil {
			t.Errorf("%q is a set", text)
		}
	}
}

func TestParsePrivate(t *testing.T) {
	key, err := Generate("EC")
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	sec1, err := x509.MarshalECPrivateKey(key.(*ecdsa.PrivateKey))
	if err != nil {
		t.Fatal(err)
	}
	text := func(kind string, der []byte) string {
		return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
	}
	for rule, good := range map[string]string{
		"PKCS #8": text("PRIVATE KEY", der), "SEC 1": text("EC PRIVATE KEY", sec1),
		"with its parameters before": text("EC PARAMETERS", []byte{5}) + text("EC PRIVATE KEY", sec1),
		"with spaces around":         " \n" + text("PRIVATE KEY", der) + "\n",
	} {
		if got, err := ParsePrivate(good); err != nil || !key.(*ecdsa.PrivateKey).Equal(got) {
			t.Errorf("%s: %v", rule, err)
		}
	}
	for want, bad := range map[string]string{
		"not a private key in PEM": "x", "more than one key": text("PRIVATE KEY", der) + text("PRIVATE KEY", der),
		"PEM block \"CERTIFICATE\"": text("CERTIFICATE", der), "contains no private key": text("PRIVATE KEY", der[:9]),
		"is encrypted": strings.Replace(text("PRIVATE KEY", der), "-----\n", "-----\nProc-Type: 4,ENCRYPTED\n\n", 1),
	} {
		if _, err := ParsePrivate(bad); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

func TestKeysForAHeader(t *testing.T) {
	made := func(kind, id, algorithm string) JWK {
		private, err := Generate(kind)
		if err != nil {
			t.Fatal(err)
		}
		k, err := NewJWK(private.Public())
		if err != nil {
			t.Fatal(err)
		}
		k.ID, k.Algorithm = id, algorithm
		return k
	}
	ec, rsa, ps := made("EC", "a", ""), made("RSA", "a", "RS256"), made("RSA", "b", "PS256")
	small := rsa
	small.ID, small.N = "small", "AQAB"
	set := JWKSet{Keys: []JWK{ec, rsa, ps, small, {Type: "oct", ID: "secret"}, {ID: "none"}}}
	for name, test := range map[string]struct {
		header Header
		want   int
	}{
		"kid and alg choose":                {Header{Algorithm: "ES256", KeyID: "a"}, 1},
		"RFC7517/4.5 another kty":           {Header{Algorithm: "RS256", KeyID: "a"}, 1},
		"RFC8725/3.1 a key for another alg": {Header{Algorithm: "PS256", KeyID: "a"}, 0},
		"an unknown kid":                    {Header{Algorithm: "ES256", KeyID: "c"}, 0},
		"no kid, one key":                   {Header{Algorithm: "PS256"}, 1},
		"a key that is too small":           {Header{Algorithm: "RS256", KeyID: "small"}, 0},
		"a public key is no secret":         {Header{Algorithm: "HS256", KeyID: "a"}, 0},
		"a secret is no public key":         {Header{Algorithm: "HS256", KeyID: "secret"}, 0},
		"none":                              {Header{Algorithm: "none", KeyID: "none"}, 0},
		"no algorithm":                      {Header{KeyID: "none"}, 0},
	} {
		if got := set.For(test.header); len(got) != test.want {
			t.Errorf("%s: %d keys, want %d", name, len(got), test.want)
		}
	}
	set.Keys = append(set.Keys, made("EC", "z", ""))
	if got := set.For(Header{Algorithm: "ES256"}); got != nil {
		t.Error("a header without kid chooses one of two keys")
	}
	// RFC 7517 §4.5: whoever sends a JWT must not choose how many keys are tried.
	set.Keys = []JWK{ec, made("EC", "a", "")}
	if got := set.For(Header{Algorithm: "ES256", KeyID: "a"}); got != nil {
		t.Errorf("%d keys are tried", len(got))
	}
}

// A stranger who chooses the key of a signature must not choose what it costs.
//
// Resembles CVE-2023-29409 (crypto/tls), where the RSA key of a certificate decided the time of the server.
func TestAttackRSAKeysThatCostTime(t *testing.T) {
	number := func(bits uint) string {
		n := new(big.Int).Lsh(big.NewInt(1), bits-1)
		return base64.RawURLEncoding.EncodeToString(n.Add(n, big.NewInt(1)).Bytes())
	}
	of := func(e int64) string { return base64.RawURLEncoding.EncodeToString(big.NewInt(e).Bytes()) }
	for _, test := range []struct {
		bits uint
		e    string
		want bool
	}{
		{2048, of(65537), true}, {4096, of(65537), true}, {8192, of(65537), true},
		{2047, of(65537), false}, {8193, of(65537), false}, {262144, of(65537), false},
		{2048, of(1<<31 - 1), false}, {8192, of(1<<31 - 1), false}, {2048, of(65539), false}, {2048, of(65536), false},
		{2048, of(17), false}, {2048, of(3), false},
		{2048, of(1), false}, {2048, "", false}, {2048, number(4096), false}, {2048, of(1<<32 + 65537), false},
	} {
		key := JWK{Type: "RSA", N: number(test.bits), E: test.e}
		if got := key.Public() != nil; got != test.want || key.Weak() == test.want {
			t.Errorf("%d bits, e %.12s: it verifies signatures: %v, weak %v", test.bits, test.e, got, key.Weak())
		}
		text := fmt.Sprintf(`{"kty":"RSA","n":%q,"e":%q}`, key.N, key.E)
		if _, _, err := ParsePublic([]byte(text)); (err == nil) != test.want {
			t.Errorf("%d bits, e %.12s, in the header of a JWT: %v", test.bits, test.e, err)
		}
	}
	if _, err := NewJWK(&rsa.PublicKey{N: new(big.Int).Lsh(big.NewInt(1), 2047), E: 3}); err == nil {
		t.Error("the server has a key that no program here would verify with")
	}
}
