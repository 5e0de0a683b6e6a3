package grant

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"strings"

	"github.com/ory/fosite"

	"mandate/provider/events"
	"mandate/provider/framework"
	"mandate/provider/oauth"
	"mandate/provider/policy"
	"mandate/provider/possession"
	"mandate/provider/resources"
	"mandate/provider/seal"
	"mandate/provider/tokens"
	"mandate/storage"
)

// refreshGrant issues new tokens of a token family for a refresh token (RFC 6749 §6). It
// replaces fosite's handler, which ignores scope, does not limit the lifetime of a token
// family, and returns invalid_request if two requests with one token race.
type refreshGrant struct{ p *Grants }

// CanSkipClientAuth returns false: every client must authenticate or identify itself.
func (*refreshGrant) CanSkipClientAuth(context.Context, fosite.AccessRequester) bool { return false }

// CanHandleTokenEndpointRequest reports whether the request has the grant type refresh_token.
func (*refreshGrant) CanHandleTokenEndpointRequest(_ context.Context, r fosite.AccessRequester) bool {
	return r.GetGrantTypes().ExactOne(policy.GrantRefresh)
}

// HandleTokenEndpointRequest checks the refresh token and the scope. If the token was used
// before, it calls usedBefore.
func (g *refreshGrant) HandleTokenEndpointRequest(ctx context.Context, request fosite.AccessRequester) error {
	a, err := g.p.begin(ctx, request, policy.GrantRefresh)
	if err != nil {
		return err
	}
	text := request.GetRequestForm().Get("refresh_token")
	if text == "" {
		return oauth.Refuse("invalid_request", "refresh_token is missing.")
	}
	token, err := g.p.store.RefreshTokenByDigest(ctx, seal.Digest(text))
	if errors.Is(err, storage.ErrNotFound) {
		return invalidRefresh()
	}
	if err != nil {
		return oauth.Unavailable(err)
	}
	// RFC 6749 §6: a refresh token is bound to the client it was issued to.
	if token.Grant.ApplicationID != a.ID {
		return oauth.Refuse("invalid_grant", "The refresh token was issued to another client.")
	}
	issued := request.GetSession().(*Session)
	issued.bound = g.p.proofs.OfRefresh(ctx, possession.Of(token.Token), issued.bound)
	err = checkBinding(a, possession.Of(token.Token), issued.bound)
	if err == nil {
		err = g.p.use(ctx, issued)
	}
	if err != nil {
		return err
	}
	// RFC 6749 §10.4: the server limits how long a refresh token is valid. The limit is that
	// of the application's standing now, as for the other lifetimes.
	if g.p.rules.RefreshEnd(a, token.Token) <= oauth.Now() {
		return invalidRefresh()
	}
	if !policy.HasGrant(a, token.Grant.GrantType) {
		return oauth.Refuse("invalid_grant", "The application is no longer registered for the grant type %s, from which this refresh token comes.", oauth.Own(token.Grant.GrantType))
	}
	issued.token = &token
	if token.UsedAt != nil {
		issued.Answer, err = g.usedBefore(ctx, a, request.GetRequestForm(), issued.bound, token)
		return err
	}
	audience, err := g.p.audience(ctx, token.Resource, request.GetRequestForm())
	if err == nil {
		err = g.p.aim(ctx, issued, audience)
	}
	if err != nil {
		return err
	}
	issued.scope, err = g.scope(a, token.Scope, issued.audience, request.GetRequestForm().Get("scope"))
	return err
}

// invalidRefresh returns the error for a refresh token that is not valid.
func invalidRefresh() *oauth.Error {
	return oauth.Refuse("invalid_grant", "The refresh token is unknown, expired, or revoked.")
}

// checkBinding checks that the request proves what the refresh token is bound to. Nothing is
// used or revoked if it does not: whoever has only the refresh token can do nothing with it.
//
// RFC 9449 §5: the refresh token of a public client is bound to its key. That of a client that
// authenticates is bound to the client, and needs a proof by any key: without one, a stolen
// refresh token would give tokens that are bound to nothing. RFC 8705 §4 says the same of
// certificates.
func checkBinding(a storage.Application, bound, shown possession.Binding) error {
	// Such a token was issued while the client authenticated. Now nothing would stop a thief with
	// a key of their own.
	if a.ClientType == policy.Public && bound != "" && bound.Confirmation() == nil {
		return oauth.Refuse("invalid_grant", "The refresh token was issued while this client authenticated, and is bound to no key or certificate of its own: send the person through the authorization endpoint again.")
	}
	if bound.Allows(shown) {
		return nil
	}
	if shown != "" && bound.Kind() == shown.Kind() {
		return oauth.Refuse("invalid_grant", "The refresh token is bound to another key or certificate than the one of this request.")
	}
	return oauth.Refuse("invalid_grant", "The refresh token is sender-constrained: send a DPoP proof, or use the client certificate, as in the request that it was issued for.")
}

// scope returns the scope of the new access token: the scopes of the request, without those
// that the application may no longer have. The scopes of a request without the parameter
// scope are all scopes of the authorization grant that a token for the audience may have.
func (g *refreshGrant) scope(a storage.Application, granted string, audience resources.Audience, parameter string) ([]string, error) {
	asked, err := requestedScope(granted, parameter)
	if err != nil {
		return nil, err
	}
	if parameter != "" && len(audience.Scopes(asked)) < len(asked) {
		return nil, oauth.Refuse("invalid_scope", "scope contains a scope that is no scope of the requested resource.")
	}
	return g.p.scopesFor(a, audience, asked)
}

// requestedScope returns the scopes of the request. If parameter is empty, it returns the whole
// scope of the authorization grant.
func requestedScope(whole, parameter string) ([]string, error) {
	granted := strings.Fields(whole)
	asked, err := oauth.ParseScope(parameter)
	if err != nil {
		return nil, err
	}
	// RFC 6749 §6: a request must not ask for a scope that was not granted originally.
	if !oauth.Covers(granted, asked) {
		return nil, oauth.Refuse("invalid_scope", "scope contains a scope that was not granted: the grant has %q.", whole)
	}
	if len(asked) == 0 {
		return granted, nil
	}
	return asked, nil
}

// PopulateTokenEndpointResponse makes the new tokens, and then rotates the refresh token and
// stores the new tokens in one step. If another request was faster, it calls usedMeanwhile.
func (g *refreshGrant) PopulateTokenEndpointResponse(ctx context.Context, request fosite.AccessRequester, responder fosite.AccessResponder) error {
	if !g.CanHandleTokenEndpointRequest(ctx, request) {
		return fosite.ErrUnknownRequest
	}
	issued := request.GetSession().(*Session)
	if issued.Answer != nil { // the kept answer of the first request
		issued.give(issued.Answer, responder)
		return nil
	}
	a, token := *request.GetClient().(*framework.Client).Application, issued.token
	f := tokens.FamilyOf(&token.Grant, issued.bound)
	f.Scope, f.Resource = token.Scope, token.Resource
	if token.Grant.SessionID == "" {
		f.Login, f.ACR, f.AMR = 0, "", "" // there was no login
	}
	made, err := g.p.tokens.NewPair(ctx, a, f, issued.scope, issued.audience)
	if err != nil {
		return err
	}
	// OIDC Core §12.2: the ID token is about the same login, and has no nonce.
	err = g.p.tokens.AddIDToken(ctx, made.Answer, issued.scope, tokens.IDTokenFor{Application: a, UserID: f.UserID, Sector: f.Sector, Offline: f.SessionEndsAt == 0,
		AuthTime: token.Grant.AuthTime, ACR: token.Grant.ACR, AMR: token.Grant.AMR, SessionID: token.Grant.SessionID, Claims: token.Grant.Claims, Audience: issued.audience})
	if err != nil {
		return framework.Failed(err)
	}
	err = g.keepSession(ctx, token)
	if err != nil {
		return err
	}
	err = g.spend(ctx, a, request.GetRequestForm(), issued, &made)
	if errors.Is(err, storage.ErrSpent) {
		made.Answer, err = g.usedMeanwhile(ctx, a, request.GetRequestForm(), issued.bound)
	}
	if err != nil {
		return err
	}
	issued.give(made.Answer, responder)
	return nil
}

// keepSession records that the session of a login is in use, so that it does not expire for
// lack of use while an application refreshes its tokens.
func (g *refreshGrant) keepSession(ctx context.Context, token *storage.RefreshToken) error {
	if token.Grant.SessionEndsAt == 0 {
		return nil
	}
	return oauth.Stored(g.p.store.TouchSession(ctx, token.Grant.SessionID, oauth.Now(), g.p.people.TouchEvery()))
}

// spend invalidates the refresh token and stores the new tokens (rotation), or keeps the
// refresh token. The error is storage.ErrSpent if the token is no longer valid.
func (g *refreshGrant) spend(ctx context.Context, a storage.Application, form url.Values, issued *Session, made *tokens.Pair) error {
	text, token := form.Get("refresh_token"), issued.token
	bound := possession.Of(token.Token).Confirmation() != nil
	if !policy.RotatesRefresh(a, bound, !g.p.config.KeepRefreshTokens) {
		made.Answer.RefreshToken = text
		last := len(made.Tokens) - 1
		return storeError(g.p.store.KeepRefresh(ctx, token.Digest, token.Grant.ID, oauth.Now(), made.Tokens[last].ExpiresAt, made.ExpiresAt, made.Tokens[:last]...))
	}
	sealed, err := g.sealSuccessor(a, text, successor{*made.Answer, oauth.Now() + made.Answer.ExpiresIn, form.Get("scope"), issued.audience.Stored(), issued.bound})
	if err != nil {
		return err
	}
	return storeError(g.p.store.RotateRefresh(ctx, token.Digest, token.Grant.ID, sealed, oauth.Now(), made.ExpiresAt, made.Tokens))
}

// storeError returns storage.ErrSpent unchanged, because the caller handles it. It converts every
// other error to the error for the client.
func storeError(err error) error {
	if errors.Is(err, storage.ErrSpent) {
		return err
	}
	return oauth.Stored(err)
}

// usedMeanwhile handles a request whose refresh token was used, or whose token family was revoked, after
// the request had read the token. It returns the answer of usedBefore, or an error.
func (g *refreshGrant) usedMeanwhile(ctx context.Context, a storage.Application, form url.Values, shown possession.Binding) (*tokens.TokenResponse, error) {
	token, err := g.p.store.RefreshTokenByDigest(ctx, seal.Digest(form.Get("refresh_token")))
	if errors.Is(err, storage.ErrNotFound) || err == nil && token.UsedAt == nil {
		return nil, invalidRefresh()
	}
	if err != nil {
		return nil, oauth.Unavailable(err)
	}
	return g.usedBefore(ctx, a, form, shown, token)
}

// usedBefore handles a request with a refresh token that was used before. Within the grace period,
// and while the successor of the token is unused, it returns the same answer as before. A client
// that lost the answer, or whose processes refresh at the same time, can therefore continue.
// Otherwise two parties have the token, so usedBefore revokes the token family and returns an
// error (RFC 9700 §4.14.2).
//
// FAPI 2.0 Security Profile §5.3.2.1: a client with a profile keeps its refresh token, so this is
// not for it. Who rotates all the same has to let the client retry with the old token, as here.
func (g *refreshGrant) usedBefore(ctx context.Context, a storage.Application, form url.Values, shown possession.Binding, token storage.RefreshToken) (*tokens.TokenResponse, error) {
	if oauth.Now()-*token.UsedAt < g.p.rules.AllowanceOf(a).RefreshGrace && oauth.Deref(token.Successor) != "" {
		kept, unused, err := g.openSuccessor(ctx, form.Get("refresh_token"), token)
		if err != nil {
			return nil, err
		}
		if unused {
			audience, err := g.p.audience(ctx, token.Resource, form)
			if err != nil {
				return nil, err
			}
			if shown == "" && audience.Constrained() {
				shown, err = g.p.proofs.Required(ctx)
				if err != nil {
					return nil, err
				}
			}
			if kept.Bound == shown {
				return g.again(ctx, a, token, kept, form.Get("scope"), audience.Stored())
			}
			// Anybody who has an unbound refresh token of a public client can bind the next one to a key
			// of their own. A second key then shows a second party.
			if a.ClientType != policy.Public || token.CNF != "" {
				return nil, oauth.Refuse("invalid_grant", "This refresh token was used a moment ago with another key or certificate: use the same again, or the new refresh token.")
			}
		}
	}
	err := g.p.revokeReused(ctx, token.Grant.ID, usedTwice(events.TokenReused, a, token))
	if err != nil {
		return nil, err
	}
	g.p.log.Warn("a refresh token was used a second time: its token family was revoked", "grant", token.Grant.ID, "client", a.ClientID)
	return nil, oauth.Refuse("invalid_grant", "The refresh token was already used. All tokens of its token family have been revoked.")
}

// usedTwice returns the event about a refresh token that was used a second time.
func usedTwice(kind events.Kind, a storage.Application, token storage.RefreshToken) events.Event {
	return events.Event{Kind: kind, Person: storage.User{ID: token.Grant.UserID, Username: token.Username}, By: events.ByApplication(a),
		Object: events.Application(a), Detail: "refresh"}
}

// successor is a token response that is kept for the grace period. It is encrypted with the
// refresh token that it replaces. The database has only the digest of that token, so a reader
// of the database cannot read any token.
type successor struct {
	Answer tokens.TokenResponse
	End    int64  // when the access token expires
	Scope  string // the parameter scope of the request for which it was made

	Resource string             // what the access token is for, as it is stored
	Bound    possession.Binding // what the access token is bound to
}

// again returns the answer of sameRequest. The rotation that it belongs to may be one that can still be lost with the
// primary of the database: then the client would have refresh tokens that no server knows.
func (g *refreshGrant) again(ctx context.Context, a storage.Application, token storage.RefreshToken, kept *successor, parameter, resource string) (*tokens.TokenResponse, error) {
	answer, err := kept.sameRequest(token.Scope, parameter, resource)
	if err != nil {
		return nil, err
	}
	err = g.p.store.ConfirmRotation(ctx, token.Digest, *token.Successor)
	if err != nil {
		return nil, oauth.Unavailable(err)
	}
	err = events.Failed(ctx, g.p.store, usedTwice(events.TokenRepeated, a, token))
	if err != nil {
		return nil, err
	}
	g.p.log.Debug("a refresh token was used twice within the grace period: both requests have the same answer", "grant", token.Grant.ID, "client", a.ClientID)
	return answer, nil
}

// sameRequest returns the answer if the request asks for the same scopes and resources as the
// request for which the answer was made. Otherwise it returns an error and does not revoke
// anything: the client still gets the answer when it asks for the same.
func (s *successor) sameRequest(granted, parameter, resource string) (*tokens.TokenResponse, error) {
	if resource != s.Resource {
		return nil, oauth.Refuse("invalid_target", "This refresh token was used a moment ago for another resource: name the same resource again, or use the new refresh token.")
	}
	asked, err := requestedScope(granted, parameter)
	if err != nil {
		return nil, err
	}
	before, err := requestedScope(granted, s.Scope)
	if err != nil {
		return nil, err
	}
	// RFC 6749 §6: the scope is part of the request. A request with another scope is a new
	// request, and the refresh token for it was already used.
	if !oauth.Covers(asked, before) || !oauth.Covers(before, asked) {
		return nil, oauth.Refuse("invalid_scope", "This refresh token was used a moment ago with another scope: the response had %q. Ask for the same scope again, or use the new refresh token.", s.Answer.Scope)
	}
	return &s.Answer, nil
}

// sealSuccessor encrypts an answer with the refresh token text. It returns "" if there is no
// grace period.
func (g *refreshGrant) sealSuccessor(a storage.Application, text string, kept successor) (string, error) {
	if g.p.rules.AllowanceOf(a).RefreshGrace == 0 {
		return "", nil
	}
	s, err := seal.New([]byte(text), "successor")
	if err != nil {
		return "", err
	}
	plain, err := json.Marshal(kept)
	if err != nil {
		return "", err
	}
	return s.Seal(plain, seal.Digest(text)), nil
}

// openSuccessor decrypts an answer with the refresh token text. It also reports whether the
// refresh token in the answer is still unused. A refresh token that is kept is issued again when
// it is used.
func (g *refreshGrant) openSuccessor(ctx context.Context, text string, token storage.RefreshToken) (*successor, bool, error) {
	s, err := seal.New([]byte(text), "successor")
	if err != nil {
		return nil, false, err
	}
	plain, err := s.Open(*token.Successor, seal.Digest(text))
	if err != nil {
		return nil, false, err
	}
	var kept successor
	err = json.Unmarshal(plain, &kept)
	if err != nil {
		return nil, false, err
	}
	next, err := g.p.store.RefreshTokenByDigest(ctx, seal.Digest(kept.Answer.RefreshToken))
	if errors.Is(err, storage.ErrNotFound) {
		return nil, false, invalidRefresh()
	}
	if err != nil {
		return nil, false, oauth.Unavailable(err)
	}
	kept.Answer.ExpiresIn = max(0, kept.End-oauth.Now())
	return &kept, next.UsedAt == nil && next.IssuedAt <= *token.UsedAt, nil
}
