package request

import (
	"net/http"

	"mandate/provider/mtls"
)

// certificate returns the certificate of the client that sent a request, or nil if it sent
// none: that of the TLS connection, or the one that a trusted proxy passes in a header.
//
// RFC 9440 §4: anybody can send the header, so only a trusted proxy's counts.
func (o *Observer) certificate(r *http.Request) (*mtls.Certificate, error) {
	if o.config.CertificateHeader != "" && o.trusts(peer(r)) {
		found, err := mtls.FromHeader(r.Header, o.config.CertificateHeader)
		if found != nil || err != nil {
			return found, err
		}
		// The certificate of the connection is that of the proxy itself.
		return nil, nil
	}
	if r.TLS == nil || len(r.TLS.PeerCertificates) == 0 {
		return nil, nil
	}
	return &mtls.Certificate{Certificate: r.TLS.PeerCertificates[0], Chain: r.TLS.PeerCertificates[1:]}, nil
}
