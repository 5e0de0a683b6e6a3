package conformance

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"maps"
	"strings"

	"github.com/golang-jwt/jwt/v5"
)

// What an attacker makes of a signed token.

// altered are tokens with a claim or a part of the signature changed.
func altered(token string) []string {
	j, err := readJWT(token)
	if err != nil {
		return nil
	}
	parts := strings.Split(token, ".")
	first := "A"
	if strings.HasPrefix(parts[2], first) {
		first = "B"
	}
	all := []string{parts[0] + "." + parts[1] + "." + first + parts[2][min(1, len(parts[2])):], parts[0] + "." + parts[1] + "."}
	for _, name := range []string{"conformance", "iss"} {
		claims := maps.Clone(j.Claims)
		claims[name] = "https://attacker.example"
		all = append(all, parts[0]+"."+encoded(claims)+"."+parts[2])
	}
	return all
}

// encoded is a part of a JWT.
func encoded(object map[string]any) string {
	text, _ := json.Marshal(object) // it was JSON before
	return base64.RawURLEncoding.EncodeToString(text)
}

// unsigned are tokens that say they need no signature (RFC 7518 §8.5), in more than one spelling.
func unsigned(token string) []string {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return nil
	}
	var all []string
	for _, alg := range []string{"none", "None", "NONE"} {
		header := encoded(map[string]any{"alg": alg, "typ": "JWT"})
		all = append(all, header+"."+parts[1]+".", header+"."+parts[1]+"."+parts[2])
	}
	return all
}

// again signs the claims of a token anew, with its header but for the alg.
func (j *JWT) again(method jwt.SigningMethod, key any) string {
	token := jwt.NewWithClaims(method, jwt.MapClaims(j.Claims))
	header := maps.Clone(j.Header)
	header["alg"] = method.Alg()
	token.Header = header
	text, _ := token.SignedString(key) // the keys are of the methods' kinds
	return text
}

// signedByAnother are tokens with the claims and the header of a good one, signed with keys of our own.
func signedByAnother(token string) []string {
	j, err := readJWT(token)
	if err != nil {
		return nil
	}
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return nil
	}
	return []string{j.again(jwt.SigningMethodRS256, key), j.again(jwt.SigningMethodHS256, []byte(strings.Repeat("conformance", 4)))}
}

// confused are tokens signed by HMAC with what is public: a verifier that lets the token choose the
// algorithm takes its own public key for the secret (RFC 8725 §2.1).
func confused(j *JWT, keys []JWK, set []byte) []string {
	all := []string{j.again(jwt.SigningMethodHS256, set), j.again(jwt.SigningMethodHS256, []byte{})}
	for _, k := range keys {
		public, err := k.public()
		if err != nil {
			continue
		}
		named := &JWT{Header: maps.Clone(j.Header), Claims: j.Claims}
		named.Header["kid"] = k.ID
		secrets := [][]byte{}
		if der, err := x509.MarshalPKIXPublicKey(public); err == nil {
			text := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
			secrets = append(secrets, der, text, []byte(strings.TrimSpace(string(text))))
		}
		for _, text := range []string{k.N, k.X} {
			if raw, err := base64.RawURLEncoding.DecodeString(text); err == nil && len(raw) > 0 {
				secrets = append(secrets, raw, []byte(text))
			}
		}
		for _, secret := range secrets {
			all = append(all, named.again(jwt.SigningMethodHS256, secret))
		}
	}
	return all
}
