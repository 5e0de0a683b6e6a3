package clientauth

import (
	"slices"

	"mandate/provider/jose"
	"mandate/provider/metadata"
)

// MethodPrivateKey is a JWT that is signed with a private key (OIDC Core §9).
const MethodPrivateKey = metadata.MethodPrivateKeyJWT

var privateKeyJWT = Method{
	Name:       MethodPrivateKey,
	Label:      "JWT signed with a private key",
	Needs:      Keys,
	Strength:   PrivateKey,
	Open:       true,
	FAPI:       true,
	Algorithms: keyAlgorithms,
	assertion:  &inForm,
	prove:      (*Checks).proveWithoutAssertion,
}

// keyAlgorithms are the signature algorithms for the public keys of an application.
//
// RFC 9864 §2.2: Ed25519 is another name for EdDSA with that curve.
var keyAlgorithms = []string{"ES256", "PS256", "EdDSA", jose.Ed25519, "RS256"}

// KeyAlgorithms lists the signature algorithms for the public keys of an application.
func KeyAlgorithms() []string { return slices.Clone(keyAlgorithms) }
