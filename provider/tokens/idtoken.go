package tokens

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"mandate/provider/clients"
	"mandate/provider/jose"
	"mandate/provider/keys"
	"mandate/provider/oauth"
	"mandate/provider/policy"
	"mandate/storage"
)

// passwordLogin is the one way to sign in: its acr, and its amr by RFC 8176 §2.
const PasswordLogin = "urn:mandate:acr:password"

// idTokenFor is what an ID token says, and to whom.
type IDTokenFor struct {
	Application storage.Application
	UserID      string
	Sector      string // the application's, when the person approved
	AuthTime    int64
	SessionID   string
	Offline     bool // the session may be over: no application is to bring it back to life by its sid
	Nonce       string
	Claims      string // the claims parameter
	AccessToken string
}

// addIDToken puts an ID token beside the access token, where one is due.
func (p *Tokens) AddIDToken(ctx context.Context, answer *TokenResponse, scope []string, about IDTokenFor) error {
	// OIDC Core §3.1: it tells of a login here. Where the application took the
	// password itself there was none.
	if !p.config.OpenID || !slices.Contains(scope, "openid") || about.SessionID == "" {
		return nil
	}
	about.AccessToken = answer.AccessToken
	var err error
	answer.IDToken, err = p.IDToken(ctx, about)
	return err
}

// idToken signs an ID token (OIDC Core §2).
func (p *Tokens) IDToken(ctx context.Context, about IDTokenFor) (string, error) {
	algorithm := cmp.Or(about.Application.Algorithm, policy.DefaultAlgorithm)
	at := oauth.Now()
	claims := jose.Claims{
		"iss": p.config.Issuer, "sub": p.Subject(about.Sector, about.UserID), "aud": about.Application.ClientID,
		"exp": at + oauth.Seconds(p.config.IDTokenLifetime), "iat": at, "auth_time": about.AuthTime,
		"at_hash": jose.LeftHalf(algorithm, about.AccessToken), "acr": PasswordLogin, "amr": []string{"pwd"},
	}
	if about.Nonce != "" {
		claims["nonce"] = about.Nonce
	}
	if about.SessionID != "" && !about.Offline {
		claims["sid"] = p.SID(about.Sector, about.SessionID)
	}
	asked, err := readStoredClaims(p.rules.AllowedScopes(about.Application), about.Claims)
	if err != nil {
		return "", err
	}
	err = p.addClaims(ctx, claims, about.UserID, nil, asked.IDToken)
	if err != nil {
		return "", err
	}
	return p.Sign(ctx, about.Application, algorithm, "JWT", claims)
}

// sign makes a JWT by an algorithm of the application's. kind tells it from
// others of the same signer (RFC 8725 §3.11).
func (p *Tokens) Sign(ctx context.Context, a storage.Application, algorithm, kind string, claims map[string]any) (string, error) {
	if algorithm == jose.HS256 {
		secret, err := p.clients.HMACSecret(ctx, a)
		if err != nil {
			return "", err
		}
		return jose.Sign(algorithm, kind, "", []byte(secret), claims)
	}
	if jose.KindOf(algorithm) == "" { // of a later release
		return "", fmt.Errorf("there is no algorithm %q", oauth.Clip(algorithm, 40))
	}
	key, err := p.keys.Signer(ctx, algorithm)
	if err != nil {
		return "", err
	}
	return key.Sign(algorithm, kind, claims)
}

// hint reads an ID token of ours that somebody brings back. It may have
// expired: it says whom it was about, and proves nothing more.
func (p *Tokens) Hint(ctx context.Context, text string) (jose.Claims, error) {
	wrong := oauth.Refuse("invalid_request", "id_token_hint is not an ID token of this server.")
	raw, err := jose.Verifier{
		Algorithms: append(jose.Algorithms(), jose.HS256),
		// A logout token has the same signature and another type.
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
	// A UserInfo response has the same signature, and no exp.
	_, ends := claims.Time("exp")
	if !ends {
		return nil, wrong
	}
	return claims, nil
}

// hintKeys gives the keys that may have signed a hint: those of the server, or the
// secret of the application that the hint was issued to, if it has HS256 registered.
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
	if a.Algorithm != jose.HS256 || !clients.Readable(a.Secret) {
		return nil, jose.ErrInvalid
	}
	return p.clients.HMACKeys(a)
}

// keyFor finds the key that the header of a JWT names, if it is of the algorithm's kind.
func (p *Tokens) keyFor(ctx context.Context, h jose.Header) (keys.SigningKey, error) {
	key, err := p.keys.ByID(ctx, h.KeyID)
	if errors.Is(err, oauth.ErrNotFound) || err == nil && key.Kind != jose.KindOf(h.Algorithm) {
		err = jose.ErrInvalid
	}
	return key, err
}
