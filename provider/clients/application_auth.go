package clients

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"mandate/provider/clientauth"
	"mandate/provider/jose"
	"mandate/provider/metadata"
	"mandate/provider/oauth"
	"mandate/provider/policy"
	"mandate/storage"
)

// Authentication says how an application authenticates.
type Authentication struct {
	Method    string // the name of a Method; "": a confidential application sends its secret in any way
	Algorithm string // the only one of its assertions; "": any that the method allows
	JWKS      string // public keys, as a JWK Set
	JWKSURI   string // the address of such a set
	// CertificateSubject is that of its certificate (RFC 8705 §2.1.2), such as
	// san_dns=client.example.
	CertificateSubject string
	// EndpointAudience accepts assertions for the address of an endpoint. Older client
	// libraries make no others.
	EndpointAudience bool
}

// described returns the application as it would be with this registration, as far as client
// authentication needs it.
func (r Registration) described() storage.Application {
	return storage.Application{ClientType: r.ClientType, AuthMethod: r.Authentication.Method}
}

const maxKeySetBytes = 16 << 10

// checkAuthentication checks how an application is to authenticate.
func (p *Clients) checkAuthentication(found *oauth.Invalid, r Registration, was storage.Application) {
	said := r.Authentication
	one, known := clientauth.MethodOf(said.Method)
	switch {
	case said.Method != "" && !known:
		found.Add(
			"auth_method", "The method %q is not supported: use %s.", oauth.Clip(said.Method, 80),
			oauth.OneOf(p.MethodNames(true)),
		)
		return
	case r.ClientType == policy.Public && r.Profile != "": // checkFAPIClient says that it must be confidential
	case r.ClientType == policy.Public && said.Method != "" && one.Strength != clientauth.Nothing:
		found.Add(
			"auth_method", "A public application keeps no secret and no private key, so it does not authenticate: use none.",
		)
	case r.ClientType == policy.Confidential && known && one.Strength == clientauth.Nothing:
		found.Add("auth_method", "A confidential application authenticates: use %s.", oauth.OneOf(p.MethodNames(false)))
	}
	if said.Algorithm != "" && !slices.Contains(one.Algorithms, said.Algorithm) {
		if len(one.Algorithms) == 0 {
			found.Add(
				"auth_algorithm", "Only an application with %s signs assertions.", oauth.OneOf(clientauth.AssertionMethods()),
			)
		} else {
			found.Add(
				"auth_algorithm", "The algorithm %q is not possible with %s: use %s.", oauth.Clip(said.Algorithm, 40), one.Name,
				oauth.OneOf(one.Algorithms),
			)
		}
	}
	if one.Needs == clientauth.ReadableSecret {
		p.checkHMAC(found, "auth_method", r, was)
	}
	if one.OwnKey() && said.JWKS == "" && said.JWKSURI == "" {
		found.Add("jwks", "%s needs the public keys of the application: a JWK Set, or the address of one.", one.Name)
	}
	if one.Needs == clientauth.Certificate && said.Method != was.AuthMethod && !p.Offers(said.Method) {
		found.Add(
			"auth_method",
			"This server gets no certificates: its operator can set MTLS_LISTEN, or MTLS_CERTIFICATE_HEADER for a reverse "+
				"proxy.",
		)
	}
	p.checkCertificate(found, said.CertificateSubject, was.CertificateSubject, one)
	p.checkKeys(found, r, was, one.Needs)
}

// checkKeys checks the public keys of an application, or their address. One of them must be
// usable for the proof of its method.
func (p *Clients) checkKeys(found *oauth.Invalid, r Registration, was storage.Application, by clientauth.Need) {
	said := r.Authentication
	// RFC 7591 §2: jwks and jwks_uri are not used together.
	if said.JWKS != "" && said.JWKSURI != "" {
		found.Add("jwks_uri", "Register either the keys or their address, and not both.")
		return
	}
	if said.JWKS != "" {
		algorithms := clientauth.AlgorithmsOf(storage.Application{
			ClientType:    policy.Confidential,
			AuthMethod:    metadata.MethodPrivateKeyJWT,
			AuthAlgorithm: said.Algorithm,
			Profile:       r.Profile,
		})
		if wrong := wrongKeys([]byte(said.JWKS), algorithms, by == clientauth.Keys, clientauth.RSABits(was)); wrong != "" {
			found.Add("jwks", "%s", wrong)
		} else if by == clientauth.Certificate && !hasCertificate(said.JWKS) {
			// RFC 8705 §2.2.2: a certificate is the x5c of a key.
			found.Add("jwks", "%s needs a key with the certificate of the application in its x5c.", r.Authentication.Method)
		}
	}
	if said.JWKSURI != "" && said.JWKSURI != was.JWKSURI {
		if wrong := p.wrongFetchedURI(said.JWKSURI, was); wrong != "" {
			found.Add("jwks_uri", "The address %s.", wrong)
		}
	}
}

// wrongKeys says what is wrong with a JWK Set, or returns "". needed says that one of its keys
// must be for one of these algorithms. An RSA key has at most so many bits.
func wrongKeys(text []byte, algorithms []string, needed bool, bits int) string {
	if len(text) > maxKeySetBytes {
		return "The set is too large: use at most 16384 bytes, or register its address."
	}
	if HoldsPrivateKey(string(text)) {
		return "This is a private key, which is no longer secret: make a new key pair, and enter the public key here."
	}
	if !json.Valid(text) {
		if strings.Contains(string(text), "-----BEGIN") {
			return "This is PEM: convert the public key to a JWK, and enter {\"keys\": [the JWK]}."
		}
		return "This is not JSON: enter a JWK Set, an object whose member keys is an array of public keys."
	}
	var single struct {
		Keys json.RawMessage `json:"keys"`
		Type string          `json:"kty"`
	}
	if json.Unmarshal(text, &single) == nil && single.Keys == nil && single.Type != "" {
		return "This is one key. A JWK Set is {\"keys\": [the key]}."
	}
	if wrong, ok := errors.AsType[*metadata.Error](metadata.CheckKeys("jwks", text)); ok {
		return "The set " + wrong.Problem + "."
	}
	set, err := jose.ParseSet(text)
	if err != nil {
		return "This is not a JWK Set in JSON."
	}
	seen, usable := map[string]bool{}, false
	for _, k := range set.Keys {
		// RFC 7517 §4.5: the kid chooses a key, so it names one key only.
		if k.ID != "" && seen[k.ID] {
			return "The set has two keys with the kid " + oauth.Clip(k.ID, 80) + ": give each key its own."
		}
		seen[k.ID] = true
		if k.Weak() {
			return "The set has an RSA key with less than 2048 or more than 8192 bits, or with another public exponent than " +
				"65537: make a new key."
		}
		if k.Bits() > bits {
			return fmt.Sprintf(
				"The set has an RSA key of %d bits. Only an application that an administrator is responsible for may have one of "+
					"more than %d: make a new key.",
				k.Bits(), bits,
			)
		}
		// RFC 7517 §4.7: the first certificate in x5c is for the key.
		if len(k.Chain) > 0 && k.Certificate() == nil {
			return "The set has a key whose x5c does not begin with a certificate for it: put the certificate there in " +
				"Base64, without the lines of PEM, and the members of its public key beside it."
		}
		usable = usable || k.Public() != nil && slices.ContainsFunc(algorithms, k.Supports)
		// RFC 7515 §4.1.4: with two keys of one kind, a JWT without kid does not say which one it is
		// signed with, and a kid does not name a key that has none.
		if k.ID == "" && k.Public() != nil && slices.ContainsFunc(set.Keys, func(other jose.JWK) bool {
			return other.Type == k.Type && other.Public() != nil && other.Thumbprint() != k.Thumbprint()
		}) {
			return "The set has several keys of the type " + k.Type + ", and one of them has no kid: give each key its own " +
				"kid, and name it in the header of each JWT."
		}
	}
	if needed && !usable {
		return "The set has no key that can verify a signature by " + strings.Join(
			algorithms, ", ",
		) + ": check kty, crv, alg and use."
	}
	return ""
}

// HoldsPrivateKey reports whether a text has a private key, as PEM, as a JWK or in a JWK Set. No
// page shows it again.
func HoldsPrivateKey(text string) bool {
	var set struct {
		Keys []map[string]json.RawMessage `json:"keys"`
	}
	var one map[string]json.RawMessage
	_, _ = json.Unmarshal([]byte(text), &set), json.Unmarshal([]byte(text), &one) // other text has none
	private := func(key map[string]json.RawMessage) bool { return jose.PrivateMember(key) != "" }
	return strings.Contains(text, "PRIVATE KEY-----") || private(one) || slices.ContainsFunc(set.Keys, private)
}

// hasCertificate reports whether a JWK Set has a certificate.
func hasCertificate(text string) bool {
	set, err := jose.ParseSet([]byte(text))
	return err == nil && slices.ContainsFunc(set.Keys, func(k jose.JWK) bool { return k.Certificate() != nil })
}

// KeyIDs lists the key ids of the registered keys of an application. A key without one is
// shown by its type.
func KeyIDs(a storage.Application) []string {
	set, err := jose.ParseSet([]byte(a.JWKS))
	if a.JWKS == "" || err != nil {
		return nil
	}
	var ids []string
	for _, k := range set.Keys {
		if k.ID == "" {
			k.ID = k.Type + " without kid"
		}
		ids = append(ids, k.ID)
	}
	return ids
}

// compact returns JSON without spaces.
func compact(text string) string {
	var raw json.RawMessage
	if json.Unmarshal([]byte(text), &raw) != nil {
		return text
	}
	short, err := json.Marshal(raw)
	if err != nil {
		return text
	}
	return string(short)
}
