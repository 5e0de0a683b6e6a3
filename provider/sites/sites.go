// Package sites lets people in to applications that know no OpenID Connect. A reverse proxy asks about each request to
// such a site (forward auth), and this server answers from the session of the person. The person signs in by the
// ordinary authorization code flow with PKCE, whose redirect URI is below the host of the site, so that the cookie of
// the site is for this host alone.
package sites

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"mandate/provider/acr"
	"mandate/provider/clients"
	"mandate/provider/copies"
	"mandate/provider/jose"
	"mandate/provider/keys"
	"mandate/provider/oauth"
	"mandate/provider/people"
	"mandate/provider/policy"
	"mandate/provider/seal"
	"mandate/storage"
)

// Sites decides about the requests to sites.
type Sites struct {
	config   Config
	store    *storage.Store
	clients  *clients.Clients
	people   *people.People
	keys     *keys.Ring
	states   seal.Sealer // what the browser carries through a sign-in
	hosts    *copies.Copies[storage.Site]
	sessions *copies.Copies[storage.SiteSession]
}

// Config is what the component needs of the other settings.
type Config struct {
	Issuer string
	OpenID bool
}

// New makes the component.
func New(config Config, store *storage.Store, c *clients.Clients, p *people.People, ring *keys.Ring, states seal.Sealer,
	changes *copies.Changes) *Sites {
	return &Sites{config: config, store: store, clients: c, people: p, keys: ring, states: states,
		hosts: copies.New(10_000, changes, siteChanged), sessions: copies.New(50_000, changes, sessionChanged)}
}

func siteChanged(c *copies.Changes, read time.Time, s *storage.Site) bool {
	return c.Has(storage.OfApplication, &s.ApplicationID, read)
}

// sessionChanged reports whether a record that a copied session depends on has changed, or a membership has ended.
func sessionChanged(c *copies.Changes, read time.Time, n *storage.SiteSession) bool {
	return n.ChangesAt > 0 && n.ChangesAt <= oauth.Now() ||
		c.Has(storage.OfSession, &n.SessionID, read) || c.Has(storage.OfUser, &n.UserID, read) ||
		c.Has(storage.OfApplication, &n.ApplicationID, read) || c.Has(storage.OfUser, n.OwnerID, read)
}

// DropCopies removes the copies that are too old.
func (p *Sites) DropCopies() {
	p.hosts.Drop()
	p.sessions.Drop()
}

// Decision is the answer to a reverse proxy.
type Decision struct {
	Allowed  bool
	Identity Identity // the zero value at a public path
	// SignIn is the address at which a browser gets a session for this request, or "": the request is allowed, or a
	// browser cannot send it again.
	SignIn            string
	ClientID, Subject string // for the log
}

// Identity is what an application learns of the person of an allowed request. A value that no header can hold is empty.
type Identity struct {
	User, Email, Name, Groups string
	Assertion                 string // a signed JWT with the same, or ""
}

// Headers returns the headers about the person. All of them are always there: some proxies leave what the client has
// sent if the answer has no such header.
func (who Identity) Headers() map[string]string {
	return map[string]string{"Remote-User": who.User, "Remote-Email": who.Email, "Remote-Name": who.Name,
		"Remote-Groups": who.Groups, "X-Mandate-Assertion": who.Assertion}
}

// Decide decides about a request to a site. cookie is the value of the cookie of the site, or "".
func (p *Sites) Decide(ctx context.Context, f Forwarded, cookie string) (Decision, error) {
	site, err := p.site(ctx, f.Host)
	if err != nil {
		return Decision{}, err
	}
	found := Decision{ClientID: site.ClientID}
	if isPublic(f.Target, oauth.Lines(site.PublicPaths)) {
		found.Allowed = true
		return found, nil
	}
	session, err := p.session(ctx, cookie, f.Host)
	if errors.Is(err, storage.ErrNotFound) || err == nil && !strongEnough(site, session) {
		found.SignIn = signInAt(f)
		return found, nil
	}
	if err != nil {
		return Decision{}, oauth.Unavailable(err)
	}
	found.Subject = session.UserID
	found.Identity, err = p.identity(ctx, site, session)
	found.Allowed = err == nil
	return found, err
}

// site returns the site of a host. It is an Error with status 403 if there is none, or if it lets in nobody.
func (p *Sites) site(ctx context.Context, host string) (storage.Site, error) {
	site, err := p.hosts.Get(ctx, host, p.store.SiteOfHost, func(storage.Site) bool { return true })
	if errors.Is(err, storage.ErrNotFound) {
		return site, unknownHost()
	}
	if err == nil && site.Suspended {
		return site, oauth.ForPerson(http.StatusForbidden, "access_denied", "",
			"This site is suspended, and lets in nobody: ask an administrator of this server.")
	}
	return site, oauth.Stored(err)
}

func unknownHost() error {
	return &oauth.Error{Status: http.StatusForbidden, Code: "access_denied", Description: "This server knows no site " +
		"with that host: add it with mandate site add, or correct what the reverse proxy sends."}
}

// session returns the session of a cookie at a host, or storage.ErrNotFound.
func (p *Sites) session(ctx context.Context, cookie, host string) (storage.SiteSession, error) {
	if cookie == "" || len(cookie) > maxCookie {
		return storage.SiteSession{}, storage.ErrNotFound
	}
	digest := seal.Digest(cookie)
	read := func(ctx context.Context, _ string) (storage.SiteSession, error) { return p.read(ctx, digest, host) }
	// A session that ends soon without use is read each time: a copy would hide its use.
	lasts := func(storage.SiteSession) bool { return p.people.TouchEvery() >= int64(copies.Life.Seconds()) }
	found, err := p.sessions.Get(ctx, digest+" "+host, read, lasts)
	if err == nil && found.ExpiresAt <= oauth.Now() {
		err = storage.ErrNotFound
	}
	return found, err
}

// read reads a session of a site. Its use is a use of the session of the person.
func (p *Sites) read(ctx context.Context, digest, host string) (storage.SiteSession, error) {
	at := oauth.Now()
	found, err := p.store.SiteSession(ctx, digest, host, at, p.people.IdleSince(at))
	if every := p.people.TouchEvery(); err == nil && at-found.SeenAt >= every {
		err = p.store.TouchSession(ctx, found.SessionID, at, every)
	}
	return found, err
}

const maxCookie = 128

func strongEnough(site storage.Site, session storage.SiteSession) bool {
	return site.RequiredACR == "" || acr.Satisfies(session.AMR, site.RequiredACR)
}

// identity returns what the application of a site learns of the person.
func (p *Sites) identity(ctx context.Context, site storage.Site, n storage.SiteSession) (Identity, error) {
	profile, err := people.ProfileOf(storage.User{ID: n.UserID, Profile: n.Profile})
	if err != nil {
		return Identity{}, err
	}
	who := Identity{User: printable(n.Username), Name: printable(n.FullName())}
	// An application takes the address for the name of the person: nobody gets in as somebody else by an address that
	// nobody has confirmed.
	if profile.EmailVerified {
		who.Email = printable(n.Email)
	}
	var groups []string
	for _, name := range n.Groups {
		// A group with a comma in its name would be two other groups in the list.
		if !strings.Contains(name, ",") && printable(name) != "" {
			groups = append(groups, name)
		}
	}
	who.Groups = strings.Join(groups, ",")
	if site.Assertion {
		who.Assertion, err = p.assertion(ctx, n, who, groups)
	}
	return who, err
}

// printable returns a text if a header can hold it, and otherwise "".
func printable(text string) string {
	if strings.ContainsFunc(text, func(c rune) bool { return c < ' ' || c == 0x7f }) {
		return ""
	}
	return strings.TrimSpace(text)
}

// assertionType is the typ of an assertion, which distinguishes it from every other JWT of the same keys.
const (
	assertionType     = "site-assertion+jwt"
	assertionLifetime = 60 // seconds
)

// assertion makes a JWT about the person of a request, for this host alone.
func (p *Sites) assertion(ctx context.Context, n storage.SiteSession, who Identity, groups []string) (string, error) {
	key, err := p.keys.Signer(ctx, policy.DefaultAlgorithm)
	if err != nil {
		return "", err
	}
	at := oauth.Now()
	claims := jose.Claims{"iss": p.config.Issuer, "aud": "https://" + n.Host, "sub": n.UserID, "iat": at,
		"exp": at + assertionLifetime, "preferred_username": who.User, "groups": append([]string{}, groups...)}
	for name, value := range map[string]string{"name": who.Name, "email": who.Email} {
		if value != "" {
			claims[name] = value
		}
	}
	return key.Sign(policy.DefaultAlgorithm, assertionType, claims)
}
