package policy

import (
	"cmp"
	"time"

	"mandate/provider/oauth"
	"mandate/storage"
)

// AccessLifetime returns the lifetime of an application's access tokens in seconds: its
// own or the server's, limited to what its standing allows.
func (c *Rules) AccessLifetime(a storage.Application) int64 {
	most := c.AllowanceOf(a).AccessMax
	if a.AccessTokenFormat == FormatJWT {
		most = c.AllowanceOf(a).JWTMax
	}
	return min(cmp.Or(a.AccessTokenLifetime, oauth.Seconds(c.OwnLifetime(a))), most)
}

// OwnLifetime returns the lifetime that the server sets for access tokens in the
// application's format. It applies to an application without a lifetime of its own.
func (c *Rules) OwnLifetime(a storage.Application) time.Duration {
	if a.AccessTokenFormat == FormatJWT {
		return c.JWTAccessTokenLifetime
	}
	return c.AccessTokenLifetime
}

// RefreshLifetime returns the number of seconds after which an unused refresh token of
// an application expires: its own or the server's, limited to what its standing allows.
func (c *Rules) RefreshLifetime(a storage.Application) int64 {
	return min(cmp.Or(a.RefreshTokenLifetime, oauth.Seconds(c.RefreshTokenLifetime)), c.AllowanceOf(a).RefreshMax)
}

// RefreshEnd returns when an unused refresh token of an application expires: at its own
// expiry, limited to what the standing of the application allows now.
func (c *Rules) RefreshEnd(a storage.Application, token storage.Token) int64 {
	return min(token.ExpiresAt, token.IssuedAt+c.AllowanceOf(a).RefreshMax)
}
