// Package totp implements time-based one-time codes (TOTP, RFC 6238) on counter-based ones (HOTP,
// RFC 4226), with the parameters that every authenticator app supports: SHA-1, steps of 30 seconds,
// 6 digits.
package totp

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha1"
	"crypto/subtle"
	"encoding/base32"
	"encoding/binary"
	"fmt"
	"net/url"
	"strings"

	"mandate/provider/typed"
)

const (
	digits = 6
	period = 30 // seconds in a step

	// RFC 4226 §4: the secret should have 160 bits.
	secretBytes = 20
)

// text is the encoding of secrets that authenticator apps read.
var text = base32.StdEncoding.WithPadding(base32.NoPadding)

// NewSecret returns a random secret in base32.
func NewSecret() string {
	raw := make([]byte, secretBytes)
	rand.Read(raw) // never fails
	return text.EncodeToString(raw)
}

// Step returns the number of the time step of a time in seconds (RFC 6238 §4.2).
func Step(seconds int64) int64 { return seconds / period }

// code returns the code of a counter (RFC 4226 §5.3).
func code(key []byte, counter uint64) string {
	mac := hmac.New(sha1.New, key)
	mac.Write(binary.BigEndian.AppendUint64(nil, counter))
	sum := mac.Sum(nil)
	offset := sum[len(sum)-1] & 0xf
	number := binary.BigEndian.Uint32(sum[offset:]) & 0x7fffffff
	return fmt.Sprintf("%0*d", digits, number%1_000_000)
}

// Code returns the code of a secret for a time step. It is an error if the secret is not base32.
func Code(secret string, step int64) (string, error) {
	key, err := text.DecodeString(secret)
	if err != nil || len(key) == 0 {
		return "", fmt.Errorf("decode the secret of an authenticator app: %w", errSecret)
	}
	return code(key, uint64(step)), nil
}

// Match returns the time step that a typed code belongs to, or 0 if it is not a valid code now. A
// step that is not later than last does not count, because its code was used (RFC 6238 §5.2). The code may have any
// form in which people type it, such as 123-456.
//
// RFC 6238 §5.2: one step before is accepted, for the time that the person needs to type. §6: one
// step after is accepted too, because the clock of the phone may be wrong.
func Match(secret, text string, seconds, last int64) (int64, error) {
	meant := typed.Code(text)
	now, found := Step(seconds), int64(0)
	for step := now - 1; step <= now+1; step++ {
		valid, err := Code(secret, step)
		if err != nil {
			return 0, err
		}
		// All steps are compared, and in constant time.
		if subtle.ConstantTimeCompare([]byte(valid), []byte(meant)) == 1 && step > last && found == 0 {
			found = step
		}
	}
	return found, nil
}

// URI returns the address that an authenticator app reads from a QR code, in the form that Google
// Authenticator introduced. The issuer is the name of the server, and account is that of the person.
func URI(secret, issuer, account string) string {
	// A colon separates the two names in the label, so neither may contain one. Parameters have no
	// plus sign for a space: some apps would show it.
	issuer, account = strings.ReplaceAll(issuer, ":", " "), strings.ReplaceAll(account, ":", " ")
	return "otpauth://totp/" + url.PathEscape(issuer) + ":" + url.PathEscape(account) +
		"?secret=" + secret + "&issuer=" + strings.ReplaceAll(url.QueryEscape(issuer), "+", "%20") +
		fmt.Sprintf("&algorithm=SHA1&digits=%d&period=%d", digits, period)
}

// Grouped returns a secret in groups of four characters, which a person can type.
func Grouped(secret string) string {
	var groups []string
	for len(secret) > 4 {
		groups, secret = append(groups, secret[:4]), secret[4:]
	}
	return strings.Join(append(groups, secret), " ")
}
