package tokens

import (
	"context"
	"errors"
	"strings"

	"mandate/provider/jose"
	"mandate/provider/oauth"
	"mandate/provider/policy"
	"mandate/provider/seal"
	"mandate/storage"
)

// signedType tells an access token from all else that the same keys sign
// (RFC 9068 §2.1, §5).
const SignedType = "at+jwt"

// accessToken is made but not yet stored. A signed one is never: rows is empty.
type AccessToken struct {
	Text string
	End  int64
	rows []storage.Token
}

// newAccess makes an access token of a family, in the application's format.
func (p *Tokens) newAccess(ctx context.Context, a storage.Application, f Family, scope string) (AccessToken, error) {
	at := oauth.Now()
	end := at + p.rules.AccessLifetime(a)
	if f.SessionEndsAt > 0 {
		end = min(end, f.SessionEndsAt)
	}
	if a.AccessTokenFormat == policy.FormatJWT {
		return p.SignAccess(ctx, a, f, scope, at, end)
	}
	text, sum := Mint(AccessPrefix)
	row := storage.Token{Digest: sum, GrantID: &f.GrantID, Scope: scope, IssuedAt: at, ExpiresAt: end, ChargedTo: policy.ChargedTo(a)}
	return AccessToken{text, end, []storage.Token{row}}, nil
}

// signAccess signs an access token (RFC 9068 §2.2), of a family or, where there
// is none, of the application for itself. It holds nothing about the person but
// their subject: the client can read it (RFC 9068 §6).
func (p *Tokens) SignAccess(ctx context.Context, a storage.Application, f Family, scope string, at, end int64) (AccessToken, error) {
	algorithm := AccessAlgorithm(a)
	key, err := p.keys.Signer(ctx, algorithm)
	if err != nil {
		return AccessToken{}, err
	}
	// It ends before nobody can check it any more. (One that was given before its
	// application's lifetime was shortened may find its key gone: then that ends it.)
	if key.ExpiresAt > 0 {
		end = min(end, key.ExpiresAt)
	}
	claims := jose.Claims{"iss": p.config.Issuer, "aud": p.config.Audience(), "client_id": a.ClientID, "scope": scope, "iat": at, "exp": end}
	if f.GrantID == "" {
		// RFC 9068 §2.2: where no person is involved, the subject is the client.
		claims["sub"], claims["jti"] = a.ClientID, p.nameToken(ofApplication, a.ID)
	} else {
		claims["sub"], claims["jti"] = p.Subject(f.Sector, f.UserID), p.nameToken(ofGrant, f.GrantID)
	}
	// RFC 9068 §2.2.1: they are about the login that the approval came with, so they
	// stay the same at each refresh. A password that the application took was none.
	if f.Login > 0 {
		claims["auth_time"], claims["acr"] = f.Login, PasswordLogin
	}
	text, err := key.Sign(algorithm, SignedType, claims)
	return AccessToken{Text: text, End: end}, err
}

// AccessAlgorithm is what signs an application's access tokens: what signs its ID
// tokens too, but for HS256, whose key no API may have (RFC 9068 §4).
func AccessAlgorithm(a storage.Application) string {
	if a.Algorithm == "" || a.Algorithm == jose.HS256 {
		return policy.DefaultAlgorithm
	}
	return a.Algorithm
}

// A token's jti says to this server what stands behind it, and to nobody else.
const (
	ofGrant       = "g"
	ofApplication = "a"
)

func (p *Tokens) nameToken(kind, id string) string {
	return p.names.Seal([]byte(kind+id), "")
}

// knownToken is a token that is known here, opaque or signed.
type knownToken struct {
	storage.LiveToken
	name    string // jti, as a signed one has it
	dormant bool   // its application may do nothing, or nothing of the token's scope
}

// findToken reads a token and what stands behind it, or gives
// storage.ErrNotFound. Of its scope is left what its application may have now.
func (p *Tokens) FindToken(ctx context.Context, text string) (knownToken, error) {
	token, err := p.readToken(ctx, text)
	if err != nil {
		return token, err
	}
	a := storage.Application{MayIntrospect: token.MayIntrospect, Scopes: token.Scopes, Responsible: token.Responsible, OwnerID: token.OwnerID, OwnerActive: token.OwnerActive, OwnerAdministrator: token.OwnerAdministrator}
	scope := oauth.Narrow(strings.Fields(token.Scope), p.rules.AllowedScopes(a))
	token.Scope, token.dormant = strings.Join(scope, " "), policy.Suspended(a) || len(scope) == 0
	may := p.rules.AllowanceOf(a)
	token.MayIntrospect = token.MayIntrospect && may.Vouched
	// A lifetime that nobody answers for any more is cut too.
	switch {
	case token.name != "":
		token.ExpiresAt = min(token.ExpiresAt, token.IssuedAt+may.JWTMax)
	case !token.Refresh:
		token.ExpiresAt = min(token.ExpiresAt, token.IssuedAt+may.AccessMax)
	}
	return token, nil
}

func (p *Tokens) readToken(ctx context.Context, text string) (knownToken, error) {
	// What is made here otherwise has no dot. A decoder passes over ends of lines: a
	// token would have any number of texts, and a copy for each.
	if strings.Count(text, ".") == 2 && !strings.ContainsAny(text, "\r\n") {
		return p.findSigned(ctx, text)
	}
	token, err := p.store.TokenByDigest(ctx, seal.Digest(text))
	return knownToken{LiveToken: token}, err
}

// findSigned holds a signed access token to what RFC 9068 §4 asks of whoever gets
// one, and then to what only this server knows.
func (p *Tokens) findSigned(ctx context.Context, text string) (knownToken, error) {
	raw, err := jose.Verifier{
		// RFC 9068 §4: never none, and never HS256, with which a public key would be the
		// secret.
		Algorithms: jose.Algorithms(),
		// RFC 9068 §4: neither an ID token nor a logout token is an access token.
		Types: []string{SignedType},
		Keys: func(h jose.Header, _ []byte) ([]any, error) {
			key, err := p.keyFor(ctx, h)
			if err == nil && !key.Published() {
				err = jose.ErrInvalid
			}
			return []any{key.Public()}, err
		},
	}.Verify(text)
	if errors.Is(err, jose.ErrInvalid) {
		return knownToken{}, storage.ErrNotFound
	}
	if err != nil {
		return knownToken{}, err
	}
	claims, err := jose.ParseClaims(raw)
	if err != nil || claims["iss"] != p.config.Issuer || claims["aud"] != p.config.Audience() {
		return knownToken{}, storage.ErrNotFound
	}
	token := knownToken{name: claims.Text("jti")}
	behind, err := p.names.Open(token.name, "")
	if err != nil {
		return knownToken{}, storage.ErrNotFound
	}
	sum := seal.Digest(token.name)
	if id, ok := strings.CutPrefix(string(behind), ofGrant); ok {
		token.LiveToken, err = p.store.TokenOfGrant(ctx, id)
	} else {
		token.LiveToken, err = p.store.TokenOfApplication(ctx, string(behind[len(ofApplication):]), sum)
	}
	issued, _ := claims.Time("iat")
	ends, _ := claims.Time("exp")
	token.Digest, token.Scope, token.IssuedAt, token.ExpiresAt = sum, claims.Text("scope"), issued, ends
	return token, err
}

// audience is the one resource that access tokens are for (RFC 9068 §3).
func (c Config) Audience() string { return strings.TrimSuffix(c.Issuer, "/o") }
