package people

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"mandate/provider/oauth"
	"mandate/provider/seal"
	"mandate/storage"
)

// Person is the description of a person by an administrator, the CLI or the sample API.
type Person struct {
	Username, Email, FirstName, LastName string

	Password      string // "": the password does not change
	Groups        []string
	Inactive      bool
	Administrator bool
	Auditor       bool     // sees what administrators see, and changes nothing of it
	Administers   []string // the groups that the person administers
	Profile       *Profile // nil: the profile does not change
	Attributes    []string // those that change, as NAME=VALUE; an empty value removes one

	// Shown is the StateOf the person that somebody has seen who decides about a change; "": nobody has seen any.
	Shown string

	// Verified says that whoever changes the address knows that the new one is the person's. A form has a box that may
	// still be ticked for the former address.
	Verified bool

	// Subject is for the CLI only. It is the identifier by which applications know a
	// person who comes from another server; "": the server generates one.
	Subject string
}

// anySubject matches the subjects that other servers have given people, such as auth0|5f7c.
//
// OIDC Core §2: a subject has at most 255 ASCII characters. Here each of them can be seen, and none is a space.
var anySubject = regexp.MustCompile(`^[!-~]{1,255}$`)

// notInPaths lists subjects that no page could have: they mean something else in the path of an address.
var notInPaths = []string{"new", ".", ".."}

// MaxUsername is the largest number of characters in a username.
const MaxUsername = 150

// described returns the description of a person as stored.
func described(u storage.User, groups, administers []string) (Person, error) {
	profile, err := ProfileOf(u)
	if profile.Address == nil {
		profile.Address = &Address{}
	}
	return Person{Username: u.Username, Email: u.Email, FirstName: u.FirstName, LastName: u.LastName, Groups: groups,
		Administers:   administers,
		Inactive:      !u.Active,
		Administrator: u.Administrator, Auditor: u.Auditor, Profile: &profile, Shown: StateOf(u, groups, administers)}, err
}

// FoldName returns the key of a user name. Names that look alike have the same key:
// case, and the composition of characters, make no difference.
func FoldName(username string) string {
	return strings.ToLower(norm.NFKC.String(strings.TrimSpace(username)))
}

// check checks a description, and puts its address into the form in which it is stored.
func (person *Person) check(found *oauth.Invalid) {
	name := person.Username
	switch {
	case name == "":
		found.Add("username", "This field is required.")
	case utf8.RuneCountInString(name) > MaxUsername:
		found.Add("username", "Use at most 150 characters.")
	case !isUsername(name):
		found.Add("username", "Use letters, digits and @ . + - _ only, or your email address.")
	case !visible(name):
		found.Add("username", "Use at least one character that can be seen.")
	}
	if person.Email != "" {
		address, wrong := readAddress(person.Email)
		if person.Email = address; wrong != "" {
			found.Fields = append(found.Fields, oauth.FieldError{Field: "email", Message: wrong})
		}
	}
	CheckText(found, "first_name", person.FirstName)
	CheckText(found, "last_name", person.LastName)
	if person.Profile != nil {
		person.Profile.check(found, person.Email)
	}
	if person.Subject != "" && (!anySubject.MatchString(person.Subject) || slices.Contains(notInPaths, person.Subject)) {
		found.Add("subject", "Use at most 255 ASCII characters without spaces for the subject, and neither new nor dots "+
			"alone.")
	}
}

// isUsername reports whether a username has only characters that it may have. An address has more of them (RFC 5322
// §3.2.3).
func isUsername(name string) bool {
	_, wrong := readAddress(name)
	return wrong == "" && isASCII(name) || !strings.ContainsFunc(name, func(r rune) bool {
		return hidden(r) || !unicode.IsLetter(r) && !unicode.IsMark(r) && !unicode.IsNumber(r) &&
			!strings.ContainsRune("@.+-_", r)
	})
}

// record returns the record of a new person. With an empty hash, no password is right.
func (person Person) record(hash string) (storage.User, error) {
	profile, err := oauth.Deref(person.Profile).store()
	at := oauth.Now()
	return storage.User{Profile: profile, UpdatedAt: at, ID: cmp.Or(person.Subject, seal.Identifier()),
		Username: person.Username, UsernameKey: FoldName(person.Username), Email: person.Email,
		FirstName: person.FirstName, LastName: person.LastName, Password: hash, Active: !person.Inactive,
		Administrator: person.Administrator, Auditor: person.Auditor, CreatedAt: at, PasswordChangedAt: at}, err
}

// account returns what the rules for passwords need of a person who is described.
func (person Person) account() storage.User {
	return storage.User{Username: person.Username, Email: person.Email, FirstName: person.FirstName,
		LastName: person.LastName}
}

// checkUsername returns an Invalid if somebody has a username.
func (p *People) checkUsername(ctx context.Context, username string) error {
	_, err := p.store.UserByKey(ctx, FoldName(username))
	if err == nil {
		return personError(storage.ErrConflict)
	}
	if errors.Is(err, storage.ErrNotFound) {
		return nil
	}
	return oauth.Unavailable(err)
}

// personError turns an error of the store into a message at the field that caused it.
func personError(err error) error {
	found := &oauth.Invalid{}
	switch {
	case errors.Is(err, storage.ErrConflict):
		found.Add("username", "A person with that username already exists.")
		return found
	case errors.Is(err, storage.ErrLastAdministrator):
		found.Add("administrator", "This is the last enabled administrator. Make somebody else an administrator first.")
		return found
	case errors.Is(err, storage.ErrNotFound):
		found.Add("group", "There is no group with that name. Add the group first.")
		return found
	}
	return oauth.Stored(err)
}

// StateOf returns a digest of everything that UpdateUser writes. A page has it, so that nobody overwrites what they
// have not seen.
func StateOf(u storage.User, groups, administers []string) string {
	parts := append([]string{u.Username, u.Email, u.FirstName, u.LastName, u.Profile, u.Attributes,
		fmt.Sprint(u.Active, u.Administrator, u.Auditor)}, slices.Sorted(slices.Values(groups))...)
	parts = append(append(parts, "administers"), slices.Sorted(slices.Values(administers))...)
	return seal.Digest(strings.Join(parts, "\x00"))
}

// checkSubject returns an Invalid if a chosen subject is in use.
func (p *People) checkSubject(ctx context.Context, subject string) error {
	if subject == "" {
		return nil
	}
	found := &oauth.Invalid{}
	// RFC 9700 §4.15.1: a subject identifies a person or a client, and never both.
	_, err := p.store.ApplicationByClientID(ctx, subject)
	if err == nil {
		found.Add("subject", "An application has this client id already.")
		return found
	}
	if errors.Is(err, storage.ErrNotFound) {
		_, err = p.store.UserByID(ctx, subject)
	}
	if err == nil {
		found.Add("subject", "A person with that subject already exists.")
		return found
	}
	if errors.Is(err, storage.ErrNotFound) {
		return nil
	}
	return oauth.Unavailable(err)
}
