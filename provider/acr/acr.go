// Package acr says how strong a login is. It orders the values of the claim acr (OIDC Core §2) and
// derives them from the methods of the login, which are the words of the claim amr (RFC 8176 §2).
//
// The methods of a login are one text, as the database stores them: words with spaces between.
package acr

import (
	"slices"
	"strings"
)

// The values of the claim acr, the weakest one first. A login that satisfies one of them satisfies
// all weaker ones.
const (
	Password          = "urn:mandate:acr:password" // any login
	MFA               = "urn:mandate:acr:mfa"      // two factors, of which one is a one-time code
	PhishingResistant = "phr"                      // a password and a security key (OpenID EAP ACR Values 1.0 §2)
	Passkey           = "urn:mandate:acr:passkey"  // a passkey whose device verified the person
)

// The methods of a login. All but one are words of RFC 8176 §2.
const (
	PWD  = "pwd"  // a password
	OTP  = "otp"  // a one-time code, or a recovery code
	POP  = "pop"  // a key that the person has
	User = "user" // the person was present at the device of the key

	// Verified is not a word of RFC 8176, and never part of the claim amr. It means that the
	// device of the key verified the person. Without it, a security key beside a password
	// could not be distinguished from a passkey beside a password.
	Verified = "verified"

	// Elsewhere is no word of RFC 8176 either, and never part of the claim amr. The person
	// signed in at another server, which stands in for the password.
	Elsewhere = "elsewhere"

	several = "mfa" // more than one factor; it follows from the others

	// said begins the word for the value that the operator assigns to a login at another server.
	said = "acr="
)

// At returns the methods of a login at another server, to which the operator assigns this value.
func At(value string) string { return Add(Elsewhere, said+value) }

// Values returns every value of acr, the weakest one first.
func Values() []string { return []string{Password, MFA, PhishingResistant, Passkey} }

// UpTo returns the values that a login of this value satisfies, the weakest one first.
func UpTo(value string) []string {
	values := Values()
	return values[:slices.Index(values, value)+1]
}

// Add returns the methods of a login at which a person has used further methods.
func Add(login string, methods ...string) string {
	words := strings.Fields(login)
	for _, method := range methods {
		if !slices.Contains(words, method) {
			words = append(words, method)
		}
	}
	return strings.Join(words, " ")
}

// Of returns the acr of a login: the strongest value that it satisfies.
func Of(login string) string {
	words := strings.Fields(login)
	value := shown(words)
	for _, word := range words {
		if assigned, ok := strings.CutPrefix(word, said); ok {
			value = Stronger(value, assigned)
		}
	}
	return value
}

// shown returns the acr that follows from what the person has shown to this server.
func shown(words []string) string {
	has := func(method string) bool { return slices.Contains(words, method) }
	first := has(PWD) || has(Elsewhere)
	switch {
	case has(POP) && has(Verified):
		return Passkey
	case has(POP) && (first || has(OTP)):
		return PhishingResistant
	case first && has(OTP):
		return MFA
	}
	return Password
}

// Methods returns the claim amr of a login (RFC 8176 §1).
func Methods(login string) []string {
	words := slices.DeleteFunc(strings.Fields(login), func(method string) bool {
		return method == Verified || method == several || method == Elsewhere || strings.HasPrefix(method, said)
	})
	if Of(login) != Password {
		words = append(words, several)
	}
	return words
}

// Satisfies reports whether a login satisfies a value. No login satisfies an unknown value.
func Satisfies(login, value string) bool {
	return slices.Contains(UpTo(Of(login)), value)
}

// Met returns the first of the values that a login satisfies, or "".
func Met(login string, values []string) string {
	at := slices.IndexFunc(values, func(value string) bool { return Satisfies(login, value) })
	if at < 0 {
		return ""
	}
	return values[at]
}

// Claim returns the acr for a request that names these values, the preferred one first: the first
// one that the login satisfies, or else the acr of the login.
func Claim(login string, values []string) string {
	met := Met(login, values)
	if met == "" {
		return Of(login)
	}
	return met
}

// Weakest returns the weakest of the values, or "" if none is known.
func Weakest(values []string) string {
	for _, value := range Values() {
		if slices.Contains(values, value) {
			return value
		}
	}
	return ""
}

// Stronger returns the stronger of two values. An unknown value is weaker than every other.
func Stronger(a, b string) string {
	values := Values()
	if slices.Index(values, a) < slices.Index(values, b) {
		return b
	}
	return a
}
