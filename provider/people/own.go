package people

import (
	"context"
	_ "embed"
	"errors"
	"slices"
	"strings"

	"mandate/provider/events"
	"mandate/provider/oauth"
	"mandate/storage"
)

// The words of EDITABLE_BY_PEOPLE.
const (
	OwnName     = "name"
	OwnLanguage = "locale"
	OwnZone     = "zoneinfo"
	OwnEmail    = "email"
)

// OwnFields lists what people may change of their own account, if the operator allows it.
func OwnFields() []string { return []string{OwnName, OwnLanguage, OwnZone, OwnEmail} }

// zones lists the zones of the time zone database that stand for a country, one a line.
//
//go:embed zones.txt
var zones string

// Zones lists the time zones from which people choose.
func Zones() []string { return strings.Fields(zones) }

// Edits reports whether people may change this of their own account. Another address is confirmed by mail.
func (p *People) Edits(field string) bool {
	return slices.Contains(p.config.Editable, field) && (field != OwnEmail || p.notices.On())
}

// Own is what a person changes of their own account. What the operator does not leave to people is ignored.
type Own struct{ FirstName, LastName, Locale, ZoneInfo string }

// OwnOf returns what is stored of it.
func OwnOf(u storage.User) (Own, error) {
	profile, err := ProfileOf(u)
	return Own{u.FirstName, u.LastName, profile.Locale, profile.ZoneInfo}, err
}

// ChangeOwn changes what a person may change of their own account. The session gets another cookie; nil: nothing has
// changed. It returns an Invalid for mistakes in the form.
func (p *People) ChangeOwn(ctx context.Context, s *storage.SignedIn, own Own) (*SignIn, error) {
	for range changeTries {
		in, err := p.changeOwn(ctx, s, own)
		if !errors.Is(err, storage.ErrSpent) {
			return in, err
		}
	}
	return nil, ErrNotSignedIn // the session has ended, or the account changes all the time
}

func (p *People) changeOwn(ctx context.Context, s *storage.SignedIn, own Own) (*SignIn, error) {
	before, err := p.User(ctx, s.User.ID)
	if err != nil {
		return nil, err
	}
	groups, err := p.GroupsOf(ctx, before.ID)
	if err != nil {
		return nil, err
	}
	u, err := p.withOwn(before, own)
	if err != nil || u == before {
		return nil, err
	}
	u.UpdatedAt = oauth.Now()
	r, in := renewal(s)
	still := storage.NewUser{User: before, Groups: groups}
	happened := changeEvents(before, u, groups, groups)
	err = p.store.UpdateUser(events.Attach(ctx, happened...), u, groups, &still, storage.Beside{By: &r})
	if errors.Is(err, storage.ErrSpent) {
		return nil, err
	}
	in.User = u
	return in, oauth.Stored(err)
}

// withOwn returns a person with what they have changed.
func (p *People) withOwn(u storage.User, own Own) (storage.User, error) {
	profile, err := ProfileOf(u)
	if err != nil {
		return u, err
	}
	found, was := &oauth.Invalid{}, profile
	if p.Edits(OwnName) {
		// A name that is older than a rule stays.
		changedName(found, "first_name", &u.FirstName, own.FirstName)
		changedName(found, "last_name", &u.LastName, own.LastName)
	}
	if p.Edits(OwnLanguage) {
		choose(found, "locale", &profile.Locale, own.Locale, p.config.Languages)
	}
	if p.Edits(OwnZone) {
		choose(found, "zoneinfo", &profile.ZoneInfo, own.ZoneInfo, Zones())
	}
	if profile != was {
		u.Profile, err = profile.store()
		if err != nil {
			return u, err
		}
	}
	return u, found.Err()
}

// changedName replaces a name by a checked one. People read the names of others, so what may mislead at a sign-up may
// not come later either.
func changedName(found *oauth.Invalid, field string, stored *string, next string) {
	if *stored == next {
		return
	}
	CheckText(found, field, next)
	if misleadingMarks(next) {
		found.Add(field, hardToSee)
	}
	*stored = next
}

// choose replaces a value by one of a list, or by none.
func choose(found *oauth.Invalid, field string, stored *string, next string, list []string) {
	if next != "" && next != *stored && !slices.Contains(list, next) {
		found.Add(field, "Choose an entry of the list.")
	}
	*stored = next
}
