package policy

import "time"

// Settings is what an operator decides about applications.
type Settings struct {
	// Scopes are the available scopes in their order: a mapping from name to the description that the consent page
	// shows (RFC 6749 §3.3).
	//
	// The scopes `openid`, `profile`, `email`, `groups`, `phone`, `address` and `offline_access` exist without this
	// setting unless `OIDC_ENABLED` is off. One of these can stand here too, to give it another description. In place
	// of one description, there can be one for each language: `{read: {en: Read your data, de: Ihre Daten lesen}}`.
	// The English one is also for people who read another language.
	Scopes []Scope `key:"SCOPES" default:"{read: Read scope, write: Write scope}" subject:"Scopes and resources"`
	// DefaultScopes are the scopes of a request that names none (RFC 6749 §3.3).
	//
	// The default, `[__all__]`, means every scope of `SCOPES` except `introspection` and, unless `OIDC_ENABLED` is
	// off, `openid`, `profile`, `email`, `phone`, `address` and `offline_access`, which are about the person. If the
	// list is empty, such a request is refused.
	DefaultScopes []string `key:"DEFAULT_SCOPES" default:"[__all__]"`
	// StrictScopes refuses a request with a scope that the server does not know, or that the application may not have.
	//
	// Otherwise such a scope is left out if another one remains: the token response, the consent page and the log say
	// which scopes there are. Common applications, such as those that ask every server for `groups` or `roles`, need
	// that. Applications with a FAPI profile are always refused, and so is `openid` that cannot be granted.
	StrictScopes bool `key:"STRICT_SCOPES" default:"false"`
	// AccessTokenLifetime is the lifetime of an access token in seconds.
	//
	// It is also the longest lifetime that an application can have, unless an administrator is responsible for the
	// application.
	AccessTokenLifetime time.Duration `key:"ACCESS_TOKEN_EXPIRE_SECONDS" default:"36000" min:"1" max:"31536000" subject:"Lifetimes"`
	// JWTAccessTokenLifetime is the lifetime in seconds of an access token that is a JWT (RFC 9068), unless the
	// application has a shorter one.
	//
	// It is also the longest lifetime that an application can have, unless an administrator is responsible for the
	// application. It is short because an API that verifies such a token itself accepts it until it expires, even if
	// it was revoked. The default is lowered to `ACCESS_TOKEN_EXPIRE_SECONDS` if that is smaller.
	JWTAccessTokenLifetime time.Duration `key:"JWT_ACCESS_TOKEN_EXPIRE_SECONDS" default:"600" min:"1" max:"31536000"`
	// AccessTokenMax is the longest lifetime in seconds of opaque access tokens of an application for
	// which an administrator is responsible.
	//
	// It is never less than `ACCESS_TOKEN_EXPIRE_SECONDS`, the limit for all other applications.
	AccessTokenMax time.Duration `key:"ADMINISTRATOR_ACCESS_TOKEN_MAX_SECONDS" default:"31536000" min:"1" max:"31536000"`
	// JWTAccessTokenMax is the longest lifetime in seconds of access tokens that are JWTs, of an
	// application for which an administrator is responsible.
	//
	// It is never less than `JWT_ACCESS_TOKEN_EXPIRE_SECONDS`, the limit for all other applications. A retired key
	// stays published for this long.
	JWTAccessTokenMax time.Duration `key:"ADMINISTRATOR_JWT_ACCESS_TOKEN_MAX_SECONDS" default:"86400" min:"1" max:"31536000"`
	// GrantsByAdministrator lists the grant types that an application may use only if an administrator is responsible
	// for it.
	//
	// They are `authorization_code`, `client_credentials`, `password` and
	// `urn:ietf:params:oauth:grant-type:device_code`. RFC 9700 §2.4 suggests `[password]`.
	GrantsByAdministrator []string `key:"GRANTS_BY_ADMINISTRATOR" default:"[]" subject:"Limits of applications"`
	// ScopesByAdministrator lists the scopes that an application may have only if an administrator is responsible for
	// it. `introspection` is always one of them.
	ScopesByAdministrator []string    `key:"SCOPES_BY_ADMINISTRATOR" default:"[]"`
	PersonQuota           PersonQuota // for all applications of one person together
	// OpenAccessTokenLifetime is the longest lifetime in seconds of access tokens of applications for which nobody is
	// responsible.
	//
	// It has no effect above `ACCESS_TOKEN_EXPIRE_SECONDS`, or above `JWT_ACCESS_TOKEN_EXPIRE_SECONDS` for tokens that
	// are JWTs.
	OpenAccessTokenLifetime time.Duration `key:"OPEN_ACCESS_TOKEN_EXPIRE_SECONDS" default:"3600" min:"1" max:"31536000" subject:"Applications that nobody registered"`
	// OpenRefreshTokenLifetime is the longest number of seconds for which a refresh token of such an application may
	// stay unused. It has no effect above `REFRESH_TOKEN_EXPIRE_SECONDS`.
	OpenRefreshTokenLifetime time.Duration `key:"OPEN_REFRESH_TOKEN_EXPIRE_SECONDS" default:"2592000" min:"1" max:"315360000"`
	// OpenRefreshGrace is `REFRESH_TOKEN_GRACE_PERIOD_SECONDS` for such an application: the agents on one
	// computer share a refresh token, and do not know of each other.
	//
	// If `REFRESH_TOKEN_GRACE_PERIOD_SECONDS` is set and this is not, it has the same value.
	OpenRefreshGrace time.Duration `key:"OPEN_REFRESH_TOKEN_GRACE_PERIOD_SECONDS" default:"30" min:"0" max:"60"`
	OpenQuota        OpenQuota     // for all applications together for which nobody is responsible
	// RefreshTokenLifetime is the number of seconds after which an unused refresh token expires (RFC 9700 §4.14.2).
	//
	// The default is lowered to `REFRESH_TOKEN_ABSOLUTE_EXPIRE_SECONDS` if that is smaller.
	RefreshTokenLifetime time.Duration `key:"REFRESH_TOKEN_EXPIRE_SECONDS" default:"2592000" min:"1" max:"315360000" subject:"Lifetimes"`
	// RefreshTokenMaxLifetime is the lifetime in seconds of a token family (all tokens that come from one
	// authorization grant), regardless of how often it is refreshed.
	RefreshTokenMaxLifetime time.Duration `key:"REFRESH_TOKEN_ABSOLUTE_EXPIRE_SECONDS" default:"31536000" min:"1" max:"315360000"`
	// RefreshGrace is the number of seconds in which a refresh token that was replaced returns the same
	// successor again.
	//
	// It is for clients that refresh [twice at the same
	// time](register-applications.md#two-refreshes-at-the-same-time), or lose a response. 0 disables it.
	RefreshGrace time.Duration `key:"REFRESH_TOKEN_GRACE_PERIOD_SECONDS" default:"10" min:"0" max:"60"`
	// PKCE says which applications must send a code challenge with each authorization request.
	//
	// Public applications, those for which nobody is responsible, and those with a FAPI profile always must (RFC 9700
	// §2.1.1). `public`: those of a person without administrator rights, and those that registered themselves with an
	// initial access token, must too, unless the request has the scope `openid` and a `nonce`. `true`: all must.
	// `false`: no other must. An application can have a value of its own (`mandate application update --pkce`). A code
	// challenge that was sent is always enforced.
	PKCE string `key:"PKCE_REQUIRED" default:"public" oneof:"public true false" subject:"Authorization requests"`
	// OpenID makes the server an OpenID Provider (OIDC Core): ID tokens, discovery, keys and UserInfo. The scopes of
	// OpenID Connect then exist without `SCOPES`.
	//
	// `false` is for a server that only gives access to APIs: none of this exists then.
	OpenID bool `key:"OIDC_ENABLED" default:"true" subject:"OpenID Connect"`

	// The rest is no setting of this package. The provider adds it.

	KeyMethods []string // of client authentication, for applications for which nobody is responsible
	// AllowsDocument reports whether a client may come whose metadata document is at this
	// client id. nil: none may.
	AllowsDocument func(clientID string) bool
	// OpenSchemes lists private-use schemes without a dot that applications which come by themselves may have.
	OpenSchemes []string
	// AllowsRegistration says that applications may register themselves without a token.
	AllowsRegistration bool
}

// PersonQuota is the Quota of all applications of one person together.
type PersonQuota struct {
	// Applications is the largest number of applications that a person who is not an administrator may
	// register. 0 means no limit.
	Applications int `key:"PERSON_MAX_APPLICATIONS" default:"50" min:"0" max:"1000000" subject:"Limits of applications"`
	// Sessions is the largest number of browser sessions of a person who is not an administrator.
	//
	// A further sign-in ends the session that was not used for the longest time. 0 means no limit.
	Sessions int `key:"PERSON_MAX_SESSIONS" default:"100" min:"0" max:"1000000"`
	// Approvals is the largest number of live approvals (authorization codes and token families) of all
	// applications of one person who is not an administrator. 0 means no limit.
	Approvals int `key:"PERSON_MAX_APPROVALS" default:"10000" min:"0" max:"1000000000"`
	// TokensPerMinute is the largest number of token responses per minute, at each node, for all applications
	// of one person who is not an administrator. 0 means no limit.
	TokensPerMinute int `key:"PERSON_MAX_TOKENS_PER_MINUTE" default:"600" min:"0" max:"1000000"`
	// LiveTokens is the largest number of stored tokens that have not expired, of all applications of one
	// person who is not an administrator. 0 means no limit.
	LiveTokens int `key:"PERSON_MAX_LIVE_TOKENS" default:"100000" min:"0" max:"1000000000"`
}

// OpenQuota is the Quota of all applications together for which nobody is responsible.
type OpenQuota struct {
	// Applications is the largest number of applications for which nobody is responsible.
	//
	// A quarter of it is kept for those that come by a metadata document, and a quarter for those that register
	// themselves. 0 means no limit.
	Applications int `key:"OPEN_MAX_APPLICATIONS" default:"10000" min:"0" max:"1000000" subject:"Applications that nobody registered"`
	Sessions     int // has no meaning: the type has the fields of Quota
	// Approvals is the largest number of live approvals of all applications together for which nobody is
	// responsible. 0 means no limit.
	Approvals int `key:"OPEN_MAX_APPROVALS" default:"100000" min:"0" max:"1000000000"`
	// TokensPerMinute is the largest number of token responses per minute, at each node, for all applications
	// together for which nobody is responsible. 0 means no limit.
	TokensPerMinute int `key:"OPEN_MAX_TOKENS_PER_MINUTE" default:"6000" min:"0" max:"1000000"`
	// LiveTokens is the largest number of stored tokens that have not expired, of all applications together for
	// which nobody is responsible. 0 means no limit.
	LiveTokens int `key:"OPEN_MAX_LIVE_TOKENS" default:"1000000" min:"0" max:"1000000000"`
}
