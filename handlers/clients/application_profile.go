package clients

import (
	"cmp"
	"net/url"
	"slices"
	"strings"

	"mandate/handlers/web"
	"mandate/provider/acr"
	"mandate/provider/clientauth"
	"mandate/provider/oauth"
	"mandate/provider/policy"
	"mandate/provider/possession"
	"mandate/storage"
	"mandate/templates"
)

// profileFields sets the fields of the form about the profile, about the login that the application
// requires, and about what the access tokens are bound to.
func (s *server) profileFields(page *templates.ApplicationForm, form url.Values, invalid *oauth.Invalid) {
	profiles := []templates.Option{{Value: "", Label: "None", Help: "Each requirement can be switched on by itself."}}
	for _, name := range policy.Profiles() {
		profiles = append(profiles, templates.Option{Value: name, Label: profileNames[name], Help: profileHelp[name]})
	}
	constraints := []templates.Option{{
		Value: "",
		Label: "As the application asks",
		Help:  "With a DPoP proof it gets a token that is bound to its key, and without one a bearer token.",
	},
		{Value: possession.DPoP, Label: boundTo[possession.DPoP], Help: "Each token request needs a DPoP proof (RFC 9449)."}}
	if s.Provider.Clients.Offers(clientauth.MethodSelfSigned) || form.Get("sender_constraint") == possession.Certificate {
		constraints = append(constraints, templates.Option{
			Value: possession.Certificate,
			Label: boundTo[possession.Certificate],
			Help:  "Each token request needs the certificate (RFC 8705).",
		})
	}
	page.Profiles, page.ProfileError = web.Checked([]string{form.Get("profile")}, profiles...), invalid.At("profile")
	logins := []templates.Option{{Value: "", Label: "Any", Help: "The password suffices."}}
	for _, value := range acr.Values() {
		if value != acr.Password {
			logins = append(logins, templates.Option{
				Value: value,
				Label: requiredLogins[value],
				Help:  "A person who has signed in without it is led through the missing step. acr: " + value,
			})
		}
	}
	page.Logins, page.LoginError = web.Checked([]string{form.Get("required_acr")}, logins...), invalid.At("required_acr")
	defaults := []templates.Option{{Value: "", Label: "Any", Help: "As the person likes."}}
	for _, one := range logins[1:] {
		defaults = append(defaults, templates.Option{Value: one.Value, Label: one.Label, Help: "acr: " + one.Value})
	}
	if chosen := form.Get("default_acr_values"); !slices.ContainsFunc(
		defaults,
		func(o templates.Option) bool { return o.Value == chosen },
	) {
		defaults = append(defaults, templates.Option{
			Value: chosen,
			Label: "As it has registered",
			Help:  "acr, the preferred one first: " + oauth.Clip(chosen, 200),
		})
	}
	page.DefaultLogins = web.Checked([]string{form.Get("default_acr_values")}, defaults...)
	page.DefaultLoginError = invalid.At("default_acr_values")
	page.Constraints = web.Checked([]string{form.Get("sender_constraint")}, constraints...)
	page.ConstraintError = invalid.At("sender_constraint")
}

// defaultLogin describes the login of a request that names none.
func defaultLogin(a storage.Application) string {
	var names []string
	for _, value := range strings.Fields(a.DefaultACR) {
		names = append(names, cmp.Or(requiredLogins[value], "Any"))
	}
	return strings.Join(names, ", or ")
}

// atProfile moves the mistakes of fields that the page does not have to the field of the profile,
// if one is chosen: they contradict it. privileges says that the page has the fields of
// administrators.
func (s *server) atProfile(invalid *oauth.Invalid, profile string, privileges bool) *oauth.Invalid {
	if invalid == nil || profile == "" {
		return invalid
	}
	contradicting := []string{"assertion_audience_endpoints", "algorithm", "userinfo_algorithm"}
	shown := &oauth.Invalid{}
	for _, f := range invalid.Fields {
		if slices.Contains(contradicting, f.Field) && s.absent(f.Field, privileges) {
			f.Field = "profile"
		}
		shown.Add(f.Field, "%s", f.Message)
	}
	return shown
}

// applicationErrors returns the error summary. A mistake in a field that the page does not have
// leads nowhere, so it has the name of the field in its text.
func (s *server) applicationErrors(invalid *oauth.Invalid, privileges bool) []templates.FieldError {
	if invalid == nil {
		return nil
	}
	var lines []templates.FieldError
	for _, f := range invalid.Fields {
		lines = append(lines, titled(f.Field, f.Message, !s.absent(f.Field, privileges)))
	}
	return lines
}

// sinceOpened puts in front of the mistakes that the application is another than the page
// showed.
func sinceOpened(invalid *oauth.Invalid) *oauth.Invalid {
	shown := &oauth.Invalid{}
	shown.Add("version", "Somebody changed the application since you opened this page.")
	for _, f := range invalid.Fields {
		shown.Add(f.Field, "%s", f.Message)
	}
	return shown
}

// rotationField sets the field of the form about refresh tokens. Only an administrator may switch the
// rotation off, for an application for which an administrator is responsible.
func (s *server) rotationField(page *templates.ApplicationForm, form url.Values, invalid *oauth.Invalid) {
	chosen := form.Get("refresh_rotation")
	usual := "A refresh token is replaced when it is used."
	if s.Provider.KeepsRefreshTokens() {
		usual = "A confidential application keeps its refresh token."
	}
	rotations := []templates.Option{{Value: "", Label: "As the server is set", Help: usual},
		{
			Value: policy.RotationOn,
			Label: rotationNames[policy.RotationOn],
			Help:  "Whoever copied a refresh token is found out when it is used a second time.",
		}}
	if page.Privileges || chosen == policy.RotationOff {
		rotations = append(rotations, templates.Option{
			Value: policy.RotationOff,
			Label: rotationNames[policy.RotationOff],
			Help:  "For an application that cannot store a new refresh token after each use.",
		})
	}
	page.Rotations, page.RotationError = web.Checked([]string{chosen}, rotations...), invalid.At("refresh_rotation")
}

// claimsField sets the field of the form about the claims of the scopes in ID tokens. Only an administrator may switch
// them on, for an application for which an administrator is responsible.
func claimsField(page *templates.ApplicationForm, form url.Values, invalid *oauth.Invalid) {
	chosen := form.Get("claims_in_id_token")
	choices := []templates.Option{{Value: "", Label: "As the kind of the application says",
		Help: "Included for a confidential application for which an administrator is responsible, if it has no profile."}}
	if page.Privileges || chosen == policy.ClaimsOn {
		choices = append(choices, templates.Option{Value: policy.ClaimsOn, Label: claimsNames[true],
			Help: "For an application that reads only the ID token, such as a cluster of Kubernetes."})
	}
	choices = append(choices, templates.Option{
		Value: policy.ClaimsOff,
		Label: claimsNames[false],
		Help:  "The application reads them at the UserInfo endpoint.",
	})
	page.IDTokenClaims, page.IDTokenClaimsError = web.Checked([]string{chosen}, choices...), invalid.At("claims_in_id_token")
}

// pkceField sets the field of the form about PKCE. Only an administrator may let an application come without, if an
// administrator is responsible for it.
func (s *server) pkceField(
	page *templates.ApplicationForm,
	actor storage.User,
	a *storage.Application,
	form url.Values,
	invalid *oauth.Invalid,
) {
	chosen := form.Get("pkce")
	values := []templates.Option{{Value: "", Label: "The rule of the server", Help: s.usualPKCE(actor, a)},
		{
			Value: policy.PKCERequired,
			Label: pkceNames[policy.PKCERequired],
			Help:  "A request without a code challenge is refused.",
		}}
	if page.Privileges || chosen == policy.PKCEIfSent {
		values = append(values, templates.Option{
			Value: policy.PKCEIfSent,
			Label: pkceNames[policy.PKCEIfSent],
			Help:  "For a program that cannot send a code challenge. A stolen code is then easier to use.",
		})
	}
	page.PKCE, page.PKCEError = web.Checked([]string{chosen}, values...), invalid.At("pkce")
}

// usualPKCE says what an application must send that leaves PKCE to the server.
func (s *server) usualPKCE(actor storage.User, a *storage.Application) string {
	switch {
	case !s.Provider.NeedsPKCE(actor, a, false):
		return "A code challenge is used if the application sends one."
	case s.Config.OpenID && !s.Provider.NeedsPKCE(actor, a, true):
		return "Each authorization request needs a code challenge, or the scope openid and a nonce."
	}
	return "Each authorization request needs a code challenge."
}

// The profiles, the required logins and the sender constraints, for people.
var (
	profileNames = map[string]string{
		policy.ProfileFAPI:     "FAPI 2.0 Security Profile",
		policy.ProfileMessages: "FAPI 2.0 Message Signing",
	}
	profileHelp = map[string]string{
		policy.ProfileFAPI:     "Pushed requests, sender-constrained tokens, no secret, no password grant, no rotation of refresh tokens, and only the algorithms PS256, ES256 and EdDSA.",
		policy.ProfileMessages: "The same, and the requests and the responses are signed.",
	}
	requiredLogins = map[string]string{
		"urn:mandate:acr:mfa":     "Two factors",
		"phr":                     "A login that resists phishing",
		"urn:mandate:acr:passkey": "A passkey",
	}
	pkceNames     = map[string]string{policy.PKCERequired: "Required", policy.PKCEIfSent: "Used if it is sent"}
	rotationNames = map[string]string{policy.RotationOn: "Replaced at each use", policy.RotationOff: "Kept"}
	claimsNames   = map[bool]string{true: "Included", false: "Not included"}
	boundTo       = map[string]string{possession.DPoP: "A key (DPoP)", possession.Certificate: "A client certificate"}
)
