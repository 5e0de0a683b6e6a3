// Package config reads the settings of the program: one YAML file, each key of
// which an environment variable may override. It reports every mistake at once,
// each with its file, line and key, and never repeats a value that may be secret.
package config

import (
	"net/netip"
	"time"
)

// Config is the whole configuration. The tags contain the keys and the defaults,
// the comments explain them; the documentation of the settings is generated from both.
//
// In the file a time.Duration is a whole number of seconds. The tags min and max
// limit a number, oneof lists the allowed words. The tag secret marks a value that
// is never shown ("url": only the password in it is hidden) and that can be read
// from a file, which `<KEY>_FILE` names.
type Config struct {
	// BaseURL is the URL by which browsers and clients reach the server: scheme, host and an optional path. The issuer is this URL followed by `/o` (RFC 8414 §2). Plain http works for loopback hosts only, unless `ALLOW_INSECURE_HTTP` is set. If it is not set and `LISTEN` is a loopback address or binds every address, the default has the port of `LISTEN` (and its loopback address), and `https` if `TLS_CERTIFICATE_FILE` is set. Passkeys are bound to its host: after a change of the host, people must add new ones. Browsers offer none at an IP address.
	BaseURL string `key:"BASE_URL" default:"http://127.0.0.1:8000"`
	// AllowInsecureHTTP allows plain http beyond this machine in `BASE_URL`, `LOGIN_URL`, the introspection URL, the URL of the key set and, if tokens are forwarded, `UPSTREAM`. Everybody on the network path can then read tokens and passwords (against RFC 6749 §3.1 and §3.2). For a test network without certificates.
	AllowInsecureHTTP bool `key:"ALLOW_INSECURE_HTTP" default:"false"`
	// Listen is the address and port that the server binds. An empty host (`:8000`) binds every address. `unix:/run/mandate.sock` is a socket for a reverse proxy on this machine, and `systemd` or `systemd:NAME` is a socket that systemd has opened (`FileDescriptorName=`). Both need `BASE_URL`. A peer at a file counts as `127.0.0.1`, so `TRUSTED_PROXIES` needs this address. `MTLS_LISTEN` and `OPS_LISTEN` have the same forms.
	Listen string `key:"LISTEN" default:"127.0.0.1:8000"`
	// TLSCertificateFile is a PEM file with the certificate of the server, followed by those of its issuers. With it and `TLS_KEY_FILE`, `LISTEN` speaks TLS 1.3 and 1.2 and HTTP/2, and no plain http. The files are read again when they change. If it is empty, `LISTEN` speaks plain http, and a reverse proxy does TLS.
	TLSCertificateFile string `key:"TLS_CERTIFICATE_FILE" default:""`
	// TLSKeyFile is a PEM file with the private key of the certificate in `TLS_CERTIFICATE_FILE`, without a passphrase.
	TLSKeyFile string `key:"TLS_KEY_FILE" default:""`
	// MTLSListen is the address and port of a second listener that serves the same as `LISTEN` and asks each client for a certificate (RFC 8705). Browsers show a dialog when a server asks, so `LISTEN` never does. It needs `TLS_CERTIFICATE_FILE`.
	MTLSListen string `key:"MTLS_LISTEN" default:""`
	// MTLSBaseURL is the URL by which clients with a certificate reach the server: `MTLS_LISTEN`, or a host of the reverse proxy that asks for certificates. The metadata names its endpoints (`mtls_endpoint_aliases`, RFC 8705 §5). Its path must be that of `BASE_URL`. If it is not set, it is `BASE_URL` with the port of `MTLS_LISTEN`. `mandate resource-server` does not use it.
	MTLSBaseURL string `key:"MTLS_BASE_URL" default:""`
	// MTLSClientAuthoritiesFile is a PEM file with the certificates of the authorities that issue the certificates of clients. An application with the method `tls_client_auth` needs a certificate of one of them; those of the operating system do not count. The method `self_signed_tls_client_auth` needs no file. The file is read at the start.
	MTLSClientAuthoritiesFile string `key:"MTLS_CLIENT_AUTHORITIES_FILE" default:""`
	// MTLSCertificateHeader is the header in which the `TRUSTED_PROXIES` pass the certificate of a client: `Client-Cert` (RFC 9440), or another one with the certificate in PEM, percent-encoded, as nginx writes `$ssl_client_escaped_cert`. The proxy must remove the header that a client sends. If it is empty, no header is read.
	MTLSCertificateHeader string `key:"MTLS_CERTIFICATE_HEADER" default:""`
	// OpsListen is the address and port of a second listener, for operators: `/healthz`, `/readyz`, and `/metrics` for Prometheus. It has no TLS and no authentication: choose an address that only operators reach (`127.0.0.1:9000`). If it is empty, `LISTEN` serves health and readiness, and there are no metrics.
	OpsListen string `key:"OPS_LISTEN" default:""`
	// OpsPprof adds Go's profiles (`/debug/pprof/`) to `OPS_LISTEN`.
	OpsPprof bool `key:"OPS_PPROF" default:"false"`
	// DatabaseURL is `sqlite:///file.db` (relative to the working directory), `sqlite:////srv/file.db` (absolute) or `postgres://user:password@host/database?sslmode=verify-full`. Several PostgreSQL hosts are separated by commas (`host1:5432,host2:5432`): the server uses the one that accepts writes.
	DatabaseURL string `key:"DATABASE_URL" default:"sqlite:///mandate.db" secret:"url"`
	// DatabaseListenURL is the PostgreSQL URL by which a node receives notifications about changes that other nodes make. It is needed if `DATABASE_URL` leads to a pooler that gives each transaction another connection. If it is empty, `DATABASE_URL` is used.
	DatabaseListenURL string `key:"DATABASE_LISTEN_URL" default:"" secret:"url"`
	// DatabaseMaxConnections is the largest number of PostgreSQL connections that a node opens, besides the one that receives notifications.
	DatabaseMaxConnections int `key:"DATABASE_MAX_CONNECTIONS" default:"32" min:"2" max:"1000"`
	// SecretKey is the key that encrypts recoverable secrets in the database: 32 random bytes in base64 (`openssl rand -base64 32`), the same on every node. It is required with PostgreSQL. With SQLite, if it is not set, the server creates a key and keeps it in a file beside the database (`<database>.key`).
	SecretKey string `key:"SECRET_KEY" default:"" secret:"true"`
	// LoginURL is where the server sends a visitor who is not signed in: a path of this server or an absolute URL. If it is empty, the built-in page `/login/` is used.
	LoginURL string `key:"LOGIN_URL" default:""`
	// SampleAPI adds the sample protected API (`/users/`, `/groups/`, `/resource`, `/resource/recent`).
	SampleAPI bool `key:"SAMPLE_API" default:"false"`
	// TrustedProxies lists the addresses and networks (CIDR) of reverse proxies whose `X-Forwarded-For` header the server uses. It ignores the header of everybody else (RFC 9700 §4.13).
	TrustedProxies []netip.Prefix `key:"TRUSTED_PROXIES" default:"[]"`
	// OutboundAllowedNetworks lists special-use networks (CIDR), such as `10.0.0.0/8`, in which the server may call registered back-channel logout URIs and fetch the keys of `SOFTWARE_STATEMENT_ISSUERS`, and in which the `SIGN_IN_SERVERS` may be. It calls the addresses of applications for which nobody is responsible (see `OPEN_CLIENTS`), and fetches their metadata documents, there too if `OPEN_HOSTS` lists their hosts, and at a loopback address only while `BASE_URL` has one. All other special-use addresses are refused: by default the server calls public addresses only (RFC 6890).
	OutboundAllowedNetworks []netip.Prefix `key:"OUTBOUND_ALLOWED_NETWORKS" default:"[]"`
	// SessionCookieAge is the lifetime of a browser session in seconds, counted from the sign-in.
	SessionCookieAge time.Duration `key:"SESSION_COOKIE_AGE" default:"1209600" min:"60" max:"31536000"`
	// SessionIdle is the number of seconds after which a browser session without a request ends. The default is lowered to `SESSION_COOKIE_AGE` if that is smaller.
	SessionIdle time.Duration `key:"SESSION_IDLE_SECONDS" default:"259200" min:"60" max:"31536000"`
	// LogLevel is the lowest level that is logged.
	LogLevel string `key:"LOG_LEVEL" default:"info" oneof:"debug info warn error"`
	// LogFormat is the format of a log line.
	LogFormat string `key:"LOG_FORMAT" default:"text" oneof:"text json"`
	// PasswordMinLength is the smallest number of characters in a new password. NIST SP 800-63B-4 §3.1.1.2 requires 15 if the password is the only factor. Passwords that are commonly used or expected are refused whatever their length. Existing passwords stay valid.
	PasswordMinLength int `key:"PASSWORD_MIN_LENGTH" default:"15" min:"1" max:"64"`
	// SecondFactor says of whom a second factor is demanded beside the password: `optional` leaves it to each person, `administrators` demands it of administrators, `everybody` of all people. A person who must have one and has none adds it at the sign-in, once `SECOND_FACTOR_GRACE_DAYS` are over. The password grant is refused for a person who signs in with a second factor.
	SecondFactor string `key:"SECOND_FACTOR" default:"optional" oneof:"optional administrators everybody"`
	// SecondFactorGraceDays is the number of days for which a person of whom `SECOND_FACTOR` demands a second factor may still sign in without one. The days count from the first sign-in under the policy. With 0, the person adds one at that sign-in.
	SecondFactorGraceDays int `key:"SECOND_FACTOR_GRACE_DAYS" default:"7" min:"0" max:"365"`
	// SignUp says who may make an account of their own: with `off` nobody, with `invited` people whom an administrator or the operator has [invited](sign-up.md), with `open` also everybody else who reads the mail of an address. `open` needs `SMTP_URL`.
	SignUp string `key:"SIGN_UP" default:"invited" oneof:"off invited open"`
	// SignUpAllowedDomains are the only domains of the addresses of people who make an account without an invitation, in lower case. A subdomain needs an entry of its own. If the list is empty, every domain is allowed.
	SignUpAllowedDomains []string `key:"SIGN_UP_ALLOWED_DOMAINS" default:"[]"`
	// SignUpMaxMailsPerHour is the largest number of messages that people who ask for an account can cause in one hour. One IPv4 /24 or IPv6 /48 may have a tenth of it (at least one). 0 means no limit.
	SignUpMaxMailsPerHour int `key:"SIGN_UP_MAX_MAILS_PER_HOUR" default:"1000" min:"0" max:"1000000"`
	// InvitationExpire is the number of seconds for which an invitation works, unless the inviter says otherwise.
	InvitationExpire time.Duration `key:"INVITATION_EXPIRE_SECONDS" default:"604800" min:"60" max:"31536000"`
	// SignInServers are other OpenID Providers with which people [sign in](sign-in.md#with-another-server), as items of the form `{NAME: company, LABEL: Example Company, ISSUER: https://login.example.com, CLIENT_ID: mandate, CLIENT_SECRET_FILE: /run/secrets/company}`. The login page has a button for each, in this order. Register the redirect URI `BASE_URL/login/with/NAME/callback/` there.
	SignInServers []SignInServer `key:"SIGN_IN_SERVERS" default:"[]"`
	// PasswordHashMemoryKiB is the memory of one Argon2id hash in KiB (RFC 9106 §3.1).
	PasswordHashMemoryKiB int `key:"PASSWORD_HASH_MEMORY_KIB" default:"19456" min:"7168" max:"1048576"`
	// PasswordHashIterations is the number of passes of one Argon2id hash. Memory times passes must be at least 35840, the weakest parameters in the OWASP password storage cheat sheet.
	PasswordHashIterations int `key:"PASSWORD_HASH_ITERATIONS" default:"2" min:"1" max:"64"`
	// PasswordHashConcurrency is the number of passwords that are hashed at the same time. It limits the memory that many simultaneous sign-ins use. 0 derives it from the cores, and from the memory limit of the container or unit.
	PasswordHashConcurrency int `key:"PASSWORD_HASH_CONCURRENCY" default:"0" min:"0" max:"1024"`
	// SMTPURL is the mail server by which Mandate sends mail to people: `smtp://user:password@host:587` (STARTTLS, which is required unless the host is this machine) or `smtps://user:password@host:465` (TLS from the first byte). If it is empty, Mandate sends no mail, and administrators pass links on themselves.
	SMTPURL string `key:"SMTP_URL" default:"" secret:"url"`
	// MailFrom is the sender of this mail: `noreply@example.org`, or `Example <noreply@example.org>`. It is required with `SMTP_URL`.
	MailFrom string `key:"MAIL_FROM" default:""`
	// BrandName is the name of the service: in the header and the title of each page, in mail, in authenticator apps and in the browser's list of passkeys. If it is empty, it is Mandate, and authenticator apps show the host of `BASE_URL`.
	BrandName string `key:"BRAND_NAME" default:""`
	// BrandLogoFile is the [logo](make-it-yours.md#a-logo) in the header: an SVG without scripts that loads nothing, or a PNG, of at most 128 KiB. If it is more than twice as wide as high, it stands without `BRAND_NAME`, because it contains the name. The file is read at the start.
	BrandLogoFile string `key:"BRAND_LOGO_FILE" default:""`
	// BrandColor is the colour of links and buttons, such as `"#0d5752"`. The server does not start if it is hard to read on the backgrounds of the pages: it needs a contrast of 4.5 to 1 (WCAG 2.2 §1.4.3). The colours for the dark scheme and for the pointer are derived from it.
	BrandColor string `key:"BRAND_COLOR" default:""`
	// HelpURL is the page that helps people, or `mailto:` and an address. Each page and each message links to it.
	HelpURL string `key:"HELP_URL" default:""`
	// TermsURL is the page with the terms of the service. Each page and each message links to it.
	TermsURL string `key:"TERMS_URL" default:""`
	// PrivacyURL is the page with the privacy policy of the service. Each page and each message links to it.
	PrivacyURL string `key:"PRIVACY_URL" default:""`
	// EventLog is where this node also writes each event of the [event log](event-log.md#as-lines-of-json), as a line of JSON after it was stored: `off`, `stdout`, or the path of a file. Commands that change something write to the file too.
	EventLog string `key:"EVENT_LOG" default:"off"`
	// EventRetentionDays is the number of days for which the [event log](event-log.md) keeps an event.
	EventRetentionDays int `key:"EVENT_RETENTION_DAYS" default:"365" min:"1" max:"36500"`
	// MaxBodyBytes is the largest request body that the server reads, in bytes.
	MaxBodyBytes int64 `key:"MAX_BODY_BYTES" default:"65536" min:"8192" max:"16777216"`
	// Shutdown is the number of seconds that requests in progress have to finish after the server was told to stop.
	Shutdown time.Duration `key:"SHUTDOWN_SECONDS" default:"15" min:"0" max:"600"`
	// ShutdownDelay is the number of seconds for which the server still accepts requests after it was told to stop, while `/readyz` answers 503. Set it to the time that a load balancer needs to notice, so that it sends no request to a closed port. `SHUTDOWN_SECONDS` begins after this delay.
	ShutdownDelay time.Duration `key:"SHUTDOWN_DELAY_SECONDS" default:"0" min:"0" max:"600"`
	// CleanupInterval is the pause in seconds between two batches of expired rows that the server deletes.
	CleanupInterval time.Duration `key:"CLEANUP_INTERVAL_SECONDS" default:"1" min:"1" max:"86400"`
	// MaxStaleness is the number of seconds for which this node may use cached data about applications and tokens while it receives no notifications about changes by other nodes. With 0 it then reads the data from the database each time. While it receives notifications, it applies a change within 50 ms.
	MaxStaleness time.Duration `key:"MAX_STALENESS_SECONDS" default:"2" min:"0" max:"10"`
	// Upstream is the API that `mandate resource-server` protects: an absolute URL to which it forwards allowed requests.
	Upstream string `key:"UPSTREAM" default:""`
	// Rules lists the scopes that a request to `UPSTREAM` needs, as items of the form `{PATH: /users/, METHODS: [GET], SCOPES: [read]}`. A request that matches no rule is refused.
	Rules []Rule `key:"RULES" default:"[]"`
	// PassAuthorization forwards the client's `Authorization` header to `UPSTREAM`. By default the header is removed.
	PassAuthorization bool `key:"PASS_AUTHORIZATION" default:"false"`
	// ReservedHeaders are the names of further request headers that only proxies in front of `UPSTREAM` may set, such as `X-Company-User`, or `X-Company-*` for all names that begin so. `mandate resource-server` removes them from the requests of clients. It already removes [many](protect-an-api.md#what-the-proxy-refuses).
	ReservedHeaders []string `key:"RESERVED_HEADERS" default:"[]"`
	// Provider contains the settings that have the names of django-oauth-toolkit.
	Provider Provider `key:"OAUTH2_PROVIDER"`

	// sources says where each key was set, by its full name ("OAUTH2_PROVIDER.SCOPES", "RULES[0].PATH"). A key that it lacks has its default.
	sources map[string]source
	// ServerKey is SECRET_KEY decoded: 32 bytes, or nil if it is not set.
	ServerKey []byte
	// NonceKey is RESOURCE_SERVER_DPOP_NONCE_KEY decoded, or nil if it is not set.
	NonceKey []byte
}

// Provider is the OAUTH2_PROVIDER block. Its keys have the names and meanings that
// they have in django-oauth-toolkit; the defaults follow RFC 9700.
type Provider struct {
	// Scopes are the available scopes in their order, in addition to `openid`, `profile`, `email`, `groups`, `phone`, `address` and `offline_access`, which exist without this setting unless `OIDC_ENABLED` is off. One of these can stand here too, to give it another description. The setting has each scope with the description that the consent page shows: a mapping from name to description (RFC 6749 §3.3). In place of one description, it can be one for each language: `{read: {en: Read your data, de: Ihre Daten lesen}}`. The English one is also for people who read another language.
	Scopes Scopes `key:"SCOPES" default:"{read: Read scope, write: Write scope}"`
	// DefaultScopes are the scopes of a request that names none (RFC 6749 §3.3). The default, `[__all__]`, means every scope of `SCOPES` except `introspection` and, unless `OIDC_ENABLED` is off, `openid`, `profile`, `email`, `phone`, `address` and `offline_access`, which are about the person. If the list is empty, such a request is refused.
	DefaultScopes []string `key:"DEFAULT_SCOPES" default:"[__all__]"`
	// StrictScopes refuses a request with a scope that the server does not know, or that the application may not have. Otherwise such a scope is left out if another one remains: the token response, the consent page and the log say which scopes there are. Common applications, such as those that ask every server for `groups` or `roles`, need that. Applications with a FAPI profile are always refused, and so is `openid` that cannot be granted.
	StrictScopes bool `key:"STRICT_SCOPES" default:"false"`
	// Resources are the APIs that tokens can be issued for (RFC 8707), as items of the form `{URI: https://files.example, NAME: Files, SCOPES: [read]}`, in addition to those that administrators add on the pages and with `mandate resource add`. The server does not see that an item is removed: if its URI is added again, the tokens, refresh tokens and consents of before are for it again.
	Resources []Resource `key:"RESOURCES" default:"[]"`
	// ReadScope is the scope that the sample API requires for reading.
	ReadScope string `key:"READ_SCOPE" default:"read"`
	// WriteScope is the scope that the sample API requires for writing.
	WriteScope string `key:"WRITE_SCOPE" default:"write"`
	// AccessTokenExpire is the lifetime of an access token in seconds. It is also the longest lifetime that an application can have, unless an administrator is responsible for the application.
	AccessTokenExpire time.Duration `key:"ACCESS_TOKEN_EXPIRE_SECONDS" default:"36000" min:"1" max:"31536000"`
	// JWTAccessTokenExpire is the lifetime in seconds of an access token that is a JWT (RFC 9068), unless the application has a shorter one. It is also the longest lifetime that an application can have, unless an administrator is responsible for the application. It is short because an API that verifies such a token itself accepts it until it expires, even if it was revoked. The default is lowered to `ACCESS_TOKEN_EXPIRE_SECONDS` if that is smaller.
	JWTAccessTokenExpire time.Duration `key:"JWT_ACCESS_TOKEN_EXPIRE_SECONDS" default:"600" min:"1" max:"31536000"`
	// AdministratorAccessTokenMax is the longest lifetime in seconds of opaque access tokens of an application for which an administrator is responsible. It is never less than `ACCESS_TOKEN_EXPIRE_SECONDS`, the limit for all other applications.
	AdministratorAccessTokenMax time.Duration `key:"ADMINISTRATOR_ACCESS_TOKEN_MAX_SECONDS" default:"31536000" min:"1" max:"31536000"`
	// AdministratorJWTAccessTokenMax is the longest lifetime in seconds of access tokens that are JWTs, of an application for which an administrator is responsible. It is never less than `JWT_ACCESS_TOKEN_EXPIRE_SECONDS`, the limit for all other applications. A retired key stays published for this long.
	AdministratorJWTAccessTokenMax time.Duration `key:"ADMINISTRATOR_JWT_ACCESS_TOKEN_MAX_SECONDS" default:"86400" min:"1" max:"31536000"`
	// GrantsByAdministrator lists the grant types that an application may use only if an administrator is responsible for it: `authorization_code`, `client_credentials`, `password`, `urn:ietf:params:oauth:grant-type:device_code`. RFC 9700 §2.4 suggests `[password]`.
	GrantsByAdministrator []string `key:"GRANTS_BY_ADMINISTRATOR" default:"[]"`
	// ScopesByAdministrator lists the scopes that an application may have only if an administrator is responsible for it. `introspection` is always one of them.
	ScopesByAdministrator []string `key:"SCOPES_BY_ADMINISTRATOR" default:"[]"`
	// PersonMaxApplications is the largest number of applications that a person who is not an administrator may register. 0 means no limit.
	PersonMaxApplications int `key:"PERSON_MAX_APPLICATIONS" default:"50" min:"0" max:"1000000"`
	// PersonMaxSessions is the largest number of browser sessions of a person who is not an administrator. A further sign-in ends the session that was not used for the longest time. 0 means no limit.
	PersonMaxSessions int `key:"PERSON_MAX_SESSIONS" default:"100" min:"0" max:"1000000"`
	// PersonMaxApprovals is the largest number of live approvals (authorization codes and token families) of all applications of one person who is not an administrator. 0 means no limit.
	PersonMaxApprovals int `key:"PERSON_MAX_APPROVALS" default:"10000" min:"0" max:"1000000000"`
	// PersonMaxTokensPerMinute is the largest number of token responses per minute, at each node, for all applications of one person who is not an administrator. 0 means no limit.
	PersonMaxTokensPerMinute int `key:"PERSON_MAX_TOKENS_PER_MINUTE" default:"600" min:"0" max:"1000000"`
	// PersonMaxLiveTokens is the largest number of stored tokens that have not expired, of all applications of one person who is not an administrator. 0 means no limit.
	PersonMaxLiveTokens int `key:"PERSON_MAX_LIVE_TOKENS" default:"100000" min:"0" max:"1000000000"`
	// OpenClients says which applications may come that nobody registered: `documents` are those whose client id is the URL of a metadata document (Client ID Metadata Documents), `registration` are those that register themselves (RFC 7591). Nobody is responsible for such an application, and a person is asked each time before it gets a code. If the list is empty, nobody may come.
	OpenClients []string `key:"OPEN_CLIENTS" default:"[]"`
	// RegistrationWithToken enables the registration endpoint (RFC 7591) for requests with an initial access token, which administrators make by `mandate registration-token add` and on a page. If `OPEN_CLIENTS` has `registration`, such requests are accepted too.
	RegistrationWithToken bool `key:"REGISTRATION_WITH_TOKEN" default:"false"`
	// SoftwareStatementIssuers are the issuers whose software statements a registration may have (RFC 7591 §2.3), as items of the form `{ISSUER: https://directory.example, JWKS_URI: https://directory.example/keys}`. If the list is empty, every statement is refused.
	SoftwareStatementIssuers []StatementIssuer `key:"SOFTWARE_STATEMENT_ISSUERS" default:"[]"`
	// OpenSoftwareStatementRequired refuses a registration without an initial access token that has no software statement. With `OPEN_CLIENTS: [registration]`, only applications with a statement then register themselves.
	OpenSoftwareStatementRequired bool `key:"OPEN_SOFTWARE_STATEMENT_REQUIRED" default:"false"`
	// OpenHosts lists the hosts to which an application of `OPEN_CLIENTS` may belong: the host of its client id and of its `https` redirect URIs. `claude.ai` is that host, `*.example.com` is each host below `example.com`. If it is empty, every host is allowed.
	OpenHosts []string `key:"OPEN_HOSTS" default:"[]"`
	// OpenRedirectURISchemes lists private-use schemes without a dot that applications of `OPEN_CLIENTS` may have in their redirect URIs (against RFC 8252 §7.1). Common programs have them. Such a redirect URI names an extension, with a dot (`vscode://publisher.extension/callback`): others can be commands. They apply only if `ALLOWED_REDIRECT_URI_SCHEMES` is empty or lists them.
	OpenRedirectURISchemes []string `key:"OPEN_REDIRECT_URI_SCHEMES" default:"[cursor, vscode, vscode-insiders]"`
	// OpenLocalhostLoopback does for applications of `OPEN_CLIENTS` what `ALLOW_LOCALHOST_LOOPBACK` does for all: the port of `http://localhost` may vary. Common command line programs need it.
	OpenLocalhostLoopback bool `key:"OPEN_LOCALHOST_LOOPBACK" default:"true"`
	// OpenAccessTokenExpire is the longest lifetime in seconds of access tokens of applications for which nobody is responsible. It has no effect above `ACCESS_TOKEN_EXPIRE_SECONDS`, or above `JWT_ACCESS_TOKEN_EXPIRE_SECONDS` for tokens that are JWTs.
	OpenAccessTokenExpire time.Duration `key:"OPEN_ACCESS_TOKEN_EXPIRE_SECONDS" default:"3600" min:"1" max:"31536000"`
	// OpenRefreshTokenExpire is the longest number of seconds for which a refresh token of such an application may stay unused. It has no effect above `REFRESH_TOKEN_EXPIRE_SECONDS`.
	OpenRefreshTokenExpire time.Duration `key:"OPEN_REFRESH_TOKEN_EXPIRE_SECONDS" default:"2592000" min:"1" max:"315360000"`
	// OpenRefreshTokenGracePeriod is `REFRESH_TOKEN_GRACE_PERIOD_SECONDS` for such an application: the agents on one computer share a refresh token, and do not know of each other. If `REFRESH_TOKEN_GRACE_PERIOD_SECONDS` is set and this is not, it has the same value.
	OpenRefreshTokenGracePeriod time.Duration `key:"OPEN_REFRESH_TOKEN_GRACE_PERIOD_SECONDS" default:"30" min:"0" max:"60"`
	// OpenNeverUsedExpire is the number of seconds after which an application that registered itself is deleted if nobody has ever approved it.
	OpenNeverUsedExpire time.Duration `key:"OPEN_NEVER_USED_EXPIRE_SECONDS" default:"86400" min:"60" max:"315360000"`
	// OpenUnusedExpire is the number of seconds after which an application of `OPEN_CLIENTS` is deleted, with its tokens, if it got no code and no token in that time.
	OpenUnusedExpire time.Duration `key:"OPEN_UNUSED_EXPIRE_SECONDS" default:"7776000" min:"3600" max:"315360000"`
	// OpenMaxApplications is the largest number of applications for which nobody is responsible. A quarter of it is kept for those that come by a metadata document, and a quarter for those that register themselves. 0 means no limit.
	OpenMaxApplications int `key:"OPEN_MAX_APPLICATIONS" default:"10000" min:"0" max:"1000000"`
	// OpenMaxApprovals is the largest number of live approvals of all applications together for which nobody is responsible. 0 means no limit.
	OpenMaxApprovals int `key:"OPEN_MAX_APPROVALS" default:"100000" min:"0" max:"1000000000"`
	// OpenMaxTokensPerMinute is the largest number of token responses per minute, at each node, for all applications together for which nobody is responsible. 0 means no limit.
	OpenMaxTokensPerMinute int `key:"OPEN_MAX_TOKENS_PER_MINUTE" default:"6000" min:"0" max:"1000000"`
	// OpenMaxLiveTokens is the largest number of stored tokens that have not expired, of all applications together for which nobody is responsible. 0 means no limit.
	OpenMaxLiveTokens int `key:"OPEN_MAX_LIVE_TOKENS" default:"1000000" min:"0" max:"1000000000"`
	// AuthorizationCodeExpire is the lifetime of an authorization code in seconds. RFC 6749 §4.1.2 recommends ten minutes at most.
	AuthorizationCodeExpire time.Duration `key:"AUTHORIZATION_CODE_EXPIRE_SECONDS" default:"60" min:"1" max:"600"`
	// DeviceCodeExpire is the lifetime in seconds of a device code and its user code (RFC 8628 §3.2). It is the time in which a person must approve the device. A short time makes phishing harder (RFC 10027 §6.1.2).
	DeviceCodeExpire time.Duration `key:"DEVICE_CODE_EXPIRE_SECONDS" default:"600" min:"60" max:"1800"`
	// DeviceFlowInterval is the number of seconds that a device waits between two polls (RFC 8628 §3.5).
	DeviceFlowInterval time.Duration `key:"DEVICE_FLOW_INTERVAL" default:"5" min:"1" max:"60"`
	// DeviceMaxPending is the largest number of devices that wait for an approval, of one application or, if an administrator is not responsible, of all applications of one owner. One IPv4 /24 or IPv6 /48 may have a twentieth of it (at least one) if the application is public. 0 means no limit.
	DeviceMaxPending int `key:"DEVICE_MAX_PENDING" default:"10000" min:"0" max:"1000000"`
	// PushedRequestExpire is the number of seconds in which a request URI of a pushed authorization request can be opened. RFC 9126 §2.2 leaves the number to the server, and gives 5 to 600 seconds as its example; FAPI 2.0 Security Profile §5.3.2.2 requires less than 600 seconds. Use more than the default only if people need longer to reach the browser, such as on another device. A person who has opened it has an hour for the login, and an hour for the consent page.
	PushedRequestExpire time.Duration `key:"PUSHED_REQUEST_EXPIRE_SECONDS" default:"90" min:"5" max:"599"`
	// PushedRequestMaxPending is the largest number of pushed authorization requests that have no answer yet, and that somebody has opened or can still open, of one application or, if an administrator is not responsible, of all applications of one owner. One IPv4 /24 or IPv6 /48 may have a tenth of it (at least one) if the application is public, or if nobody is responsible for it. 0 means no limit.
	PushedRequestMaxPending int `key:"PUSHED_REQUEST_MAX_PENDING" default:"10000" min:"0" max:"1000000"`
	// RequirePushedRequests refuses authorization requests that the application did not push (RFC 9126 §5). The setting of an application can require it for this application alone.
	RequirePushedRequests bool `key:"REQUIRE_PUSHED_AUTHORIZATION_REQUESTS" default:"false"`
	// DPoPNonceRequired refuses DPoP proofs without a nonce of this server (RFC 9449 §8). A client gets a nonce with each response, in the header `DPoP-Nonce`, and sends its first request twice. Clients that do not know nonces cannot use DPoP then.
	DPoPNonceRequired bool `key:"DPOP_NONCE_REQUIRED" default:"false"`
	// RequireSignedRequestObject refuses authorization requests that are in no request object which the application signed (RFC 9101 §10.5). The setting of an application can require it for this application alone.
	RequireSignedRequestObject bool `key:"REQUIRE_SIGNED_REQUEST_OBJECT" default:"false"`
	// RequestObjectsByReference lets an application name the address of a request object in `request_uri` (RFC 9101 §5.2). The server reads addresses that the application has registered, and no others.
	RequestObjectsByReference bool `key:"REQUEST_OBJECTS_BY_REFERENCE" default:"false"`
	// RefreshTokenExpire is the number of seconds after which an unused refresh token expires (RFC 9700 §4.14.2). The default is lowered to `REFRESH_TOKEN_ABSOLUTE_EXPIRE_SECONDS` if that is smaller.
	RefreshTokenExpire time.Duration `key:"REFRESH_TOKEN_EXPIRE_SECONDS" default:"2592000" min:"1" max:"315360000"`
	// RefreshTokenAbsoluteExpire is the lifetime in seconds of a token family (all tokens that come from one authorization grant), regardless of how often it is refreshed.
	RefreshTokenAbsoluteExpire time.Duration `key:"REFRESH_TOKEN_ABSOLUTE_EXPIRE_SECONDS" default:"31536000" min:"1" max:"315360000"`
	// RefreshTokenGracePeriod is the number of seconds in which a refresh token that was replaced returns the same successor again. It is for clients that refresh [twice at the same time](register-applications.md#two-refreshes-at-the-same-time), or lose a response. 0 disables it.
	RefreshTokenGracePeriod time.Duration `key:"REFRESH_TOKEN_GRACE_PERIOD_SECONDS" default:"10" min:"0" max:"60"`
	// RefreshTokenReuseProtection revokes the whole token family if a replaced refresh token is presented again after its grace period, or after its successor was used. It cannot be disabled (RFC 9700 §4.14.2).
	RefreshTokenReuseProtection bool `key:"REFRESH_TOKEN_REUSE_PROTECTION" default:"true"`
	// RotateRefreshToken replaces a refresh token when it is used. It is for confidential applications without a setting of their own (`mandate application update --refresh-rotation`) and without a profile. Refresh tokens of public applications always rotate (RFC 9700 §2.2.2), unless they are bound to a key or a certificate.
	RotateRefreshToken bool `key:"ROTATE_REFRESH_TOKEN" default:"true"`
	// PKCERequired says which applications must send a code challenge with each authorization request. Public
	// applications, those for which nobody is responsible, and those with a FAPI profile always must (RFC 9700
	// §2.1.1). `public`: those of a person without administrator rights, and those that registered themselves with an
	// initial access token, must too, unless the request has the scope `openid` and a `nonce`. `true`: all must.
	// `false`: no other must. An application can have a value of its own (`mandate application update --pkce`). A
	// code challenge that was sent is always enforced.
	PKCERequired string `key:"PKCE_REQUIRED" default:"public" oneof:"public true false"`
	// RequestApprovalPrompt decides when the consent page is shown: `auto` skips it if the person approved the same scopes before, `force` always shows it.
	RequestApprovalPrompt string `key:"REQUEST_APPROVAL_PROMPT" default:"auto" oneof:"auto force"`
	// AllowedRedirectURISchemes restricts the schemes of redirect URIs to those listed: `https`, `http` (loopback only) and private-use schemes with a dot (RFC 8252 §7.1). If it is empty, all three kinds are allowed, and those that only an administrator registers.
	AllowedRedirectURISchemes []string `key:"ALLOWED_REDIRECT_URI_SCHEMES" default:"[]"`
	// AllowLocalhostLoopback lets the port of a redirect URI with the host name `localhost` vary, as it may for loopback addresses (against RFC 8252 §8.3). For native applications that register `http://localhost`.
	AllowLocalhostLoopback bool `key:"ALLOW_LOCALHOST_LOOPBACK" default:"false"`
	// ClearExpiredTokensBatchSize is the number of expired rows that one statement deletes.
	ClearExpiredTokensBatchSize int `key:"CLEAR_EXPIRED_TOKENS_BATCH_SIZE" default:"1000" min:"1" max:"100000"`
	// OpenID makes the server an OpenID Provider (OIDC Core): ID tokens, discovery, keys and UserInfo. The scopes of OpenID Connect then exist without `SCOPES`. `false` is for a server that only gives access to APIs: none of this exists then.
	OpenID bool `key:"OIDC_ENABLED" default:"true"`
	// IDTokenExpire is the lifetime of an ID token in seconds.
	IDTokenExpire time.Duration `key:"ID_TOKEN_EXPIRE_SECONDS" default:"3600" min:"1" max:"31536000"`
	// OIDCPrivateKey is an RSA private key of your own in PEM. It signs RS256 and PS256 instead of the server's key. If it is empty, the server manages all keys.
	OIDCPrivateKey string `key:"OIDC_RSA_PRIVATE_KEY" default:"" secret:"true"`
	// OIDCInactiveKeys are RSA private keys in PEM that no longer sign. They stay published, so that their signatures can still be verified. A file contains them one after the other.
	OIDCInactiveKeys []string `key:"OIDC_RSA_PRIVATE_KEYS_INACTIVE" default:"[]" secret:"true"`
	// OIDCJWKSMaxAge is the number of seconds for which others may cache the published keys. The server publishes a new key for twice as long, and for at least an hour, before the key signs.
	OIDCJWKSMaxAge time.Duration `key:"OIDC_JWKS_MAX_AGE_SECONDS" default:"3600" min:"0" max:"604800"`
	// OIDCKeyRotation is the number of seconds for which one of the server's keys signs before the next one replaces it. 0 disables rotation.
	OIDCKeyRotation time.Duration `key:"OIDC_KEY_ROTATION_SECONDS" default:"7776000" min:"0" max:"315360000"`
	// OIDCRPLogout lets applications send a person to `/o/logout/` to sign out (OIDC RP-Logout §2), and advertises that endpoint.
	OIDCRPLogout bool `key:"OIDC_RP_INITIATED_LOGOUT_ENABLED" default:"true"`
	// OIDCRPLogoutAlwaysPrompt asks the person to confirm every logout. `false` asks only if the request has no ID token of the current session.
	OIDCRPLogoutAlwaysPrompt bool `key:"OIDC_RP_INITIATED_LOGOUT_ALWAYS_PROMPT" default:"false"`
	// OIDCRPLogoutStrictURIs lets only confidential applications register post-logout redirect URIs that begin with `http:` (such URIs always lead to the person's own computer).
	OIDCRPLogoutStrictURIs bool `key:"OIDC_RP_INITIATED_LOGOUT_STRICT_REDIRECT_URIS" default:"false"`
	// OIDCRPLogoutAcceptExpired accepts an expired ID token as the hint of a logout request. Most ID tokens have expired when a person signs out (OIDC RP-Logout §2).
	OIDCRPLogoutAcceptExpired bool `key:"OIDC_RP_INITIATED_LOGOUT_ACCEPT_EXPIRED_TOKENS" default:"true"`
	// OIDCRPLogoutDeleteTokens revokes the tokens of the session at a logout, except those with `offline_access`.
	OIDCRPLogoutDeleteTokens bool `key:"OIDC_RP_INITIATED_LOGOUT_DELETE_TOKENS" default:"true"`
	// ResourceServerIntrospectionURL is the introspection endpoint that the resource server calls (RFC 7662 §2), such as `https://auth.example.com/o/introspect/`.
	ResourceServerIntrospectionURL string `key:"RESOURCE_SERVER_INTROSPECTION_URL" default:""`
	// ResourceServerAuthToken is the access token with the scope `introspection` that authenticates the resource server there. Set either this or the credentials.
	ResourceServerAuthToken string `key:"RESOURCE_SERVER_AUTH_TOKEN" default:"" secret:"true"`
	// ResourceServerIntrospectionCredentials are the client id and the client secret that authenticate the resource server there (HTTP Basic), as a list of two.
	ResourceServerIntrospectionCredentials []string `key:"RESOURCE_SERVER_INTROSPECTION_CREDENTIALS" default:"[]" secret:"true"`
	// ResourceServerTokenCaching is the number of seconds for which the resource server caches an introspection response. A revoked token is accepted for up to this long (RFC 7662 §4). 0 disables the cache.
	ResourceServerTokenCaching time.Duration `key:"RESOURCE_SERVER_TOKEN_CACHING_SECONDS" default:"10" min:"0" max:"3600"`
	// ResourceServerIntrospectionTimeout is the number of seconds for which the resource server waits for an introspection response.
	ResourceServerIntrospectionTimeout time.Duration `key:"RESOURCE_SERVER_INTROSPECTION_TIMEOUT_SECONDS" default:"5" min:"1" max:"60"`
	// ResourceServerJWKSURL is the URL of the keys by which the resource server itself verifies signed access tokens (RFC 9068 §4), such as `https://auth.example.com/o/.well-known/jwks.json`. It requires `RESOURCE_SERVER_ISSUER` and `RESOURCE_SERVER_AUDIENCE`. All other tokens are introspected if there is an introspection endpoint, and refused if there is none.
	ResourceServerJWKSURL string `key:"RESOURCE_SERVER_JWKS_URL" default:""`
	// ResourceServerJWTTyp is the `typ` of the signed access tokens that the resource server accepts: `at+jwt` (RFC 9068), or `JWT` to accept that one too, for a resource whose tokens have it because other programs need it. A token with `JWT` needs `client_id` and `jti`, and no claim of an ID token.
	ResourceServerJWTTyp string `key:"RESOURCE_SERVER_JWT_TYP" default:"at+jwt" oneof:"at+jwt JWT"`
	// ResourceServerIssuer is the authorization server whose tokens the API accepts, such as `https://auth.example.com/o`: its issuer, character by character. A signed access token must have it as `iss`. With a URL as `RESOURCE_SERVER_AUDIENCE`, the API also publishes metadata that names this server (RFC 9728), so that clients find it.
	ResourceServerIssuer string `key:"RESOURCE_SERVER_ISSUER" default:""`
	// ResourceServerAudience is the name of the resource server that `aud` of an access token must contain: the URI of its resource. For the sample API of this server it is `BASE_URL`. An introspected token without `aud` is for the server that issued it. The setting is optional if all tokens are introspected: if it is not set, `aud` is not checked. For metadata (RFC 9728 §1.2) it is the https URL by which clients reach the API, or an http URL on this machine.
	ResourceServerAudience string `key:"RESOURCE_SERVER_AUDIENCE" default:""`
	// ResourceServerName is the name of the API for people, in its metadata (`resource_name`, RFC 9728 §2).
	ResourceServerName string `key:"RESOURCE_SERVER_NAME" default:""`
	// ResourceServerDocumentation is the URL of a page for developers, in the metadata of the API (`resource_documentation`, RFC 9728 §2).
	ResourceServerDocumentation string `key:"RESOURCE_SERVER_DOCUMENTATION" default:""`
	// ResourceServerBaseURLs are the URLs by which clients reach the API: scheme, host, and the part of the path that a reverse proxy removes. A DPoP proof must be for one of them, followed by the path of the request (RFC 9449 §4.3). If the list is empty, it is the scheme and host of `RESOURCE_SERVER_AUDIENCE`, and for the sample API those of `BASE_URL` and `MTLS_BASE_URL`. Without such a URL, no access token that is bound to a key is accepted.
	ResourceServerBaseURLs []string `key:"RESOURCE_SERVER_BASE_URLS" default:"[]"`
	// ResourceServerRequiredBinding is what access tokens must be bound to: `dpop` means a key (RFC 9449), `certificate` a client certificate (RFC 8705), `any` one of the two. With `none`, bearer tokens are accepted too. A token that is bound always needs its proof.
	ResourceServerRequiredBinding string `key:"RESOURCE_SERVER_REQUIRED_BINDING" default:"none" oneof:"none dpop certificate any"`
	// ResourceServerDPoPNonce requires a nonce of the resource server in each DPoP proof (RFC 9449 §9), so that nobody can make proofs in advance. A client sends its first request twice, and again when it has sent none for five to ten minutes.
	ResourceServerDPoPNonce bool `key:"RESOURCE_SERVER_DPOP_NONCE" default:"false"`
	// ResourceServerDPoPNonceKey is the key of these nonces: 32 random bytes in base64 (`openssl rand -base64 32`), the same on every node of this API, and for no other purpose. If it is not set, each process makes one.
	ResourceServerDPoPNonceKey string `key:"RESOURCE_SERVER_DPOP_NONCE_KEY" default:"" secret:"true"`
	// ResourceServerAllowedOrigins are the origins, such as `https://app.example.com`, whose scripts may call the API (CORS). `["*"]` means every origin: a browser never sends a token by itself. If the list is empty, only scripts of the API's own origin can call it.
	ResourceServerAllowedOrigins []string `key:"RESOURCE_SERVER_ALLOWED_ORIGINS" default:"[]"`
	// ErrorResponseWithScopes names the required scopes in the body of a 403 response of the sample API.
	ErrorResponseWithScopes bool `key:"ERROR_RESPONSE_WITH_SCOPES" default:"false"`
}

// Scope is one scope: its name in tokens and the description that a person reads.
type Scope struct {
	Name        string
	Description string
	In          Pairs // the description in each language, if there are several: a language tag, and the text
}

// Scopes is a YAML mapping from name to description that keeps the order of the
// file: default scopes and the consent page have the same order.
type Scopes []Scope

// Resource is one item of RESOURCES: an API that tokens can be issued for.
type Resource struct {
	// URI names the API in the parameter `resource` and in `aud`: an absolute URI without a fragment (RFC 8707 §2).
	URI string `key:"URI" default:""`
	// Name is shown on the consent page.
	Name string `key:"NAME" default:""`
	// Scopes are the scopes that a token for the API can have. If there are none, it can have every scope of `SCOPES`.
	Scopes []string `key:"SCOPES" default:"[]"`
	// TokenFormat is `opaque` or `jwt` (RFC 9068). By default it is that of the application.
	TokenFormat string `key:"TOKEN_FORMAT" default:""`
	// AccessTokenExpire is the longest lifetime of an access token for the API in seconds. With 0 it is that of the application.
	AccessTokenExpire time.Duration `key:"ACCESS_TOKEN_EXPIRE_SECONDS" default:"0" min:"0" max:"31536000"`
	// Algorithm signs access tokens that are JWTs: `ES256`, `EdDSA`, `RS256` or `PS256`. By default it is that of the application.
	Algorithm string `key:"ALGORITHM" default:""`
	// JWTTyp is the `typ` of access tokens that are JWTs: `at+jwt` (RFC 9068), or `JWT` for an API whose library accepts nothing else. A token for several APIs has `JWT` only if all of them say so.
	JWTTyp string `key:"JWT_TYP" default:"at+jwt"`
	// SenderConstrained refuses access tokens for the API that are not bound to a key (RFC 9449) or to a certificate (RFC 8705) of the application.
	SenderConstrained bool `key:"SENDER_CONSTRAINED" default:"false"`
	// Introspectors are the client ids of the applications that may introspect the tokens for the API. An administrator must be responsible for them.
	Introspectors []string `key:"INTROSPECTORS" default:"[]"`
}

// StatementIssuer is one item of SOFTWARE_STATEMENT_ISSUERS: an issuer whose software statements a registration may have.
type StatementIssuer struct {
	// Issuer is the claim `iss` of its statements, character by character.
	Issuer string `key:"ISSUER" default:""`
	// JWKS contains the public keys of the issuer, as the text of a JWK Set (RFC 7517 §5). Set either this or `JWKS_URI`.
	JWKS string `key:"JWKS" default:""`
	// JWKSURI is the `https` URL of its public keys. The server uses them for five minutes without a new request, and for an hour if no request succeeds. An address in a special-use network needs `OUTBOUND_ALLOWED_NETWORKS`.
	JWKSURI string `key:"JWKS_URI" default:""`
}

// SignInServer is one item of SIGN_IN_SERVERS: another OpenID Provider with which people sign in.
type SignInServer struct {
	// Name is a part of the redirect URI, so it must not change: lower-case letters, digits and `-`.
	Name string `key:"NAME" default:""`
	// Label is what the button and the texts for people call the server. By default it is the name.
	Label string `key:"LABEL" default:""`
	// Issuer is the issuer of the server, character by character (OIDC Discovery §3). The server reads its metadata from there when somebody signs in, and at most every five minutes. An address in a special-use network needs `OUTBOUND_ALLOWED_NETWORKS`.
	Issuer string `key:"ISSUER" default:""`
	// ClientID is the client id of Mandate there.
	ClientID string `key:"CLIENT_ID" default:""`
	// ClientSecret is the client secret of Mandate there.
	ClientSecret string `key:"CLIENT_SECRET" default:"" secret:"true"`
	// Scopes are the scopes that Mandate requests there.
	Scopes []string `key:"SCOPES" default:"[openid, profile, email]"`
	// TrustedForEmail links a person of that server, at the first sign-in, to the only person here who has the same email address, if the address is verified there and here. Whoever controls that server can then sign in as any of these people.
	TrustedForEmail bool `key:"TRUSTED_FOR_EMAIL" default:"false"`
	// NewPeople says who gets an account at the first sign-in: with `off` nobody, with `invited` a person whose verified email address there has an [invitation](sign-up.md) here, with `domains` a person whose verified email address there has one of the `ALLOWED_DOMAINS`. Nobody gets one if somebody here has the address.
	NewPeople string `key:"NEW_PEOPLE" default:"off" oneof:"off invited domains"`
	// AllowedDomains are the domains for `NEW_PEOPLE: domains` and `ASSUME_EMAIL_VERIFIED`, in lower case. A subdomain needs an entry of its own.
	AllowedDomains []string `key:"ALLOWED_DOMAINS" default:"[]"`
	// AssumeEmailVerified takes an address in the `ALLOWED_DOMAINS` as verified if that server says nothing about it. Entra ID needs this: it sends no `email_verified`. An address that is said not to be verified stays refused. Set it only if nobody there can choose an address in these domains: in the attack nOAuth of 2023, people of an Entra ID tenant wrote the address of somebody else into their own account, and signed in as that person elsewhere. The optional claim `xms_edov` is the better way there, and counts without this setting.
	AssumeEmailVerified bool `key:"ASSUME_EMAIL_VERIFIED" default:"false"`
	// GroupsClaim is the claim in which that server names the groups or roles of a person.
	GroupsClaim string `key:"GROUPS_CLAIM" default:""`
	// Groups is a mapping from values of that claim to groups here. At each sign-in a person becomes a member of exactly those mapped groups whose value is in the claim. Other groups stay.
	Groups Pairs `key:"GROUPS" default:"{}"`
	// ACR is a mapping from the values of `acr` there to `urn:mandate:acr:password`, `urn:mandate:acr:mfa`, `phr` or `urn:mandate:acr:passkey`. A login with any other value, or without one, counts as one by password.
	ACR Pairs `key:"ACR" default:"{}"`
	// Logout offers to sign out there too after signing out here (OIDC RP-Logout §2). Register `BASE_URL/` there as a post-logout redirect URI.
	Logout bool `key:"LOGOUT" default:"false"`
}

// Pair is a value, and what it means here.
type Pair struct{ From, To string }

// Pairs is a YAML mapping from value to value that keeps the order of the file.
type Pairs []Pair

// Rule is one item of RULES: a request needs all of its scopes.
type Rule struct {
	// Path covers itself and everything below it (`/users` covers `/users/7`, not `/users2`). The longest path that covers a request decides alone.
	Path string `key:"PATH" default:""`
	// Methods are the HTTP methods to which the rule applies. If there are none, it applies to every method.
	Methods []string `key:"METHODS" default:"[]"`
	// Scopes are the scopes that the token must have. If there are none, any active token is allowed.
	Scopes []string `key:"SCOPES" default:"[]"`
	// MaxAge is the largest age of the login behind the token in seconds (RFC 9470). A token of an older login, or of none, is answered with `insufficient_user_authentication`. With 0 every token is allowed.
	MaxAge time.Duration `key:"MAX_AGE" default:"0" min:"0" max:"31536000"`
	// ACRValues are the accepted kinds of login (`acr`), the preferred one first. If there are none, every token is allowed. The values of Mandate are `urn:mandate:acr:password` and `urn:mandate:acr:mfa`.
	ACRValues []string `key:"ACR_VALUES" default:"[]"`
	// WebSocket lets a `GET` request open a WebSocket (RFC 6455). Mandate closes it when the token expires; when a check, each `RESOURCE_SERVER_TOKEN_CACHING_SECONDS` (at least 1), finds the token inactive, without a scope of the rule, or its login older than `MAX_AGE`; when such checks have failed for a minute; and after 24 hours at the latest. Every other protocol upgrade is refused.
	WebSocket bool `key:"WEBSOCKET" default:"false"`
	// PathAsWritten forwards paths that servers read in different ways: with `%2F`, `//`, `;`, `%3F`, `%23` or `%25`, or with something after the name of a script (`/index.php/a`). Set it if `UPSTREAM` splits a path only at the slashes as they are written, decodes each part once, and gives `;` no meaning. GitLab (`/projects/group%2Fproject`) needs it. A path that another rule could be for is refused nevertheless.
	PathAsWritten bool `key:"PATH_AS_WRITTEN" default:"false"`
}
