// Package events keeps the event log: who has signed in, who has tried without success, and what people,
// administrators, applications and the operator have changed.
//
// A change and its event are one transaction: Attach the event to the context of the call of the store
// that makes the change.
package events

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"
	"time"

	"mandate/provider/oauth"
	"mandate/provider/origin"
	"mandate/provider/seal"
	"mandate/provider/throttle"
	"mandate/storage"
)

// Event is something that happens now. It has no value that a person or a program has typed, and no
// secret: a name, if it is that of a stored record, and words of this program.
type Event struct {
	Kind Kind
	// whom it concerns; without a name: the actor, if the actor is a person. Without an ID: there is no account yet
	Person storage.User
	By     *origin.Actor // nil: the actor of the context
	Object Object
	Detail string
}

// Object is what was changed or used.
type Object struct{ Kind, ID, Name string }

// By returns the person who acts, for an event of somebody who is not signed in yet.
func By(u storage.User) *origin.Actor {
	return &origin.Actor{Kind: origin.Person, ID: u.ID, Name: u.Username}
}

// Nobody returns the actor of whom nothing is known, for an event of somebody who has not signed in.
func Nobody() *origin.Actor { return &origin.Actor{Kind: origin.Nobody} }

// ByApplication returns the application that acts.
func ByApplication(a storage.Application) *origin.Actor {
	return &origin.Actor{Kind: origin.Application, ID: a.ClientID, Name: a.Name}
}

// Session returns the object of an event about a session. The digest of its cookie stays secret.
func Session(n storage.Session) Object { return Object{"session", n.ID, ""} }

// TOTP returns the object of an event about an authenticator app.
func TOTP() Object { return Object{"totp", "", ""} }

// Passkey returns the object of an event about a passkey.
func Passkey(k storage.Passkey) Object { return Object{"passkey", k.ID, k.Name} }

// Invitation returns the object of an event about an invitation.
func Invitation(i storage.Invitation) Object { return Object{"invitation", i.ID, i.Email} }

// Group returns the object of an event about a group.
func Group(name string) Object { return Object{"group", name, name} }

// RegistrationToken returns the object of an event about an initial access token, by its ID.
func RegistrationToken(id string) Object { return Object{"registration-token", id, ""} }

// Resource returns the object of an event about a resource.
func Resource(r storage.Resource) Object { return Object{"resource", r.URI, r.Name} }

// Key returns the object of an event about a signing key, by its ID.
func Key(id string) Object { return Object{"key", id, ""} }

// Application returns the object of an event about an application.
func Application(a storage.Application) Object { return Object{"application", a.ClientID, a.Name} }

// OwnerOf returns the person whom an event about an application concerns: its owner, if it has one.
func OwnerOf(a storage.Application) storage.User {
	if a.OwnerID == nil {
		return storage.User{}
	}
	return storage.User{ID: *a.OwnerID, Username: oauth.Deref(a.Owner)}
}

// Field is a field of a record or of a form, and whether its name is part of an event: it has changed, or is
// used.
type Field struct {
	Name string
	Is   bool
}

// Names returns the names of those fields, with spaces between them. It is a Detail without values.
func Names(fields ...Field) string {
	var names []string
	for _, f := range fields {
		if f.Is {
			names = append(names, f.Name)
		}
	}
	return strings.Join(names, " ")
}

// Attach returns the context for one call of the store. The call stores the change and the events in one
// transaction.
func Attach(ctx context.Context, events ...Event) context.Context {
	rows, now := make([]storage.Event, len(events)), time.Now()
	for i, e := range events {
		rows[i] = rowAt(ctx, e, now.Add(time.Duration(i))) // in this order
	}
	return storage.WithEvents(ctx, rows...)
}

// Row returns an event as it is stored.
func Row(ctx context.Context, e Event) storage.Event { return rowAt(ctx, e, time.Now()) }

func rowAt(ctx context.Context, e Event, now time.Time) storage.Event {
	from := origin.Of(ctx)
	by := from.Actor
	if e.By != nil {
		by = *e.By
	}
	if e.Person.ID == "" && e.Person.Username == "" && by.Kind == origin.Person {
		e.Person = storage.User{ID: by.ID, Username: by.Name}
	}
	return storage.Event{ID: idAt(now) + strings.ToLower(rand.Text()[:16]), At: now.Unix(), Since: now.Unix(), Times: 1,
		Kind:      string(e.Kind),
		ActorKind: by.Kind, ActorID: by.ID, ActorName: by.Name, Address: from.Address,
		UserAgent: oauth.Clip(strings.ToValidUTF8(from.UserAgent, ""), 256),
		PersonID:  e.Person.ID, PersonName: e.Person.Username, ObjectKind: e.Object.Kind, ObjectID: e.Object.ID,
		ObjectName: e.Object.Name, Detail: oauth.Clip(e.Detail, 500)}
}

// idAt returns the beginning of an ID. Events of one second are listed in the order of their IDs.
func idAt(t time.Time) string { return fmt.Sprintf("%016x", t.UnixNano()) }

const (
	mostNetworks        = 50    // from which failures about one person are counted apart, in one hour
	mostUnknownNetworks = 1_000 // the same, for names that nobody has
)

// Failed stores that somebody has tried something without success. Strangers can do so as often as they
// like, so it is counted: one row for a kind, a person, a network and an hour. An IPv6 /48 is one network. The row has
// the network instead of the address. With very many networks, it is counted without a network. What a client may
// repeat as often as it likes is counted in the same way.
//
// An error means that the failure is not stored. The caller returns it, as for every error of the
// database: whoever could keep failures out of the log would guess without a trace.
func Failed(ctx context.Context, store *storage.Store, e Event) error {
	row, most := Row(ctx, e), mostNetworks
	if row.PersonID == "" {
		most = mostUnknownNetworks
	}
	row.Address = sender(row.Address)
	rest := row
	rest.Address, rest.UserAgent = "", ""
	row.ID, rest.ID = countedID(row), countedID(rest)
	err := store.CountEvent(ctx, row, rest, most)
	if err != nil {
		return oauth.Unavailable(err)
	}
	return nil
}

// sender returns by what failures are counted: an IPv4 address, or the site of an IPv6 address. The /64s of one
// customer would use up the rows that show where others come from.
func sender(address string) string {
	network := throttle.Network(address) // behind NAT64, an IPv4 address
	if strings.Contains(network, ":") {
		return throttle.Site(address)
	}
	return network
}

// countedID returns the ID of everything that is counted together.
func countedID(e storage.Event) string {
	hour := time.Unix(e.At, 0).Truncate(time.Hour)
	return idAt(hour) + seal.Digest(
		strings.Join([]string{e.Kind, e.ActorKind, e.ActorID, e.PersonID, e.ObjectID, e.Detail, e.Address}, "\x00"))[:16]
}
