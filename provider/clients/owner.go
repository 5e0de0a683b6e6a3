package clients

import (
	"context"
	"errors"

	"mandate/provider/events"
	"mandate/provider/oauth"
	"mandate/provider/policy"
	"mandate/storage"
)

// OwnedBy returns the applications that a person owns.
func (p *Clients) OwnedBy(ctx context.Context, userID string) ([]storage.Application, error) {
	owned, err := p.store.OwnedBy(ctx, userID)
	return owned, oauth.Stored(err)
}

// OwnerResponsible reports whether the owner of an application is responsible for it, and
// not the operator.
func OwnerResponsible(a storage.Application) bool { return a.Responsible == storage.ByOwner }

// TakeOver makes the actor, who is an administrator or the operator, responsible for an
// application. version is that of the application that the actor has seen: whoever registered
// it can change it meanwhile, and TakeOver returns an Invalid then.
func (p *Clients) TakeOver(ctx context.Context, actor policy.Actor, id string, version int64) (storage.Application,
	error) {
	owner, responsible := actor.Takes()
	return p.assign(ctx, actor, id, version, owner, responsible)
}

// Assign gives an application to another owner, who becomes responsible for it. version is
// the same as for TakeOver. It returns an Invalid if there is no such person with an enabled
// account.
func (p *Clients) Assign(ctx context.Context, actor policy.Actor, id string, version int64,
	username string) (storage.Application, error) {
	found := &oauth.Invalid{}
	if username == "" {
		found.Add("owner", "This field is required.")
		return storage.Application{}, found
	}
	u, err := p.people.UserByName(ctx, username)
	switch {
	case errors.Is(err, oauth.ErrNotFound):
		found.Add("owner", "There is no person with that username.")
		return storage.Application{}, found
	case err != nil:
		return storage.Application{}, err
	case !u.Active:
		found.Add("owner", "The account of this person is disabled, so the application would be suspended.")
		return storage.Application{}, found
	}
	return p.assign(ctx, actor, id, version, &u.ID, storage.ByOwner)
}

func (p *Clients) assign(ctx context.Context, actor policy.Actor, id string, version int64, owner *string,
	responsible string) (storage.Application, error) {
	was, err := p.Application(ctx, actor, id)
	if err != nil {
		return was, err
	}
	err = actor.MustAdminister("change who is responsible for an application")
	if err != nil {
		return was, err
	}
	err = actor.MustConfirm()
	if err != nil {
		return was, err
	}
	was.Version = version
	assigned := events.Event{Kind: events.ApplicationAssigned, Person: events.OwnerOf(was),
		Object: events.Application(was), Detail: responsible}
	if owner != nil && *owner != oauth.Deref(was.OwnerID) {
		// The next owner reads of it too.
		u, err := p.people.User(ctx, *owner)
		if err != nil {
			return was, err
		}
		ctx = events.Attach(ctx, events.Event{Kind: events.ApplicationAssigned, Person: u, Object: events.Application(was),
			Detail: responsible})
	}
	err = p.store.AssignApplication(events.Attach(ctx, assigned), was, owner, responsible, oauth.Now())
	if errors.Is(err, storage.ErrSpent) {
		found := &oauth.Invalid{}
		found.Add("owner", "The application has changed since you saw it. Look at it again before you decide.")
		return was, found
	}
	if err != nil {
		return was, oauth.Stored(err)
	}
	return p.Application(ctx, actor, id)
}

// setOwner sets the owner whom the operator names. The operator remains responsible for
// the application.
func (p *Clients) setOwner(ctx context.Context, a *storage.Application, actor policy.Actor, r Registration,
	found *oauth.Invalid) error {
	if !actor.IsOperator() || r.Owner == "" {
		return nil
	}
	u, err := p.people.UserByName(ctx, r.Owner)
	if errors.Is(err, oauth.ErrNotFound) {
		found.Add("owner", "There is no person with that username.")
		return nil
	}
	if err != nil {
		return err
	}
	a.OwnerID, a.Owner, a.OwnerAdministrator, a.OwnerActive = &u.ID, &u.Username, &u.Administrator, &u.Active
	return nil
}
