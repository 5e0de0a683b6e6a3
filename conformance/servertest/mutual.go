package servertest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"mandate/conformance/need"
	"mandate/conformance/target"
	"mandate/conformance/wire"
)

// authority issues the certificates of clients.
type authority struct {
	dir         string
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

// newAuthority makes an authority, whose certificate is a file in a folder.
func newAuthority(dir string) (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	a := &authority{dir: dir, key: key}
	a.certificate = &x509.Certificate{Subject: pkix.Name{CommonName: "conformance authority"}, IsCA: true,
		BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	a.certificate, err = a.write("authority", a.certificate, key)
	return a, err
}

func (a *authority) path(name string) string { return filepath.Join(a.dir, name+".pem") }

// write signs a certificate, and writes it and its key to files.
func (a *authority) write(name string, template *x509.Certificate, key *ecdsa.PrivateKey) (*x509.Certificate, error) {
	template.SerialNumber = big.NewInt(time.Now().UnixNano())
	template.NotBefore, template.NotAfter = time.Now().Add(-time.Hour), time.Now().AddDate(1, 0, 0)
	signed, err := x509.CreateCertificate(rand.Reader, template, a.certificate, &key.PublicKey, a.key)
	if err != nil {
		return nil, err
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err == nil {
		err = errors.Join(os.WriteFile(a.path(name), pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: signed}),
			0o600),
			os.WriteFile(a.path(name+"-key"), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}), 0o600))
	}
	if err != nil {
		return nil, err
	}
	return x509.ParseCertificate(signed)
}

// subject is the name in the certificate of a client.
func subject(c *target.Client) string { return string(c.Role) + ".client.example" }

// issue gives a client a certificate, which signs itself if the client authenticates in this way.
func (a *authority) issue(c *target.Client) (*x509.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{Subject: pkix.Name{CommonName: subject(c)}, DNSNames: []string{subject(c)},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}
	by, name := a, string(c.Role)+"-"+c.Auth
	if c.Auth == need.SelfSignedAuth {
		by = &authority{a.dir, template, key}
	}
	c.CertificateFile, c.KeyFile = a.path(name), a.path(name+"-key")
	return by.write(name, template, key)
}

// certifiedKey returns the public key of a certificate as a JWK (RFC 8705 §2.2.2).
func certifiedKey(of *x509.Certificate) map[string]any {
	point, _ := of.PublicKey.(*ecdsa.PublicKey).Bytes() // the key is of P-256
	encode := base64.RawURLEncoding.EncodeToString
	return map[string]any{"kty": "EC", "crv": "P-256", "x": encode(point[1:33]), "y": encode(point[33:]),
		"x5c": []string{base64.StdEncoding.EncodeToString(of.Raw)}}
}

// askForCertificates starts a reverse proxy with TLS that asks clients for certificates, and returns its address. It
// passes a certificate in the header Client-Cert (RFC 9440 §2.2), and removes one that a client sends (RFC 9440 §4).
func (s *Server) askForCertificates() (string, error) {
	pair, err := tls.LoadX509KeyPair(s.Certificate(), s.key())
	if err != nil {
		return "", err
	}
	to, err := url.Parse(s.known())
	if err != nil {
		return "", err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(to)
		r.Out.Header.Del("Client-Cert")
		if of := r.In.TLS.PeerCertificates; len(of) > 0 {
			r.Out.Header.Set("Client-Cert", ":"+base64.StdEncoding.EncodeToString(of[0].Raw)+":")
		}
	}}
	server := &http.Server{Handler: proxy, ReadHeaderTimeout: time.Minute, ErrorLog: log.New(io.Discard, "", 0),
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{pair}, ClientAuth: tls.RequestClientCert}}
	go server.ServeTLS(l, "", "") // it ends with the tests
	cleanups = append(cleanups, func() { server.Close() })
	return "https://" + l.Addr().String(), nil
}

// Options returns how the checks reach the server: they trust the certificate of the proxy for clients with
// certificates.
func (s *Server) Options() wire.Options {
	text, err := os.ReadFile(s.Certificate())
	if err != nil {
		return wire.Options{}
	}
	trusted := x509.NewCertPool()
	trusted.AppendCertsFromPEM(text)
	return wire.Options{CA: trusted}
}
