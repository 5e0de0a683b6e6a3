package grant

import (
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/ory/fosite"

	"mandate/provider/clients"
	"mandate/provider/limits"
	"mandate/provider/people"
	"mandate/provider/policy"
	"mandate/provider/possession"
	"mandate/provider/resources"
	"mandate/provider/tokens"
	"mandate/storage"
)

// Config holds the operator's settings for the token endpoint.
type Config struct {
	// ReuseProtection revokes the whole token family if a replaced refresh token is presented again after its grace
	// period, or after its successor was used.
	//
	// It cannot be disabled (RFC 9700 §4.14.2).
	ReuseProtection bool `key:"REFRESH_TOKEN_REUSE_PROTECTION" default:"true" subject:"Lifetimes" after:"REFRESH_TOKEN_GRACE_PERIOD_SECONDS"`
	// RotateRefreshTokens replaces a refresh token when it is used.
	//
	// It is for confidential applications without a setting of their own (`mandate application update
	// --refresh-rotation`) and without a profile. Refresh tokens of public applications always rotate (RFC 9700
	// §2.2.2), unless they are bound to a key or a certificate.
	RotateRefreshTokens bool `key:"ROTATE_REFRESH_TOKEN" default:"true"`
}

// Grants makes the decisions of the token endpoint.
type Grants struct {
	config     Config
	rules      *policy.Rules
	store      *storage.Store
	limits     *limits.Limits
	people     *people.People
	clients    *clients.Clients
	tokens     *tokens.Tokens
	apis       *resources.Resources
	proofs     *possession.Checks
	fosite     *fosite.Fosite
	grants     map[string]Grant // by grant_type
	log        *slog.Logger
	issued     counters
	deprecated sync.Map // the applications whose use of the password grant has been logged
}

// counters hold the numbers of tokens issued since the start of the process.
type counters struct{ access, refresh, ids atomic.Int64 }

// Counts returns how many access tokens, refresh tokens and ID tokens were issued since the
// start of the process.
func (p *Grants) Counts() (access, refresh, ids int64) {
	return p.issued.access.Load(), p.issued.refresh.Load(), p.issued.ids.Load()
}

// issue counts the tokens of a token response.
func (c *counters) issue(answer *tokens.TokenResponse) {
	c.access.Add(1)
	if answer.RefreshToken != "" {
		c.refresh.Add(1)
	}
	if answer.IDToken != "" {
		c.ids.Add(1)
	}
}
