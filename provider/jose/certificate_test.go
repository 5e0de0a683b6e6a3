package jose

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"math/big"
	"net/url"
	"slices"
	"strconv"
	"testing"
)

// certified returns the JWK of a new key, with a certificate that it has signed itself.
func certified(t *testing.T, key crypto.Signer) JWK {
	t.Helper()
	b64 := base64.RawURLEncoding.EncodeToString
	var k JWK
	switch public := key.Public().(type) {
	case *ecdsa.PublicKey:
		point, err := public.Bytes()
		if err != nil {
			t.Fatal(err)
		}
		half := len(point) / 2
		k = JWK{Type: "EC", Curve: public.Params().Name, X: b64(point[1 : half+1]), Y: b64(point[half+1:])}
	case *rsa.PublicKey:
		k = JWK{Type: "RSA", N: b64(public.N.Bytes()), E: "AQAB"}
	case ed25519.PublicKey:
		k = JWK{Type: "OKP", Curve: "Ed25519", X: b64(public)}
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	k.Chain = []string{base64.StdEncoding.EncodeToString(der)}
	return k
}

// RFC 7517 §4.7: the first certificate of x5c is for the key.
func TestCertificate(t *testing.T) {
	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	_, edKey, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	signers := map[string]crypto.Signer{"RSA": rsaKey, "Ed25519": edKey}
	for _, curve := range []elliptic.Curve{elliptic.P256(), elliptic.P384(), elliptic.P521()} {
		signers[curve.Params().Name], err = ecdsa.GenerateKey(curve, rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
	}
	var set JWKSet
	for _, name := range []string{"RSA", "Ed25519", "P-256", "P-384", "P-521"} {
		set.Keys = append(set.Keys, certified(t, signers[name]))
	}
	for i, k := range set.Keys {
		own := k.Certificate()
		if own == nil {
			t.Fatalf("%s %s has no certificate", k.Type, k.Curve)
		}
		found, ok := set.WithCertificate(own)
		if !ok || found.Chain[0] != set.Keys[i].Chain[0] {
			t.Errorf("%s %s: %v", k.Type, k.Curve, found)
		}
		// No algorithm here uses P-384 and P-521.
		if signs := k.Curve != "P-384" && k.Curve != "P-521"; (k.Public() != nil) != signs {
			t.Errorf("%s %s verifies signatures: %v", k.Type, k.Curve, !signs)
		}
	}
	for name, change := range map[string]func(*JWK){
		"no x5c":             func(k *JWK) { k.Chain = nil },
		"of another key":     func(k *JWK) { k.Chain = certified(t, signers["Ed25519"]).Chain },
		"second in the list": func(k *JWK) { k.Chain = append(set.Keys[0].Chain[:1:1], k.Chain...) },
		"not Base64":         func(k *JWK) { k.Chain = []string{"%%%"} },
		"base64url": func(k *JWK) {
			k.Chain = []string{base64.RawURLEncoding.EncodeToString(set.Keys[2].Certificate())}
		},
		"not a certificate": func(k *JWK) { k.Chain = []string{"AAAA"} },
		"no key":            func(k *JWK) { k.X = "" },
		"another kind":      func(k *JWK) { k.Type = "oct" },
	} {
		k := set.Keys[2]
		change(&k)
		if k.Certificate() != nil {
			t.Errorf("%s: there is a certificate", name)
		}
	}
	// The certificate of another key, before the key that has it, and in lines.
	other, own := set.Keys[0], set.Keys[2]
	other.Chain = own.Chain
	own.Chain = []string{own.Chain[0][:64] + "\r\n" + own.Chain[0][64:]}
	found, ok := JWKSet{Keys: []JWK{{}, other, own}}.WithCertificate(set.Keys[2].Certificate())
	if !ok || found.X != own.X {
		t.Errorf("the certificate of another key comes first: %v", found)
	}
	if found, ok := (JWKSet{Keys: []JWK{other}}).WithCertificate(set.Keys[2].Certificate()); ok {
		t.Errorf("the certificate of another key: %v", found)
	}
	for _, der := range [][]byte{nil, {}} {
		if _, found := set.WithCertificate(der); found {
			t.Error("no certificate is found as one")
		}
	}
}

// One who registers many certificates, which are large, makes no request expensive: what one costs does not grow with
// what must be read of the others.
//
// Resembles CVE-2025-58187 in its class: a stranger decides how long certificates are processed.
func TestAttackManyCertificates(t *testing.T) {
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	large := &x509.Certificate{SerialNumber: big.NewInt(1)}
	for i := range 400 {
		large.URIs = append(large.URIs, &url.URL{Scheme: "a", Opaque: strconv.Itoa(i)})
	}
	der, err := x509.CreateCertificate(rand.Reader, large, large, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	public, other, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	one, theirs := certified(t, other), certified(t, key)
	own := one.Certificate()
	one.public, theirs.public = public, key.Public() // as ParseSet does
	most := 2 * testing.AllocsPerRun(10, func() { _, _ = x509.ParseCertificate(own) })
	for name, chain := range map[string][]byte{"others": der, "the one that is asked for": own} {
		theirs.Chain = []string{base64.StdEncoding.EncodeToString(chain)}
		set := JWKSet{Keys: append(slices.Repeat([]JWK{theirs}, 50), one)}
		if n := testing.AllocsPerRun(10, func() {
			if _, found := set.WithCertificate(own); !found {
				t.Error("the certificate is not found")
			}
		}); n > most {
			t.Errorf("%s: %v allocations, want at most %v", name, n, most)
		}
	}
}
