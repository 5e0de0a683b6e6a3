package mandate

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"maps"
	"net/http"
	"net/url"
	"testing"
	"time"
)

// holder has a private key, and makes DPoP proofs with it (RFC 9449 §4.2).
type holder struct {
	key *ecdsa.PrivateKey
	jwk member
	jkt string // the thumbprint of the key (RFC 7638)
}

func newHolder(t testing.TB) *holder {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	point, err := key.PublicKey.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	x, y := base64url(point[1:33]), base64url(point[33:])
	return &holder{key, member{"kty": "EC", "crv": "P-256", "x": x, "y": y},
		digest(`{"crv":"P-256","kty":"EC","x":"` + x + `","y":"` + y + `"}`)}
}

func base64url(raw []byte) string { return base64.RawURLEncoding.EncodeToString(raw) }

// digest returns the SHA-256 of a text in base64url, as in jkt and ath.
func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return base64url(sum[:])
}

// proof returns a good proof, but for these claims and members of the header; nil removes one.
func (h *holder) proof(t testing.TB, method, address string, claims, header member) string {
	t.Helper()
	all := member{"jti": rand.Text(), "htm": method, "htu": address, "iat": time.Now().Unix()}
	first := member{"typ": "dpop+jwt", "alg": "ES256", "jwk": h.jwk}
	for _, changed := range []struct{ of, by member }{{all, claims}, {first, header}} {
		maps.Copy(changed.of, changed.by)
		maps.DeleteFunc(changed.of, func(_ string, value any) bool { return value == nil })
	}
	return signHeader(t, first, all, h.key)
}

// proving sends a good proof with a request.
func (h *holder) proving(t testing.TB, as auth) auth { return h.provingWith(t, as, nil) }

// provingWith sends a proof with these claims.
func (h *holder) provingWith(t testing.TB, as auth, claims member) auth {
	return func(r *http.Request, form url.Values) {
		as(r, form)
		r.Header.Add("DPoP", h.proof(t, r.Method, r.URL.Scheme+"://"+r.URL.Host+r.URL.Path, claims, nil))
	}
}

// sending sends these values of the header DPoP.
func sending(as auth, proofs ...string) auth {
	return func(r *http.Request, form url.Values) {
		as(r, form)
		r.Header["Dpop"] = proofs
	}
}

// dpop presents an access token with the scheme DPoP and a proof.
func (h *holder) dpop(t testing.TB, token string) auth {
	present := func(r *http.Request, _ url.Values) { r.Header.Set("Authorization", "DPoP "+token) }
	return h.provingWith(t, present, member{"ath": digest(token)})
}
