package authorize

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/ory/fosite"

	"mandate/provider/authority"
	"mandate/provider/events"
	"mandate/provider/framework"
	"mandate/provider/oauth"
	"mandate/provider/pkce"
	"mandate/provider/policy"
	"mandate/provider/possession"
	"mandate/provider/redirect"
	"mandate/storage"
)

// Authorize checks an authorization request (RFC 6749 §4.1.1). It returns the request, with
// Refused set if the client must get an error at its redirect URI. If Authorize itself
// returns an error, the error is shown on a page and the browser must not be redirected
// (RFC 9700 §4.11.2).
func (p *Authorizations) Authorize(ctx context.Context, sent url.Values) (*Authorization, error) {
	r, err := p.resolve(ctx, sent)
	if err != nil {
		return nil, err
	}
	a, err := p.check(ctx, r)
	if err != nil {
		return nil, err
	}
	a.sent = sent
	return a, nil
}

// resolve returns the request that a browser has brought. Each way to send the parameters
// other than as they are is one case here. Nothing that checks a request, and nothing of
// fosite, reads the parameters request_uri and request.
//
// A parameter that no case takes stays in the request, and is refused by checkAuthorization.
func (p *Authorizations) resolve(ctx context.Context, sent url.Values) (Request, error) {
	switch {
	case isPushed(sent):
		return p.openPushed(ctx, sent)
	case hasValue(sent, "request"):
		return p.openObject(ctx, sent)
	case p.config.ObjectsByReference && hasValue(sent, "request_uri"):
		return p.openReference(ctx, sent)
	}
	return Request{Parameters: sent}, nil
}

// check checks a resolved request. Its results are those of Authorize.
func (p *Authorizations) check(ctx context.Context, r Request) (*Authorization, error) {
	a := &Authorization{sent: r.Parameters, parameters: url.Values{}, pushed: r.pushed, signed: r.Signed, opened: r.opened,
		OpenID: OpenIDRequest{maxAge: -1}}
	for name, values := range r.Parameters {
		if (name == "client_id" || name == "redirect_uri") && (len(values) > 1 || !oauth.PlainText(values[0])) {
			return nil, oauth.Refuse("invalid_request", "The parameter %s is sent more than once, or is not text.",
				oauth.Own(name))
		}
		// RFC 6749 §3.1: a parameter without a value counts as omitted, unless it is repeated.
		if name == oauth.Resource {
			values = oauth.Without(values, "")
		}
		if len(values) > 1 || len(values) == 1 && values[0] != "" {
			a.parameters[name] = values
		}
	}
	a.readRefusedObject()
	err := p.checkClient(ctx, a)
	if err == nil {
		err = p.checkPushed(a)
	}
	if err != nil {
		return nil, oauth.About(a.Application, err)
	}
	err = p.checkRedirectURI(a)
	if err == nil {
		err = p.checkResponseMode(ctx, a)
	}
	switch {
	// RFC 9101 §7: what the request encloses would say where a response goes.
	case err != nil && r.refused != nil && !r.Signed && framework.Failed(err).Status < http.StatusInternalServerError:
		return nil, oauth.About(a.Application, r.refused)
	case err != nil:
		return nil, oauth.About(a.Application, err)
	}
	err = p.checkAuthorization(ctx, a, r.refused)
	if err == nil {
		return a, nil
	}
	a.Refused = framework.Failed(err)
	if a.Refused.Status >= http.StatusInternalServerError {
		return nil, a.Refused
	}
	return a, nil
}

// readRefusedObject reads response_mode and state from a request object that cannot be used, if
// the request does not have them as parameters. Nobody has verified them. The two values only
// determine how the error is returned to the client, as they could outside. They are checked like
// parameters, and the rest of the object is ignored.
func (a *Authorization) readRefusedObject() {
	object := a.parameters["request"]
	if len(object) != 1 {
		return
	}
	parts := strings.Split(object[0], ".")
	if len(parts) != 3 {
		return
	}
	text, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return
	}
	var claims map[string]any
	err = json.Unmarshal(text, &claims)
	if err != nil {
		return
	}
	for _, name := range []string{"response_mode", "state"} {
		value, _ := claims[name].(string)
		if !a.parameters.Has(name) && value != "" {
			a.parameters.Set(name, value)
		}
	}
}

// checkClient finds the application by client_id. It returns an error if there is none, if the
// application is suspended, or if its metadata document cannot be used.
func (p *Authorizations) checkClient(ctx context.Context, a *Authorization) error {
	id := a.parameters.Get("client_id")
	if id == "" {
		return oauth.Refuse("invalid_request", "client_id is missing.")
	}
	var err error
	a.Application, err = p.client(ctx, id)
	return err
}

// client returns the application with a client id, as checkClient describes.
func (p *Authorizations) client(ctx context.Context, id string) (storage.Application, error) {
	a, err := p.clients.ForAuthorization(ctx, id)
	if _, refused := errors.AsType[*oauth.Error](err); err == nil || refused || ctx.Err() != nil {
		return a, err
	}
	return a, oauth.Unavailable(err)
}

// checkRedirectURI checks that the redirect URI is registered for the application.
func (p *Authorizations) checkRedirectURI(a *Authorization) error {
	registered := oauth.Lines(a.Application.RedirectURIs)
	sent := a.parameters.Get("redirect_uri")
	if sent == "" && p.config.OpenID && slices.Contains(strings.Fields(a.parameters.Get("scope")), "openid") {
		// OIDC Core §3.1.2.1: redirect_uri is required.
		return oauth.Refuse("invalid_request", "redirect_uri is missing: a request with the scope openid must have it "+
			"(OpenID Connect).")
	}
	if sent == "" {
		// RFC 6749 §3.1.2.3: redirect_uri may be omitted if exactly one is registered.
		if len(registered) != 1 {
			return oauth.Refuse("invalid_request", "redirect_uri is missing: it is required, because the application has %d "+
				"registered redirect URIs.", oauth.Own(len(registered)))
		}
		a.RedirectURI = registered[0]
		a.parameters.Set("redirect_uri", registered[0])
		return checkStored(a)
	}
	if !p.clients.Redirects(a.Application).Match(sent, registered) {
		follows := policy.FollowsDocument(a.Application)
		if wrong := p.clients.CheckOpenRedirect(sent); follows && wrong != "" {
			return oauth.Refuse("invalid_request", "The redirect URI of this request %s.", wrong)
		}
		e := oauth.Refuse("invalid_request", "The redirect URI of this request is not registered for the application.")
		e.Mismatch = p.clients.Redirects(a.Application).Compare(sent, registered, oauth.Deref(a.Application.OwnerID))
		e.Mismatch.Public = follows
		return e.Because(errors.New("the client is " + oauth.Clip(a.Application.ClientID, 200)))
	}
	a.RedirectURI, a.redirectSent = sent, true
	return checkStored(a)
}

// checkStored refuses a redirect URI that was registered before a rule was made: one whose host a browser reads
// otherwise than people and this server do, and one of a stranger that can be a command.
func checkStored(a *Authorization) error {
	if wrong := authority.Check(a.RedirectURI); wrong != "" {
		return oauth.Refuse("invalid_request", "The redirect URI of this request %s.", wrong)
	}
	if policy.StandingOf(a.Application) == policy.StandingOpen && redirect.IsCommand(a.RedirectURI) {
		return oauth.Refuse("invalid_request", "The redirect URI of this request can be a command for the application on a "+
			"person's device, which an application for which nobody is responsible must not register: use a private-use "+
			"scheme with a dot or a name with a dot (vscode://publisher.extension/callback), and no query.")
	}
	return nil
}

// checkAuthorization makes the checks whose errors are sent to the redirect URI, in the order
// of RFC 6749 §4.1.1 and RFC 7636 §4.3. refused is the error of what the request encloses, or
// nil.
func (p *Authorizations) checkAuthorization(ctx context.Context, a *Authorization, refused *oauth.Error) error {
	// RFC 6749 §4.1.2.1: every error response contains the state, so state is read first. One that
	// is too long is returned too: the request as a whole is limited.
	state := a.parameters["state"]
	if len(state) == 1 && oauth.PlainText(state[0]) {
		a.state = state[0]
	}
	if len(a.state) > oauth.MaxState {
		return oauth.Refuse("invalid_request", "state is longer than %d bytes.", oauth.Own(oauth.MaxState))
	}
	err := a.readResponseMode()
	if err == nil {
		err = oauth.CheckParameters(a.parameters, oauth.Resource)
	}
	if err == nil && p.config.OpenID {
		err = p.readOpenID(ctx, a)
	}
	if err == nil {
		err = a.OpenID.readMaxAge(a.parameters)
	}
	if err != nil {
		return err
	}
	switch {
	case refused != nil:
		return refused
	// RFC 9126 §4: where requests must be pushed, a request without a request URI is refused.
	// The client and its redirect URI are proven here, so the client gets the error.
	case a.pushed.Digest == "" && p.requiresPush(a.Application):
		return oauth.Refuse("invalid_request", "This application must push its authorization requests: send the parameters "+
			"to the pushed authorization request endpoint, and only client_id and request_uri here.")
	// RFC 9101 §10.5: otherwise somebody could leave the signature out.
	case !a.signed && p.requiresSigned(a.Application):
		return oauth.Refuse("invalid_request", "This application must sign its authorization requests: send the parameters "+
			"in a request object, as the parameter request.")
	case a.parameters.Get("response_type") == "":
		return oauth.Refuse("invalid_request", "response_type is missing: it must be code.")
	case a.parameters.Get("response_type") != "code":
		return oauth.Refuse("unsupported_response_type", "response_type must be code.")
	case !policy.HasGrant(a.Application, policy.GrantCode):
		return oauth.Refuse("unauthorized_client", "This application is not registered for the authorization code grant.")
	case a.parameters.Has("request_uri"):
		return oauth.Refuse("request_uri_not_supported", "request_uri is not supported: send the parameters themselves.")
	}
	err = checkDPoPKey(a)
	if err == nil {
		err = pkce.CheckChallenge(p.needsPKCE(a), a.parameters)
	}
	if err != nil {
		return err
	}
	a.Audience, err = p.apis.Requested(ctx, a.Application, a.parameters[oauth.Resource])
	if err != nil {
		return err
	}
	requested, err := p.rules.RequestedScopes(a.Application, a.parameters.Get("scope"), a.Audience)
	if err == nil {
		err = p.readACRValues(a, requested.Names)
	}
	if err != nil {
		return err
	}
	asked := !a.Application.SkipConsent || slices.Contains(a.OpenID.prompt, "consent")
	names := p.rules.WithoutOffline(requested.Names, asked)
	if len(names) == 0 {
		return oauth.Refuse("invalid_scope", "The scope offline_access requires the scope openid.")
	}
	a.LeftOut = requested.LeftOut
	a.Scopes, a.ClaimScopes = p.rules.Describe(names),
		p.rules.Describe(slices.DeleteFunc(a.OpenID.claimScopes,
			func(scope string) bool { return slices.Contains(names, scope) }))
	return p.newRequest(ctx, a)
}

// needsPKCE returns what to change if a request needs a code challenge, or "" if it needs none.
func (p *Authorizations) needsPKCE(a *Authorization) string {
	nonce := p.config.OpenID && a.OpenID.nonce != "" &&
		slices.Contains(strings.Fields(a.parameters.Get("scope")), "openid")
	switch {
	case !p.rules.NeedsPKCE(a.Application, nonce):
		return ""
	case p.rules.MayOmitPKCE(a.Application):
		return "Turn on PKCE in the application. If it has no such setting, an administrator of this server can let it " +
			"come without (--pkce if-sent)."
	case !p.rules.NeedsPKCE(a.Application, true):
		return "Turn on PKCE in the application, or send the scope openid and a nonce. If it can do neither, an " +
			"administrator of this server can take it over."
	}
	return "Turn on PKCE in the application."
}

// dpopKey is the parameter that binds the code to a key (RFC 9449 §10).
const dpopKey = "dpop_jkt"

// checkDPoPKey checks the parameter dpop_jkt.
//
// RFC 9449 §10: it is the SHA-256 thumbprint of a key (RFC 7638), in base64url.
func checkDPoPKey(a *Authorization) error {
	said := a.parameters.Get(dpopKey)
	if said != "" && a.Application.SenderConstraint == possession.Certificate {
		// The token endpoint refuses such an application's proof, so the code could not be redeemed.
		return oauth.Refuse("invalid_request", "The tokens of this application are bound to its certificate: send neither "+
			"dpop_jkt nor the header DPoP.")
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(said)
	if said != "" && (err != nil || len(raw) != sha256.Size || strings.ContainsAny(said, "\r\n")) {
		return oauth.Refuse("invalid_request", "dpop_jkt must be the SHA-256 thumbprint of the public key (RFC 7638), in "+
			"base64url without padding.")
	}
	return nil
}

// newRequest makes fosite's request from the checked parameters.
func (p *Authorizations) newRequest(ctx context.Context, a *Authorization) error {
	// fosite gets the valid redirect URI as the only registered one, so that its own
	// comparison always succeeds. That comparison is less strict about loopback
	// addresses.
	proven := a.Application
	proven.RedirectURIs = a.RedirectURI
	ctx = framework.WithClient(ctx, &proven)
	// RFC 6749 §3.1: unknown parameters are ignored. fosite knows some parameters that
	// this server does not support, so it gets only the parameters in this list.
	form := url.Values{}
	for _, name := range []string{"client_id", "redirect_uri", "response_type", "scope", "state", "code_challenge"} {
		if a.parameters.Has(name) {
			form[name] = a.parameters[name]
		}
	}
	if form.Has("scope") { // fosite refuses a scope that is left out
		form.Set("scope", strings.Join(ScopeNames(a.Scopes), " "))
	}
	var err error
	a.request, err = p.fosite.NewAuthorizeRequest(ctx,
		&http.Request{Method: http.MethodGet, URL: &url.URL{}, Header: http.Header{}, Form: form})
	// RFC 6749 §4.1.1: state is optional. fosite checks state last, so all its other
	// checks have succeeded.
	if errors.Is(err, fosite.ErrInvalidState) {
		err = nil
	}
	return err
}

// Complete issues the authorization code. It returns the response that the browser carries
// to the redirect URI (RFC 6749 §4.1.2).
func (p *Authorizations) Complete(ctx context.Context, a *Authorization, s *storage.SignedIn) (redirect.Response,
	error) {
	// The application may have changed after the person was asked, or the person may have signed in
	// again in a weaker way.
	if missing, required := missingACR(a, s); missing != "" && required {
		return p.Refusal(a, unmetACR()), nil
	}
	err := p.clients.Used(ctx, a.Application)
	if err != nil {
		return redirect.Response{}, err
	}
	for _, scope := range a.Scopes {
		a.request.GrantScope(scope.Name)
	}
	response, err := p.fosite.NewAuthorizeResponse(ctx, a.request, &approval{signedIn: s, redirectSent: a.redirectSent,
		openID: &a.OpenID, resource: a.Audience.Stored(), pushed: a.pushed.Digest, dpopKey: a.parameters.Get(dpopKey),
		consent: a.consent, access: a.toApprove})
	if err != nil {
		e := framework.Failed(err)
		if e.Status == http.StatusTooManyRequests {
			return p.Refusal(a, e), nil // RFC 6749 §4.1.2.1: the client gets the error
		}
		return redirect.Response{}, e
	}
	if a.parameters.Get("code_challenge") == "" {
		p.clients.WithoutPKCE(a.Application)
	}
	return p.respond(a, redirect.Parameter{Name: "code", Value: response.GetCode()}), nil
}

// Denied closes a request that the person denied.
func (p *Authorizations) Denied(ctx context.Context, a *Authorization, s *storage.SignedIn) error {
	denied := events.Event{Kind: events.ConsentDenied, Person: s.User, Object: events.Application(a.Application)}
	if a.pushed.Digest == "" {
		return oauth.Stored(p.store.AddEvents(events.Attach(ctx, denied))) // nothing else is stored
	}
	return p.Close(events.Attach(ctx, denied), a)
}

// Deny returns the error response for a request that the person denied.
func (p *Authorizations) Deny(a *Authorization) redirect.Response {
	return p.Refusal(a, oauth.Refuse("access_denied", "The person denied the request."))
}
