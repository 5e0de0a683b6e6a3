package provider

import (
	"mandate/provider/authorize"
	"mandate/provider/clients"
	"mandate/provider/keys"
	"mandate/provider/logout"
	"mandate/provider/oauth"
	"mandate/provider/people"
	"mandate/provider/policy"
	"mandate/provider/redirect"
	"mandate/provider/tokens"
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

// What an operator and a standing allow (package policy).
type (
	// Scope is a configured scope.
	Scope = policy.Scope
	// Standing says who is responsible for an application.
	Standing = policy.Standing
	// Allowance is what a standing allows.
	Allowance = policy.Allowance
	// Quota is how much those who are responsible for applications may have.
	Quota = policy.Quota
)

// The words of an application's record.
const (
	Confidential = policy.Confidential
	Public       = policy.Public

	GrantCode     = policy.GrantCode
	GrantClient   = policy.GrantClient
	GrantPassword = policy.GrantPassword
	GrantRefresh  = policy.GrantRefresh

	FormatOpaque = policy.FormatOpaque
	FormatJWT    = policy.FormatJWT

	StandingAdministrator = policy.StandingAdministrator
	StandingPerson        = policy.StandingPerson
	StandingOpen          = policy.StandingOpen
)

// Standings lists the standings, from the most trusted to the least.
func Standings() []Standing { return policy.Standings() }

// StandingOf is the standing of an application.
func StandingOf(a Application) Standing { return policy.StandingOf(a) }

// Suspended says that an application may do nothing until somebody is responsible for it.
func Suspended(a Application) bool { return policy.Suspended(a) }

// CheckRSAKey says what is wrong with an operator's own key.
func CheckRSAKey(text string) error { return keys.CheckRSAKey(text) }

// What pages say of people (package people).
type (
	// Person is what an administrator says of a user.
	Person = people.Person
	// Profile holds the standard claims that have no column of their own.
	Profile = people.Profile
	// Address is the address claim.
	Address = people.Address
	// Browser is what is known of where a request comes from.
	Browser = people.Browser
	// SignIn is what a browser gets for the right password.
	SignIn = people.SignIn
	// Passwords are the fields of the form that changes a password.
	Passwords = people.Passwords
)

// What happens to the applications of a person who is deleted.
const (
	DeleteApplications = people.DeleteApplications
	TakeOver           = people.TakeOver
)

// ProfileOf reads the stored profile of a person.
func ProfileOf(u User) (Profile, error) { return people.ProfileOf(u) }

// What pages say of applications (package clients).
type (
	// Registration is what somebody says of an application.
	Registration = clients.Registration
	// Registered is an application with its new secret.
	Registered = clients.Registered
)

// SecretIsReadable says whether the server can read the client secret back.
func SecretIsReadable(a Application) bool { return clients.SecretIsReadable(a) }

// AnsweredByOwner says that the owner alone is responsible for an application.
func AnsweredByOwner(a Application) bool { return clients.AnsweredByOwner(a) }

// AccessAlgorithm signs the access tokens of an application.
func AccessAlgorithm(a Application) string { return tokens.AccessAlgorithm(a) }

// Response is what goes to the client through the browser.
type Response = redirect.Response

// LogoutRequest is an application's request to log the person out.
type LogoutRequest = logout.LogoutRequest

// EndedLife is how long a browser keeps the session that ended in it.
const EndedLife = logout.EndedLife

// What pages say of authorization requests (package authorize).
type (
	// Authorization is an authorization request whose client and redirect URI are proven.
	Authorization = authorize.Authorization
	// Asked is what the consent page must ask about.
	Asked = authorize.Asked
	// Reason says why a person who has a session must sign in again.
	Reason = authorize.Reason
)

// The reasons for which a person must sign in again.
const (
	OtherAccount  = authorize.OtherAccount
	ChooseAccount = authorize.ChooseAccount
	LoginRequest  = authorize.LoginRequest
	LoginTooOld   = authorize.LoginTooOld
)

// WayBackLife is how long a browser may take from the login page back to the request that
// sent it there.
const WayBackLife = authorize.WayBackLife

// LoginRequired refuses a silent request that needs a login.
func LoginRequired() *Error { return authorize.LoginRequired() }
