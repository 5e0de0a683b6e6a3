package resource

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"mandate/provider/dpop"
)

// unchecked is the text for a token that could not be checked.
const unchecked = "The access token cannot be checked at the moment."

// refusal is the guard's response to a request that it refuses.
type refusal struct {
	status int
	params string // the parameters after the realm in the challenge
	detail string
	scopes []string // the required scopes, if the body may name them
	scheme string   // the scheme with which the token was sent
}

// needs returns the parameter scope of a challenge to a request without a token that is
// active: the scopes that the request needs (RFC 6750 §3). A client that learns from the
// metadata where to get a token learns here what to request.
func (g *Guard) needs(scopes []string) string {
	if g.described == nil || len(scopes) == 0 {
		return ""
	}
	return fmt.Sprintf(`, scope=%q`, strings.Join(scopes, " "))
}

func (g *Guard) refuse(w http.ResponseWriter, no *refusal) {
	h := w.Header()
	if no.status == http.StatusServiceUnavailable {
		// RFC 9110 §15.6.4: Retry-After says when the client may try again.
		h.Set("Retry-After", "5")
	} else {
		// RFC 6750 §3: every other refusal carries a challenge.
		for _, challenge := range g.challenges(no) {
			h.Add("WWW-Authenticate", challenge)
		}
	}
	if no.scheme == schemeDPoP {
		setNonce(h, g.proofs.nonce())
	}
	writeDetail(w, no.status, no.detail, no.scopes...)
}

// setNonce gives a client the nonce for its next proof. There is never a second header with one
// (RFC 9449 §8).
func setNonce(h http.Header, nonce string) {
	if nonce != "" {
		h.Set("DPoP-Nonce", nonce)
		// RFC 9449 §8.2: a cache would give out a nonce that is too old.
		h.Set("Cache-Control", "no-store")
	}
}

// challenges returns the challenges of a refusal, each for one header: some clients read only
// the first, and clients for the Model Context Protocol want Bearer there.
func (g *Guard) challenges(no *refusal) []string {
	switch {
	case no.scheme == schemeDPoP || g.binding == bindingKey:
		return []string{g.challenge(schemeDPoP, no.params)}
	case g.proofs == nil || no.status != http.StatusUnauthorized:
		return []string{g.challenge(schemeBearer, no.params)}
	case no.scheme == "":
		return []string{g.challenge(schemeBearer, no.params), g.challenge(schemeDPoP, no.params)}
	}
	// RFC 9449 §7.2: an API that accepts both schemes names both, and the error belongs to the
	// one that was used.
	return []string{g.challenge(schemeBearer, no.params), g.challenge(schemeDPoP, "")}
}

func (g *Guard) challenge(scheme, params string) string {
	text := scheme + ` realm="` + g.realm + `"` + params
	if scheme == schemeDPoP {
		// RFC 9449 §7.1: the algorithms that a proof may have.
		text += `, algs="` + strings.Join(dpop.Algorithms(), " ") + `"`
	}
	if g.described != nil {
		// RFC 9728 §5.1: the challenge names the URL of the metadata.
		text += fmt.Sprintf(`, resource_metadata=%q`, g.described.url)
	}
	return text
}

// writeDetail writes a refusal. It is valid for this request only, so caches must not
// store it.
func writeDetail(w http.ResponseWriter, status int, detail string, requiredScopes ...string) {
	body, err := json.Marshal(struct {
		Detail         string   `json:"detail"`
		RequiredScopes []string `json:"required_scopes,omitempty"`
	}{detail, requiredScopes})
	if err != nil {
		body = []byte(`{"detail":""}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	w.Write(body) // an error means that the client has closed the connection
}

// challenged returns a refusal with an error and its description.
func challenged(status int, code, why string) *refusal {
	return &refusal{status: status, params: fmt.Sprintf(`, error="%s", error_description="%s"`, code, quotable(why)),
		detail: why + "."}
}
