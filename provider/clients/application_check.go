package clients

import (
	"cmp"
	"context"
	"reflect"
	"slices"
	"strings"

	"mandate/provider/acr"
	"mandate/provider/claims"
	"mandate/provider/clientauth"
	"mandate/provider/jose"
	"mandate/provider/oauth"
	"mandate/provider/people"
	"mandate/provider/policy"
	"mandate/provider/possession"
	"mandate/storage"
)

// Check checks a registration against the rules, and against what the standing of the application allows. It changes
// the registration: it sets what the profile requires, and replaces each resource by its URI as it was registered.
//
// was is the application before the change. For a new application it only says who is responsible for it.
func (p *Clients) Check(
	ctx context.Context,
	found *oauth.Invalid,
	actor policy.Actor,
	described *Registration,
	was storage.Application,
) error {
	applyProfile(found, described, was)
	p.checkClaims(found, described, was)
	r := *described
	if strings.TrimSpace(r.Name) == "" {
		found.Add("name", "This field is required: people see it on the consent page.")
	}
	for _, f := range fields {
		if f.Kind == Text {
			people.CheckText(found, f.Name, *f.Value(&r).(*string))
		}
	}
	if r.ClientType != policy.Confidential && r.ClientType != policy.Public {
		found.Add("client_type", "Choose confidential or public.")
	}
	may := p.rules.AllowanceOf(was)
	checkGrantTypes(found, r, was, may)
	p.checkRedirectURIs(found, actor, r, was)
	checkLaunchURL(found, actor, r, was)
	p.checkScopes(found, actor, r, was, may)
	checkFormat(found, r.AccessTokenFormat)
	p.checkRequiredACR(found, r)
	p.checkDefaultACR(found, r)
	if p.config.OpenID {
		p.checkOpenID(found, actor, r, was)
	} else {
		checkUnchanged(found, r, was)
	}
	p.checkAuthentication(found, r, was)
	p.checkConstraint(found, r, was.SenderConstraint)
	checkLenient(found, actor, &r, was, may)
	p.checkMessages(found, r, was)
	checkLifetimes(found, r, may)
	checkIntrospectionAlgorithm(found, r.IntrospectionAlgorithm)
	checkPrivileges(found, actor, r, was, may)
	checkWhoseAccess(found, actor, r, was)
	if !actor.Administers() && policy.StandingOf(was) == policy.StandingAdministrator {
		p.checkVouched(found, r, was)
	}
	err := p.checkGroups(ctx, found, described)
	if err != nil {
		return err
	}
	described.Resources, err = p.CheckResources(ctx, found, r.Resources, oauth.Lines(was.Resources))
	return err
}

// checkUnchanged checks that no field of OpenID Connect changes while that is off.
func checkUnchanged(found *oauth.Invalid, r Registration, was storage.Application) {
	before := registrationOf(was)
	allowed := map[string]bool{
		// The algorithm is then only for signed access tokens. A profile sets it for those of each resource.
		"algorithm": (r.AccessTokenFormat == policy.FormatJWT || r.Profile != "") &&
			slices.Contains(jose.Algorithms(), r.Algorithm),
		"claims_in_id_token": r.ClaimsInIDToken == "", // as a profile sets it
	}
	for _, f := range fields {
		if f.OpenID && !allowed[f.Name] && !f.Same(&r, &before) {
			found.Add(f.Name, "OpenID Connect is disabled on this server: its operator can enable it with OIDC_ENABLED.")
		}
	}
}

// checkGrantTypes accepts a grant type that the application already has, even if its
// standing does not allow it: it has no effect then.
func checkGrantTypes(found *oauth.Invalid, r Registration, was storage.Application, may policy.Allowance) {
	if len(r.GrantTypes) == 0 {
		found.Add("grant_type", "Choose at least one.")
	}
	for _, g := range r.GrantTypes {
		kind, known := policy.GrantOf(g)
		switch {
		case !known:
			found.Add(
				"grant_type", "The grant type %q is not supported: use %s.", oauth.Clip(g, 80), oauth.OneOf(policy.GrantNames()),
			)
		case !slices.Contains(may.Grants, g) && !slices.Contains(strings.Fields(was.GrantTypes), g):
			found.Add("grant_type", "The grant type %s is only for applications for which an administrator is responsible.", g)
		}
		if kind.WithSecret && r.ClientType == policy.Public {
			found.Add("grant_type", "%s need a secret, which a public application cannot keep.", kind.Label)
		}
	}
	if !may.Authenticates(r.ClientType, r.Authentication.Method) {
		found.Add(
			"client_type",
			"Nobody is responsible for this application, so it has no secret: it is public, or authenticates with %s.",
			oauth.OneOf(clientauth.OpenMethods()),
		)
	}
}

// checkRequiredACR checks the acr that the application requires of a login. A grant without a login cannot reach one.
func (p *Clients) checkRequiredACR(found *oauth.Invalid, r Registration) {
	if r.RequiredACR != "" && !slices.Contains(p.people.ACRValues(), r.RequiredACR) {
		p.unsupportedACR(found, "required_acr", r.RequiredACR)
		return
	}
	for _, name := range r.GrantTypes {
		if g, _ := policy.GrantOf(name); g.TooWeak(r.RequiredACR) {
			found.Add(
				"required_acr", "The grant type %s has no second factor: remove it, or require nothing.", g.Name,
			)
		}
	}
}

// checkDefaultACR checks the values of acr for requests that name none.
func (p *Clients) checkDefaultACR(found *oauth.Invalid, r Registration) {
	for _, value := range strings.Fields(r.DefaultACR) {
		if !slices.Contains(p.people.ACRValues(), value) {
			p.unsupportedACR(found, "default_acr_values", value)
			return
		}
	}
}

func (p *Clients) unsupportedACR(found *oauth.Invalid, field, value string) {
	text := ""
	if len(p.people.ACRValues()) < len(acr.Values()) {
		text = " The stronger ones need passkeys, and this server has none, because browsers offer none at its BASE_URL."
	}
	found.Add(
		field, "The acr %q is not supported: use %s.%s", oauth.Clip(value, 80), oauth.OneOf(p.people.ACRValues()), text,
	)
}

// SupportedACR returns those of the values of acr that a login at this server can reach, with spaces
// between. Metadata that is for every server may name others.
func (p *Clients) SupportedACR(values []string) string {
	return strings.Join(oauth.Narrow(values, p.people.ACRValues()), " ")
}

func (p *Clients) checkScopes(
	found *oauth.Invalid,
	actor policy.Actor,
	r Registration,
	was storage.Application,
	may policy.Allowance,
) {
	for _, name := range r.Scopes {
		switch {
		case name == policy.Introspection && actor.Administers():
			found.Add(
				"may_introspect", "Remove the scope introspection from the list: the application gets it with this permission.",
			)
		case name == policy.Introspection:
			found.Add(
				"scope", "Remove the scope introspection from the list: only an administrator can give it to an application.",
			)
		case slices.Contains(strings.Fields(was.Scopes), name):
			// It stays, so that the change of another field works. While the operator has removed the scope, or the standing
			// does not allow it, it has no effect.
		case !slices.Contains(p.rules.ScopeNames(), name):
			found.Add("scope", "There is no scope %q on this server: use %s.", oauth.Clip(name, 80), oauth.OneOf(may.Scopes))
		case !slices.Contains(may.Scopes, name):
			found.Add("scope", "The scope %q is only for applications for which an administrator is responsible.", name)
		}
	}
}

// CheckResources checks that each resource exists, and returns their URIs as they were
// registered. was lists those that the application has already: such a one may have been
// deleted, and has no effect then.
func (p *Clients) CheckResources(ctx context.Context, found *oauth.Invalid, named, was []string) ([]string, error) {
	if len(named) > maxURIs {
		found.Add("resources", "Name at most %d resources.", maxURIs)
		return nil, nil
	}
	var uris []string
	for _, uri := range named {
		registered, known, err := p.apis.Registered(ctx, uri)
		if err != nil {
			return nil, err
		}
		if !known {
			registered = uri
		}
		if !known && !slices.Contains(was, uri) {
			found.Add("resources", "There is no resource %s on this server: an administrator can add it.", oauth.Clip(uri, 200))
		}
		uris = oauth.Union(uris, []string{registered})
	}
	return uris, nil
}

// checkClaims checks the rules of an application's own claims, and writes them in one form. Those that it has may stay.
func (p *Clients) checkClaims(found *oauth.Invalid, r *Registration, was storage.Application) {
	if strings.Join(r.Claims, "\n") == was.Claims {
		return
	}
	known := claims.Known{Scopes: p.rules.ScopeNames(), Attributes: p.people.AttributeNames()}
	r.Claims = claims.Check(r.Claims, known, func(message string) { found.Add("claims", "%s", message) })
}

func checkLifetimes(found *oauth.Invalid, r Registration, may policy.Allowance) {
	access := may.AccessMax
	if r.AccessTokenFormat == policy.FormatJWT {
		access = may.JWTMax
	}
	checkLifetime(found, "access_token_lifetime", r.AccessTokenLifetime, access, may)
	checkLifetime(found, "refresh_token_lifetime", r.RefreshTokenLifetime, may.RefreshMax, may)
}

func checkLifetime(found *oauth.Invalid, field string, lifetime, most int64, may policy.Allowance) {
	switch {
	case lifetime != 0 && !may.OwnLifetime:
		found.Add(field, "Leave it empty: an application that registered itself cannot choose the lifetime of its tokens.")
	case lifetime < 0 || lifetime > most:
		found.Add(field, "Use a number of seconds from 1 to %d, or leave it empty.", most)
	}
}

// checkVouched protects an application that an administrator is responsible for. An
// owner without administrator rights may not change the settings that matter for
// security, such as a redirect URI, nor extend the lifetime of its tokens.
func (p *Clients) checkVouched(found *oauth.Invalid, r Registration, was storage.Application) {
	now := was
	p.describe(&now, r)
	if r.Pairwise {
		now.Sector = cmp.Or(now.Sector, "none yet") // redirect URIs of several hosts give it none
	}
	for _, column := range p.rules.Vouched(was, now) {
		found.Add(
			nameOf(column), "An administrator is responsible for this application, so only an administrator may change this.",
		)
	}
}

// nameOf returns the name of the field with this column, as the record calls it, or "" if there is none.
func nameOf(column string) string { return namesOfColumns[column] }

var namesOfColumns = func() map[string]string {
	names := map[string]string{}
	var a storage.Application
	record := reflect.ValueOf(&a).Elem()
	for _, f := range fields {
		for i := range record.NumField() {
			if record.Field(i).Addr().Interface() == f.Column(&a) {
				names[record.Type().Field(i).Tag.Get("db")] = f.Name
			}
		}
	}
	return names
}()

// checkPrivileges checks the rights that only an administrator can grant, and only to
// an application that an administrator is responsible for.
func checkPrivileges(
	found *oauth.Invalid,
	actor policy.Actor,
	r Registration,
	was storage.Application,
	may policy.Allowance,
) {
	public := func(why string) string {
		if r.ClientType == policy.Public {
			return why
		}
		return ""
	}
	never := map[string]string{ // why the application cannot have the right
		"may_introspect": public("A public application has no secret to authenticate with, so it cannot introspect " +
			"tokens."),
		"skip_consent": policy.NeverSkipsConsent(storage.Application{
			Origin:       was.Origin,
			ClientType:   r.ClientType,
			RedirectURIs: strings.Join(r.RedirectURIs, "\n"),
		}),
		// RFC 10070 §4: with the address of an endpoint as audience, another server could use
		// the assertion.
		"assertion_audience_endpoints": public("A public application makes no assertions."),
	}
	for _, f := range guarded() {
		now := was
		f.store(&r, &now)
		said, had := f.Stored(&now), f.Stored(&was)
		switch {
		case !reflect.DeepEqual(said, had) && !actor.Administers():
			found.Add(f.Name, "Only an administrator may change this.")
		case had != nil && !may.AdministratorRights: // it has no effect, and the change removes it
		case said != nil && never[f.Name] != "":
			found.Add(f.Name, "%s", never[f.Name])
		case said != nil && !may.AdministratorRights:
			found.Add(f.Name, "No administrator is responsible for this application: take it over first.")
		}
	}
}

// checkIntrospectionAlgorithm checks the algorithm of signed introspection responses.
//
// RFC 9701 §6: the default is RS256. HS256 is not possible: the caller could then make such a
// response itself, and a signature would prove nothing to others.
func checkIntrospectionAlgorithm(found *oauth.Invalid, algorithm string) {
	if algorithm != "" && !slices.Contains(jose.Algorithms(), algorithm) {
		found.Add(
			"introspection_algorithm", "The algorithm %q is not supported: use %s.", oauth.Clip(algorithm, 40),
			oauth.OneOf(jose.Algorithms()),
		)
	}
}

func checkFormat(found *oauth.Invalid, format string) {
	if format != "" && format != policy.FormatOpaque && format != policy.FormatJWT {
		found.Add("access_token_format", "The format %q is not supported: use opaque or jwt.", oauth.Clip(format, 40))
	}
}

// MemberOf names the client metadata of a field of the registration.
func (r Registration) MemberOf(field string) string {
	switch field {
	case "certificate_subject":
		return clientauth.CertificateSubject(r.Authentication.CertificateSubject).Member
	// A profile sets one of the two. false for the other one says nothing, because a token is bound to
	// one thing.
	case "sender_constraint":
		if cmp.Or(r.SenderConstraint, profileConstraint(r.Authentication.Method)) == possession.Certificate {
			return "tls_client_certificate_bound_access_tokens"
		}
		return "dpop_bound_access_tokens"
	}
	of, _ := FieldOf(field)
	return cmp.Or(of.Member, field)
}
