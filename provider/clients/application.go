package clients

import (
	"cmp"
	"context"
	"errors"
	"math"
	"net/http"
	"strings"

	"mandate/provider/clientauth"
	"mandate/provider/events"
	"mandate/provider/oauth"
	"mandate/provider/policy"
	"mandate/provider/seal"
	"mandate/storage"
)

// Registered is an application that was registered or changed. Secret is its new client
// secret, or "". The server never shows it again.
type Registered struct {
	Application storage.Application
	Secret      string
}

// Register stores a new application. It returns an Invalid for mistakes in the
// registration, or if the owner has as many applications as the quota allows.
func (p *Clients) Register(ctx context.Context, actor policy.Actor, r Registration) (*Registered, error) {
	if actor.Nobody() {
		return nil, &oauth.Error{
			Status:      http.StatusForbidden,
			Code:        "access_denied",
			Description: "Sign in to register an application.",
		}
	}
	if !actor.IsOperator() {
		err := p.people.MustRegister(ctx, actor.Person())
		if err != nil {
			return nil, err
		}
	}
	a := NewApplication(actor)
	a.Program = r.Program
	if r.Site != nil {
		// It protects something of the operator: it stays when the administrator who has added it leaves.
		a.OwnerID, a.Owner, a.OwnerAdministrator, a.OwnerActive, a.Responsible = nil, nil, nil, nil, storage.ByOperator
	}
	found := &oauth.Invalid{}
	err := p.Check(ctx, found, actor, &r, a)
	if err != nil {
		return nil, err
	}
	if looksLikeDocument(r.ClientID) {
		found.Add(
			"client_id",
			"A client id that is a URL belongs to a client with a metadata document, which nobody needs to register: allow it "+
				"with OPEN_CLIENTS.",
		)
	} else if len(r.ClientID) > 255 || strings.ContainsFunc(r.ClientID, func(c rune) bool { return c < ' ' || c > '~' }) ||
		strings.TrimSpace(r.ClientID) != r.ClientID {
		// RFC 6749 appendix A.1: a client id may have spaces and colons, which HTTP Basic encodes. Forms and
		// configuration files cut off a space at the beginning or the end.
		found.Add("client_id", "Use at most 255 printable ASCII characters, without a space at the beginning or the end.")
	}
	checkSecret(found, r.ClientSecret)
	if r.ClientID != "" {
		// RFC 9700 §4.15.1: a subject identifies a person or a client, and never both.
		_, err := p.store.UserByID(ctx, r.ClientID)
		if err == nil {
			found.Add("client_id", "This identifier is already the subject of a person.")
		} else if !errors.Is(err, storage.ErrNotFound) {
			return nil, oauth.Unavailable(err)
		}
	}
	err = p.setOwner(ctx, &a, actor, r, found)
	if err == nil {
		err = found.Err()
	}
	if err != nil {
		return nil, err
	}
	if r.SkipConsent || policy.ActsAlone(a, r.GrantTypes) {
		err = actor.MustConfirm()
		if err != nil {
			return nil, err
		}
	}
	a.ID, a.ClientID, a.CreatedAt = seal.Identifier(), cmp.Or(r.ClientID, seal.Identifier()), oauth.Now()
	secret, err := p.Apply(ctx, &a, r)
	if err != nil {
		return nil, err
	}
	most := p.rules.AllowanceOf(a).Quota.Applications
	added := events.Event{
		Kind:   events.ApplicationAdded,
		Person: events.OwnerOf(a),
		Object: events.Application(a),
		Detail: a.Origin,
	}
	err = p.store.AddApplication(events.Attach(ctx, added), a, most, r.site()...)
	if errors.Is(err, storage.ErrFull) {
		found.Add(
			"name",
			"You have reached the limit of %d applications. Delete one that you do not need, or ask an administrator to take "+
				"one over.",
			most,
		)
		return nil, found
	}
	if errors.Is(err, storage.ErrHostTaken) {
		return nil, HostTaken()
	}
	if errors.Is(err, storage.ErrConflict) {
		found.Add("client_id", "An application with that client id exists already.")
		return nil, found
	}
	if err != nil {
		return nil, oauth.Unavailable(err)
	}
	return &Registered{a, secret}, nil
}

// NewApplication returns an application for which the actor is responsible.
func NewApplication(actor policy.Actor) storage.Application {
	a := storage.Application{Origin: storage.FromCommand}
	a.OwnerID, a.Responsible = actor.Takes()
	if a.OwnerID != nil {
		a.Origin = storage.FromPage
		u := actor.Person()
		a.Owner, a.OwnerAdministrator, a.OwnerActive = &u.Username, &u.Administrator, &u.Active
	}
	return a
}

// Apply copies a checked registration into the record. If the record lacks a secret
// that it needs, Apply generates one and returns it.
func (p *Clients) Apply(ctx context.Context, a *storage.Application, r Registration) (string, error) {
	p.describe(a, r)
	a.UpdatedAt = oauth.Now()
	var err error
	if a.AccessTokenFormat == policy.FormatJWT || a.IntrospectionAlg != "" || a.ResponseAlgorithm != "" {
		err = p.keys.CreateMissing(ctx)
		if err != nil {
			return "", err
		}
	}
	switch {
	case !clientauth.HasSecret(*a):
		a.Secret, a.OldSecret, a.OldSecretExpiresAt = "", "", 0
	case a.Secret == "":
		secret, made := r.ClientSecret, r.ClientSecret == ""
		if made {
			secret = seal.Random(32)
		}
		a.Secret, err = p.StoreSecret(ctx, a.ID, secret, made, a.HashClientSecret)
		return secret, err
	case a.HashClientSecret:
		a.Secret, err = p.HashStored(ctx, a.ID, a.Secret)
		if err == nil {
			a.OldSecret, err = p.HashStored(ctx, a.ID, a.OldSecret)
		}
	}
	return "", err
}

// Application returns an application to its owner or to an administrator. For anybody
// else it returns ErrNotFound.
func (p *Clients) Application(ctx context.Context, actor policy.Actor, id string) (storage.Application, error) {
	a, err := p.store.Application(ctx, id)
	return mayChange(actor, a, err)
}

// ApplicationByClientID does the same as Application, for a client id.
func (p *Clients) ApplicationByClientID(
	ctx context.Context,
	actor policy.Actor,
	clientID string,
) (storage.Application, error) {
	a, err := p.store.ApplicationByClientID(ctx, clientID)
	return mayChange(actor, a, err)
}

// Shown returns an application to whoever may see it: as Application does, and to an auditor.
func (p *Clients) Shown(ctx context.Context, actor policy.Actor, id string) (storage.Application, error) {
	a, err := p.store.Application(ctx, id)
	if err == nil && actor.Sees() {
		return a, nil
	}
	return mayChange(actor, a, err)
}

func mayChange(actor policy.Actor, a storage.Application, err error) (storage.Application, error) {
	if err != nil {
		return storage.Application{}, oauth.Stored(err)
	}
	if !MayChange(actor, a) {
		return storage.Application{}, oauth.ErrNotFound
	}
	return a, nil
}

// MayChange reports whether the actor may change an application: its owner, or an administrator.
func MayChange(actor policy.Actor, a storage.Application) bool {
	return actor.Administers() || actor.Is(oauth.Deref(a.OwnerID))
}

// Applications returns one page of the selected applications that the actor may see, and the
// number of all of them.
func (p *Clients) Applications(
	ctx context.Context,
	actor policy.Actor,
	of storage.Selection,
	limit, offset int,
) ([]storage.Application, int, error) {
	if actor.Nobody() {
		return nil, 0, nil
	}
	if !actor.Sees() {
		of.OwnerID = actor.Person().ID
	}
	of.Closed = storage.Origins{Documents: !p.config.Open.Documents(), Registration: !p.config.Open.Registration()}
	found, total, err := p.store.Applications(ctx, of, limit, offset)
	return found, total, oauth.Stored(err)
}

// Update changes an application. version is that of the application that the actor saw. If the
// change makes it confidential, the result contains its new client secret. It returns an Invalid
// for mistakes in the registration, or if somebody else changed the application since then. It returns
// oauth.ErrConfirm if the change gives the application to somebody else, and the actor must sign in again first.
func (p *Clients) Update(
	ctx context.Context,
	actor policy.Actor,
	id string,
	version int64,
	r Registration,
) (*Registered, error) {
	if version < 0 {
		version = math.MaxInt64 // no application has it, but storage.AnyVersion would be each
	}
	return p.update(ctx, actor, id, version, r)
}

// update changes an application. With storage.AnyVersion it does so whatever else has changed.
func (p *Clients) update(
	ctx context.Context,
	actor policy.Actor,
	id string,
	version int64,
	r Registration,
) (*Registered, error) {
	a, err := p.Application(ctx, actor, id)
	if err != nil {
		return nil, err
	}
	found := &oauth.Invalid{}
	if version != storage.AnyVersion && version != a.Version {
		// The version that is stored below could be this one by then, and the change from it another one than is
		// checked here.
		addChangedMeanwhile(found)
	}
	if policy.FollowsDocument(a) {
		found.Add(
			"name",
			"The metadata document at its client ID describes this application, and changes it again at the next approval. "+
				"Take the application over first.",
		)
		return nil, found
	}
	kept, dropped := keptOf(a)
	for _, wrong := range dropped {
		p.log.Warn(
			"a member of the metadata of an application is not valid any more: register it again", "client", a.ClientID,
			"reason", wrong,
		)
	}
	r.SectorURI = kept.SectorURI
	if a.Sector == "" && hostOfURL(r.SectorURI) == "" {
		r.SectorURI = "" // it names no sector, and there is none to keep
	}
	if r.ClientType != a.ClientType && r.Authentication.Method == a.AuthMethod {
		r.Authentication = Authentication{}
	}
	err = p.Check(ctx, found, actor, &r, a)
	if err != nil {
		return nil, err
	}
	if err := found.Err(); err != nil {
		return nil, err
	}
	was := a
	was.Version = version
	secret, err := p.Apply(ctx, &a, r)
	if err != nil {
		return nil, err
	}
	if secret != "" || p.rules.GivesAway(was, a) {
		err = actor.MustConfirm()
		if err != nil {
			return nil, err
		}
	}
	// From now on a person decides about it.
	a.Management = ""
	var also []string
	if r.Site != nil {
		also = r.Site.Names
	}
	changed := ChangeEvents(was, a, nil, also...)
	err = p.store.UpdateApplication(events.Attach(ctx, changed...), a, was, r.site()...)
	if errors.Is(err, storage.ErrHostTaken) {
		return nil, HostTaken()
	}
	if errors.Is(err, storage.ErrNotFound) {
		addChangedMeanwhile(found)
		return nil, found
	}
	if err != nil {
		return nil, oauth.Stored(err)
	}
	return &Registered{a, secret}, nil
}

// HostTaken is the refusal of a host of another site.
func HostTaken() *oauth.Invalid {
	found := &oauth.Invalid{}
	found.Add("hosts", "One of these hosts belongs to another site: a host belongs to one application.")
	return found
}

func (r Registration) site() []storage.Site {
	if r.Site == nil {
		return nil
	}
	return []storage.Site{r.Site.Site}
}

func addChangedMeanwhile(found *oauth.Invalid) {
	found.Add(
		"version", "Somebody changed or deleted the application since you saw it. Look at it before you change it again.",
	)
}

// Delete deletes an application and revokes its tokens.
func (p *Clients) Delete(ctx context.Context, actor policy.Actor, id string) error {
	a, err := p.Application(ctx, actor, id)
	if err != nil {
		return err
	}
	deleted := events.Event{Kind: events.ApplicationDeleted, Person: events.OwnerOf(a), Object: events.Application(a)}
	return oauth.Stored(p.store.DeleteApplication(events.Attach(ctx, deleted), id))
}

// Change changes some of the registration of an application, and nothing else of it.
func (p *Clients) Change(
	ctx context.Context,
	actor policy.Actor,
	id string,
	change func(*Registration) error,
) (*Registered, error) {
	a, err := p.Application(ctx, actor, id)
	if err != nil {
		return nil, err
	}
	version := a.Version
	if actor.IsOperator() {
		version = storage.AnyVersion // an owner who keeps saving does not hold the operator up
	}
	return p.ChangeFrom(ctx, actor, a, version, change)
}

// ChangeFrom does the same as Change from the application as the caller has read it. version is that which the actor
// saw.
func (p *Clients) ChangeFrom(
	ctx context.Context,
	actor policy.Actor,
	a storage.Application,
	version int64,
	change func(*Registration) error,
) (*Registered, error) {
	r := registrationOf(a)
	err := change(&r)
	if err != nil {
		return nil, err
	}
	method := r.Authentication.Method
	if one, known := clientauth.MethodOf(method); known && method != a.AuthMethod && a.ClientType == policy.Confidential &&
		one.Needs == clientauth.ReadableSecret && a.Secret == "" {
		r.HashClientSecret = false // a new secret is made, which must stay readable
	}
	return p.update(ctx, actor, a.ID, version, r)
}
