// Package seal makes random values, digests and keys, and encrypts texts with
// AES-GCM (NIST SP 800-38D) under keys that are derived per purpose (RFC 5869).
package seal

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
)

// Sealer encrypts for one purpose. A text that was sealed for a page is never
// accepted as a stored secret.
type Sealer struct{ aead cipher.AEAD }

// New derives the key for a purpose from the server's key.
func New(key []byte, purpose string) (Sealer, error) {
	derived, err := Key(key, purpose)
	if err != nil {
		return Sealer{}, err
	}
	block, err := aes.NewCipher(derived)
	if err != nil {
		return Sealer{}, err
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	return Sealer{aead}, err
}

// Seal encrypts a text and binds it to a context: Open needs the same context.
func (s Sealer) Seal(text []byte, context string) string {
	return base64.RawURLEncoding.EncodeToString(s.aead.Seal(nil, nil, text, []byte(context)))
}

var errSeal = errors.New("not sealed under this server's key, or altered")

// Open returns the text that Seal encrypted for the same context.
func (s Sealer) Open(sealed, context string) ([]byte, error) {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(sealed)
	// The decoder ignores line breaks. A sealed text has none.
	if err != nil || strings.ContainsAny(sealed, "\r\n") {
		return nil, errSeal
	}
	text, err := s.aead.Open(nil, nil, raw, []byte(context))
	if err != nil {
		return nil, errSeal
	}
	return text, nil
}

// Random returns n random bytes as base64url. 32 bytes (256 bits) cannot be guessed.
func Random(n int) string {
	raw := make([]byte, n)
	rand.Read(raw) // never fails
	return base64.RawURLEncoding.EncodeToString(raw)
}

// Digest is the SHA-256 under which the database stores a random value of 256 bits.
func Digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// Mac is the HMAC-SHA-256 of a text (RFC 2104). Nobody can guess the text without the key,
// even if it is short.
func Mac(key []byte, text string) []byte {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(text))
	return mac.Sum(nil)
}

// LongMac is the HMAC-SHA-512 of a text, 64 bytes.
func LongMac(key []byte, text string) []byte {
	mac := hmac.New(sha512.New, key)
	mac.Write([]byte(text))
	return mac.Sum(nil)
}

// Key derives 32 bytes for a purpose (RFC 5869).
func Key(key []byte, purpose string) ([]byte, error) {
	return hkdf.Key(sha256.New, key, nil, "mandate/"+purpose, 32)
}

// Identifier returns 130 random bits as lower-case letters and digits, for paths and
// command lines.
func Identifier() string { return strings.ToLower(rand.Text()) }

// Derive returns the text of a key that is derived for one purpose.
func Derive(key []byte, purpose string) (string, error) {
	derived, err := Key(key, purpose)
	if err != nil {
		return "", fmt.Errorf("derive the %s key: %w", purpose, err)
	}
	return Digest(string(derived)), nil
}
