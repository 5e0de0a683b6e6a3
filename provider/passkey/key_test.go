package passkey

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"errors"
	"math/big"
	"strings"
	"testing"
	"time"

	"mandate/provider/passkey/passkeytest"
)

// modulus returns an odd number of so many bits.
func modulus(bits int) []byte {
	n := bytes.Repeat([]byte{0xff}, (bits+7)/8)
	n[0] >>= (8 - bits%8) % 8
	return n
}

var f4 = []byte{1, 0, 1}

// refusedKeys are public keys whose signatures are not verified.
var refusedKeys = map[string][]byte{
	"RSA of 262144 bits":             passkeytest.RSAKey(modulus(262144), f4),
	"RSA of 8192 bits":               passkeytest.RSAKey(modulus(8192), f4),
	"RSA of 4097 bits":               passkeytest.RSAKey(modulus(4097), f4),
	"RSA of 2047 bits":               passkeytest.RSAKey(modulus(2047), f4),
	"RSA of 1024 bits":               passkeytest.RSAKey(modulus(1024), f4),
	"RSA, e = 2^31-1":                passkeytest.RSAKey(modulus(2048), []byte{0x7f, 0xff, 0xff, 0xff}),
	"RSA, e = 3":                     passkeytest.RSAKey(modulus(2048), []byte{3}),
	"RSA, an even modulus":           passkeytest.RSAKey(append(modulus(2040), 0xfe), f4),
	"RSA, zeros before the modulus":  passkeytest.RSAKey(append(make([]byte, 60000), modulus(2048)...), f4),
	"RSA, zeros before the exponent": passkeytest.RSAKey(modulus(2048), append(make([]byte, 60000), f4...)),
	"RSA for ES256": append([]byte{0xa4, 1, 3, 3, 0x26, 0x20, 0x59, 1, 0},
		append(modulus(2048), 0x21, 0x43, 1, 0, 1)...),
	"a key that is longer than any":    append(passkeytest.RSAKey(modulus(2048), f4), make([]byte, 1000)...),
	"P-384":                            ecKey(elliptic.P384(), 0x38, 34),
	"P-521":                            ecKey(elliptic.P521(), 0x38, 35),
	"Ed25519, a coordinate of 33 byte": append([]byte{0xa4, 1, 1, 3, 0x27, 0x20, 6, 0x21, 0x58, 33}, make([]byte, 33)...),
	"no key":                           {0xa0},
	"nothing":                          {},
}

// ecKey returns a public key of a curve. algorithm is the encoded one.
func ecKey(curve elliptic.Curve, algorithm ...byte) []byte {
	key, err := ecdsa.GenerateKey(curve, rand.Reader)
	if err != nil {
		panic(err)
	}
	point, _ := key.PublicKey.Bytes()
	half := len(point) / 2
	crv := map[elliptic.Curve]byte{elliptic.P384(): 2, elliptic.P521(): 3}[curve]
	cose := append(append([]byte{0xa5, 1, 2, 3}, algorithm...), 0x20, crv, 0x21, 0x58, byte(half))
	cose = append(append(cose, point[1:1+half]...), 0x22, 0x58, byte(half))
	return append(cose, point[1+half:]...)
}

// refusedForKey reports whether a key was refused before anything was verified with it.
func refusedForKey(err error) bool {
	return errors.Is(err, ErrRefused) && strings.Contains(err.Error(), "the public key:")
}

// CVE-2023-29409 (Go, crypto/tls) is of this class: large RSA keys of a stranger make each verification expensive. Here
// the stranger sends the signature too, as often as they like.
func TestAttackLargePasskeyIsNeverVerified(t *testing.T) {
	p, person := party(t, origin), Person{Handle: []byte("handle of alice"), Name: "alice"}
	for name, key := range refusedKeys {
		t.Run(name, func(t *testing.T) {
			for _, self := range []bool{false, true} {
				asked, err := p.Create(person)
				if err != nil {
					t.Fatal(err)
				}
				a := &passkeytest.Authenticator{Origin: origin, COSE: key, Self: self}
				got, err := p.Created(person, asked.Challenge, []byte(a.Create(asked.JSON)))
				unread := errors.Is(err, ErrRefused) &&
					(strings.Contains(err.Error(), "cannot be read") || strings.Contains(err.Error(), "Error parsing"))
				if !refusedForKey(err) && !unread {
					t.Errorf("self %v: made a passkey with %d transports, %v", self, len(got.Transports), err)
				}
			}
			// A key that was stored before there was a bound.
			e := enroll(t)
			e.person.Passkeys[0].PublicKey = encode(key)
			e.COSE = key
			got, err := e.signIn(t, e.Authenticator)
			if !refusedForKey(err) {
				t.Errorf("signed in %+v, %v", got, err)
			}
		})
	}
}

// The same with the certificates of an attestation: their keys have no bound either, and each is parsed.
func TestAttackAttestationOfCertificatesIsNeverVerified(t *testing.T) {
	p, person := party(t, origin), Person{Handle: []byte("handle of alice"), Name: "alice"}
	authority, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	large, err := x509.CreateCertificate(rand.Reader, template, template,
		&rsa.PublicKey{N: new(big.Int).SetBytes(modulus(200_000)), E: 65537}, authority)
	if err != nil {
		t.Fatal(err)
	}
	for name, certificates := range map[string][][]byte{"a large key": {large}, "none": {},
		"no certificate": {[]byte("x")}} {
		asked, err := p.Create(person)
		if err != nil {
			t.Fatal(err)
		}
		a := &passkeytest.Authenticator{Origin: origin, Certificates: certificates,
			COSE: passkeytest.RSAKey(modulus(2048), f4)}
		got, err := p.Created(person, asked.Challenge, []byte(a.Create(asked.JSON)))
		if !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), "none was asked for") {
			t.Errorf("%s: made %+v, %v", name, got, err)
		}
	}
}

// What authenticators make works: each algorithm, with no attestation and with their own.
func TestPasskeysOfEachAlgorithm(t *testing.T) {
	small, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	for name, key := range map[string]*rsa.PrivateKey{"ES256": nil, "RS256": small} {
		for _, self := range []bool{false, true} {
			e := enroll(t, func(a *passkeytest.Authenticator) { a.RSA, a.Self = key, self })
			_, err := e.signIn(t, e.Authenticator)
			if err != nil {
				t.Errorf("%s, self-attested %v: %v", name, self, err)
			}
		}
	}
	ed := append([]byte{0xa4, 1, 1, 3, 0x27, 0x20, 6, 0x21, 0x58, 32}, make([]byte, 32)...)
	for name, key := range map[string][]byte{"RSA of 4096 bits": passkeytest.RSAKey(modulus(4096), f4),
		"RSA of 2048 bits": passkeytest.RSAKey(modulus(2048), f4), "Ed25519": ed} {
		err := checkKey(key)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The statement must be right, although nobody has asked for it (WebAuthn-3 §7.1).
func TestWrongSelfAttestationIsRefused(t *testing.T) {
	p, person := party(t, origin), Person{Handle: []byte("handle of alice"), Name: "alice"}
	asked, err := p.Create(person)
	if err != nil {
		t.Fatal(err)
	}
	a := &passkeytest.Authenticator{Origin: origin, Self: true, BadSignature: true}
	got, err := p.Created(person, asked.Challenge, []byte(a.Create(asked.JSON)))
	if !errors.Is(err, ErrRefused) {
		t.Errorf("made %+v, %v", got, err)
	}
}
