package authorize

import (
	"encoding/json"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"mandate/provider/acr"
	"mandate/provider/oauth"
	"mandate/provider/tokens"
	"mandate/storage"
)

// readMaxAge reads and checks max_age, the largest age of the login in seconds (OIDC Core
// §3.1.2.1). RFC 9470 §4 uses it without OpenID Connect too. It returns nil, or the error
// for the client.
func (o *OpenIDRequest) readMaxAge(form url.Values) error {
	text := form.Get("max_age")
	if text == "" {
		return nil
	}
	age, err := strconv.ParseUint(text, 10, 31)
	if err != nil {
		return oauth.Refuse("invalid_request", "max_age must be a number of seconds from 0.")
	}
	o.maxAge = int64(age)
	return nil
}

// readACRValues reads acr_values. It returns the error for a request whose acr_values has no value
// that a login at this server can reach.
//
// RFC 9470 §5: the request fails. With a token whose acr the API has just refused, the client
// would ask again and again.
// OIDC Core §15.1: acr_values causes no error. OIDC Core wins for a request with the scope
// openid, because it requires this, while RFC 9470 recommends the failure, and because the ID
// token tells the client the actual acr (OIDC Core §5.5.1.1). A client that needs the failure
// there requests the claim acr as essential. RFC 9470 wins for every other request.
//
// OIDC Core §5.5.1.1: a request with both acr_values and the claim acr has no defined meaning. The
// claim wins, because it says more.
//
// OIDC Registration §2: a request that names no value is for those that the client has registered
// (default_acr_values), as voluntary ones. What the application requires of every login holds besides.
func (p *Authorizations) readACRValues(a *Authorization, scopes []string) error {
	asked := strings.Fields(a.parameters.Get("acr_values"))
	switch {
	case len(a.OpenID.acr.values) > 0, len(asked) == 0 && a.OpenID.acr.named:
		return nil
	case len(asked) == 0:
		a.OpenID.acr = acrRequest{values: supported(strings.Fields(a.Application.DefaultACR), p.config.ACRValues)}
		return nil
	}
	a.OpenID.acr = acrRequest{values: supported(asked, p.config.ACRValues), required: !p.config.OpenID ||
		!slices.Contains(scopes, "openid")}
	if a.OpenID.acr.required && len(a.OpenID.acr.values) == 0 {
		return unsupportedACR("acr_values has no value that this server supports", p.config.ACRValues)
	}
	return nil
}

// readACRClaim reads the request for the claim acr. may lists the values that this server supports.
//
// OIDC Core §5.5.1.1: if an essential acr cannot be provided, the login fails.
func (o *OpenIDRequest) readACRClaim(asked *tokens.ClaimRequest, may []string) error {
	if asked == nil {
		return nil
	}
	var values []string
	for _, raw := range asked.Requested() {
		var value string
		if json.Unmarshal(raw, &value) == nil {
			values = append(values, value)
		}
	}
	values = supported(values, may)
	if asked.Essential && len(asked.Requested()) > 0 && len(values) == 0 {
		return unsupportedACR("claims requests an acr that this server does not support", may)
	}
	o.acr = acrRequest{values, asked.Essential, len(asked.Requested()) > 0}
	return nil
}

func unsupportedACR(text string, may []string) *oauth.Error {
	return oauth.Refuse("unmet_authentication_requirements", "%s: it supports %s.", oauth.Own(text),
		oauth.Own(strings.Join(may, ", ")))
}

// supported returns those of the values that a login at this server can reach, as may lists them.
func supported(values, may []string) []string {
	return slices.DeleteFunc(slices.Clone(values), func(value string) bool { return !slices.Contains(may, value) })
}

// missingACR returns the weakest acr that the request or the application needs and that the login of
// the session does not satisfy, or "". required says that there is no code without it.
//
// RFC 9470 §5: the person is asked to sign in as the request says.
func missingACR(a *Authorization, s *storage.SignedIn) (missing string, required bool) {
	if own := a.Application.RequiredACR; own != "" && !acr.Satisfies(s.Session.AMR, own) {
		missing, required = own, true
	}
	if asked := a.OpenID.acr; len(asked.values) > 0 && acr.Met(s.Session.AMR, asked.values) == "" {
		missing, required = acr.Stronger(missing, acr.Weakest(asked.values)), required || asked.required
	}
	return missing, required
}

// unmetACR returns the error for a request that would get a code although the login is too weak.
func unmetACR() *oauth.Error {
	return oauth.Refuse("unmet_authentication_requirements",
		"The person has not signed in as the request or the application requires.")
}
