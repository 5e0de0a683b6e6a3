package check

import (
	"net/http"
	"net/url"

	"mandate/conformance/need"
	"mandate/conformance/target"
	"mandate/conformance/wire"
)

// Holder is what the tokens of a client are bound to: a key, which it proves to have (RFC 9449), or the certificate of
// its connections (RFC 8705 §3).
type Holder struct {
	Prover *Prover // nil if it is a certificate

	t      *T
	client *target.Client
}

// Holder returns what the tokens of a client are bound to: a new key, or its certificate.
func (t *T) Holder(c *target.Client) *Holder {
	if c.Binding == need.BoundToCertificate {
		return &Holder{nil, t, c}
	}
	return &Holder{t.Prover(), t, c}
}

// Sending adds the proof or the certificate to a POST request to an endpoint.
func (h *Holder) Sending(endpoint need.Need) wire.Auth {
	address := h.t.Endpoint(endpoint)
	switch {
	case h.Prover == nil:
		return h.certificate()
	case need.ByCertificate(h.client.Auth):
		// RFC 9449 §4.2: the proof is for the address to which the request goes.
		address = h.t.server.Alias(endpoint)
	}
	return h.Prover.Proving(address)
}

// Presenting adds an access token, and the proof or the certificate, to a GET request.
func (h *Holder) Presenting(address, token string) wire.Auth {
	if h.Prover != nil {
		return h.Prover.Presenting(address, token)
	}
	return func(header http.Header, form url.Values) {
		wire.Bearer(token)(header, form)
		h.certificate()(header, form)
	}
}

// Beside adds the proof or the certificate to a GET request whose token stands elsewhere than in the header.
func (h *Holder) Beside(address, token string) wire.Auth {
	return func(header http.Header, form url.Values) {
		h.Presenting(address, token)(header, form)
		header.Del("Authorization")
	}
}

// certificate sends a request over a connection with the certificate.
func (h *Holder) certificate() wire.Auth { return wire.WithCertificate(string(h.client.Role)) }
