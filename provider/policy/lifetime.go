package policy

import (
	"cmp"
	"time"

	"mandate/provider/oauth"
	"mandate/storage"
)

func (c *Rules) AccessLifetime(a storage.Application) int64 {
	most := c.AllowanceOf(a).AccessMax
	if a.AccessTokenFormat == FormatJWT {
		most = c.AllowanceOf(a).JWTMax
	}
	return min(cmp.Or(a.AccessTokenLifetime, oauth.Seconds(c.OwnLifetime(a))), most)
}

// ownLifetime is what the server gives the access tokens of an application that
// says nothing of them.
func (c *Rules) OwnLifetime(a storage.Application) time.Duration {
	if a.AccessTokenFormat == FormatJWT {
		return c.JWTAccessTokenLifetime
	}
	return c.AccessTokenLifetime
}

func (c *Rules) RefreshLifetime(a storage.Application) int64 {
	return min(cmp.Or(a.RefreshTokenLifetime, oauth.Seconds(c.RefreshTokenLifetime)), c.AllowanceOf(a).RefreshMax)
}
