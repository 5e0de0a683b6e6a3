// Package resources holds the APIs that tokens can be issued for (RFC 8707): which ones a
// request may name, what their tokens look like, and who may introspect them.
package resources

import (
	"context"
	"fmt"
	"time"

	"mandate/provider/copies"
	"mandate/provider/indicator"
	"mandate/provider/keys"
	"mandate/provider/oauth"
	"mandate/provider/policy"
	"mandate/storage"
)

// Config is what an operator decides about resources.
type Config struct {
	Server     string // the URI of the server itself
	Configured []Registration
}

// Resources are the resources of the configuration and those in the database. If both have
// the same URI, the one of the configuration counts.
type Resources struct {
	config     Config
	rules      *policy.Rules
	store      *storage.Store
	keys       *keys.Ring
	self       storage.Resource // the server itself
	configured []storage.Resource
	stored     *copies.Copies[[]storage.Resource]
}

// New makes the component. It returns an Invalid for a mistake in a configured resource.
func New(config Config, rules *policy.Rules, store *storage.Store, ring *keys.Ring, changes *copies.Changes) (*Resources, error) {
	p := &Resources{config: config, rules: rules, store: store, keys: ring, self: storage.Resource{Key: indicator.Normal(config.Server), URI: config.Server},
		stored: copies.New(1, changes, resourcesChanged)}
	for i, r := range config.Configured {
		err := Check(r, rules, config.Server, config.Configured[:i]).Err()
		if err != nil {
			return nil, fmt.Errorf("RESOURCES[%d]: %w", i, err)
		}
		p.configured = append(p.configured, r.record())
	}
	return p, nil
}

func resourcesChanged(c *copies.Changes, read time.Time, _ []storage.Resource) bool {
	return c.Has(storage.OfResource, new(string), read) // the change does not name a resource
}

// all returns every resource: those of the configuration first.
func (p *Resources) all(ctx context.Context) ([]storage.Resource, error) {
	read := func(ctx context.Context, _ string) ([]storage.Resource, error) {
		stored, err := p.store.Resources(ctx)
		if err != nil {
			return nil, oauth.Unavailable(err)
		}
		together := append([]storage.Resource{}, p.configured...)
		for _, r := range stored {
			if _, taken := find(p.configured, r.URI); !taken {
				together = append(together, r)
			}
		}
		return together, nil
	}
	return p.stored.Get(ctx, "", read, func([]storage.Resource) bool { return true })
}

// Registered returns the URI of a resource as it was registered, and whether the resource
// exists.
func (p *Resources) Registered(ctx context.Context, uri string) (string, bool, error) {
	known, err := p.all(ctx)
	if err != nil {
		return "", false, err
	}
	r, is := p.resource(known, uri)
	return r.URI, is, nil
}

func find(list []storage.Resource, uri string) (storage.Resource, bool) {
	key := indicator.Normal(uri)
	for _, r := range list {
		if r.Key == key {
			return r, true
		}
	}
	return storage.Resource{}, false
}

// DropCopies removes the copy of the resources if it is too old.
func (p *Resources) DropCopies() { p.stored.Drop() }
