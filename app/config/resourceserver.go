package config

import (
	"time"
)

// Proxy is the API that `mandate resource-server` protects.
type Proxy struct {
	// Upstream is the API that `mandate resource-server` protects: an absolute URL to which it forwards allowed
	// requests.
	Upstream string `key:"UPSTREAM" default:"" subject:"Protect an API"`
	// Rules lists the scopes that a request to `UPSTREAM` needs, as items of the form `{PATH: /users/, METHODS: [GET],
	// SCOPES: [read]}`.
	//
	// A request that matches no rule is refused.
	Rules []Rule `key:"RULES" default:"[]"`
	// PassAuthorization forwards the client's `Authorization` header to `UPSTREAM`. By default the header is removed.
	PassAuthorization bool `key:"PASS_AUTHORIZATION" default:"false"`
	// ReservedHeaders are the names of further request headers that only proxies in front of `UPSTREAM` may set, such
	// as `X-Company-User`, or `X-Company-*` for all names that begin so.
	//
	// `mandate resource-server` removes them from the requests of clients. It already removes
	// [many](protect-an-api.md#what-the-proxy-refuses).
	ReservedHeaders []string `key:"RESERVED_HEADERS" default:"[]"`
}

// Rule is one item of RULES: a request needs all of its scopes.
type Rule struct {
	// Path covers itself and everything below it (`/users` covers `/users/7`, not `/users2`). The longest path that
	// covers a request decides alone.
	Path string `key:"PATH" default:""`
	// Methods are the HTTP methods to which the rule applies. If there are none, it applies to every method.
	Methods []string `key:"METHODS" default:"[]"`
	// Scopes are the scopes that the token must have. If there are none, any active token is allowed.
	Scopes []string `key:"SCOPES" default:"[]"`
	// MaxAge is the largest age of the login behind the token in seconds (RFC 9470). A token of an older login, or of
	// none, is answered with `insufficient_user_authentication`.
	//
	// With 0 every token is allowed.
	MaxAge time.Duration `key:"MAX_AGE" default:"0" min:"0" max:"31536000"`
	// ACRValues are the accepted kinds of login (`acr`), the preferred one first. If there are none, every token is
	// allowed.
	//
	// The values of Mandate are `urn:mandate:acr:password` and `urn:mandate:acr:mfa`.
	ACRValues []string `key:"ACR_VALUES" default:"[]"`
	// WebSocket lets a `GET` request open a WebSocket (RFC 6455).
	//
	// Mandate closes it when the token expires; when a check, each `RESOURCE_SERVER_TOKEN_CACHING_SECONDS` (at least
	// 1), finds the token inactive, without a scope of the rule, or its login older than `MAX_AGE`; when such checks
	// have failed for a minute; and after 24 hours at the latest. Every other protocol upgrade is refused.
	WebSocket bool `key:"WEBSOCKET" default:"false"`
	// PathAsWritten forwards paths that servers read in different ways: with `%2F`, `//`, `;`, `%3F`, `%23` or `%25`,
	// or with something after the name of a script (`/index.php/a`).
	//
	// Set it if `UPSTREAM` splits a path only at the slashes as they are written, decodes each part once, and gives
	// `;` no meaning. GitLab (`/projects/group%2Fproject`) needs it. A path that another rule could be for is refused
	// nevertheless.
	PathAsWritten bool `key:"PATH_AS_WRITTEN" default:"false"`
}

// ResourceServer is how an API checks access tokens: the proxy, and the sample API.
type ResourceServer struct {
	// ResourceServerIntrospectionURL is the introspection endpoint that the resource server calls (RFC 7662 §2), such
	// as `https://auth.example.com/o/introspect/`.
	ResourceServerIntrospectionURL string `key:"RESOURCE_SERVER_INTROSPECTION_URL" default:"" subject:"Protect an API"`
	// ResourceServerAuthToken is the access token with the scope `introspection` that authenticates the resource
	// server there. Set either this or the credentials.
	ResourceServerAuthToken string `key:"RESOURCE_SERVER_AUTH_TOKEN" default:"" secret:"true"`
	// ResourceServerIntrospectionCredentials are the client id and the client secret that authenticate the resource
	// server there (HTTP Basic), as a list of two.
	ResourceServerIntrospectionCredentials []string `key:"RESOURCE_SERVER_INTROSPECTION_CREDENTIALS" default:"[]" secret:"true"`
	// ResourceServerTokenCaching is the number of seconds for which the resource server caches an introspection
	// response.
	//
	// A revoked token is accepted for up to this long (RFC 7662 §4). 0 disables the cache.
	ResourceServerTokenCaching time.Duration `key:"RESOURCE_SERVER_TOKEN_CACHING_SECONDS" default:"10" min:"0" max:"3600"`
	// ResourceServerIntrospectionTimeout is the number of seconds for which the resource server waits for an
	// introspection response.
	ResourceServerIntrospectionTimeout time.Duration `key:"RESOURCE_SERVER_INTROSPECTION_TIMEOUT_SECONDS" default:"5" min:"1" max:"60"`
	// ResourceServerJWKSURL is the URL of the keys by which the resource server itself verifies signed access tokens
	// (RFC 9068 §4), such as `https://auth.example.com/o/.well-known/jwks.json`.
	//
	// It requires `RESOURCE_SERVER_ISSUER` and `RESOURCE_SERVER_AUDIENCE`. All other tokens are introspected if there
	// is an introspection endpoint, and refused if there is none.
	ResourceServerJWKSURL string `key:"RESOURCE_SERVER_JWKS_URL" default:""`
	// ResourceServerJWTTyp is the `typ` of the signed access tokens that the resource server accepts: `at+jwt` (RFC
	// 9068), or `JWT` to accept that one too.
	//
	// `JWT` is for a resource whose tokens have it because other programs need it. A token with `JWT` needs
	// `client_id` and `jti`, and no claim of an ID token.
	ResourceServerJWTTyp string `key:"RESOURCE_SERVER_JWT_TYP" default:"at+jwt" oneof:"at+jwt JWT"`
	// ResourceServerIssuer is the authorization server whose tokens the API accepts, such as
	// `https://auth.example.com/o`: its issuer, character by character.
	//
	// A signed access token must have it as `iss`. With a URL as `RESOURCE_SERVER_AUDIENCE`, the API also publishes
	// metadata that names this server (RFC 9728), so that clients find it.
	ResourceServerIssuer string `key:"RESOURCE_SERVER_ISSUER" default:""`
	// ResourceServerAudience is the name of the resource server that `aud` of an access token must contain: the URI of
	// its resource. For the sample API of this server it is `BASE_URL`.
	//
	// An introspected token without `aud` is for the server that issued it. The setting is optional if all tokens are
	// introspected: if it is not set, `aud` is not checked. For metadata (RFC 9728 §1.2) it is the https URL by which
	// clients reach the API, or an http URL on this machine.
	ResourceServerAudience string `key:"RESOURCE_SERVER_AUDIENCE" default:""`
	// ResourceServerName is the name of the API for people, in its metadata (`resource_name`, RFC 9728 §2).
	ResourceServerName string `key:"RESOURCE_SERVER_NAME" default:""`
	// ResourceServerDocumentation is the URL of a page for developers, in the metadata of the API
	// (`resource_documentation`, RFC 9728 §2).
	ResourceServerDocumentation string `key:"RESOURCE_SERVER_DOCUMENTATION" default:""`
	// ResourceServerBaseURLs are the URLs by which clients reach the API: scheme, host, and the part of the path that
	// a reverse proxy removes.
	//
	// A DPoP proof must be for one of them, followed by the path of the request (RFC 9449 §4.3). If the list is empty,
	// it is the scheme and host of `RESOURCE_SERVER_AUDIENCE`, and for the sample API those of `BASE_URL` and
	// `MTLS_BASE_URL`. Without such a URL, no access token that is bound to a key is accepted.
	ResourceServerBaseURLs []string `key:"RESOURCE_SERVER_BASE_URLS" default:"[]"`
	// ResourceServerRequiredBinding is what access tokens must be bound to: `dpop` means a key (RFC 9449),
	// `certificate` a client certificate (RFC 8705), `any` one of the two.
	//
	// With `none`, bearer tokens are accepted too. A token that is bound always needs its proof.
	ResourceServerRequiredBinding string `key:"RESOURCE_SERVER_REQUIRED_BINDING" default:"none" oneof:"none dpop certificate any"`
	// ResourceServerDPoPNonce requires a nonce of the resource server in each DPoP proof (RFC 9449 §9), so that nobody
	// can make proofs in advance.
	//
	// A client sends its first request twice, and again when it has sent none for five to ten minutes.
	ResourceServerDPoPNonce bool `key:"RESOURCE_SERVER_DPOP_NONCE" default:"false"`
	// ResourceServerDPoPNonceKey is the key of these nonces: 32 random bytes in base64 (`openssl rand -base64 32`),
	// the same on every node of this API, and for no other purpose.
	//
	// If it is not set, each process makes one.
	ResourceServerDPoPNonceKey string `key:"RESOURCE_SERVER_DPOP_NONCE_KEY" default:"" secret:"true"`
	// ResourceServerAllowedOrigins are the origins, such as `https://app.example.com`, whose scripts may call the API
	// (CORS). `["*"]` means every origin: a browser never sends a token by itself.
	//
	// If the list is empty, only scripts of the API's own origin can call it.
	ResourceServerAllowedOrigins []string `key:"RESOURCE_SERVER_ALLOWED_ORIGINS" default:"[]"`
	// ErrorResponseWithScopes names the required scopes in the body of a 403 response of the sample API.
	ErrorResponseWithScopes bool `key:"ERROR_RESPONSE_WITH_SCOPES" default:"false" subject:"Sample API"`
}

// Sample is the sample protected API.
type Sample struct {
	// SampleAPI adds the sample protected API (`/users/`, `/groups/`, `/resource`, `/resource/recent`).
	SampleAPI bool `key:"SAMPLE_API" default:"false" subject:"Sample API" after:"LOGIN_URL"`
}

// SampleScopes are the scopes of the sample API.
type SampleScopes struct {
	// ReadScope is the scope that the sample API requires for reading.
	ReadScope string `key:"READ_SCOPE" default:"read" subject:"Sample API" after:"RESOURCES"`
	// WriteScope is the scope that the sample API requires for writing.
	WriteScope string `key:"WRITE_SCOPE" default:"write"`
}
