package provider

import (
	"crypto/x509"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"time"

	"mandate/provider/authorize"
	"mandate/provider/clientauth"
	"mandate/provider/clients"
	"mandate/provider/device"
	"mandate/provider/keys"
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

	Scopes        []policy.Scope // in the operator's order, in addition to policy.BuiltInScopes if OpenID is set
	DefaultScopes []string       // nil: every one of these scopes except introspection and those about the person
	StrictScopes  bool           // refuse a request with a scope that the application cannot get, in place of leaving it out

	Resources []resources.Registration // in addition to those in the database

	CodeLifetime            time.Duration
	AccessTokenLifetime     time.Duration
	JWTAccessTokenLifetime  time.Duration // for signed tokens, which an API verifies without the server
	RefreshTokenLifetime    time.Duration // for an unused refresh token
	RefreshTokenMaxLifetime time.Duration // of the whole token family
	RefreshGrace            time.Duration // for how long a replaced refresh token returns its successor again
	OpenRefreshGrace        time.Duration // the same, for applications for which nobody is responsible
	KeepRefreshTokens       bool          // for confidential applications that say nothing else; see policy.RotatesRefresh

	// AccessTokenMax and JWTAccessTokenMax are the longest lifetimes that an administrator
	// may set for an application. RefreshTokenMaxLifetime is the limit for refresh tokens. A
	// maximum is never less than the server's own lifetime.
	AccessTokenMax    time.Duration
	JWTAccessTokenMax time.Duration

	// GrantsByAdministrator and ScopesByAdministrator are the grant types and the scopes that
	// an application may have only if an administrator is responsible for it.
	GrantsByAdministrator []string
	ScopesByAdministrator []string
	PersonQuota           policy.Quota // for all applications of one person together
	OpenQuota             policy.Quota // for all applications together for which nobody is responsible
	Open                  clients.OpenConfig
	StatementIssuers      []registration.StatementIssuer // whose software statements are accepted
	// The longest lifetimes of the tokens of these applications.
	OpenAccessTokenLifetime, OpenRefreshTokenLifetime time.Duration

	PKCE string // which applications must use it: policy.PKCEForAll, policy.PKCEForPublic or policy.PKCEForPublicOnly
	// AlwaysAsk shows the consent page even if the person approved the same request before.
	AlwaysAsk bool
	// RedirectSchemes lists the permitted schemes of redirect URIs. If it is empty, these are
	// https, http to the person's own computer, and private-use schemes with a dot.
	RedirectSchemes []string
	// LocalhostLoopback permits any port in a redirect URI with http://localhost, as with
	// 127.0.0.1. It is for native clients that cannot use the IP address.
	LocalhostLoopback bool

	// OpenID turns the server into an OpenID Provider (OIDC Core).
	OpenID          bool
	IDTokenLifetime time.Duration
	RSAPrivateKey   string   // PEM; signs in place of the RSA keys that the server makes
	RSAInactiveKeys []string // PEM; only published, for the verification of old signatures
	KeyLifetime     time.Duration
	JWKSMaxAge      time.Duration

	DeviceCodeLifetime time.Duration // of the device code and the user code (RFC 8628)
	DeviceInterval     time.Duration // between two polls of a device
	DeviceMaxPending   int           // requests of devices of one application; 0: no limit

	// Pushed authorization requests (RFC 9126).
	RequirePushed    bool
	PushedLifetime   time.Duration // how long a request URI can be opened
	PushedMaxPending int           // unused pushed requests of one application; 0: no limit

	// RequireNonce refuses a DPoP proof without a nonce of this server (RFC 9449 §8).
	RequireNonce       bool
	RequireSigned      bool // refuse authorization requests that the client did not sign (RFC 9101 §10.5)
	ObjectsByReference bool // read request objects at addresses that an application registered

	RPLogout RPLogout
	// OutboundNetworks are the special-use addresses that the server may call if an
	// application has registered one. It calls no other special-use address.
	OutboundNetworks []netip.Prefix
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

	SessionLifetime time.Duration
	SessionIdle     time.Duration

	PasswordMinLength   int
	PasswordMemoryKiB   uint32
	PasswordIterations  uint32
	PasswordConcurrency int // 0: calculated from the cores and the memory

	// SecondFactor says of whom a second factor is demanded: one of the policies of package people. A
	// person has SecondFactorGrace for adding it, from the first sign-in under the policy.
	SecondFactor      string
	SecondFactorGrace time.Duration
	// MailServer is the URL of the SMTP server, and MailFrom the sender. If MailServer is empty
	// or Letters is nil, the server sends no mail.
	MailServer, MailFrom string
	Letters              notices.Letters
	// Name is the name of the service, in authenticator apps and in lists of passkeys. Empty: authenticator apps
	// show the host of the server.
	Name string
	// Languages are the language tags of those in which people can read pages and mail.
	Languages []string

	// SignUp says who may make an account: one of the policies of package people. SignUpDomains are the
	// domains of people who may do so without an invitation; none: there is no limit.
	SignUp             string
	SignUpDomains      []string
	SignUpMailsPerHour int           // that people who ask for an account can cause; 0: no limit
	InvitationLifetime time.Duration // unless an invitation says otherwise

	// SignInServers are other servers with which people sign in. Their RedirectURI is set by this
	// server.
	SignInServers []people.Server

	// EventRetention is how long the event log keeps a row; 0: for ever.
	EventRetention time.Duration

	SweepInterval time.Duration
	SweepBatch    int

	// MaxStaleness is how long a node uses its copies of applications and tokens while it
	// receives no notifications of changes from other nodes. 0: it then reads them each time.
	MaxStaleness time.Duration
}

// RPLogout holds the settings of logout by an application (OIDC RP-Logout).
type RPLogout struct {
	Enabled       bool
	AlwaysPrompt  bool // ask the person, even if the application sends a valid ID token
	StrictURIs    bool // permit post-logout redirect URIs with http:// only to confidential applications
	RefuseExpired bool // refuse an expired ID token as a hint
	KeepTokens    bool // do not revoke the tokens when the session ends
}

// rules returns the rules of package policy under this configuration.
func (c Config) rules() *policy.Rules {
	return policy.New(policy.Settings{
		Scopes: c.Scopes, DefaultScopes: c.DefaultScopes, OpenID: c.OpenID, StrictScopes: c.StrictScopes, PKCE: c.PKCE,
		AccessTokenLifetime: c.AccessTokenLifetime, JWTAccessTokenLifetime: c.JWTAccessTokenLifetime,
		RefreshTokenLifetime: c.RefreshTokenLifetime, RefreshTokenMaxLifetime: c.RefreshTokenMaxLifetime,
		AccessTokenMax: c.AccessTokenMax, JWTAccessTokenMax: c.JWTAccessTokenMax,
		GrantsByAdministrator: c.GrantsByAdministrator, ScopesByAdministrator: c.ScopesByAdministrator,
		KeyMethods: clientauth.KeyMethods(), PersonQuota: c.PersonQuota, OpenQuota: c.OpenQuota,
		OpenAccessTokenLifetime: c.OpenAccessTokenLifetime, OpenRefreshTokenLifetime: c.OpenRefreshTokenLifetime,
		RefreshGrace: c.RefreshGrace, OpenRefreshGrace: c.OpenRefreshGrace,
		AllowsDocument: c.Open.AllowsDocument, AllowsRegistration: c.Open.Registration, OpenSchemes: c.Open.Schemes,
	})
}

// people returns the settings of package people.
func (c Config) people() people.Config {
	return people.Config{
		SessionLifetime:    c.SessionLifetime,
		SessionIdle:        c.SessionIdle,
		PasswordMinLength:  c.PasswordMinLength,
		SecondFactor:       c.SecondFactor,
		SecondFactorGrace:  c.SecondFactorGrace,
		Name:               c.Name,
		ServerName:         c.serverName(),
		Passkeys:           passkey.Usable(c.origin()),
		Base:               c.tokens().Audience(),
		Servers:            c.servers(),
		Languages:          c.Languages,
		SignUp:             c.SignUp,
		SignUpDomains:      c.SignUpDomains,
		InvitationLifetime: c.InvitationLifetime,
	}
}

// servers returns the other servers with the redirect URI of each.
//
// RFC 9700 §4.4.2.2: with a redirect URI for each server, a response says which server it is of.
func (c Config) servers() []people.Server {
	servers := slices.Clone(c.SignInServers)
	for i := range servers {
		servers[i].RedirectURI = c.tokens().Audience() + "/login/with/" + servers[i].Name + "/callback/"
	}
	return servers
}

// serverName returns the name of this server in an authenticator app.
func (c Config) serverName() string {
	if c.Name != "" {
		return c.Name
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
	if c.MailServer == "" {
		return nil, nil
	}
	return mail.New(mail.Config{URL: c.MailServer, From: c.MailFrom})
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
		ObjectsByReference: c.ObjectsByReference,
		StrictURIs:         c.RPLogout.StrictURIs,
		Redirects:          c.redirects(),
		Open:               c.open(),
		SampleSecret:       sampleSecret,
	}
}

// registration returns the settings of package registration.
func (c Config) registration() registration.Config {
	return registration.Config{
		OpenID:     c.OpenID,
		Open:       c.open(),
		URL:        c.Issuer + "/register/",
		Issuer:     c.Issuer,
		Statements: c.StatementIssuers,
	}
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
		open.Outbound.Networks = c.OutboundNetworks
	}
	return open
}

// resources returns the settings of package resources.
func (c Config) resources() resources.Config {
	return resources.Config{Server: c.tokens().Audience(), Configured: c.Resources}
}

// CheckResource returns what is wrong with a configured resource. others are the ones before it.
func (c Config) CheckResource(r resources.Registration, others []resources.Registration) []oauth.FieldError {
	return resources.Check(r, c.rules(), c.tokens().Audience(), others).Fields
}

// tokens returns the settings of package tokens.
func (c Config) tokens() tokens.Config {
	return tokens.Config{
		Issuer:                  c.Issuer,
		OpenID:                  c.OpenID,
		IDTokenLifetime:         c.IDTokenLifetime,
		RefreshTokenMaxLifetime: c.RefreshTokenMaxLifetime,
		PersonTokensPerMinute:   c.PersonQuota.TokensPerMinute,
		OpenTokensPerMinute:     c.OpenQuota.TokensPerMinute,
	}
}

// possession returns the settings of package possession.
func (c Config) possession() possession.Config {
	return possession.Config{Bases: c.bases(), RequireNonce: c.RequireNonce}
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
	return logout.Config{
		Issuer:        c.Issuer,
		AlwaysPrompt:  c.RPLogout.AlwaysPrompt,
		RefuseExpired: c.RPLogout.RefuseExpired,
		KeepTokens:    c.RPLogout.KeepTokens,
		Redirects:     c.redirects(),
	}
}

// device returns the settings of package device.
func (c Config) device() device.Config {
	return device.Config{
		Page:       c.tokens().Audience() + "/device",
		Lifetime:   c.DeviceCodeLifetime,
		Interval:   c.DeviceInterval,
		MaxPending: c.DeviceMaxPending,
	}
}

// authorize returns the settings of package authorize.
func (c Config) authorize(acrValues []string) authorize.Config {
	return authorize.Config{
		Issuer:             c.Issuer,
		OpenID:             c.OpenID,
		AlwaysAsk:          c.AlwaysAsk,
		CodeLifetime:       c.CodeLifetime,
		RequirePushed:      c.RequirePushed,
		RequireSigned:      c.RequireSigned,
		ObjectsByReference: c.ObjectsByReference,
		PushedLifetime:     c.PushedLifetime,
		MaxPushed:          c.PushedMaxPending,
		ACRValues:          acrValues,
	}
}

// keys returns the settings of package keys.
func (c Config) keys(rules *policy.Rules) keys.Config {
	return keys.Config{
		OpenID:                 c.OpenID,
		RSAPrivateKey:          c.RSAPrivateKey,
		RSAInactiveKeys:        c.RSAInactiveKeys,
		KeyLifetime:            c.KeyLifetime,
		JWKSMaxAge:             c.JWKSMaxAge,
		SessionLifetime:        c.SessionLifetime,
		IDTokenLifetime:        c.IDTokenLifetime,
		MaxStaleness:           c.MaxStaleness,
		JWTAccessTokenLifetime: c.JWTAccessTokenLifetime,
		JWTMax:                 rules.Allowance(policy.StandingAdministrator).JWTMax,
		LongestSigned:          resources.LongestSigned(c.Resources),
	}
}

// Allowance returns what a standing permits under this configuration.
func (c Config) Allowance(s policy.Standing) policy.Allowance { return c.rules().Allowance(s) }

// redirects returns the rules for redirect URIs.
func (c Config) redirects() redirect.Policy {
	return redirect.Policy{Schemes: c.RedirectSchemes, LocalhostLoopback: c.LocalhostLoopback}
}
