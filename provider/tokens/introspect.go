package tokens

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"mandate/provider/clients"
	"mandate/provider/oauth"
	"mandate/provider/policy"
)

// Introspection is the response of the introspection endpoint (RFC 7662 §2.2). For an
// inactive token it has only the member active.
type Introspection struct {
	Active    bool   `json:"active"`
	Scope     string `json:"scope,omitempty"`
	ClientID  string `json:"client_id,omitempty"`
	Username  string `json:"username,omitempty"`
	TokenType string `json:"token_type,omitempty"`
	ExpiresAt int64  `json:"exp,omitempty"`
	IssuedAt  int64  `json:"iat,omitempty"`
	NotBefore int64  `json:"nbf,omitempty"`
	Subject   string `json:"sub,omitempty"`
	Audience  any    `json:"aud,omitempty"` // a string, or a list of several
	Issuer    string `json:"iss,omitempty"`
	ID        string `json:"jti,omitempty"`
}

// Introspect describes a token to a caller who may introspect it. It also returns the
// client id of the caller, as far as it is known.
func (p *Tokens) Introspect(ctx context.Context, r *http.Request, address string) (*Introspection, string, error) {
	form, err := oauth.ReadForm(r)
	if err != nil {
		return nil, "", err
	}
	caller, err := p.introspectionCaller(clients.WithCall(ctx, &clients.Call{Address: address}), r)
	if err != nil {
		return nil, caller, err
	}
	if form.Get("token") == "" {
		return nil, caller, oauth.Refuse("invalid_request", "token is missing.")
	}
	// RFC 7662 §2.1: token_type_hint may help the search. All tokens are in one table,
	// so it is not needed.
	token, err := p.LiveToken(ctx, form.Get("token"))
	if errors.Is(err, oauth.ErrNotFound) {
		return &Introspection{}, caller, nil
	}
	if err != nil {
		return nil, caller, err
	}
	// RFC 7662 §2.2: a token that the caller may not know is inactive. A refresh token
	// is shown to its own client, and to a caller that asks for one by token_type_hint:
	// an API that only reads the member active would take it for an access token.
	if token.Refresh && token.ClientID != caller && form.Get("token_type_hint") != "refresh_token" {
		return &Introspection{}, caller, nil
	}
	may, err := p.mayKnow(ctx, token, caller)
	if err != nil {
		return nil, caller, err
	}
	if !may {
		return &Introspection{}, caller, nil
	}
	return p.describeToken(token, caller), caller, nil
}

// mayKnow reports whether a caller who may introspect is one that the token is for. The
// introspector of a resource sees the tokens for its resources. Every other caller sees the
// tokens for the server itself. A refresh token is also known to its own client.
func (p *Tokens) mayKnow(ctx context.Context, token Found, caller string) (bool, error) {
	if token.Refresh && token.ClientID == caller {
		return true, nil
	}
	serves, err := p.apis.ServesResource(ctx, caller)
	if err != nil || serves {
		return token.audience.Introspector(caller), err
	}
	return token.audience.HasServer(), nil
}

// LiveToken returns a token that is active now. It returns ErrNotFound for a token that
// is unknown, expired or revoked, whose person is disabled, or whose application is
// suspended.
func (p *Tokens) LiveToken(ctx context.Context, text string) (Found, error) {
	token, err := p.token(ctx, text)
	if err != nil {
		return token, oauth.Stored(err)
	}
	switch {
	case token.ExpiresAt <= oauth.Now(), token.UsedAt != nil:
		return token, oauth.ErrNotFound
	case token.unusable:
		return token, errUnusable
	}
	token.audience, err = p.apis.Granted(ctx, token.Resource)
	if err != nil {
		return token, err
	}
	// The scopes are limited to those that the resources have now. The server itself has
	// every scope.
	token.Scope = strings.Join(token.audience.Scopes(strings.Fields(token.Scope)), " ")
	if token.audience.Empty() || token.Scope == "" {
		return token, errUnusable
	}
	return token, nil
}

// errUnusable is an ErrNotFound for a token that would be active if its application were
// not suspended, its resource still existed, and both still had a scope of the token.
var errUnusable = fmt.Errorf("%w: the application may no longer use any scope of the token, or its resource does not exist any more", oauth.ErrNotFound)

func (p *Tokens) describeToken(token Found, caller string) *Introspection {
	found := &Introspection{
		Active: true, Scope: token.Scope, ClientID: token.ClientID, Username: oauth.Deref(token.Username), TokenType: "Bearer",
		ExpiresAt: token.ExpiresAt, IssuedAt: token.IssuedAt, NotBefore: token.IssuedAt,
		// RFC 9700 §4.15.1: if no person is involved, the subject is the client, and
		// there is no username.
		Subject: token.ClientID, Audience: oneOrList(token.audience.URIs()), Issuer: p.config.Issuer, ID: token.Digest[:22],
	}
	sector := oauth.Deref(token.Sector)
	if token.UserID != nil {
		// OIDC Core §8.1: the subject is the same as in the ID token. With another one
		// beside it, the caller could find out that two sectors' subjects are one
		// person.
		found.Subject = p.Subject(sector, *token.UserID)
	}
	if sector != "" && caller == token.ClientID {
		// OIDC Core §8.1: the user name is the same in all sectors, so it would reveal
		// that too. With the person's consent it is the claim preferred_username.
		found.Username = ""
	}
	if token.name != "" {
		// The same value as in the token itself.
		found.ID = token.name
	}
	if token.Refresh {
		// An API must not take it for an access token.
		found.TokenType = "refresh_token"
	}
	return found
}

// introspectionCaller returns the client id of the caller. The caller sends a bearer
// token with the scope introspection, or the credentials of an application that may
// introspect.
func (p *Tokens) introspectionCaller(ctx context.Context, r *http.Request) (string, error) {
	header := r.Header.Values("Authorization")
	if len(header) == 1 {
		scheme, bearer, _ := strings.Cut(header[0], " ")
		if strings.EqualFold(scheme, "Bearer") {
			if r.PostForm.Has("client_secret") {
				return "", oauth.Refuse("invalid_request", "The caller authenticates in more than one way: use either the bearer token or client_secret.")
			}
			return p.bearerCaller(ctx, strings.TrimLeft(bearer, " "))
		}
	}
	a, err := p.clients.Authenticate(ctx, r, r.PostForm)
	if err != nil {
		return "", bothChallenges(err)
	}
	if a.ClientType == policy.Public {
		return a.ClientID, &oauth.Error{Status: http.StatusForbidden, Code: "unauthorized_client",
			Description: "A public application may not introspect tokens, since it has no secret: use a confidential application."}
	}
	if !a.MayIntrospect {
		return a.ClientID, &oauth.Error{Status: http.StatusForbidden, Code: "unauthorized_client",
			Description: mayNotIntrospect}
	}
	return a.ClientID, nil
}

const mayNotIntrospect = "This application may not introspect tokens: an administrator can allow it, on the page of the application."

// bothChallenges adds the challenge Bearer to the challenge Basic, because the caller
// may use either (RFC 7662 §2.1).
func bothChallenges(err error) error {
	e, ok := errors.AsType[*oauth.Error](err)
	if !ok || e.Challenge == "" {
		return err
	}
	both := *e
	both.Challenge = clients.BasicChallenge + `, Bearer realm="mandate"`
	return &both
}

func (p *Tokens) bearerCaller(ctx context.Context, text string) (string, error) {
	token, err := p.LiveToken(ctx, text)
	unusable := errors.Is(err, errUnusable) && !token.Refresh
	if errors.Is(err, oauth.ErrNotFound) && !unusable || err == nil && token.Refresh {
		// RFC 6750 §3.1
		return "", &oauth.Error{Status: http.StatusUnauthorized, Code: "invalid_token", Description: "The access token is unknown, expired, or revoked.",
			Challenge: `Bearer realm="mandate", error="invalid_token", error_description="The access token is unknown, expired, or revoked."`}
	}
	if err != nil && !unusable {
		return "", err
	}
	if err == nil && !token.audience.HasServer() {
		return token.ClientID, otherResource()
	}
	if !unusable && slices.Contains(strings.Fields(token.Scope), policy.Introspection) && token.MayIntrospect {
		return token.ClientID, nil
	}
	refused := &oauth.Error{Status: http.StatusForbidden, Code: "insufficient_scope", Description: "The access token does not have the scope introspection: request it with scope=introspection.",
		Challenge: `Bearer realm="mandate", error="insufficient_scope", scope="introspection"`}
	if !token.MayIntrospect {
		refused.Description = mayNotIntrospect + " Then request a token with scope=introspection."
	}
	return token.ClientID, refused
}
