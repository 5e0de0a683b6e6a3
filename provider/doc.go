// Package provider makes every protocol decision. It takes a request and gives
// a value or an *Error; it writes no response. It is the only package that
// knows fosite, whose last release is frozen: what is sound of it is used
// through its public interfaces, and what is not is replaced here.
//
//	RFC 6749  authorize.go token.go grant_*.go client.go scope.go redirect.go
//	RFC 6750  introspect.go (the caller's bearer token) userinfo.go
//	RFC 7009  revoke.go
//	RFC 7636  pkce.go
//	RFC 7662  introspect.go
//	RFC 7517  keys.go keys_rotate.go
//	RFC 7638  keys.go
//	RFC 8252  redirect.go consent.go
//	RFC 8414  metadata.go
//	RFC 9068  accesstoken.go
//	RFC 9106  password.go
//	RFC 9207  authorize.go
//	RFC 9700  all of them
//
//	OIDC Core          openid.go idtoken.go claims.go userinfo.go
//	OIDC Discovery     metadata.go
//	OIDC RP-Logout     logout.go
//	OIDC Back-Channel  backchannel.go outbound.go
package provider
