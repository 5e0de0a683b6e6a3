package sites

import (
	"context"
	"errors"
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
	Name        string // of its application; it does not change here
	Hosts       []string
	PublicPaths []string // prefixes that need no sign-in
	Assertion   bool     // the application gets a signed JWT
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

// Add registers an application and makes it a site. Nobody gets its client secret: only this server redeems its codes.
// It returns an Invalid for mistakes in the registration.
func (p *Sites) Add(ctx context.Context, actor policy.Actor, r Registration) (storage.Site, error) {
	found, err := p.prepare(ctx, actor, &r, "")
	if err != nil {
		return storage.Site{}, err
	}
	made, err := p.clients.Register(ctx, actor, clients.Registration{
		Name: r.Name, ClientType: policy.Confidential, GrantTypes: []string{policy.GrantCode},
		RedirectURIs: callbacks(r.Hosts), Scopes: p.scopes(), HashClientSecret: true, SkipConsent: true,
		PKCE: policy.PKCERequired,
	})
	if err != nil {
		return storage.Site{}, err
	}
	site := storage.Site{ApplicationID: made.Application.ID, ClientID: made.Application.ClientID,
		Name: made.Application.Name, Hosts: r.Hosts, PublicPaths: strings.Join(r.PublicPaths, "\n"), Assertion: r.Assertion}
	err = p.set(ctx, made.Application, site, storage.Site{}, found)
	if err != nil {
		return storage.Site{}, errors.Join(err, p.clients.Delete(ctx, actor, made.Application.ID))
	}
	return site, nil
}

// Change changes the hosts and the rules of a site. It returns an Invalid for mistakes in the registration.
func (p *Sites) Change(ctx context.Context, actor policy.Actor, clientID string,
	change func(*Registration)) (storage.Site, error) {
	was, err := p.Site(ctx, actor, clientID)
	if err != nil {
		return storage.Site{}, err
	}
	a, err := p.clients.Application(ctx, actor, was.ApplicationID)
	if err != nil {
		return storage.Site{}, err
	}
	r := Registration{was.Name, slices.Clone(was.Hosts), oauth.Lines(was.PublicPaths), was.Assertion}
	change(&r)
	found, err := p.prepare(ctx, actor, &r, was.ApplicationID)
	if err != nil {
		return storage.Site{}, err
	}
	now := was
	now.Hosts, now.PublicPaths, now.Assertion = r.Hosts, strings.Join(r.PublicPaths, "\n"), r.Assertion
	return now, p.set(ctx, a, now, was, found)
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

// set stores what a site has, with the event of the change.
func (p *Sites) set(ctx context.Context, a storage.Application, now, was storage.Site, found *oauth.Invalid) error {
	if now.Assertion {
		err := p.keys.CreateMissing(ctx)
		if err != nil {
			return err
		}
	}
	changed := events.Event{Kind: events.ApplicationChanged, Person: events.OwnerOf(a), Object: events.Application(a),
		Detail: events.Names(events.Field{Name: "site_hosts", Is: !slices.Equal(now.Hosts, was.Hosts)},
			events.Field{Name: "public_paths", Is: now.PublicPaths != was.PublicPaths},
			events.Field{Name: "assertion", Is: now.Assertion != was.Assertion})}
	err := p.store.SetSite(events.Attach(ctx, changed), now, strings.Join(callbacks(now.Hosts), "\n"), oauth.Now())
	if errors.Is(err, storage.ErrConflict) {
		return taken(found)
	}
	return oauth.Stored(err)
}

func taken(found *oauth.Invalid) error {
	found.Add("hosts", "One of these hosts belongs to another site: a host belongs to one application.")
	return found
}

// prepare checks a registration, and writes its hosts in their one spelling. id is that of the application, or "".
func (p *Sites) prepare(ctx context.Context, actor policy.Actor, r *Registration, id string) (*oauth.Invalid, error) {
	err := actor.MustAdminister("make sites")
	if err == nil {
		err = actor.MustConfirm()
	}
	if err != nil {
		return nil, err
	}
	found := &oauth.Invalid{}
	p.checkHosts(found, r)
	checkPaths(found, r.PublicPaths)
	if err := found.Err(); err != nil {
		return nil, err
	}
	for _, host := range r.Hosts {
		other, err := p.store.SiteOfHost(ctx, host)
		if err == nil && other.ApplicationID != id {
			return nil, taken(found)
		}
		if err != nil && !errors.Is(err, storage.ErrNotFound) {
			return nil, oauth.Unavailable(err)
		}
	}
	return found, nil
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
