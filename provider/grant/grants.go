package grant

import (
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ory/fosite"
	"github.com/ory/fosite/handler/oauth2"

	"mandate/provider/framework"
	"mandate/provider/limits"
	"mandate/provider/people"
	"mandate/provider/policy"
	"mandate/provider/tokens"
	"mandate/storage"
)

// GrantConfig is what an operator decides about the token endpoint.
type Config struct {
	RefreshGrace      time.Duration
	KeepRefreshTokens bool // confidential applications keep theirs; public ones always rotate
}

// Grants run the token endpoint.
type Grants struct {
	config     Config
	rules      *policy.Rules
	store      *storage.Store
	limits     *limits.Limits
	people     *people.People
	tokens     *tokens.Tokens
	fosite     *fosite.Fosite
	log        *slog.Logger
	issued     counters
	deprecated sync.Map // applications that the log has named for their password grant
}

// NewGrants makes the component, and adds its handlers to fosite.
func New(config Config, rules *policy.Rules, store *storage.Store, l *limits.Limits, people *people.People, t *tokens.Tokens, f *fosite.Fosite, log *slog.Logger) *Grants {
	p := &Grants{config: config, rules: rules, store: store, limits: l, people: people, tokens: t, fosite: f, log: log}
	helper := &oauth2.HandleHelper{AccessTokenStrategy: framework.TokenStrategy{}, AccessTokenStorage: accessTokens{p: p}, Config: framework.ConfigOf(f)}
	framework.ConfigOf(f).TokenEndpointHandlers = fosite.TokenEndpointHandlers{
		&codeGrant{p},
		&refreshGrant{p},
		&ClientGrant{&oauth2.ClientCredentialsGrantHandler{HandleHelper: helper, Config: framework.ConfigOf(f)}, p},
		&passwordGrant{p},
	}
	return p
}

// Counters count the tokens that were issued since the start of the process.
type counters struct{ access, refresh, ids atomic.Int64 }

// Issued says how many tokens were issued since the start of the process.
func (p *Grants) Counts() (access, refresh, ids int64) {
	return p.issued.access.Load(), p.issued.refresh.Load(), p.issued.ids.Load()
}

func (c *counters) issue(answer *tokens.TokenResponse) {
	c.access.Add(1)
	if answer.RefreshToken != "" {
		c.refresh.Add(1)
	}
	if answer.IDToken != "" {
		c.ids.Add(1)
	}
}
