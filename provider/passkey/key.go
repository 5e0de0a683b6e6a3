package passkey

import (
	"errors"
	"fmt"
	"math/big"

	"github.com/go-webauthn/webauthn/protocol"
	"github.com/go-webauthn/webauthn/protocol/webauthncose"
)

// A public key comes from a stranger, and so does the signature that is verified with it. Without a bound, one key of
// 32 KiB costs seconds for each signature.
const (
	minRSA, maxRSA = 2048, 4096 // bits of the modulus; RFC 8812 §2: 2048 are the fewest
	rsaExponent    = 65537      // the one that a TPM uses unless it is told otherwise, and the only one that is seen
	maxKey         = 1024       // bytes of the whole COSE key
)

// checkKey returns an error for a public key whose signatures this server does not verify. It is called before every
// verification, and also for the stored keys: some of them are older than the bound.
//
// WebAuthn-3 §5.8.5: a key for ES256 is on P-256, and one for EdDSA on Ed25519.
func checkKey(raw []byte) error {
	if len(raw) > maxKey {
		return fmt.Errorf("it has %d bytes, more than %d", len(raw), maxKey)
	}
	parsed, err := webauthncose.ParsePublicKey(raw)
	if err != nil {
		return errors.New("it cannot be read")
	}
	switch key := parsed.(type) {
	case webauthncose.EC2PublicKeyData: // the library compares the curve with the algorithm
		return checkAlgorithm(key.Algorithm, webauthncose.AlgES256)
	case webauthncose.OKPPublicKeyData:
		return checkAlgorithm(key.Algorithm, webauthncose.AlgEdDSA)
	case webauthncose.RSAPublicKeyData:
		return checkRSA(key)
	}
	return errors.New("its type is not supported")
}

func checkRSA(key webauthncose.RSAPublicKeyData) error {
	n, e := new(big.Int).SetBytes(key.Modulus), new(big.Int).SetBytes(key.Exponent)
	if bits := n.BitLen(); bits < minRSA || bits > maxRSA || n.Bit(0) == 0 {
		return fmt.Errorf("the RSA modulus has %d bits or is even: use an odd one of %d to %d bits", bits, minRSA, maxRSA)
	}
	if !e.IsInt64() || e.Int64() != rsaExponent {
		return fmt.Errorf("the RSA exponent is not %d", rsaExponent)
	}
	return checkAlgorithm(key.Algorithm, webauthncose.AlgRS256)
}

func checkAlgorithm(is int64, want webauthncose.COSEAlgorithmIdentifier) error {
	if is != int64(want) {
		return fmt.Errorf("the algorithm %d is not supported with its type", is)
	}
	return nil
}

// checkAttestation returns an error for an attestation that this server does not verify: it asks for none, so that the
// browser removes every one with certificates. What can remain is none, or that of the new passkey itself.
//
// WebAuthn-3 §5.1.3: a browser removes the statement if none is asked for, unless a passkey without an AAGUID has
// signed it.
func checkAttestation(object protocol.AttestationObject) error {
	switch protocol.AttestationFormat(object.Format) {
	case protocol.AttestationFormatNone:
		return nil
	case protocol.AttestationFormatPacked:
		_, certified := object.AttStatement["x5c"]
		if !certified {
			return nil
		}
	}
	return errors.New("the attestation has certificates or an unknown format, and none was asked for")
}
