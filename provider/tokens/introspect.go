package tokens

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"mandate/provider/acr"
	"mandate/provider/claims"
	"mandate/provider/clientauth"
	"mandate/provider/oauth"
	"mandate/provider/policy"
	"mandate/provider/possession"
	"mandate/provider/resources"
	"mandate/storage"
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
	Audience  any    `json:"aud,omitempty"` // a string, or a list; nil: an opaque token that names no resource
	Issuer    string `json:"iss,omitempty"`
	ID        string `json:"jti,omitempty"`
	AuthTime  int64  `json:"auth_time,omitempty"` // RFC 9470 §6.2
	ACR       string `json:"acr,omitempty"`       // RFC 9470 §6.2

	Methods []string `json:"amr,omitempty"` // RFC 8176 §1

	Confirmation map[string]string `json:"cnf,omitempty"` // RFC 9449 §6.2, RFC 8705 §3.2
	Own          map[string]any    `json:"-"`             // claims of the application's own; Members has them
	// Signed is the whole response as a JWT (RFC 9701 §5), if the caller asked for one.
	Signed string `json:"-"`
}

// Introspect describes a token to a caller who may introspect it. It also returns the
// client id of the caller, as far as it is known.
func (p *Tokens) Introspect(ctx context.Context, r *http.Request, address string) (*Introspection, string, error) {
	call := clientauth.From(ctx, address)
	form, err := oauth.ReadForm(r)
	if err != nil {
		return nil, "", p.clients.UseUnread(call, r, err, p.proofs)
	}
	caller, err := p.introspectionCaller(call, r)
	if wantsSigned(r.Header) {
		return p.introspectSigned(ctx, r, form, caller, err)
	}
	if err != nil {
		return nil, caller.clientID, err
	}
	return p.introspect(ctx, form, caller)
}

// introspect describes a token to a caller.
func (p *Tokens) introspect(ctx context.Context, form url.Values, caller introspector) (*Introspection, string, error) {
	if form.Get("token") == "" {
		return nil, caller.clientID, oauth.Refuse("invalid_request", "token is missing.")
	}
	// RFC 7662 §2.1: token_type_hint may help the search. All tokens are in one table,
	// so it is not needed.
	token, err := p.LiveToken(ctx, form.Get("token"))
	if errors.Is(err, oauth.ErrNotFound) {
		return &Introspection{}, caller.clientID, nil
	}
	if err != nil {
		return nil, caller.clientID, err
	}
	// RFC 7662 §2.2: a token that the caller may not know is inactive. A refresh token
	// is shown to its own client, and to a caller that asks for one by token_type_hint:
	// an API that only reads the member active would take it for an access token.
	own := token.Refresh && token.ClientID == caller.clientID
	if token.Refresh && !own && form.Get("token_type_hint") != "refresh_token" {
		return &Introspection{}, caller.clientID, nil
	}
	if !own {
		token.Scope = caller.scopeOf(token)
	}
	if token.Scope == "" {
		return &Introspection{}, caller.clientID, nil
	}
	found := p.describeToken(token, caller.clientID)
	found.Own, err = p.ownIntrospected(ctx, token, caller)
	return found, caller.clientID, err
}

// introspector is a caller of the introspection endpoint.
type introspector struct {
	clientID    string
	ofServer    bool // it may introspect the tokens for the server itself
	ofResources bool // it may introspect the tokens for the resources that name it
	ofPerson    bool // it sends the bearer token of a person
}

// scopeOf returns the scope of a token that the caller may know: that of the resources that it may
// introspect for. It is empty if the token is for none of them.
//
// RFC 7662 §2.2: the response is limited to what concerns the caller.
func (c introspector) scopeOf(token Found) string {
	if token.Resource == "" { // the server itself has every scope
		if c.ofServer {
			return token.Scope
		}
		return ""
	}
	part := c.part(token)
	if part.Empty() {
		return ""
	}
	return part.Scope(token.Scope)
}

// part returns those of the resources of a token that the caller may introspect for.
func (c introspector) part(token Found) resources.Audience {
	by := ""
	if c.ofResources {
		by = c.clientID
	}
	return token.audience.KnownTo(by, c.ofServer)
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
	if token.name != "" {
		token.audience, err = p.apis.Signed(ctx, token.Resource, token.IssuedAt)
	} else {
		token.audience, err = p.apis.Granted(ctx, token.Resource)
	}
	if err != nil {
		return token, err
	}
	// RFC 9068 §4: at+jwt, unless each API of the token wants another typ.
	if strings.EqualFold(token.typ, resources.TypJWT) && token.audience.Typ() != resources.TypJWT {
		return token, oauth.ErrNotFound
	}
	if token.Resource == "" { // the server itself has every scope
		return token, nil
	}
	// The scopes are limited to those that the resources have now.
	token.Scope = token.audience.Scope(token.Scope)
	switch {
	case token.audience.Empty():
		return token, oauth.ErrNotFound
	case token.Scope == "":
		return token, errUnusable
	}
	return token, nil
}

// errUnusable is an ErrNotFound for a token that would be active if its application were
// not suspended, and it and the resource still had a scope of the token.
var errUnusable = fmt.Errorf("%w: the application may no longer use any scope of the token", oauth.ErrNotFound)

func (p *Tokens) describeToken(token Found, caller string) *Introspection {
	bound := possession.Of(token.Token)
	found := &Introspection{
		Active: true, Scope: token.Scope, ClientID: token.ClientID, Username: oauth.Deref(token.Username),
		TokenType: bound.TokenType(), Confirmation: bound.Confirmation(),
		ExpiresAt: token.ExpiresAt, IssuedAt: token.IssuedAt, NotBefore: token.IssuedAt,
		// RFC 9700 §4.15.1: if no person is involved, the subject is the client, and
		// there is no username.
		Subject: token.ClientID, Issuer: p.config.Issuer, ID: token.Digest[:22],
	}
	// RFC 8707 §2: aud restricts a token to the resources that a client named. django-oauth-toolkit
	// refuses a token whose aud is not its own URL, and most tokens of its users name no resource.
	// RFC 9068 §2.2: a signed token always has aud, which is the same here.
	if token.Resource != "" || token.name != "" {
		found.Audience = oneOrList(token.audience.URIs())
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
	// RFC 9470 §6.2: the same values as in a signed token.
	if login := token.login(); login > 0 {
		found.AuthTime, found.ACR, found.Methods = login, oauth.Deref(token.ACR), acr.Methods(oauth.Deref(token.AMR))
	}
	if token.Refresh {
		// An API must not take it for an access token.
		found.TokenType = "refresh_token"
	}
	return found
}

// introspectionCaller returns the caller. It sends a bearer token with the scope
// introspection, or the credentials of an application that may introspect. If it may not,
// the result has its client id, as far as it is known.
func (p *Tokens) introspectionCaller(ctx context.Context, r *http.Request) (introspector, error) {
	header := r.Header.Values("Authorization")
	if len(header) == 1 {
		scheme, text, _ := strings.Cut(header[0], " ")
		if possession.IsScheme(scheme) {
			if r.PostForm.Has("client_secret") || clientauth.HasAssertion(r.Header, r.PostForm) {
				refused := oauth.Refuse("invalid_request", "The caller authenticates in more than one way: use either the access "+
					"token, or client_secret, or a client assertion.")
				return introspector{}, p.clients.UseUnread(ctx, r, refused, p.proofs)
			}
			return p.bearerCaller(ctx, r, scheme, strings.TrimLeft(text, " "))
		}
	}
	a, err := p.clients.Authenticate(ctx, r, r.PostForm)
	if err != nil {
		return introspector{}, bothChallenges(err)
	}
	caller, err := p.introspector(ctx, a)
	if err != nil {
		return caller, err
	}
	if a.ClientType == policy.Public {
		return caller, &oauth.Error{Status: http.StatusForbidden, Code: "unauthorized_client",
			Description: "A public application may not introspect tokens, since it has no secret: use a confidential " +
				"application."}
	}
	if !caller.ofServer && !caller.ofResources {
		return caller, &oauth.Error{Status: http.StatusForbidden, Code: "unauthorized_client", Description: mayNotIntrospect}
	}
	return caller, nil
}

// introspector returns what an application may introspect. With the permission to introspect
// an administrator is responsible for it, as for an introspector of a resource.
func (p *Tokens) introspector(ctx context.Context, a storage.Application) (introspector, error) {
	if a.MayIntrospect {
		return introspector{clientID: a.ClientID, ofServer: true, ofResources: true}, nil
	}
	serves, err := p.apis.Introspects(ctx, a)
	return introspector{clientID: a.ClientID, ofResources: serves}, err
}

const mayNotIntrospect = "This application may not introspect tokens: an administrator can allow it, on the page of " +
	"the application or of a resource."

// bothChallenges adds the challenge Bearer to the challenge Basic, because the caller
// may use either (RFC 7662 §2.1).
func bothChallenges(err error) error {
	e, ok := errors.AsType[*oauth.Error](err)
	if !ok || e.Challenge == "" {
		return err
	}
	both := *e
	both.Challenge = clientauth.BasicChallenge + `, Bearer realm="mandate"`
	return &both
}

func (p *Tokens) bearerCaller(ctx context.Context, r *http.Request, scheme, text string) (introspector, error) {
	token, err := p.LiveToken(ctx, text)
	unusable := errors.Is(err, errUnusable) && !token.Refresh
	if errors.Is(err, oauth.ErrNotFound) && !unusable || err == nil && token.Refresh {
		// RFC 6750 §3.1
		return introspector{}, invalidToken()
	}
	if err != nil && !unusable {
		return introspector{}, err
	}
	caller := introspector{clientID: token.ClientID, ofServer: token.MayIntrospect, ofPerson: token.UserID != nil}
	possessed := p.proofs.CheckPresented(ctx, r, possession.Of(token.Token), scheme, text)
	if possessed != nil {
		return introspector{}, possessed
	}
	if err == nil && !token.audience.HasServer() {
		return caller, otherResource()
	}
	if !unusable && slices.Contains(strings.Fields(token.Scope), policy.Introspection) && token.MayIntrospect {
		return caller, nil
	}
	refused := &oauth.Error{Status: http.StatusForbidden, Code: "insufficient_scope",
		Description: "The access token does not have the scope introspection: request it with scope=introspection.",
		Challenge: possession.Of(token.Token).TokenType() +
			` realm="mandate", error="insufficient_scope", scope="introspection"`}
	if !token.MayIntrospect {
		refused.Description = mayNotIntrospect + " Then request a token with scope=introspection."
	}
	return caller, refused
}

// ownIntrospected returns the claims of an application's own in the response to a caller that introspects its token.
func (p *Tokens) ownIntrospected(ctx context.Context, token Found, caller introspector) (map[string]any, error) {
	if !token.HasClaims || token.UserID == nil || token.Refresh {
		return nil, nil
	}
	a, err := p.clients.Client(ctx, token.ClientID)
	if err != nil {
		return nil, oauth.Stored(err)
	}
	return p.ownClaims(ctx, a, claims.Introspection, token.Scope, *token.UserID, caller.part(token).URIs())
}

// Members returns the members of the response: those of RFC 7662, and claims of the application's own. No rule can
// have the name of one of the others.
func (i *Introspection) Members() (any, error) {
	if len(i.Own) == 0 {
		return i, nil
	}
	all := map[string]json.RawMessage{}
	for _, part := range []any{i.Own, i} {
		raw, err := json.Marshal(part)
		if err == nil {
			err = json.Unmarshal(raw, &all)
		}
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}
