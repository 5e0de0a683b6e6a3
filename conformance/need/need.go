package need

import "strings"

// Need is something that a check cannot do without. A need is a client by its role, an endpoint by its name
// in the metadata, or one of those below.
type Need string

const (
	User   Need = "user"   // somebody who can sign in
	API    Need = "api"    // a resource that takes access tokens
	OpenID Need = "openid" // the server is an OpenID Provider

	// The clients: Roles says what they are.
	Code       Need = "code"
	Second     Need = "second"
	Public     Need = "public"
	Machine    Need = "machine"
	Password   Need = "password"
	Introspect Need = "introspection"
	Loopback   Need = "loopback"
	Scheme     Need = "scheme"
	Several    Need = "several"
	HS256      Need = "hs256"
	Pairwise   Need = "pairwise"
	Logout     Need = "logout"
	Signed     Need = "signed"
	JWT        Need = "jwt"
	Elsewhere  Need = "elsewhere"

	Backchannel Need = "backchannel"

	// The endpoints.
	Authorization Need = "authorization_endpoint"
	Token         Need = "token_endpoint"
	Introspection Need = "introspection_endpoint"
	Revocation    Need = "revocation_endpoint"
	UserInfo      Need = "userinfo_endpoint"
	Keys          Need = "jwks_uri"
	EndSession    Need = "end_session_endpoint"
	Registration  Need = "registration_endpoint"
)

func (n Need) IsClient() bool {
	_, known := RoleOf(n)
	return known
}

func (n Need) IsEndpoint() bool { return strings.Contains(string(n), "_") }
