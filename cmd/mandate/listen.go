package main

import (
	"fmt"
	"log/slog"
	"net"
	"net/url"

	"mandate/cmd/mandate/config"
	"mandate/cmd/mandate/httpserve"
)

// certificateOf reads the certificate of LISTEN, for clients that use a base URL. It
// returns nil if the settings name no certificate.
func certificateOf(c *config.Config, base string, log *slog.Logger) (*httpserve.Certificate, error) {
	if c.TLSCertificateFile == "" {
		return nil, nil
	}
	at, err := url.Parse(base)
	if err != nil {
		return nil, fmt.Errorf("BASE_URL: %w", err)
	}
	return httpserve.LoadCertificate(c.TLSCertificateFile, c.TLSKeyFile, at.Hostname(), log)
}

// listen binds LISTEN, with TLS if there is a certificate.
func listen(c *config.Config, certificate *httpserve.Certificate) (net.Listener, error) {
	l, err := httpserve.Listen(c.Listen, "LISTEN")
	if err != nil || certificate == nil {
		return l, err
	}
	return certificate.Secure(l), nil
}
