package authorize

import (
	"context"
	"errors"
	"slices"
	"strings"

	"mandate/provider/clientauth"
	"mandate/provider/errorcode"
	"mandate/provider/keys"
	"mandate/provider/limits"
	"mandate/provider/oauth"
	"mandate/provider/policy"
	"mandate/provider/redirect"
	"mandate/provider/throttle"
)

// The response modes (OAuth Multiple Response Types §2.1, OIDC Form Post §2, JARM §2.3).
const (
	queryMode    = "query"
	formPost     = "form_post"
	signedQuery  = "query.jwt"
	signedForm   = "form_post.jwt"
	signedMode   = "jwt" // JARM §2.3.4: for the response type code, the same as query.jwt
	signedSuffix = ".jwt"
)

// responseLife is the lifetime of a signed response in seconds.
//
// JARM §2.1: it should be at most ten minutes.
const responseLife = 300

// ResponseModes returns the supported values of response_mode. signs says that the server has a
// key with which it can sign a response.
func ResponseModes(openID, signs bool) []string {
	modes := []string{queryMode}
	if openID {
		modes = append(modes, formPost)
	}
	if signs {
		modes = append(modes, signedMode, signedQuery, signedForm)
	}
	return modes
}

// responseMode returns the response mode of a request. The usual one is query.
func (a *Authorization) responseMode() string {
	switch mode := a.parameters.Get("response_mode"); mode {
	case "":
		return queryMode
	case signedMode:
		return signedQuery
	default:
		return mode
	}
}

// checkResponseMode checks response_mode.
//
// OIDC Core §3.1.2.6: an unknown response mode cannot be used to return an error to the client.
func (p *Authorizations) checkResponseMode(ctx context.Context, a *Authorization) error {
	mode, signs := a.responseMode(), false
	if len(a.parameters["response_mode"]) > 1 {
		mode = queryMode // refused later; the error has the usual mode, if the application may get it
	}
	if strings.HasSuffix(mode, signedSuffix) {
		sign, err := p.tokens.ResponseSigner(ctx, a.Application)
		if err != nil && !errors.Is(err, keys.ErrNone) {
			return err
		}
		signs, a.sign = err == nil, sign
	}
	may := ResponseModes(p.config.OpenID, signs)
	// FAPI 2.0 Message Signing §5.3.3: a client can limit itself to some response modes.
	if own := strings.Fields(a.Application.ResponseModes); len(own) > 0 {
		may = slices.DeleteFunc(may, func(one string) bool {
			return !slices.Contains(own, one) && !(one == signedQuery && slices.Contains(own, signedMode)) &&
				!(one == signedMode && slices.Contains(own, signedQuery))
		})
	}
	if !slices.Contains(may, mode) {
		if own := strings.Fields(a.Application.ResponseModes); len(may) == 0 {
			may = own
		}
		return oauth.Refuse("invalid_request", "response_mode must be %s.", oauth.Own(strings.Join(may, " or ")))
	}
	return nil
}

// readResponseMode reads how the response is sent. It also applies to errors, so it is read first.
func (a *Authorization) readResponseMode() error {
	mode := a.parameters.Get("response_mode")
	if len(a.parameters["response_mode"]) != 1 || mode != formPost && mode != signedForm {
		return nil
	}
	// OIDC Form Post §2: a browser sends a form only to a web server. A native application with a
	// private-use URI scheme cannot receive it.
	if !strings.HasPrefix(a.RedirectURI, "https://") && !strings.HasPrefix(a.RedirectURI, "http://") {
		return oauth.Refuse("invalid_request", "response_mode=%s needs a redirect URI that begins with https:// or http://.",
			oauth.Own(mode))
	}
	a.OpenID.formPost = true
	return nil
}

// RefusalToNobody is Refusal for a request that ends while nobody is signed in. Everybody can send such requests, and a
// signature costs far more than the request, so they are limited by network. For an application for which nobody is
// responsible, a page shows the error and nothing is signed: the response has no parameters.
//
// JARM §2.3: in these modes a response is signed, so one over the limit is not sent unsigned to the client. The Error
// has status 429, and is for a page.
func (p *Authorizations) RefusalToNobody(ctx context.Context, a *Authorization, e *oauth.Error) (redirect.Response,
	error) {
	switch {
	case a.sign == nil:
	case policy.StandingOf(a.Application) == policy.StandingOpen:
		return redirect.Response{RedirectURI: a.RedirectURI}, nil
	default:
		_, err := p.limits.Request(throttle.From(limits.OfAssertion, "response ", clientauth.AddressOf(ctx)))
		if err != nil {
			return redirect.Response{}, err
		}
	}
	return p.Refusal(a, e), nil
}

// respond returns a response with these parameters, state and iss.
//
// RFC 6749 §4.1.2: the response contains state exactly as it was sent.
// RFC 9207 §2: every response contains iss, also an error response.
func (p *Authorizations) respond(a *Authorization, parameters ...redirect.Parameter) redirect.Response {
	response := redirect.Response{RedirectURI: a.RedirectURI, FormPost: a.OpenID.formPost}
	if a.state != "" {
		parameters = append(parameters, redirect.Parameter{Name: "state", Value: a.state})
	}
	if a.sign == nil {
		response.Parameters = append(parameters, redirect.Parameter{Name: "iss", Value: p.config.Issuer})
		return response
	}
	// JARM §2.1: the claims are the issuer, the client, the end, and the parameters, also those of
	// an error. Nothing else is in the response.
	claims := map[string]any{"iss": p.config.Issuer, "aud": a.Application.ClientID, "exp": oauth.Now() + responseLife}
	for _, one := range parameters {
		claims[one.Name] = one.Value
	}
	signed, err := a.sign(claims)
	if err != nil {
		response.Failed = err
		return response
	}
	response.Parameters = []redirect.Parameter{{Name: "response", Value: signed}}
	return response
}

// Refusal returns the error response that the browser carries to the redirect URI (RFC 6749
// §4.1.2.1).
func (p *Authorizations) Refusal(a *Authorization, e *oauth.Error) redirect.Response {
	parameters := []redirect.Parameter{{Name: "error", Value: e.Code}, {Name: "error_description", Value: e.Description}}
	if uri := errorcode.URI(oauth.BaseURL(p.config.Issuer), e.Code, e.Description); uri != "" {
		parameters = append(parameters, redirect.Parameter{Name: "error_uri", Value: uri})
	}
	return p.respond(a, parameters...)
}
