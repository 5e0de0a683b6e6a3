package tokens

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"

	"mandate/provider/acr"
	"mandate/provider/indicator"
	"mandate/provider/jose"
	"mandate/provider/oauth"
	"mandate/provider/policy"
	"mandate/provider/possession"
	"mandate/provider/resources"
	"mandate/provider/seal"
	"mandate/storage"
)

// AccessToken is an access token that is made but not yet stored. A signed access token
// is never stored: its rows are empty.
type AccessToken struct {
	Text string
	End  int64
	rows []storage.Token
}

// newAccess makes an access token of a token family, in the format that its audience
// wants.
func (p *Tokens) newAccess(ctx context.Context, a storage.Application, f Family, scope string,
	audience resources.Audience, from Source) (AccessToken, error) {
	at := from.At
	a, err := audience.Issues(a)
	if err != nil {
		return AccessToken{}, err
	}
	end := at + p.rules.AccessLifetime(a)
	if f.SessionEndsAt > 0 {
		end = min(end, f.SessionEndsAt)
	}
	if a.AccessTokenFormat == policy.FormatJWT {
		return p.SignAccess(ctx, a, f, scope, audience, at, end)
	}
	text := from.AccessToken()
	row := storage.Token{Digest: seal.Digest(text), GrantID: &f.GrantID, Scope: scope, IssuedAt: at, ExpiresAt: end,
		ChargedTo: policy.ChargedTo(a), Resource: audience.Stored(), CNF: string(f.Bound)}
	return AccessToken{text, end, []storage.Token{row}}, nil
}

// SignAccess signs an access token (RFC 9068 §2.2). a is the application as its audience
// issues tokens. The token belongs to a token family or, if the Family is empty, to the
// application itself. The subject is its only claim about the person, because the client
// can read it (RFC 9068 §6), unless an administrator gives the application others.
func (p *Tokens) SignAccess(ctx context.Context, a storage.Application, f Family, scope string,
	audience resources.Audience, at, end int64) (AccessToken, error) {
	algorithm := AccessAlgorithm(a)
	key, err := p.keys.Signer(ctx, algorithm)
	if err != nil {
		return AccessToken{}, err
	}
	// The token expires before its key leaves the JWK Set, so that it can always be
	// verified. (A token may lose its key earlier if its application's lifetime was
	// shortened after it was issued. Then the token is invalid.)
	if key.ExpiresAt > 0 {
		end = min(end, key.ExpiresAt)
	}
	claims := jose.Claims{"iss": p.config.Issuer, "aud": oneOrList(audience.URIs()), "client_id": a.ClientID,
		"scope": scope, "iat": at, "exp": end}
	if f.GrantID == "" {
		// RFC 9068 §2.2: if no person is involved, the subject is the client.
		claims["sub"], claims["jti"] = a.ClientID, p.sealJTI(ofApplication, a.ID+":"+strconv.FormatInt(a.Generation, 10))
	} else {
		claims["sub"], claims["jti"] = p.Subject(f.Sector, f.UserID), p.sealJTI(ofGrant, f.GrantID)
	}
	// RFC 9068 §2.2.1: these claims are about the login at which the authorization
	// grant was given, so they stay the same at each refresh. In the password grant
	// there was no login at this server.
	if f.Login > 0 {
		claims["auth_time"], claims["acr"] = f.Login, f.ACR
		if methods := acr.Methods(f.AMR); len(methods) > 0 {
			claims["amr"] = methods
		}
	}
	// RFC 9449 §6.1, RFC 8705 §3.1: what the token is bound to.
	if cnf := f.Bound.Confirmation(); cnf != nil {
		claims["cnf"] = cnf
	}
	own, err := p.ownInAccessToken(ctx, a, f, scope, audience.URIs())
	if err != nil {
		return AccessToken{}, err
	}
	maps.Copy(claims, own)
	text, err := key.Sign(algorithm, audience.Typ(), claims)
	return AccessToken{Text: text, End: end}, err
}

// AccessAlgorithm returns the algorithm that signs an application's access tokens. It
// is the algorithm of its ID tokens, except for HS256, whose key no API may have (RFC
// 9068 §4).
func AccessAlgorithm(a storage.Application) string {
	if a.Algorithm == "" || a.Algorithm == jose.HS256 {
		return policy.DefaultAlgorithm
	}
	return a.Algorithm
}

// The kinds of record that a signed token belongs to. Its jti contains the kind and the
// id of the record, encrypted, so that only this server can read them. The id of an
// application is followed by a colon and its generation; older tokens have no generation,
// which means 0.
const (
	ofGrant       = "g"
	ofApplication = "a"
)

func (p *Tokens) sealJTI(kind, id string) string {
	return p.names.Seal([]byte(kind+id), "")
}

// Found is a token that this server issued, opaque or signed, with its record.
type Found struct {
	storage.LiveToken
	name     string             // the jti of a signed token; "": the token is opaque
	typ      string             // the typ of a signed token
	exp      int64              // the token's own expiry; ExpiresAt is limited to what the standing allows now
	audience resources.Audience // only of a token that LiveToken returns
	unusable bool               // its application is suspended, or may use no scope of the token
}

// login returns when the person signed in for the token's authorization grant, or 0 if there
// was no login at this server: the password grant has no session.
func (t *Found) login() int64 {
	if oauth.Deref(t.SessionID) == "" {
		return 0
	}
	return oauth.Deref(t.AuthTime)
}

// FindToken returns a token and the records that it belongs to, or storage.ErrNotFound.
// Its scope and lifetime are limited to what its application may have now. It also
// finds a token that has expired or was used: LiveToken does not.
func (p *Tokens) FindToken(ctx context.Context, text string) (Found, error) {
	token, err := p.readToken(ctx, text)
	if err != nil {
		return token, err
	}
	a := storage.Application{ClientID: token.ClientID, Origin: token.Origin, MayIntrospect: token.MayIntrospect,
		Scopes: token.Scopes, Responsible: token.Responsible, OwnerID: token.OwnerID, OwnerActive: token.OwnerActive,
		OwnerAdministrator: token.OwnerAdministrator}
	scope := oauth.Narrow(strings.Fields(token.Scope), p.rules.AllowedScopes(a))
	token.Scope, token.unusable = strings.Join(scope, " "), p.rules.WhySuspended(a) != "" || len(scope) == 0
	may := p.rules.AllowanceOf(a)
	token.MayIntrospect = token.MayIntrospect && may.AdministratorRights
	// The lifetime is limited too, if the application's standing no longer allows it.
	token.exp = token.ExpiresAt
	switch {
	case token.name != "":
		token.ExpiresAt = min(token.ExpiresAt, token.IssuedAt+may.JWTMax)
	case token.Refresh:
		token.ExpiresAt = p.rules.RefreshEnd(a, token.Token)
	default:
		token.ExpiresAt = min(token.ExpiresAt, token.IssuedAt+may.AccessMax)
	}
	return token, nil
}

func (p *Tokens) readToken(ctx context.Context, text string) (Found, error) {
	// Only a signed token has dots. The decoder ignores line breaks: without this check
	// one token would have any number of texts, with a copy for each.
	if strings.Count(text, ".") == 2 && !strings.ContainsAny(text, "\r\n") {
		return p.findSigned(ctx, text)
	}
	token, err := p.store.TokenByDigest(ctx, seal.Digest(text), oauth.Now())
	return Found{LiveToken: token}, err
}

// findSigned verifies a signed access token as RFC 9068 §4 requires, and then checks
// the records that it belongs to.
func (p *Tokens) findSigned(ctx context.Context, text string) (Found, error) {
	typ := ""
	raw, err := jose.Verifier{
		// RFC 9068 §4: never none. Also never HS256, with which a public key could be
		// used as the secret.
		Algorithms: jose.Algorithms(),
		// RFC 9068 §4: neither an ID token nor a logout token is an access token. If an API wants the typ of an ID token, the
		// claims below distinguish the two. LiveToken asks whether it does.
		Types: []string{resources.TypAccessToken, strings.ToLower(resources.TypJWT)},
		Keys: func(h jose.Header, _ []byte) ([]any, error) {
			typ = h.Type
			key, err := p.keyFor(ctx, h)
			if err == nil && !key.Published() {
				err = jose.ErrInvalid
			}
			return []any{key.Public()}, err
		},
	}.Verify(text)
	if errors.Is(err, jose.ErrInvalid) {
		return Found{}, storage.ErrNotFound
	}
	if err != nil {
		return Found{}, err
	}
	claims, err := jose.ParseClaims(raw)
	resource, valid := p.resourceOf(claims)
	bound, confirmed := possession.Confirmed(claims["cnf"])
	if err != nil || claims["iss"] != p.config.Issuer || !valid || !confirmed || !isAccess(claims) {
		return Found{}, storage.ErrNotFound
	}
	token := Found{name: claims.Text("jti"), typ: typ}
	behind, err := p.names.Open(token.name, "")
	if err != nil {
		return Found{}, storage.ErrNotFound
	}
	sum := seal.Digest(token.name)
	if id, ok := strings.CutPrefix(string(behind), ofGrant); ok {
		token.LiveToken, err = p.store.TokenOfGrant(ctx, id, oauth.Now())
	} else {
		id, generation, _ := strings.Cut(string(behind[len(ofApplication):]), ":")
		made, _ := strconv.ParseInt(generation, 10, 64) // the server wrote it
		token.LiveToken, err = p.store.TokenOfApplication(ctx, id, sum, made)
		token.Generation = made
	}
	issued, _ := claims.Time("iat")
	ends, _ := claims.Time("exp")
	token.Digest, token.Scope, token.IssuedAt, token.ExpiresAt = sum, claims.Text("scope"), issued, ends
	token.Resource, token.CNF = resource, string(bound)
	return token, err
}

// isAccess reports whether claims that this server has signed are those of an access token, whatever the typ of the JWT
// is.
//
// RFC 8725 §3.12: JWTs of different kinds have different required claims. RFC 9068 §2.2 requires client_id and jti in
// an access token. No other JWT of this server has client_id, and only access tokens have a jti that findSigned can
// open.
func isAccess(claims jose.Claims) bool { return claims.Text("client_id") != "" }

// resourceOf returns the audience of a signed token, by line, which is empty if the token is for
// the server itself, and whether it is the audience of an access token: the URIs
// of resources (RFC 9068 §3). The audience of an ID token is a client.
func (p *Tokens) resourceOf(claims jose.Claims) (string, bool) {
	uris := []string{claims.Text("aud")}
	if several, is := claims["aud"].([]any); is {
		uris = nil
		for _, one := range several {
			uri, _ := one.(string)
			uris = append(uris, uri)
		}
	}
	if len(uris) == 1 && uris[0] == p.config.Audience() {
		return "", true
	}
	wrong := func(uri string) bool { return indicator.Check(uri) != "" }
	return strings.Join(uris, "\n"), len(uris) > 0 && !slices.ContainsFunc(uris, wrong)
}

func invalidToken() *oauth.Error {
	return oauth.InvalidToken("The access token is unknown, expired, or revoked.")
}

// otherResource refuses a token that was issued for other resources only (RFC 8707 §2).
func otherResource() *oauth.Error {
	return oauth.InvalidToken("The access token is for another resource: request a token for the server itself, with " +
		"its URI in the parameter resource.")
}

// oneOrList returns aud as RFC 7519 §4.1.3 allows it: one value is a string.
func oneOrList(uris []string) any {
	if len(uris) == 1 {
		return uris[0]
	}
	return uris
}

// Audience returns the URI of the server itself, for which access tokens are if no other
// resource is requested (RFC 9068 §3).
func (c Config) Audience() string { return oauth.BaseURL(c.Issuer) }
