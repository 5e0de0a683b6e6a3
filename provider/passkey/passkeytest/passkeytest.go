// Package passkeytest is an authenticator in software, for tests (Web Authentication Level 3). It can
// also do what no browser does.
package passkeytest

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"math/big"
)

// Authenticator makes one passkey and signs with it. The zero values of the fields below Origin are
// those of an authenticator and a browser that work as they should.
type Authenticator struct {
	Origin string // of the page that asks

	Host         string // the RP ID for which it signs; "": that of the request
	Challenge    string // "": that of the request
	Kind         string // of the ceremony; "": the right one
	Framed       bool   // the page is in a frame of another site
	Unverified   bool   // it has not verified the person
	Absent       bool   // nobody was there
	P384         bool   // it uses ES384, whatever the server offers
	KeptBackup   bool   // the passkey can be copied to other devices
	BackedUp     bool
	Counter      uint32 // of its next response
	ID           []byte // of its passkey; nil: it makes one
	Handle       []byte // of the person; nil: that of the request
	OtherFormat  string // of the attestation; "": none
	Self         bool   // it attests itself: the new passkey signs its own creation
	Certificates [][]byte
	RSA          *rsa.PrivateKey // it uses RS256 with this key
	COSE         []byte          // the public key that it sends in place of its own
	BadSignature bool

	key *ecdsa.PrivateKey
}

// request is what it reads of a request in JSON.
type request struct {
	Challenge string
	RPID      string `json:"rpId"`
	RP        struct{ ID string }
	User      struct{ ID string }
}

// Create makes a passkey and returns the response as the page sends it.
func (a *Authenticator) Create(options string) string {
	asked := read(options)
	curve := elliptic.P256()
	if a.P384 {
		curve = elliptic.P384()
	}
	a.key, _ = ecdsa.GenerateKey(curve, rand.Reader) // it cannot fail
	if a.ID == nil {
		a.ID = make([]byte, 32)
		_, _ = rand.Read(a.ID)
	}
	if a.Handle == nil {
		a.Handle, _ = base64.RawURLEncoding.DecodeString(asked.User.ID)
	}
	attested := make([]byte, 16, 256) // an AAGUID of zeros
	attested = binary.BigEndian.AppendUint16(attested, uint16(len(a.ID)))
	attested = append(append(attested, a.ID...), a.coseKey()...)
	format := a.OtherFormat
	if format == "" {
		format = "none"
	}
	data, client := append(a.data(asked.RP.ID, 0x40), attested...), a.client("webauthn.create", asked)
	statement := cborHead(5, 0)
	if a.Self || a.Certificates != nil {
		format, statement = "packed", a.statement(data, client)
	}
	object := append(cborHead(5, 3), cborText("fmt")...)
	object = append(append(object, cborText(format)...), cborText("attStmt")...)
	object = append(append(object, statement...), cborText("authData")...)
	object = append(object, cborBytes(data)...)
	return a.answer(map[string]any{"clientDataJSON": encode(client), "attestationObject": encode(object),
		"transports": []string{"internal", "hybrid"}})
}

// statement returns a packed attestation statement (WebAuthn-3 §8.2).
func (a *Authenticator) statement(data, client []byte) []byte {
	fields := 2
	if a.Certificates != nil {
		fields++
	}
	made := append(append(cborHead(5, fields), cborText("alg")...), a.algorithm()...)
	made = append(append(made, cborText("sig")...), cborBytes(a.sign(data, client))...)
	if a.Certificates != nil {
		made = append(append(made, cborText("x5c")...), cborHead(4, len(a.Certificates))...)
		for _, one := range a.Certificates {
			made = append(made, cborBytes(one)...)
		}
	}
	return made
}

// Get signs with the passkey and returns the response as the page sends it.
func (a *Authenticator) Get(options string) string {
	asked := read(options)
	data, client := a.data(asked.RPID, 0), a.client("webauthn.get", asked)
	response := map[string]any{"clientDataJSON": encode(client), "authenticatorData": encode(data),
		"signature": encode(a.sign(data, client))}
	if len(a.Handle) > 0 {
		response["userHandle"] = encode(a.Handle)
	}
	return a.answer(response)
}

// sign signs authenticator data and client data. For a key in place of its own, the signature is as long as that key.
func (a *Authenticator) sign(data, client []byte) []byte {
	if a.COSE != nil {
		signature := make([]byte, max(64, (len(a.COSE)-16)&^15))
		_, _ = rand.Read(signature)
		signature[0] = 0
		return signature
	}
	hash := sha256.Sum256(client)
	signed := sha256.Sum256(append(append([]byte{}, data...), hash[:]...))
	digest := signed[:]
	if a.P384 {
		longer := sha512.Sum384(append(append([]byte{}, data...), hash[:]...))
		digest = longer[:]
	}
	if a.BadSignature {
		digest = hash[:]
	}
	var signature []byte
	if a.RSA != nil {
		signature, _ = rsa.SignPKCS1v15(nil, a.RSA, crypto.SHA256, digest) // a test notices if it fails
	} else {
		signature, _ = ecdsa.SignASN1(rand.Reader, a.key, digest) // it cannot fail
	}
	return signature
}

// Copy returns an authenticator with the same passkey, and with the same counter.
func (a *Authenticator) Copy() *Authenticator {
	c := *a
	return &c
}

func read(options string) request {
	var asked request
	_ = json.Unmarshal([]byte(options), &asked) // a test notices what is missing
	return asked
}

func (a *Authenticator) answer(response map[string]any) string {
	text, _ := json.Marshal(map[string]any{"id": encode(a.ID), "rawId": encode(a.ID), "type": "public-key",
		"response": response, "clientExtensionResults": map[string]any{}})
	return string(text)
}

// client returns the client data (WebAuthn-3 §5.8.1), which the browser makes.
func (a *Authenticator) client(kind string, asked request) []byte {
	if a.Kind != "" {
		kind = a.Kind
	}
	challenge := asked.Challenge
	if a.Challenge != "" {
		challenge = a.Challenge
	}
	text, _ := json.Marshal(map[string]any{"type": kind, "challenge": challenge, "origin": a.Origin,
		"crossOrigin": a.Framed})
	return text
}

// data returns the first part of the authenticator data (WebAuthn-3 §6.1).
func (a *Authenticator) data(host string, flags byte) []byte {
	if a.Host != "" {
		host = a.Host
	}
	for set, flag := range map[byte]bool{0x01: !a.Absent, 0x04: !a.Unverified, 0x08: a.KeptBackup, 0x10: a.BackedUp} {
		if flag {
			flags |= set
		}
	}
	hash := sha256.Sum256([]byte(host))
	return binary.BigEndian.AppendUint32(append(hash[:], flags), a.Counter)
}

// algorithm returns the COSE algorithm.
func (a *Authenticator) algorithm() []byte {
	switch {
	case len(a.COSE) > 200, a.RSA != nil:
		return cborHead(1, 256) // -257, RS256
	case a.P384:
		return cborHead(1, 34) // -35
	}
	return cborHead(1, 6) // -7, ES256
}

// RSAKey returns a public RSA key for RS256 (RFC 8812 §2).
func RSAKey(modulus, exponent []byte) []byte {
	key := append(append(cborHead(5, 4), 0x01, 0x03, 0x03), cborHead(1, 256)...) // kty: RSA; alg: -257
	key = append(append(key, 0x20), cborBytes(modulus)...)
	return append(append(key, 0x21), cborBytes(exponent)...)
}

// coseKey returns the public key (RFC 9053).
func (a *Authenticator) coseKey() []byte {
	if a.COSE != nil {
		return a.COSE
	}
	if a.RSA != nil {
		return RSAKey(a.RSA.N.Bytes(), big.NewInt(int64(a.RSA.E)).Bytes())
	}
	point, _ := a.key.PublicKey.Bytes() // 4, x, y
	half := len(point) / 2
	algorithm, curve := a.algorithm(), cborHead(0, 1) // P-256
	if a.P384 {
		curve = cborHead(0, 2)
	}
	key := append(cborHead(5, 5), 0x01, 0x02, 0x03) // kty: EC2; alg
	key = append(append(key, algorithm...), 0x20)   // crv
	key = append(append(key, curve...), 0x21)       // x
	key = append(append(key, cborBytes(point[1:1+half])...), 0x22)
	return append(key, cborBytes(point[1+half:])...)
}

// cborHead returns the head of a CBOR item (RFC 8949).
func cborHead(major byte, n int) []byte {
	switch {
	case n < 24:
		return []byte{major<<5 | byte(n)}
	case n < 256:
		return []byte{major<<5 | 24, byte(n)}
	}
	return binary.BigEndian.AppendUint16([]byte{major<<5 | 25}, uint16(n))
}

func cborBytes(raw []byte) []byte { return append(cborHead(2, len(raw)), raw...) }

func cborText(text string) []byte { return append(cborHead(3, len(text)), text...) }

func encode(raw []byte) string { return base64.RawURLEncoding.EncodeToString(raw) }
