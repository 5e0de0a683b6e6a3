package clientauth

import (
	"context"
	"slices"

	"mandate/provider/oauth"
	"mandate/provider/policy"
	"mandate/storage"
)

// Need is what a method needs of the registration of an application.
type Need int

const (
	NoMore         Need = iota // the client id is enough
	Secret                     // a client secret
	ReadableSecret             // a client secret that the server can read back
	Keys                       // public keys
	Certificate                // public keys, one of them with a certificate
	Subject                    // the subject of a certificate that an authority issues
)

// Strength is what a client proves itself with.
type Strength int

const (
	Nothing      Strength = iota
	SharedSecret          // a value that this server knows too
	PrivateKey            // a key that only the client has
)

// Method is one way of client authentication (RFC 6749 §2.3). Each has a file, and is listed in methods.
type Method struct {
	Name     string // in the metadata
	Label    string // for people
	Needs    Need
	Strength Strength
	// Algorithms lists the signature algorithms of its assertions, or is nil if it has no
	// assertions.
	Algorithms []string
	offered    func(Config) bool // whether this server accepts it; nil: always
	// prove checks the credentials of a request, but for an assertion.
	prove func(*Checks, context.Context, storage.Application, credentials) error
}

// OwnKey reports whether a client proves itself by a private key that it has made itself: no authority and no
// administrator has to know it.
func (m Method) OwnKey() bool { return m.Needs == Keys || m.Needs == Certificate }

// methods is the table of Methods. It is made once, because each request needs it.
var methods = []Method{none, secretBasic, secretPost, secretJWT, privateKeyJWT, issuedCertificate, selfSigned}

// What follows from the table.
var (
	publicMethods = []Method{none}
	secretMethods = slices.DeleteFunc(slices.Clone(methods), func(m Method) bool { return m.Needs != Secret })
	allAlgorithms = algorithmsOf(methods)
)

// algorithmsOf lists the signature algorithms of the assertions of all methods.
func algorithmsOf(methods []Method) []string {
	var all []string
	for _, m := range methods {
		all = append(slices.Clone(m.Algorithms), all...)
	}
	return all
}

// Methods lists the methods of client authentication. The method that is registered for an
// application decides what kind of key verifies an assertion. The header of the assertion never
// does (RFC 8725 §3.1).
func Methods() []Method { return slices.Clone(methods) }

// MethodOf returns a method by its name.
func MethodOf(name string) (Method, bool) {
	i := slices.IndexFunc(methods, func(m Method) bool { return m.Name == name })
	if i < 0 {
		return Method{}, false
	}
	return methods[i], true
}

// registered returns the methods of which an application uses one. An older confidential
// application has none, and may send its secret in any way.
func registered(a storage.Application) []Method {
	if a.ClientType == policy.Public {
		return publicMethods
	}
	i := slices.IndexFunc(methods, func(m Method) bool { return m.Name == a.AuthMethod })
	if i >= 0 {
		return methods[i : i+1]
	}
	return secretMethods
}

// methodsOf names the registered methods of an application, for the log.
func methodsOf(a storage.Application) string {
	var names []string
	for _, m := range registered(a) {
		names = append(names, m.Name)
	}
	return oauth.OneOf(names)
}

// HasSecret reports whether an application has a client secret.
func HasSecret(a storage.Application) bool {
	return registered(a)[0].Strength == SharedSecret
}

// MayPostSecret reports whether an application may send its secret in the body, or has none.
func MayPostSecret(a storage.Application) bool {
	return slices.ContainsFunc(registered(a), func(m Method) bool { return m.Name == MethodPost || m.Strength == Nothing })
}

// AlgorithmsOf returns the signature algorithms that the assertions of an application may
// have.
//
// OIDC Registration §2: token_endpoint_auth_signing_alg is the only one, if it is registered.
func AlgorithmsOf(a storage.Application) []string {
	may := policy.Algorithms(a, registered(a)[0].Algorithms)
	if a.AuthAlgorithm != "" {
		return slices.DeleteFunc(slices.Clone(may), func(name string) bool { return name != a.AuthAlgorithm })
	}
	return may
}

// AssertionAlgorithms lists the signature algorithms of all assertions.
func AssertionAlgorithms() []string { return slices.Clone(allAlgorithms) }

// MethodNames lists the methods of this server: those with which a client proves who it is, or
// all.
func (p *Checks) MethodNames(public bool) []string {
	return slices.DeleteFunc(MethodNames(public), func(name string) bool { return !p.Offers(name) })
}

// Offers reports whether this server accepts a method.
func (p *Checks) Offers(name string) bool {
	one, _ := MethodOf(name)
	return one.offered == nil || one.offered(p.config)
}

// MethodNames lists the methods: those with which a client proves who it is, or all.
func MethodNames(public bool) []string {
	var names []string
	for _, m := range methods {
		if public || m.Strength != Nothing {
			names = append(names, m.Name)
		}
	}
	return names
}

// KeyMethods lists the methods with a private key that the client has made itself.
func KeyMethods() []string {
	var names []string
	for _, m := range methods {
		if m.OwnKey() {
			names = append(names, m.Name)
		}
	}
	return names
}
