package config

import (
	"net/netip"
	"time"
)

// Address is where the server is reached.
type Address struct {
	// BaseURL is the URL by which browsers and clients reach the server: scheme, host and an optional path. The issuer
	// is this URL followed by `/o` (RFC 8414 §2).
	//
	// Plain http works for loopback hosts only, unless `ALLOW_INSECURE_HTTP` is set. If it is not set and `LISTEN` is
	// a loopback address or binds every address, the default has the port of `LISTEN` (and its loopback address), and
	// `https` if `TLS_CERTIFICATE_FILE` is set. Passkeys are bound to its host: after a change of the host, people
	// must add new ones. Browsers offer none at an IP address.
	BaseURL string `key:"BASE_URL" default:"http://127.0.0.1:8000" subject:"Address"`
	// AllowInsecureHTTP allows plain http beyond this machine in `BASE_URL`, `LOGIN_URL`, the introspection URL, the
	// URL of the key set and, if tokens are forwarded, `UPSTREAM`.
	//
	// Everybody on the network path can then read tokens and passwords (against RFC 6749 §3.1 and §3.2). For a test
	// network without certificates.
	AllowInsecureHTTP bool `key:"ALLOW_INSECURE_HTTP" default:"false"`
	// Listen is the address and port that the server binds. An empty host (`:8000`) binds every address.
	//
	// `unix:/run/mandate.sock` is a socket for a reverse proxy on this machine, and `systemd` or `systemd:NAME` is a
	// socket that systemd has opened (`FileDescriptorName=`). Both need `BASE_URL`. A peer at a file counts as
	// `127.0.0.1`, so `TRUSTED_PROXIES` needs this address. `MTLS_LISTEN` and `OPS_LISTEN` have the same forms.
	Listen string `key:"LISTEN" default:"127.0.0.1:8000"`
	// TLSCertificateFile is a PEM file with the certificate of the server, followed by those of its issuers.
	//
	// With it and `TLS_KEY_FILE`, `LISTEN` speaks TLS 1.3 and 1.2 and HTTP/2, and no plain http. The files are read
	// again when they change. If it is empty, `LISTEN` speaks plain http, and a reverse proxy does TLS.
	TLSCertificateFile string `key:"TLS_CERTIFICATE_FILE" default:""`
	// TLSKeyFile is a PEM file with the private key of the certificate in `TLS_CERTIFICATE_FILE`, without a
	// passphrase.
	TLSKeyFile string `key:"TLS_KEY_FILE" default:""`
}

// MTLS is how clients show certificates.
type MTLS struct {
	// MTLSListen is the address and port of a second listener that serves the same as `LISTEN` and asks each client
	// for a certificate (RFC 8705).
	//
	// Browsers show a dialog when a server asks, so `LISTEN` never does. It needs `TLS_CERTIFICATE_FILE`.
	MTLSListen string `key:"MTLS_LISTEN" default:"" subject:"Client certificates"`
	// MTLSBaseURL is the URL by which clients with a certificate reach the server: `MTLS_LISTEN`, or a host of the
	// reverse proxy that asks for certificates.
	//
	// The metadata names its endpoints (`mtls_endpoint_aliases`, RFC 8705 §5). Its path must be that of `BASE_URL`. If
	// it is not set, it is `BASE_URL` with the port of `MTLS_LISTEN`. `mandate resource-server` does not use it.
	MTLSBaseURL string `key:"MTLS_BASE_URL" default:""`
	// MTLSClientAuthoritiesFile is a PEM file with the certificates of the authorities that issue the certificates of
	// clients.
	//
	// An application with the method `tls_client_auth` needs a certificate of one of them; those of the operating
	// system do not count. The method `self_signed_tls_client_auth` needs no file. The file is read at the start.
	MTLSClientAuthoritiesFile string `key:"MTLS_CLIENT_AUTHORITIES_FILE" default:""`
	// MTLSCertificateHeader is the header in which the `TRUSTED_PROXIES` pass the certificate of a client, such as
	// `Client-Cert`. If it is empty, no header is read.
	//
	// `Client-Cert` is that of RFC 9440. Another header has the certificate in PEM, percent-encoded, as nginx writes
	// `$ssl_client_escaped_cert`. The proxy must remove the header that a client sends.
	MTLSCertificateHeader string `key:"MTLS_CERTIFICATE_HEADER" default:""`
}

// Ops is what operators see of a node.
type Ops struct {
	// OpsListen is the address and port of a second listener, for operators: `/healthz`, `/readyz`, and `/metrics` for
	// Prometheus.
	//
	// It has no TLS and no authentication: choose an address that only operators reach (`127.0.0.1:9000`). If it is
	// empty, `LISTEN` serves health and readiness, and there are no metrics.
	OpsListen string `key:"OPS_LISTEN" default:"" subject:"Health and metrics"`
	// OpsPprof adds Go's profiles (`/debug/pprof/`) to `OPS_LISTEN`.
	OpsPprof bool `key:"OPS_PPROF" default:"false"`
}

// Secret is the key of the server.
type Secret struct {
	// SecretKey is the key that encrypts recoverable secrets in the database: 32 random bytes in base64 (`openssl rand
	// -base64 32`), the same on every node.
	//
	// It is required with PostgreSQL. With SQLite, if it is not set, the server creates a key and keeps it in a file
	// beside the database (`<database>.key`).
	SecretKey string `key:"SECRET_KEY" default:"" secret:"true" subject:"Database and key"`
}

// Log is the log of this node.
type Log struct {
	// LogLevel is the lowest level that is logged.
	LogLevel string `key:"LOG_LEVEL" default:"info" oneof:"debug info warn error" subject:"Log and events"`
	// LogFormat is the format of a log line.
	LogFormat string `key:"LOG_FORMAT" default:"text" oneof:"text json"`
}

// Requests is what the server accepts from everybody.
type Requests struct {
	// LoginURL is where the server sends a visitor who is not signed in: a path of this server or an absolute URL. If
	// it is empty, the built-in page `/login/` is used.
	LoginURL string `key:"LOGIN_URL" default:"" subject:"Requests" after:"SECRET_KEY"`
	// TrustedProxies lists the addresses and networks (CIDR) of reverse proxies whose `X-Forwarded-For` header the
	// server uses.
	//
	// It ignores the header of everybody else (RFC 9700 §4.13).
	TrustedProxies []netip.Prefix `key:"TRUSTED_PROXIES" default:"[]"`
	// MaxBodyBytes is the largest request body that the server reads, in bytes.
	MaxBodyBytes int64 `key:"MAX_BODY_BYTES" default:"65536" min:"8192" max:"16777216" after:"EVENT_RETENTION_DAYS"`
}

// Stop is how the server ends.
type Stop struct {
	// Shutdown is the number of seconds that requests in progress have to finish after the server was told to stop.
	Shutdown time.Duration `key:"SHUTDOWN_SECONDS" default:"15" min:"0" max:"600" subject:"Start and stop"`
	// ShutdownDelay is the number of seconds for which the server still accepts requests after it was told to stop,
	// while `/readyz` answers 503.
	//
	// Set it to the time that a load balancer needs to notice, so that it sends no request to a closed port.
	// `SHUTDOWN_SECONDS` begins after this delay.
	ShutdownDelay time.Duration `key:"SHUTDOWN_DELAY_SECONDS" default:"0" min:"0" max:"600"`
}
