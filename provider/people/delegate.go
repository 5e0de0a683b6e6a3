package people

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"time"

	"mandate/provider/events"
	"mandate/provider/notices"
	"mandate/provider/oauth"
	"mandate/provider/policy"
	"mandate/storage"
)

// delegates returns an Error unless the actor administers a group. Whoever does not learns nothing of the group.
func (p *People) delegates(ctx context.Context, actor policy.Actor, group string) error {
	names, err := p.Administered(ctx, actor.Person().ID)
	if err == nil && (actor.Nobody() || !slices.Contains(names, group)) {
		err = oauth.ErrNotFound
	}
	return err
}

// Members returns one page of the members of a group for a person who administers it, and the number of all.
func (p *People) Members(ctx context.Context, actor policy.Actor, group string, limit, offset int) ([]storage.User, int,
	error) {
	err := p.delegates(ctx, actor, group)
	if err != nil {
		return nil, 0, err
	}
	found, total, err := p.store.MemberList(ctx, group, oauth.Now(), limit, offset)
	return found, total, oauth.Stored(err)
}

// Member is a member of a group, as an administrator of the group sees it.
type Member struct {
	storage.User
	NotRemoved error // why the member cannot be removed from the group; nil: they can
	NotManaged error // why the account cannot be changed; nil: it can
}

// Member returns a member of a group that the actor administers. It returns ErrNotFound for everybody else.
func (p *People) Member(ctx context.Context, actor policy.Actor, group, id string) (Member, error) {
	err := p.delegates(ctx, actor, group)
	if err != nil {
		return Member{}, err
	}
	by, err := p.store.HolderOf(ctx, actor.Person().ID, oauth.Now())
	if err != nil {
		return Member{}, oauth.Stored(err)
	}
	of, err := p.store.HolderOf(ctx, id, oauth.Now())
	if err == nil && !slices.Contains(of.Groups, group) {
		err = storage.ErrNotFound
	}
	m := Member{User: of.User, NotRemoved: policy.NotManaged(by, of, group, storage.ActRemove),
		NotManaged: policy.NotManaged(by, of, group, storage.ActDisable)}
	if m.NotManaged != nil {
		m.Email = "" // of somebody who has more to do with others
	}
	return m, oauth.Stored(err)
}

// Manage does what an administrator of a group asks to a member. It returns ErrConfirm if the actor must sign in again
// first, and ErrNotFound for whoever is no member of the group. The rule is asked in the transaction, because each of
// the two may have got or lost rights since the page was opened.
func (p *People) Manage(ctx context.Context, actor policy.Actor, group, id, act string) error {
	m, err := p.Member(ctx, actor, group, id)
	if err == nil {
		err = actor.MustConfirm()
	}
	if err != nil {
		return err
	}
	d := storage.Delegated{By: actor.Person().ID, Of: id, Group: group, Act: act, At: oauth.Now()}
	d.May = func(by, of storage.Holder) error { return policy.NotManaged(by, of, group, act) }
	happened := events.Event{Person: m.User, Object: events.Group(group)}
	switch act {
	case storage.ActRemove:
		happened.Kind, happened.Detail = events.PersonChanged, "groups"
	case storage.ActDisable:
		happened.Kind = events.PersonDisabled
	case storage.ActEnable:
		happened.Kind = events.PersonEnabled
	case storage.ActFactors:
		happened.Kind = events.FactorsReset
		d.Notices = p.notices.FactorChanged(m.User, notices.FactorsReset)
	case storage.ActLink:
		// The message goes to the member: the administrator of a group never has a link into the account of somebody
		// who may get more rights while it works.
		if m.Email == "" || !p.notices.On() {
			return oauth.ForPerson(http.StatusForbidden, "access_denied", "",
				"No link can be sent: the person has no email address that you may use, or this server sends no mail.")
		}
		l, secret := newLink(m.User, storage.LinkReset, ResetLife)
		message := p.notices.Reset(m.User, l.Link, "", "", p.resetURL(secret))
		l.Mail, d.Link = &message, &l
		happened.Kind, happened.Detail = events.PasswordLink, "mail"
	default:
		return oauth.ErrNotFound
	}
	err = p.store.Delegate(events.Attach(ctx, happened), d)
	p.Ended.Ring()
	p.notices.Wake()
	return delegateError(err)
}

// delegateError leaves the error of the rule as it is.
func delegateError(err error) error {
	if _, ok := errors.AsType[*oauth.Error](err); ok {
		return err
	}
	switch {
	case errors.Is(err, storage.ErrSpent):
		return oauth.ForPerson(http.StatusForbidden, "access_denied", "", "This account is disabled. Enable it first.")
	case errors.Is(err, storage.ErrFull):
		return oauth.Later(http.StatusTooManyRequests, time.Hour, "Too many messages were sent to this address. Try again "+
			"in an hour.")
	}
	return oauth.Stored(err)
}
