package sites

import (
	"context"
	"errors"
	"math"
	"path"
	"slices"
	"strings"

	"mandate/provider/clients"
	"mandate/provider/events"
	"mandate/provider/oauth"
	"mandate/provider/policy"
	"mandate/storage"
)

// Registration is what an administrator decides about a site.
type Registration struct {
	Name        string
	Hosts       []string
	PublicPaths []string // prefixes that need no sign-in
	Assertion   bool     // the application gets a signed JWT
	Suspended   bool     // it lets in nobody

	// Those of its application.
	AllowedGroups, DeniedGroups []string
	RequiredACR                 string

	Version int64 // of the application that the administrator saw, for a change
}

func registrationOf(s storage.Site, a storage.Application) Registration {
	return Registration{s.Name, slices.Clone(s.Hosts), oauth.Lines(s.PublicPaths), s.Assertion, s.Suspended,
		oauth.Lines(a.AllowedGroups), oauth.Lines(a.DeniedGroups), a.RequiredACR, a.Version}
}

const (
	mostHosts = 100
	mostPaths = 100
)

// Sites lists all sites.
func (p *Sites) Sites(ctx context.Context, actor policy.Actor) ([]storage.Site, error) {
	err := actor.MustSee("see the sites")
	if err != nil {
		return nil, err
	}
	found, err := p.store.Sites(ctx)
	return found, oauth.Stored(err)
}

// Site returns the site of a client id, or ErrNotFound.
func (p *Sites) Site(ctx context.Context, actor policy.Actor, clientID string) (storage.Site, error) {
	all, err := p.Sites(ctx, actor)
	if err != nil {
		return storage.Site{}, err
	}
	i := slices.IndexFunc(all, func(s storage.Site) bool { return s.ClientID == clientID })
	if i < 0 {
		return storage.Site{}, oauth.ErrNotFound
	}
	return all[i], nil
}

// Registered returns the site of a client id with what is decided about it now, or ErrNotFound.
func (p *Sites) Registered(ctx context.Context, actor policy.Actor, clientID string) (storage.Site, Registration,
	error) {
	site, _, r, err := p.registered(ctx, actor, clientID)
	return site, r, err
}

func (p *Sites) registered(ctx context.Context, actor policy.Actor, clientID string) (storage.Site, storage.Application,
	Registration, error) {
	site, err := p.Site(ctx, actor, clientID)
	if err != nil {
		return storage.Site{}, storage.Application{}, Registration{}, err
	}
	a, err := p.clients.Shown(ctx, actor, site.ApplicationID)
	return site, a, registrationOf(site, a), err
}

// Add registers an application that is a site. Nobody gets its client secret: only this server redeems its codes.
// It returns an Invalid for mistakes in the registration.
func (p *Sites) Add(ctx context.Context, actor policy.Actor, r Registration) (storage.Site, error) {
	err := p.prepare(ctx, actor, &r, "")
	if err != nil {
		return storage.Site{}, err
	}
	is := clients.Registration{ClientType: policy.Confidential, GrantTypes: []string{policy.GrantCode},
		Scopes: p.scopes(), HashClientSecret: true, SkipConsent: true, PKCE: policy.PKCERequired}
	site := r.set(&is, storage.Site{})
	made, err := p.clients.Register(ctx, actor, is)
	if err != nil {
		return storage.Site{}, err
	}
	site.ApplicationID, site.ClientID, site.Name = made.Application.ID, made.Application.ClientID, made.Application.Name
	return site, nil
}

// Change changes a site. It returns an Invalid for mistakes in the registration, or if somebody else has changed it
// since the version that the registration has.
func (p *Sites) Change(ctx context.Context, actor policy.Actor, clientID string,
	change func(*Registration)) (storage.Site, error) {
	was, a, r, err := p.registered(ctx, actor, clientID)
	if err != nil {
		return storage.Site{}, err
	}
	change(&r)
	if r.Version < 0 {
		r.Version = math.MaxInt64 // no application has it, but storage.AnyVersion would be each
	}
	err = p.prepare(ctx, actor, &r, was.ApplicationID)
	if err != nil {
		return storage.Site{}, err
	}
	var now storage.Site
	made, err := p.clients.ChangeFrom(ctx, actor, a, r.Version, func(c *clients.Registration) error {
		now = r.set(c, was)
		return nil
	})
	if err != nil {
		return storage.Site{}, err
	}
	now.Name, now.RequiredACR = made.Application.Name, made.Application.RequiredACR
	return now, nil
}

// set copies what is decided about a site into the registration of its application. It returns the site as it is then.
func (r Registration) set(c *clients.Registration, was storage.Site) storage.Site {
	now := was
	now.Hosts, now.PublicPaths = r.Hosts, strings.Join(r.PublicPaths, "\n")
	now.Assertion, now.Suspended = r.Assertion, r.Suspended
	c.Name, c.RedirectURIs, c.RequiredACR = r.Name, callbacks(r.Hosts), r.RequiredACR
	c.AllowedGroups, c.DeniedGroups = r.AllowedGroups, r.DeniedGroups
	c.Site = &clients.SiteChange{Site: now, Names: strings.Fields(events.Names(
		events.Field{Name: "site_hosts", Is: !slices.Equal(now.Hosts, was.Hosts)},
		events.Field{Name: "public_paths", Is: now.PublicPaths != was.PublicPaths},
		events.Field{Name: "assertion", Is: now.Assertion != was.Assertion},
		events.Field{Name: "suspended", Is: now.Suspended != was.Suspended}))}
	return now
}

// Delete deletes a site with its application.
func (p *Sites) Delete(ctx context.Context, actor policy.Actor, clientID string) error {
	err := actor.MustAdminister("delete sites")
	if err != nil {
		return err
	}
	site, err := p.Site(ctx, actor, clientID)
	if err != nil {
		return err
	}
	return p.clients.Delete(ctx, actor, site.ApplicationID)
}

// prepare checks a registration, and writes its hosts in their one spelling. id is that of the application, or "".
func (p *Sites) prepare(ctx context.Context, actor policy.Actor, r *Registration, id string) error {
	err := actor.MustAdminister("make sites")
	if err == nil {
		err = actor.MustConfirm()
	}
	if err != nil {
		return err
	}
	found := &oauth.Invalid{}
	p.checkHosts(found, r)
	checkPaths(found, r.PublicPaths)
	if err := found.Err(); err != nil {
		return err
	}
	for _, host := range r.Hosts {
		other, err := p.store.SiteOfHost(ctx, host)
		if err == nil && other.ApplicationID != id {
			return clients.HostTaken()
		}
		if err != nil && !errors.Is(err, storage.ErrNotFound) {
			return oauth.Unavailable(err)
		}
	}
	if r.Assertion {
		return p.keys.CreateMissing(ctx)
	}
	return nil
}

func (p *Sites) checkHosts(found *oauth.Invalid, r *Registration) {
	if len(r.Hosts) == 0 || len(r.Hosts) > mostHosts {
		found.Add("hosts", "A site has at least one host, and at most %d.", mostHosts)
	}
	for i, host := range r.Hosts {
		shown, ok := hostOf(host)
		switch {
		case !ok:
			found.Add("hosts", "%q is not a host: write it as in wiki.example.org or wiki.example.org:8443, without "+
				"https://.", host)
		case shown == p.host():
			found.Add("hosts", "%s is the host of this server: a site has another one.", shown)
		default:
			r.Hosts[i] = shown
		}
	}
	r.Hosts = slices.Compact(slices.Sorted(slices.Values(r.Hosts)))
}

func checkPaths(found *oauth.Invalid, prefixes []string) {
	if len(prefixes) > mostPaths {
		found.Add("public_paths", "A site has at most %d public paths.", mostPaths)
	}
	for _, prefix := range prefixes {
		if prefix == "/" || !isTarget(prefix) || strings.ContainsAny(prefix, "%;?") ||
			path.Clean(prefix) != strings.TrimSuffix(prefix, "/") ||
			strings.HasPrefix(strings.TrimSuffix(prefix, "/")+"/", Folder) {
			found.Add("public_paths", "%q cannot be a public path: write it as in /static/, without a query, "+
				"percent-encoding or a segment of dots. It cannot be the whole site.", prefix)
		}
	}
}

// host returns the host of this server.
func (p *Sites) host() string {
	_, rest, _ := strings.Cut(p.config.Issuer, "://")
	host, _, _ := strings.Cut(rest, "/")
	shown, _ := hostOf(host)
	return shown
}

func callbacks(hosts []string) []string {
	uris := make([]string, len(hosts))
	for i, host := range hosts {
		uris[i] = callbackOf(host)
	}
	return uris
}

// scopes returns the scopes of the application of a site: it needs no token at all.
func (p *Sites) scopes() []string {
	if p.config.OpenID {
		return []string{"openid"}
	}
	return nil
}
