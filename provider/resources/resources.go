// Package resources holds the APIs that tokens can be issued for (RFC 8707): which ones a
// request may name, what their tokens look like, and who may introspect them.
package resources

import (
	"context"
	"fmt"
	"slices"
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
	// Configured are the APIs that tokens can be issued for (RFC 8707), in addition to those that administrators add.
	//
	// An item has the form `{URI: https://files.example, NAME: Files, SCOPES: [read]}`. Administrators add others on
	// the pages and with `mandate resource add`. The server does not see that an item is removed: if its URI is added
	// again, the tokens, refresh tokens and consents of before are for it again.
	Configured []Registration `key:"RESOURCES" default:"[]" subject:"Scopes and resources" after:"STRICT_SCOPES"`

	Server string // the URI of the server itself
}

// Resources are the resources of the configuration and those in the database. If both have
// the same URI, the one of the configuration counts.
type Resources struct {
	config     Config
	rules      *policy.Rules
	store      *storage.Store
	keys       *keys.Ring
	self       *storage.Resource // the server itself
	configured []storage.Resource
	copy       *copies.Copies[*set]
}

// New makes the component. It returns an Invalid for a mistake in a configured resource.
func New(config Config, rules *policy.Rules, store *storage.Store, ring *keys.Ring,
	changes *copies.Changes) (*Resources, error) {
	p := &Resources{config: config, rules: rules, store: store, keys: ring,
		self: &storage.Resource{Key: indicator.Normal(config.Server), URI: config.Server},
		copy: copies.New(1, changes, resourcesChanged)}
	for i, r := range config.Configured {
		err := Check(r, rules, config.Server, config.Configured[:i]).Err()
		if err != nil {
			return nil, fmt.Errorf("RESOURCES[%d]: %w", i, err)
		}
		p.configured = append(p.configured, r.record())
	}
	return p, nil
}

func resourcesChanged(c *copies.Changes, read time.Time, _ **set) bool {
	return c.Has(storage.OfResource, new(string), read) // the change does not name a resource
}

// all returns every resource: those of the configuration first.
func (p *Resources) all(ctx context.Context) (*set, error) {
	read := func(ctx context.Context, _ string) (*set, error) {
		stored, err := p.store.Resources(ctx)
		if err != nil {
			return nil, oauth.Unavailable(err)
		}
		return newSet(p.self, p.configured, stored), nil
	}
	return p.copy.Get(ctx, "", read, func(*set) bool { return true })
}

// set is all resources, with indexes: each introspection looks for one. It does not change.
type set struct {
	list          []*storage.Resource // without the server itself
	byURI         map[string]*storage.Resource
	introspectors map[string]bool // by client id: those of any resource
}

// newSet makes a set. If two lists have the same resource, that of the first one counts.
func newSet(self *storage.Resource, lists ...[]storage.Resource) *set {
	s := &set{byURI: map[string]*storage.Resource{self.Key: self, self.URI: self}, introspectors: map[string]bool{}}
	for _, list := range lists {
		list = slices.Clone(list)
		for i := range list {
			r := &list[i]
			taken := s.byURI[r.Key]
			if taken != nil && taken != self {
				// What was issued before the resource was written into the configuration stays valid.
				taken.Generation, taken.CreatedAt = r.Generation, r.CreatedAt
				continue
			}
			s.list = append(s.list, r)
			if taken == self {
				continue // BASE_URL has changed since it was added: it is listed, so that it can be deleted
			}
			// Nearly every URI comes as it was registered, and needs no normalisation.
			s.byURI[r.Key], s.byURI[r.URI] = r, r
			for id := range r.IntrospectorIDs() {
				s.introspectors[id] = true
			}
		}
	}
	return s
}

// resource returns a resource, the server itself, or nil.
func (s *set) resource(uri string) *storage.Resource {
	if r := s.byURI[uri]; r != nil {
		return r
	}
	return s.byURI[indicator.Normal(uri)]
}

// requested returns the resource that a request names. If there is no such resource, a slash
// more or less at the end does not count: a person can do nothing about the URL that their
// client makes. What is stored is never looked up in this way, because a resource that was
// deleted must not become another one.
func (s *set) requested(uri string) *storage.Resource {
	if r := s.resource(uri); r != nil {
		return r
	}
	return s.byURI[indicator.Sibling(indicator.Normal(uri))]
}

// Registered returns the URI of a resource as it was registered, and whether the resource
// exists.
func (p *Resources) Registered(ctx context.Context, uri string) (string, bool, error) {
	known, err := p.all(ctx)
	if err != nil {
		return "", false, err
	}
	r := known.resource(uri)
	if r == nil {
		return "", false, nil
	}
	return r.URI, true, nil
}

// DropCopies removes the copy of the resources if it is too old.
func (p *Resources) DropCopies() { p.copy.Drop() }
