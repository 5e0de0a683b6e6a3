package people

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"

	"mandate/provider/claims"
	"mandate/provider/events"
	"mandate/provider/oauth"
	"mandate/provider/policy"
	"mandate/storage"
)

// GroupsOf returns the names of a person's groups.
func (p *People) GroupsOf(ctx context.Context, id string) ([]string, error) {
	names, err := p.store.GroupsOf(ctx, id, oauth.Now())
	return names, oauth.Stored(err)
}

// RestrictsRegistration reports whether only some groups may register applications.
func (p *People) RestrictsRegistration() bool { return len(p.config.RegistrationGroups) > 0 }

// MayRegister reports whether a person may register applications. A name in the setting that no group has lets nobody
// register any.
func (p *People) MayRegister(ctx context.Context, u storage.User) (bool, error) {
	if u.Administrator || !p.RestrictsRegistration() {
		return true, nil
	}
	names, err := p.GroupsOf(ctx, u.ID)
	return slices.ContainsFunc(names, func(name string) bool {
		return slices.Contains(p.config.RegistrationGroups, name)
	}), err
}

// MustRegister returns an Error with status 403 unless a person may register applications.
func (p *People) MustRegister(ctx context.Context, u storage.User) error {
	may, err := p.MayRegister(ctx, u)
	if err == nil && !may {
		err = oauth.ForPerson(http.StatusForbidden, "access_denied", "",
			"Only some groups may register applications on this server, and you are in none of them. Ask an administrator.")
	}
	return err
}

// Groups returns all groups.
func (p *People) Groups(ctx context.Context) ([]storage.Group, error) {
	groups, err := p.store.Groups(ctx, oauth.Now())
	return groups, oauth.Stored(err)
}

// GroupNamed returns a group, or ErrNotFound.
func (p *People) GroupNamed(ctx context.Context, name string) (storage.Group, error) {
	groups, err := p.Groups(ctx)
	if err != nil {
		return storage.Group{}, err
	}
	at := slices.IndexFunc(groups, func(g storage.Group) bool { return g.Name == name })
	if at < 0 {
		return storage.Group{}, oauth.ErrNotFound
	}
	return groups[at], nil
}

// MembersOf returns the usernames of the members of a group.
func (p *People) MembersOf(ctx context.Context, name string) ([]string, error) {
	names, err := p.store.MembersOf(ctx, name, oauth.Now())
	return names, oauth.Stored(err)
}

// AddGroup stores a new group.
func (p *People) AddGroup(ctx context.Context, name string) error {
	err := checkGroupName(name)
	if err != nil {
		return err
	}
	return groupError(p.store.AddGroup(events.Attach(ctx,
		events.Event{Kind: events.GroupAdded, Object: events.Group(name)}), name, oauth.Now()))
}

// RenameGroup gives a group another name. Its members stay, open invitations lead to it, and the claim rules of
// applications have its new name.
func (p *People) RenameGroup(ctx context.Context, from, to string) error {
	err := checkGroupName(to)
	if err != nil {
		return err
	}
	return groupError(p.store.RenameGroup(events.Attach(ctx,
		events.Event{Kind: events.GroupRenamed, Object: events.Group(to), Detail: from}), from, to,
		func(rules string) (string, error) { return claims.RenameGroup(rules, from, to) }))
}

// groupError turns an error of the store into a message at the name.
func groupError(err error) error {
	if used, ok := errors.AsType[*storage.GroupInUse](err); ok {
		found := &oauth.Invalid{}
		found.Add("name", "Applications name this group to say who may use them: %s. Change them first, or give the group "+
			"another name.", strings.Join(used.Applications, ", "))
		return found
	}
	if errors.Is(err, storage.ErrConflict) {
		found := &oauth.Invalid{}
		found.Add("name", "A group with that name already exists.")
		return found
	}
	return oauth.Stored(err)
}

// checkGroupName returns an Invalid for mistakes in the name of a group.
func checkGroupName(name string) error {
	found := &oauth.Invalid{}
	if strings.TrimSpace(name) == "" {
		found.Add("name", "This field is required.")
	}
	// A browser removes these two names from the path of the group's page.
	if name == "." || name == ".." {
		found.Add("name", "Use a name with a letter or a digit.")
	}
	// Such a name could not be written in a list of people, which separates groups by semicolons, and trims them.
	if strings.ContainsRune(name, ';') {
		found.Add("name", "Use a name without a semicolon: in a list of people it separates groups.")
	}
	if name != strings.TrimSpace(name) {
		found.Add("name", "Use a name that does not begin or end with a space.")
	}
	CheckText(found, "name", name)
	return found.Err()
}

// DeleteGroup deletes a group. Its members remain.
func (p *People) DeleteGroup(ctx context.Context, name string) error {
	return groupError(
		p.store.DeleteGroup(events.Attach(ctx, events.Event{Kind: events.GroupDeleted, Object: events.Group(name)}), name))
}

// EndMemberships ends at most limit memberships whose time has come, and returns their number. now is the time of the
// database.
func (p *People) EndMemberships(ctx context.Context, now int64, limit int) (int64, error) {
	each := events.Row(ctx, events.Event{Kind: events.MembershipEnded, Object: events.Group("")})
	return p.store.EndMemberships(ctx, now, limit, each)
}

// Join makes a person a member of a group until a time (0: without an end). A membership that is like that already
// stays as it is, and nothing is written, so that a script can run again.
func (p *People) Join(ctx context.Context, actor policy.Actor, u storage.User, group string, until int64) error {
	groups, err := p.GroupsOf(ctx, u.ID)
	if err != nil {
		return err
	}
	temporary, err := p.Temporary(ctx, "", u.ID)
	if err != nil {
		return err
	}
	end := int64(0)
	for _, m := range temporary {
		if m.Group == group {
			end = m.ExpiresAt
		}
	}
	if slices.Contains(groups, group) && end == until {
		return nil
	}
	return p.SetMembership(ctx, actor, u, group, until)
}

// SetMembership makes a person a member of a group until a time, or without an end if until is 0.
func (p *People) SetMembership(ctx context.Context, actor policy.Actor, u storage.User, group string,
	until int64) error {
	err := actor.MustAdminister("change an account")
	if err != nil {
		return err
	}
	if until != 0 && until <= oauth.Now() {
		found := &oauth.Invalid{}
		found.Add("until", "The time is over already: name one in the future.")
		return found
	}
	changed := events.Event{Kind: events.PersonChanged, Person: u, Detail: "groups"}
	err = p.store.SetMembership(events.Attach(ctx, changed), u.ID, group, until, oauth.Now())
	if err == nil {
		p.Ended.Ring()
	}
	return oauth.Stored(err)
}

// Temporary returns the memberships of a group, or of a person, that end by themselves. The other one is "".
func (p *People) Temporary(ctx context.Context, group, userID string) ([]storage.Membership, error) {
	found, err := p.store.TemporaryMemberships(ctx, group, userID, oauth.Now())
	return found, oauth.Stored(err)
}

// Administered returns the groups that a person administers.
func (p *People) Administered(ctx context.Context, userID string) ([]string, error) {
	names, err := p.store.Administered(ctx, userID)
	return names, oauth.Stored(err)
}
