// Package upstream signs people in with another OpenID Provider, of which this server is a client
// (OIDC Core, OIDC Discovery, RFC 9700). It uses the code flow with PKCE (RFC 7636).
package upstream

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"strconv"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
)

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
