package clients

import (
	"maps"
	"net/url"
	"slices"
	"strings"

	"mandate/provider/clientauth"
	"mandate/provider/loopback"
	"mandate/provider/oauth"
	"mandate/provider/policy"
	"mandate/provider/possession"
	"mandate/storage"
)

// fapiAlgorithm signs for an application that switches a profile on and has chosen no other
// algorithm. The server has an RSA key in any case, and many clients know PS256.
const fapiAlgorithm = "PS256"

// applyProfile switches on what a profile requires and nobody said, and adds a mistake for each
// field that contradicts it. was is the application before the change.
func applyProfile(found *oauth.Invalid, r *Registration, was storage.Application) {
	switch {
	case r.Profile == "":
		return
	case !slices.Contains(policy.Profiles(), r.Profile):
		found.Add(
			"profile", "The profile %q is not supported: use %s.", oauth.Clip(r.Profile, 40), oauth.OneOf(policy.Profiles()),
		)
		return
	}
	checkFAPIClient(found, *r)
	for _, one := range requirements(r, was) {
		switch {
		case one.met:
		case slices.Contains(r.Said, one.field):
			found.Add(one.field, "The profile %s needs %s.", r.Profile, one.needs)
		default:
			one.set()
		}
	}
	algorithms := map[string]string{
		"algorithm":               r.Algorithm,
		"userinfo_algorithm":      r.UserInfoAlgorithm,
		"auth_algorithm":          r.Authentication.Algorithm,
		"introspection_algorithm": r.IntrospectionAlgorithm,
		"object_algorithm":        r.Messages.ObjectAlgorithm,
		"response_algorithm":      r.Messages.ResponseAlgorithm,
	}
	if r.Profile == policy.ProfileMessages {
		checkMessageSigning(found, *r)
	}
	// FAPI 2.0 Security Profile §5.4.1.
	for _, field := range slices.Sorted(maps.Keys(algorithms)) {
		if name := algorithms[field]; name != "" && !slices.Contains(policy.FAPIAlgorithms(), name) {
			found.Add(
				field, "The profile %s does not allow the algorithm %s: use %s.", r.Profile, oauth.Clip(name, 40),
				oauth.OneOf(policy.FAPIAlgorithms()),
			)
		}
	}
}

// requirement is a property that a profile needs. The profile sets it, unless somebody said
// something else.
type requirement struct {
	field string
	met   bool
	needs string
	set   func()
}

// requirements lists what the profile of a registration needs. was is the application before the
// change.
func requirements(r *Registration, was storage.Application) []requirement {
	// FAPI 2.0 Security Profile §5.4.1: the usual algorithm is not one of the profile, so none is
	// left open. An update that says nothing about it would bring it back.
	usual := r.Profile != was.Profile && r.Algorithm == policy.DefaultAlgorithm && !slices.Contains(r.Said, "algorithm")
	signing := func(field string, name *string, open bool) requirement {
		return requirement{
			field,
			!open,
			"another algorithm than RS256: use " + oauth.OneOf(policy.FAPIAlgorithms()),
			func() { *name = fapiAlgorithm },
		}
	}
	needed := []requirement{
		// FAPI 2.0 Security Profile §5.3.2.2: requests are pushed.
		{"require_pushed", r.RequirePushed, "pushed requests", func() { r.RequirePushed = true }},
		// FAPI 2.0 Security Profile §5.3.2.1: tokens are sender-constrained.
		{
			"sender_constraint",
			r.SenderConstraint != "",
			"sender-constrained access tokens: use dpop or certificate",
			func() { r.SenderConstraint = profileConstraint(r.Authentication.Method) },
		},
		// FAPI 2.0 Security Profile §5.3.2.1: no rotation of refresh tokens.
		{
			"refresh_rotation",
			r.RefreshRotation != policy.RotationOn,
			"refresh tokens that are not rotated: choose off (kept), or leave it to the server",
			func() { r.RefreshRotation = "" },
		},
		// FAPI 2.0 Security Profile leaves it open. What its parties know about a person stays at UserInfo, behind a bound
		// token.
		{
			"claims_in_id_token",
			r.ClaimsInIDToken != policy.ClaimsOn,
			"ID tokens without the claims of the scopes: choose off, or leave it to the server",
			func() { r.ClaimsInIDToken = "" },
		},
		signing("algorithm", &r.Algorithm, r.Algorithm == "" || usual),
		signing("response_algorithm", &r.Messages.ResponseAlgorithm, r.Messages.ResponseAlgorithm == ""),
		signing("introspection_algorithm", &r.IntrospectionAlgorithm, r.IntrospectionAlgorithm == ""),
	}
	if r.Profile == policy.ProfileMessages {
		needed = append(
			needed,
			// FAPI 2.0 Message Signing §5.3.1: signed requests are required.
			requirement{
				"require_signed",
				r.Messages.RequireSigned,
				"signed requests",
				func() { r.Messages.RequireSigned = true },
			},
			// FAPI 2.0 Message Signing §5.4.1: signed responses are required.
			requirement{
				"response_modes",
				len(r.Messages.ResponseModes) > 0,
				"signed responses: use jwt, query.jwt or form_post.jwt",
				func() { r.Messages.ResponseModes = []string{"jwt", "query.jwt", "form_post.jwt"} },
			},
		)
	}
	return needed
}

// profileConstraint returns the sender constraint that a profile sets for a client that
// authenticates by this method, if nobody said another one.
func profileConstraint(method string) string {
	if one, known := clientauth.MethodOf(method); known && one.ByCertificate() {
		return possession.Certificate
	}
	return possession.DPoP
}

// checkFAPIClient checks what a profile requires of the client itself.
func checkFAPIClient(found *oauth.Invalid, r Registration) {
	// FAPI 2.0 Security Profile §5.3.2.1: only confidential clients.
	if r.ClientType != policy.Confidential {
		found.Add(
			"client_type", "The profile %s is for confidential applications only: they have a key or a certificate.",
			r.Profile,
		)
	}
	// FAPI 2.0 Security Profile §5.3.2.1: no password grant. The other grants without a pushed
	// request of the client are not part of the profile.
	for _, grant := range r.GrantTypes {
		if grant != policy.GrantCode && grant != policy.GrantClient {
			found.Add(
				"grant_type", "The profile %s allows only the grant types %s and %s.", r.Profile, policy.GrantCode,
				policy.GrantClient,
			)
		}
	}
	// FAPI 2.0 Security Profile §5.3.2.1: mutual TLS or private_key_jwt.
	one, known := clientauth.MethodOf(r.Authentication.Method)
	if !known || !one.FAPI {
		found.Add(
			"auth_method", "The profile %s needs client authentication without a secret: use %s.", r.Profile,
			oauth.OneOf(clientauth.NamesOf(func(m clientauth.Method) bool { return m.FAPI })),
		)
	}
	// FAPI 2.0 Security Profile §5.3.2.1: the audience is the issuer.
	if r.Authentication.EndpointAudience {
		found.Add(
			"assertion_audience_endpoints",
			"The profile %s accepts client assertions for the issuer only: an administrator can switch the exception off.",
			r.Profile,
		)
	}
	// FAPI 2.0 Security Profile §5.3.2.2: PKCE with S256.
	if r.PKCE == policy.PKCEIfSent {
		found.Add("pkce", "The profile %s needs PKCE: require it, or leave it to the server.", r.Profile)
	}
	// FAPI 2.0 Security Profile §5.3.2.2: no http, but to the person's own computer.
	for _, uri := range r.RedirectURIs {
		if u, err := url.Parse(uri); err == nil && u.Scheme == "http" && !loopback.InBrowser(u.Hostname()) {
			found.Add(
				"redirect_uris", "The profile %s needs https in each redirect URI, except for a loopback address.", r.Profile,
			)
		}
	}
}

// checkMessageSigning checks what FAPI 2.0 Message Signing requires of the client itself.
func checkMessageSigning(found *oauth.Invalid, r Registration) {
	// FAPI 2.0 Message Signing §5.4.1: signed responses are required.
	for _, mode := range r.Messages.ResponseModes {
		if mode != "jwt" && !strings.HasSuffix(mode, ".jwt") {
			found.Add("response_modes", "The profile %s needs signed responses: use jwt, query.jwt or form_post.jwt.", r.Profile)
		}
	}
}
