package clientauth

import (
	"slices"

	"mandate/provider/oauth"
	"mandate/provider/policy"
	"mandate/storage"
)

// methods is the table of Methods. It is made once, because each request needs it.
var methods = []Method{none, secretBasic, secretPost, secretJWT, privateKeyJWT, issuedCertificate, selfSigned}

// The methods of applications that have registered none.
var (
	publicMethods = []Method{none}
	secretMethods = []Method{secretBasic, secretPost}
)

// What follows from the table.
var (
	allAlgorithms = algorithmsOf(methods)
	places        = placesOf(methods)
)

// placesOf lists the places of the assertions of all methods, each once.
func placesOf(methods []Method) []*place {
	var all []*place
	for _, m := range methods {
		if m.assertion != nil && !slices.Contains(all, m.assertion) {
			all = append(all, m.assertion)
		}
	}
	return all
}

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

// SignsAssertions reports whether an application authenticates with assertions.
func SignsAssertions(a storage.Application) bool { return registered(a)[0].assertion != nil }

// SignsByKey reports whether it authenticates with assertions that a private key signs.
func SignsByKey(a storage.Application) bool { return registered(a)[0].Needs == Keys }

// ShowsCertificate reports whether an application authenticates with a certificate.
func ShowsCertificate(a storage.Application) bool { return registered(a)[0].ByCertificate() }

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

// OffersSubject reports whether this server accepts a method that needs the subject of a certificate.
func (p *Checks) OffersSubject() bool {
	return slices.ContainsFunc(SubjectMethods(), p.Offers)
}

// Offers reports whether this server accepts a method.
func (p *Checks) Offers(name string) bool {
	one, _ := MethodOf(name)
	return one.offered == nil || one.offered(p.config)
}

// MethodNames lists the methods: those with which a client proves who it is, or all.
func MethodNames(public bool) []string {
	return NamesOf(func(m Method) bool { return public || m.Strength != Nothing })
}

// AssertionMethods lists the methods with assertions, the strongest first.
func AssertionMethods() []string {
	names := NamesOf(func(m Method) bool { return m.assertion != nil })
	slices.Reverse(names)
	return names
}

// SubjectMethods lists the methods that need the subject of a certificate.
func SubjectMethods() []string { return NamesOf(func(m Method) bool { return m.Needs == Subject }) }

// OpenMethods lists the methods of applications for which nobody is responsible, but for none.
func OpenMethods() []string { return NamesOf(func(m Method) bool { return m.Open }) }

// NamesOf lists the methods with a property.
func NamesOf(property func(Method) bool) []string {
	var names []string
	for _, m := range methods {
		if property(m) {
			names = append(names, m.Name)
		}
	}
	return names
}
