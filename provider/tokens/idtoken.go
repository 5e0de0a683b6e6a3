package tokens

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"mandate/provider/acr"
	"mandate/provider/claims"
	"mandate/provider/clientauth"
	"mandate/provider/jose"
	"mandate/provider/oauth"
	"mandate/provider/policy"
	"mandate/provider/resources"
	"mandate/storage"
)

// IDTokenFor is the input for an ID token.
type IDTokenFor struct {
	Application storage.Application
	By          *clientauth.Caller // who gets it in the response, or nil
	UserID      string
	Sector      string // the application's sector when the person gave consent
	AuthTime    int64
	ACR, AMR    string // of the login at which the person gave consent
	SessionID   string
	Offline     bool // the session may have ended, so the ID token has no sid
	Nonce       string
	Claims      string // the claims parameter
	AccessToken string
	Audience    resources.Audience // of the access token
	scopes      []string           // those whose claims it has
	granted     []string
}

// AddIDToken adds an ID token to a token response if the scope contains openid, OpenID
// Connect is on and there was a login.
func (p *Tokens) AddIDToken(ctx context.Context, answer *TokenResponse, scope []string, about IDTokenFor) error {
	// OIDC Core §3.1: an ID token is about a login at this server. In the password
	// grant there was none.
	if !p.config.OpenID || !slices.Contains(scope, "openid") || about.SessionID == "" {
		return nil
	}
	about.AccessToken, about.granted = answer.AccessToken, scope
	if p.rules.ClaimsInIDToken(about.Application) {
		about.scopes = about.Audience.AtServer(scope)
	}
	var err error
	answer.IDToken, err = p.IDToken(ctx, about)
	return err
}

// IDToken returns a signed ID token (OIDC Core §2).
func (p *Tokens) IDToken(ctx context.Context, about IDTokenFor) (string, error) {
	algorithm := cmp.Or(about.Application.Algorithm, policy.DefaultAlgorithm)
	at := oauth.Now()
	token := jose.Claims{
		"iss": p.config.Issuer, "sub": p.Subject(about.Sector, about.UserID), "aud": about.Application.ClientID,
		"exp": at + oauth.Seconds(p.config.IDTokenLifetime), "iat": at, "auth_time": about.AuthTime,
		"at_hash": jose.AtHash(algorithm, about.AccessToken), "acr": about.ACR,
	}
	if methods := acr.Methods(about.AMR); len(methods) > 0 { // another server may not say how the person signed in
		token["amr"] = methods
	}
	if about.Nonce != "" {
		token["nonce"] = about.Nonce
	}
	if about.SessionID != "" && !about.Offline {
		token["sid"] = p.SID(about.Sector, about.SessionID)
	}
	asked, err := readStoredClaims(p.rules.AllowedScopes(about.Application), about.Claims)
	if err != nil {
		return "", err
	}
	own, err := ownOf(about.Application, claims.IDToken, about.granted)
	if err != nil {
		return "", err
	}
	err = p.addClaims(ctx, token, own, about.UserID, about.scopes, asked.IDToken)
	if err != nil {
		return "", err
	}
	return p.sign(ctx, about.By, about.Application, algorithm, "JWT", token)
}

// Sign makes a JWT with an algorithm of the application. kind is its typ, which
// distinguishes it from other JWTs of the same signer (RFC 8725 §3.11). It returns an
// error if there is no key for the algorithm.
func (p *Tokens) Sign(
	ctx context.Context,
	a storage.Application,
	algorithm, kind string,
	claims map[string]any,
) (string, error) {
	return p.sign(ctx, nil, a, algorithm, kind, claims)
}

// sign is Sign for the response to a request of the application, or of nobody if by is nil.
func (p *Tokens) sign(
	ctx context.Context,
	by *clientauth.Caller,
	a storage.Application,
	algorithm, kind string,
	claims map[string]any,
) (string, error) {
	if algorithm == jose.HS256 {
		secret, err := p.clients.HMACSecret(by, a)
		if err != nil {
			return "", err
		}
		return jose.Sign(algorithm, kind, "", []byte(secret), claims)
	}
	if jose.KindOf(algorithm) == "" { // registered by a later release
		return "", fmt.Errorf("the algorithm %q is not supported", oauth.Clip(algorithm, 40))
	}
	key, err := p.keys.Signer(ctx, algorithm)
	if err != nil {
		return "", err
	}
	return key.Sign(algorithm, kind, claims)
}

// ResponseSigner returns the function that signs the authorization responses for an application
// (JARM §2.2). It returns an error that is no *oauth.Error if the server has no key for them.
//
// JARM §3: the algorithm is the registered one, or RS256.
func (p *Tokens) ResponseSigner(
	ctx context.Context,
	a storage.Application,
) (func(map[string]any) (string, error), error) {
	algorithm := cmp.Or(a.ResponseAlgorithm, policy.DefaultAlgorithm)
	key, err := p.keys.Signer(ctx, algorithm)
	if err != nil {
		return nil, err
	}
	return func(claims map[string]any) (string, error) { return key.Sign(algorithm, "JWT", claims) }, nil
}

// Hint returns the claims of an ID token of this server that a client sends back as
// id_token_hint. The ID token may have expired. It only says whom it was about. It
// returns an Error with the code invalid_request for any other text.
func (p *Tokens) Hint(ctx context.Context, text string) (jose.Claims, error) {
	wrong := oauth.Refuse("invalid_request", "id_token_hint is not an ID token of this server.")
	raw, err := jose.Verifier{
		Algorithms: append(jose.Algorithms(), jose.HS256),
		// A logout token is signed by the same key, and has another typ.
		Types: []string{"jwt", ""},
		Keys:  func(h jose.Header, unverified []byte) ([]any, error) { return p.hintKeys(ctx, h, unverified) },
	}.Verify(text)
	if e, ok := errors.AsType[*oauth.Error](err); ok && e.Status >= 500 {
		return nil, e
	}
	if err != nil {
		return nil, wrong
	}
	claims, err := jose.ParseClaims(raw)
	if err != nil || claims.Text("iss") != p.config.Issuer || claims.Text("sub") == "" { // OIDC Core §2: sub is required
		return nil, wrong
	}
	// RFC 8725 §3.11: an API holds access tokens, and must not act with one as if the person had signed in to it. An
	// access token has the typ of an ID token if its API wants that.
	if isAccess(claims) {
		return nil, wrong
	}
	// A UserInfo response is signed by the same key, and has no exp.
	_, ends := claims.Time("exp")
	if !ends {
		return nil, wrong
	}
	return claims, nil
}

// hintKeys returns the keys that may have signed an id_token_hint. These are the
// server's keys, or the secret of the application that the ID token was issued to, if
// the application has HS256 registered.
func (p *Tokens) hintKeys(ctx context.Context, h jose.Header, unverified []byte) ([]any, error) {
	if h.Algorithm != jose.HS256 {
		key, err := p.keyFor(ctx, h)
		return []any{key.Public()}, err
	}
	claims, err := jose.ParseClaims(unverified)
	if err != nil || len(claims.Audience()) != 1 {
		return nil, jose.ErrInvalid
	}
	a, err := p.clients.Client(ctx, claims.Audience()[0])
	if errors.Is(err, storage.ErrNotFound) {
		return nil, jose.ErrInvalid
	}
	if err != nil {
		return nil, oauth.Unavailable(err)
	}
	if a.Algorithm != jose.HS256 || !clientauth.SecretIsReadable(a) {
		return nil, jose.ErrInvalid
	}
	return p.clients.HMACKeys(a)
}
