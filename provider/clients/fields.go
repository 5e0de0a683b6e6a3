package clients

import (
	"strings"

	"mandate/provider/acr"
	"mandate/provider/jose"
	"mandate/provider/policy"
	"mandate/provider/possession"
	"mandate/storage"
)

// Registration is the description of an application that somebody registers or changes.
// The same rules hold for the pages, for the CLI and for dynamic registration.
type Registration struct {
	Name         string
	ClientType   string
	GrantTypes   []string
	RedirectURIs []string
	Scopes       []string // none: every scope except introspection
	// the URIs of the only resources that its tokens may be for; the first is the default; none: any resource
	Resources []string

	HashClientSecret                          bool
	MayIntrospect, SkipConsent                bool  // only an administrator can set these
	AccessTokenLifetime, RefreshTokenLifetime int64 // seconds; 0: the server's

	RequirePushed bool // refuse authorization requests that it did not push (RFC 9126 §6)
	// SenderConstraint is the proof that its access tokens always need: possession.DPoP,
	// possession.Certificate, or "" for none.
	SenderConstraint string
	// Profile is a set of requirements that it switches on together: policy.ProfileFAPI,
	// policy.ProfileMessages, or "" for none.
	Profile string
	// Said names the fields whose values somebody has chosen now. A profile sets the others, and
	// refuses these if they contradict it.
	Said []string
	// RequiredACR is the weakest login with which a person may approve it, or "" for any.
	RequiredACR string
	// DefaultACR lists the values of acr for requests that name none, the preferred one first, with
	// spaces between (OIDC Registration §2: default_acr_values).
	DefaultACR string
	// PKCE says whether its authorization requests need a code challenge: policy.PKCERequired,
	// policy.PKCEIfSent, or "" for as the server is set.
	PKCE string
	// RefreshRotation says whether its refresh tokens are rotated: policy.RotationOn,
	// policy.RotationOff, or "" for as the server is set.
	RefreshRotation string

	// ClaimsInIDToken says whether its ID tokens have the claims of the granted scopes: policy.ClaimsOn,
	// policy.ClaimsOff, or "" for as its kind says.
	ClaimsInIDToken string
	LaunchURL       string // where a person opens it; empty: the start page does not list it
	// AllowedGroups are the groups whose members may use it (none: everybody), and DeniedGroups those whose members may
	// not. NobodyNew: only people who give it access already.
	AllowedGroups, DeniedGroups []string
	NobodyNew                   bool
	// Claims are the rules of its own claims, as package claims reads them. Only an administrator can set them.
	Claims []string
	// Program is the program that it is for, of the table of presets, or "". A later change does not change it.
	Program string

	AccessTokenFormat string // FormatOpaque or FormatJWT; "" means FormatOpaque

	// For OpenID Connect. Algorithm signs the ID tokens, and access tokens that are
	// JWTs; "": RS256. UserInfoAlgorithm signs the UserInfo responses; "": they are not
	// signed. Pairwise: the subjects are for the application's sector only.
	Algorithm, UserInfoAlgorithm string
	Pairwise                     bool
	PostLogoutURIs               []string // where browsers may go after a logout
	BackchannelURI               string   // where the server sends logout tokens

	// IntrospectionAlgorithm signs the introspection responses that it asks for in this form (RFC
	// 9701 §6); "": RS256.
	IntrospectionAlgorithm string

	SectorURI string // whose host is the sector of pairwise subjects; "": that of the redirect URIs

	Authentication Authentication
	Messages       Messages

	Site *SiteChange // what changes of the site that it is; nil: nothing

	// For the CLI only: values that are otherwise generated.
	ClientID, ClientSecret string
	Owner                  string // username
}

// SiteChange is a site as it will be, with the names of what changes, for the event.
type SiteChange struct {
	Site  storage.Site
	Names []string
}

// fields is the table of the fields of a registration, in the order of the form.
var fields = []Field{
	{
		Name: "name", Member: "client_name",
		Kind:  Text,
		Label: "Name",
		Hint:  "People see it when they are asked for their consent.",
		Flag:  "name",
		Usage: "`NAME` that people see",
		of:    func(r *Registration, a *storage.Application) (any, any) { return &r.Name, &a.Name },
	},
	{
		Name:  "launch_url",
		Kind:  Line,
		Label: "Launch address",
		Hint: "Where people open the application, such as https://wiki.example.org/. With it, the start page of people who " +
			"may use the application has a link to it.",
		Flag:  "launch-url",
		Usage: "`URL` where people open it: the start page links to it (default: none)",
		of:    func(r *Registration, a *storage.Application) (any, any) { return &r.LaunchURL, &a.LaunchURL },
	},
	{
		Name: "client_type", Member: "token_endpoint_auth_method",
		Kind:  Choice,
		Label: "Client type",
		Flag:  "client-type",
		Usage: "`TYPE`: confidential, or public for an application that cannot keep a secret (default: " +
			"confidential)",
		of: func(r *Registration, a *storage.Application) (any, any) { return &r.ClientType, &a.ClientType },
	},
	{
		Name: "grant_type", Member: "grant_types",
		Kind:  Choices,
		Label: "Grants",
		Hint:  "The ways in which it may get a token. Choose only those that it uses.",
		Flag:  "grant",
		Usage: "`GRANT`: " + strings.Join(policy.GrantNames(), ", ") + "; may be repeated",
		of:    func(r *Registration, a *storage.Application) (any, any) { return &r.GrantTypes, &a.GrantTypes },
	},
	{
		Name:  "redirect_uris",
		Kind:  Lines,
		Label: "Redirect URIs",
		Hint: "Where the authorization code is sent, one per line. They are compared character by " +
			"character; a loopback address such as http://127.0.0.1/callback may be used with any port. " +
			"Needed for the authorization code grant only.",
		Flag:  "redirect-uri",
		Usage: "redirect `URI`; may be repeated",
		of:    func(r *Registration, a *storage.Application) (any, any) { return &r.RedirectURIs, &a.RedirectURIs },
	},
	{
		Name: "scope",
		Kind: Choices, Wide: true,
		Label: "Scopes",
		Hint:  "The scopes that it may request.",
		Flag:  "scope",
		Usage: "`SCOPE` that it may request; may be repeated (default: all except introspection)",
		of:    func(r *Registration, a *storage.Application) (any, any) { return &r.Scopes, &a.Scopes },
	},
	{
		Name: "resources",
		Kind: Lines, Wide: true,
		Label: "Resources",
		Hint: "A resource is an API that tokens can be issued for. Name the only ones that its tokens may " +
			"be for by their URIs, one per line. A request that names none is for the first. If this is " +
			"empty, the application may request every resource, and a request that names none is for " +
			"this server itself.",
		Flag: "resource",
		Usage: "`URI` of a resource that its tokens may be for; the first one is the default; may be " +
			"repeated (default: any resource)",
		of: func(r *Registration, a *storage.Application) (any, any) { return &r.Resources, &a.Resources },
	},
	{
		Name: "hash_client_secret", Member: "id_token_signed_response_alg",
		Kind:  Switch,
		Label: "Client secret",
		Flag:  "no-hash-client-secret",
		of: func(r *Registration, a *storage.Application) (any, any) {
			return &r.HashClientSecret, &a.HashClientSecret
		},
	},
	{
		Name: "profile",
		Kind: Choice, Answered: true,
		Label: "Profile",
		Hint: "A profile switches several requirements on together, and the server then refuses settings " +
			"that contradict them.",
		Flag: "profile",
		Usage: "`PROFILE` that it switches on: " + strings.Join(policy.Profiles(), ", ") +
			" (FAPI 2.0); the empty text switches it off (default: none)",
		of: func(r *Registration, a *storage.Application) (any, any) { return &r.Profile, &a.Profile },
	},
	{
		Name:  "required_acr",
		Kind:  Choice,
		Label: "How people must sign in",
		Flag:  "required-acr",
		Usage: "the weakest login (`ACR`) with which a person may approve it: " +
			strings.Join(acr.Values(), ", ") + "; the empty text allows any (default: any)",
		of: func(r *Registration, a *storage.Application) (any, any) { return &r.RequiredACR, &a.RequiredACR },
	},
	{
		Name:  "default_acr_values",
		Kind:  Choice,
		Label: "How people sign in if a request says nothing",
		Hint:  "A request of the application that names a login (acr_values, or the claim acr) replaces this.",
		Flag:  "default-acr-values",
		Usage: "the logins (`ACR`, the preferred one first, with spaces between) for its requests that " +
			"name none (OIDC Registration, default_acr_values); the empty text: any (default: any)",
		of: func(r *Registration, a *storage.Application) (any, any) { return &r.DefaultACR, &a.DefaultACR },
	},
	{
		Name:  "sender_constraint",
		Kind:  Choice,
		Label: "Sender-constrained access tokens",
		Flag:  "sender-constraint",
		Usage: "the `PROOF` that its tokens always need: " + possession.DPoP + " (RFC 9449), or " +
			possession.Certificate +
			" (RFC 8705); default: none, but with a DPoP proof it gets DPoP tokens",
		of: func(r *Registration, a *storage.Application) (any, any) {
			return &r.SenderConstraint, &a.SenderConstraint
		},
	},
	{
		Name: "auth_method", Member: "token_endpoint_auth_method",
		Kind: Choice, Answered: true,
		Label: "Client authentication",
		Flag:  "auth-method",
		of: func(r *Registration, a *storage.Application) (any, any) {
			return &r.Authentication.Method, &a.AuthMethod
		},
	},
	{
		Name: "auth_algorithm", Member: "token_endpoint_auth_signing_alg",
		Kind: Choice, Answered: true,
		Label: "Algorithm of its assertions",
		Flag:  "auth-algorithm",
		of: func(r *Registration, a *storage.Application) (any, any) {
			return &r.Authentication.Algorithm, &a.AuthAlgorithm
		},
	},
	{
		Name:  "jwks",
		Kind:  Block,
		Label: "Public keys (JWK Set)", Short: "Public keys",
		Hint: "The public keys of the application as JSON, for private_key_jwt, or its certificates (x5c) " +
			"for self_signed_tls_client_auth. Leave it empty if the application publishes them at an " +
			"address.",
		Flag: "jwks",
		of:   func(r *Registration, a *storage.Application) (any, any) { return &r.Authentication.JWKS, &a.JWKS },
	},
	{
		Name: "jwks_uri",
		Kind: Line, Answered: true,
		Label: "Address of the public keys",
		Hint: "An https address of a JWK Set. The server reads it when it needs the keys, and again if it " +
			"does not know a key.",
		Flag: "jwks-uri",
		of:   func(r *Registration, a *storage.Application) (any, any) { return &r.Authentication.JWKSURI, &a.JWKSURI },
	},
	{
		Name:  "certificate_subject",
		Kind:  Line,
		Label: "Subject of its certificate",
		Hint: "For tls_client_auth. Write it in one of these forms: san_dns=client.example, " +
			"subject_dn=CN=client,O=Example, san_uri=, san_ip= or san_email=.",
		Flag: "certificate-subject",
		of: func(r *Registration, a *storage.Application) (any, any) {
			return &r.Authentication.CertificateSubject, &a.CertificateSubject
		},
	},
	{
		Name: "introspection_algorithm", Member: "introspection_signed_response_alg",
		Kind: Choice, Answered: true,
		Label: "Algorithm of signed introspection responses",
		Hint:  "For an application that may introspect tokens and asks for the response as a JWT (RFC 9701).",
		Flag:  "introspection-algorithm",
		Usage: "`ALGORITHM` that signs the introspection responses that it asks for as a JWT (RFC 9701): " +
			strings.Join(jose.Algorithms(), ", ") + " (default: " + policy.DefaultAlgorithm + ")",
		of: func(r *Registration, a *storage.Application) (any, any) {
			return &r.IntrospectionAlgorithm, &a.IntrospectionAlg
		},
	},
	{
		Name: "require_pushed", Member: "require_pushed_authorization_requests",
		Kind: Switch, Answered: true,
		Label: "Require pushed requests",
		Hint: "The server refuses an authorization request that the application did not push (RFC 9126). " +
			"Turn it on only if the application pushes its requests.",
		Flag:  "require-pushed-requests",
		Usage: "refuse its authorization requests that it did not push (RFC 9126)",
		of:    func(r *Registration, a *storage.Application) (any, any) { return &r.RequirePushed, &a.RequirePushed },
	},
	{
		Name: "require_signed", Member: "require_signed_request_object",
		Kind: Switch, Answered: true,
		Label: "Require signed requests",
		Hint: "The server refuses an authorization request that is in no request object (RFC 9101). Turn " +
			"it on only if the application signs its requests. It needs the public keys of the " +
			"application.",
		Flag:  "require-signed-request-object",
		Usage: "refuse its authorization requests that it did not sign (RFC 9101)",
		of: func(r *Registration, a *storage.Application) (any, any) {
			return &r.Messages.RequireSigned, &a.RequireSigned
		},
	},
	{
		Name: "object_algorithm", Member: "request_object_signing_alg",
		Kind: Choice, Answered: true,
		Label: "Algorithm of its request objects",
		Flag:  "request-object-algorithm",
		Usage: "the only `ALGORITHM` of its request objects: " + strings.Join(ObjectAlgorithms(), ", ") +
			" (default: any of them)",
		of: func(r *Registration, a *storage.Application) (any, any) {
			return &r.Messages.ObjectAlgorithm, &a.ObjectAlgorithm
		},
	},
	{
		Name: "request_uris",
		Kind: Lines, Answered: true,
		Label: "Addresses of its request objects",
		Hint:  "One https address per line. The server reads a request object only at an address in this list.",
		Flag:  "request-uri",
		Usage: "`URI` of its request objects; may be repeated",
		of: func(r *Registration, a *storage.Application) (any, any) {
			return &r.Messages.RequestURIs, &a.RequestURIs
		},
	},
	{
		Name: "response_algorithm", Member: "authorization_signed_response_alg",
		Kind: Choice, Answered: true,
		Label: "Algorithm of signed authorization responses",
		Flag:  "response-algorithm",
		Usage: "`ALGORITHM` that signs its authorization responses (JARM): " +
			strings.Join(jose.Algorithms(), ", ") + " (default: " + policy.DefaultAlgorithm + ")",
		of: func(r *Registration, a *storage.Application) (any, any) {
			return &r.Messages.ResponseAlgorithm, &a.ResponseAlgorithm
		},
	},
	{
		Name: "response_modes",
		Kind: Choices, Answered: true, Wide: true,
		Label: "Response modes that it may use", Short: "Response modes",
		Hint: "None chosen: any that the server supports.",
		Flag: "response-mode",
		Usage: "response `MODE` that it may use: " + strings.Join(ResponseModes(), ", ") +
			"; may be repeated (default: any; __all__ stands for that)",
		of: func(r *Registration, a *storage.Application) (any, any) {
			return &r.Messages.ResponseModes, &a.ResponseModes
		},
	},
	{
		Name:  "access_token_format",
		Kind:  Choice,
		Label: "Access tokens",
		Flag:  "access-token-format",
		Usage: "`FORMAT` of its access tokens: opaque, or jwt for APIs that verify tokens themselves (RFC " +
			"9068) (default: opaque)",
		of: func(r *Registration, a *storage.Application) (any, any) {
			return &r.AccessTokenFormat, &a.AccessTokenFormat
		},
	},
	{
		Name: "algorithm", Member: "id_token_signed_response_alg",
		Kind: Choice, OpenID: true,
		Label: "Algorithm of the ID tokens", Short: "Algorithm",
		Hint: "This algorithm signs the ID tokens of the application (OpenID Connect), and its access " +
			"tokens if they are JWTs. The application must expect the same algorithm. HS256 requires " +
			"that the secret is not kept as a hash, see above; access tokens are then signed with RS256.",
		Flag: "algorithm",
		Usage: "`ALGORITHM` that signs its ID tokens and its JWT access tokens: " +
			strings.Join(jose.Algorithms(), ", ") + ", or HS256 (ID tokens only) (default: " +
			policy.DefaultAlgorithm + ")",
		of: func(r *Registration, a *storage.Application) (any, any) { return &r.Algorithm, &a.Algorithm },
	},
	{
		Name: "userinfo_algorithm", Member: "userinfo_signed_response_alg",
		Kind: Choice, OpenID: true,
		Label: "Algorithm of the UserInfo responses",
		Flag:  "userinfo-algorithm",
		Usage: "`ALGORITHM` that signs its UserInfo responses; the empty text: none (default: they are not " +
			"signed)",
		of: func(r *Registration, a *storage.Application) (any, any) {
			return &r.UserInfoAlgorithm, &a.UserInfoAlgorithm
		},
	},
	{
		Name: "pairwise", Member: "subject_type",
		Kind: Switch, OpenID: true,
		Label: "Pairwise subjects",
		Flag:  "pairwise",
		Usage: "use pairwise subjects, which applications of other hosts cannot correlate",
		of:    func(r *Registration, a *storage.Application) (any, any) { return &r.Pairwise, &a.Sector },
	},
	{
		Name: "claims_in_id_token",
		Kind: Choice, OpenID: true,
		Label: "Claims of the scopes in the ID token",
		Hint: "The claims of the granted scopes, such as the name, the email address and the groups. The " +
			"UserInfo endpoint returns them in any case.",
		Flag: "claims-in-id-token",
		Usage: "whether its ID tokens have the claims of the granted scopes: `on or off`; the empty text: " +
			"on for a confidential application for which an administrator or the operator is " +
			"responsible, without a profile, and off for others (default: the same)",
		of: func(r *Registration, a *storage.Application) (any, any) {
			return &r.ClaimsInIDToken, &a.ClaimsInIDToken
		},
	},
	{
		Name: "claims",
		Kind: Lines, Guarded: true,
		Label: "Claims of its own",
		Hint: "One rule per line, as JSON, such as {\"name\":\"role\",\"from\":\"groups\",\"map\":{\"staff\":\"editor\"}," +
			"\"text\":true,\"default\":\"viewer\",\"in\":[\"id_token\",\"userinfo\"]}. The application learns what the rule " +
			"makes of the groups or of the profile of a person.",
		Flag: "claim",
		Usage: "`RULE` of a claim of its own, a JSON object with name, from and in, such as " +
			`{"name":"role","from":"groups","map":{"staff":"editor"},"default":"viewer","in":["id_token"]}` +
			"; may be repeated",
		of: func(r *Registration, a *storage.Application) (any, any) { return &r.Claims, &a.Claims },
	},
	{
		Name: "post_logout_redirect_uris",
		Kind: Lines, Answered: true, OpenID: true,
		Label: "Post-logout redirect URIs",
		Hint: "Where a browser may go after the application has sent a person to sign out here, one per " +
			"line. They are compared character by character.",
		Flag:  "post-logout-redirect-uri",
		Usage: "post-logout redirect `URI`; may be repeated",
		of:    func(r *Registration, a *storage.Application) (any, any) { return &r.PostLogoutURIs, &a.PostLogoutURIs },
	},
	{
		Name: "backchannel_logout_uri",
		Kind: Line, Answered: true, OpenID: true,
		Label: "Back-channel logout URI",
		Hint:  "The server calls this URI to notify the application that a person’s session has ended.",
		Flag:  "backchannel-logout-uri",
		Usage: "`URI` that is called when a session ends",
		of:    func(r *Registration, a *storage.Application) (any, any) { return &r.BackchannelURI, &a.BackchannelURI },
	},
	{
		Name:  "access_token_lifetime",
		Kind:  Seconds,
		Label: "Access token, in seconds", Short: "Access token",
		Flag:  "access-token-lifetime",
		Usage: "lifetime of its access tokens in `SECONDS`; 0: the server's (default: the same)",
		of: func(r *Registration, a *storage.Application) (any, any) {
			return &r.AccessTokenLifetime, &a.AccessTokenLifetime
		},
	},
	{
		Name:  "refresh_token_lifetime",
		Kind:  Seconds,
		Label: "Refresh token, in seconds", Short: "Refresh token",
		Flag:  "refresh-token-lifetime",
		Usage: "lifetime of its refresh tokens in `SECONDS`; 0: the server's (default: the same)",
		of: func(r *Registration, a *storage.Application) (any, any) {
			return &r.RefreshTokenLifetime, &a.RefreshTokenLifetime
		},
	},
	{
		Name: "pkce",
		Kind: Choice, Answered: true,
		Label: "PKCE",
		Hint: "A code challenge makes a stolen code useless (RFC 7636). A public application, and one with " +
			"a profile, always needs one.",
		Flag: "pkce",
		Usage: "whether each authorization request needs a code challenge: `" +
			strings.Join(policy.PKCEValues(), " or ") +
			"`; the empty text: as PKCE_REQUIRED says (default: the same)",
		of: func(r *Registration, a *storage.Application) (any, any) { return &r.PKCE, &a.PKCE },
	},
	{
		Name:  "refresh_rotation",
		Kind:  Choice,
		Label: "Refresh tokens",
		Hint: "A refresh token of a public application is always replaced, unless it is bound to a key or " +
			"a certificate. One of an application with a profile is never replaced.",
		Flag: "refresh-rotation",
		Usage: "whether a refresh token is replaced when it is used: `on or off`; the empty text: as " +
			"ROTATE_REFRESH_TOKEN says (default: the same)",
		of: func(r *Registration, a *storage.Application) (any, any) {
			return &r.RefreshRotation, &a.RefreshRotation
		},
	},
	{
		Name: "may_introspect", Member: "scope",
		Kind: Switch, Guarded: true,
		Label: "May introspect tokens",
		Hint: "For a resource server. It can check whether a token for this server itself is active and to " +
			"whom it belongs, and it may request the introspection scope. Who may introspect the tokens " +
			"for a resource is a setting of the resource.",
		Flag:  "may-introspect",
		Usage: "let it introspect tokens of other applications",
		of:    func(r *Registration, a *storage.Application) (any, any) { return &r.MayIntrospect, &a.MayIntrospect },
	},
	{
		Name: "skip_consent",
		Kind: Switch, Guarded: true,
		Label: "Skip the consent page",
		Hint: "For an application of your own organization. People are not asked for their consent: " +
			"signing in is enough. If it is public, each redirect URI must be https at a host.",
		Flag:  "skip-consent",
		Usage: "do not show the consent page; a public application needs https redirect URIs at a host for it",
		of:    func(r *Registration, a *storage.Application) (any, any) { return &r.SkipConsent, &a.SkipConsent },
	},
	{
		Name: "allowed_groups",
		Kind: Lines, Access: true, Wide: true,
		Label: "Groups whose members may use it", Short: "Allowed groups",
		Hint: "One name per line. If this is empty, everybody who can sign in may use it. People who lose it are signed " +
			"out of it.",
		Flag: "allowed-group",
		Usage: "`NAME` of a group whose members may use it; may be repeated (default: everybody may use " +
			"it; __all__ stands for that)",
		of: func(r *Registration, a *storage.Application) (any, any) { return &r.AllowedGroups, &a.AllowedGroups },
	},
	{
		Name: "denied_groups",
		Kind: Lines, Access: true,
		Label: "Groups whose members may not use it", Short: "Denied groups",
		Hint:  "One name per line. It counts more than the allowed groups.",
		Flag:  "denied-group",
		Usage: "`NAME` of a group whose members may not use it; may be repeated; the empty text: none",
		of:    func(r *Registration, a *storage.Application) (any, any) { return &r.DeniedGroups, &a.DeniedGroups },
	},
	{
		Name: "nobody_new",
		Kind: Switch, Access: true,
		Label: "Nobody new",
		Hint: "Only people who give it access now may go on using it. Whoever withdraws that access cannot give it " +
			"again.",
		Flag:  "nobody-new",
		Usage: "let only people use it who give it access now",
		of:    func(r *Registration, a *storage.Application) (any, any) { return &r.NobodyNew, &a.NobodyNew },
	},
	{
		Name: "assertion_audience_endpoints",
		Kind: Switch, Guarded: true,
		Label: "Accept assertions for an endpoint",
		Hint: "For an old client library, whose assertions have the address of an endpoint as aud and not " +
			"the issuer. Another server could then use such an assertion here.",
		Flag:  "assertion-audience-endpoints",
		Usage: "accept client assertions whose aud is the address of an endpoint; for older client libraries",
		of: func(r *Registration, a *storage.Application) (any, any) {
			return &r.Authentication.EndpointAudience, &a.EndpointAudience
		},
	},
}
