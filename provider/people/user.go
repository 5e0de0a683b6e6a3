package people

import (
	"cmp"
	"context"
	"errors"
	"net/mail"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"mandate/provider/oauth"
	"mandate/provider/seal"
	"mandate/storage"
)

// Person is what an administrator, the CLI or the sample API says of somebody.
type Person struct {
	Username, Email, FirstName, LastName string

	Password      string // "" leaves it as it is
	Groups        []string
	Inactive      bool
	Administrator bool
	Profile       *Profile // nil leaves it as it is

	// Subject is of the CLI only: the identifier that applications know somebody by
	// who comes from another server; empty has one made.
	Subject string
}

// anySubject is what an address of ours and every relying party takes (OIDC
// Core §2: at most 255 ASCII characters).
var anySubject = regexp.MustCompile(`^[A-Za-z0-9_-][A-Za-z0-9._-]{0,254}$`)

// foldName makes names that look alike one: without case, and in one
// composition of their characters.
func FoldName(username string) string {
	return strings.ToLower(norm.NFKC.String(strings.TrimSpace(username)))
}

func (person Person) check(found *oauth.Invalid) {
	name := person.Username
	switch {
	case name == "":
		found.Add("username", "This field is required.")
	case utf8.RuneCountInString(name) > 150:
		found.Add("username", "Use at most 150 characters.")
	case strings.ContainsFunc(name, func(r rune) bool {
		return hidden(r) || !unicode.IsLetter(r) && !unicode.IsMark(r) && !unicode.IsNumber(r) && !strings.ContainsRune("@.+-_", r)
	}):
		found.Add("username", "Use letters, digits and @ . + - _ only.")
	case !visible(name):
		found.Add("username", "Use at least one character that can be seen.")
	}
	if person.Email != "" {
		parsed, err := mail.ParseAddress(person.Email)
		if err != nil || parsed.Address != person.Email || len(person.Email) > 254 {
			found.Add("email", "This is not an email address: write it as name@example.org.")
		}
	}
	CheckText(found, "first_name", person.FirstName)
	CheckText(found, "last_name", person.LastName)
	if person.Profile != nil {
		person.Profile.check(found, person.Email)
	}
	if person.Subject != "" && (!anySubject.MatchString(person.Subject) || person.Subject == "new") {
		found.Add("subject", "Use at most 255 letters, digits and . _ - for the subject.")
	}
}

// hidden characters turn the text around them: a name could then read as
// something else on the page that asks for approval.
func hidden(r rune) bool {
	return unicode.IsControl(r) || unicode.In(r, unicode.Bidi_Control, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector, unicode.Zl, unicode.Zp) ||
		unicode.Is(unicode.Cf, r) && r != 0x200C && r != 0x200D // those two join letters in some scripts
}

// visible says that there is something to see.
func visible(text string) bool {
	return strings.ContainsFunc(text, func(r rune) bool {
		return unicode.IsGraphic(r) && !unicode.IsSpace(r) && !hidden(r) && !unicode.IsMark(r) && r != '\u2800' // a braille cell without dots
	})
}

func CheckText(found *oauth.Invalid, field, text string) {
	switch {
	case !utf8.ValidString(text) || strings.ContainsFunc(text, hidden):
		found.Add(field, "Use text without control characters and without characters that cannot be seen.")
	case text != "" && !visible(text):
		found.Add(field, "Use at least one character that can be seen.")
	case utf8.RuneCountInString(text) > 150:
		found.Add(field, "Use at most 150 characters.")
	}
}

func (p *People) newUser(ctx context.Context, person Person) (storage.User, error) {
	found := &oauth.Invalid{}
	person.check(found)
	p.config.checkNewPassword(found, "password", person.Password, person.Username)
	if err := found.Err(); err != nil {
		return storage.User{}, err
	}
	profile, err := oauth.Deref(person.Profile).store()
	if err != nil {
		return storage.User{}, err
	}
	// Before the hash is worked for: a name that is taken costs nothing.
	_, err = p.store.UserByKey(ctx, FoldName(person.Username))
	if err == nil {
		return storage.User{}, personError(storage.ErrConflict)
	}
	if !errors.Is(err, storage.ErrNotFound) {
		return storage.User{}, oauth.Unavailable(err)
	}
	err = p.checkSubject(ctx, person.Subject)
	if err != nil {
		return storage.User{}, err
	}
	hash, err := p.limits.Programs.Hash(ctx, person.Password)
	if err != nil {
		return storage.User{}, err
	}
	at := oauth.Now()
	return storage.User{Profile: profile, UpdatedAt: at, ID: cmp.Or(person.Subject, seal.Identifier()), Username: person.Username, UsernameKey: FoldName(person.Username), Email: person.Email,
		FirstName: person.FirstName, LastName: person.LastName, Password: hash, Active: !person.Inactive,
		Administrator: person.Administrator, CreatedAt: at, PasswordChangedAt: at}, nil
}

// checkSubject looks whether a subject that was chosen is still to be had.
func (p *People) checkSubject(ctx context.Context, subject string) error {
	if subject == "" {
		return nil
	}
	found := &oauth.Invalid{}
	// RFC 9700 §4.15.1: a subject is a person's or a client's, and never both.
	_, err := p.store.ApplicationByClientID(ctx, subject)
	if err == nil {
		found.Add("subject", "An application has this client id already.")
		return found
	}
	if errors.Is(err, storage.ErrNotFound) {
		_, err = p.store.UserByID(ctx, subject)
	}
	if err == nil {
		found.Add("subject", "A user with that subject already exists.")
		return found
	}
	if errors.Is(err, storage.ErrNotFound) {
		return nil
	}
	return oauth.Unavailable(err)
}

// AddUser stores a new person.
func (p *People) AddUser(ctx context.Context, person Person) (storage.User, error) {
	u, err := p.newUser(ctx, person)
	if err != nil {
		return storage.User{}, err
	}
	err = personError(p.store.AddUser(ctx, u, person.Groups))
	if err != nil {
		return storage.User{}, err
	}
	return p.User(ctx, u.ID)
}

// personError says what a person's record stood against.
func personError(err error) error {
	found := &oauth.Invalid{}
	switch {
	case errors.Is(err, storage.ErrConflict):
		found.Add("username", "A user with that username already exists.")
		return found
	case errors.Is(err, storage.ErrLastAdministrator):
		found.Add("administrator", "This is the last active administrator. Make somebody else an administrator first.")
		return found
	case errors.Is(err, storage.ErrNotFound):
		found.Add("group", "There is no group of that name. Add the group first.")
		return found
	}
	return oauth.Stored(err)
}

// endError is personError where only the person can be missing.
func endError(err error) error {
	if errors.Is(err, storage.ErrNotFound) {
		return oauth.ErrNotFound
	}
	return personError(err)
}

// UpdateUser writes what an administrator changed of a person. Nobody takes
// the last administrator away from the server, nor themselves by mistake.
func (p *People) UpdateUser(ctx context.Context, actor storage.User, id string, person Person) error {
	u, err := p.User(ctx, id)
	if err != nil {
		return err
	}
	found := &oauth.Invalid{}
	person.check(found)
	if person.Password != "" {
		p.config.checkNewPassword(found, "password", person.Password, person.Username)
	}
	if actor.ID == id && (person.Inactive || !person.Administrator) {
		found.Add("administrator", "You cannot deactivate yourself or give up your own administrator rights. Ask another administrator.")
	}
	if err := found.Err(); err != nil {
		return err
	}
	u.Username, u.UsernameKey, u.Email = person.Username, FoldName(person.Username), person.Email
	u.FirstName, u.LastName = person.FirstName, person.LastName
	u.Active, u.Administrator = !person.Inactive, person.Administrator
	u.UpdatedAt = oauth.Now()
	if person.Profile != nil {
		u.Profile, err = person.Profile.store()
		if err != nil {
			return err
		}
	}
	err = p.store.UpdateUser(ctx, u, person.Groups)
	if err != nil || person.Password == "" {
		return personError(err)
	}
	return p.setPassword(ctx, u.ID, person.Password)
}

func (p *People) setPassword(ctx context.Context, userID, password string) error {
	hash, err := p.limits.People.Hash(ctx, password)
	if err != nil {
		return err
	}
	return oauth.Stored(p.store.SetPassword(ctx, userID, hash, oauth.Now()))
}

// ResetPassword gives a person a new password and signs them out everywhere.
func (p *People) ResetPassword(ctx context.Context, username, password string) error {
	u, err := p.UserByName(ctx, username)
	if err != nil {
		return err
	}
	found := &oauth.Invalid{}
	p.config.checkNewPassword(found, "password", password, u.Username)
	if err := found.Err(); err != nil {
		return err
	}
	return p.setPassword(ctx, u.ID, password)
}

// User reads a person by subject, or gives ErrNotFound.
func (p *People) User(ctx context.Context, id string) (storage.User, error) {
	u, err := p.store.UserByID(ctx, id)
	return u, oauth.Stored(err)
}

// UserByName reads a person by user name, or gives ErrNotFound.
func (p *People) UserByName(ctx context.Context, username string) (storage.User, error) {
	u, err := p.store.UserByKey(ctx, FoldName(username))
	return u, oauth.Stored(err)
}

// UserByNumber reads a person by the number that the sample API uses.
func (p *People) UserByNumber(ctx context.Context, number int64) (storage.User, error) {
	u, err := p.store.UserByNumber(ctx, number)
	return u, oauth.Stored(err)
}

// Users lists people and how many match the search in all.
func (p *People) Users(ctx context.Context, search string, limit, offset int) ([]storage.User, int, error) {
	users, total, err := p.store.Users(ctx, search, limit, offset)
	return users, total, oauth.Stored(err)
}

// GroupsOf lists the names of a person's groups.
func (p *People) GroupsOf(ctx context.Context, id string) ([]string, error) {
	names, err := p.store.GroupsOf(ctx, id)
	return names, oauth.Stored(err)
}

// DisableUser deactivates a person: their sessions and tokens end at once.
func (p *People) DisableUser(ctx context.Context, username string) error {
	u, err := p.UserByName(ctx, username)
	if err != nil {
		return err
	}
	return endError(p.store.DisableUser(ctx, u.ID, oauth.Now()))
}

// EnableUser lets a person sign in again. The applications that only they answer
// for work again.
func (p *People) EnableUser(ctx context.Context, username string) error {
	u, err := p.UserByName(ctx, username)
	if err != nil {
		return err
	}
	return endError(p.store.EnableUser(ctx, u.ID, oauth.Now()))
}

// What becomes of the applications of a person who is deleted.
const (
	DeleteApplications = "delete"
	TakeOver           = "take-over"
)

// heirOf says who owns, and who answers for, what an actor takes over: an
// administrator does so as a person, the operator as whoever runs the server.
func HeirOf(actor *storage.User) (owner *string, responsible string) {
	if actor == nil {
		return nil, storage.ByOperator
	}
	return &actor.ID, storage.ByOwner
}

// DeleteUser removes a person, but not whoever asks for it. theirs says what
// becomes of the applications that only this person answers for; shown are the ids
// of those that the decision is about, none being all.
func (p *People) DeleteUser(ctx context.Context, actor *storage.User, id, theirs string, shown ...string) error {
	found := &oauth.Invalid{}
	if actor != nil && actor.ID == id {
		found.Add("username", "You cannot delete yourself. Ask another administrator.")
		return found
	}
	var bequest storage.Bequest
	switch theirs {
	case DeleteApplications:
		bequest.Delete = true
	case TakeOver:
		bequest.Owner, bequest.Responsible = HeirOf(actor)
	case "":
	default:
		found.Add("applications", "There is no %q: use delete or take-over.", oauth.Clip(theirs, 40))
		return found
	}
	bequest.Shown = shown
	err := p.store.DeleteUser(ctx, id, oauth.Now(), bequest)
	if errors.Is(err, storage.ErrAnswers) {
		found.Add("applications", "Say what becomes of these applications.")
		return found
	}
	return endError(err)
}

// Groups lists all groups.
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
	// A browser takes these two out of the address of the group's page.
	if name == "." || name == ".." {
		found.Add("name", "Use a name with a letter or a digit.")
	}
	CheckText(found, "name", name)
	if err := found.Err(); err != nil {
		return err
	}
	err := p.store.AddGroup(ctx, name, oauth.Now())
	if errors.Is(err, storage.ErrConflict) {
		found.Add("name", "A group with that name already exists.")
		return found
	}
	return oauth.Stored(err)
}

// DeleteGroup removes a group; its people stay.
func (p *People) DeleteGroup(ctx context.Context, name string) error {
	return oauth.Stored(p.store.DeleteGroup(ctx, name))
}
