package grant

import (
	"context"
	"net/http"
	"net/url"

	"github.com/ory/fosite"

	"mandate/provider/clients"
	"mandate/provider/framework"
	"mandate/provider/oauth"
	"mandate/provider/policy"
	"mandate/provider/resources"
	"mandate/provider/tokens"
	"mandate/storage"
)

// Token handles a token request (RFC 6749 §4) from this network address. It returns the token
// response and the authenticated application. If client authentication succeeds and a later
// check fails, it returns the application together with the error.
func (p *Grants) Token(ctx context.Context, r *http.Request, address string) (*tokens.TokenResponse, *storage.Application, error) {
	by := &clients.Call{Address: address}
	ctx = clients.WithCall(ctx, by)
	answer, a, err := p.token(ctx, r, by)
	if err != nil {
		return nil, a, p.clients.Refused(ctx, "token", a, err)
	}
	p.clients.LeftOut(ctx, "token", a, answer.LeftOut)
	return answer, a, nil
}

// token is Token for a context that carries the Call.
func (p *Grants) token(ctx context.Context, r *http.Request, by *clients.Call) (*tokens.TokenResponse, *storage.Application, error) {
	form, err := oauth.ReadForm(r, oauth.Resource)
	if err != nil {
		return nil, nil, p.clients.UseUnread(ctx, r, err, p.proofs)
	}
	switch grant := form.Get("grant_type"); {
	case grant == "":
		return nil, nil, p.clients.UseUnread(ctx, r, oauth.Refuse("invalid_request", "grant_type is missing."), p.proofs)
	case !policy.SupportsGrant(grant):
		refused := oauth.Refuse("unsupported_grant_type", "The grant_type %q is not supported: use %s.", oauth.Clip(grant, 80), oauth.Own(oauth.OneOf(policy.TokenGrants())))
		return nil, nil, p.clients.UseUnread(ctx, r, refused, p.proofs)
	}
	// RFC 6749 §3.2: unknown parameters are ignored. fosite knows audience and would
	// refuse it, so it is removed.
	form.Del("audience")
	// RFC 9449 §8: a client repeats the request with a nonce. The same assertion must still work, so
	// each grant uses it after it has checked the proof.
	by.UsesLater = true
	issued := NewSession(r)
	err = p.answer(ctx, r, issued, by)
	switch {
	case err != nil && !issued.shown:
		err = p.clients.UseUnreadProof(ctx, r, err, p.proofs)
		return nil, by.Client, err
	case err != nil:
		err = p.clients.UseFailed(ctx, err, p.proofs, issued.proof)
		return nil, by.Client, err
	}
	issued.Answer.LeftOut = issued.leftOut
	p.issued.issue(issued.Answer)
	return issued.Answer, by.Client, nil
}

// answer checks a token request, and sets the answer of its session.
func (p *Grants) answer(ctx context.Context, r *http.Request, issued *Session, by *clients.Call) error {
	request, err := p.fosite.NewAccessRequest(ctx, r, issued)
	if err != nil {
		return framework.Failed(err)
	}
	giveBack, err := p.tokens.MayIssue(ctx, *by.Client, issued.forPerson())
	if err != nil {
		return err
	}
	err = p.issue(ctx, request, issued, by)
	if err != nil {
		giveBack()
	}
	return err
}

// issue issues the tokens of a request that was checked, and uses its one-time values.
func (p *Grants) issue(ctx context.Context, request fosite.AccessRequester, issued *Session, by *clients.Call) error {
	err := p.clients.Used(ctx, *by.Client)
	if err != nil {
		return err
	}
	response, err := p.fosite.NewAccessResponse(ctx, request)
	if err != nil {
		return framework.Failed(err)
	}
	// A token that a client obtains for itself is stored in the statement that uses the assertion.
	// But a signed one is not stored.
	err = p.clients.UseAssertion(ctx)
	if err != nil {
		return err
	}
	issued.Answer.AccessToken = response.GetAccessToken()
	issued.Answer.TokenType = issued.bound.TokenType()
	return nil
}

// forPerson returns the ID of the person for whom tokens are requested. It returns "" if the
// application requests a token for itself.
func (s *Session) forPerson() string {
	switch {
	case s.grant != nil:
		return s.grant.UserID
	case s.token != nil:
		return s.token.Grant.UserID
	case s.person != nil:
		return s.person.ID
	}
	return ""
}

// give sets the answer of the session. It also sets the values that fosite requires in every
// token response.
func (s *Session) give(answer *tokens.TokenResponse, responder fosite.AccessResponder) {
	s.Answer = answer
	responder.SetAccessToken(answer.AccessToken)
	responder.SetTokenType("Bearer") // Token replaces it
}

// use uses the proof of a request, and then the assertion of its client. A grant calls it after
// the checks that a stranger fails, and before the request has an effect.
func (p *Grants) use(ctx context.Context, issued *Session) error {
	err := p.proofs.Use(ctx, &issued.proof)
	if err == nil {
		err = p.clients.UseAssertion(ctx)
	}
	return err
}

// begin returns the application of a request, and notes what its tokens become bound to. It
// reads nothing of the grant, and uses nothing: a request that fails here can be repeated.
//
// RFC 9449 §5: the proof belongs to the request, whatever the grant is.
func (p *Grants) begin(ctx context.Context, request fosite.AccessRequester, grant string) (storage.Application, error) {
	a, err := mayUse(request, grant)
	if err != nil {
		return a, err
	}
	issued := request.GetSession().(*Session)
	issued.bound, issued.proof, err = p.proofs.OfTokenRequest(ctx, issued.sent, a)
	issued.shown = err == nil
	return a, err
}

// mayUse returns the application of a request. The error is unauthorized_client if the
// application is not registered for the grant (RFC 6749 §5.2).
func mayUse(request fosite.AccessRequester, grant string) (storage.Application, error) {
	a := *request.GetClient().(*framework.Client).Application
	if !policy.HasGrant(a, grant) {
		if grant == policy.GrantRefresh {
			return a, oauth.Refuse("unauthorized_client", "This application gets no refresh tokens: they are issued only with the grant types %s.", oauth.Own(oauth.OneOf(policy.PersonGrants())))
		}
		if policy.StandingOf(a) != policy.StandingAdministrator {
			return a, oauth.Refuse("unauthorized_client", "This application is not registered for the grant type %s, or the grant type is only for applications for which an administrator is responsible.", oauth.Own(grant))
		}
		return a, oauth.Refuse("unauthorized_client", "This application is not registered for the grant type %s.", oauth.Own(grant))
	}
	return a, nil
}

// aim notes what the new access token is for. Some resources accept only sender-constrained
// tokens.
func (p *Grants) aim(ctx context.Context, issued *Session, audience resources.Audience) error {
	issued.audience = audience
	if issued.bound != "" || !audience.Constrained() {
		return nil
	}
	var err error
	issued.bound, err = p.proofs.Required(ctx)
	return err
}

// audience returns the audience of a new access token: the part of the granted one that the
// token request names (RFC 8707 §2.2).
func (p *Grants) audience(ctx context.Context, granted string, form url.Values) (resources.Audience, error) {
	whole, err := p.apis.Granted(ctx, granted)
	if err != nil {
		return whole, err
	}
	return whole.Narrow(form[oauth.Resource])
}

// scopesFor returns the granted scopes that a token for this audience may have, without those
// that the application may no longer have.
func (p *Grants) scopesFor(a storage.Application, audience resources.Audience, granted []string) ([]string, error) {
	kept := oauth.Narrow(granted, p.rules.AllowedScopes(a))
	if len(kept) == 0 {
		return nil, oauth.Refuse("invalid_grant", "The application may no longer have any scope of this grant.")
	}
	kept = audience.Scopes(kept)
	if len(kept) == 0 {
		return nil, oauth.Refuse("invalid_target", "None of the granted scopes is a scope of the requested resource.")
	}
	// RFC 8707 §2.2: a grant may be for several resources with different scopes, and its tokens are
	// then for one of them each.
	return kept, policy.CheckShared(kept, audience)
}
