// Package dpop verifies DPoP proofs (RFC 9449): JWTs by which a client proves, for one HTTP
// request, that it has the private key of its token. The authorization server and an API use it
// alike.
package dpop

import (
	"crypto"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"mandate/provider/jose"
)

// Type is the typ of a proof.
const Type = "dpop+jwt"

// The codes of an Error (RFC 9449 §5, §7.1, §8, §9).
const (
	InvalidProof = "invalid_dpop_proof"
	UseNonce     = "use_dpop_nonce"
)

// The limits of a proof.
const (
	maxProof = 8 << 10
	maxJTI   = 256
	maxRSA   = 4096 // bits: whoever sends a request chooses the key, and a longer one costs more time
)

// Algorithms lists the algorithms that proofs may have. RS256 is not one of them: FAPI 2.0
// Security Profile §5.4.1 allows only the others.
func Algorithms() []string { return []string{"ES256", "EdDSA", jose.Ed25519, "PS256"} }

// Request is the request that a proof is for.
type Request struct {
	Method string
	// URLs lists the URLs of the place that the request was made to. They come from the
	// configuration and not from the header Host, which anybody can set.
	URLs []string
	// Proofs has all values of the header DPoP.
	Proofs []string
	// Token is the access token that the request presents, or "" for a request that presents
	// none, such as one to the token endpoint.
	Token string
	// Key is the thumbprint of the key that the token, the refresh token or the code is bound
	// to (jkt). It may be "" only if there is no access token.
	Key string
}

// Rules say which proofs are accepted. The zero value is strict and can be used.
type Rules struct {
	Algorithms []string      // nil: Algorithms()
	Ahead      time.Duration // how far iat may lie ahead of the clock; 0: 10 seconds
	Age        time.Duration // how old a proof may be; 0: 60 seconds
	Nonces     *Nonces       // nil: a proof needs no nonce
}

func (r Rules) ahead() time.Duration { return orElse(r.Ahead, 10*time.Second) }
func (r Rules) age() time.Duration   { return orElse(r.Age, 60*time.Second) }

// life is the longest time in which a proof can be valid. NumericDate is without its fraction.
func (r Rules) life() time.Duration { return r.ahead() + r.age() + time.Second }

func orElse(given, otherwise time.Duration) time.Duration {
	if given <= 0 {
		return otherwise
	}
	return given
}

// Proof is a proof that was verified. It says nothing about whether it was used before: remember
// its Digest until Until, and refuse a second proof with the same one (RFC 9449 §11.1).
type Proof struct {
	Key      string // the thumbprint of the key (RFC 7638)
	ID       string // jti
	Nonce    string
	IssuedAt int64
	Digest   Digest
	Until    int64 // from this second on, the proof is too old
}

// Digest stands for a proof: it is that of the key and jti. The key is part of it, so that nobody
// can use up the jti of another client.
type Digest [sha256.Size]byte

func (d Digest) String() string { return base64.RawURLEncoding.EncodeToString(d[:]) }

// Error says why a proof is refused. Description has no text from the proof, which its sender
// chooses, so it can be logged.
type Error struct{ Code, Description string }

func (e *Error) Error() string { return e.Code + ": " + e.Description }

func invalid(format string, values ...any) error {
	return &Error{InvalidProof, "the DPoP proof " + fmt.Sprintf(format, values...)}
}

// Verify checks the proof of a request. An error is always an *Error.
func Verify(q Request, r Rules) (Proof, error) {
	// RFC 9449 §4.3: there is one header, which has one proof.
	switch {
	case len(q.Proofs) == 0:
		return Proof{}, &Error{InvalidProof, "the request must have the header DPoP, with a proof"}
	case len(q.Proofs) > 1:
		return Proof{}, &Error{InvalidProof, "the request must have one header DPoP, not several"}
	case len(q.Proofs[0]) > maxProof:
		return Proof{}, invalid("must not be longer than %d bytes", maxProof)
	}
	key, claims, err := r.signed(q.Proofs[0])
	if err != nil {
		return Proof{}, err
	}
	p := Proof{Key: key, ID: claims.Text("jti"), Nonce: claims.Text("nonce")}
	// RFC 9449 §4.2: what every proof has.
	switch {
	case p.ID == "" || len(p.ID) > maxJTI:
		return Proof{}, invalid("must have a jti of 1 to %d bytes", maxJTI)
	case claims.Text("htm") == "" || claims.Text("htu") == "":
		return Proof{}, invalid("must have the claims htm and htu")
	}
	err = checkRequest(q, claims)
	if err != nil {
		return Proof{}, err
	}
	now := time.Now()
	p.IssuedAt, err = r.fresh(claims, now)
	if err != nil {
		return Proof{}, err
	}
	err = checkToken(q, claims, key)
	if err != nil {
		return Proof{}, err
	}
	p.Digest = sha256.Sum256([]byte(key + p.ID)) // the thumbprint has always 43 bytes
	p.Until = p.IssuedAt + int64(r.age()/time.Second) + 1
	return p, nil
}

// signed verifies the signature of a proof with the key in its header, and returns the thumbprint
// of the key and the claims.
func (r Rules) signed(text string) (string, jose.Claims, error) {
	algorithms := r.Algorithms
	if algorithms == nil {
		algorithms = Algorithms()
	}
	thumbprint, read := "", false
	v := jose.Verifier{Algorithms: algorithms, Types: []string{Type}, Keys: func(h jose.Header, _ []byte) ([]any, error) {
		read = true
		k, public, err := publicKey(h)
		thumbprint = k.ID
		return []any{public}, err
	}}
	raw, err := v.Verify(text)
	if err == nil {
		claims, err := jose.ParseClaims(raw)
		if err != nil {
			return "", nil, invalid("must have a JSON object as its claims")
		}
		return thumbprint, claims, nil
	}
	if _, ok := errors.AsType[*Error](err); ok {
		return "", nil, err
	}
	if read {
		// RFC 9449 §4.3: the signature is that of the key in the header.
		return "", nil, invalid("must be signed with the private key that belongs to its jwk")
	}
	// RFC 9449 §4.3: a JWT with this typ and with an asymmetric algorithm that is supported.
	return "", nil, invalid("must be one JWT whose header has the typ %s, an alg of %s, and no crit", Type,
		strings.Join(algorithms, ", "))
}

// publicKey returns the key in the header of a proof.
func publicKey(h jose.Header) (jose.JWK, crypto.PublicKey, error) {
	if h.Key == nil {
		return jose.JWK{}, nil, invalid("must have its public key in the header parameter jwk")
	}
	// RFC 9449 §4.3: the key is public. A private one that was sent is known to others.
	k, public, err := jose.ParsePublic(h.Key)
	if err != nil {
		return k, nil, invalid("has a jwk that is not accepted: the key %s", err.Error())
	}
	if long, ok := public.(*rsa.PublicKey); ok && long.N.BitLen() > maxRSA {
		return k, nil, invalid("has an RSA key of %d bits: use at most %d", long.N.BitLen(), maxRSA)
	}
	if !k.Supports(h.Algorithm) {
		return k, nil, invalid("has a jwk that is not for its alg %s", h.Algorithm)
	}
	return k, public, nil
}

// checkRequest checks that the proof is for this request.
func checkRequest(q Request, claims jose.Claims) error {
	// RFC 9449 §4.3: htm is the method. Methods have a case (RFC 9110 §9.1).
	if claims.Text("htm") != q.Method {
		return invalid("has an htm that is not the method of the request, %s", q.Method)
	}
	// RFC 9449 §4.3: htu is the URL, apart from its query and fragment.
	htu := claims.Text("htu")
	if slices.Contains(q.URLs, htu) {
		return nil
	}
	normal := Normal(htu)
	if normal == "" || !slices.ContainsFunc(q.URLs, func(one string) bool { return Normal(one) == normal }) {
		return invalid("has an htu that is not the URL of the request, %s", strings.Join(q.URLs, " or "))
	}
	return nil
}

// fresh checks nonce and iat, and returns iat.
func (r Rules) fresh(claims jose.Claims, now time.Time) (int64, error) {
	if r.Nonces != nil {
		nonce := claims.Text("nonce")
		// RFC 9449 §8: the proof has a nonce that the server gave out.
		switch {
		case nonce == "":
			return 0, &Error{UseNonce, "the DPoP proof must have the nonce of the header DPoP-Nonce of this response"}
		case !r.Nonces.Valid(nonce, now):
			return 0, &Error{UseNonce, "the nonce of the DPoP proof is too old or unknown: use that of the header DPoP-Nonce " +
				"of this response"}
		}
	}
	// RFC 9449 §11.1: a proof is valid for a short time. With a nonce too, so that the time for
	// which it is remembered is short.
	at, ok := claims.Time("iat")
	switch second := now.Unix(); {
	case !ok:
		return 0, invalid("must have an iat: the seconds since 1970 as a number")
	case at > second+int64(r.ahead()/time.Second):
		return 0, invalid("has an iat that lies %d seconds ahead of the server's clock: correct the clock; iat is in "+
			"seconds since 1970, not in milliseconds", at-second)
	case at < second-int64(r.age()/time.Second):
		return 0, invalid("is %d seconds old: make a new proof for each request", second-at)
	}
	return at, nil
}

// checkToken checks that the proof is for the access token, and that its key is the one that the
// token, or what else the request presents, is bound to.
func checkToken(q Request, claims jose.Claims, key string) error {
	// RFC 9449 §4.3: the digest of the access token.
	if q.Token != "" && claims.Text("ath") != TokenHash(q.Token) {
		return invalid("must have an ath that is the SHA-256 of the access token in base64url")
	}
	// RFC 9449 §4.3, §6: the key of the proof is that of the token. A token that is bound to no
	// key matches none.
	if (q.Token != "" || q.Key != "") && key != q.Key {
		return invalid("is signed with another key than the one that the token is bound to")
	}
	return nil
}

// TokenHash returns what ath is for an access token.
func TokenHash(token string) string {
	sum := sha256.Sum256([]byte(token))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}
