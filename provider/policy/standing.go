package policy

import (
	"strings"
	"time"

	"mandate/provider/oauth"
	"mandate/storage"
)

// Standing says who answers for an application. It follows from who does so now:
// nothing keeps a standing that was once deserved.
type Standing string

const (
	// StandingAdministrator: the operator at the command line, or an owner who is an
	// administrator, answers for the application.
	StandingAdministrator Standing = "administrator"
	// StandingPerson: an owner without administrator rights answers for it.
	StandingPerson Standing = "person"
	// StandingOpen: the application registered itself.
	StandingOpen Standing = "open"
)

// Standings lists them, from the most trusted to the least.
func Standings() []Standing { return []Standing{StandingAdministrator, StandingPerson, StandingOpen} }

// StandingOf is the standing of an application. An application whose owner is
// missing or not active has that of a person's, and is suspended.
func StandingOf(a storage.Application) Standing {
	switch {
	case a.Responsible == storage.ByNobody:
		return StandingOpen
	case a.Responsible == storage.ByOperator, oauth.Deref(a.OwnerAdministrator) && oauth.Deref(a.OwnerActive):
		return StandingAdministrator
	}
	return StandingPerson
}

// standingOfPerson is that of the applications of somebody who is active.
func StandingOfPerson(u storage.User) Standing {
	return StandingOf(storage.Application{Responsible: storage.ByOwner, OwnerActive: &u.Active, OwnerAdministrator: &u.Administrator})
}

// Suspended says that nobody answers for an application who should: its owner's
// account is not active, or gone. It works again when there is somebody.
func Suspended(a storage.Application) bool {
	return a.Responsible == storage.ByOwner && !oauth.Deref(a.OwnerActive)
}

// suspended is what a client hears that has proven who it is, and a person whom it
// sends here.
const SuspendedText = "This application is suspended: the account of its owner is not active. An administrator can activate the account, or take the application over."

// Allowance is what a standing allows. Every decision that depends on who
// answers for an application asks it, and an application's own settings can only
// narrow it.
type Allowance struct {
	Grants      []string // that may be registered and used
	PublicOnly  bool     // no client secret is given out
	Scopes      []string // in the operator's order; without introspection, which Vouched brings
	AccessMax   int64    // seconds, of an opaque access token
	JWTMax      int64    // seconds, of a signed access token
	RefreshMax  int64    // seconds a refresh token may lie unused
	OwnLifetime bool     // the application may have lifetimes of its own
	Vouched     bool     // it may skip consent, introspect and omit PKCE, where an administrator switched that on
	Quota       Quota
}

// Quota is how much those who answer for applications may have. 0 is no bound.
type Quota struct {
	Applications    int
	Sessions        int // of the person's own
	Approvals       int // grants that live
	TokensPerMinute int // token responses, at each node
	LiveTokens      int // access and refresh tokens that are stored and have not expired
}

// openAccessMax bounds the access tokens of applications that nobody answers for.
const openAccessMax = int64(time.Hour / time.Second)

// Allowance gives what a standing allows.
func (c *Rules) Allowance(s Standing) Allowance {
	may, known := c.allowed[s]
	if !known {
		return c.allowance(s)
	}
	return may
}

// allowance is the one table of what each standing allows.
func (c *Rules) allowance(s Standing) Allowance {
	server := Allowance{
		Grants: []string{GrantCode, GrantClient, GrantPassword}, Scopes: oauth.Without(c.ScopeNames(), Introspection),
		AccessMax: oauth.Seconds(c.AccessTokenLifetime), JWTMax: oauth.Seconds(c.JWTAccessTokenLifetime), RefreshMax: oauth.Seconds(c.RefreshTokenLifetime),
	}
	switch s {
	case StandingAdministrator:
		server.OwnLifetime, server.Vouched = true, true
		server.AccessMax = max(server.AccessMax, oauth.Seconds(c.AccessTokenMax))
		server.JWTMax = max(server.JWTMax, oauth.Seconds(c.JWTAccessTokenMax))
		server.RefreshMax = max(server.RefreshMax, oauth.Seconds(c.RefreshTokenMaxLifetime))
	case StandingPerson:
		server.OwnLifetime = true
		server.Grants = oauth.Without(server.Grants, c.GrantsByAdministrator...)
		server.Scopes = oauth.Without(server.Scopes, c.ScopesByAdministrator...)
		server.Quota = c.PersonQuota
	default:
		server.PublicOnly = true
		server.Grants = []string{GrantCode}
		server.Scopes = oauth.Without(c.DefaultScopesOf(server.Scopes), c.ScopesByAdministrator...)
		server.AccessMax, server.JWTMax = min(server.AccessMax, openAccessMax), min(server.JWTMax, openAccessMax)
		server.Quota = c.OpenQuota
	}
	return server
}

// AllowanceOf gives what the standing of an application allows.
func (c *Rules) AllowanceOf(a storage.Application) Allowance { return c.allowed[StandingOf(a)] }

// Effective gives an application as it may act now: what it has registered, cut to
// what its standing allows. The rest stays registered, for the day on which
// somebody answers for it again.
func (c *Rules) Effective(a storage.Application) storage.Application {
	may := c.AllowanceOf(a)
	a.GrantTypes = strings.Join(oauth.Narrow(strings.Fields(a.GrantTypes), may.Grants), " ")
	if may.PublicOnly && a.ClientType != Public {
		a.GrantTypes = ""
	}
	a.MayIntrospect, a.SkipConsent, a.PKCEExempt = a.MayIntrospect && may.Vouched, a.SkipConsent && may.Vouched, a.PKCEExempt && may.Vouched
	if !may.OwnLifetime {
		a.AccessTokenLifetime, a.RefreshTokenLifetime = 0, 0
	}
	return a
}

// chargedTo names whose quota an application's grants and tokens count against;
// nil: nobody's.
func ChargedTo(a storage.Application) *string {
	switch StandingOf(a) {
	case StandingPerson:
		return a.OwnerID
	case StandingOpen:
		return new(EverybodyOpen)
	}
	return nil
}

// everybodyOpen is charged for all applications that nobody answers for. No
// person's id has a colon.
const EverybodyOpen = "open:"
