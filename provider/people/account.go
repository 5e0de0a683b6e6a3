package people

import (
	"context"
	"errors"
	"strings"

	"mandate/provider/limits"
	"mandate/provider/oauth"
	"mandate/provider/throttle"
	"mandate/storage"
)

// Authorized is an application that a person has let in.
type Authorized struct {
	ApplicationID, Name, Owner string

	Scopes []string
	Since  int64
}

// Authorized lists the applications that a person has let in, each once.
func (p *People) Authorized(ctx context.Context, userID string) ([]Authorized, error) {
	rows, err := p.store.AuthorizedBy(ctx, userID, oauth.Now())
	if err != nil {
		return nil, oauth.Unavailable(err)
	}
	var apps []Authorized
	for _, row := range rows {
		last := len(apps) - 1
		if last < 0 || apps[last].ApplicationID != row.ApplicationID {
			apps = append(apps, Authorized{ApplicationID: row.ApplicationID, Name: row.Name, Owner: oauth.Deref(row.Owner), Since: row.Since})
			last++
		}
		apps[last].Scopes = oauth.Union(apps[last].Scopes, strings.Fields(row.Scope))
	}
	return apps, nil
}

// Sessions lists where a person is signed in.
func (p *People) Sessions(ctx context.Context, userID string) ([]storage.Session, error) {
	at := oauth.Now()
	sessions, err := p.store.SessionsOf(ctx, userID, at, p.IdleSince(at))
	return sessions, oauth.Stored(err)
}

// EndSession signs a person out in one browser.
func (p *People) EndSession(ctx context.Context, userID, sessionID string) error {
	err := p.store.EndSession(ctx, userID, sessionID, oauth.Now(), false)
	p.ended()
	return oauth.Stored(err)
}

// EndSessions signs a person out everywhere, and says of how many browsers.
func (p *People) EndSessions(ctx context.Context, userID string) (int, error) {
	n, err := p.store.EndSessions(ctx, userID, oauth.Now())
	p.ended()
	return n, oauth.Stored(err)
}

// RevokeApplication takes an approval back: the consent is forgotten, and all
// tokens that came from it are inactive at once.
func (p *People) RevokeApplication(ctx context.Context, userID, applicationID string) error {
	return oauth.Stored(p.store.RevokeConsent(ctx, userID, applicationID))
}

// Passwords are the fields of the form that changes a password.
type Passwords struct {
	Current, Next string
	KeepApprovals bool // what was allowed in other sessions goes on
}

// ChangePassword needs the current password. It ends every other session and,
// unless the person says otherwise, what was allowed in one: whoever knew the old
// password may have allowed an application of their own.
func (p *People) ChangePassword(ctx context.Context, s *storage.SignedIn, form Passwords) error {
	current, next := form.Current, form.Next
	giveBack, err := p.limits.Take(throttle.Try{Kind: limits.OfDevice, Key: "change " + s.User.ID, Wide: "change " + s.User.ID})
	if err != nil {
		return err
	}
	leave, err := p.limits.People.Enter("change " + s.User.ID)
	if err != nil {
		giveBack()
		return err
	}
	defer leave()
	found := &oauth.Invalid{}
	ok, _, err := p.limits.People.Matches(ctx, s.User.Password, current)
	if err != nil {
		giveBack()
		return err
	}
	if ok {
		giveBack()
	} else {
		found.Add("current_password", "This is not your current password.")
	}
	p.config.checkNewPassword(found, "new_password", next, s.User.Username)
	if ok && current == next {
		found.Add("new_password", "Choose a password that differs from the current one.")
	}
	if err := found.Err(); err != nil {
		return err
	}
	hash, err := p.limits.People.Hash(ctx, next)
	if err != nil {
		return err
	}
	err = p.store.ChangePassword(ctx, s.User.ID, s.User.Password, hash, oauth.Now(), s.Session.ID, form.KeepApprovals)
	if errors.Is(err, storage.ErrSpent) {
		found.Add("current_password", "Your password was changed somewhere else at the same moment.")
		return found
	}
	return oauth.Stored(err)
}
