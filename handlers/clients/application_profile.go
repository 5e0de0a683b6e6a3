package clients

import (
	"cmp"
	"slices"
	"strings"

	"mandate/handlers/web"
	"mandate/provider/oauth"
	"mandate/provider/policy"
	"mandate/provider/possession"
	"mandate/storage"
	"mandate/templates"
)

// defaultLogin describes the login of a request that names none.
func defaultLogin(a storage.Application) string {
	var names []string
	for _, value := range strings.Fields(a.DefaultACR) {
		names = append(names, cmp.Or(web.RequiredLogin(value), "Any"))
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
		policy.ProfileFAPI: "Pushed requests, sender-constrained tokens, no secret, no password grant, no rotation of " +
			"refresh tokens, and only the algorithms PS256, ES256 and EdDSA.",
		policy.ProfileMessages: "The same, and the requests and the responses are signed.",
	}
	pkceNames     = map[string]string{policy.PKCERequired: "Required", policy.PKCEIfSent: "Used if it is sent"}
	rotationNames = map[string]string{policy.RotationOn: "Replaced at each use", policy.RotationOff: "Kept"}
	claimsNames   = map[bool]string{true: "Included", false: "Not included"}
	boundTo       = map[string]string{possession.DPoP: "A key (DPoP)", possession.Certificate: "A client certificate"}
)
