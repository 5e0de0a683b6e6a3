package check

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"mandate/conformance/jose"
	"mandate/conformance/wire"
)

// Prover is a client that proves for each request that it has a private key (RFC 9449).
type Prover struct {
	Key *jose.Key

	server *Server
}

// Altered are members of a JWT that differ from those of a good one. nil removes a member.
type Altered struct{ Header, Claims map[string]any }

// proofHeader is the field of a proof, as Go writes its name. The names of fields have no case.
const proofHeader = "Dpop"

const proofAlgorithms = "dpop_signing_alg_values_supported"

// Prover returns a client with a new key. If the server supports no proofs, the check is skipped.
func (t *T) Prover() *Prover {
	listed, _ := t.server.Metadata.List(proofAlgorithms)
	for _, algorithm := range jose.Algorithms() { // ES256 is the first
		if slices.Contains(listed, algorithm) {
			return t.ProverBy(algorithm)
		}
	}
	t.Skipf("the rule needs a server that supports DPoP: " + proofAlgorithms + " of its metadata lists no algorithm " +
		"that this program has")
	return nil
}

// ProverBy returns a client with a new key for an algorithm.
func (t *T) ProverBy(algorithm string) *Prover { return &Prover{jose.NewKey(algorithm), t.server} }

// Thumbprint returns the thumbprint of the key (RFC 9449 §6.1).
func (p *Prover) Thumbprint() string { return p.Key.Thumbprint() }

// Proof returns a proof for a request (RFC 9449 §4.2). token is the access token that the request presents, or "".
func (p *Prover) Proof(method, address, token string, altered ...Altered) string {
	place, _, _ := strings.Cut(address, "?")
	header := map[string]any{"typ": "dpop+jwt", "jwk": p.Key.Bare(), "kid": nil}
	claims := map[string]any{"jti": rand.Text(), "htm": method, "htu": place, "iat": time.Now().Unix()}
	if token != "" {
		claims["ath"] = TokenDigest(token)
	}
	if nonce, known := p.server.nonces.Load(place); known {
		claims["nonce"] = nonce
	}
	for _, a := range altered {
		maps.Copy(header, a.Header)
		maps.Copy(claims, a.Claims)
	}
	maps.DeleteFunc(claims, func(_ string, value any) bool { return value == nil })
	return p.Key.Sign(header, claims)
}

// TokenDigest returns ath of a proof (RFC 9449 §4.2).
func TokenDigest(token string) string {
	digest := sha256.Sum256([]byte(token))
	return base64.RawURLEncoding.EncodeToString(digest[:])
}

// Proving adds a proof to a POST request, such as one to the token endpoint.
func (p *Prover) Proving(address string, altered ...Altered) wire.Auth {
	return func(header http.Header, _ url.Values) {
		header.Add(proofHeader, p.Proof(http.MethodPost, address, "", altered...))
	}
}

// Presenting adds an access token and a proof to a GET request (RFC 9449 §7.1).
func (p *Prover) Presenting(address, token string, altered ...Altered) wire.Auth {
	return func(header http.Header, _ url.Values) {
		header.Set("Authorization", "DPoP "+token)
		header.Add(proofHeader, p.Proof(http.MethodGet, address, token, altered...))
	}
}

// withNonce sends a request, and sends it again if the server demands a nonce (RFC 9449 §8, §9): the answer has one,
// and the second proof contains it.
func (t *T) withNonce(send func() *wire.Answer) *wire.Answer {
	a := send()
	nonce := a.Header.Get("DPoP-Nonce")
	if a.SentHeader.Get(proofHeader) == "" || nonce == "" {
		return a
	}
	t.server.nonces.Store(wire.Bare(a.URL), nonce)
	if DemandsNonce(a) {
		return send()
	}
	return a
}

// DemandsNonce reports whether an answer refuses a proof because it has no valid nonce.
func DemandsNonce(a *wire.Answer) bool {
	const demand = "use_dpop_nonce"
	return a.Text("error") == demand || strings.Contains(strings.Join(a.Header.Values("WWW-Authenticate"), ","), demand)
}
