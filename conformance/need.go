package conformance

import "strings"

// Need is something that a check cannot do without. A need is a client by its role, an endpoint by its name
// in the metadata, or one of those below.
type Need string

const (
	NeedUser   Need = "user"   // somebody who can sign in
	NeedAPI    Need = "api"    // a resource that takes access tokens
	NeedOpenID Need = "openid" // the server is an OpenID Provider

	// The clients: Roles says what they are.
	NeedCode       Need = "code"
	NeedSecond     Need = "second"
	NeedPublic     Need = "public"
	NeedMachine    Need = "machine"
	NeedPassword   Need = "password"
	NeedIntrospect Need = "introspection"
	NeedLoopback   Need = "loopback"
	NeedScheme     Need = "scheme"
	NeedSeveral    Need = "several"
	NeedHS256      Need = "hs256"
	NeedPairwise   Need = "pairwise"
	NeedLogout     Need = "logout"
	NeedSigned     Need = "signed"
	NeedJWT        Need = "jwt"
	NeedElsewhere  Need = "elsewhere"

	NeedBackchannel Need = "backchannel"

	// The endpoints.
	NeedAuthorization Need = "authorization_endpoint"
	NeedToken         Need = "token_endpoint"
	NeedIntrospection Need = "introspection_endpoint"
	NeedRevocation    Need = "revocation_endpoint"
	NeedUserInfo      Need = "userinfo_endpoint"
	NeedKeys          Need = "jwks_uri"
	NeedEndSession    Need = "end_session_endpoint"
	NeedRegistration  Need = "registration_endpoint"
)

func (n Need) role() bool {
	_, known := roleOf(n)
	return known
}

func (n Need) endpoint() bool { return strings.Contains(string(n), "_") }
