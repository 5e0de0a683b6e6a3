package authorize

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	"mandate/provider/oauth"
	"mandate/provider/tokens"
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

// checkACRValues returns the error for a request whose acr_values has no value that a login
// at this server satisfies.
//
// RFC 9470 §5: the request fails. With a token whose acr the API has just refused, the client
// would ask again and again.
// OIDC Core §15.1: acr_values causes no error. OIDC Core wins for a request with the scope
// openid, because it requires this, while RFC 9470 recommends the failure, and because the ID
// token tells the client the actual acr (OIDC Core §5.5.1.1). A client that needs the failure
// there requests the claim acr as essential. RFC 9470 wins for every other request.
func (p *Authorizations) checkACRValues(form url.Values, scopes []string) error {
	asked := strings.Fields(form.Get("acr_values"))
	if len(asked) == 0 || p.config.OpenID && slices.Contains(scopes, "openid") {
		return nil
	}
	if !slices.Contains(asked, tokens.PasswordLogin) {
		return oauth.Refuse("unmet_authentication_requirements", "acr_values has no value that this server supports: it supports %s.", tokens.PasswordLogin)
	}
	return nil
}
