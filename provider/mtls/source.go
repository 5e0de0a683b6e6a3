package mtls

import (
	"net/http"
	"net/netip"
	"slices"
)

// Source says where the certificate of a client is found. The zero value finds it in the TLS
// connection only.
type Source struct {
	Header  string         // the header in which the proxies pass it; "": no header is read
	Proxies []netip.Prefix // the trusted proxies
}

// Of returns the certificate of the client that sent a request, or nil if it sent none: that of
// the TLS connection, or the one that a trusted proxy passes in the header.
//
// RFC 9440 §4: anybody can send the header, so only a trusted proxy's counts.
func (s Source) Of(r *http.Request) (*Certificate, error) {
	if s.Header != "" && s.trusts(r.RemoteAddr) {
		// The certificate of the connection is that of the proxy itself.
		return FromHeader(r.Header, s.Header)
	}
	if r.TLS == nil || len(r.TLS.PeerCertificates) == 0 {
		return nil, nil
	}
	return &Certificate{Certificate: r.TLS.PeerCertificates[0], Chain: r.TLS.PeerCertificates[1:]}, nil
}

func (s Source) trusts(address string) bool {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return false
	}
	from := at.Addr().Unmap().WithZone("")
	return slices.ContainsFunc(s.Proxies, func(p netip.Prefix) bool { return p.Contains(from) })
}
