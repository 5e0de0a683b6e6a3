// Package framework is the connection to fosite, the OAuth 2.0 framework. The server uses
// three parts of fosite: the parsing of authorization and token requests, the authorization
// endpoint's half of the authorization code grant (RFC 6749 §4.1.1), and the client
// credentials grant (RFC 6749 §4.4). Package grant replaces the other handlers, because
// they have known defects and fosite's last release is frozen.
//
// Authorization and Token make fosite for an endpoint each, and ClientCredentials makes its grant. Client,
// Session and TokenStrategy implement the interfaces that fosite needs. Client
// authentication is done by package clientauth.
package framework

import (
	"context"
	"errors"
	"net/http"
	"net/url"
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

// Authorization returns fosite for the authorization endpoint. It stores the codes that it issues in codes.
func Authorization(
	c *clients.Clients,
	rules *policy.Rules,
	lifetime time.Duration,
	codes oauth2.CoreStorage,
) *fosite.Fosite {
	config := newConfig()
	config.AuthorizeCodeLifespan = lifetime
	config.AuthorizeEndpointHandlers = fosite.AuthorizeEndpointHandlers{
		&oauth2.AuthorizeExplicitGrantHandler{AuthorizeCodeStrategy: TokenStrategy{}, CoreStorage: codes, Config: config},
	}
	return fosite.NewOAuth2Provider(clientStore{c, rules}, config)
}

// Token returns fosite for the token endpoint, with this handler for all grants. The sessions of its requests
// have the method Client.
func Token(c *clients.Clients, rules *policy.Rules, handler fosite.TokenEndpointHandler) *fosite.Fosite {
	config := newConfig()
	config.TokenEndpointHandlers = fosite.TokenEndpointHandlers{handler}
	return fosite.NewOAuth2Provider(clientStore{c, rules}, config)
}

// ClientCredentials returns fosite's client credentials grant. It stores the access tokens that it issues in tokens.
func ClientCredentials(rules *policy.Rules, tokens oauth2.AccessTokenStorage) *oauth2.ClientCredentialsGrantHandler {
	config := newConfig()
	config.AccessTokenLifespan = rules.AccessTokenLifetime
	return &oauth2.ClientCredentialsGrantHandler{Config: config,
		HandleHelper: &oauth2.HandleHelper{AccessTokenStrategy: TokenStrategy{}, AccessTokenStorage: tokens, Config: config}}
}

// newConfig returns the configuration that all uses of fosite share.
func newConfig() *fosite.Config {
	return &fosite.Config{
		// The strategies, the hasher and the fetcher are set here, because fosite otherwise
		// sets them during the first request, without a lock.
		ScopeStrategy: fosite.ExactScopeStrategy,
		// RFC 6749 §3.1, §3.2: this server does not support the parameter audience, so it
		// is ignored.
		AudienceMatchingStrategy: func(_, _ []string) error { return nil },
		ClientSecretsHasher:      noHasher{},
		JWKSFetcherStrategy:      noFetcher{},
		// fosite requires at least 1 character of state; newRequest handles a request
		// without state.
		MinParameterEntropy:    1,
		OmitRedirectScopeParam: true,
		// Without redirect_uri in this list, fosite would not store it, and the code would
		// not be bound to it.
		SanitationWhiteList:          []string{"redirect_uri", "code_challenge"},
		RedirectSecureChecker:        func(context.Context, *url.URL) bool { return true }, // package redirect has checked it
		ClientAuthenticationStrategy: authenticated,
	}
}

// ConfigOf returns the configuration of f.
func ConfigOf(f *fosite.Fosite) *fosite.Config { return f.Config.(*fosite.Config) }

// Failed converts any error of a flow to an *oauth.Error. An error of fosite below 500 keeps
// its status and code. The client sees fosite's hint, or fosite's description if there is no
// hint. The log text has the description only, because the hint may contain what the client
// sent. Every other error becomes a server_error with status 500.
func Failed(err error) *oauth.Error {
	if ours, ok := errors.AsType[*oauth.Error](err); ok {
		return ours
	}
	rfc, ok := errors.AsType[*fosite.RFC6749Error](err)
	if !ok || rfc.CodeField >= http.StatusInternalServerError {
		return &oauth.Error{
			Status:      http.StatusInternalServerError,
			Code:        "server_error",
			Description: "Internal error.",
			Cause:       err,
		}
	}
	description := rfc.HintField
	if description == "" {
		description = rfc.DescriptionField
	}
	return &oauth.Error{
		Status:      rfc.CodeField,
		Code:        rfc.ErrorField,
		Description: oauth.ASCII(description),
		Cause:       err,
		LogText:     rfc.DescriptionField,
	}
}

// authenticated returns the client of a token request. It has authenticated before fosite gets the request,
// and is in the session.
func authenticated(ctx context.Context, _ *http.Request, _ url.Values) (fosite.Client, error) {
	request, ok := ctx.Value(fosite.AccessRequestContextKey).(fosite.AccessRequester)
	if !ok {
		return nil, errUnused
	}
	session, ok := request.GetSession().(interface{ Client() *Client })
	if !ok {
		return nil, errUnused
	}
	return session.Client(), nil
}

type clientKey struct{}

// WithClient returns a context in which GetClient returns this application.
func WithClient(ctx context.Context, a *storage.Application) context.Context {
	return context.WithValue(ctx, clientKey{}, a)
}

// noHasher and noFetcher are never called, because package clientauth does the client
// authentication. They replace fosite's defaults: its fetcher starts goroutines when it is
// made.
type (
	noHasher  struct{}
	noFetcher struct{ fosite.JWKSFetcherStrategy }
)

// errUnused is returned by methods that fosite's interfaces require and that no handler of
// this server calls.
var errUnused = errors.New("fosite called a method that this server does not implement")

// Compare returns errUnused.
func (noHasher) Compare(context.Context, []byte, []byte) error { return errUnused }

// Hash returns errUnused.
func (noHasher) Hash(context.Context, []byte) ([]byte, error) { return nil, errUnused }

// clientStore gives fosite the registered clients.
type clientStore struct {
	clients *clients.Clients
	rules   *policy.Rules
}

// GetClient returns the client with this client_id, or fosite.ErrNotFound. It returns the
// client of WithClient if that is the same one.
func (s clientStore) GetClient(ctx context.Context, id string) (fosite.Client, error) {
	if known, _ := ctx.Value(clientKey{}).(*storage.Application); known != nil && known.ClientID == id {
		return &Client{known, s.rules}, nil
	}
	a, err := s.clients.Client(ctx, id)
	if errors.Is(err, storage.ErrNotFound) {
		return nil, fosite.ErrNotFound
	}
	if err != nil {
		return nil, oauth.Unavailable(err)
	}
	return &Client{&a, s.rules}, nil
}

// ClientAssertionJWTValid returns errUnused.
func (clientStore) ClientAssertionJWTValid(context.Context, string) error { return errUnused }

// SetClientAssertionJWT returns errUnused.
func (clientStore) SetClientAssertionJWT(context.Context, string, time.Time) error {
	return errUnused
}

// Client is an application in the form that fosite requires (fosite.Client).
type Client struct {
	*storage.Application               // shared by the parts of the server that handle the request: nothing changes it
	rules                *policy.Rules // they determine the scopes of the application
}

// NewClient returns an application in this form.
func NewClient(a *storage.Application, rules *policy.Rules) Client { return Client{a, rules} }

// GetID returns the client_id.
func (c *Client) GetID() string { return c.ClientID }

// GetHashedSecret returns nil: fosite does not check the client secret.
func (c *Client) GetHashedSecret() []byte { return nil }

// GetRedirectURIs returns the registered redirect URIs.
func (c *Client) GetRedirectURIs() []string { return oauth.Lines(c.RedirectURIs) }

// GetResponseTypes returns code, the only response type of this server.
func (c *Client) GetResponseTypes() fosite.Arguments { return fosite.Arguments{"code"} }

// GetScopes returns the scopes for which the application may ask.
func (c *Client) GetScopes() fosite.Arguments { return c.rules.AllowedScopes(*c.Application) }

// IsPublic reports whether the application is a public client.
func (c *Client) IsPublic() bool { return c.ClientType == policy.Public }

// GetAudience returns nil: this server does not support audiences.
func (c *Client) GetAudience() fosite.Arguments { return nil }

// GetGrantTypes returns the grant types that the application may use.
func (c *Client) GetGrantTypes() fosite.Arguments { return policy.GrantTypes(*c.Application) }

// GetResponseModes returns query. Package authorize handles the response mode form_post
// without fosite.
func (c *Client) GetResponseModes() []fosite.ResponseModeType {
	return []fosite.ResponseModeType{fosite.ResponseModeQuery}
}

// TokenStrategy makes codes and access tokens for fosite's handlers, and the digests under
// which they are stored.
type TokenStrategy struct{}

// AccessTokenSignature returns the digest under which an access token is stored.
func (TokenStrategy) AccessTokenSignature(_ context.Context, token string) string {
	return seal.Digest(token)
}

// AuthorizeCodeSignature returns the digest under which an authorization code is stored.
func (TokenStrategy) AuthorizeCodeSignature(_ context.Context, code string) string {
	return seal.Digest(code)
}

// GenerateAccessToken returns a new opaque access token and its digest.
func (TokenStrategy) GenerateAccessToken(context.Context, fosite.Requester) (string, string, error) {
	text, sum := tokens.NewOpaque(tokens.AccessPrefix)
	return text, sum, nil
}

// GenerateAuthorizeCode returns a new authorization code and its digest.
func (TokenStrategy) GenerateAuthorizeCode(context.Context, fosite.Requester) (string, string, error) {
	text, sum := tokens.NewOpaque(tokens.CodePrefix)
	return text, sum, nil
}

// ValidateAccessToken returns errUnused.
func (TokenStrategy) ValidateAccessToken(context.Context, fosite.Requester, string) error {
	return errUnused
}

// ValidateAuthorizeCode returns errUnused.
func (TokenStrategy) ValidateAuthorizeCode(context.Context, fosite.Requester, string) error {
	return errUnused
}

// Session implements the methods that fosite requires of a session, except Clone. The
// sessions of packages authorize and grant embed it.
type Session struct {
	expires map[fosite.TokenType]time.Time
}

// SetExpiresAt records when a token of this kind expires.
func (s *Session) SetExpiresAt(kind fosite.TokenType, at time.Time) {
	if s.expires == nil {
		s.expires = map[fosite.TokenType]time.Time{}
	}
	s.expires[kind] = at
}

// GetExpiresAt returns when a token of this kind expires, or the zero time if that is not
// recorded.
func (s *Session) GetExpiresAt(kind fosite.TokenType) time.Time { return s.expires[kind] }

// GetUsername returns an empty name: this server does not use it.
func (s *Session) GetUsername() string { return "" }

// GetSubject returns an empty subject: this server does not use it.
func (s *Session) GetSubject() string { return "" }
