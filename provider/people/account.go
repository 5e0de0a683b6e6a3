package people

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"mandate/provider/events"
	"mandate/provider/indicator"
	"mandate/provider/limits"
	"mandate/provider/oauth"
	"mandate/provider/policy"
	"mandate/provider/seal"
	"mandate/provider/throttle"
	"mandate/provider/typed"
	"mandate/storage"
)

// Authorized is an application to which a person has given consent.
type Authorized struct {
	ApplicationID, Owner string
	Document             string // the URL of its metadata document, if it came with one

	Scopes    []string
	Resources []string // the resources, as a grant names them; none: the access is only for the server itself
	Since     int64

	Standing   policy.Standing
	Suspended  string // why it is suspended; empty: it is not
	LastUsedAt int64

	// Application has the name, the metadata, and how the application came here.
	Application storage.Application
}

// Authorized returns the applications to which a person has given consent, each once.
func (p *People) Authorized(ctx context.Context, userID string) ([]Authorized, error) {
	rows, err := p.store.AuthorizedBy(ctx, userID, oauth.Now())
	if err != nil {
		return nil, oauth.Unavailable(err)
	}
	var apps []Authorized
	for _, row := range rows {
		last := len(apps) - 1
		if last < 0 || apps[last].ApplicationID != row.ApplicationID {
			a := storage.Application{Name: row.Name, Metadata: row.Metadata, Management: row.Management, ClientID: row.ClientID,
				Origin: row.Origin, Responsible: row.Responsible, OwnerAdministrator: row.OwnerAdministrator,
				OwnerActive: row.OwnerActive}
			apps = append(apps, Authorized{ApplicationID: row.ApplicationID, Owner: oauth.Deref(row.Owner), Since: row.Since,
				Standing: policy.StandingOf(a), Suspended: p.rules.WhySuspended(a), LastUsedAt: row.LastUsedAt, Application: a,
				Document: policy.DocumentOf(a)})
			last++
		}
		apps[last].Scopes = oauth.Union(apps[last].Scopes, strings.Fields(row.Scope))
		apps[last].Resources = oauth.Union(apps[last].Resources, indicator.ReadApproved("", row.Resource).Resources())
	}
	return apps, nil
}

// Sessions returns the browser sessions of a person.
func (p *People) Sessions(ctx context.Context, userID string) ([]storage.Session, error) {
	at := oauth.Now()
	sessions, err := p.store.SessionsOf(ctx, userID, at, p.IdleSince(at))
	return sessions, oauth.Stored(err)
}

// EndSession ends one browser session of a person. It returns ErrNotFound if the person
// has no such session.
func (p *People) EndSession(ctx context.Context, userID, sessionID string) error {
	ended, err := p.about(ctx, events.SessionEnded, userID)
	if err != nil {
		return err
	}
	ended.Object = events.Session(storage.Session{ID: sessionID})
	err = p.store.EndSession(events.Attach(ctx, ended), userID, sessionID, oauth.Now(), false)
	p.Ended.Ring()
	return oauth.Stored(err)
}

// EndSessions ends all browser sessions of a person, and returns their number.
func (p *People) EndSessions(ctx context.Context, userID string) (int, error) {
	ended, err := p.about(ctx, events.AllEnded, userID)
	if err != nil {
		return 0, err
	}
	n, err := p.store.EndSessions(events.Attach(ctx, ended), userID, oauth.Now())
	p.Ended.Ring()
	return n, oauth.Stored(err)
}

// Revoke deletes a person's consent to an application, and revokes all
// tokens that were issued by it.
func (p *People) Revoke(ctx context.Context, userID, applicationID string) error {
	a, err := p.store.Application(ctx, applicationID)
	if err != nil {
		return oauth.Stored(err)
	}
	revoked, err := p.about(ctx, events.ConsentRevoked, userID)
	if err != nil {
		return err
	}
	revoked.Object = events.Application(a)
	return oauth.Stored(p.store.RevokeConsent(events.Attach(ctx, revoked), userID, applicationID))
}

// MaySend returns an Error with status 429 if a session has sent more forms than anybody fills in: each may store an
// event. Administrators who have signed in a moment ago are trusted with that. The function is for a form that was
// refused: it stores none.
//
// Somebody else may have a copy of the session, and uses up what it has. After another sign-in, the person goes on.
func (p *People) MaySend(s *storage.SignedIn) (refused func(), err error) {
	if s.User.Administrator && isFresh(s, Factors{}) {
		return func() {}, nil
	}
	refused, wait := p.limits.Tries.Take(throttle.Try{Kind: limits.OfOwnChange,
		Key: "form " + s.Session.SignIn(), Site: s.User.ID, Wide: s.User.ID})
	if wait > 0 {
		e := oauth.ForPerson(http.StatusTooManyRequests, "temporarily_unavailable", "",
			"Too many forms were sent since this sign-in. Sign out and sign in again, then send the form once more.")
		e.RetryAfter = oauth.Later(e.Status, wait, "").RetryAfter
		return nil, e
	}
	return refused, nil
}

// mayRepeat returns an Error with status 429 if something was done more often than anybody does it: each is an event.
// It is for what somebody has just proved to be the person for, such as a sign-in: others must not use it up. It comes
// before anything is stored. Administrators are trusted with that.
func (p *People) mayRepeat(u storage.User, what string) error {
	if u.Administrator {
		return nil
	}
	_, err := p.limits.Request(throttle.Try{Kind: limits.OfOwnChange, Key: what + u.ID, Wide: what + u.ID})
	return err
}

// maySignIn is mayRepeat for a sign-in, and for another factor in a session.
func (p *People) maySignIn(u storage.User) error { return p.mayRepeat(u, "sign-in ") }

// about returns an event that concerns the person with this id.
func (p *People) about(ctx context.Context, kind events.Kind, userID string) (events.Event, error) {
	u, err := p.User(ctx, userID)
	return events.Event{Kind: kind, Person: u}, err
}

// Passwords is the form that changes a password.
type Passwords struct {
	Current, Next string
	KeepApprovals bool // what the person has approved is not revoked
}

// ChangePassword sets a new password if the current one is right. It ends every other
// session, and gives this one another cookie: somebody else may have a copy of it. Unless
// form.KeepApprovals is set, it also revokes everything that the person has approved, in this
// session too: somebody else who knew the old password may have approved an application.
// It returns an Invalid for a mistake in the form.
func (p *People) ChangePassword(ctx context.Context, s *storage.SignedIn, form Passwords) (*SignIn, error) {
	current, next := form.Current, form.Next
	giveBack, err := p.limits.Take(limits.PasswordChange(s.Session.Digest, s.User.ID)...)
	if err != nil {
		return nil, err
	}
	leave, err := p.limits.People.Enter("change " + s.User.ID)
	if err != nil {
		giveBack()
		return nil, err
	}
	defer leave()
	found := &oauth.Invalid{}
	ok, _, err := p.limits.People.Matches(ctx, s.User.Password, current)
	if err != nil {
		giveBack()
		return nil, err
	}
	if ok {
		giveBack()
	} else {
		found.Add("current_password", "This is not your current password.")
		err = events.Failed(ctx, p.store, events.Event{Kind: events.PasswordFailed, Person: s.User})
		if err != nil {
			return nil, err
		}
	}
	p.config.checkNewPassword(found, "new_password", next, s.User)
	if ok && typed.Secret(current) == typed.Secret(next) {
		found.Add("new_password", "Choose a password that differs from the current one.")
	}
	if err := found.Err(); err != nil {
		return nil, err
	}
	err = p.mayRepeat(s.User, "password ")
	if err != nil {
		return nil, err
	}
	hash, err := p.limits.People.Hash(ctx, next)
	if err != nil {
		return nil, err
	}
	renewal, in := renewal(s)
	if !form.KeepApprovals {
		renewal.Session.ID = seal.Random(16) // to the applications, the session has ended
	}
	err = p.store.ChangePassword(events.Attach(ctx, events.Event{Kind: events.PasswordChanged, Person: s.User}),
		s.User.Password, hash, oauth.Now(), renewal, form.KeepApprovals, p.notices.PasswordChanged(s.User)...)
	if errors.Is(err, storage.ErrSpent) {
		found.Add("current_password", "Your password was changed somewhere else at the same moment.")
		return nil, found
	}
	if err != nil {
		return nil, oauth.Unavailable(err)
	}
	p.Ended.Ring()
	p.notices.Wake()
	known := s.User
	known.Generation++ // the other browsers are not known any more, this one is
	in.Device, err = p.mark(known)
	return in, err
}
