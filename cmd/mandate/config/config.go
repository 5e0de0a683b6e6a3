// Package config reads the settings of the program: one YAML file, each key of
// which an environment variable may override. It reports every mistake at once,
// each with its file, line and key, and never repeats a value that may be secret.
package config

import (
	"net/netip"
	"time"
)

// Config is the whole configuration: one YAML file, each key of which an
// environment variable may override. The keys and defaults stand in the tags,
// the meaning in the comments; the table in README.md is generated from both.
//
// A time.Duration is written as a whole number of seconds. The tags min and max
// bound a number, oneof lists the words allowed, secret marks what is never shown
// ("url": only the password in it) and may be read from a file named by `<KEY>_FILE`.
type Config struct {
	// BaseURL is where browsers and clients reach the server: scheme, host and an optional path. The issuer is this and `/o` (RFC 8414 §2). Plain http is for loopback hosts only, see `ALLOW_INSECURE_HTTP`.
	BaseURL string `key:"BASE_URL" default:"http://127.0.0.1:8000"`
	// AllowInsecureHTTP lets `BASE_URL`, `LOGIN_URL`, the introspection URL, the key set and a forwarded token use plain http beyond this machine, where anybody on the way reads it (against RFC 6749 §3.1 and §3.2). For a laboratory network without certificates.
	AllowInsecureHTTP bool `key:"ALLOW_INSECURE_HTTP" default:"false"`
	// Listen is the address and port that the server binds; an empty host (`:8000`) binds every address.
	Listen string `key:"LISTEN" default:"127.0.0.1:8000"`
	// OpsListen is the address and port of a second listener, for those who look after the server: `/healthz`, `/readyz`, and `/metrics` for Prometheus. It has no TLS and asks nobody who they are: give it an address that only they reach (`127.0.0.1:9000`). Empty: health and readiness are at `LISTEN`, metrics nowhere.
	OpsListen string `key:"OPS_LISTEN" default:""`
	// OpsPprof adds Go's profiles (`/debug/pprof/`) to that listener.
	OpsPprof bool `key:"OPS_PPROF" default:"false"`
	// DatabaseURL is `sqlite:///file.db` (relative to the working directory), `sqlite:////srv/file.db` (absolute) or `postgres://user:password@host/database?sslmode=verify-full`. Several PostgreSQL hosts stand between commas (`host1:5432,host2:5432`): the one that takes writes is used.
	DatabaseURL string `key:"DATABASE_URL" default:"sqlite:///mandate.db" secret:"url"`
	// DatabaseListenURL is the way to PostgreSQL by which a node hears what other nodes change, where `DATABASE_URL` leads through a pooler that gives each transaction another connection; empty is `DATABASE_URL`.
	DatabaseListenURL string `key:"DATABASE_LISTEN_URL" default:"" secret:"url"`
	// DatabaseMaxConnections is how many connections to PostgreSQL a node opens at most, beside the one by which it listens.
	DatabaseMaxConnections int `key:"DATABASE_MAX_CONNECTIONS" default:"32" min:"2" max:"1000"`
	// SecretKey is the key that encrypts recoverable secrets at rest: 32 random bytes in base64 (`openssl rand -base64 32`), the same on every node. Left out with SQLite, the server makes and keeps one in a file beside the database (`<database>.key`); PostgreSQL needs it set.
	SecretKey string `key:"SECRET_KEY" default:"" secret:"true"`
	// LoginURL is where a visitor who is not logged in is sent: a path of this server or an absolute URL. Empty is the built-in page `/login/`.
	LoginURL string `key:"LOGIN_URL" default:""`
	// SampleAPI serves the sample protected API (`/users/`, `/groups/`, `/resource`).
	SampleAPI bool `key:"SAMPLE_API" default:"false"`
	// TrustedProxies lists the addresses and networks (CIDR) of reverse proxies whose `X-Forwarded-For` is believed; everybody else's is ignored (RFC 9700 §4.13).
	TrustedProxies []netip.Prefix `key:"TRUSTED_PROXIES" default:"[]"`
	// OutboundAllowedNetworks lists special-use networks (CIDR), such as `10.0.0.0/8`, in which the server may call addresses that were registered for back-channel logout. Without it only public addresses are called (RFC 6890).
	OutboundAllowedNetworks []netip.Prefix `key:"OUTBOUND_ALLOWED_NETWORKS" default:"[]"`
	// SessionCookieAge is the life of a browser session in seconds, counted from the login.
	SessionCookieAge time.Duration `key:"SESSION_COOKIE_AGE" default:"1209600" min:"60" max:"31536000"`
	// SessionIdle is how many seconds a browser session survives without a request; left out, it is never more than `SESSION_COOKIE_AGE`.
	SessionIdle time.Duration `key:"SESSION_IDLE_SECONDS" default:"259200" min:"60" max:"31536000"`
	// LogLevel is the least level that is logged.
	LogLevel string `key:"LOG_LEVEL" default:"info" oneof:"debug info warn error"`
	// LogFormat is the form of a log line.
	LogFormat string `key:"LOG_FORMAT" default:"text" oneof:"text json"`
	// PasswordMinLength is the least number of characters in a new password. 15 is what NIST SP 800-63B-4 §3.1.1.2 asks of a password that is the only factor; existing passwords stay valid.
	PasswordMinLength int `key:"PASSWORD_MIN_LENGTH" default:"15" min:"1" max:"64"`
	// PasswordHashMemoryKiB is the memory of one Argon2id hash in KiB (RFC 9106 §3.1).
	PasswordHashMemoryKiB int `key:"PASSWORD_HASH_MEMORY_KIB" default:"19456" min:"7168" max:"1048576"`
	// PasswordHashIterations is the number of passes of one Argon2id hash. Memory times passes is at least 35840, the weakest setting of the OWASP password storage sheet.
	PasswordHashIterations int `key:"PASSWORD_HASH_ITERATIONS" default:"2" min:"1" max:"64"`
	// PasswordHashConcurrency is how many passwords are hashed at once, which bounds the memory a flood of logins can take; 0 derives it from the cores and memory of the machine.
	PasswordHashConcurrency int `key:"PASSWORD_HASH_CONCURRENCY" default:"0" min:"0" max:"1024"`
	// MaxBodyBytes is the largest request body that is read, in bytes.
	MaxBodyBytes int64 `key:"MAX_BODY_BYTES" default:"65536" min:"8192" max:"16777216"`
	// Shutdown is how many seconds requests in flight are given to finish when the server is told to stop.
	Shutdown time.Duration `key:"SHUTDOWN_SECONDS" default:"15" min:"0" max:"600"`
	// ShutdownDelay is how many seconds the server goes on as before when it is told to stop, while `/readyz` answers 503: as long as a load balancer takes to notice, so that it sends no request to a closed door. Not part of `SHUTDOWN_SECONDS`.
	ShutdownDelay time.Duration `key:"SHUTDOWN_DELAY_SECONDS" default:"0" min:"0" max:"600"`
	// CleanupInterval is the pause between two batches of expired rows that the server deletes, in seconds.
	CleanupInterval time.Duration `key:"CLEANUP_INTERVAL_SECONDS" default:"1" min:"1" max:"86400"`
	// MaxStaleness is how many seconds this node goes on with what it has read of applications and tokens where it cannot hear what other nodes change. While it hears them, a change is seen within 50 ms. 0 reads everything each time.
	MaxStaleness time.Duration `key:"MAX_STALENESS_SECONDS" default:"2" min:"0" max:"10"`
	// Upstream is the API that `mandate resource-server` guards: an absolute URL to which allowed requests are forwarded.
	Upstream string `key:"UPSTREAM" default:""`
	// Rules is which scopes a request to `UPSTREAM` needs, as a list of `{PATH: /users/, METHODS: [GET], SCOPES: [read]}`. What no rule matches is refused.
	Rules []Rule `key:"RULES" default:"[]"`
	// PassAuthorization forwards the caller's `Authorization` header to `UPSTREAM` instead of taking it off.
	PassAuthorization bool `key:"PASS_AUTHORIZATION" default:"false"`
	// Provider holds the settings that carry the names of django-oauth-toolkit.
	Provider Provider `key:"OAUTH2_PROVIDER"`

	// sources tells where each key was set, by its full name ("OAUTH2_PROVIDER.SCOPES", "RULES[0].PATH"); a key that is not in it has its default.
	sources map[string]source
	// ServerKey is SECRET_KEY decoded: 32 bytes, or nil where it was left out.
	ServerKey []byte
}

// Provider is the OAUTH2_PROVIDER block: keys and meanings as a user of
// django-oauth-toolkit knows them, with the defaults of RFC 9700.
type Provider struct {
	// Scopes are the scopes there are, in this order, each with the text that the consent page shows: a mapping from name to description (RFC 6749 §3.3).
	Scopes Scopes `key:"SCOPES" default:"{read: Read scope, write: Write scope}"`
	// DefaultScopes is what a request without a scope gets (RFC 6749 §3.3). `[__all__]`, the default, is every scope of `SCOPES` but `introspection`, `openid` and `offline_access`; an empty list refuses such a request.
	DefaultScopes []string `key:"DEFAULT_SCOPES" default:"[__all__]"`
	// ReadScope is the scope that the sample API wants for reading.
	ReadScope string `key:"READ_SCOPE" default:"read"`
	// WriteScope is the scope that the sample API wants for writing.
	WriteScope string `key:"WRITE_SCOPE" default:"write"`
	// AccessTokenExpire is the life of an access token in seconds, and the longest unless an administrator answers for the application.
	AccessTokenExpire time.Duration `key:"ACCESS_TOKEN_EXPIRE_SECONDS" default:"36000" min:"1" max:"31536000"`
	// JWTAccessTokenExpire is the life in seconds of an access token that is a JWT (RFC 9068), where the application has no shorter one of its own, and the longest unless an administrator answers for the application. An API that checks it by itself takes it to its end, also when it was revoked: hence short. Left out, it is never more than `ACCESS_TOKEN_EXPIRE_SECONDS`.
	JWTAccessTokenExpire time.Duration `key:"JWT_ACCESS_TOKEN_EXPIRE_SECONDS" default:"600" min:"1" max:"31536000"`
	// AdministratorAccessTokenMax is the longest life in seconds that an application may set for its opaque access tokens, where an administrator answers for it; never less than `ACCESS_TOKEN_EXPIRE_SECONDS`, which is the longest for all others.
	AdministratorAccessTokenMax time.Duration `key:"ADMINISTRATOR_ACCESS_TOKEN_MAX_SECONDS" default:"31536000" min:"1" max:"31536000"`
	// AdministratorJWTAccessTokenMax is the longest life in seconds that an application may set for its access tokens that are JWTs, where an administrator answers for it; never less than `JWT_ACCESS_TOKEN_EXPIRE_SECONDS`, which is the longest for all others. A retired key stays published for as long as such a token may live.
	AdministratorJWTAccessTokenMax time.Duration `key:"ADMINISTRATOR_JWT_ACCESS_TOKEN_MAX_SECONDS" default:"86400" min:"1" max:"31536000"`
	// GrantsByAdministrator lists the grant types that only applications may use for which an administrator answers: `authorization_code`, `client_credentials`, `password`. RFC 9700 §2.4 suggests `[password]`.
	GrantsByAdministrator []string `key:"GRANTS_BY_ADMINISTRATOR" default:"[]"`
	// ScopesByAdministrator lists the scopes that only applications may have for which an administrator answers. `introspection` is always one of them.
	ScopesByAdministrator []string `key:"SCOPES_BY_ADMINISTRATOR" default:"[]"`
	// PersonMaxApplications is the most applications that a person who is not an administrator may register; 0 is no bound.
	PersonMaxApplications int `key:"PERSON_MAX_APPLICATIONS" default:"50" min:"0" max:"1000000"`
	// PersonMaxSessions is the most browser sessions of a person who is not an administrator; the session used longest ago ends. 0 is no bound.
	PersonMaxSessions int `key:"PERSON_MAX_SESSIONS" default:"100" min:"0" max:"1000000"`
	// PersonMaxApprovals is the most live approvals (authorization codes and token families) of all applications of one person who is not an administrator; 0 is no bound.
	PersonMaxApprovals int `key:"PERSON_MAX_APPROVALS" default:"10000" min:"0" max:"1000000000"`
	// PersonMaxTokensPerMinute is the most token responses a minute, at each node, for all applications of one person who is not an administrator; 0 is no bound.
	PersonMaxTokensPerMinute int `key:"PERSON_MAX_TOKENS_PER_MINUTE" default:"600" min:"0" max:"1000000"`
	// PersonMaxLiveTokens is the most tokens, stored and not expired, of all applications of one person who is not an administrator; 0 is no bound.
	PersonMaxLiveTokens int `key:"PERSON_MAX_LIVE_TOKENS" default:"100000" min:"0" max:"1000000000"`
	// OpenMaxApplications is the most applications that may have registered themselves (dynamic registration); 0 is no bound.
	OpenMaxApplications int `key:"OPEN_MAX_APPLICATIONS" default:"10000" min:"0" max:"1000000"`
	// OpenMaxApprovals is the most live approvals of all applications together that registered themselves; 0 is no bound.
	OpenMaxApprovals int `key:"OPEN_MAX_APPROVALS" default:"100000" min:"0" max:"1000000000"`
	// OpenMaxTokensPerMinute is the most token responses a minute, at each node, for all applications together that registered themselves; 0 is no bound.
	OpenMaxTokensPerMinute int `key:"OPEN_MAX_TOKENS_PER_MINUTE" default:"6000" min:"0" max:"1000000"`
	// OpenMaxLiveTokens is the most tokens, stored and not expired, of all applications together that registered themselves; 0 is no bound.
	OpenMaxLiveTokens int `key:"OPEN_MAX_LIVE_TOKENS" default:"1000000" min:"0" max:"1000000000"`
	// AuthorizationCodeExpire is the life of an authorization code in seconds; RFC 6749 §4.1.2 allows ten minutes at most.
	AuthorizationCodeExpire time.Duration `key:"AUTHORIZATION_CODE_EXPIRE_SECONDS" default:"60" min:"1" max:"600"`
	// RefreshTokenExpire is how many seconds a refresh token may lie unused (RFC 9700 §4.14.2); left out, it is never more than `REFRESH_TOKEN_ABSOLUTE_EXPIRE_SECONDS`.
	RefreshTokenExpire time.Duration `key:"REFRESH_TOKEN_EXPIRE_SECONDS" default:"2592000" min:"1" max:"315360000"`
	// RefreshTokenAbsoluteExpire is the life in seconds of all that came from one approval, however often it is refreshed.
	RefreshTokenAbsoluteExpire time.Duration `key:"REFRESH_TOKEN_ABSOLUTE_EXPIRE_SECONDS" default:"31536000" min:"1" max:"315360000"`
	// RefreshTokenGracePeriod is how many seconds a spent refresh token still returns the same successor to a request for the same scope, for clients that lose an answer; 0 is off.
	RefreshTokenGracePeriod time.Duration `key:"REFRESH_TOKEN_GRACE_PERIOD_SECONDS" default:"0" min:"0" max:"60"`
	// RefreshTokenReuseProtection revokes the whole family when a spent refresh token comes back. It cannot be switched off (RFC 9700 §4.14.2).
	RefreshTokenReuseProtection bool `key:"REFRESH_TOKEN_REUSE_PROTECTION" default:"true"`
	// RotateRefreshToken replaces the refresh token at each use. `false` is for confidential applications, whose tokens are bound to their secret; those of public ones always rotate (RFC 9700 §2.2.2).
	RotateRefreshToken bool `key:"ROTATE_REFRESH_TOKEN" default:"true"`
	// PKCERequired asks every client for PKCE. `false` is for old confidential applications that cannot send it and for which an administrator answers; public ones always have to (RFC 9700 §2.1.1).
	PKCERequired bool `key:"PKCE_REQUIRED" default:"true"`
	// RequestApprovalPrompt is when the consent page is shown: `auto` skips it where the user has approved the same scopes before, `force` always shows it.
	RequestApprovalPrompt string `key:"REQUEST_APPROVAL_PROMPT" default:"auto" oneof:"auto force"`
	// AllowedRedirectURISchemes restricts the schemes of redirect URIs to those listed: `https`, `http` (loopback only) and private-use schemes with a dot (RFC 8252 §7.1). Empty allows all three kinds.
	AllowedRedirectURISchemes []string `key:"ALLOWED_REDIRECT_URI_SCHEMES" default:"[]"`
	// AllowLocalhostLoopback lets the host name `localhost` vary its port in a redirect URI as loopback addresses may (against RFC 8252 §8.3). For native applications that register `http://localhost`.
	AllowLocalhostLoopback bool `key:"ALLOW_LOCALHOST_LOOPBACK" default:"false"`
	// ClearExpiredTokensBatchSize is how many expired rows one statement deletes.
	ClearExpiredTokensBatchSize int `key:"CLEAR_EXPIRED_TOKENS_BATCH_SIZE" default:"1000" min:"1" max:"100000"`
	// OpenID turns the server into an OpenID Provider (OIDC Core): ID tokens, discovery, keys and UserInfo. It goes together with the scope `openid` in `SCOPES`.
	OpenID bool `key:"OIDC_ENABLED" default:"false"`
	// IDTokenExpire is the life of an ID token in seconds.
	IDTokenExpire time.Duration `key:"ID_TOKEN_EXPIRE_SECONDS" default:"3600" min:"1" max:"31536000"`
	// OIDCPrivateKey is your own RSA private key in PEM, which then signs RS256 and PS256 in the place of the server's; empty leaves all keys to the server.
	OIDCPrivateKey string `key:"OIDC_RSA_PRIVATE_KEY" default:"" secret:"true"`
	// OIDCInactiveKeys are RSA private keys in PEM that signed before: they are published, so that what they signed can still be checked, and sign no more. A file holds them one after the other.
	OIDCInactiveKeys []string `key:"OIDC_RSA_PRIVATE_KEYS_INACTIVE" default:"[]" secret:"true"`
	// OIDCJWKSMaxAge is how many seconds others may keep the published keys. A new key is published for twice as long, and an hour at least, before it signs.
	OIDCJWKSMaxAge time.Duration `key:"OIDC_JWKS_MAX_AGE_SECONDS" default:"3600" min:"0" max:"604800"`
	// OIDCKeyRotation is how many seconds one of the server's keys signs before the next one does; 0 is for ever.
	OIDCKeyRotation time.Duration `key:"OIDC_KEY_ROTATION_SECONDS" default:"7776000" min:"0" max:"315360000"`
	// OIDCRPLogout lets applications send people to `/o/logout/` (OIDC RP-Logout §2), where that is advertised.
	OIDCRPLogout bool `key:"OIDC_RP_INITIATED_LOGOUT_ENABLED" default:"true"`
	// OIDCRPLogoutAlwaysPrompt asks the person there each time. `false` asks unless the request has an ID token of this very login.
	OIDCRPLogoutAlwaysPrompt bool `key:"OIDC_RP_INITIATED_LOGOUT_ALWAYS_PROMPT" default:"false"`
	// OIDCRPLogoutStrictURIs lets only confidential applications register post-logout redirect URIs that begin with `http:` (which lead to this computer in any case).
	OIDCRPLogoutStrictURIs bool `key:"OIDC_RP_INITIATED_LOGOUT_STRICT_REDIRECT_URIS" default:"false"`
	// OIDCRPLogoutAcceptExpired takes an ID token as a hint that has expired, as most have by the time a person logs out (OIDC RP-Logout §2).
	OIDCRPLogoutAcceptExpired bool `key:"OIDC_RP_INITIATED_LOGOUT_ACCEPT_EXPIRED_TOKENS" default:"true"`
	// OIDCRPLogoutDeleteTokens ends the tokens of the session with it, but for those with `offline_access`.
	OIDCRPLogoutDeleteTokens bool `key:"OIDC_RP_INITIATED_LOGOUT_DELETE_TOKENS" default:"true"`
	// ResourceServerIntrospectionURL is the introspection endpoint that the resource server asks about tokens (RFC 7662 §2), such as `https://auth.example.com/o/introspect/`.
	ResourceServerIntrospectionURL string `key:"RESOURCE_SERVER_INTROSPECTION_URL" default:""`
	// ResourceServerAuthToken is the access token with scope `introspection` by which the resource server authenticates there; either this or the credentials.
	ResourceServerAuthToken string `key:"RESOURCE_SERVER_AUTH_TOKEN" default:"" secret:"true"`
	// ResourceServerIntrospectionCredentials is the client id and client secret by which the resource server authenticates there (HTTP Basic), as a list of two.
	ResourceServerIntrospectionCredentials []string `key:"RESOURCE_SERVER_INTROSPECTION_CREDENTIALS" default:"[]" secret:"true"`
	// ResourceServerTokenCaching is how many seconds the resource server trusts an answer; a revoked token may pass that long (RFC 7662 §4). 0 asks every time.
	ResourceServerTokenCaching time.Duration `key:"RESOURCE_SERVER_TOKEN_CACHING_SECONDS" default:"10" min:"0" max:"3600"`
	// ResourceServerIntrospectionTimeout is how many seconds the resource server waits for an answer.
	ResourceServerIntrospectionTimeout time.Duration `key:"RESOURCE_SERVER_INTROSPECTION_TIMEOUT_SECONDS" default:"5" min:"1" max:"60"`
	// ResourceServerJWKSURL is where the resource server finds the keys to check signed access tokens with, by itself (RFC 9068 §4), such as `https://auth.example.com/o/.well-known/jwks.json`. It wants an issuer and an audience beside it. With an introspection endpoint too, that is asked about all other tokens; without one, those are refused.
	ResourceServerJWKSURL string `key:"RESOURCE_SERVER_JWKS_URL" default:""`
	// ResourceServerIssuer is what `iss` of a signed access token must be, letter by letter: the authorization server, such as `https://auth.example.com/o`.
	ResourceServerIssuer string `key:"RESOURCE_SERVER_ISSUER" default:""`
	// ResourceServerAudience is the name of the resource server that `aud` of an access token must hold: of Mandate its `BASE_URL`. Where tokens are introspected it may be left out, and `aud` is not looked at then.
	ResourceServerAudience string `key:"RESOURCE_SERVER_AUDIENCE" default:""`
	// ErrorResponseWithScopes names the scopes needed in the body of a 403 of the sample API.
	ErrorResponseWithScopes bool `key:"ERROR_RESPONSE_WITH_SCOPES" default:"false"`
}

// Scope is one scope: its name as it stands in tokens and what a person reads about it.
type Scope struct {
	Name        string
	Description string
}

// Scopes is a YAML mapping from name to description that keeps the order of the file,
// which is the order of the default scopes and of the consent page.
type Scopes []Scope

// Rule is one line of RULES: the scopes that a request must have, all of them.
type Rule struct {
	// Path covers itself and everything below it (/users: also /users/7, not /users2); the longest one that covers a request decides alone.
	Path string `key:"PATH" default:""`
	// Methods are the HTTP methods the rule is for; none is every method.
	Methods []string `key:"METHODS" default:"[]"`
	// Scopes are the scopes the token must have; none is any active token.
	Scopes []string `key:"SCOPES" default:"[]"`
	// WebSocket lets a `GET` request open a WebSocket (RFC 6455). It is closed when its token ends, when a check each `RESOURCE_SERVER_TOKEN_CACHING_SECONDS` (at least 1) finds the token inactive or without a scope of the rule, when such checks have failed for a minute, and after 24 hours at the latest. Every other change of protocol is refused.
	WebSocket bool `key:"WEBSOCKET" default:"false"`
}
