package conformance

import (
	"maps"
	"slices"
	"strings"
)

// Need is something that a check cannot do without. A need is a client by its role, an endpoint by its name
// in the metadata, or one of those below.
type Need string

const (
	NeedUser   Need = "user"   // somebody who can sign in
	NeedAPI    Need = "api"    // a resource that takes access tokens
	NeedOpenID Need = "openid" // the server is an OpenID Provider

	// The clients.
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

// roles are the clients that a target can have.
var roles = map[Need]string{
	NeedCode:       "a confidential client of the authorization code grant",
	NeedSecond:     "another one, to try what belongs to the first",
	NeedPublic:     "a public client of the authorization code grant",
	NeedMachine:    "a confidential client of the client credentials grant",
	NeedPassword:   "a confidential client of the password grant",
	NeedIntrospect: "a confidential client that may introspect tokens",
	NeedLoopback:   "a public client with the redirect URI http://127.0.0.1/... (RFC 8252)",
	NeedScheme:     "a public client with a redirect URI of a private-use scheme, com.example.app:/... (RFC 8252)",
	NeedSeveral:    "a confidential client with two redirect URIs",
	NeedHS256:      "a client whose ID tokens are signed with HS256",
	NeedPairwise:   "a client with pairwise subjects",
	NeedLogout:     "a client with post_logout_redirect_uris",
	NeedSigned:     "a client whose UserInfo is signed",
	NeedElsewhere:  "another client with pairwise subjects, whose redirect URIs are at another host",

	NeedBackchannel: "a client whose backchannel_logout_uri leads to the address that the target has as backchannel",
}

func roleNames() string {
	var names []string
	for _, n := range slices.Sorted(maps.Keys(roles)) {
		names = append(names, string(n))
	}
	return strings.Join(names, ", ")
}

func (n Need) role() bool     { return roles[n] != "" }
func (n Need) endpoint() bool { return strings.Contains(string(n), "_") }
