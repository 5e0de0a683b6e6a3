package resource

import (
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"mandate/provider/dpop"
)

// maxProofs is the number of proofs that are remembered for about a minute, in up to 100 MB.
const maxProofs = 500_000

// proofs is what a guard needs to check DPoP proofs (RFC 9449 §7).
type proofs struct {
	bases []string // the URLs of the API, without the path of a request
	rules dpop.Rules
	seen  *dpop.Seen
}

// newProofs returns nil if the URL of the API is not known: a proof is for one URL, and the
// header Host, which anybody can set, must not say which one it is.
func newProofs(c GuardConfig) (*proofs, error) {
	p := &proofs{}
	for _, base := range c.BaseURLs {
		u, err := url.Parse(base)
		if err != nil || dpop.Normal(base) == "" || strings.ContainsAny(base, "?#") || !secureURL(u, c.AllowHTTP) {
			return nil, fmt.Errorf("guard: base URL %q: use an absolute https URL without credentials, query and fragment; "+
				"http works on this machine only", base)
		}
		p.bases = append(p.bases, strings.TrimSuffix(base, "/"))
	}
	if u := resourceURL(c); len(p.bases) == 0 && u != nil {
		p.bases = []string{u.Scheme + "://" + u.Host}
	}
	if c.RequireNonce {
		key := c.NonceKey
		if key == nil {
			key = make([]byte, 32)
			_, _ = rand.Read(key) // it cannot fail
		}
		nonces, err := dpop.NewNonces(key)
		if err != nil {
			return nil, fmt.Errorf("guard: %w", err)
		}
		p.rules.Nonces = nonces
	}
	if len(p.bases) == 0 {
		return nil, nil
	}
	p.seen = dpop.NewSeen(maxProofs, p.rules)
	return p, nil
}

// urls returns the URLs by which clients reach the path of a request.
func (p *proofs) urls(u *url.URL) []string {
	path := u.EscapedPath()
	if !strings.HasPrefix(path, "/") {
		path = "/" + path
	}
	all := make([]string, len(p.bases))
	for i, base := range p.bases {
		all[i] = base + path
	}
	return all
}

// nonce returns the nonce that clients have to use now, or "" if they need none.
func (p *proofs) nonce() string {
	if p == nil || p.rules.Nonces == nil {
		return ""
	}
	return p.rules.Nonces.Current(time.Now())
}

// checkProof checks the proof of a request with a token that is bound to a key. It returns the
// nonce for the next proof if the client does not have it yet.
//
// RFC 9449 §7.1: the proof is checked for each request, also if the token comes from a cache.
func (g *Guard) checkProof(r *http.Request, q requirement, token, key string) (string, *refusal) {
	p := g.proofs
	proof, err := dpop.Verify(dpop.Request{Method: r.Method, URLs: p.urls(r.URL), Proofs: r.Header.Values("DPoP"),
		Token: token, Key: key}, p.rules)
	if err == nil {
		// RFC 9449 §11.1: a proof works once.
		err = p.seen.Add(proof)
	}
	if wrong, ok := errors.AsType[*dpop.Error](err); ok {
		g.logReason(r, q, &reasonError{printable(wrong.Description)})
		// RFC 9449 §7.1, §9: 401 with the error of the proof.
		return "", challenged(http.StatusUnauthorized, wrong.Code, upperFirst(wrong.Description))
	}
	if err != nil { // the memory of the proofs is full
		g.refused.write(g.log, slog.LevelError, r, "a DPoP proof could not be checked", about(r, q, "error", err)...)
		return "", &refusal{status: http.StatusServiceUnavailable, detail: unchecked}
	}
	// RFC 9449 §8.2, §9: a response can bring the next nonce before the old one becomes invalid.
	if next := p.nonce(); next != proof.Nonce {
		return next, nil
	}
	return "", nil
}

func upperFirst(text string) string { return strings.ToUpper(text[:1]) + text[1:] }
