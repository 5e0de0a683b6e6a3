// Package upstream signs people in with another OpenID Provider, of which this server is a client
// (OIDC Core, OIDC Discovery, RFC 9700). It uses the code flow with PKCE (RFC 7636).
package upstream

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"mandate/provider/outbound"
)

// Config says how this server is registered at another server.
type Config struct {
	Issuer       string
	ClientID     string
	ClientSecret string
	RedirectURI  string   // one for this issuer alone
	Scopes       []string // openid among them
	Log          *slog.Logger
}

// Server is another server.
type Server struct {
	config Config
	client *http.Client

	mu    sync.Mutex
	known *discovered   // nil: it was never read
	asked time.Time     // when the last attempt to read the metadata began
	err   error         // of the last attempt
	done  chan struct{} // closed when the running attempt ends; nil: none is running
}

// maxBytes is the size of the largest response that is read.
const maxBytes = 256 << 10

// New makes the client of another server. It sends no request.
func New(config Config, calls *outbound.Client) *Server {
	return &Server{config: config, client: calls.ForLibrary(maxBytes)}
}

// Request is an authorization request. The other server must not see Verifier before the code is
// redeemed.
type Request struct {
	State, Nonce, Verifier string

	// Fresh asks for a new login there. A server need not know any other value of prompt that lets
	// the person choose an account.
	Fresh bool
}

// NewRequest returns a request with new random values.
func NewRequest() Request {
	return Request{State: rand.Text(), Nonce: rand.Text(), Verifier: oauth2.GenerateVerifier()}
}

// loginAge is longer than any session, in seconds. The parameter max_age makes a server say when the
// person signed in there.
const loginAge = 366 * 24 * 60 * 60

// AuthorizationURL returns the address at which the other server asks the person to sign in.
func (s *Server) AuthorizationURL(ctx context.Context, r Request) (string, error) {
	found, err := s.discover(ctx)
	if err != nil {
		return "", err
	}
	options := []oauth2.AuthCodeOption{
		oauth2.S256ChallengeOption(r.Verifier), // RFC 9700 §2.1.1
		oidc.Nonce(r.Nonce),
		// OIDC Core §3.1.2.1: with max_age, the ID token has auth_time.
		oauth2.SetAuthURLParam("max_age", strconv.Itoa(loginAge)),
	}
	if r.Fresh {
		options = append(options, oauth2.SetAuthURLParam("prompt", "login"))
	}
	return s.oauth(found).AuthCodeURL(r.State, options...), nil
}

func (s *Server) oauth(found *discovered) *oauth2.Config {
	endpoint := found.provider.Endpoint()
	endpoint.AuthStyle = found.style
	return &oauth2.Config{ClientID: s.config.ClientID, ClientSecret: s.config.ClientSecret, Endpoint: endpoint,
		RedirectURL: s.config.RedirectURI, Scopes: s.config.Scopes}
}

// EndSessionURL returns the address at which the person signs out there and then comes back, or "" if
// the other server has none (OIDC RP-Logout §2).
func (s *Server) EndSessionURL(ctx context.Context, back string) (string, error) {
	found, err := s.discover(ctx)
	if err != nil || found.endSession == "" {
		return "", err
	}
	u, err := url.Parse(found.endSession)
	if err != nil {
		return "", err
	}
	query := u.Query()
	query.Set("client_id", s.config.ClientID)
	query.Set("post_logout_redirect_uri", back)
	u.RawQuery = query.Encode()
	return u.String(), nil
}

// Refusal is an error that the other server sent in its response (RFC 6749 §4.1.2.1).
type Refusal struct{ Code string }

// Error returns the code, which is printable ASCII.
func (r *Refusal) Error() string { return "the other server refuses: " + r.Code }

// Unreachable is a request to the other server that failed, and that may succeed later.
type Unreachable struct{ Err error }

// Error returns what was done, and why it failed.
func (u *Unreachable) Error() string { return u.Err.Error() }

// Unwrap returns the cause.
func (u *Unreachable) Unwrap() error { return u.Err }

// Redeem checks the response to an authorization request, redeems its code, and checks the ID token.
// The caller has compared the state.
func (s *Server) Redeem(ctx context.Context, response url.Values, r Request) (Person, error) {
	found, err := s.discover(ctx)
	if err != nil {
		return Person{}, err
	}
	// RFC 9207 §2.4: a response of another server is refused before anything is read from it, also
	// from an error.
	from := response.Get("iss")
	if from != s.config.Issuer && (from != "" || found.namesItself) {
		return Person{}, errors.New("the response has the issuer of another server, or none (RFC 9207 §2.4)")
	}
	if response.Has("error") {
		return Person{}, &Refusal{printable(response.Get("error"))}
	}
	if response.Get("code") == "" {
		return Person{}, errors.New("the response has neither a code nor an error")
	}
	ctx = oidc.ClientContext(ctx, s.client)
	token, err := s.oauth(found).Exchange(ctx, response.Get("code"), oauth2.VerifierOption(r.Verifier))
	if err != nil {
		return Person{}, tokenError(err)
	}
	raw, _ := token.Extra("id_token").(string)
	if raw == "" {
		return Person{}, errors.New("the token response has no ID token (OIDC Core §3.1.3.3)")
	}
	said, err := s.checkIDToken(ctx, found, raw, token.AccessToken, r.Nonce)
	if err != nil {
		return Person{}, err
	}
	more, err := userInfo(ctx, found, token, said.subject())
	if err != nil {
		return Person{}, err
	}
	return s.person(said, more), nil
}

// checkIDToken checks an ID token (OIDC Core §3.1.3.7) and returns its claims.
func (s *Server) checkIDToken(ctx context.Context, found *discovered, raw, accessToken, nonce string) (claims, error) {
	// The algorithm, the signature, iss, exp, and that aud has this client.
	keys := &keySet{KeySet: found.keys}
	verifier := oidc.NewVerifier(s.config.Issuer, keys,
		&oidc.Config{ClientID: s.config.ClientID, SupportedSigningAlgs: algorithms()})
	token, err := verifier.Verify(ctx, raw)
	if unread := keys.unread(); unread != nil {
		return nil, &Unreachable{fmt.Errorf("read the keys: %s", clip(withoutURL(unread).Error()))}
	}
	if err != nil {
		return nil, fmt.Errorf("the ID token is not valid: %s", clip(err.Error()))
	}
	var said claims
	err = token.Claims(&said)
	if err != nil {
		return nil, fmt.Errorf("read the ID token: %w", err)
	}
	// OIDC Core §3.1.3.7 (3): this client trusts no other audience.
	for _, audience := range token.Audience {
		if audience != s.config.ClientID {
			return nil, errors.New("the ID token is for another client too")
		}
	}
	// OIDC Core §3.1.3.7 (5): the token was issued to this client.
	if azp, has := said["azp"]; has && azp != s.config.ClientID {
		return nil, errors.New("the ID token was issued to another client: its azp differs")
	}
	// OIDC Core §3.1.3.7 (11): the token belongs to this request, and not to an earlier one.
	if token.Nonce != nonce {
		return nil, errors.New("the nonce of the ID token is not that of the request")
	}
	// OIDC Core §3.1.3.8: if there is a hash, it is that of this access token.
	if token.AccessTokenHash != "" && token.VerifyAccessToken(accessToken) != nil {
		return nil, errors.New("the ID token belongs to another access token: at_hash differs")
	}
	// OIDC Core §2: a subject has at most 255 ASCII characters.
	if sub := said.subject(); sub == "" || len(sub) > 255 || printable(sub) != sub {
		return nil, errors.New("the ID token has no subject of at most 255 ASCII characters")
	}
	return said, nil
}

// tokenError describes why a code could not be redeemed. The text has nothing of the response but its
// error code.
func tokenError(err error) error {
	var answer *oauth2.RetrieveError
	if !errors.As(err, &answer) {
		return &Unreachable{fmt.Errorf("redeem the code: %s", clip(withoutURL(err).Error()))}
	}
	status := 0
	if answer.Response != nil {
		status = answer.Response.StatusCode
	}
	err = fmt.Errorf("redeem the code: the token endpoint answers with status %d %s", status, printable(answer.ErrorCode))
	if status >= http.StatusInternalServerError || status == http.StatusTooManyRequests {
		return &Unreachable{err}
	}
	return err
}

// withoutURL returns the cause of an error of an HTTP client. A URL may have a secret in its query.
func withoutURL(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		return u.Err
	}
	return err
}
