package policy

import (
	"net/http"

	"mandate/provider/oauth"
	"mandate/storage"
)

// Actor is who changes applications and accounts: the operator, or a person. The zero
// value is nobody, and may do nothing.
type Actor struct {
	operator  bool
	person    storage.User
	confirmed bool // the person has signed in a moment ago
}

// Operator returns the actor at the command line.
func Operator() Actor { return Actor{operator: true} }

// By returns a person who is signed in.
func By(u storage.User) Actor { return Actor{person: u} }

// ByConfirmed returns a person who has signed in a moment ago.
func ByConfirmed(u storage.User) Actor { return Actor{person: u, confirmed: true} }

// MustConfirm returns oauth.ErrConfirm if the actor is a person who must sign in again first. It protects what
// would give the thief of a session the account of somebody else, an application or the server.
func (a Actor) MustConfirm() error {
	if a.operator || a.confirmed {
		return nil
	}
	return oauth.ErrConfirm
}

// Nobody reports whether the actor is neither the operator nor a person.
func (a Actor) Nobody() bool { return !a.operator && a.person.ID == "" }

// IsOperator reports whether the actor is the operator.
func (a Actor) IsOperator() bool { return a.operator }

// Administers reports whether the actor has administrator rights.
func (a Actor) Administers() bool { return a.operator || !a.Nobody() && a.person.Administrator }

// MustAdminister returns an Error with status 403 unless the actor has administrator
// rights. what completes the sentence "Only an administrator may".
func (a Actor) MustAdminister(what string) error {
	if a.Administers() {
		return nil
	}
	return &oauth.Error{Status: http.StatusForbidden, Code: "access_denied", Description: "Only an administrator may " +
		what + "."}
}

// Sees reports whether the actor may see what administrators see: an administrator, or an auditor, who changes nothing.
func (a Actor) Sees() bool { return a.Administers() || !a.Nobody() && a.person.Auditor }

// MustSee returns an Error with status 403 unless the actor may see what administrators see. what completes the
// sentence "Only an administrator or an auditor may".
func (a Actor) MustSee(what string) error {
	if a.Sees() {
		return nil
	}
	return &oauth.Error{Status: http.StatusForbidden, Code: "access_denied",
		Description: "Only an administrator or an auditor may " + what + "."}
}

// Is reports whether the actor is the person with this id.
func (a Actor) Is(userID string) bool { return userID != "" && a.person.ID == userID }

// Person returns the person who acts, or the zero User.
func (a Actor) Person() storage.User { return a.person }

// Takes returns the owner of applications that the actor becomes responsible for, and
// who is responsible for them. A person becomes the owner. The operator becomes
// responsible without an owner. For nobody the result has no owner either, but an owner
// would be responsible: such an application is suspended.
func (a Actor) Takes() (owner *string, responsible string) {
	switch {
	case a.operator:
		return nil, storage.ByOperator
	case a.Nobody():
		return nil, storage.ByOwner
	}
	return &a.person.ID, storage.ByOwner
}
