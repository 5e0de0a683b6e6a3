package dpop

import (
	"crypto"
	"crypto/rand"
	"maps"
	"time"

	"mandate/provider/jose"
)

// Make makes a proof, as a client does (RFC 9449 §4.2). Of the claims, the caller gives htm and
// htu, and ath and nonce where they are needed. jti and iat are added where they are not given.
func Make(algorithm string, key crypto.Signer, claims map[string]any) (string, error) {
	public, err := jose.NewJWK(key.Public())
	if err != nil {
		return "", err
	}
	all := map[string]any{"jti": rand.Text(), "iat": time.Now().Unix()}
	maps.Copy(all, claims)
	return jose.SignHeader(map[string]any{"typ": Type, "alg": algorithm, "jwk": public}, key, all)
}
