package resources

import (
	"context"
	"errors"
	"slices"
	"strings"

	"mandate/provider/events"
	"mandate/provider/indicator"
	"mandate/provider/oauth"
	"mandate/provider/policy"
	"mandate/provider/seal"
	"mandate/storage"
)

// Resource is a resource as an administrator sees it.
type Resource struct {
	storage.Resource
	Configured bool // it comes from the configuration, so only the configuration changes it
}

// mostResources limits the number of resources: every node keeps all of them in memory.
const mostResources = 1000

// Resources lists all resources.
func (p *Resources) Resources(ctx context.Context, actor policy.Actor) ([]Resource, error) {
	err := actor.MustSee("see the resources")
	if err != nil {
		return nil, err
	}
	known, err := p.all(ctx)
	if err != nil {
		return nil, err
	}
	list := make([]Resource, len(known.list))
	for i, r := range known.list {
		list[i] = Resource{*r, i < len(p.configured)}
	}
	return list, nil
}

// Resource returns one resource, or ErrNotFound.
func (p *Resources) Resource(ctx context.Context, actor policy.Actor, uri string) (Resource, error) {
	list, err := p.Resources(ctx, actor)
	if err != nil {
		return Resource{}, err
	}
	i := slices.IndexFunc(list, func(r Resource) bool { return indicator.Same(r.URI, uri) })
	if i < 0 {
		return Resource{}, oauth.ErrNotFound
	}
	return list[i], nil
}

// Add stores a new resource. It returns an Invalid for mistakes in the registration.
func (p *Resources) Add(ctx context.Context, actor policy.Actor, r Registration) (Resource, error) {
	found, err := p.prepare(ctx, actor, r, storage.Resource{})
	if err != nil {
		return Resource{}, err
	}
	made := r.record()
	known, err := p.all(ctx)
	if err != nil {
		return Resource{}, err
	}
	// A request does not tell the two apart, once one of them is deleted.
	sibling := indicator.Sibling(made.Key)
	if near := known.byURI[sibling]; near != nil && near.Key == sibling {
		found.Add("uri", "There is already the resource %s, which differs only in the final slash.", near.URI)
		return Resource{}, found
	}
	// What was issued for a deleted resource with this URI does not come back to life.
	made.CreatedAt, made.Generation = oauth.Now(), seal.Identifier()
	err = p.store.AddResource(events.Attach(ctx, events.Event{Kind: events.ResourceAdded, Object: events.Resource(made)}),
		made, mostResources)
	switch {
	case errors.Is(err, storage.ErrConflict):
		found.Add("uri", "There is already a resource with this URI.")
		return Resource{}, found
	case errors.Is(err, storage.ErrFull):
		found.Add("uri", "The server has %d resources, and cannot have more.", mostResources)
		return Resource{}, found
	case err != nil:
		return Resource{}, oauth.Unavailable(err)
	}
	made.UpdatedAt = made.CreatedAt
	return Resource{made, false}, nil
}

// Change changes everything but the URI of a resource. was is the resource as the
// administrator saw it. Change returns an Invalid for mistakes in the registration, or if
// somebody else changed the resource meanwhile.
func (p *Resources) Change(ctx context.Context, actor policy.Actor, was Resource, r Registration) error {
	r.URI = was.URI
	found, err := p.prepare(ctx, actor, r, was.Resource)
	if err != nil {
		return err
	}
	changed := r.record()
	changed.UpdatedAt, changed.Version, changed.Generation = oauth.Now(), was.Version, was.Generation
	err = p.store.UpdateResource(events.Attach(ctx, changeEvents(was.Resource, changed)...), changed)
	if errors.Is(err, storage.ErrNotFound) {
		found.Add("name", "Somebody changed or deleted the resource at the same moment. Look at it before you save again.")
		return found
	}
	return oauth.Stored(err)
}

// Delete deletes a resource. Its opaque tokens are inactive from then on.
func (p *Resources) Delete(ctx context.Context, actor policy.Actor, uri string) error {
	r, err := p.Resource(ctx, actor, uri)
	if err != nil {
		return err
	}
	if r.Configured {
		found := &oauth.Invalid{}
		found.Add("uri", "This resource comes from the configuration: remove it from RESOURCES.")
		return found
	}
	return oauth.Stored(
		p.store.DeleteResource(events.Attach(ctx,
			events.Event{Kind: events.ResourceDeleted, Object: events.Resource(r.Resource)}), r.Key))
}

// changeEvents returns the event of a change of a resource, with the names of what changes. It returns none if
// nothing changes.
func changeEvents(was, now storage.Resource) []events.Event {
	names := events.Names(events.Field{Name: "name", Is: was.Name != now.Name},
		events.Field{Name: "scopes", Is: was.Scopes != now.Scopes},
		events.Field{Name: "token_format", Is: was.TokenFormat != now.TokenFormat},
		events.Field{Name: "access_token_lifetime", Is: was.Lifetime != now.Lifetime},
		events.Field{Name: "algorithm", Is: was.Algorithm != now.Algorithm},
		events.Field{Name: "introspectors", Is: was.Introspectors != now.Introspectors},
		events.Field{Name: "sender_constrained", Is: was.Constrained != now.Constrained},
		events.Field{Name: "jwt_typ", Is: was.JWTTyp != now.JWTTyp})
	if names == "" {
		return nil
	}
	return []events.Event{{Kind: events.ResourceChanged, Object: events.Resource(now), Detail: names}}
}

// prepare checks a registration that an administrator sends, and makes the keys that it
// needs. What was registered already may stay, so that the change of another field works: a scope that the operator
// has removed since then, and an introspector that may not be one any more, have no effect.
func (p *Resources) prepare(
	ctx context.Context,
	actor policy.Actor,
	r Registration,
	was storage.Resource,
) (*oauth.Invalid, error) {
	err := actor.MustAdminister("change resources")
	if err != nil {
		return nil, err
	}
	named := r
	named.Scopes = added(r.Scopes, strings.Fields(was.Scopes))
	named.Introspectors = added(r.Introspectors, oauth.Lines(strings.TrimSpace(was.Introspectors)))
	found := Check(named, p.rules, p.config.Server, p.config.Configured)
	err = p.checkIntrospectors(ctx, found, named)
	if err == nil {
		err = found.Err()
	}
	if err == nil && r.TokenFormat == policy.FormatJWT {
		err = p.keys.CreateMissing(ctx)
	}
	return found, err
}

// added returns what a list has that it did not have before.
func added(list, before []string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(one string) bool { return slices.Contains(before, one) })
}

// checkIntrospectors checks that each introspector is a confidential application that an
// administrator is responsible for.
func (p *Resources) checkIntrospectors(ctx context.Context, found *oauth.Invalid, r Registration) error {
	for _, id := range r.Introspectors {
		a, err := p.store.ApplicationByClientID(ctx, id)
		switch {
		case errors.Is(err, storage.ErrNotFound):
			found.Add("introspectors", "There is no application with the client id %s.", oauth.Clip(id, 80))
		case err != nil:
			return oauth.Unavailable(err)
		case a.ClientType == policy.Public:
			found.Add("introspectors", "The application %s is public: it has no secret to authenticate with.", a.ClientID)
		case !p.rules.AllowanceOf(a).AdministratorRights:
			found.Add("introspectors", "No administrator is responsible for the application %s: take it over first.", a.ClientID)
		}
	}
	return nil
}
