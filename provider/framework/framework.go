package framework

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"time"

	"github.com/ory/fosite"

	"mandate/provider/clients"
	"mandate/provider/oauth"
	"mandate/provider/policy"
	"mandate/provider/seal"
	"mandate/provider/tokens"
	"mandate/storage"
)

// NewFosite makes fosite's part of the flows, without its lists of handlers: of those,
// only the authorization endpoint's half of the code grant and the client credentials
// grant are sound and are used.
func New(codeLifetime, accessTokenLifetime time.Duration, c *clients.Clients, rules *policy.Rules) *fosite.Fosite {
	store := clientStore{c, rules}
	config := &fosite.Config{
		AuthorizeCodeLifespan: codeLifetime,
		AccessTokenLifespan:   accessTokenLifetime,
		// Each of these is set because fosite otherwise sets it at the first
		// request, without a lock.
		ScopeStrategy: fosite.ExactScopeStrategy,
		// RFC 6749 §3.1, §3.2: audience is no parameter of ours, so it is ignored.
		AudienceMatchingStrategy: func(_, _ []string) error { return nil },
		ClientSecretsHasher:      noHasher{},
		JWKSFetcherStrategy:      noFetcher{},
		// fosite requires at least 1 character of state; newRequest handles a request
		// without state.
		MinParameterEntropy:    1,
		OmitRedirectScopeParam: true,
		// Without redirect_uri in this list nothing would bind the code to it.
		SanitationWhiteList:          []string{"redirect_uri", "code_challenge"},
		RedirectSecureChecker:        func(context.Context, *url.URL) bool { return true }, // package redirect has checked it
		ClientAuthenticationStrategy: store.authenticate,
	}
	return fosite.NewOAuth2Provider(store, config)
}

// ConfigOf gives fosite's configuration, for the lists of handlers.
func ConfigOf(f *fosite.Fosite) *fosite.Config { return f.Config.(*fosite.Config) }

// failed turns any error of a flow into ours. What fosite says is passed on
// where it is meant for clients; its hint may hold what the client sent.
func Failed(err error) *oauth.Error {
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

// authenticate is called by fosite at the token endpoint.
func (s clientStore) authenticate(ctx context.Context, r *http.Request, form url.Values) (fosite.Client, error) {
	a, err := s.clients.Authenticate(ctx, r, form)
	if err != nil {
		return nil, err
	}
	return &Client{a, s.Rules}, nil
}

// noHasher and noFetcher are never asked: client authentication is ours. fosite's
// own fetcher starts goroutines when it is made.
type (
	noHasher  struct{}
	noFetcher struct{ fosite.JWKSFetcherStrategy }
)

var ErrUnused = errors.New("fosite called what it was not given")

func (noHasher) Compare(context.Context, []byte, []byte) error { return ErrUnused }
func (noHasher) Hash(context.Context, []byte) ([]byte, error)  { return nil, ErrUnused }

// clientStore is fosite's store of clients.
type clientStore struct {
	clients *clients.Clients
	Rules   *policy.Rules
}

func (s clientStore) GetClient(ctx context.Context, id string) (fosite.Client, error) {
	if known := clients.CallOf(ctx).Client; known != nil && known.ClientID == id {
		return &Client{*known, s.Rules}, nil
	}
	a, err := s.clients.Client(ctx, id)
	if errors.Is(err, storage.ErrNotFound) {
		return nil, fosite.ErrNotFound
	}
	if err != nil {
		return nil, oauth.Unavailable(err)
	}
	return &Client{a, s.Rules}, nil
}

func (clientStore) ClientAssertionJWTValid(context.Context, string) error { return ErrUnused }
func (clientStore) SetClientAssertionJWT(context.Context, string, time.Time) error {
	return ErrUnused
}

// client shows an application to fosite.
type Client struct {
	storage.Application
	Rules *policy.Rules
}

func (c *Client) GetID() string                      { return c.ClientID }
func (c *Client) GetHashedSecret() []byte            { return nil }
func (c *Client) GetRedirectURIs() []string          { return oauth.Lines(c.RedirectURIs) }
func (c *Client) GetResponseTypes() fosite.Arguments { return fosite.Arguments{"code"} }
func (c *Client) GetScopes() fosite.Arguments        { return c.Rules.AllowedScopes(c.Application) }
func (c *Client) IsPublic() bool                     { return c.ClientType == policy.Public }
func (c *Client) GetAudience() fosite.Arguments      { return nil }
func (c *Client) GetGrantTypes() fosite.Arguments    { return policy.GrantTypes(c.Application) }
func (c *Client) GetResponseModes() []fosite.ResponseModeType {
	return []fosite.ResponseModeType{fosite.ResponseModeQuery}
}

// tokenStrategy makes the texts and their storage keys for fosite's handlers.
type TokenStrategy struct{}

func (TokenStrategy) AccessTokenSignature(_ context.Context, token string) string {
	return seal.Digest(token)
}
func (TokenStrategy) AuthorizeCodeSignature(_ context.Context, code string) string {
	return seal.Digest(code)
}

func (TokenStrategy) GenerateAccessToken(context.Context, fosite.Requester) (string, string, error) {
	text, sum := tokens.Mint(tokens.AccessPrefix)
	return text, sum, nil
}

func (TokenStrategy) GenerateAuthorizeCode(context.Context, fosite.Requester) (string, string, error) {
	text, sum := tokens.Mint(tokens.CodePrefix)
	return text, sum, nil
}

func (TokenStrategy) ValidateAccessToken(context.Context, fosite.Requester, string) error {
	return ErrUnused
}
func (TokenStrategy) ValidateAuthorizeCode(context.Context, fosite.Requester, string) error {
	return ErrUnused
}

// Session is what fosite requires of a session. The sessions of the flows embed it.
type Session struct {
	expires map[fosite.TokenType]time.Time
}

// SetExpiresAt notes when a token expires.
func (s *Session) SetExpiresAt(kind fosite.TokenType, at time.Time) {
	if s.expires == nil {
		s.expires = map[fosite.TokenType]time.Time{}
	}
	s.expires[kind] = at
}

// GetExpiresAt says when a token expires.
func (s *Session) GetExpiresAt(kind fosite.TokenType) time.Time { return s.expires[kind] }

// GetUsername is not used.
func (s *Session) GetUsername() string { return "" }

// GetSubject is not used.
func (s *Session) GetSubject() string { return "" }
