package tokens

import (
	"context"
	"strings"

	"mandate/provider/oauth"
	"mandate/provider/policy"
	"mandate/provider/seal"
	"mandate/storage"
)

// TokenResponse is the answer of the token endpoint (RFC 6749 §5.1).
type TokenResponse struct {
	AccessToken  string `json:"access_token"`
	TokenType    string `json:"token_type"`
	ExpiresIn    int64  `json:"expires_in"`
	Scope        string `json:"scope"`
	RefreshToken string `json:"refresh_token,omitempty"`
	IDToken      string `json:"id_token,omitempty"` // OIDC Core §3.1.3.3
}

// pair is an access token with its refresh token, made but not yet stored.
type Pair struct {
	Answer    *TokenResponse
	Tokens    []storage.Token // the refresh token's row is the last
	ExpiresAt int64           // of the later one
}

// family is what tokens have in common that came from one approval.
type Family struct {
	GrantID       string
	Began         int64
	SessionEndsAt int64 // 0: it outlives the session
	Scope         string

	UserID, Sector string
	Login          int64 // when the person signed in for it; 0: they did not
}

func FamilyOf(g *storage.Grant) Family {
	return Family{g.ID, g.CreatedAt, g.SessionEndsAt, g.Scope, g.UserID, g.Sector, g.AuthTime}
}

// newPair makes both tokens of a family. The refresh token has the family's
// whole scope; it ends after disuse, and with the family.
func (p *Tokens) NewPair(ctx context.Context, a storage.Application, f Family, scope []string) (Pair, error) {
	at := oauth.Now()
	narrowed := strings.Join(scope, " ")
	access, err := p.newAccess(ctx, a, f, narrowed)
	if err != nil {
		return Pair{}, err
	}
	refresh, refreshDigest := Mint(RefreshPrefix)
	refreshEnd := min(at+p.rules.RefreshLifetime(a), f.Began+oauth.Seconds(p.config.RefreshTokenMaxLifetime))
	if f.SessionEndsAt > 0 {
		refreshEnd = min(refreshEnd, f.SessionEndsAt)
	}
	return Pair{
		Answer:    &TokenResponse{AccessToken: access.Text, ExpiresIn: access.End - at, Scope: narrowed, RefreshToken: refresh},
		Tokens:    append(access.rows, storage.Token{Digest: refreshDigest, Refresh: true, GrantID: &f.GrantID, Scope: f.Scope, IssuedAt: at, ExpiresAt: refreshEnd, ChargedTo: policy.ChargedTo(a)}),
		ExpiresAt: max(access.End, refreshEnd),
	}, nil
}

// The texts that this server gives out, each known by its beginning so that a
// scanner for leaked secrets finds it.
const (
	CodePrefix    = "mac_"
	AccessPrefix  = "mat_"
	RefreshPrefix = "mrt_"
)

func Mint(prefix string) (text, sum string) {
	text = prefix + seal.Random(32)
	return text, seal.Digest(text)
}
