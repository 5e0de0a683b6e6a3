package clients

import (
	"cmp"
	"strings"

	"mandate/provider/clientauth"
	"mandate/provider/oauth"
	"mandate/provider/policy"
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
	Resources    []string // the URIs of the only resources that its tokens may be for; the first is the default; none: any resource

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

	// For the CLI only: values that are otherwise generated.
	ClientID, ClientSecret string
	Owner                  string // username
}

// column is a field of a registration with the column that stores it.
type column struct{ store, load func() }

func same[T any](field, stored *T) column {
	return column{func() { *stored = *field }, func() { *field = *stored }}
}

func words(field *[]string, stored *string) column {
	return column{func() { *stored = strings.Join(*field, " ") }, func() { *field = strings.Fields(*stored) }}
}

func lines(field *[]string, stored *string) column {
	return column{func() { *stored = strings.Join(*field, "\n") }, func() { *field = oauth.Lines(*stored) }}
}

// columns pairs each field with its column. Some have none: the sector follows from others, the program never changes,
// and the rest says who registers and by which identifier.
func (r *Registration) columns(a *storage.Application) []column {
	auth, signed := &r.Authentication, &r.Messages
	return []column{
		same(&r.Name, &a.Name),
		same(&r.ClientType, &a.ClientType),
		words(&r.GrantTypes, &a.GrantTypes),
		lines(&r.RedirectURIs, &a.RedirectURIs),
		words(&r.Scopes, &a.Scopes),
		lines(&r.Resources, &a.Resources),
		same(&r.HashClientSecret, &a.HashClientSecret),
		same(&r.MayIntrospect, &a.MayIntrospect),
		same(&r.SkipConsent, &a.SkipConsent),
		same(&r.PKCE, &a.PKCE),
		same(&r.RequirePushed, &a.RequirePushed),
		same(&r.SenderConstraint, &a.SenderConstraint),
		same(&r.Profile, &a.Profile),
		same(&r.RequiredACR, &a.RequiredACR),
		same(&r.DefaultACR, &a.DefaultACR),
		same(&r.RefreshRotation, &a.RefreshRotation),
		same(&r.ClaimsInIDToken, &a.ClaimsInIDToken),
		same(&r.AccessTokenLifetime, &a.AccessTokenLifetime),
		same(&r.RefreshTokenLifetime, &a.RefreshTokenLifetime),
		same(&r.AccessTokenFormat, &a.AccessTokenFormat),
		same(&r.Algorithm, &a.Algorithm),
		same(&r.UserInfoAlgorithm, &a.UserInfoAlgorithm),
		same(&r.IntrospectionAlgorithm, &a.IntrospectionAlg),
		lines(&r.PostLogoutURIs, &a.PostLogoutURIs),
		same(&r.BackchannelURI, &a.BackchannelURI),

		same(&auth.Method, &a.AuthMethod),
		same(&auth.Algorithm, &a.AuthAlgorithm),
		same(&auth.JWKS, &a.JWKS),
		same(&auth.JWKSURI, &a.JWKSURI),
		same(&auth.CertificateSubject, &a.CertificateSubject),
		same(&auth.EndpointAudience, &a.EndpointAudience),

		same(&signed.ObjectAlgorithm, &a.ObjectAlgorithm),
		same(&signed.RequireSigned, &a.RequireSigned),
		lines(&signed.RequestURIs, &a.RequestURIs),
		same(&signed.ResponseAlgorithm, &a.ResponseAlgorithm),
		words(&signed.ResponseModes, &a.ResponseModes),
	}
}

// describe copies a registration into the record.
func (p *Clients) describe(a *storage.Application, r Registration) {
	a.Sector = sectorOf(r, *a) // by what it was before
	// An administrator granted these rights to the application as it was then. A change
	// by somebody else removes them permanently.
	if !p.rules.AllowanceOf(*a).AdministratorRights {
		dropLenient(&r, *a)
		r.MayIntrospect, r.SkipConsent, r.Authentication.EndpointAudience = false, false, false
	}
	r.DefaultACR = strings.Join(strings.Fields(r.DefaultACR), " ")
	r.AccessTokenFormat = cmp.Or(r.AccessTokenFormat, policy.FormatOpaque)
	r.Authentication.JWKS = compact(r.Authentication.JWKS)
	r.Authentication.CertificateSubject = clientauth.StoredSubject(r.Authentication.CertificateSubject)
	for _, c := range r.columns(a) {
		c.store()
	}
}

// registrationOf returns the registration that an application has now.
func registrationOf(a storage.Application) Registration {
	r := Registration{Pairwise: a.Sector != ""}
	for _, c := range r.columns(&a) {
		c.load()
	}
	return r
}

// AuthenticationOf returns how an application authenticates.
func AuthenticationOf(a storage.Application) Authentication { return registrationOf(a).Authentication }

// MessagesOf returns how the messages of an application are signed.
func MessagesOf(a storage.Application) Messages { return registrationOf(a).Messages }
