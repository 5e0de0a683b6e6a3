package config

import (
	"time"
)

// Authorize is about authorization requests.
type Authorize struct {
	// AuthorizationCodeExpire is the lifetime of an authorization code in seconds. RFC 6749 §4.1.2 recommends ten
	// minutes at most.
	AuthorizationCodeExpire time.Duration `key:"AUTHORIZATION_CODE_EXPIRE_SECONDS" default:"60" min:"1" max:"600" subject:"Authorization requests" after:"OPEN_MAX_LIVE_TOKENS"`
	// PushedRequestExpire is the number of seconds in which a request URI of a pushed authorization request can be
	// opened.
	//
	// RFC 9126 §2.2 leaves the number to the server, and gives 5 to 600 seconds as its example; FAPI 2.0 Security
	// Profile §5.3.2.2 requires less than 600 seconds. Use more than the default only if people need longer to reach
	// the browser, such as on another device. A person who has opened it has an hour for the login, and an hour for
	// the consent page.
	PushedRequestExpire time.Duration `key:"PUSHED_REQUEST_EXPIRE_SECONDS" default:"90" min:"5" max:"599"`
	// PushedRequestMaxPending is the largest number of pushed authorization requests of one application that have no
	// answer yet. 0 means no limit.
	//
	// It counts those that somebody has opened or can still open. If an administrator is not responsible, it is for
	// all applications of one owner together. One IPv4 /24 or IPv6 /48 may have a tenth of it (at least one) if the
	// application is public, or if nobody is responsible for it.
	PushedRequestMaxPending int `key:"PUSHED_REQUEST_MAX_PENDING" default:"10000" min:"0" max:"1000000"`
	// RequirePushedRequests refuses authorization requests that the application did not push (RFC 9126 §5). The
	// setting of an application can require it for this application alone.
	RequirePushedRequests bool `key:"REQUIRE_PUSHED_AUTHORIZATION_REQUESTS" default:"false"`
	// RequireSignedRequestObject refuses authorization requests that are in no request object which the application
	// signed (RFC 9101 §10.5).
	//
	// The setting of an application can require it for this application alone.
	RequireSignedRequestObject bool `key:"REQUIRE_SIGNED_REQUEST_OBJECT" default:"false"`
	// RequestObjectsByReference lets an application name the address of a request object in `request_uri` (RFC 9101
	// §5.2).
	//
	// The server reads addresses that the application has registered, and no others.
	RequestObjectsByReference bool `key:"REQUEST_OBJECTS_BY_REFERENCE" default:"false"`
	// RequestApprovalPrompt decides when the consent page is shown: `auto` skips it if the person approved the same
	// scopes before, `force` always shows it.
	RequestApprovalPrompt string `key:"REQUEST_APPROVAL_PROMPT" default:"auto" oneof:"auto force" after:"PKCE_REQUIRED"`
}

// Device is the device grant.
type Device struct {
	// DeviceCodeExpire is the lifetime in seconds of a device code and its user code (RFC 8628 §3.2). It is the time
	// in which a person must approve the device.
	//
	// A short time makes phishing harder (RFC 10027 §6.1.2).
	DeviceCodeExpire time.Duration `key:"DEVICE_CODE_EXPIRE_SECONDS" default:"600" min:"60" max:"1800" subject:"Devices" after:"AUTHORIZATION_CODE_EXPIRE_SECONDS"`
	// DeviceFlowInterval is the number of seconds that a device waits between two polls (RFC 8628 §3.5).
	DeviceFlowInterval time.Duration `key:"DEVICE_FLOW_INTERVAL" default:"5" min:"1" max:"60"`
	// DeviceMaxPending is the largest number of devices that wait for an approval, of one application or, if an
	// administrator is not responsible, of all applications of one owner.
	//
	// One IPv4 /24 or IPv6 /48 may have a twentieth of it (at least one) if the application is public. 0 means no
	// limit.
	DeviceMaxPending int `key:"DEVICE_MAX_PENDING" default:"10000" min:"0" max:"1000000"`
}

// Proofs are the proofs of possession.
type Proofs struct {
	// DPoPNonceRequired refuses DPoP proofs without a nonce of this server (RFC 9449 §8).
	//
	// A client gets a nonce with each response, in the header `DPoP-Nonce`, and sends its first request twice. Clients
	// that do not know nonces cannot use DPoP then.
	DPoPNonceRequired bool `key:"DPOP_NONCE_REQUIRED" default:"false" subject:"Proofs of possession" after:"REQUIRE_PUSHED_AUTHORIZATION_REQUESTS"`
}

// Grants is about refresh tokens.
type Grants struct {
	// RefreshTokenReuseProtection revokes the whole token family if a replaced refresh token is presented again after
	// its grace period, or after its successor was used.
	//
	// It cannot be disabled (RFC 9700 §4.14.2).
	RefreshTokenReuseProtection bool `key:"REFRESH_TOKEN_REUSE_PROTECTION" default:"true" subject:"Lifetimes" after:"REFRESH_TOKEN_GRACE_PERIOD_SECONDS"`
	// RotateRefreshToken replaces a refresh token when it is used.
	//
	// It is for confidential applications without a setting of their own (`mandate application update
	// --refresh-rotation`) and without a profile. Refresh tokens of public applications always rotate (RFC 9700
	// §2.2.2), unless they are bound to a key or a certificate.
	RotateRefreshToken bool `key:"ROTATE_REFRESH_TOKEN" default:"true"`
}

// Batch is how many rows are deleted at once.
type Batch struct {
	// ClearExpiredTokensBatchSize is the number of expired rows that one statement deletes.
	ClearExpiredTokensBatchSize int `key:"CLEAR_EXPIRED_TOKENS_BATCH_SIZE" default:"1000" min:"1" max:"100000" subject:"Cleanup and caches" after:"ALLOW_LOCALHOST_LOOPBACK"`
}

// Keys are the signing keys.
type Keys struct {
	// OIDCPrivateKey is an RSA private key of your own in PEM. It signs RS256 and PS256 instead of the server's key.
	// If it is empty, the server manages all keys.
	OIDCPrivateKey string `key:"OIDC_RSA_PRIVATE_KEY" default:"" secret:"true" subject:"Signing keys"`
	// OIDCInactiveKeys are RSA private keys in PEM that no longer sign. They stay published, so that their signatures
	// can still be verified. A file contains them one after the other.
	OIDCInactiveKeys []string `key:"OIDC_RSA_PRIVATE_KEYS_INACTIVE" default:"[]" secret:"true"`
	// OIDCJWKSMaxAge is the number of seconds for which others may cache the published keys.
	//
	// The server publishes a new key for twice as long, and for at least an hour, before the key signs.
	OIDCJWKSMaxAge time.Duration `key:"OIDC_JWKS_MAX_AGE_SECONDS" default:"3600" min:"0" max:"604800"`
	// OIDCKeyRotation is the number of seconds for which one of the server's keys signs before the next one replaces
	// it. 0 disables rotation.
	OIDCKeyRotation time.Duration `key:"OIDC_KEY_ROTATION_SECONDS" default:"7776000" min:"0" max:"315360000"`
}

// Logout is logout by applications.
type Logout struct {
	// OIDCRPLogout lets applications send a person to `/o/logout/` to sign out (OIDC RP-Logout §2), and advertises
	// that endpoint.
	OIDCRPLogout bool `key:"OIDC_RP_INITIATED_LOGOUT_ENABLED" default:"true" subject:"Logout"`
	// OIDCRPLogoutAlwaysPrompt asks the person to confirm every logout. `false` asks only if the request has no ID
	// token of the current session.
	OIDCRPLogoutAlwaysPrompt bool `key:"OIDC_RP_INITIATED_LOGOUT_ALWAYS_PROMPT" default:"false"`
	// OIDCRPLogoutStrictURIs lets only confidential applications register post-logout redirect URIs that begin with
	// `http:` (such URIs always lead to the person's own computer).
	OIDCRPLogoutStrictURIs bool `key:"OIDC_RP_INITIATED_LOGOUT_STRICT_REDIRECT_URIS" default:"false"`
	// OIDCRPLogoutAcceptExpired accepts an expired ID token as the hint of a logout request. Most ID tokens have
	// expired when a person signs out (OIDC RP-Logout §2).
	OIDCRPLogoutAcceptExpired bool `key:"OIDC_RP_INITIATED_LOGOUT_ACCEPT_EXPIRED_TOKENS" default:"true"`
	// OIDCRPLogoutDeleteTokens revokes the tokens of the session at a logout, except those with `offline_access`.
	OIDCRPLogoutDeleteTokens bool `key:"OIDC_RP_INITIATED_LOGOUT_DELETE_TOKENS" default:"true"`
}
