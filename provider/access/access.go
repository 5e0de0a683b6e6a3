// Package access says which people may use which application, and why.
package access

import (
	"context"
	"slices"

	"mandate/provider/acr"
	"mandate/provider/oauth"
	"mandate/provider/people"
	"mandate/provider/policy"
	"mandate/storage"
)

// Access answers who may use what. It explains: the statements of the store decide, with the same conditions.
type Access struct {
	rules  *policy.Rules
	store  *storage.Store
	people *people.People
}

// New returns the component.
func New(rules *policy.Rules, store *storage.Store, p *people.People) *Access {
	return &Access{rules: rules, store: store, people: p}
}

// Kind names a condition.
type Kind string

// The conditions, in the order in which they are shown.
const (
	Active   Kind = "account"        // the account is enabled
	Running  Kind = "application"    // the application is not suspended
	Denied   Kind = "denied-groups"  // the person is in no denied group
	Allowed  Kind = "allowed-groups" // the person is in an allowed group
	Known    Kind = "nobody-new"     // the person gives the application access already
	Strength Kind = "required-login" // the person has what the required login needs
)

// Condition is one of the conditions for one person and one application.
type Condition struct {
	Kind Kind
	Met  bool
	// Names has what the condition is about: the groups that decide it, or the groups of which the person would need
	// one; the required acr. None: the application does not have this condition.
	Names []string
	// Reason says why the condition is not met, if that is not clear from the names.
	Reason string
}

// meanings says what each condition asks for, and that the application does not have it.
var meanings = map[Kind]struct{ set, unset string }{
	Active:   {"the account is enabled", ""},
	Running:  {"the application is not suspended", ""},
	Denied:   {"no member of a denied group", "no group is denied"},
	Allowed:  {"a member of an allowed group", "open to everybody"},
	Known:    {"gives the application access already", "takes new people"},
	Strength: {"can sign in as the application requires", "every sign-in is strong enough"},
}

// Meaning says in English what the condition asks for.
func (c Condition) Meaning() string {
	meaning := meanings[c.Kind]
	if len(c.Names) == 0 && meaning.unset != "" {
		return meaning.unset
	}
	return meaning.set
}

// Verdict is the answer for one person and one application.
type Verdict struct {
	Application storage.Application
	Person      storage.User
	Conditions  []Condition
}

// Allowed reports whether the person may use the application. A login that is too weak can be strengthened, so it does
// not count.
func (v Verdict) Allowed() bool { return v.Missing() == "" }

// Missing returns the first condition that is not met and keeps the person out, or "".
func (v Verdict) Missing() Kind {
	for _, c := range v.Conditions {
		if !c.Met && c.Kind != Strength {
			return c.Kind
		}
	}
	return ""
}

// Restricted reports whether an application is not for everybody.
func Restricted(a storage.Application) bool {
	return a.AllowedGroups != "" || a.DeniedGroups != "" || a.NobodyNew
}

// Check returns each condition under which a person may use an application, and whether it is met.
func (p *Access) Check(ctx context.Context, a storage.Application, u storage.User) (Verdict, error) {
	groups, err := p.store.GroupsOf(ctx, u.ID, oauth.Now())
	if err != nil {
		return Verdict{}, oauth.Unavailable(err)
	}
	why := p.rules.WhySuspended(a)
	allowed, denied := oauth.Lines(a.AllowedGroups), oauth.Lines(a.DeniedGroups)
	v := Verdict{Application: a, Person: u, Conditions: []Condition{
		{Kind: Active, Met: u.Active},
		{Kind: Running, Met: why == "", Reason: why},
		conditionOf(Denied, denied, oauth.Narrow(denied, groups), false),
		conditionOf(Allowed, allowed, oauth.Narrow(allowed, groups), true),
	}}
	known := Condition{Kind: Known, Met: true}
	if a.NobodyNew {
		known.Met, err = p.store.HasUsed(ctx, u.ID, a.ID, oauth.Now())
		known.Names = []string{a.Name}
	}
	if err != nil {
		return v, oauth.Unavailable(err)
	}
	strength := Condition{Kind: Strength, Met: true}
	if a.RequiredACR != "" {
		strength.Names = []string{a.RequiredACR}
		strength.Met, err = p.reaches(ctx, u, a.RequiredACR)
	}
	v.Conditions = append(v.Conditions, known, strength)
	return v, err
}

// conditionOf is a condition about the groups in a list, of which the person has some.
func conditionOf(kind Kind, list, has []string, wanted bool) Condition {
	c := Condition{Kind: kind, Names: list, Met: len(list) == 0 || (len(has) > 0) == wanted}
	if len(has) > 0 {
		c.Names = has
	}
	return c
}

// reaches reports whether a person has what a login needs that satisfies an acr.
func (p *Access) reaches(ctx context.Context, u storage.User, level string) (bool, error) {
	if level == acr.Password {
		return true, nil
	}
	f, err := p.store.Factors(ctx, u.ID)
	if err != nil {
		return false, oauth.Unavailable(err)
	}
	return f.Passkeys > 0 || level != acr.PhishingResistant && f.TOTPSince > 0, nil
}

// UsableBy returns the applications that a person may use, by name: those of the limit after the first offset ones that
// match a search. The second result is the offset for the next call, or 0 if there are no more.
func (p *Access) UsableBy(ctx context.Context, personID, search string, limit, offset int) (
	[]storage.Application, int, error) {
	found, err := p.store.UsableBy(ctx, personID, search, oauth.Now(), limit+1, offset)
	if err != nil {
		return nil, 0, oauth.Unavailable(err)
	}
	next := 0
	if len(found) > limit {
		found, next = found[:limit], offset+limit
	}
	return slices.DeleteFunc(found, func(a storage.Application) bool { return p.rules.WhySuspended(a) != "" }), next, nil
}

// UsersOf returns the people who may use an application, by number: at most limit of those whose number is above after
// and who match a search. The second result is the number for the next call, or 0 if there are no more.
func (p *Access) UsersOf(ctx context.Context, a storage.Application, search string, after int64, limit int) (
	[]storage.User, int64, error) {
	if p.rules.WhySuspended(a) != "" {
		return nil, 0, nil
	}
	found, err := p.store.UsersOf(ctx, a.ID, search, oauth.Now(), after, limit+1)
	if err != nil {
		return nil, 0, oauth.Unavailable(err)
	}
	if len(found) <= limit {
		return found, 0, nil
	}
	return found[:limit], found[limit-1].Number, nil
}

// batch is how many rows EachUser and EachUsable read at once.
const batch = 1000

// EachUser calls a function with each person who may use an application, until it returns an error.
func (p *Access) EachUser(ctx context.Context, a storage.Application, use func(storage.User) error) error {
	for after := int64(0); ; {
		found, next, err := p.UsersOf(ctx, a, "", after, batch)
		for _, u := range found {
			if err == nil {
				err = use(u)
			}
		}
		if err != nil || next == 0 {
			return err
		}
		after = next
	}
}

// EachUsable calls a function with each application that a person may use, until it returns an error.
func (p *Access) EachUsable(ctx context.Context, personID string, use func(storage.Application) error) error {
	for offset := 0; ; {
		found, next, err := p.UsableBy(ctx, personID, "", batch, offset)
		for _, a := range found {
			if err == nil {
				err = use(a)
			}
		}
		if err != nil || next == 0 {
			return err
		}
		offset = next
	}
}

// Excluded is the error for an application whose person may not use it.
func Excluded() *oauth.Error {
	return oauth.Refuse("access_denied", "This person may not use the application: an administrator decides who may.")
}

// Admit returns why a person may not use an application, or nil. It asks nothing if the application is for everybody.
func (p *Access) Admit(ctx context.Context, a storage.Application, u storage.User) (*Verdict, error) {
	if !Restricted(a) {
		return nil, nil
	}
	v, err := p.Check(ctx, a, u)
	if err != nil || v.Allowed() {
		return nil, err
	}
	return &v, nil
}
