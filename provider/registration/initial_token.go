package registration

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"mandate/provider/events"
	"mandate/provider/oauth"
	"mandate/provider/policy"
	"mandate/provider/seal"
	"mandate/storage"
)

const (
	// initialPrefix begins each initial access token.
	initialPrefix = "mit_"

	maxInitialTokens   = 1000
	maxInitialUses     = 10_000
	maxInitialLifetime = 366 * 24 * time.Hour
)

// NewInitialToken describes an initial access token that somebody makes.
type NewInitialToken struct {
	Uses     int64
	Lifetime time.Duration
	// May lists the grant types that can be registered with it, and introspection. If it is
	// empty, it is the authorization code grant.
	May       []string
	Scopes    []string // the only scopes that can be registered; none: those of StandingOpen
	Resources []string // the resources of each application that is registered with it; none: any resource
}

// AddInitialToken makes an initial access token (RFC 7591 §3) and returns it with its text,
// which is never shown again. The actor is responsible for the applications that are
// registered with it. It returns an Invalid for mistakes, and oauth.ErrConfirm if the actor must sign in again first.
func (p *Registrations) AddInitialToken(ctx context.Context, actor policy.Actor,
	r NewInitialToken) (storage.InitialToken, string, error) {
	err := actor.MustAdminister("make an initial access token")
	if err != nil {
		return storage.InitialToken{}, "", err
	}
	found := &oauth.Invalid{}
	allows := p.checkInitial(found, &r)
	resources, err := p.clients.CheckResources(ctx, found, r.Resources, nil)
	if err == nil {
		err = found.Err()
	}
	if err == nil && policy.WithoutPerson(allows.Grants) {
		err = actor.MustConfirm() // such an application asks nobody
	}
	if err != nil {
		return storage.InitialToken{}, "", err
	}
	limits, err := json.Marshal(allows)
	if err != nil {
		return storage.InitialToken{}, "", err
	}
	text, now := initialPrefix+seal.Random(32), oauth.Now()
	maker, responsible := actor.Takes()
	i := storage.InitialToken{Digest: seal.Digest(text), ID: seal.Identifier(),
		ByOperator: responsible == storage.ByOperator, MakerID: maker, Limits: string(limits),
		Resources: strings.Join(resources, "\n"), UsesLeft: r.Uses, CreatedAt: now,
		ExpiresAt: now + oauth.Seconds(r.Lifetime)}
	err = p.store.AddInitialToken(events.Attach(ctx,
		events.Event{Kind: events.RegistrationTokenAdded, Object: events.RegistrationToken(i.ID)}), i, maxInitialTokens)
	if errors.Is(err, storage.ErrFull) {
		found.Add("uses", "There are %d initial access tokens. Delete one that nobody needs.", maxInitialTokens)
		return storage.InitialToken{}, "", found
	}
	if err != nil {
		return storage.InitialToken{}, "", oauth.Unavailable(err)
	}
	return i, text, nil
}

// checkInitial checks the description of an initial access token, and returns its limits.
func (p *Registrations) checkInitial(found *oauth.Invalid, r *NewInitialToken) Limits {
	if r.Uses < 1 || r.Uses > maxInitialUses {
		found.Add("uses", "Use a number from 1 to %d.", maxInitialUses)
	}
	if r.Lifetime < time.Minute || r.Lifetime > maxInitialLifetime {
		found.Add("expires", "Use a time from one minute to 366 days.")
	}
	if len(r.May) == 0 {
		r.May = []string{policy.GrantCode}
	}
	limits := Limits{Scopes: r.Scopes}
	for _, name := range r.May {
		_, known := policy.GrantOf(name)
		switch {
		case name == policy.Introspection:
			limits.Introspection = true
		case known:
			limits.Grants = oauth.Union(limits.Grants, []string{name})
		default:
			found.Add("may", "%q cannot be registered: use %s.", oauth.Clip(name, 80),
				oauth.OneOf(append(policy.GrantNames(), policy.Introspection)))
		}
	}
	if len(limits.Grants) == 0 && found.At("may") == "" {
		found.Add("may", "Choose at least one grant type.")
	}
	scopes := oauth.Without(p.rules.ScopeNames(), policy.Introspection)
	for _, name := range r.Scopes {
		if !slices.Contains(scopes, name) {
			found.Add("scopes", "There is no scope %q that an application can be registered for: use %s.", oauth.Clip(name, 80),
				oauth.OneOf(scopes))
		}
	}
	return limits
}

// InitialTokens lists the initial access tokens, the newest first.
func (p *Registrations) InitialTokens(ctx context.Context, actor policy.Actor) ([]storage.InitialToken, error) {
	err := actor.MustSee("see the initial access tokens")
	if err != nil {
		return nil, err
	}
	found, err := p.store.InitialTokens(ctx)
	return found, oauth.Stored(err)
}

// DeleteInitialToken deletes an initial access token. The applications that were registered
// with it stay.
func (p *Registrations) DeleteInitialToken(ctx context.Context, actor policy.Actor, id string) error {
	err := actor.MustAdminister("delete an initial access token")
	if err != nil {
		return err
	}
	deleted := events.Event{Kind: events.RegistrationTokenDeleted, Object: events.RegistrationToken(id)}
	return oauth.Stored(p.store.DeleteInitialToken(events.Attach(ctx, deleted), id))
}

// Limits is what an initial access token allows.
type Limits struct {
	Grants        []string `json:"grants"`
	Introspection bool     `json:"introspection,omitempty"`
	Scopes        []string `json:"scopes,omitempty"` // none: those of StandingOpen
}

// ParseLimits reads stored limits. An application without limits may change nothing that
// depends on them.
func ParseLimits(text string) (Limits, error) {
	var l Limits
	if text == "" {
		return l, nil
	}
	err := json.Unmarshal([]byte(text), &l)
	return l, err
}

// MayOf lists what can be registered under limits: grant types, and introspection.
func MayOf(l Limits) []string {
	if l.Introspection {
		return append(slices.Clone(l.Grants), policy.Introspection)
	}
	return l.Grants
}

// UsableInitialToken reports whether applications can be registered with a token now.
func UsableInitialToken(i storage.InitialToken) bool {
	return i.UsesLeft > 0 && i.ExpiresAt > oauth.Now() &&
		(i.ByOperator || oauth.Deref(i.MakerActive) && oauth.Deref(i.MakerAdministrator))
}

// holder returns the registrant who has an initial access token. The token is spent later,
// together with the registration.
func (p *Registrations) holder(ctx context.Context, text string) (registrant, error) {
	if !strings.HasPrefix(text, initialPrefix) {
		return registrant{}, invalidInitialToken()
	}
	i, err := p.store.InitialTokenByDigest(ctx, seal.Digest(text))
	if errors.Is(err, storage.ErrNotFound) || err == nil && !UsableInitialToken(i) {
		return registrant{}, invalidInitialToken()
	}
	if err != nil {
		return registrant{}, oauth.Unavailable(err)
	}
	limits, err := ParseLimits(i.Limits)
	if err != nil {
		return registrant{}, err
	}
	by := registrant{policy.Operator(), limits, &i, i.ID}
	if !i.ByOperator {
		u, err := p.store.UserByID(ctx, oauth.Deref(i.MakerID))
		if errors.Is(err, storage.ErrNotFound) || err == nil && !(u.Active && u.Administrator) {
			return registrant{}, invalidInitialToken()
		}
		if err != nil {
			return registrant{}, oauth.Unavailable(err)
		}
		by.actor = policy.By(u)
	}
	return by, nil
}

func invalidInitialToken() *oauth.Error {
	return oauth.InvalidToken("The initial access token is unknown, expired, or used up. Ask an administrator for a new " +
		"one.")
}
