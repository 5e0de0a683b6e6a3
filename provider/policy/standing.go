package policy

import (
	"slices"
	"strings"

	"mandate/provider/oauth"
	"mandate/provider/redirect"
	"mandate/storage"
)

// Standing says who is responsible for an application. It is computed from the present
// owner each time, and never stored: an application loses a standing together with the
// owner who gave it.
type Standing string

const (
	// StandingAdministrator: the operator at the command line, or an owner who is an
	// administrator, is responsible for the application.
	StandingAdministrator Standing = "administrator"
	// StandingPerson: an owner without administrator rights is responsible for it.
	StandingPerson Standing = "person"
	// StandingOpen: the application registered itself, and nobody is responsible for
	// it.
	StandingOpen Standing = "open"
)

// Standings returns all standings, from the most trusted to the least trusted.
func Standings() []Standing { return []Standing{StandingAdministrator, StandingPerson, StandingOpen} }

// StandingOf returns the standing of an application. An application whose owner is
// missing or disabled has StandingPerson, and is suspended.
func StandingOf(a storage.Application) Standing {
	switch {
	case a.Responsible == storage.ByNobody:
		return StandingOpen
	case a.Responsible == storage.ByOperator, oauth.Deref(a.OwnerAdministrator) && oauth.Deref(a.OwnerActive):
		return StandingAdministrator
	}
	return StandingPerson
}

// StandingOfPerson returns the standing of the applications that a person with an enabled account owns.
func StandingOfPerson(u storage.User) Standing {
	return StandingOf(OwnedBy(u))
}

// OwnedBy returns an application for which a person is responsible.
func OwnedBy(u storage.User) storage.Application {
	return storage.Application{Responsible: storage.ByOwner, OwnerActive: &u.Active, OwnerAdministrator: &u.Administrator}
}

// Suspended says that the person who is responsible for an application is missing: the
// account of its owner is disabled or deleted. The application works again when
// somebody else takes it over, or when the account is enabled again.
func Suspended(a storage.Application) bool {
	return a.Responsible == storage.ByOwner && !oauth.Deref(a.OwnerActive)
}

// DocumentOf returns the URL of the metadata document with which an application came, or "".
func DocumentOf(a storage.Application) string {
	if a.Origin == storage.FromDocument {
		return a.ClientID
	}
	return ""
}

// FollowsDocument reports whether the metadata document at its client id describes an
// application. As soon as somebody is responsible for the application, the registration
// does (CIMD-02 §7.2).
func FollowsDocument(a storage.Application) bool {
	return a.Origin == storage.FromDocument && a.Responsible == storage.ByNobody
}

// WhySuspended says why an application is suspended, or returns "". An application for which
// nobody is responsible is suspended while the operator does not allow it to come.
func (c *Rules) WhySuspended(a storage.Application) string {
	switch {
	case Suspended(a):
		return suspendedText
	case FollowsDocument(a) && (c.AllowsDocument == nil || !c.AllowsDocument(a.ClientID)):
		return "Applications with a metadata document may not come to this server, or not from this host: OPEN_CLIENTS and " +
			"OPEN_HOSTS of the server decide it."
	case a.Responsible == storage.ByNobody && a.Origin == storage.FromRegistration && !c.AllowsRegistration:
		return "Applications may not register themselves at this server: OPEN_CLIENTS of the server decides it."
	}
	return ""
}

// CameByItself reports whether an application registered itself or has a metadata document.
// What it says about itself was then checked by nobody, whoever is responsible for it now.
func CameByItself(a storage.Application) bool {
	return a.Origin == storage.FromRegistration || a.Origin == storage.FromDocument
}

// NeverSkipsConsent says why people are asked for their consent whatever an administrator has decided, or returns "".
func NeverSkipsConsent(a storage.Application) string {
	uris := oauth.Lines(a.RedirectURIs)
	elsewhere := slices.IndexFunc(uris, func(uri string) bool { return !redirect.AtHost(uri) })
	switch {
	case CameByItself(a):
		return "This application came by itself, so it never skips the consent page."
	case a.ClientType != Public:
		return ""
	// RFC 8252 §8.6: any program can use the client_id of a native client, and receive the response at a loopback address
	// or by a private-use scheme. A host with a certificate is one party.
	case elsewhere >= 0:
		return "Any program on the computer of a person can receive the response at " + oauth.Clip(uris[elsewhere], 200) +
			", so people are always asked. A public application skips the consent page only if each of its redirect URIs is " +
			"https at a host: remove this redirect URI, or turn this off."
	case len(uris) == 0:
		return "A public application without a redirect URI never skips the consent page."
	}
	return ""
}

// DescribesItself reports whether whoever registered an application, or its metadata document, still describes it, and
// no person has decided about it since.
func DescribesItself(a storage.Application) bool {
	return a.Management != "" || FollowsDocument(a)
}

// suspendedText describes the refusal of a suspended application, to a client that has
// authenticated and to a person whom it sends here.
const suspendedText = "This application is suspended: the account of its owner is disabled. An administrator can " +
	"enable the account, or take the application over."

// Allowance is what a standing allows. Every decision that depends on who is
// responsible for an application uses it. The application's own settings can only
// narrow it.
type Allowance struct {
	Grants       []string // grants that may be registered and used
	PublicOnly   bool     // the application is public, or authenticates by one of KeyMethods
	KeyMethods   []string // methods of client authentication
	Scopes       []string // in the operator's order; without introspection, which AdministratorRights allows
	AccessMax    int64    // the longest lifetime of an opaque access token, in seconds
	JWTMax       int64    // the longest lifetime of a signed access token, in seconds
	RefreshMax   int64    // the longest time that a refresh token may stay unused, in seconds
	RefreshGrace int64    // for how long a refresh token that was replaced returns its successor again, in seconds
	OwnLifetime  bool     // the application may have lifetimes of its own
	// an administrator may let it skip consent, introspect, omit PKCE, keep its refresh tokens, have claims in its ID
	// tokens, name an endpoint in its assertions and have weak redirect URIs
	AdministratorRights bool
	Quota               Quota
}

// Quota is how much the owner of applications may use. 0 means no limit.
type Quota struct {
	Applications    int
	Sessions        int // browser sessions of the owner
	Approvals       int // authorization grants that have not ended
	TokensPerMinute int // token responses, counted by each node
	LiveTokens      int // access and refresh tokens that are stored and have not expired
}

// Allowance returns what a standing allows.
func (c *Rules) Allowance(s Standing) Allowance {
	may, known := c.allowed[s]
	if !known {
		return c.allowance(s)
	}
	return may
}

// allowance holds the one table of what each standing allows.
func (c *Rules) allowance(s Standing) Allowance {
	server := Allowance{
		Grants: GrantNames(), Scopes: oauth.Without(c.ScopeNames(), Introspection),
		AccessMax: oauth.Seconds(c.AccessTokenLifetime), JWTMax: oauth.Seconds(c.JWTAccessTokenLifetime),
		RefreshMax:   oauth.Seconds(c.RefreshTokenLifetime),
		RefreshGrace: oauth.Seconds(c.RefreshGrace),
	}
	switch s {
	case StandingAdministrator:
		server.OwnLifetime, server.AdministratorRights = true, true
		server.AccessMax = max(server.AccessMax, oauth.Seconds(c.AccessTokenMax))
		server.JWTMax = max(server.JWTMax, oauth.Seconds(c.JWTAccessTokenMax))
		server.RefreshMax = max(server.RefreshMax, oauth.Seconds(c.RefreshTokenMaxLifetime))
	case StandingPerson:
		server.OwnLifetime = true
		server.Grants = oauth.Without(OwnerGrants(), c.GrantsByAdministrator...)
		server.Scopes = oauth.Without(server.Scopes, c.ScopesByAdministrator...)
		server.Quota = Quota(c.PersonQuota)
	default:
		server.PublicOnly, server.KeyMethods = true, c.KeyMethods
		server.Grants = []string{GrantCode}
		server.Scopes = oauth.Without(c.openScopes(server.Scopes), c.ScopesByAdministrator...)
		server.AccessMax, server.JWTMax = min(server.AccessMax, oauth.Seconds(c.OpenAccessTokenLifetime)),
			min(server.JWTMax, oauth.Seconds(c.OpenAccessTokenLifetime))
		server.RefreshMax = min(server.RefreshMax, oauth.Seconds(c.OpenRefreshTokenLifetime))
		// The agents on one computer share a refresh token, and do not know of each other.
		server.RefreshGrace = oauth.Seconds(c.OpenRefreshGrace)
		server.Quota = Quota(c.OpenQuota)
	}
	return server
}

// AllowanceOf returns what the standing of an application allows.
func (c *Rules) AllowanceOf(a storage.Application) Allowance { return c.allowed[StandingOf(a)] }

// Authenticates reports whether an application may authenticate so, or need not.
func (a Allowance) Authenticates(clientType, method string) bool {
	return !a.PublicOnly || clientType == Public || slices.Contains(a.KeyMethods, method)
}

// strong leaves out the redirect URIs for which somebody with administrator rights must answer.
func (c *Rules) strong(a storage.Application, uris string) string {
	weak := func(uri string) bool {
		scheme, _, _ := strings.Cut(uri, ":")
		why := redirect.WeaknessOf(uri)
		return why != "" && !(why == redirect.Undotted && CameByItself(a) && slices.Contains(c.OpenSchemes, scheme))
	}
	return strings.Join(slices.DeleteFunc(oauth.Lines(uris), weak), "\n")
}

// ChargedTo returns the id of the person whose quota an application's grants and tokens
// count against, or openApplications, or nil if no quota applies.
func ChargedTo(a storage.Application) *string {
	switch StandingOf(a) {
	case StandingPerson:
		return a.OwnerID
	case StandingOpen:
		return new(openApplications)
	}
	return nil
}

// RequestsOf returns the quota against which requests of an application count that wait for
// a person. The applications of one owner share it, because an owner can register many.
func RequestsOf(a storage.Application) string {
	if owner := ChargedTo(a); owner != nil {
		return *owner
	}
	return a.ID
}

// openApplications stands for the one quota that all applications share for which nobody
// is responsible. The id of a person has no colon, so it is never equal to this.
const openApplications = "open:"
