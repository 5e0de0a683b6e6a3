package grant

import (
	"context"
	"net/http"
	"net/url"

	"github.com/ory/fosite"

	"mandate/provider/clientauth"
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
func (p *Grants) Token(
	ctx context.Context,
	r *http.Request,
	address string,
) (*tokens.TokenResponse, *storage.Application, error) {
	ctx = clientauth.From(ctx, address)
	answer, a, err := p.token(ctx, r, address)
	if err != nil {
		return nil, a, p.clients.Refused(ctx, "token", a, err)
	}
	p.clients.LeftOut(ctx, "token", a, answer.LeftOut)
	return answer, a, nil
}

// token is Token for a context that says from which address the request comes.
func (p *Grants) token(
	ctx context.Context,
	r *http.Request,
	address string,
) (*tokens.TokenResponse, *storage.Application, error) {
	form, err := oauth.ReadForm(r, oauth.Resource)
	if err != nil {
		return nil, nil, p.clients.UseUnread(ctx, r, err, p.proofs)
	}
	switch grant := form.Get("grant_type"); {
	case grant == "":
		return nil, nil, p.clients.UseUnread(ctx, r, oauth.Refuse("invalid_request", "grant_type is missing."), p.proofs)
	case !policy.SupportsGrant(grant):
		refused := oauth.Refuse(
			"unsupported_grant_type", "The grant_type %q is not supported: use %s.", oauth.Clip(grant, 80),
			oauth.Own(oauth.OneOf(policy.TokenGrants())),
		)
		return nil, nil, p.clients.UseUnread(ctx, r, refused, p.proofs)
	}
	// RFC 6749 §3.2: unknown parameters are ignored. fosite knows audience and would
	// refuse it, so it is removed.
	form.Del("audience")
	by, err := p.clients.Present(ctx, r, form)
	if err != nil {
		return nil, nil, p.clients.UseUnreadProof(ctx, by, r, framework.Failed(err), p.proofs)
	}
	s := p.NewSession(r, by, address)
	err = p.answer(ctx, s)
	switch {
	case err != nil && !s.request.shown:
		err = p.clients.UseUnreadProof(ctx, by, r, err, p.proofs)
	case err != nil:
		err = p.clients.UseFailed(ctx, by, err, p.proofs, s.request.proof)
	default:
		p.issued.issue(s.Answer)
	}
	return s.Answer, by.Application, err
}

// answer checks a token request, and sets the answer of its session.
func (p *Grants) answer(ctx context.Context, s *Session) error {
	checked, err := p.fosite.NewAccessRequest(ctx, s.request.sent, s)
	if err != nil {
		return framework.Failed(err)
	}
	giveBack, err := p.tokens.MayIssue(ctx, *s.request.Client, s.approved.person)
	if err != nil {
		return err
	}
	err = p.issue(ctx, checked, &s.request)
	if err != nil {
		giveBack()
	}
	return err
}

// check decides whether a request gets tokens by a grant. Until the grant decides, nothing is used: a request
// that fails here can be repeated.
func (p *Grants) check(ctx context.Context, grant string, r *Request) (approved, error) {
	err := mayUse(*r.Client, grant)
	if err != nil {
		return approved{}, err
	}
	// RFC 9449 §5: the proof belongs to the request, whatever the grant is.
	r.bound, r.proof, err = p.proofs.OfTokenRequest(ctx, r.sent, *r.Client)
	r.shown = err == nil
	if err != nil {
		return approved{}, err
	}
	return p.grants[grant].Check(ctx, r)
}

// issue issues the tokens of a request that was checked, and uses its one-time values.
func (p *Grants) issue(ctx context.Context, checked fosite.AccessRequester, r *Request) error {
	err := p.clients.Used(ctx, *r.Client)
	if err != nil {
		return err
	}
	_, err = p.fosite.NewAccessResponse(ctx, checked)
	if err != nil {
		return framework.Failed(err)
	}
	// A token that a client obtains for itself is stored in the statement that uses the assertion.
	// But a signed one is not stored.
	return p.clients.UseAssertion(ctx, r.by)
}

// mayUse returns the error unauthorized_client if an application is not registered for the grant (RFC 6749 §5.2), or
// if the grant cannot have the login that the application requires.
func mayUse(a storage.Application, grant string) error {
	if !policy.HasGrant(a, grant) {
		if grant == policy.GrantRefresh {
			return oauth.Refuse(
				"unauthorized_client", "This application gets no refresh tokens: they are issued only with the grant types %s.",
				oauth.Own(oauth.OneOf(policy.PersonGrants())),
			)
		}
		if policy.StandingOf(a) != policy.StandingAdministrator {
			return oauth.Refuse(
				"unauthorized_client",
				"This application is not registered for the grant type %s, or the grant type is only for applications for which "+
					"an administrator is responsible.",
				oauth.Own(grant),
			)
		}
		return oauth.Refuse(
			"unauthorized_client", "This application is not registered for the grant type %s.", oauth.Own(grant),
		)
	}
	if g, _ := policy.GrantOf(grant); g.TooWeak(a.RequiredACR) {
		return oauth.Refuse(
			"unauthorized_client",
			"This application requires a second factor, which the grant type %s does not have: use the authorization code "+
				"grant.",
			oauth.Own(grant),
		)
	}
	return nil
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
