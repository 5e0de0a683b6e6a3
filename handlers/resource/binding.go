package resource

import (
	"encoding/json"
	"net/http"
	"strings"
)

// The values of GuardConfig.RequiredBinding.
const (
	bindingKey         = "dpop"
	bindingCertificate = "certificate"
	bindingAny         = "any"
)

// confirmation is what an access token is bound to (RFC 7800 §3.1). A token with the zero value
// is a bearer token: whoever has it can use it.
type confirmation struct {
	key         string // the thumbprint of a key, jkt
	certificate string // the thumbprint of a certificate, x5t#S256
}

// thumbprintLength is the length of a SHA-256 digest in base64url.
const thumbprintLength = 43

// confirmation returns what a token is bound to. It is an error if the guard does not know the
// kind of proof, or if the token needs two: a token never becomes a bearer token because the
// guard does not understand what it is bound to.
func (t *Token) confirmation() (confirmation, error) {
	raw, bound := t.Claims["cnf"]
	if !bound || string(raw) == "null" {
		return confirmation{}, nil
	}
	var members map[string]json.RawMessage // its names have a case, unlike those of a struct
	if json.Unmarshal(raw, &members) != nil || len(members) != 1 {
		return confirmation{}, inactive("its cnf is not an object with exactly one member, and this guard cannot check it")
	}
	for name, value := range members {
		var c confirmation
		to, known := map[string]*string{"jkt": &c.key, "x5t#S256": &c.certificate}[name]
		if !known {
			return confirmation{}, inactive("its cnf has the member %s, and this guard checks only jkt and x5t#S256", name)
		}
		if json.Unmarshal(value, to) != nil || len(*to) != thumbprintLength {
			return confirmation{}, inactive("its cnf has a malformed %s", name)
		}
		return c, nil
	}
	return confirmation{}, nil // not reached: there is one member
}

// unbound says what a token lacks that the API requires, or "".
func (g *Guard) unbound(c confirmation) string {
	switch {
	case g.binding == bindingKey && c.key == "":
		return "This API requires an access token that is bound to a key: send a DPoP proof with the token request (RFC 9449)"
	case g.binding == bindingCertificate && c.certificate == "":
		return "This API requires an access token that is bound to a client certificate: send the token request by mutual " +
			"TLS (RFC 8705)"
	case g.binding == bindingAny && c == confirmation{}:
		return "This API requires an access token that is bound to a key or to a client certificate: send a DPoP proof " +
			"with the token request (RFC 9449), or send it by mutual TLS (RFC 8705)"
	}
	return ""
}

// prove checks that the sender of a request may use an active token: that it has the key or the
// certificate that the token is bound to. Only the token decides which proof is needed. If the
// scheme of the request decided it, a stolen token would work under the other scheme. It also
// returns the nonce that the client has to use next, or "".
func (g *Guard) prove(r *http.Request, q requirement, sent credentials, t *Token) (string, *refusal) {
	bound, err := t.confirmation()
	if err != nil {
		return "", g.inactive(r, q, err)
	}
	if why := g.unbound(bound); why != "" {
		return "", g.unusable(r, q, why)
	}
	switch {
	case bound.key != "" && g.proofs == nil:
		return "", g.refuseToken(r, q, g.noProofs("it is bound to a key (cnf)"), noDPoP)
	// RFC 9449 §7.2: a token that is bound to a key is not accepted as a bearer token.
	case bound.key != "" && sent.scheme != schemeDPoP:
		return "", g.unusable(r, q, "This access token is bound to a key: send it with the scheme DPoP, and a DPoP proof "+
			"in the header DPoP")
	case bound.key != "":
		return g.checkProof(r, q, sent.token, bound.key)
	// RFC 9449 §7.1: the scheme DPoP is for tokens that are bound to a key. A proof for another
	// token proves nothing.
	case sent.scheme == schemeDPoP:
		return "", g.unusable(r, q, "This access token is not bound to a key: send it with the scheme Bearer")
	// RFC 9449 §6.2: such a token has cnf. Without it nobody can check the proof.
	case strings.EqualFold(t.TokenType, schemeDPoP):
		return "", g.inactive(r, q, inactive("its token_type is DPoP, and it has no cnf with jkt"))
	case bound.certificate != "":
		return "", g.checkCertificate(r, q, bound.certificate)
	}
	return "", nil
}

// noDPoP tells a client that this guard checks no proofs. The operator finds the reason in the log.
const noDPoP = "This API accepts no access tokens that are bound to a key (DPoP)"

// noProofs is the reason for the log, with what is known of the token.
func (g *Guard) noProofs(known string) error {
	why := "because it does not know the URL of the API: set RESOURCE_SERVER_BASE_URLS"
	if g.binding == bindingCertificate {
		why = "because RESOURCE_SERVER_REQUIRED_BINDING is certificate"
	}
	return &reasonError{known + ", and this guard checks no DPoP proofs, " + why}
}

// checkCertificate checks that a request came with the certificate that its token is bound to.
func (g *Guard) checkCertificate(r *http.Request, q requirement, thumbprint string) *refusal {
	shown, err := g.certificates.Of(r)
	if err != nil {
		return g.inactive(r, q, inactive("the certificate of the client cannot be read: %s", err))
	}
	// RFC 8705 §3: the certificate of the connection is the one that the token was issued to.
	// Whether it is valid is not asked: the client proves that it has the key.
	switch {
	case shown == nil:
		return g.unusable(r, q, "This access token is bound to a client certificate: send the request by mutual TLS with "+
			"that certificate")
	case shown.Thumbprint() != thumbprint:
		return g.unusable(r, q, "This access token is bound to another client certificate than the one of this request")
	}
	return nil
}

// unusable returns the refusal of an active token that the sender of a request may not use, with
// the reason: it concerns the client alone.
func (g *Guard) unusable(r *http.Request, q requirement, why string) *refusal {
	return g.refuseToken(r, q, &reasonError{why}, why)
}

// refuseToken logs the reason of a refusal, and tells the client why.
func (g *Guard) refuseToken(r *http.Request, q requirement, reason error, why string) *refusal {
	g.logReason(r, q, reason)
	// RFC 6750 §3.1, RFC 8705 §3: the error is invalid_token.
	no := challenged(http.StatusUnauthorized, "invalid_token", why)
	no.params += g.needs(q.scopes)
	return no
}

// quotable returns a text that can stand between quotes in a challenge (RFC 6750 §3).
func quotable(text string) string {
	const most = 500 // the text can contain the path of the request
	if len(text) > most {
		text = text[:most] + "..."
	}
	return strings.Map(func(c rune) rune {
		if c < ' ' || c > '~' || c == '"' || c == '\\' {
			return '\''
		}
		return c
	}, text)
}
