package tokens

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/base64"
	"slices"
	"strings"

	"mandate/provider/acr"
	"mandate/provider/oauth"
	"mandate/provider/places"
	"mandate/provider/policy"
	"mandate/provider/possession"
	"mandate/provider/resources"
	"mandate/provider/seal"
	"mandate/storage"
)

// TokenResponse is the response of the token endpoint (RFC 6749 §5.1).
type TokenResponse struct {
	AccessToken  string `json:"access_token"`
	TokenType    string `json:"token_type"`
	ExpiresIn    int64  `json:"expires_in"`
	Scope        string `json:"scope"`
	RefreshToken string `json:"refresh_token,omitempty"`
	IDToken      string `json:"id_token,omitempty"` // OIDC Core §3.1.3.3

	LeftOut policy.LeftOut `json:"-"` // the scopes of the request that the application cannot get
}

// Pair is an access token with its refresh token, made but not yet stored.
type Pair struct {
	Answer    *TokenResponse
	Tokens    []storage.Token // the refresh token's row is the last
	ExpiresAt int64           // of the token that expires last
}

// Family is what all tokens of a token family have in common. A token family is all
// tokens that were issued for one authorization grant.
type Family struct {
	GrantID       string
	Began         int64
	SessionEndsAt int64 // 0: the family outlives the session
	Scope         string
	Resource      string // the whole audience, as it is stored

	UserID, Sector string
	Login          int64  // when the person signed in for the authorization grant; 0: there was no login
	ACR, AMR       string // how

	Bound possession.Binding // what the new tokens are bound to
}

// FamilyOf returns the token family of a stored authorization grant. Its new tokens are bound to
// bound.
func FamilyOf(g *storage.Grant, bound possession.Binding) Family {
	return Family{g.ID, g.CreatedAt, g.SessionEndsAt, g.Scope, g.Resource, g.UserID, g.Sector, g.AuthTime, g.ACR,
		g.AMR, bound}
}

// GrantBy returns an authorization grant of this type that a person gives an application in
// a session. It also returns turnOf the application if the application must be notified
// of the logout (OIDC Back-Channel §2.3), and "" otherwise.
func (p *Tokens) GrantBy(s *storage.SignedIn, grantType string, a storage.Application,
	scopes []string) (g storage.Grant, owner string) {
	g = storage.Grant{ID: seal.Random(16), GrantType: grantType, ApplicationID: a.ID, UserID: s.User.ID,
		SessionID: s.Session.ID,
		Scope:     strings.Join(scopes, " "), AuthTime: s.Session.AuthTime, AMR: s.Session.AMR, ACR: acr.Of(s.Session.AMR),
		CreatedAt: oauth.Now(), Sector: a.Sector, ChargedTo: policy.ChargedTo(a), Generation: a.Generation}
	if !p.config.OpenID || !slices.Contains(scopes, "openid") {
		return g, "" // it does not depend on the session
	}
	if !p.rules.OutlivesSession(scopes) {
		g.SessionEndsAt = s.Session.ExpiresAt
	}
	if a.BackchannelURI != "" {
		owner = turnOf(a)
	}
	return g, owner
}

// turnOf names whose turn the logout notifications of an application take. Nobody is responsible for an open
// application, and anybody can register many, so all at one registered domain are one.
func turnOf(a storage.Application) string {
	if policy.StandingOf(a) == policy.StandingOpen {
		return "open:" + places.Host(a.BackchannelURI)
	}
	return cmp.Or(oauth.Deref(a.OwnerID), a.ID)
}

// NewPair makes an access token and a refresh token of a family. The access token has
// the given scope and audience, and the refresh token has the whole scope and audience of
// the family (RFC 8707 §2.2). The refresh token expires when it is not used for its
// lifetime, and at the latest with the family.
func (p *Tokens) NewPair(ctx context.Context, a storage.Application, f Family, scope []string,
	audience resources.Audience, from Source) (Pair, error) {
	at := from.At
	narrowed := strings.Join(scope, " ")
	access, err := p.newAccess(ctx, a, f, narrowed, audience, from)
	if err != nil {
		return Pair{}, err
	}
	refresh := from.RefreshToken()
	// RFC 9449 §5: the refresh token of a client that authenticates is bound to the client. The
	// access tokens that it gets stay bound, to the key of the request.
	bound := f.Bound
	if a.ClientType == policy.Confidential {
		bound = bound.Kind()
	}
	refreshEnd := min(at+p.rules.RefreshLifetime(a), f.Began+oauth.Seconds(p.config.RefreshTokenMaxLifetime))
	if f.SessionEndsAt > 0 {
		refreshEnd = min(refreshEnd, f.SessionEndsAt)
	}
	return Pair{
		Answer: &TokenResponse{AccessToken: access.Text, ExpiresIn: max(0, access.End-oauth.Now()), Scope: narrowed,
			RefreshToken: refresh},
		Tokens: append(access.rows, storage.Token{Digest: seal.Digest(refresh), Refresh: true, GrantID: &f.GrantID,
			Scope: f.Scope, IssuedAt: at, ExpiresAt: refreshEnd, ChargedTo: policy.ChargedTo(a), Resource: f.Resource,
			CNF: string(bound)}),
		ExpiresAt: max(access.End, refreshEnd),
	}, nil
}

// Source is what the opaque tokens of a pair are made from, and when. The same source makes the same tokens.
type Source struct {
	At              int64
	access, refresh [32]byte
}

// AccessToken returns the opaque access token that it makes.
func (s Source) AccessToken() string { return opaque(AccessPrefix, s.access) }

// RefreshToken returns the refresh token that it makes.
func (s Source) RefreshToken() string { return opaque(refreshPrefix, s.refresh) }

func opaque(prefix string, random [32]byte) string {
	return prefix + base64.RawURLEncoding.EncodeToString(random[:])
}

// Anew returns a source of random tokens.
func Anew() Source {
	s := Source{At: oauth.Now()}
	rand.Read(s.access[:]) // never fails
	rand.Read(s.refresh[:])
	return s
}

// Derived returns the source of the tokens that take the place of a refresh token. Whoever does not know the text of
// that token learns nothing from the salt: the text has 256 random bits. Whoever knows one half of an HMAC knows
// nothing of the other half.
func Derived(refreshToken, salt string, at int64) Source {
	s := Source{At: at}
	sum := seal.LongMac([]byte(refreshToken), salt)
	copy(s.access[:], sum[:32])
	copy(s.refresh[:], sum[32:])
	return s
}

// The prefixes of authorization codes, device codes, access tokens and refresh tokens.
// Scanners for leaked secrets recognize them.
const (
	CodePrefix    = "mac_"
	DevicePrefix  = "mdc_"
	AccessPrefix  = "mat_"
	refreshPrefix = "mrt_"
)

// NewOpaque returns a new random token with a prefix, and the digest under which the
// database stores it.
func NewOpaque(prefix string) (text, sum string) {
	text = prefix + seal.Random(32)
	return text, seal.Digest(text)
}
