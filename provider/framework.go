package provider

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/ory/fosite"
	"github.com/ory/fosite/handler/oauth2"

	"mandate/provider/clients"
	"mandate/provider/oauth"
	"mandate/provider/policy"
	"mandate/provider/seal"
	"mandate/provider/tokens"
	"mandate/storage"
)

// newFosite fills the lists of handlers by hand: the authorize half of fosite's
// code grant and its client credentials grant are sound and are used; the token
// halves of the code, refresh and password grants are ours.
func newFosite(p *Provider) *fosite.Fosite {
	config := &fosite.Config{
		AuthorizeCodeLifespan: p.config.CodeLifetime,
		AccessTokenLifespan:   p.config.AccessTokenLifetime,
		// Each of these is set because fosite otherwise sets it at the first
		// request, without a lock.
		ScopeStrategy: fosite.ExactScopeStrategy,
		// RFC 6749 §3.1, §3.2: audience is no parameter of ours, so it is ignored.
		AudienceMatchingStrategy: func(_, _ []string) error { return nil },
		ClientSecretsHasher:      noHasher{},
		JWKSFetcherStrategy:      noFetcher{},
		// 1 is the least that fosite can ask of state; see newRequest.
		MinParameterEntropy:    1,
		OmitRedirectScopeParam: true,
		// Without redirect_uri in this list nothing would bind the code to it.
		SanitationWhiteList:          []string{"redirect_uri", "code_challenge"},
		RedirectSecureChecker:        func(context.Context, *url.URL) bool { return true }, // ours has run: redirect.go
		ClientAuthenticationStrategy: p.authenticateClient,
	}
	helper := &oauth2.HandleHelper{AccessTokenStrategy: tokenStrategy{}, AccessTokenStorage: accessTokens{p: p}, Config: config}
	config.AuthorizeEndpointHandlers = fosite.AuthorizeEndpointHandlers{
		&oauth2.AuthorizeExplicitGrantHandler{AuthorizeCodeStrategy: tokenStrategy{}, CoreStorage: authorizationCodes{p: p}, Config: config},
	}
	config.TokenEndpointHandlers = fosite.TokenEndpointHandlers{
		&codeGrant{p},
		&refreshGrant{p},
		&clientGrant{&oauth2.ClientCredentialsGrantHandler{HandleHelper: helper, Config: config}, p},
		&passwordGrant{p},
	}
	return fosite.NewOAuth2Provider(clientStore{p}, config)
}

// failed turns any error of a flow into ours. What fosite says is passed on
// where it is meant for clients; its hint may hold what the client sent.
func failed(err error) *oauth.Error {
	if ours, ok := errors.AsType[*oauth.Error](err); ok {
		return ours
	}
	rfc, ok := errors.AsType[*fosite.RFC6749Error](err)
	if !ok || rfc.CodeField >= http.StatusInternalServerError {
		return &oauth.Error{Status: http.StatusInternalServerError, Code: "server_error", Description: "Internal error.", Cause: err}
	}
	description := rfc.HintField
	if description == "" {
		description = rfc.DescriptionField
	}
	return &oauth.Error{Status: rfc.CodeField, Code: rfc.ErrorField, Description: oauth.ASCII(description), Cause: err, LogText: rfc.DescriptionField}
}

// authenticateClient is what fosite asks at the token endpoint.
func (p *Provider) authenticateClient(ctx context.Context, r *http.Request, form url.Values) (fosite.Client, error) {
	a, err := p.Authenticate(ctx, r, form)
	if err != nil {
		return nil, err
	}
	return &client{a, p}, nil
}

// noHasher and noFetcher are never asked: client authentication is ours. fosite's
// own fetcher starts goroutines when it is made.
type (
	noHasher  struct{}
	noFetcher struct{ fosite.JWKSFetcherStrategy }
)

var errUnused = errors.New("fosite called what it was not given")

func (noHasher) Compare(context.Context, []byte, []byte) error { return errUnused }
func (noHasher) Hash(context.Context, []byte) ([]byte, error)  { return nil, errUnused }

// clientStore is fosite's store of clients.
type clientStore struct{ p *Provider }

func (s clientStore) GetClient(ctx context.Context, id string) (fosite.Client, error) {
	if known := clients.CallOf(ctx).Client; known != nil && known.ClientID == id {
		return &client{*known, s.p}, nil
	}
	a, err := s.p.Client(ctx, id)
	if errors.Is(err, storage.ErrNotFound) {
		return nil, fosite.ErrNotFound
	}
	if err != nil {
		return nil, oauth.Unavailable(err)
	}
	return &client{a, s.p}, nil
}

func (clientStore) ClientAssertionJWTValid(context.Context, string) error { return errUnused }
func (clientStore) SetClientAssertionJWT(context.Context, string, time.Time) error {
	return errUnused
}

// client shows an application to fosite.
type client struct {
	Application
	p *Provider
}

func (c *client) GetID() string                      { return c.ClientID }
func (c *client) GetHashedSecret() []byte            { return nil }
func (c *client) GetRedirectURIs() []string          { return oauth.Lines(c.RedirectURIs) }
func (c *client) GetResponseTypes() fosite.Arguments { return fosite.Arguments{"code"} }
func (c *client) GetScopes() fosite.Arguments        { return c.p.rules.AllowedScopes(c.Application) }
func (c *client) IsPublic() bool                     { return c.ClientType == policy.Public }
func (c *client) GetAudience() fosite.Arguments      { return nil }
func (c *client) GetGrantTypes() fosite.Arguments    { return grantTypes(c.Application) }
func (c *client) GetResponseModes() []fosite.ResponseModeType {
	return []fosite.ResponseModeType{fosite.ResponseModeQuery}
}

// grantTypes adds what comes by itself: refresh, where a person stands behind.
func grantTypes(a Application) []string {
	types := strings.Fields(a.GrantTypes)
	for _, g := range types {
		if g == policy.GrantCode || g == policy.GrantPassword {
			return append(types, policy.GrantRefresh)
		}
	}
	return types
}

// tokenStrategy makes the texts and their storage keys for fosite's handlers.
type tokenStrategy struct{}

func (tokenStrategy) AccessTokenSignature(_ context.Context, token string) string {
	return seal.Digest(token)
}
func (tokenStrategy) AuthorizeCodeSignature(_ context.Context, code string) string {
	return seal.Digest(code)
}

func (tokenStrategy) GenerateAccessToken(context.Context, fosite.Requester) (string, string, error) {
	text, sum := tokens.Mint(tokens.AccessPrefix)
	return text, sum, nil
}

func (tokenStrategy) GenerateAuthorizeCode(context.Context, fosite.Requester) (string, string, error) {
	text, sum := tokens.Mint(tokens.CodePrefix)
	return text, sum, nil
}

func (tokenStrategy) ValidateAccessToken(context.Context, fosite.Requester, string) error {
	return errUnused
}
func (tokenStrategy) ValidateAuthorizeCode(context.Context, fosite.Requester, string) error {
	return errUnused
}

// accessTokens stores what fosite's client credentials grant issues. The rest
// of the interface is nil: only the token halves that are not used call it.
type accessTokens struct {
	oauth2.AccessTokenStorage
	p *Provider
}

func (s accessTokens) CreateAccessTokenSession(ctx context.Context, signature string, r fosite.Requester) error {
	c, issued := r.GetClient().(*client), r.GetSession().(*session)
	at := oauth.Now()
	issued.answer = &tokens.TokenResponse{ExpiresIn: s.p.rules.AccessLifetime(c.Application), Scope: strings.Join(r.GetGrantedScopes(), " ")}
	return oauth.Stored(s.p.store.AddToken(ctx, storage.Token{Digest: signature, ApplicationID: &c.ID, Scope: issued.answer.Scope,
		IssuedAt: at, ExpiresAt: at + issued.answer.ExpiresIn, ChargedTo: policy.ChargedTo(c.Application)}))
}

// authorizationCodes stores what the authorize half of fosite's code grant
// issues; the rest is nil as above.
type authorizationCodes struct {
	oauth2.CoreStorage
	p *Provider
}

func (s authorizationCodes) CreateAuthorizeCodeSession(ctx context.Context, signature string, r fosite.Requester) error {
	c, by := r.GetClient().(*client), r.GetSession().(*session)
	err := s.p.MayApprove(ctx, c.Application, by.signedIn.User.ID)
	if err != nil {
		return err
	}
	at := oauth.Now()
	end := at + oauth.Seconds(s.p.config.CodeLifetime)
	owner := "" // of an application that is to be told
	if s.p.config.OpenID && c.BackchannelURI != "" && r.GetGrantedScopes().Has("openid") {
		owner = c.ID
		if c.OwnerID != nil {
			owner = *c.OwnerID
		}
	}
	err = s.p.store.AddGrant(ctx, storage.Grant{
		ID: seal.Random(16), GrantType: policy.GrantCode, ApplicationID: c.ID, UserID: by.signedIn.User.ID, SessionID: by.signedIn.Session.ID,
		Scope: strings.Join(r.GetGrantedScopes(), " "), AuthTime: by.signedIn.Session.AuthTime, CreatedAt: at, ExpiresAt: end,
		CodeDigest: &signature, CodeExpiresAt: end, CodeChallenge: r.GetRequestForm().Get("code_challenge"),
		RedirectURI: r.GetRequestForm().Get("redirect_uri"), RedirectSent: by.redirectSent,
		ChargedTo: policy.ChargedTo(c.Application), Sector: c.Sector, Nonce: by.openID.nonce, Claims: by.openID.claims, SessionEndsAt: s.p.sessionBound(r.GetGrantedScopes(), by.signedIn.Session),
	}, owner)
	if errors.Is(err, storage.ErrSpent) {
		return loggedOut()
	}
	if err == nil {
		s.p.counters.codes.Add(1)
	}
	return oauth.Stored(err)
}

// session is fosite's word for what a request carries from its first step to
// its last.
type session struct {
	signedIn     *SignedIn
	redirectSent bool
	openID       *openIDRequest
	expires      map[fosite.TokenType]time.Time

	grant  *storage.Grant     // of a code that is being exchanged
	token  *storage.LiveToken // that is being refreshed
	person *User              // whose password was right
	scope  []string           // of the access token
	answer *tokens.TokenResponse
}

func (s *session) SetExpiresAt(kind fosite.TokenType, at time.Time) {
	if s.expires == nil {
		s.expires = map[fosite.TokenType]time.Time{}
	}
	s.expires[kind] = at
}

func (s *session) GetExpiresAt(kind fosite.TokenType) time.Time { return s.expires[kind] }
func (s *session) GetUsername() string                          { return "" }
func (s *session) GetSubject() string                           { return "" }
func (s *session) Clone() fosite.Session                        { copied := *s; return &copied }
