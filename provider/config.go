package provider

import (
	"crypto/x509"
	"net/http"
	"net/url"
	"slices"
	"time"

	"mandate/provider/authorize"
	"mandate/provider/clientauth"
	"mandate/provider/clients"
	"mandate/provider/device"
	"mandate/provider/grant"
	"mandate/provider/keys"
	"mandate/provider/limits"
	"mandate/provider/logout"
	"mandate/provider/loopback"
	"mandate/provider/mail"
	"mandate/provider/notices"
	"mandate/provider/oauth"
	"mandate/provider/outbound"
	"mandate/provider/passkey"
	"mandate/provider/people"
	"mandate/provider/policy"
	"mandate/provider/possession"
	"mandate/provider/redirect"
	"mandate/provider/registration"
	"mandate/provider/resources"
	"mandate/provider/tokens"
)

// Config holds the operator's settings.
type Config struct {
	Issuer    string // {base_url}/o: the issuer in the metadata and in iss
	ServerKey []byte // 32 bytes; the keys that encrypt stored values are derived from it

	// The settings of components. What they need of each other is set by New.
	policy.Settings
	Tokens       tokens.Config
	Resources    resources.Config // in addition to those in the database
	Open         clients.OpenConfig
	Registration registration.Config
	Authorize    authorize.Config
	Device       device.Config
	Proofs       possession.Config
	Grant        grant.Config
	Redirects    redirect.Policy
	Keys         keys.Config
	Logout       logout.Config
	// the special-use networks that the server may call if an application has registered an address there
	Outbound outbound.Config
	People   people.Config
	Notices  notices.Config
	Hashing  limits.Config
	Mail     mail.Config

	// DocumentHost is a server on this machine that metadata documents of clients may be
	// fetched from, for a check of this server; nil: there is none.
	DocumentHost *outbound.Peer
	// TraceOutbound wraps the transport of each outbound call, for tracing; nil: no tracing.
	TraceOutbound func(http.RoundTripper) http.RoundTripper

	// ClientCertificates says that the server gets the certificates of clients, from TLS or
	// from a reverse proxy. ClientAuthorities issue those of clients with tls_client_auth (RFC
	// 8705 §2.1); nil: no client has one. CertificateURL is the base URL at which clients with
	// a certificate reach the server, or "".
	ClientCertificates bool
	ClientAuthorities  *x509.CertPool
	CertificateURL     string

	// Letters writes the mail to people. If it is nil, or Mail names no server, the server sends no mail.
	Letters notices.Letters

	// EventRetention is how long the event log keeps a row; 0: for ever.
	EventRetention time.Duration

	SweepInterval time.Duration
	SweepBatch    int

	// MaxStaleness is how long a node uses its copies of applications and tokens while it
	// receives no notifications of changes from other nodes. 0: it then reads them each time.
	MaxStaleness time.Duration
}

// rules returns the rules of package policy under this configuration.
func (c Config) rules() *policy.Rules {
	all := c.Settings
	all.KeyMethods, all.OpenSchemes = clientauth.OpenMethods(), c.Open.Schemes
	all.AllowsDocument, all.AllowsRegistration = c.Open.AllowsDocument, c.Open.Registration()
	return policy.New(all)
}

// people returns the settings of package people.
func (c Config) people() people.Config {
	all := c.People
	all.ServerName, all.Base, all.Servers = c.serverName(), c.tokens().Audience(), c.servers()
	all.Passkeys = passkey.Usable(c.origin())
	return all
}

// servers returns the other servers with the redirect URI of each.
//
// RFC 9700 §4.4.2.2: with a redirect URI for each server, a response says which server it is of.
func (c Config) servers() []people.Server {
	servers := slices.Clone(c.People.Servers)
	for i := range servers {
		servers[i].RedirectURI = c.tokens().Audience() + "/login/with/" + servers[i].Name + "/callback/"
	}
	return servers
}

// serverName returns the name of this server in an authenticator app.
func (c Config) serverName() string {
	if c.People.Name != "" {
		return c.People.Name
	}
	u, err := url.Parse(c.Issuer)
	if err != nil || u.Host == "" {
		return c.Issuer
	}
	return u.Host
}

// origin returns the origin of the server's pages. It is empty if the issuer is not a URL.
func (c Config) origin() *url.URL {
	at, err := url.Parse(c.Issuer)
	if err != nil {
		return &url.URL{}
	}
	return &url.URL{Scheme: at.Scheme, Host: at.Host}
}

// mail returns the sender of mail, or nil if there is no mail server.
func (c Config) mail() (*mail.Sender, error) {
	if c.Mail.URL == "" {
		return nil, nil
	}
	return mail.New(c.Mail)
}

// clients returns the settings of package clients. They contain a key that is derived from
// the server key, and not the server key itself.
func (c Config) clients(sampleSecret string) clients.Config {
	return clients.Config{
		Config: clientauth.Config{
			Issuer:       c.Issuer,
			Bases:        c.bases(),
			Certificates: c.ClientCertificates,
			Authorities:  c.ClientAuthorities,
		},
		OpenID:             c.OpenID,
		ObjectsByReference: c.Authorize.ObjectsByReference,
		StrictURIs:         c.Logout.StrictURIs,
		Redirects:          c.Redirects,
		Open:               c.open(),
		SampleSecret:       sampleSecret,
	}
}

// registration returns the settings of package registration.
func (c Config) registration() registration.Config {
	all := c.Registration
	all.OpenID, all.Open, all.URL, all.Issuer = c.OpenID, c.open(), c.Issuer+"/register/", c.Issuer
	return all
}

// open returns the settings for applications that come by themselves.
//
// CIMD-02 §8.6: a document is not fetched from a
// special-use address. The networks of the operator are an exception if the operator also
// says which hosts may come: otherwise anybody could name a host there. A loopback address is
// one only while this server is on it too, which no server in production is.
func (c Config) open() clients.OpenConfig {
	open := c.Open
	at, err := url.Parse(c.Issuer)
	open.Outbound = outbound.Config{
		Trace:      c.TraceOutbound,
		Peer:       c.DocumentHost,
		NoLoopback: err != nil || !loopback.InBrowser(at.Hostname()),
	}
	if len(open.Hosts) > 0 {
		open.Outbound.Networks = c.Outbound.Networks
	}
	return open
}

// resources returns the settings of package resources.
func (c Config) resources() resources.Config {
	all := c.Resources
	all.Server = c.tokens().Audience()
	return all
}

// CheckResource returns what is wrong with a configured resource. others are the ones before it.
func (c Config) CheckResource(r resources.Registration, others []resources.Registration) []oauth.FieldError {
	return resources.Check(r, c.rules(), c.tokens().Audience(), others).Fields
}

// tokens returns the settings of package tokens.
func (c Config) tokens() tokens.Config {
	all := c.Tokens
	all.Issuer, all.OpenID, all.RefreshTokenMaxLifetime = c.Issuer, c.OpenID, c.RefreshTokenMaxLifetime
	all.PersonTokensPerMinute, all.OpenTokensPerMinute = c.PersonQuota.TokensPerMinute, c.OpenQuota.TokensPerMinute
	return all
}

// possession returns the settings of package possession.
func (c Config) possession() possession.Config {
	proofs := c.Proofs
	proofs.Bases = c.bases()
	return proofs
}

// bases returns the URLs that the addresses of the endpoints begin with: those of the metadata,
// and those of mtls_endpoint_aliases.
func (c Config) bases() []string {
	if c.CertificateURL == "" {
		return []string{c.Issuer}
	}
	return []string{c.Issuer, c.CertificateURL + "/o"}
}

// logout returns the settings of package logout.
func (c Config) logout() logout.Config {
	out := c.Logout
	out.Issuer, out.Redirects = c.Issuer, c.Redirects
	return out
}

// device returns the settings of package device.
func (c Config) device() device.Config {
	devices := c.Device
	devices.Page = c.tokens().Audience() + "/device"
	return devices
}

// authorize returns the settings of package authorize.
func (c Config) authorize(acrValues []string) authorize.Config {
	requests := c.Authorize
	requests.Issuer, requests.OpenID, requests.ACRValues = c.Issuer, c.OpenID, acrValues
	return requests
}

// keys returns the settings of package keys.
func (c Config) keys(rules *policy.Rules) keys.Config {
	ring := c.Keys
	ring.OpenID, ring.IDTokenLifetime, ring.JWTAccessTokenLifetime = c.OpenID, c.Tokens.IDTokenLifetime,
		c.JWTAccessTokenLifetime
	ring.SessionLifetime, ring.MaxStaleness = c.People.SessionLifetime, c.MaxStaleness
	ring.JWTMax = rules.Allowance(policy.StandingAdministrator).JWTMax
	ring.LongestSigned = resources.LongestSigned(c.Resources.Configured)
	return ring
}

// Allowance returns what a standing permits under this configuration.
func (c Config) Allowance(s policy.Standing) policy.Allowance { return c.rules().Allowance(s) }
