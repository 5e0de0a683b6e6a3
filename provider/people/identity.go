package people

import (
	"context"
	"errors"
	"net/http"
	"slices"

	"mandate/provider/events"
	"mandate/provider/notices"
	"mandate/provider/oauth"
	"mandate/provider/outbound"
	"mandate/provider/policy"
	"mandate/provider/seal"
	"mandate/provider/upstream"
	"mandate/storage"
)

// Server is another OpenID Provider with which people sign in, as the operator has configured it.
type Server struct {
	// Name is a part of the redirect URI, so it must not change: lower-case letters, digits and `-`.
	Name string `key:"NAME" default:""`
	// Label is what the button and the texts for people call the server. By default it is the name.
	Label string `key:"LABEL" default:""`
	// Issuer is the issuer of the server, character by character (OIDC Discovery §3).
	//
	// The server reads its metadata from there when somebody signs in, and at most every five minutes. An address in a
	// special-use network needs `OUTBOUND_ALLOWED_NETWORKS`.
	Issuer string `key:"ISSUER" default:""`
	// ClientID is the client id of Mandate there.
	ClientID string `key:"CLIENT_ID" default:""`
	// ClientSecret is the client secret of Mandate there.
	ClientSecret string `key:"CLIENT_SECRET" default:"" secret:"true"`
	// Scopes are the scopes that Mandate requests there.
	Scopes []string `key:"SCOPES" default:"[openid, profile, email]"`
	// TrustedForEmail links a person of that server, at the first sign-in, to the only person here who has the same
	// email address, if the address is verified there and here.
	//
	// Whoever controls that server can then sign in as any of these people.
	TrustedForEmail bool `key:"TRUSTED_FOR_EMAIL" default:"false"`
	// NewPeople says who gets an account at the first sign-in: nobody (`off`), people with an
	// [invitation](sign-up.md), or those of `ALLOWED_DOMAINS`.
	//
	// With `invited`, the verified email address of the person there has an invitation here. With `domains`, it has
	// one of the `ALLOWED_DOMAINS`. Nobody gets an account if somebody here has the address.
	NewPeople string `key:"NEW_PEOPLE" default:"off" oneof:"off invited domains"`
	// AllowedDomains are the domains for `NEW_PEOPLE: domains` and `ASSUME_EMAIL_VERIFIED`, in lower case. A subdomain
	// needs an entry of its own.
	AllowedDomains []string `key:"ALLOWED_DOMAINS" default:"[]"`
	// AssumeVerified takes an address in the `ALLOWED_DOMAINS` as verified if that server says nothing about it. Entra
	// ID needs this: it sends no `email_verified`.
	//
	// An address that is said not to be verified stays refused. Set it only if nobody there can choose an address in
	// these domains: in the attack nOAuth of 2023, people of an Entra ID tenant wrote the address of somebody else
	// into their own account, and signed in as that person elsewhere. The optional claim `xms_edov` is the better way
	// there, and counts without this setting.
	AssumeVerified bool `key:"ASSUME_EMAIL_VERIFIED" default:"false"`
	// GroupsClaim is the claim in which that server names the groups or roles of a person.
	GroupsClaim string `key:"GROUPS_CLAIM" default:""`
	// Groups is a mapping from values of that claim to groups here. At each sign-in a person becomes a member of
	// exactly those mapped groups whose value is in the claim.
	//
	// Other groups stay.
	Groups []Mapped `key:"GROUPS" default:"{}"`
	// ACR is a mapping from the values of `acr` there to `urn:mandate:acr:password`, `urn:mandate:acr:mfa`, `phr` or
	// `urn:mandate:acr:passkey`.
	//
	// A login with any other value, or without one, counts as one by password.
	ACR []Mapped `key:"ACR" default:"{}"`
	// Logout offers to sign out there too after signing out here (OIDC RP-Logout §2). Register `BASE_URL/` there as a
	// post-logout redirect URI.
	Logout bool `key:"LOGOUT" default:"false"`

	RedirectURI string // of this server alone
}

// Mapped is a value of another server, and what it means here.
type Mapped struct{ From, To string }

// The policies about new people. An empty policy is NewPeopleOff.
const (
	NewPeopleOff     = "off"
	NewPeopleDomains = "domains"
	NewPeopleInvited = "invited" // whose address has an invitation
)

// Identities signs people in with other servers (OIDC Core), and manages the identities that belong to
// their accounts.
type Identities struct {
	people  *People
	servers []*server // in the operator's order
	tickets seal.Sealer
}

// server is a Server and its client.
type server struct {
	Server
	openID *upstream.Server
}

// NewIdentities makes the component. It sends no request: a server that does not answer must not stop
// this one. tickets seals what a browser keeps while its person is at another server.
func NewIdentities(p *People, calls *outbound.Client, tickets seal.Sealer) *Identities {
	i := &Identities{people: p, tickets: tickets}
	for _, s := range p.config.Servers {
		i.servers = append(i.servers,
			&server{s, upstream.New(upstream.Config{Issuer: s.Issuer, ClientID: s.ClientID, ClientSecret: s.ClientSecret,
				RedirectURI: s.RedirectURI, Scopes: s.Scopes, Log: p.log}, calls)})
	}
	return i
}

// Servers returns the other servers, in the operator's order.
func (i *Identities) Servers() []Server { return i.people.config.Servers }

// Server returns the server of a name, or ErrNotFound.
func (i *Identities) Server(name string) (Server, error) {
	s, err := i.named(name)
	if err != nil {
		return Server{}, err
	}
	return s.Server, nil
}

func (i *Identities) named(name string) (*server, error) {
	at := slices.IndexFunc(i.servers, func(s *server) bool { return s.Name == name })
	if at < 0 {
		return nil, oauth.ErrNotFound
	}
	return i.servers[at], nil
}

// MaxIdentities is how many identities a person may have.
const MaxIdentities = 20

// OwnIdentity is an identity of a person, for pages.
type OwnIdentity struct {
	ID     string // for paths
	Server Server // only Issuer is set if the server is not configured any more
	storage.Identity
}

// identityID returns the name of an identity in paths.
func identityID(one storage.Identity) string { return seal.Digest(one.Issuer + "\x00" + one.Subject) }

// Of returns the identities of a person, the oldest first.
func (i *Identities) Of(ctx context.Context, userID string) ([]OwnIdentity, error) {
	stored, err := i.people.store.IdentitiesOf(ctx, userID)
	var own []OwnIdentity
	for _, one := range stored {
		found := OwnIdentity{identityID(one), Server{Issuer: one.Issuer}, one}
		for _, s := range i.servers {
			if s.Issuer == one.Issuer {
				found.Server = s.Server
			}
		}
		own = append(own, found)
	}
	return own, oauth.Stored(err)
}

// server returns the object of an event about an account of another server. It does not name the person there.
func (p *People) server(issuer string) events.Object {
	named := events.Object{Kind: "account", ID: issuer}
	for _, s := range p.config.Servers {
		if s.Issuer == issuer {
			named.Name = s.Label
		}
	}
	return named
}

// identity returns an identity of a person by its identityID, or ErrNotFound.
func (p *People) identity(ctx context.Context, userID, id string) (storage.Identity, error) {
	stored, err := p.store.IdentitiesOf(ctx, userID)
	if err != nil {
		return storage.Identity{}, oauth.Unavailable(err)
	}
	for _, one := range stored {
		if identityID(one) == id {
			return one, nil
		}
	}
	return storage.Identity{}, oauth.ErrNotFound
}

// ways returns the ways to sign in that people can use now, beside a password.
func (p *People) ways() storage.Ways {
	ways := storage.Ways{Passkeys: p.config.Passkeys}
	for _, s := range p.config.Servers {
		ways.Issuers = append(ways.Issuers, s.Issuer)
	}
	return ways
}

// RemoveOf is Remove by another administrator, who must have signed in a moment ago. No session ends. again lets the
// address of the person link an account of that server again: it may name the person differently now.
func (i *Identities) RemoveOf(ctx context.Context, actor policy.Actor, userID, id string, again bool) error {
	u, err := i.people.helped(ctx, actor, userID, "remove an account of another server of somebody")
	if err != nil {
		return err
	}
	one, err := i.people.identity(ctx, u.ID, id)
	if err != nil {
		return err
	}
	removed := events.Event{Kind: events.FactorRemoved, Person: u, Object: i.people.server(one.Issuer)}
	told := i.people.notices.FactorChanged(u, notices.AccountRemoved)
	if again {
		removed.Detail = "may-return"
		err = i.people.store.ForgetIdentity(events.Attach(ctx, removed), one, i.people.ways(), told...)
	} else {
		err = i.people.store.DeleteIdentity(events.Attach(ctx, removed), one, i.people.ways(), nil, told...)
	}
	i.people.notices.Wake()
	return theirOnlyWay(err)
}

// helped returns the person whose ways to sign in an administrator changes. The administrator's own are on the account
// page, which also renews the session.
func (p *People) helped(ctx context.Context, actor policy.Actor, userID, what string) (storage.User, error) {
	err := actor.MustAdminister(what)
	if err == nil && actor.Is(userID) {
		err = oauth.Refuse("access_denied", "Change your own ways to sign in on your account page.")
	}
	if err == nil {
		err = actor.MustConfirm()
	}
	if err != nil {
		return storage.User{}, err
	}
	return p.User(ctx, userID)
}

// theirOnlyWay returns the error for a way to sign in of somebody else that could not be removed.
func theirOnlyWay(err error) error {
	if errors.Is(err, storage.ErrLastWay) {
		e := oauth.Refuse("access_denied", "This is the only way in which the person can sign in here. Set a password "+
			"first, or disable the account.")
		e.Status = http.StatusConflict
		return e.Because(err)
	}
	return oauth.Stored(err)
}

// Remove deletes an identity of a person who has signed in a moment ago. The session gets another cookie. It returns
// ErrConfirm if that is longer ago, an Error if the person could not sign in any more, and ErrNotFound if the person
// has no such identity.
func (i *Identities) Remove(ctx context.Context, s *storage.SignedIn, id string) (*SignIn, error) {
	err := i.people.Confirmed(ctx, s)
	if err != nil {
		return nil, err
	}
	one, err := i.people.identity(ctx, s.User.ID, id)
	if err != nil {
		return nil, err
	}
	r, in := renewal(s)
	removed := events.Event{Kind: events.FactorRemoved, Person: s.User, Object: i.people.server(one.Issuer)}
	err = i.people.store.DeleteIdentity(events.Attach(ctx, removed), one, i.people.ways(), &r,
		i.people.notices.FactorChanged(s.User, notices.AccountRemoved)...)
	if errors.Is(err, storage.ErrLastWay) {
		return nil, onlyWay(err)
	}
	return i.people.renewed(in, err)
}

// onlyWay returns the Error for the last way in which a person can sign in, which cannot be removed.
func onlyWay(cause error) error {
	e := oauth.Refuse("access_denied", "This is the only way in which you can sign in here. Add another one first.")
	e.Status = http.StatusConflict
	return e.Because(cause)
}

// EndSessionURL returns the address at which a person signs out at the other server, and then comes back.
// It is empty if the other server has none, or the operator does not want it.
func (i *Identities) EndSessionURL(ctx context.Context, name, back string) (string, error) {
	s, err := i.named(name)
	if err != nil || !s.Logout {
		return "", err
	}
	address, err := s.openID.EndSessionURL(ctx, back)
	if err != nil {
		return "", s.arrivalError(err)
	}
	return address, nil
}

// LogoutOf returns the server at which a person can sign out too after signing out of a session, or "".
func (i *Identities) LogoutOf(s *storage.SignedIn) string {
	for _, other := range i.servers {
		if other.Logout && s.Session.Issuer != "" && other.Issuer == s.Session.Issuer {
			return other.Name
		}
	}
	return ""
}
