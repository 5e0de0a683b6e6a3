// Package possession decides what a token is bound to, and checks at each use that the sender
// has it: a private key, by a DPoP proof (RFC 9449), or a client certificate (RFC 8705 §3).
package possession

import (
	"strings"

	"mandate/storage"
)

// Binding names what a token is bound to, as the database stores it: the member of cnf, a
// colon, and the thumbprint of the key or of the certificate. It is empty for a bearer token.
// A Binding without a thumbprint stands for any key, or for any certificate.
type Binding string

// The members of cnf (RFC 9449 §6.1, RFC 8705 §3.1).
const (
	memberKey         = "jkt"
	memberCertificate = "x5t#S256"
)

// toKey returns the binding to the key with this thumbprint.
func toKey(thumbprint string) Binding { return Binding(memberKey + ":" + thumbprint) }

// toCertificate returns the binding to the certificate with this thumbprint.
func toCertificate(thumbprint string) Binding {
	return Binding(memberCertificate + ":" + thumbprint)
}

// Of returns the binding of a stored token.
func Of(token storage.Token) Binding { return Binding(token.CNF) }

func (b Binding) split() (member, thumbprint string) {
	member, thumbprint, _ = strings.Cut(string(b), ":")
	return member, thumbprint
}

// Key returns the thumbprint of the key, or "" if the token is bound to no key.
func (b Binding) Key() string {
	member, thumbprint := b.split()
	if member != memberKey {
		return ""
	}
	return thumbprint
}

// Kind returns the binding without its thumbprint.
func (b Binding) Kind() Binding {
	member, _ := b.split()
	return Binding(member)
}

// Allows reports whether a request that proves shown may use a refresh token with this
// binding.
func (b Binding) Allows(shown Binding) bool {
	return b == "" || b == shown || b == shown.Kind()
}

// Confirmation returns cnf (RFC 7800 §3.1), or nil for a bearer token.
func (b Binding) Confirmation() map[string]string {
	member, thumbprint := b.split()
	if thumbprint == "" {
		return nil
	}
	return map[string]string{member: thumbprint}
}

// Confirmed returns the binding that the cnf of a signed token says. It reports false for a
// cnf that this server did not write.
func Confirmed(cnf any) (Binding, bool) {
	if cnf == nil {
		return "", true
	}
	members, _ := cnf.(map[string]any)
	for _, member := range []string{memberKey, memberCertificate} {
		if thumbprint, _ := members[member].(string); thumbprint != "" && len(members) == 1 {
			return Binding(member + ":" + thumbprint), true
		}
	}
	return "", false
}

// TokenType returns the token_type of a token with this binding (RFC 9449 §5). A token that is
// bound to a certificate is a bearer token too (RFC 8705 §3).
func (b Binding) TokenType() string {
	if b.Key() != "" {
		return "DPoP"
	}
	return "Bearer"
}
