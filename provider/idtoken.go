package provider

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/golang-jwt/jwt/v5"

	"mandate/storage"
)

// passwordLogin is the one way to sign in: its acr, and its amr by RFC 8176 §2.
const passwordLogin = "urn:mandate:acr:password"

// OIDC Registration §2: what signs where nothing was agreed.
const defaultAlgorithm = "RS256"

// idTokenFor is what an ID token says, and to whom.
type idTokenFor struct {
	application Application
	userID      string
	sector      string // the application's, when the person approved
	authTime    int64
	sessionID   string
	offline     bool // the session may be over: no application is to bring it back to life by its sid
	nonce       string
	claims      string // the claims parameter
	accessToken string
}

// addIDToken puts an ID token beside the access token, where one is due.
func (p *Provider) addIDToken(ctx context.Context, answer *TokenResponse, scope []string, about idTokenFor) error {
	// OIDC Core §3.1: it tells of a login here. Where the application took the
	// password itself there was none.
	if !p.config.OpenID || !slices.Contains(scope, "openid") || about.sessionID == "" {
		return nil
	}
	about.accessToken = answer.AccessToken
	var err error
	answer.IDToken, err = p.idToken(ctx, about)
	return err
}

// idToken signs an ID token (OIDC Core §2).
func (p *Provider) idToken(ctx context.Context, about idTokenFor) (string, error) {
	algorithm := cmp.Or(about.application.Algorithm, defaultAlgorithm)
	at := now()
	claims := jwt.MapClaims{
		"iss": p.config.Issuer, "sub": p.subject(about.sector, about.userID), "aud": about.application.ClientID,
		"exp": at + seconds(p.config.IDTokenLifetime), "iat": at, "auth_time": about.authTime,
		"at_hash": leftHalf(algorithm, about.accessToken), "acr": passwordLogin, "amr": []string{"pwd"},
	}
	if about.nonce != "" {
		claims["nonce"] = about.nonce
	}
	if about.sessionID != "" && !about.offline {
		claims["sid"] = p.sid(about.sector, about.sessionID)
	}
	asked, err := p.config.readStoredClaims(about.application, about.claims)
	if err != nil {
		return "", err
	}
	err = p.addClaims(ctx, claims, about.userID, nil, asked.IDToken)
	if err != nil {
		return "", err
	}
	return p.sign(ctx, about.application, algorithm, "JWT", claims)
}

// sign makes a JWT by an algorithm of the application's. kind tells it from
// others of the same signer (RFC 8725 §3.11).
func (p *Provider) sign(ctx context.Context, a Application, algorithm, kind string, claims jwt.MapClaims) (string, error) {
	method := jwt.GetSigningMethod(algorithm)
	if method == nil {
		return "", fmt.Errorf("there is no algorithm %q", Clip(algorithm, 40))
	}
	if algorithm == hmacAlgorithm {
		secret, err := p.hmacSecret(ctx, a)
		if err != nil {
			return "", err
		}
		token := jwt.NewWithClaims(method, claims)
		token.Header["typ"] = kind
		return token.SignedString([]byte(secret))
	}
	key, err := p.signer(ctx, algorithm)
	if err != nil {
		return "", err
	}
	return key.sign(algorithm, kind, claims)
}

func (k signingKey) sign(algorithm, kind string, claims jwt.MapClaims) (string, error) {
	token := jwt.NewWithClaims(jwt.GetSigningMethod(algorithm), claims)
	token.Header["typ"], token.Header["kid"] = kind, k.ID
	return token.SignedString(k.private)
}

// leftHalf is at_hash: the left half of the digest that the signature uses
// (OIDC Core §3.1.3.6). Ed25519 uses SHA-512 (RFC 8032 §5.1).
func leftHalf(algorithm, text string) string {
	if algorithm == "EdDSA" {
		sum := sha512.Sum512([]byte(text))
		return base64.RawURLEncoding.EncodeToString(sum[:32])
	}
	sum := sha256.Sum256([]byte(text))
	return base64.RawURLEncoding.EncodeToString(sum[:16])
}

// subject names a person to a sector: the same for all that have none, or one
// which no two sectors can compare (OIDC Core §8.1).
func (p *Provider) subject(sector, userID string) string {
	if sector == "" {
		return userID
	}
	mac := hmac.New(sha256.New, p.pairwise)
	mac.Write([]byte(sector + "\x00" + userID))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// hint reads an ID token of ours that somebody brings back. It may have
// expired: it says whom it was about, and proves nothing more.
func (p *Provider) hint(ctx context.Context, text string) (jwt.MapClaims, error) {
	wrong := refuse("invalid_request", "id_token_hint is not an ID token of this server.")
	claims := jwt.MapClaims{}
	parser := jwt.NewParser(jwt.WithoutClaimsValidation(), jwt.WithValidMethods(append(Algorithms(), hmacAlgorithm)))
	token, err := parser.ParseWithClaims(text, claims, func(t *jwt.Token) (any, error) { return p.hintKey(ctx, t, claims) })
	if e, ok := errors.AsType[*Error](err); ok && e.Status >= 500 {
		return nil, e
	}
	issuer, _ := claims.GetIssuer()
	if err != nil || issuer != p.config.Issuer {
		return nil, wrong
	}
	// Logout tokens and UserInfo answers have the same signature and are none: the
	// former have a type of their own, the latter no end. OIDC Core §2: sub is
	// required.
	subject, _ := claims.GetSubject()
	_, ends := instant(claims, "exp")
	if kind, typed := token.Header["typ"]; typed && kind != "JWT" || !ends || subject == "" {
		return nil, wrong
	}
	return claims, nil
}

// instant reads a NumericDate (RFC 7519 §2), which may have a fraction. Whoever
// signs with a secret of their own can write anything there.
func instant(claims jwt.MapClaims, name string) (int64, bool) {
	at, ok := claims[name].(float64)
	return int64(at), ok && math.Abs(at) < 1<<53
}

// hmacSecret is what HS256 signs with (OIDC Core §10.1): the secret in its own
// bytes, and while two secrets work the one that the client has just shown.
func (p *Provider) hmacSecret(ctx context.Context, a Application) (string, error) {
	if !readable(a.Secret) {
		return "", errors.New("HS256 needs a client secret that is kept readable")
	}
	// RFC 7518 §3.2: a shorter key is none. The one before a rotation may be older
	// than the choice of HS256.
	if shown := callOf(ctx).secret; len(shown) >= leastHMACSecret {
		return shown, nil
	} else if shown != "" {
		return "", invalidClient("The ID tokens of this application are signed with its secret by HS256, which takes a secret of at least %d bytes: use the new secret.", leastHMACSecret)
	}
	secret, err := p.readSecret(a.ID, a.Secret)
	if err == nil && len(secret) < leastHMACSecret {
		err = fmt.Errorf("HS256 needs a client secret of at least %d bytes", leastHMACSecret)
	}
	return secret, err
}

// hmacKeys are the secret, and the one before it while it works.
func (p *Provider) hmacKeys(a Application) (any, error) {
	secrets := []string{a.Secret}
	if readable(a.OldSecret) && a.OldSecretExpiresAt > now() {
		secrets = append(secrets, a.OldSecret)
	}
	var set jwt.VerificationKeySet
	for _, kept := range secrets {
		secret, err := p.readSecret(a.ID, kept)
		if err != nil {
			return nil, err
		}
		// RFC 7518 §3.2: a shorter one can be found out, and so signs nothing.
		if len(secret) >= leastHMACSecret {
			set.Keys = append(set.Keys, []byte(secret))
		}
	}
	return set, nil
}

// hintKey gives the key that a hint must be signed with: never one of another
// kind than the algorithm it names.
func (p *Provider) hintKey(ctx context.Context, t *jwt.Token, claims jwt.MapClaims) (any, error) {
	if t.Method.Alg() == hmacAlgorithm {
		audience, err := claims.GetAudience()
		if err != nil || len(audience) != 1 {
			return nil, errors.New("no single audience")
		}
		a, err := p.application(ctx, audience[0])
		if errors.Is(err, storage.ErrNotFound) {
			return nil, err
		}
		if err != nil {
			return nil, unavailable(err)
		}
		if a.Algorithm != hmacAlgorithm || !readable(a.Secret) {
			return nil, errors.New("this application does not use HS256")
		}
		return p.hmacKeys(a)
	}
	key, err := p.keyOf(ctx, t)
	if err != nil {
		return nil, err
	}
	return key.private.Public(), nil
}

// keyOf finds the key that a token names.
func (p *Provider) keyOf(ctx context.Context, t *jwt.Token) (signingKey, error) {
	id, _ := t.Header["kid"].(string)
	key, err := p.keyByID(ctx, id)
	if err == nil && key.Kind != algorithmKinds[t.Method.Alg()] {
		err = ErrNotFound
	}
	return key, err
}
