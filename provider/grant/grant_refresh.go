package grant

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"strings"

	"github.com/ory/fosite"

	"mandate/provider/framework"
	"mandate/provider/oauth"
	"mandate/provider/policy"
	"mandate/provider/seal"
	"mandate/provider/tokens"
	"mandate/storage"
)

// refreshGrant renews the tokens of a family (RFC 6749 §6). fosite's own
// ignores scope, lets a family live for ever, and answers a race with
// invalid_request.
type refreshGrant struct{ p *Grants }

func (*refreshGrant) CanSkipClientAuth(context.Context, fosite.AccessRequester) bool { return false }

func (*refreshGrant) CanHandleTokenEndpointRequest(_ context.Context, r fosite.AccessRequester) bool {
	return r.GetGrantTypes().ExactOne(policy.GrantRefresh)
}

func (g *refreshGrant) HandleTokenEndpointRequest(ctx context.Context, request fosite.AccessRequester) error {
	a, err := mayUse(request, policy.GrantRefresh)
	if err != nil {
		return err
	}
	text := request.GetRequestForm().Get("refresh_token")
	if text == "" {
		return oauth.Refuse("invalid_request", "refresh_token is missing.")
	}
	token, err := g.p.store.TokenByDigest(ctx, seal.Digest(text))
	if errors.Is(err, storage.ErrNotFound) || err == nil && !token.Refresh {
		return deadRefresh()
	}
	if err != nil {
		return oauth.Unavailable(err)
	}
	// RFC 6749 §6: a refresh token is bound to the client it was issued to.
	if token.Application != a.ID {
		return oauth.Refuse("invalid_grant", "The refresh token was issued to another client.")
	}
	if token.ExpiresAt <= oauth.Now() {
		return deadRefresh()
	}
	if !policy.HasGrant(a, *token.GrantType) {
		return oauth.Refuse("invalid_grant", "The application is no longer registered for the grant type %s, by which this token began.", *token.GrantType)
	}
	issued := request.GetSession().(*Session)
	issued.token = &token
	if token.UsedAt != nil {
		issued.Answer, err = g.again(ctx, request.GetRequestForm(), token)
		return err
	}
	issued.scope, err = g.scope(a, token, request.GetRequestForm().Get("scope"))
	return err
}

func deadRefresh() *oauth.Error {
	return oauth.Refuse("invalid_grant", "The refresh token is unknown, expired, or revoked.")
}

// scope gives the access token's: all that was granted, or the part that is
// asked for, as far as the application may still have it.
func (g *refreshGrant) scope(a storage.Application, token storage.LiveToken, parameter string) ([]string, error) {
	asked, err := askedScope(token, parameter)
	if err != nil {
		return nil, err
	}
	kept := oauth.Narrow(asked, g.p.rules.AllowedScopes(a))
	if len(kept) == 0 {
		return nil, oauth.Refuse("invalid_grant", "The application may no longer have any scope of this grant.")
	}
	return kept, nil
}

// askedScope is what a request asks for: without a scope, all that was granted.
func askedScope(token storage.LiveToken, parameter string) ([]string, error) {
	granted := strings.Fields(token.Scope)
	asked, err := oauth.ParseScope(parameter)
	if err != nil {
		return nil, err
	}
	// RFC 6749 §6: nothing that was not granted at first.
	if !oauth.Covers(granted, asked) {
		return nil, oauth.Refuse("invalid_scope", "scope has a name that was not granted: the grant has %q.", token.Scope)
	}
	if len(asked) == 0 {
		return granted, nil
	}
	return asked, nil
}

func (g *refreshGrant) PopulateTokenEndpointResponse(ctx context.Context, request fosite.AccessRequester, responder fosite.AccessResponder) error {
	if !g.CanHandleTokenEndpointRequest(ctx, request) {
		return fosite.ErrUnknownRequest
	}
	issued := request.GetSession().(*Session)
	if issued.Answer != nil { // the same successor, told again
		issued.give(issued.Answer, responder)
		return nil
	}
	a, token := request.GetClient().(*framework.Client).Application, issued.token
	f := tokens.Family{GrantID: *token.GrantID, Began: *token.GrantCreatedAt, SessionEndsAt: oauth.Deref(token.SessionEndsAt), Scope: token.Scope, UserID: oauth.Deref(token.UserID), Sector: oauth.Deref(token.Sector), Login: 0}
	if oauth.Deref(token.SessionID) != "" {
		f.Login = *token.AuthTime
	}
	made, err := g.p.tokens.NewPair(ctx, a, f, issued.scope)
	if err != nil {
		return err
	}
	// OIDC Core §12.2: the same login, and no nonce.
	err = g.p.tokens.AddIDToken(ctx, made.Answer, issued.scope, tokens.IDTokenFor{Application: a, UserID: f.UserID, Sector: f.Sector, Offline: f.SessionEndsAt == 0,
		AuthTime: *token.AuthTime, SessionID: oauth.Deref(token.SessionID), Claims: oauth.Deref(token.Claims)})
	if err != nil {
		return framework.Failed(err)
	}
	err = g.keepSession(ctx, token)
	if err != nil {
		return err
	}
	err = g.spend(ctx, a, request.GetRequestForm(), token, &made)
	if errors.Is(err, storage.ErrSpent) {
		made.Answer, err = g.lost(ctx, request.GetRequestForm())
	}
	if err != nil {
		return err
	}
	issued.give(made.Answer, responder)
	return nil
}

// keepSession: an application that goes on with a login keeps its session from
// idling out.
func (g *refreshGrant) keepSession(ctx context.Context, token *storage.LiveToken) error {
	if oauth.Deref(token.SessionEndsAt) == 0 {
		return nil
	}
	return oauth.Stored(g.p.store.TouchSession(ctx, *token.SessionID, oauth.Now()))
}

// spend rotates the token, or keeps it where the operator said so: rotation is
// what protects a public client (RFC 9700 §4.14.2), so for those it stays.
func (g *refreshGrant) spend(ctx context.Context, a storage.Application, form url.Values, token *storage.LiveToken, made *tokens.Pair) error {
	text := form.Get("refresh_token")
	if g.p.config.KeepRefreshTokens && a.ClientType == policy.Confidential {
		made.Answer.RefreshToken = text
		last := len(made.Tokens) - 1
		return spent(g.p.store.KeepRefresh(ctx, token.Digest, *token.GrantID, oauth.Now(), made.Tokens[last].ExpiresAt, made.ExpiresAt, made.Tokens[:last]...))
	}
	sealed, err := g.sealSuccessor(text, successor{*made.Answer, oauth.Now() + made.Answer.ExpiresIn, form.Get("scope")})
	if err != nil {
		return err
	}
	return spent(g.p.store.RotateRefresh(ctx, token.Digest, *token.GrantID, sealed, oauth.Now(), made.ExpiresAt, made.Tokens))
}

// spent passes on that somebody was faster.
func spent(err error) error {
	if errors.Is(err, storage.ErrSpent) {
		return err
	}
	return oauth.Stored(err)
}

// lost is for the loser of a race: the token was spent, or its family ended,
// since it was read.
func (g *refreshGrant) lost(ctx context.Context, form url.Values) (*tokens.TokenResponse, error) {
	token, err := g.p.store.TokenByDigest(ctx, seal.Digest(form.Get("refresh_token")))
	if errors.Is(err, storage.ErrNotFound) || err == nil && token.UsedAt == nil {
		return nil, deadRefresh()
	}
	if err != nil {
		return nil, oauth.Unavailable(err)
	}
	return g.again(ctx, form, token)
}

// again answers for a token that was rotated: within the grace, and while its
// successor waits unused, with that same successor, so that a client that lost
// the answer is not locked out. Else two parties hold the token, and the family
// dies (RFC 9700 §4.14.2).
func (g *refreshGrant) again(ctx context.Context, form url.Values, token storage.LiveToken) (*tokens.TokenResponse, error) {
	if oauth.Now()-*token.UsedAt < oauth.Seconds(g.p.config.RefreshGrace) && oauth.Deref(token.Successor) != "" {
		kept, unused, err := g.openSuccessor(ctx, form.Get("refresh_token"), *token.Successor)
		if err != nil {
			return nil, err
		}
		if unused {
			return kept.sameScope(token, form.Get("scope"))
		}
	}
	err := g.p.store.RevokeGrant(ctx, *token.GrantID)
	if err != nil {
		return nil, oauth.Unavailable(err)
	}
	g.p.log.Warn("a refresh token came a second time: its family is revoked", "grant", *token.GrantID, "client", token.ClientID)
	return nil, oauth.Refuse("invalid_grant", "The refresh token was used before. All tokens of this approval are revoked.")
}

// successor is an answer kept for the grace. It is sealed under the token that
// it took the place of, of which the database knows only a digest: whoever
// reads the table reads no token.
type successor struct {
	Answer tokens.TokenResponse
	End    int64  // of the access token
	Scope  string // the parameter of the request that it answers
}

// sameScope gives the answer to a request that asks for the same scope as the one
// that it was made for. Another one spends nothing: the client that asks for the
// same once more gets its answer.
func (s *successor) sameScope(token storage.LiveToken, parameter string) (*tokens.TokenResponse, error) {
	asked, err := askedScope(token, parameter)
	if err != nil {
		return nil, err
	}
	before, err := askedScope(token, s.Scope)
	if err != nil {
		return nil, err
	}
	// RFC 6749 §6: the scope is a part of the request. This is another request, for a token that is spent.
	if !oauth.Covers(asked, before) || !oauth.Covers(before, asked) {
		return nil, oauth.Refuse("invalid_scope", "This refresh token was used a moment ago with another scope: the answer had %q. Ask for the same scope again, or use the new refresh token.", s.Answer.Scope)
	}
	return &s.Answer, nil
}

func (g *refreshGrant) sealSuccessor(text string, kept successor) (string, error) {
	if g.p.config.RefreshGrace == 0 {
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

func (g *refreshGrant) openSuccessor(ctx context.Context, text, sealed string) (*successor, bool, error) {
	s, err := seal.New([]byte(text), "successor")
	if err != nil {
		return nil, false, err
	}
	plain, err := s.Open(sealed, seal.Digest(text))
	if err != nil {
		return nil, false, err
	}
	var kept successor
	err = json.Unmarshal(plain, &kept)
	if err != nil {
		return nil, false, err
	}
	next, err := g.p.store.TokenByDigest(ctx, seal.Digest(kept.Answer.RefreshToken))
	if errors.Is(err, storage.ErrNotFound) {
		return nil, false, deadRefresh()
	}
	if err != nil {
		return nil, false, oauth.Unavailable(err)
	}
	kept.Answer.ExpiresIn = max(0, kept.End-oauth.Now())
	return &kept, next.UsedAt == nil, nil
}
