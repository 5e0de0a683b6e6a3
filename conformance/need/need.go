// Package need names what a check needs from a target: clients by their roles, endpoints, a person.
package need

import (
	"strings"
)

// Need is something that a check needs. It is a client by its role, an endpoint by its name in the metadata, or one
// of the first constants below.
type Need string

const (
	User   Need = "user"   // a person who can sign in
	API    Need = "api"    // a resource that accepts access tokens
	OpenID Need = "openid" // the server is an OpenID Provider

	Resources Need = "resources" // two resources that a request can name

	Documents Need = "documents" // the server can fetch metadata documents of clients from this machine

	// The clients. Roles describes them.
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

	Key               Need = "key"
	SecondKey         Need = "second-key"
	SecretHMAC        Need = "secret-jwt"
	Certificate       Need = "certificate"
	SecondCertificate Need = "second-certificate"

	FAPI         Need = "fapi2"
	SecondFAPI   Need = "second-fapi2"
	FAPIMessages Need = "fapi2-ms"

	Backchannel Need = "backchannel"
	Device      Need = "device"

	// The endpoints.
	Authorization Need = "authorization_endpoint"
	Token         Need = "token_endpoint"
	Introspection Need = "introspection_endpoint"
	Revocation    Need = "revocation_endpoint"
	UserInfo      Need = "userinfo_endpoint"
	Keys          Need = "jwks_uri"
	EndSession    Need = "end_session_endpoint"
	Registration  Need = "registration_endpoint"

	DeviceAuthorization Need = "device_authorization_endpoint"
	PushedRequests      Need = "pushed_authorization_request_endpoint"
)

// Endpoints returns the endpoints that a target can name.
func Endpoints() []Need {
	return []Need{Authorization, Token, Introspection, Revocation, UserInfo, Keys, EndSession, Registration,
		DeviceAuthorization, PushedRequests}
}

// Join writes needs in a sentence.
func Join(needs []Need) string {
	var words []string
	for _, n := range needs {
		words = append(words, string(n))
	}
	return strings.Join(words, ", ")
}

// IsEndpoint reports whether the need is an endpoint.
func (n Need) IsEndpoint() bool { return strings.Contains(string(n), "_") }
