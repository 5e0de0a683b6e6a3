package provider

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"strings"
)

// sealer encrypts for one purpose, so that what was sealed for a page can
// never be taken for a stored secret.
type sealer struct{ aead cipher.AEAD }

func newSealer(key []byte, purpose string) (sealer, error) {
	derived, err := hkdfKey(key, purpose)
	if err != nil {
		return sealer{}, err
	}
	block, err := aes.NewCipher(derived)
	if err != nil {
		return sealer{}, err
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	return sealer{aead}, err
}

// seal binds the text to a context: it opens only where that is the same.
func (s sealer) seal(text []byte, context string) string {
	return base64.RawURLEncoding.EncodeToString(s.aead.Seal(nil, nil, text, []byte(context)))
}

var errSeal = errors.New("not sealed under this server's key, or altered")

func (s sealer) open(sealed, context string) ([]byte, error) {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(sealed)
	// The decoder passes over line breaks; here only what was sealed opens.
	if err != nil || strings.ContainsAny(sealed, "\r\n") {
		return nil, errSeal
	}
	text, err := s.aead.Open(nil, nil, raw, []byte(context))
	if err != nil {
		return nil, errSeal
	}
	return text, nil
}

// random gives n random bytes as base64url: 32 of them are the 256 bits that
// no search finds.
func random(n int) string {
	raw := make([]byte, n)
	rand.Read(raw) // never fails
	return base64.RawURLEncoding.EncodeToString(raw)
}

// digest is how the database knows a secret of 256 random bits.
func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

func hkdfKey(key []byte, purpose string) ([]byte, error) {
	return hkdf.Key(sha256.New, key, nil, "mandate/"+purpose, 32)
}

// identifier gives 130 random bits that read well in a path and on a command
// line: they never begin with a dash.
func identifier() string { return strings.ToLower(rand.Text()) }
