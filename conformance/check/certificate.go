package check

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"math/big"
	"net/http"
	"net/url"
	"time"

	"mandate/conformance/need"
	"mandate/conformance/target"
	"mandate/conformance/wire"
)

// Alias returns the address of an endpoint for clients with certificates (RFC 8705 §5).
func (s *Server) Alias(name need.Need) string {
	aliases, _ := s.Metadata["mtls_endpoint_aliases"].(map[string]any)
	if alias, _ := aliases[string(name)].(string); alias != "" {
		return alias
	}
	return s.Endpoint(name)
}

// forCertificates changes the address of a request with a certificate to the one at which the server asks for it.
func (s *Server) forCertificates(r *http.Request) {
	if r.Header.Get(wire.CertificateOf) == "" {
		return
	}
	if at := s.certified(r.URL.String()); at != r.URL.String() {
		to := wire.ParseURL(at)
		to.RawQuery = r.URL.RawQuery
		r.URL, r.Host = to, to.Host
	}
}

// certified returns the address at which requests with a certificate reach an endpoint or the API.
func (s *Server) certified(address string) string {
	for _, name := range need.Endpoints() {
		if wire.SamePlace(address, s.Endpoint(name)) {
			return s.Alias(name)
		}
	}
	api := s.Target.API
	for _, resource := range []string{api.URL, api.Restricted} {
		if api.Certified != "" && resource != "" && wire.SamePlace(address, resource) {
			to := wire.ParseURL(address)
			origin := wire.ParseURL(api.Certified)
			to.Scheme, to.Host = origin.Scheme, origin.Host
			return to.String()
		}
	}
	return address
}

// Certified returns the address at which requests with a certificate reach an endpoint or the API.
func (t *T) Certified(address string) string { return t.server.certified(address) }

// AtAlias posts a form to the address of an endpoint for clients with certificates, also if the sender has none.
func (t *T) AtAlias(name need.Need, form url.Values, as wire.Auth) *wire.Answer {
	t.Endpoint(name)
	return t.Post(t.server.Alias(name), form, as)
}

// WantUncertified asserts that no token is issued for a token request at that address. The server may also end the TLS
// connection.
func (t *T) WantUncertified(form url.Values, as wire.Auth, why string) {
	t.UnlessTLSEnds(func() { t.WantRefused(t.AtAlias(need.Token, form, as), why) })
}

// UnlessTLSEnds sends a request that the server should refuse, and judges the answer. A server that ends the TLS
// connection has refused it too.
func (t *T) UnlessTLSEnds(judge func()) {
	defer func() {
		cause := recover()
		ended, is := cause.(stop)
		if cause != nil && !(is && ended.endedTLS) {
			panic(cause)
		}
	}()
	judge()
}

// blockedByTLS blocks the check if the server has ended the TLS connection.
func (t *T) blockedByTLS(err error) {
	if ended, is := errors.AsType[*wire.TLSError](err); is {
		panic(stop{status: Blocked, reason: "the server ended the connection: " + ended.Error(), endedTLS: true})
	}
}

// ForgedCertificate returns the name of a certificate with the names of that of a client. It signs itself.
func (t *T) ForgedCertificate(c *target.Client) string { return t.signedByItself(c.Certificate.Leaf) }

// OwnCertificate returns the name of a new certificate that signs itself, for a client that has registered none (RFC
// 8705 §4).
func (t *T) OwnCertificate() string {
	return t.signedByItself(&x509.Certificate{Subject: pkix.Name{CommonName: "conformance"}})
}

// signedByItself returns the name of a new certificate with the names of another one.
func (t *T) signedByItself(of *x509.Certificate) string {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Blockedf("%v", err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: of.Subject,
		DNSNames: of.DNSNames, URIs: of.URIs, IPAddresses: of.IPAddresses,
		EmailAddresses: of.EmailAddresses, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}
	signed, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Blockedf("%v", err)
	}
	name := "own-" + t.Random()
	t.server.network.Identify(name, &tls.Certificate{Certificate: [][]byte{signed}, PrivateKey: key})
	return name
}
