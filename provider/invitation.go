package provider

import (
	"io"

	"mandate/provider/password"
	"mandate/provider/people"
	"mandate/storage"
)

// The policies about accounts that people make themselves.
const (
	SignUpOff     = people.SignUpOff
	SignUpInvited = people.SignUpInvited
	SignUpOpen    = people.SignUpOpen
)

// The types for people who make an account (package people).
type (
	// Invitation lets somebody make an account.
	Invitation = storage.Invitation
	// Invite is a person to invite.
	Invite = people.Invite
	// Inviting says how people are invited.
	Inviting = people.Inviting
	// Invited is an invitation, and its link unless a message has it.
	Invited = people.Invited
	// NewAccount is what a person chooses who makes an account.
	NewAccount = people.NewAccount
)

// ReadInvites reads a list of people to invite.
func ReadInvites(from io.Reader) ([]Invite, error) { return people.ReadInvites(from) }

// The types for people who come from another program (package people).
type (
	// Newcomer is a person, with the hash of the password.
	Newcomer = people.Newcomer
	// Imported says what came of an import.
	Imported = people.Imported
)

// HashSchemes lists the schemes of hashes with which people can come.
func HashSchemes() []string { return password.Schemes() }

// ReadNewcomers reads a table of people.
func ReadNewcomers(from io.Reader) ([]Newcomer, error) { return people.ReadNewcomers(from) }

// MostInvites is how many people can be invited at once.
const MostInvites = people.MostInvites

// SignUpLife is how long a link works that somebody asked for.
const SignUpLife = people.SignUpLife

// ErrAddressTaken means that somebody has the address of an invitation.
var ErrAddressTaken = people.ErrAddressTaken
