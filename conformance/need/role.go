package need

import (
	"cmp"
	"slices"
	"strings"
)

// Role is a client that a target can have, and how it is registered.
type Role struct {
	Name  Need
	Is    string
	First bool // most rules need it

	Public bool // it has no secret
	Grant  string
	// Nothing has to answer at these addresses, because the browser of the checks stops before it requests them.
	// Other addresses work too, if their number and their schemes are the same, and roles that share a host here
	// share one there.
	RedirectURIs, AfterLogout []string

	// Auth is the method of client authentication, if it must be another than that of a secret.
	Auth string

	Introspects, Pairwise, Backchannel  bool
	IDTokenAlgorithm, UserInfoAlgorithm string

	SignedAccess bool // its access tokens are JWTs
	Machine      bool // the client credentials grant is allowed too

	Profile string // of FAPI 2.0, or ""
}

// The profiles of FAPI 2.0, as Mandate names them.
const (
	ProfileFAPI     = "fapi2"
	ProfileMessages = "fapi2-message-signing"
)

// The methods of client authentication.
const (
	SecretBasic      = "client_secret_basic"
	SecretPost       = "client_secret_post"
	NoAuthentication = "none"

	PrivateKeyJWT   = "private_key_jwt"
	SecretJWT       = "client_secret_jwt"
	CertificateAuth = "tls_client_auth"
	SelfSignedAuth  = "self_signed_tls_client_auth"
)

// What tokens are bound to.
const (
	BoundToKey         = "dpop"        // a key (RFC 9449)
	BoundToCertificate = "certificate" // RFC 8705 §3
)

// Methods returns the methods of client authentication.
func Methods() []string {
	return []string{SecretBasic, SecretPost, SecretJWT, PrivateKeyJWT, CertificateAuth, SelfSignedAuth, NoAuthentication}
}

// ByCertificate reports whether a method is one with a certificate (RFC 8705 §2).
func ByCertificate(method string) bool { return method == CertificateAuth || method == SelfSignedAuth }

// The grants that a role can be registered for.
const (
	GrantCode     = "authorization_code"
	GrantMachine  = "client_credentials"
	GrantPassword = "password"
	GrantDevice   = "urn:ietf:params:oauth:grant-type:device_code"
)

// Roles returns all roles, the most needed first.
func Roles() []Role {
	at := func(paths ...string) []string {
		for i, path := range paths {
			paths[i] = "https://client.example/" + path
		}
		return paths
	}
	return []Role{
		{Name: Code, First: true, Is: "a confidential client of the authorization code grant", Grant: GrantCode,
			RedirectURIs: at("code")},
		{Name: Second, First: true, Is: "another such client, which tries to use what belongs to the first", Grant: GrantCode,
			RedirectURIs: at("second")},
		{Name: Public, First: true, Is: "a public client of the authorization code grant", Grant: GrantCode, Public: true,
			RedirectURIs: at("public")},
		{Name: Machine, First: true, Is: "a confidential client of the client credentials grant", Grant: GrantMachine},
		{Name: Introspect, First: true, Is: "a confidential client that may introspect tokens", Grant: GrantMachine,
			Introspects: true},
		{Name: Several, Is: "a confidential client with two redirect URIs", Grant: GrantCode,
			RedirectURIs: at("one", "two?tenant=7")},
		{Name: Loopback, Is: "a public client with a loopback redirect URI (RFC 8252 §7.3)", Grant: GrantCode, Public: true,
			RedirectURIs: []string{"http://127.0.0.1/loopback"}},
		{Name: Scheme, Is: "a public client with a private-use scheme (RFC 8252 §7.1)", Grant: GrantCode, Public: true,
			RedirectURIs: []string{"com.example.conformance:/callback"}},
		{Name: Logout, Is: "a client with post_logout_redirect_uris", Grant: GrantCode, RedirectURIs: at("logout"),
			AfterLogout: at("bye?from=server")},
		{Name: Backchannel, Is: "a client with a back-channel logout URI, which leads to the target's backchannel address",
			Grant: GrantCode, RedirectURIs: at("backchannel"), Backchannel: true},
		{Name: HS256, Is: "a client whose ID tokens are signed with HS256", Grant: GrantCode, RedirectURIs: at("hs256"),
			IDTokenAlgorithm: "HS256"},
		{Name: Signed, Is: "a client whose UserInfo responses are signed", Grant: GrantCode, RedirectURIs: at("signed"),
			UserInfoAlgorithm: "RS256"},
		{Name: JWT, Is: "a confidential client of the code and client credentials grants whose access tokens are JWTs (RFC " +
			"9068)", Grant: GrantCode, RedirectURIs: at("jwt"), SignedAccess: true, Machine: true},
		{Name: Key, Is: "a confidential client of the code and client credentials grants that authenticates by " +
			"private_key_jwt (RFC 7523)", Grant: GrantCode, RedirectURIs: at("key"), Auth: PrivateKeyJWT, Machine: true},
		{Name: SecondKey, Is: "another such client, with another key", Grant: GrantCode, RedirectURIs: at("second-key"),
			Auth: PrivateKeyJWT, Machine: true},
		{Name: SecretHMAC, Is: "a client of the client credentials grant that authenticates by client_secret_jwt",
			Grant: GrantMachine, Auth: SecretJWT},
		{Name: Certificate, Is: "a client of the client credentials grant that authenticates with a certificate (RFC " +
			"8705), and whose tokens are bound to it", Grant: GrantMachine, Auth: CertificateAuth},
		{Name: SecondCertificate, Is: "another such client, with another certificate of the same authority",
			Grant: GrantMachine, Auth: CertificateAuth, SignedAccess: true},
		{Name: FAPI, Is: "a client of the FAPI 2.0 Security Profile", Grant: GrantCode, RedirectURIs: at("fapi2"),
			Auth: PrivateKeyJWT, IDTokenAlgorithm: "PS256", Profile: ProfileFAPI},
		{Name: SecondFAPI, Is: "another such client, with another key or certificate", Grant: GrantCode,
			RedirectURIs: at("second-fapi2"), Auth: PrivateKeyJWT, IDTokenAlgorithm: "PS256", Profile: ProfileFAPI},
		{Name: FAPIMessages, Is: "such a client of FAPI 2.0 Message Signing too", Introspects: true, Grant: GrantCode,
			RedirectURIs: at("fapi2-ms"), Auth: PrivateKeyJWT, IDTokenAlgorithm: "PS256", Profile: ProfileMessages},
		{Name: Pairwise, Is: "a client with pairwise subjects", Grant: GrantCode,
			RedirectURIs: []string{"https://other.example/pairwise"}, Pairwise: true},
		{Name: Elsewhere, Is: "another client with pairwise subjects, at another host", Grant: GrantCode,
			RedirectURIs: []string{"https://elsewhere.example/pairwise"}, Pairwise: true},
		{Name: Device, Is: "a public client of the device grant (RFC 8628)", Grant: GrantDevice, Public: true},
		{Name: Password, Is: "a confidential client of the password grant", Grant: GrantPassword},
	}
}

// RoleOf returns the role that a need names.
func RoleOf(n Need) (Role, bool) {
	all := Roles()
	i := slices.IndexFunc(all, func(r Role) bool { return r.Name == n })
	if i < 0 {
		return Role{}, false
	}
	return all[i], true
}

// Description describes the registration, in the words of RFC 7591 where there are any.
func (r Role) Description() string {
	parts := []string{"grant " + r.Grant, "auth " + cmp.Or(r.Auth, SecretBasic)}
	if r.Grant == GrantCode {
		parts[0] = "grants authorization_code and refresh_token"
	}
	if r.Public {
		parts[1] = "auth " + NoAuthentication
	}
	if len(r.RedirectURIs) > 0 {
		parts = append(parts, "redirect URI "+strings.Join(r.RedirectURIs, " and "))
	}
	if len(r.AfterLogout) > 0 {
		parts = append(parts, "post-logout redirect URI "+strings.Join(r.AfterLogout, " and "))
	}
	if r.Introspects {
		parts = append(parts, "allowed to introspect the tokens of others")
	}
	if r.Pairwise {
		parts = append(parts, "subject_type pairwise")
	}
	if r.Backchannel {
		parts = append(parts, "backchannel_logout_uri http://HOST:PORT/logout")
	}
	if r.IDTokenAlgorithm != "" {
		parts = append(parts, "id_token_signed_response_alg "+r.IDTokenAlgorithm)
	}
	if r.UserInfoAlgorithm != "" {
		parts = append(parts, "userinfo_signed_response_alg "+r.UserInfoAlgorithm)
	}
	if r.Machine {
		parts = append(parts, "grant client_credentials too")
	}
	if r.SignedAccess {
		parts = append(parts, "access tokens that are JWTs (RFC 9068)")
	}
	if r.Auth == CertificateAuth {
		parts = append(parts, "tls_client_certificate_bound_access_tokens")
	}
	if r.Profile != "" {
		parts = append(parts, "require_pushed_authorization_requests", "dpop_bound_access_tokens")
	}
	if r.Profile == ProfileMessages {
		parts = append(parts, "require_signed_request_object", "authorization_signed_response_alg PS256")
	}
	return strings.Join(parts, "; ")
}

// AuthMethods returns the methods by which a client of the role can authenticate, or nil if the role does not say.
func (r Role) AuthMethods() []string {
	switch {
	case r.Profile != "": // FAPI 2.0 Security Profile §5.3.2.1
		return []string{PrivateKeyJWT, CertificateAuth, SelfSignedAuth}
	case r.Auth != "":
		return []string{r.Auth}
	}
	return nil
}

// HasSecret reports whether the client has a secret.
func (r Role) HasSecret() bool { return !r.Public && (r.Auth == "" || r.Auth == SecretJWT) }

// Registrable reports whether a client can register itself for the role. No server lets a client allow itself
// introspection; the password grant and the device grant (RFC 10027 §2) are reserved for selected clients; RFC 7591 has
// no member for the format of access tokens, nor for a profile of FAPI 2.0; and an authority has to issue a certificate
// first.
func (r Role) Registrable() bool {
	return r.Profile == "" && !r.Introspects && r.Grant != GrantPassword && r.Grant != GrantDevice && !r.SignedAccess &&
		r.Auth != CertificateAuth
}

// Metadata returns the client metadata that is sent for the registration (RFC 7591 §2).
func (r Role) Metadata(secretMethod, backchannel string) map[string]any {
	m := map[string]any{"client_name": "conformance " + string(r.Name), "grant_types": []string{r.Grant},
		"response_types": []string{}, "token_endpoint_auth_method": cmp.Or(r.Auth, secretMethod)}
	if r.Public {
		m["token_endpoint_auth_method"] = NoAuthentication
	}
	if r.Grant == GrantCode {
		m["redirect_uris"], m["grant_types"], m["response_types"] = r.RedirectURIs, []string{GrantCode, "refresh_token"},
			[]string{"code"}
	}
	if r.Machine {
		m["grant_types"] = []string{GrantCode, "refresh_token", GrantMachine}
	}
	if len(r.RedirectURIs) > 0 && r.Public && !strings.HasPrefix(r.RedirectURIs[0], "https:") {
		m["application_type"] = "native"
	}
	if r.AfterLogout != nil {
		m["post_logout_redirect_uris"] = r.AfterLogout
	}
	if r.Pairwise {
		m["subject_type"] = "pairwise"
	}
	if r.Backchannel {
		m["backchannel_logout_uri"], m["backchannel_logout_session_required"] = "http://"+backchannel+"/logout", true
	}
	if r.IDTokenAlgorithm != "" {
		m["id_token_signed_response_alg"] = r.IDTokenAlgorithm
	}
	if r.UserInfoAlgorithm != "" {
		m["userinfo_signed_response_alg"] = r.UserInfoAlgorithm
	}
	return m
}

// Names returns the names of roles, separated by commas.
func Names(roles []Role) string {
	var all []Need
	for _, r := range roles {
		all = append(all, r.Name)
	}
	return Join(all)
}

// IsClient reports whether the need is a client.
func (n Need) IsClient() bool {
	_, known := RoleOf(n)
	return known
}

// Known reports whether there is such a need.
func (n Need) Known() bool {
	return slices.Contains([]Need{User, API, OpenID, Resources, Documents}, n) || slices.Contains(Endpoints(), n) ||
		n.IsClient()
}
