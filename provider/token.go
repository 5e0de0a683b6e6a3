package provider

import (
	"context"
	"net/http"
	"strings"

	"github.com/ory/fosite"

	"mandate/provider/clients"
	"mandate/provider/oauth"
	"mandate/provider/policy"
	"mandate/storage"
)

// TokenResponse is the answer of the token endpoint (RFC 6749 §5.1).
type TokenResponse struct {
	AccessToken  string `json:"access_token"`
	TokenType    string `json:"token_type"`
	ExpiresIn    int64  `json:"expires_in"`
	Scope        string `json:"scope"`
	RefreshToken string `json:"refresh_token,omitempty"`
	IDToken      string `json:"id_token,omitempty"` // OIDC Core §3.1.3.3
}

// Token runs a grant (RFC 6749 §4). It says which application asked as soon as
// that is proven, also where the rest fails.
func (p *Provider) Token(ctx context.Context, r *http.Request, address string) (*TokenResponse, *Application, error) {
	form, err := oauth.ReadForm(r)
	if err != nil {
		return nil, nil, err
	}
	switch grant := form.Get("grant_type"); grant {
	case "":
		return nil, nil, oauth.Refuse("invalid_request", "grant_type is missing.")
	case policy.GrantCode, policy.GrantClient, policy.GrantPassword, policy.GrantRefresh:
	default:
		return nil, nil, oauth.Refuse("unsupported_grant_type", "There is no grant_type %q here: use authorization_code, client_credentials, password or refresh_token.", oauth.Clip(grant, 80))
	}
	// RFC 6749 §3.2: parameters that are not known are ignored. fosite knows this
	// one, and refuses it.
	form.Del("audience")
	by := &clients.Call{Address: address}
	ctx = clients.WithCall(ctx, by)
	issued := &session{}
	request, err := p.fosite.NewAccessRequest(ctx, r, issued)
	if err != nil {
		return nil, by.Client, failed(err)
	}
	err = p.mayIssue(ctx, *by.Client, issued.forPerson())
	if err != nil {
		return nil, by.Client, err
	}
	response, err := p.fosite.NewAccessResponse(ctx, request)
	if err != nil {
		return nil, by.Client, failed(err)
	}
	issued.answer.AccessToken = response.GetAccessToken()
	issued.answer.TokenType = "Bearer"
	p.counters.issue(issued.answer)
	return issued.answer, by.Client, nil
}

// pair is an access token with its refresh token, made but not yet stored.
type pair struct {
	answer    *TokenResponse
	tokens    []storage.Token // the refresh token's row is the last
	expiresAt int64           // of the later one
}

// family is what tokens have in common that came from one approval.
type family struct {
	grantID       string
	began         int64
	sessionEndsAt int64 // 0: it outlives the session
	scope         string

	userID, sector string
	login          int64 // when the person signed in for it; 0: they did not
}

func familyOf(g *storage.Grant) family {
	return family{g.ID, g.CreatedAt, g.SessionEndsAt, g.Scope, g.UserID, g.Sector, g.AuthTime}
}

// newPair makes both tokens of a family. The refresh token has the family's
// whole scope; it ends after disuse, and with the family.
func (p *Provider) newPair(ctx context.Context, a Application, f family, scope []string) (pair, error) {
	at := oauth.Now()
	narrowed := strings.Join(scope, " ")
	access, err := p.newAccess(ctx, a, f, narrowed)
	if err != nil {
		return pair{}, failed(err)
	}
	refresh, refreshDigest := mint(refreshPrefix)
	refreshEnd := min(at+p.rules.RefreshLifetime(a), f.began+oauth.Seconds(p.config.RefreshTokenMaxLifetime))
	if f.sessionEndsAt > 0 {
		refreshEnd = min(refreshEnd, f.sessionEndsAt)
	}
	return pair{
		answer:    &TokenResponse{AccessToken: access.text, ExpiresIn: access.end - at, Scope: narrowed, RefreshToken: refresh},
		tokens:    append(access.rows, storage.Token{Digest: refreshDigest, Refresh: true, GrantID: &f.grantID, Scope: f.scope, IssuedAt: at, ExpiresAt: refreshEnd, ChargedTo: policy.ChargedTo(a)}),
		expiresAt: max(access.end, refreshEnd),
	}, nil
}

// forPerson is whose tokens are asked for, or "" where the application asks for its
// own.
func (s *session) forPerson() string {
	switch {
	case s.grant != nil:
		return s.grant.UserID
	case s.token != nil:
		return oauth.Deref(s.token.UserID)
	case s.person != nil:
		return s.person.ID
	}
	return ""
}

// give hands an answer to fosite, which looks whether there is one.
func (s *session) give(answer *TokenResponse, responder fosite.AccessResponder) {
	s.answer = answer
	responder.SetAccessToken(answer.AccessToken)
	responder.SetTokenType("Bearer")
}

// mayUse gives unauthorized_client unless the application is registered for
// the grant (RFC 6749 §5.2).
func mayUse(request fosite.AccessRequester, grant string) (Application, error) {
	a := request.GetClient().(*client).Application
	if !hasGrant(a, grant) {
		if grant == policy.GrantRefresh {
			return a, oauth.Refuse("unauthorized_client", "This application gets no refresh tokens: they come with the grant types authorization_code and password.")
		}
		if policy.StandingOf(a) != policy.StandingAdministrator {
			return a, oauth.Refuse("unauthorized_client", "This application is not registered for the grant type %s, or the grant type is for applications that an administrator answers for.", grant)
		}
		return a, oauth.Refuse("unauthorized_client", "This application is not registered for the grant type %s.", grant)
	}
	return a, nil
}
