package people

import (
	"context"
	"errors"
	"reflect"
	"slices"

	"mandate/provider/events"
	"mandate/provider/notices"
	"mandate/provider/oauth"
	"mandate/provider/policy"
	"mandate/storage"
)

func (p *People) newUser(ctx context.Context, person Person) (storage.User, error) {
	found := &oauth.Invalid{}
	person.check(found)
	p.config.checkNewPassword(found, "password", person.Password, person.account())
	attributes, err := p.changedAttributes(found, "", person)
	if err == nil {
		err = found.Err()
	}
	if err != nil {
		return storage.User{}, err
	}
	// This check comes before the slow hash, so that a name that is taken costs
	// nothing.
	err = p.checkUsername(ctx, person.Username)
	if err == nil {
		err = p.checkSubject(ctx, person.Subject)
	}
	if err != nil {
		return storage.User{}, err
	}
	hash, err := p.limits.Programs.Hash(ctx, person.Password)
	if err != nil {
		return storage.User{}, err
	}
	u, err := person.record(hash)
	u.Attributes = attributes
	return u, err
}

// AddUser stores a new person and returns it. It returns an Invalid for mistakes in the form, and ErrConfirm if the
// actor must sign in again first: to add an administrator or an auditor, or somebody whom applications take for the
// owner of an address or a phone number that nobody has verified. Nobody, such as a program with a token, adds none of
// these.
func (p *People) AddUser(ctx context.Context, actor policy.Actor, person Person) (storage.User, error) {
	said := oauth.Deref(person.Profile)
	if person.Administrator || person.Auditor || person.Email != "" && said.EmailVerified || said.PhoneNumberVerified {
		err := actor.MustConfirm()
		if err != nil {
			return storage.User{}, err
		}
	}
	u, err := p.newUser(ctx, person)
	if err != nil {
		return storage.User{}, err
	}
	added := []events.Event{{Kind: events.PersonAdded, Person: u}}
	if u.Administrator {
		added = append(added, events.Event{Kind: events.PersonPromoted, Person: u})
	}
	if u.Auditor {
		added = append(added, events.Event{Kind: events.AuditorAdded, Person: u})
	}
	err = personError(p.store.AddUser(events.Attach(ctx, added...), u, person.Groups))
	if err != nil {
		return storage.User{}, err
	}
	return p.User(ctx, u.ID)
}

// endError is personError for a call in which only the person can be missing.
func endError(err error) error {
	if errors.Is(err, storage.ErrNotFound) {
		return oauth.ErrNotFound
	}
	return personError(err)
}

// UpdateUser changes a person as an administrator asks. It refuses to remove the last
// enabled administrator. It also refuses to take administrator rights from the actor, or
// to disable the actor's account. It returns ErrConfirm if the change would take over the account, and the
// actor must sign in again first.
func (p *People) UpdateUser(ctx context.Context, actor policy.Actor, id string, person Person) error {
	return p.updateUser(ctx, actor, id, person, nil)
}

// changeTries is how often ChangeUser begins again because somebody else has changed the person meanwhile.
const changeTries = 3

// ChangeUser changes some of what is stored about a person, and nothing else of it, as UpdateUser does. It returns the
// person as changed.
func (p *People) ChangeUser(ctx context.Context, actor policy.Actor, id string, change func(*Person)) (storage.User,
	error) {
	var err error
	for range changeTries {
		err = p.changeUser(ctx, actor, id, change)
		if invalid, ok := errors.AsType[*oauth.Invalid](err); !ok || invalid.At("shown") == "" {
			break
		}
	}
	if err != nil {
		return storage.User{}, err
	}
	return p.User(ctx, id)
}

func (p *People) changeUser(ctx context.Context, actor policy.Actor, id string, change func(*Person)) error {
	u, err := p.User(ctx, id)
	if err != nil {
		return err
	}
	groups, err := p.GroupsOf(ctx, id)
	if err != nil {
		return err
	}
	administers, err := p.Administered(ctx, id)
	if err != nil {
		return err
	}
	before, err := described(u, groups, administers)
	if err != nil {
		return err
	}
	person, err := described(u, slices.Clone(groups), slices.Clone(administers))
	if err != nil {
		return err
	}
	change(&person)
	if reflect.DeepEqual(person, before) {
		return nil
	}
	if person.Email == before.Email && reflect.DeepEqual(person.Profile, before.Profile) {
		person.Profile = nil // a stored text that is written in another way stays
	}
	return p.updateUser(ctx, actor, id, person, nil)
}

// UpdateOwn is UpdateUser for the account of an administrator who changes it. The session gets another cookie, or has
// ended if there is a new password: then UpdateOwn returns nil.
func (p *People) UpdateOwn(ctx context.Context, s *storage.SignedIn, person Person) (*SignIn, error) {
	actor, err := p.Actor(ctx, s)
	if err != nil {
		return nil, err
	}
	r, in := renewal(s)
	if person.Password != "" {
		in = nil
	}
	return in, p.updateUser(ctx, actor, s.User.ID, person, &r)
}

// updateUser changes a person. by is the session of a person who changes their own account; nil: somebody else does.
func (p *People) updateUser(ctx context.Context, actor policy.Actor, id string, person Person,
	by *storage.Renewal) error {
	err := actor.MustAdminister("change an account")
	if err != nil {
		return err
	}
	u, err := p.User(ctx, id)
	if err != nil {
		return err
	}
	found := &oauth.Invalid{}
	kept := person.Email == u.Email // an address that is older than a rule stays
	person.check(found)
	if kept {
		person.Email = u.Email
		found.Fields = slices.DeleteFunc(found.Fields, func(f oauth.FieldError) bool { return f.Field == "email" })
	}
	if person.Password != "" {
		p.config.checkNewPassword(found, "password", person.Password, person.account())
	}
	if actor.Is(id) && (person.Inactive || !person.Administrator) {
		found.Add("administrator", "You cannot disable your own account or give up your own administrator rights. Ask "+
			"another administrator.")
	}
	before := u
	u.Attributes, err = p.changedAttributes(found, before.Attributes, person)
	if err == nil {
		err = found.Err()
	}
	if err != nil {
		return err
	}
	groups, err := p.GroupsOf(ctx, id)
	if err != nil {
		return err
	}
	administers, err := p.Administered(ctx, id)
	if err != nil {
		return err
	}
	if person.Shown != "" && person.Shown != StateOf(before, groups, administers) {
		return changedMeanwhile()
	}
	u.Username, u.UsernameKey, u.Email = person.Username, FoldName(person.Username), person.Email
	u.FirstName, u.LastName = person.FirstName, person.LastName
	u.Active, u.Administrator, u.Auditor = !person.Inactive, person.Administrator, person.Auditor
	u.UpdatedAt = oauth.Now()
	u.Profile, err = changedProfile(before, person)
	if err != nil {
		return err
	}
	other := !oauth.SameSet(administers, person.Administers)
	takes, err := takesOver(before, u)
	takes = takes || other
	if err == nil && (takes || person.Password != "") {
		err = actor.MustConfirm()
	}
	if err != nil {
		return err
	}
	// The slow hash comes before the change, which is one transaction: nobody gets the new name with the old password.
	beside := storage.Beside{By: by, Notices: p.changeNotices(before, u)}
	happened := changeEvents(before, u, groups, person.Groups)
	if other {
		beside.Administers = &storage.Administering{Was: administers, Is: oauth.Union(nil, person.Administers)}
		happened = append(happened, administerEvents(u, administers, person.Administers)...)
	}
	if person.Password != "" {
		beside.Password, err = p.limits.People.Hash(ctx, person.Password)
		if err != nil {
			return err
		}
		beside.Notices = append(beside.Notices, p.notices.PasswordChanged(before)...)
		happened = append(happened, events.Event{Kind: events.PasswordReset, Person: u})
	}
	still := storage.NewUser{User: before, Groups: groups}
	err = p.store.UpdateUser(events.Attach(ctx, happened...), u, person.Groups, &still, beside)
	if errors.Is(err, storage.ErrSpent) {
		return changedMeanwhile()
	}
	p.notices.Wake()
	p.Ended.Ring()
	return personError(err)
}

// changeNotices returns the messages about a change of an account. They go to the former address: whoever acts with a
// stolen session of an administrator may have replaced it, and everything that follows goes to the new one.
func (p *People) changeNotices(before, after storage.User) []storage.NewMail {
	var list []storage.NewMail
	if before.Email != after.Email {
		list = p.notices.AccountChanged(before, notices.AddressChanged)
	}
	if before.Username != after.Username {
		named := before
		named.Username = after.Username // with which the person signs in from now on
		list = append(list, p.notices.AccountChanged(named, notices.UsernameChanged)...)
	}
	return list
}

// changedMeanwhile returns the Invalid for a change of an account that is not any more what the actor has seen.
func changedMeanwhile() error {
	found := &oauth.Invalid{}
	found.Add("shown", "Somebody changed this account at the same moment. Open the page again before you save.")
	return found
}

// takesOver reports whether a change of an account decides who can use it, or whom applications take for its
// person: they know people by the username, or by a verified address or phone number. Whoever has lost a disabled
// account still knows its password.
func takesOver(before, after storage.User) (bool, error) {
	former, err := ProfileOf(before)
	if err != nil {
		return false, err
	}
	next, err := ProfileOf(after)
	phone := (former.PhoneNumberVerified || next.PhoneNumberVerified) && former.PhoneNumber != next.PhoneNumber ||
		former.PhoneNumberVerified != next.PhoneNumberVerified
	return before.Administrator != after.Administrator || before.Auditor != after.Auditor ||
		before.Username != after.Username ||
		before.Email != after.Email || former.EmailVerified != next.EmailVerified || phone ||
		after.Active && !before.Active || before.Active && !after.Active && before.Administrator, err
}

// changeEvents returns the events of a change of an account. None has a value.
func changeEvents(before, after storage.User, groups, newGroups []string) []events.Event {
	var list []events.Event
	for _, of := range []struct {
		kind    events.Kind
		changed bool
	}{
		{events.PersonPromoted, after.Administrator && !before.Administrator},
		{events.PersonDemoted, before.Administrator && !after.Administrator},
		{events.AuditorAdded, after.Auditor && !before.Auditor},
		{events.AuditorRemoved, before.Auditor && !after.Auditor},
		{events.PersonDisabled, before.Active && !after.Active},
		{events.PersonEnabled, after.Active && !before.Active},
	} {
		if of.changed {
			list = append(list, events.Event{Kind: of.kind, Person: after})
		}
	}
	fields := events.Names(events.Field{Name: "username", Is: before.Username != after.Username},
		events.Field{Name: "email", Is: before.Email != after.Email},
		events.Field{Name: "first_name", Is: before.FirstName != after.FirstName},
		events.Field{Name: "last_name", Is: before.LastName != after.LastName},
		events.Field{Name: "profile", Is: before.Profile != after.Profile},
		events.Field{Name: "attributes", Is: before.Attributes != after.Attributes},
		events.Field{Name: "groups", Is: !oauth.SameSet(groups, newGroups)})
	if fields != "" {
		list = append(list, events.Event{Kind: events.PersonChanged, Person: after, Detail: fields})
	}
	return list
}

// administerEvents returns the events of a change of the groups that a person administers.
func administerEvents(u storage.User, before, after []string) []events.Event {
	var list []events.Event
	for _, name := range oauth.Without(after, before...) {
		list = append(list, events.Event{Kind: events.DelegateAdded, Person: u, Object: events.Group(name)})
	}
	for _, name := range oauth.Without(before, after...) {
		list = append(list, events.Event{Kind: events.DelegateRemoved, Person: u, Object: events.Group(name)})
	}
	return list
}

// setPassword replaces the password of a person, who is notified.
func (p *People) setPassword(ctx context.Context, u storage.User, password string) error {
	hash, err := p.limits.People.Hash(ctx, password)
	if err != nil {
		return err
	}
	err = p.store.SetPassword(events.Attach(ctx, events.Event{Kind: events.PasswordReset, Person: u}), u.ID, hash,
		oauth.Now(), p.notices.PasswordChanged(u)...)
	p.notices.Wake()
	return oauth.Stored(err)
}

// ResetPassword sets a new password for a person and ends all their sessions.
func (p *People) ResetPassword(ctx context.Context, username, password string) error {
	u, err := p.UserByName(ctx, username)
	if err != nil {
		return err
	}
	found := &oauth.Invalid{}
	p.config.checkNewPassword(found, "password", password, u)
	if err := found.Err(); err != nil {
		return err
	}
	return p.setPassword(ctx, u, password)
}

// User returns a person by subject, or ErrNotFound.
func (p *People) User(ctx context.Context, id string) (storage.User, error) {
	u, err := p.store.UserByID(ctx, id)
	return u, oauth.Stored(err)
}

// UserByName returns a person by user name, or ErrNotFound.
func (p *People) UserByName(ctx context.Context, username string) (storage.User, error) {
	u, err := p.store.UserByKey(ctx, FoldName(username))
	return u, oauth.Stored(err)
}

// PersonInEvents returns the ID by which the event log names a person with this username or subject, also if the person
// was deleted. It returns ErrNotFound if there is neither such a person nor an event, and "" for an empty name.
func (p *People) PersonInEvents(ctx context.Context, name string) (string, error) {
	return p.inEvents(ctx, name, storage.EventFilter{PersonID: name})
}

// ActorInEvents is PersonInEvents for an actor, which may also be an application with this client ID.
func (p *People) ActorInEvents(ctx context.Context, name string) (string, error) {
	return p.inEvents(ctx, name, storage.EventFilter{ActorID: name})
}

// inEvents takes a name for an ID first: links have IDs, and whoever signs up may choose the ID of somebody else as a
// username.
func (p *People) inEvents(ctx context.Context, name string, of storage.EventFilter) (string, error) {
	if name == "" {
		return "", nil
	}
	_, err := p.store.UserByID(ctx, name)
	if errors.Is(err, storage.ErrNotFound) && of.ActorID != "" {
		_, err = p.store.ApplicationByClientID(ctx, name)
	}
	if !errors.Is(err, storage.ErrNotFound) {
		return name, oauth.Stored(err)
	}
	found, err := p.store.Events(ctx, of, 1)
	if err != nil || len(found) > 0 { // of a person who was deleted
		return name, oauth.Stored(err)
	}
	u, err := p.UserByName(ctx, name)
	return u.ID, err
}

// UserByNumber returns a person by the number that the sample API uses, or ErrNotFound.
func (p *People) UserByNumber(ctx context.Context, number int64) (storage.User, error) {
	u, err := p.store.UserByNumber(ctx, number)
	return u, oauth.Stored(err)
}

// Users returns one page of the people who match the search, and the number of all who
// match.
func (p *People) Users(ctx context.Context, search string, limit, offset int) ([]storage.User, int, error) {
	users, total, err := p.store.Users(ctx, search, limit, offset)
	return users, total, oauth.Stored(err)
}

// DisableUser disables an account, ends its sessions and revokes its tokens. It
// refuses to disable the last enabled administrator.
func (p *People) DisableUser(ctx context.Context, username string) error {
	u, err := p.UserByName(ctx, username)
	if err != nil {
		return err
	}
	return endError(p.store.DisableUser(events.Attach(ctx, events.Event{Kind: events.PersonDisabled, Person: u}), u.ID,
		oauth.Now()))
}

// EnableUser enables an account, whose person can then sign in again. The applications that
// only this person is responsible for work again.
func (p *People) EnableUser(ctx context.Context, username string) error {
	u, err := p.UserByName(ctx, username)
	if err != nil {
		return err
	}
	return endError(p.store.EnableUser(events.Attach(ctx, events.Event{Kind: events.PersonEnabled, Person: u}), u.ID,
		oauth.Now()))
}

// What happens to the applications of a person who is deleted.
const (
	DeleteApplications = "delete"
	TakeOver           = "take-over"
)

// DeleteUser deletes a person, but never the actor. theirs (DeleteApplications or
// TakeOver) says what happens to the applications that only this person is responsible
// for. It returns ErrConfirm if the actor must sign in again first. shown are the ids of the applications that the
// actor saw when deciding; none: the decision is about all of them. If theirs is "" and there are such applications,
// DeleteUser returns an Invalid.
func (p *People) DeleteUser(ctx context.Context, actor policy.Actor, id, theirs string, shown ...string) error {
	err := actor.MustAdminister("delete an account")
	if err != nil {
		return err
	}
	found := &oauth.Invalid{}
	if actor.Is(id) {
		found.Add("username", "You cannot delete yourself. Ask another administrator.")
		return found
	}
	var handover storage.Handover
	switch theirs {
	case DeleteApplications:
		handover.Delete = true
	case TakeOver:
		handover.Owner, handover.Responsible = actor.Takes()
	case "":
	default:
		found.Add("applications", "The action %q is not supported: use delete or take-over.", oauth.Clip(theirs, 40))
		return found
	}
	handover.Shown = shown
	each := events.Row(ctx,
		events.Event{Kind: events.ApplicationAssigned, Object: events.Application(storage.Application{}),
			Detail: handover.Responsible})
	if handover.Delete {
		each.Kind, each.Detail = string(events.ApplicationDeleted), ""
	}
	handover.Each = &each
	u, err := p.User(ctx, id)
	if err != nil {
		return err
	}
	err = actor.MustConfirm()
	if err != nil {
		return err
	}
	deleted := events.Event{Kind: events.PersonDeleted, Person: u, Detail: theirs}
	err = p.store.DeleteUser(events.Attach(ctx, deleted), id, oauth.Now(), handover)
	if errors.Is(err, storage.ErrResponsible) {
		found.Add("applications", "Choose what happens to these applications.")
		return found
	}
	return endError(err)
}
