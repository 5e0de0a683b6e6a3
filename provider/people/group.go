package people

import (
	"context"
	"errors"
	"strings"

	"mandate/provider/events"
	"mandate/provider/oauth"
	"mandate/storage"
)

// GroupsOf returns the names of a person's groups.
func (p *People) GroupsOf(ctx context.Context, id string) ([]string, error) {
	names, err := p.store.GroupsOf(ctx, id)
	return names, oauth.Stored(err)
}

// Groups returns all groups.
func (p *People) Groups(ctx context.Context) ([]storage.Group, error) {
	groups, err := p.store.Groups(ctx)
	return groups, oauth.Stored(err)
}

// AddGroup stores a new group.
func (p *People) AddGroup(ctx context.Context, name string) error {
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
	if err := found.Err(); err != nil {
		return err
	}
	err := p.store.AddGroup(events.Attach(ctx, events.Event{Kind: events.GroupAdded, Object: events.Group(name)}), name, oauth.Now())
	if errors.Is(err, storage.ErrConflict) {
		found.Add("name", "A group with that name already exists.")
		return found
	}
	return oauth.Stored(err)
}

// DeleteGroup deletes a group. Its members remain.
func (p *People) DeleteGroup(ctx context.Context, name string) error {
	return oauth.Stored(p.store.DeleteGroup(events.Attach(ctx, events.Event{Kind: events.GroupDeleted, Object: events.Group(name)}), name))
}
