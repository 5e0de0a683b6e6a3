package config

import (
	"time"
)

// APIs are the resources.
type APIs struct {
	// Resources are the APIs that tokens can be issued for (RFC 8707), in addition to those that administrators add.
	//
	// An item has the form `{URI: https://files.example, NAME: Files, SCOPES: [read]}`. Administrators add others on
	// the pages and with `mandate resource add`. The server does not see that an item is removed: if its URI is added
	// again, the tokens, refresh tokens and consents of before are for it again.
	Resources []Resource `key:"RESOURCES" default:"[]" subject:"Scopes and resources" after:"STRICT_SCOPES"`
}

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
	// AccessTokenExpire is the longest lifetime of an access token for the API in seconds. With 0 it is that of the
	// application.
	AccessTokenExpire time.Duration `key:"ACCESS_TOKEN_EXPIRE_SECONDS" default:"0" min:"0" max:"31536000"`
	// Algorithm signs access tokens that are JWTs: `ES256`, `EdDSA`, `RS256` or `PS256`. By default it is that of the
	// application.
	Algorithm string `key:"ALGORITHM" default:""`
	// JWTTyp is the `typ` of access tokens that are JWTs: `at+jwt` (RFC 9068), or `JWT` for an API whose library
	// accepts nothing else.
	//
	// A token for several APIs has `JWT` only if all of them say so.
	JWTTyp string `key:"JWT_TYP" default:"at+jwt"`
	// SenderConstrained refuses access tokens for the API that are not bound to a key (RFC 9449) or to a certificate
	// (RFC 8705) of the application.
	SenderConstrained bool `key:"SENDER_CONSTRAINED" default:"false"`
	// Introspectors are the client ids of the applications that may introspect the tokens for the API. An
	// administrator must be responsible for them.
	Introspectors []string `key:"INTROSPECTORS" default:"[]"`
}

// Registration is the registration endpoint.
type Registration struct {
	// SoftwareStatementIssuers are the issuers whose software statements a registration may have (RFC 7591 §2.3). If
	// there are none, each is refused.
	//
	// An item has the form `{ISSUER: https://directory.example, JWKS_URI: https://directory.example/keys}`.
	SoftwareStatementIssuers []StatementIssuer `key:"SOFTWARE_STATEMENT_ISSUERS" default:"[]" subject:"Applications that nobody registered" after:"REGISTRATION_WITH_TOKEN"`
}

// StatementIssuer is one item of SOFTWARE_STATEMENT_ISSUERS: an issuer whose software statements a registration may
// have.
type StatementIssuer struct {
	// Issuer is the claim `iss` of its statements, character by character.
	Issuer string `key:"ISSUER" default:""`
	// JWKS contains the public keys of the issuer, as the text of a JWK Set (RFC 7517 §5). Set either this or
	// `JWKS_URI`.
	JWKS string `key:"JWKS" default:""`
	// JWKSURI is the `https` URL of its public keys. The server uses them for five minutes without a new request, and
	// for an hour if no request succeeds.
	//
	// An address in a special-use network needs `OUTBOUND_ALLOWED_NETWORKS`.
	JWKSURI string `key:"JWKS_URI" default:""`
}
