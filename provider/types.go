package provider

import (
	"mandate/provider/oauth"
	"mandate/provider/redirect"
	"mandate/storage"
)

// The records that pages may name.
type (
	// User is a person who can sign in.
	User = storage.User
	// Application is a registered client.
	Application = storage.Application
	// Group is a named set of people.
	Group = storage.Group
	// Session is a browser in which a person has signed in.
	Session = storage.Session
	// SignedIn is a live session with its person.
	SignedIn = storage.SignedIn
	// Mismatch shows how a redirect URI differs from the registered ones.
	Mismatch = redirect.Mismatch
)

// Scope is a configured scope: its name and what it means to a person.
type Scope struct{ Name, Description string }

// What pages say of errors.
type (
	// Error is what a client may see of a refusal.
	Error = oauth.Error
	// Invalid lists the mistakes in a form, each with its field.
	Invalid = oauth.Invalid
	// FieldError is one mistake.
	FieldError = oauth.FieldError
)

// ErrNotFound says that a record does not exist, or not for this person.
var ErrNotFound = oauth.ErrNotFound
