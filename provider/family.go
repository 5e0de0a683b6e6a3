package provider

import (
	"context"
	"mandate/provider/oauth"
	"mandate/provider/policy"
	"mandate/provider/seal"
	"mandate/storage"
	"strings"
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
type pair struct {
	answer    *TokenResponse
	tokens    []storage.Token // the refresh token's row is the last
	expiresAt int64           // of the later one
}

// family is what tokens have in common that came from one approval.
type family struct {
	grantID       string
	began         int64
	sessionEndsAt int64 // 0: it outlives the session
	scope         string

	userID, sector string
	login          int64 // when the person signed in for it; 0: they did not
}

func familyOf(g *storage.Grant) family {
	return family{g.ID, g.CreatedAt, g.SessionEndsAt, g.Scope, g.UserID, g.Sector, g.AuthTime}
}

// newPair makes both tokens of a family. The refresh token has the family's
// whole scope; it ends after disuse, and with the family.
func (p *Tokens) newPair(ctx context.Context, a Application, f family, scope []string) (pair, error) {
	at := oauth.Now()
	narrowed := strings.Join(scope, " ")
	access, err := p.newAccess(ctx, a, f, narrowed)
	if err != nil {
		return pair{}, failed(err)
	}
	refresh, refreshDigest := mint(refreshPrefix)
	refreshEnd := min(at+p.rules.RefreshLifetime(a), f.began+oauth.Seconds(p.config.RefreshTokenMaxLifetime))
	if f.sessionEndsAt > 0 {
		refreshEnd = min(refreshEnd, f.sessionEndsAt)
	}
	return pair{
		answer:    &TokenResponse{AccessToken: access.text, ExpiresIn: access.end - at, Scope: narrowed, RefreshToken: refresh},
		tokens:    append(access.rows, storage.Token{Digest: refreshDigest, Refresh: true, GrantID: &f.grantID, Scope: f.scope, IssuedAt: at, ExpiresAt: refreshEnd, ChargedTo: policy.ChargedTo(a)}),
		expiresAt: max(access.end, refreshEnd),
	}, nil
}

// The texts that this server gives out, each known by its beginning so that a
// scanner for leaked secrets finds it.
const (
	codePrefix    = "mac_"
	accessPrefix  = "mat_"
	refreshPrefix = "mrt_"
)

func mint(prefix string) (text, sum string) {
	text = prefix + seal.Random(32)
	return text, seal.Digest(text)
}
