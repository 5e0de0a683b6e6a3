package people

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"mandate/provider/events"
	"mandate/provider/oauth"
	"mandate/provider/password"
	"mandate/storage"
)

const (
	// MostImported is how many people one list can have.
	MostImported = 100_000
	// importBatch is how many people are stored in one transaction. Other changes of people wait for it.
	importBatch = 200
)

// Newcomer is a person who comes from another server, with the hash of the password there.
type Newcomer struct {
	Person
	Hash string // ""; or what begins with "!": the person has no password
	Line int    // in the list
}

// ReadNewcomers reads a table of people.
func ReadNewcomers(from io.Reader) ([]Newcomer, error) {
	rows, err := table{columns: []string{"username", "email", "first_name", "last_name", "groups", "password_hash",
		"active", "subject", "email_verified"},
		required: []string{"username"}, most: MostImported}.read(from)
	if err != nil {
		return nil, err
	}
	found := &mistakes{}
	list := make([]Newcomer, len(rows))
	for n, one := range rows {
		yes := func(column string, unless bool) bool {
			switch text := strings.ToLower(one.cells[column]); text {
			case "true", "t", "yes", "1":
				return true
			case "false", "f", "no", "0":
				return false
			case "":
			default:
				found.add(one.line, column, "Use true or false.")
			}
			return unless
		}
		person := Person{Username: one.cells["username"], Email: one.cells["email"], FirstName: one.cells["first_name"],
			LastName: one.cells["last_name"], Groups: names(one.cells["groups"]),
			Subject: one.cells["subject"], Inactive: !yes("active", true),
			Profile: &Profile{EmailVerified: yes("email_verified", false)}}
		list[n] = Newcomer{person, one.cells["password_hash"], one.line}
	}
	return list, found.err()
}

// Imported says what came of an import.
type Imported struct {
	Added   int
	Existed int // people with the username were there already, and did not change
}

// Import adds people. It returns an Invalid that names every mistake, with its line; then nobody is added. A
// person whose username somebody has is skipped, so that an import can run again after it was interrupted. If
// trial is set, it only says what would happen. A hash is verified with its own scheme, and replaced by one of
// this server when the person signs in.
func (p *People) Import(ctx context.Context, list []Newcomer, trial bool) (Imported, error) {
	users, groups, done, err := p.newcomers(ctx, list)
	if err != nil || trial {
		done.Added = len(users)
		return done, err
	}
	for first := 0; first < len(users); first += importBatch {
		end := min(first+importBatch, len(users))
		batch, added := make([]storage.NewUser, 0, importBatch), make([]events.Event, 0, importBatch)
		for n, u := range users[first:end] {
			batch = append(batch, storage.NewUser{User: u, Groups: groups[first+n]})
			added = append(added, events.Event{Kind: events.PersonAdded, Person: u, Detail: "import"})
		}
		err = p.store.AddUsers(events.Attach(ctx, added...), batch)
		if err != nil {
			return done, fmt.Errorf("%d people were added, and then it failed; run it again: %w", done.Added, importError(err))
		}
		done.Added = end
	}
	return done, nil
}

// importError returns what an error of the store means to whoever imports people.
func importError(err error) error {
	switch {
	case errors.Is(err, storage.ErrConflict):
		return errors.New("somebody else added a person of the list at the same moment")
	case errors.Is(err, storage.ErrNotFound):
		return errors.New("somebody else deleted a group of the list at the same moment")
	}
	return oauth.Stored(err)
}

// newcomers checks a list, and returns the people who are not here yet.
func (p *People) newcomers(ctx context.Context, list []Newcomer) ([]storage.User, [][]string, Imported, error) {
	found := &mistakes{}
	known, err := p.Groups(ctx)
	if err != nil {
		return nil, nil, Imported{}, err
	}
	var users []storage.User
	var groups [][]string
	var done Imported
	usernames, subjects := map[string]int{}, map[string]int{}
	for _, one := range list {
		one.check(found, known) // the address of one, and not that of the list, gets its form
		key := FoldName(one.Username)
		if line := usernames[key]; line > 0 {
			found.add(one.Line, "username",
				fmt.Sprintf("The username is in line %d already. Upper and lower case make no difference.", line))
		}
		if line := subjects[one.Subject]; line > 0 && one.Subject != "" {
			found.add(one.Line, "subject", fmt.Sprintf("The subject is in line %d already.", line))
		}
		usernames[key], subjects[one.Subject] = one.Line, one.Line
		existing, err := p.store.UserByKey(ctx, key)
		switch {
		case err == nil && one.Subject != "" && one.Subject != existing.ID:
			found.add(one.Line, "username", "Somebody here has this username, and another subject.")
			continue
		case err == nil:
			done.Existed++
			continue
		case !errors.Is(err, storage.ErrNotFound):
			return nil, nil, done, oauth.Unavailable(err)
		}
		err = p.checkSubject(ctx, one.Subject)
		if invalid, ok := errors.AsType[*oauth.Invalid](err); ok {
			found.addAll(one.Line, invalid)
		} else if err != nil {
			return nil, nil, done, err
		}
		if !found.none() {
			continue
		}
		u, err := one.record(one.hash())
		if err != nil {
			return nil, nil, done, err
		}
		users, groups = append(users, u), append(groups, one.Groups)
	}
	return users, groups, done, found.err()
}

// check checks what can be checked without the database.
func (n *Newcomer) check(found *mistakes, known []storage.Group) {
	form := &oauth.Invalid{}
	n.Person.check(form)
	found.addAll(n.Line, form)
	found.checkGroups(n.Line, n.Groups, known)
	if n.hash() == "" {
		return
	}
	if err := password.CheckImported(n.hash()); err != nil {
		found.add(n.Line, "password_hash", "The hash cannot be imported: "+err.Error()+".")
	}
}

// hash returns the hash of the password, or "". Django writes ! for a person who has no password.
func (n Newcomer) hash() string {
	if strings.HasPrefix(n.Hash, "!") {
		return ""
	}
	return n.Hash
}
