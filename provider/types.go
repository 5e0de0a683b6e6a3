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

// The records that handlers and pages use.
type (
	// User is a person who can sign in.
	User = storage.User
	// Application is a registered client.
	Application = storage.Application
	// Group is a named set of people.
	Group = storage.Group
	// Session is the session of a person who has signed in with a browser.
	Session = storage.Session
	// SignedIn is a valid session together with its person.
	SignedIn = storage.SignedIn
	// Mismatch shows how a redirect URI differs from the registered ones.
	Mismatch = redirect.Mismatch
)

// The errors that handlers and pages use.
type (
	// Error is an error with the description that a client may see.
	Error = oauth.Error
	// Invalid lists the errors in a form, each with its field.
	Invalid = oauth.Invalid
	// FieldError is one error in a form.
	FieldError = oauth.FieldError
)

// ErrNotFound is the error for a record that does not exist, or that this person may not see.
var ErrNotFound = oauth.ErrNotFound

// The rules for applications (package policy).
type (
	// Scope is a configured scope.
	Scope = policy.Scope
	// Standing is the kind of party that is responsible for an application.
	Standing = policy.Standing
	// Allowance holds what a standing permits.
	Allowance = policy.Allowance
	// Quota limits what the applications of one responsible party may have together.
	Quota = policy.Quota
)

// The values in the record of an application: client types, grant types, access token formats
// and standings.
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

// Standings returns all standings, from the most trusted to the least trusted.
func Standings() []Standing { return policy.Standings() }

// StandingOf returns the standing of an application.
func StandingOf(a Application) Standing { return policy.StandingOf(a) }

// Suspended reports whether an application is suspended, because nobody who is active is
// responsible for it.
func Suspended(a Application) bool { return policy.Suspended(a) }

// CheckRSAKey returns an error if the operator's RSA key (PEM) cannot be used.
func CheckRSAKey(text string) error { return keys.CheckRSAKey(text) }

// The types for people (package people).
type (
	// Person is the description of a user by an administrator, the CLI or the sample API.
	Person = people.Person
	// Profile holds the standard claims that have no column of their own.
	Profile = people.Profile
	// Address is the claim address.
	Address = people.Address
	// Browser holds what the server knows about the browser that sends a request.
	Browser = people.Browser
	// SignIn is the result of a successful login, for the browser.
	SignIn = people.SignIn
	// Passwords are the fields of the form that changes a password.
	Passwords = people.Passwords
)

// The choices for the applications of a person who is deleted.
const (
	DeleteApplications = people.DeleteApplications
	TakeOver           = people.TakeOver
)

// ProfileOf returns the stored profile of a person.
func ProfileOf(u User) (Profile, error) { return people.ProfileOf(u) }

// The types for applications (package clients).
type (
	// Registration holds the fields of an application that a person may set.
	Registration = clients.Registration
	// Registered is an application together with its new client secret.
	Registered = clients.Registered
)

// SecretIsReadable reports whether the server can read the client secret back.
func SecretIsReadable(a Application) bool { return clients.SecretIsReadable(a) }

// AnsweredByOwner reports whether the owner of an application, and not the operator, is
// responsible for it.
func AnsweredByOwner(a Application) bool { return clients.AnsweredByOwner(a) }

// AccessAlgorithm returns the algorithm that signs the access tokens of an application.
func AccessAlgorithm(a Application) string { return tokens.AccessAlgorithm(a) }

// Response is a response that the browser carries to the client.
type Response = redirect.Response

// LogoutRequest is an application's request to log the person out.
type LogoutRequest = logout.LogoutRequest

// EndedLife is how long a browser remembers a session that has ended.
const EndedLife = logout.EndedLife

// The types for authorization requests (package authorize).
type (
	// Authorization is an authorization request whose client and redirect URI are valid.
	Authorization = authorize.Authorization
	// Asked says what the person must do before the request can be completed.
	Asked = authorize.Asked
	// Reason is the reason for which a person who has a session must sign in again.
	Reason = authorize.Reason
)

// The reasons for which a person who has a session must sign in again.
const (
	OtherAccount  = authorize.OtherAccount
	ChooseAccount = authorize.ChooseAccount
	LoginRequest  = authorize.LoginRequest
	LoginTooOld   = authorize.LoginTooOld
)

// WayBackLife is how long a browser may take to return from the login page to the request that
// needed the login.
const WayBackLife = authorize.WayBackLife

// LoginRequired returns the error for a request with prompt=none that needs a login.
func LoginRequired() *Error { return authorize.LoginRequired() }
