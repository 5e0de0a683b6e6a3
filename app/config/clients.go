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

// Open is about applications that nobody registered.
type Open struct {
	// OpenClients says which applications may come that nobody registered: `documents`, `registration`, or both. If
	// the list is empty, none may.
	//
	// `documents` are those whose client id is the URL of a metadata document (Client ID Metadata Documents),
	// `registration` are those that register themselves (RFC 7591). Nobody is responsible for such an application, and
	// a person is asked each time before it gets a code.
	OpenClients []string `key:"OPEN_CLIENTS" default:"[]" subject:"Applications that nobody registered" after:"PERSON_MAX_LIVE_TOKENS"`
	// RegistrationWithToken enables the registration endpoint (RFC 7591) for requests with an initial access token.
	//
	// Administrators make these tokens by `mandate registration-token add` and on a page. If `OPEN_CLIENTS` has
	// `registration`, such requests are accepted too.
	RegistrationWithToken bool `key:"REGISTRATION_WITH_TOKEN" default:"false"`
	// OpenSoftwareStatementRequired refuses a registration without an initial access token that has no software
	// statement.
	//
	// With `OPEN_CLIENTS: [registration]`, only applications with a statement then register themselves.
	OpenSoftwareStatementRequired bool `key:"OPEN_SOFTWARE_STATEMENT_REQUIRED" default:"false"`
	// OpenHosts lists the hosts to which an application of `OPEN_CLIENTS` may belong: the host of its client id and of
	// its `https` redirect URIs.
	//
	// `claude.ai` is that host, `*.example.com` is each host below `example.com`. If it is empty, every host is
	// allowed.
	OpenHosts []string `key:"OPEN_HOSTS" default:"[]"`
	// OpenRedirectURISchemes lists private-use schemes without a dot that applications of `OPEN_CLIENTS` may have in
	// their redirect URIs (against RFC 8252 §7.1). Common programs have them.
	//
	// Such a redirect URI names an extension, with a dot (`vscode://publisher.extension/callback`): others can be
	// commands. They apply only if `ALLOWED_REDIRECT_URI_SCHEMES` is empty or lists them.
	OpenRedirectURISchemes []string `key:"OPEN_REDIRECT_URI_SCHEMES" default:"[cursor, vscode, vscode-insiders]"`
	// OpenLocalhostLoopback does for applications of `OPEN_CLIENTS` what `ALLOW_LOCALHOST_LOOPBACK` does for all: the
	// port of `http://localhost` may vary.
	//
	// Common command line programs need it.
	OpenLocalhostLoopback bool `key:"OPEN_LOCALHOST_LOOPBACK" default:"true"`
	// OpenNeverUsedExpire is the number of seconds after which an application that registered itself is deleted if
	// nobody has ever approved it.
	OpenNeverUsedExpire time.Duration `key:"OPEN_NEVER_USED_EXPIRE_SECONDS" default:"86400" min:"60" max:"315360000" after:"OPEN_REFRESH_TOKEN_GRACE_PERIOD_SECONDS"`
	// OpenUnusedExpire is the number of seconds after which an application of `OPEN_CLIENTS` is deleted, with its
	// tokens, if it got no code and no token in that time.
	OpenUnusedExpire time.Duration `key:"OPEN_UNUSED_EXPIRE_SECONDS" default:"7776000" min:"3600" max:"315360000"`
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

// Redirects are the rules for redirect URIs.
type Redirects struct {
	// AllowedRedirectURISchemes restricts the schemes of redirect URIs to those listed: `https`, `http` (loopback
	// only) and private-use schemes with a dot (RFC 8252 §7.1).
	//
	// If it is empty, all three kinds are allowed, and those that only an administrator registers.
	AllowedRedirectURISchemes []string `key:"ALLOWED_REDIRECT_URI_SCHEMES" default:"[]" subject:"Redirect URIs" after:"REQUEST_APPROVAL_PROMPT"`
	// AllowLocalhostLoopback lets the port of a redirect URI with the host name `localhost` vary, as it may for
	// loopback addresses (against RFC 8252 §8.3).
	//
	// For native applications that register `http://localhost`.
	AllowLocalhostLoopback bool `key:"ALLOW_LOCALHOST_LOOPBACK" default:"false"`
}
