package clients

import (
	"slices"

	"mandate/provider/jose"
	"mandate/provider/metadata"
	"mandate/provider/oauth"
	"mandate/provider/policy"
	"mandate/storage"
)

// proof is what a client proves itself with.
type proof int

const (
	nothing        proof = iota // the client is public: it only says its client id
	secret                      // the client secret, sent as it is
	secretKey                   // the client secret, as the key of an HMAC
	publicKey                   // a private key, whose public key is registered
	certificate                 // the private key of a certificate, whose subject is registered
	ownCertificate              // the private key of a certificate that is registered itself
)

// Method is one way of client authentication (RFC 6749 §2.3). A new one is a row in Methods.
type Method struct {
	Name  string
	Label string // for people
	proof proof
	// algorithms lists the signature algorithms of its assertions, or is nil if it has no
	// assertions.
	algorithms []string
}

// The methods of a client with a certificate of an authority, with one that is registered itself,
// and with a private key.
const (
	MethodCertificate = metadata.MethodCertificate
	MethodSelfSigned  = metadata.MethodSelfSigned
	MethodPrivateKey  = metadata.MethodPrivateKeyJWT
	MethodSecretJWT   = metadata.MethodSecretJWT
)

// keyAlgorithms are the signature algorithms for the public keys of an application.
//
// RFC 9864 §2.2: Ed25519 is another name for EdDSA with that curve.
var keyAlgorithms = []string{"ES256", "PS256", "EdDSA", jose.Ed25519, "RS256"}

// methods is the table of Methods. It is made once, because each request needs it.
var methods = []Method{
	{metadata.MethodNone, "None", nothing, nil},
	{metadata.MethodBasic, "Secret by HTTP Basic", secret, nil},
	{metadata.MethodPost, "Secret in the body", secret, nil},
	{metadata.MethodSecretJWT, "JWT signed with the secret", secretKey, []string{jose.HS256}},
	{metadata.MethodPrivateKeyJWT, "JWT signed with a private key", publicKey, keyAlgorithms},
	{MethodCertificate, "Certificate of an authority", certificate, nil},
	{MethodSelfSigned, "Self-signed certificate", ownCertificate, nil},
}

// What follows from the table.
var (
	secretMethods = slices.DeleteFunc(slices.Clone(methods), func(m Method) bool { return m.proof != secret })
	allAlgorithms = algorithmsOf(methods)
)

// algorithmsOf lists the signature algorithms of the assertions of all methods.
func algorithmsOf(methods []Method) []string {
	var all []string
	for _, m := range methods {
		all = append(slices.Clone(m.algorithms), all...)
	}
	return all
}

// Methods lists the methods of client authentication. The method that is registered for an
// application decides what kind of key verifies an assertion. The header of the assertion never
// does (RFC 8725 §3.1).
func Methods() []Method { return slices.Clone(methods) }

// methodOf returns a method by its name.
func methodOf(name string) (Method, bool) {
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
		return methods[:1]
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
	proven := registered(a)[0].proof
	return proven == secret || proven == secretKey
}

// MayPostSecret reports whether an application may send its secret in the body, or has none.
func MayPostSecret(a storage.Application) bool {
	return slices.ContainsFunc(registered(a), func(m Method) bool { return m.Name == metadata.MethodPost || m.proof == nothing })
}

// assertionAlgorithms returns the signature algorithms that the assertions of an application may
// have.
//
// OIDC Registration §2: token_endpoint_auth_signing_alg is the only one, if it is registered.
func assertionAlgorithms(a storage.Application) []string {
	may := policy.Algorithms(a, registered(a)[0].algorithms)
	if a.AuthAlgorithm != "" {
		return slices.DeleteFunc(slices.Clone(may), func(name string) bool { return name != a.AuthAlgorithm })
	}
	return may
}

// AssertionAlgorithms lists the signature algorithms of all assertions.
func AssertionAlgorithms() []string { return slices.Clone(allAlgorithms) }

// MethodNames lists the methods of this server: those with which a client proves who it is, or
// all.
func (p *Clients) MethodNames(public bool) []string {
	return slices.DeleteFunc(MethodNames(public), func(name string) bool { return !p.Offers(name) })
}

// Offers reports whether this server accepts a method.
func (p *Clients) Offers(name string) bool {
	switch name {
	case MethodCertificate:
		return p.config.Authorities != nil
	case MethodSelfSigned:
		return p.config.Certificates
	}
	return true
}

// MethodNames lists the methods: those with which a client proves who it is, or all.
func MethodNames(public bool) []string {
	var names []string
	for _, m := range methods {
		if public || m.proof != nothing {
			names = append(names, m.Name)
		}
	}
	return names
}
