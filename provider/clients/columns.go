package clients

import (
	"cmp"
	"strings"

	"mandate/provider/clientauth"
	"mandate/provider/oauth"
	"mandate/provider/policy"
	"mandate/storage"
)

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
