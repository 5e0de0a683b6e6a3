package provider

import (
	"context"
	"net/http"
	"net/netip"
	"net/url"
	"time"

	"mandate/provider/acr"
	"mandate/provider/authorize"
	"mandate/provider/clients"
	"mandate/provider/device"
	"mandate/provider/events"
	"mandate/provider/jose"
	"mandate/provider/keys"
	"mandate/provider/logout"
	"mandate/provider/mail"
	"mandate/provider/notices"
	"mandate/provider/oauth"
	"mandate/provider/outbound"
	"mandate/provider/people"
	"mandate/provider/policy"
	"mandate/provider/possession"
	"mandate/provider/redirect"
	"mandate/provider/registration"
	"mandate/provider/resources"
	"mandate/provider/seal"
	"mandate/provider/tokens"
	"mandate/provider/totp"
	"mandate/storage"
)

// The records that handlers and pages use.
type (
	// User is a person who can sign in.
	User = storage.User
	// Application is a registered client.
	Application = storage.Application
	// Selection says which applications a list contains.
	Selection = storage.Selection
	// Holding is what an application holds.
	Holding = storage.Holding
	// Group is a named set of people.
	Group = storage.Group
	// SignedIn is a valid session together with its person.
	SignedIn = storage.SignedIn
	// Event is an event of the event log.
	Event = storage.Event
	// EventFilter says which events a list contains.
	EventFilter = events.Filter
	// Refused says which request was refused.
	Refused = events.Refused
	// Refusal is what is known about equal refusals.
	Refusal = events.Refusal
	// Sender says what is known about the sender of a refused request.
	Sender = events.Sender
	// EventDescription says what a kind of events means.
	EventDescription = events.Description
	// DocumentHost is a server that metadata documents of clients may be fetched from.
	DocumentHost = outbound.Peer
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
	// InitialToken lets its holder register applications.
	InitialToken = storage.InitialToken
	// NewInitialToken describes an initial access token that somebody makes.
	NewInitialToken = registration.NewInitialToken
	// OpenConfig says which applications may come by themselves.
	OpenConfig = clients.OpenConfig
)

// The values in the record of an application: client types, grant types, access token formats
// and standings.
const (
	// Confidential is the client type of a client that can keep a secret.
	Confidential = policy.Confidential
	// Public is the client type of a client that cannot keep a secret.
	Public = policy.Public

	// GrantCode is the authorization code grant.
	GrantCode = policy.GrantCode
	// GrantClient is the client credentials grant.
	GrantClient = policy.GrantClient
	// GrantPassword is the grant with a person's password.
	GrantPassword = policy.GrantPassword
	// GrantDevice is the device authorization grant.
	GrantDevice = policy.GrantDevice
	// GrantRefresh is the refresh token grant.
	GrantRefresh = policy.GrantRefresh

	// DefaultAlgorithm signs the tokens of an application that has no algorithm registered.
	DefaultAlgorithm = policy.DefaultAlgorithm

	// ProfileFAPI is the profile FAPI 2.0 Security Profile.
	ProfileFAPI = policy.ProfileFAPI
	// ProfileMessages is the profile FAPI 2.0 Message Signing.
	ProfileMessages = policy.ProfileMessages

	// PKCERequired requires a code challenge in each authorization request of an application.
	PKCERequired = policy.PKCERequired
	// PKCEIfSent lets an application come without one.
	PKCEIfSent = policy.PKCEIfSent
	// RotationOn rotates the refresh tokens of an application.
	RotationOn = policy.RotationOn
	// RotationOff keeps them, where the kind of the application allows it.
	RotationOff = policy.RotationOff
	// TypAccessToken is the usual typ of signed access tokens.
	TypAccessToken = resources.TypAccessToken
	// TypJWT is their typ for an API that accepts nothing else.
	TypJWT = resources.TypJWT
	// ClaimsOn puts the claims of the granted scopes into the ID tokens of an application.
	ClaimsOn = policy.ClaimsOn
	// ClaimsOff leaves them out.
	ClaimsOff = policy.ClaimsOff

	// BoundToKey is the sender constraint by DPoP proofs.
	BoundToKey = possession.DPoP
	// BoundToCertificate is the sender constraint by client certificates.
	BoundToCertificate = possession.Certificate

	// FormatOpaque is the format of an access token that only this server can read.
	FormatOpaque = policy.FormatOpaque
	// FormatJWT is the format of a signed access token (RFC 9068).
	FormatJWT = policy.FormatJWT

	// StandingAdministrator means that an administrator or the operator is responsible.
	StandingAdministrator = policy.StandingAdministrator
	// StandingPerson means that a person who is not an administrator is responsible.
	StandingPerson = policy.StandingPerson
	// StandingOpen means that nobody is responsible.
	StandingOpen = policy.StandingOpen
)

// The origins of applications, and the values that only a Selection has.
const (
	// FromPage: a person registered the application on a page.
	FromPage = storage.FromPage
	// FromCommand: the operator registered it on the command line.
	FromCommand = storage.FromCommand
	// FromRegistration: it registered itself.
	FromRegistration = storage.FromRegistration
	// FromDocument: its client id is the URL of its metadata document.
	FromDocument = storage.FromDocument
	// UnknownOrigin selects the applications without an origin.
	UnknownOrigin = storage.UnknownOrigin
	// SelectSuspended selects the suspended applications by their standing.
	SelectSuspended = storage.Suspended
)

// MostCounted is the highest number in a Holding.
const MostCounted = clients.MostCounted

// Standings returns all standings, from the most trusted to the least trusted.
func Standings() []Standing { return policy.Standings() }

// StandingOf returns the standing of an application.
func StandingOf(a Application) Standing { return policy.StandingOf(a) }

// CameByItself reports whether an application registered itself or has a metadata document.
func CameByItself(a Application) bool { return policy.CameByItself(a) }

// DocumentOf returns the URL of the metadata document with which an application came, or "".
func DocumentOf(a Application) string { return policy.DocumentOf(a) }

// FollowsDocument reports whether its metadata document describes an application.
func FollowsDocument(a Application) bool { return policy.FollowsDocument(a) }

// Profiles lists the profiles of an application.
func Profiles() []string { return policy.Profiles() }

// PKCEValues lists what an application can say about PKCE.
func PKCEValues() []string { return policy.PKCEValues() }

// Grants returns the grant types for which an application can be registered.
func Grants() []policy.GrantType { return policy.Grants() }

// BuiltInScopes returns the names of the scopes that exist without configuration if OpenID Connect is on.
func BuiltInScopes() []string { return policy.BuiltInScopes() }

// GrantNames returns the names of the grant types in Grants.
func GrantNames() []string { return policy.GrantNames() }

// GrantOf returns the grant type with this name.
func GrantOf(name string) (policy.GrantType, bool) { return policy.GrantOf(name) }

// TokenGrants returns the values of grant_type that the token endpoint supports.
func TokenGrants() []string { return policy.TokenGrants() }

// SupportsGrant reports whether the token endpoint supports a value of grant_type.
func SupportsGrant(name string) bool { return policy.SupportsGrant(name) }

// HasGrant reports whether an application is registered for a grant type.
func HasGrant(a Application, grant string) bool { return policy.HasGrant(a, grant) }

// CheckRSAKey returns an error if the operator's RSA key (PEM) cannot be used.
func CheckRSAKey(text string) error { return keys.CheckRSAKey(text) }

// PagesOf returns the web pages of an application that people may be sent to, in a language if it has them.
func PagesOf(a Application, language string) clients.Pages { return clients.PagesOf(a, language) }

// NameIn returns the name of an application in a language, or else its usual one.
func NameIn(a Application, language string) string { return clients.NameIn(a, language) }

// StatementIssuer is an issuer whose software statements the operator trusts.
type StatementIssuer = registration.StatementIssuer

// Statement is what the server says about the software statement of an application.
type Statement = registration.Statement

// ParseLimits reads the stored limits of an initial access token.
func ParseLimits(text string) (registration.Limits, error) { return registration.ParseLimits(text) }

// MayOf lists what can be registered under limits: grant types, and introspection.
func MayOf(l registration.Limits) []string { return registration.MayOf(l) }

// UsableInitialToken reports whether applications can be registered with a token now.
func UsableInitialToken(i InitialToken) bool { return registration.UsableInitialToken(i) }

// Actor is who changes applications and accounts.
type Actor = policy.Actor

// Operator returns the actor at the command line.
func Operator() Actor { return policy.Operator() }

// By returns a person who is signed in, as the actor.
func By(u User) Actor { return policy.By(u) }

// The types for people (package people).
type (
	// Person is the description of a person by an administrator, the CLI or the sample API.
	Person = people.Person
	// Authorized is an application to which a person has given consent.
	Authorized = people.Authorized
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
	// Passkey is a credential with which a person signs in.
	Passkey = storage.Passkey
	// Ceremony is a request to an authenticator, for a page.
	Ceremony = people.Ceremony
	// AuthenticatorResponse is what a page sends after an authenticator has answered.
	AuthenticatorResponse = people.Response
)

// The types for other servers with which people sign in (package people).
type (
	// SignInServer is another server with which people sign in.
	SignInServer = people.Server
	// Mapped is a value of another server, and what it means here.
	Mapped = people.Mapped
	// Leaving is a person who goes to another server to sign in.
	Leaving = people.Leaving
	// Identity is an account of another server that belongs to a person.
	Identity = people.OwnIdentity
)

// The policies about people who come from another server and have no account here.
const (
	// NewPeopleOff lets nobody come.
	NewPeopleOff = people.NewPeopleOff
	// NewPeopleDomains lets people come whose verified address has an allowed domain.
	NewPeopleDomains = people.NewPeopleDomains
	// NewPeopleInvited lets people come whose verified address has an invitation.
	NewPeopleInvited = people.NewPeopleInvited
)

// KnownFor is how long a browser is known after its person has last signed in with it.
const KnownFor = people.KnownFor

// LeaveLife is how long a person may be at another server.
const LeaveLife = people.LeaveLife

// MostLeavingTicket is the size of the largest ticket of a person who is there.
const MostLeavingTicket = people.MostTicket

// MaxUsername is the largest number of characters in a username.
const MaxUsername = people.MaxUsername

// MaxPasskeys is how many passkeys a person may have.
const MaxPasskeys = people.MaxPasskeys

// ErrTooManyPasskeys means that a person has as many passkeys as they may have.
var ErrTooManyPasskeys = people.ErrTooManyPasskeys

// The choices for the applications of a person who is deleted.
const (
	// DeleteApplications deletes the applications together with the person.
	DeleteApplications = people.DeleteApplications
	// TakeOver makes the actor responsible for the applications.
	TakeOver = people.TakeOver
)

// StateOf returns a digest of everything that UpdateUser writes, for Person.Shown.
func StateOf(u User, groups []string) string { return people.StateOf(u, groups) }

// ProfileOf returns the stored profile of a person.
func ProfileOf(u User) (Profile, error) { return people.ProfileOf(u) }

// The types for resources (package resources).
type (
	// Resource is an API that tokens can be issued for.
	Resource = resources.Resource
	// Audience is what tokens are for.
	Audience = resources.Audience
	// ResourceRegistration holds the fields of a resource that an administrator may set.
	ResourceRegistration = resources.Registration
)

// The types for applications (package clients).
type (
	// Registration holds the fields of an application that a person may set.
	Registration = clients.Registration
	// Registered is an application together with its new client secret.
	Registered = clients.Registered
	// Authentication says how an application authenticates.
	Authentication = clients.Authentication
	// Messages says how the requests and responses of an application are signed.
	Messages = clients.Messages
	// AuthMethod is a method of client authentication.
	AuthMethod = clients.Method
)

// MethodCertificate is the method of a client with the certificate of an authority.
const MethodCertificate = clients.MethodCertificate

// MethodSelfSigned is the method of a client with a certificate that is registered itself.
const MethodSelfSigned = clients.MethodSelfSigned

// AuthenticationOf returns how an application authenticates.
func AuthenticationOf(a Application) Authentication { return clients.AuthenticationOf(a) }

// MessagesOf returns how the messages of an application are signed.
func MessagesOf(a Application) Messages { return clients.MessagesOf(a) }

// ObjectAlgorithms lists the signature algorithms of request objects.
func ObjectAlgorithms() []string { return clients.ObjectAlgorithms() }

// SigningAlgorithms lists the signature algorithms of this server with a public key.
func SigningAlgorithms() []string { return jose.Algorithms() }

// AllResponseModes lists the response modes that an application can register.
func AllResponseModes() []string { return clients.ResponseModes() }

// AuthMethods lists the methods of client authentication.
func AuthMethods() []AuthMethod { return clients.Methods() }

// HoldsPrivateKey reports whether a text has a private key, so that no page may show it again.
func HoldsPrivateKey(text string) bool { return clients.HoldsPrivateKey(text) }

// The methods of clients that sign assertions: with a private key, or with their secret.
const (
	MethodPrivateKey = clients.MethodPrivateKey
	MethodSecretJWT  = clients.MethodSecretJWT
)

// TestAlgorithms lists the algorithms for which the server makes a key pair for tests.
func TestAlgorithms() []string { return clients.TestAlgorithms() }

// SignedIntrospection is the media type of a signed introspection response (RFC 9701 §4).
const SignedIntrospection = tokens.SignedIntrospection

// AuthMethodNames lists their names: of those with which a client proves who it is, or of all.
func AuthMethodNames(public bool) []string { return clients.MethodNames(public) }

// AssertionAlgorithms lists the signature algorithms of client assertions.
func AssertionAlgorithms() []string { return clients.AssertionAlgorithms() }

// HasSecret reports whether an application has a client secret.
func HasSecret(a Application) bool { return clients.HasSecret(a) }

// MayPostSecret reports whether an application may send its secret in the body, or has none.
func MayPostSecret(a Application) bool { return clients.MayPostSecret(a) }

// ShortSubject returns the subject of a certificate as forms and commands take it.
func ShortSubject(stored string) string { return clients.ShortSubject(stored) }

// KeyIDs lists the key ids of the registered keys of an application.
func KeyIDs(a Application) []string { return clients.KeyIDs(a) }

// SendsCredentials reports whether a request authenticates as a client, but for a certificate.
func SendsCredentials(r *http.Request, form url.Values) bool {
	return clients.SendsCredentials(r, form)
}

// SecretIsReadable reports whether the server can read the client secret back.
func SecretIsReadable(a Application) bool { return clients.SecretIsReadable(a) }

// OwnerResponsible reports whether the owner of an application, and not the operator, is
// responsible for it.
func OwnerResponsible(a Application) bool { return clients.OwnerResponsible(a) }

// AccessAlgorithm returns the algorithm that signs the access tokens of an application.
func AccessAlgorithm(a Application) string { return tokens.AccessAlgorithm(a) }

// EventKinds returns the descriptions of all kinds of events.
func EventKinds() []EventDescription { return events.Kinds() }

// IsEventKind reports whether there is a kind of events with this name.
func IsEventKind(name string) bool { return events.Known(name) }

// EventActor names the actor of an event for people. What stands in parentheses is no person.
func EventActor(e Event) string { return events.Actor(e) }

// EventJSON returns an event as one line of JSON, without a line feed.
func EventJSON(e Event) []byte { return events.JSON(e) }

// DeviceOrigin is what the server knows about the device that sends a request.
type DeviceOrigin = device.Origin

// From returns a context that says from which address a request comes. It is for the limits
// of the requests that strangers can cause.
func From(ctx context.Context, address string) context.Context {
	return clients.From(ctx, address)
}

// FromBrowser returns a context like From. It also names the browser, by the random value of
// NewBrowserName that it keeps in a cookie; empty: it has none.
func FromBrowser(ctx context.Context, address, browser string) context.Context {
	return authorize.WithBrowser(From(ctx, address), browser)
}

// NewBrowserName returns a random name for a browser.
func NewBrowserName() string { return seal.Random(16) }

// TicketLife is how long a person may take for the login, and for the consent page.
const TicketLife = authorize.TicketLife * time.Second

// Response is a response that the browser carries to the client.
type Response = redirect.Response

// LogoutRequest is an application's request to log the person out.
type LogoutRequest = logout.Request

// EndedLife is how long a browser remembers a session that has ended.
const EndedLife = logout.EndedLife

// The types for authorization requests (package authorize).
type (
	// Authorization is an authorization request whose client and redirect URI are valid.
	Authorization = authorize.Authorization
	// Interaction says what the person must do before the request can be completed.
	Interaction = authorize.Interaction
	// Reason is the reason for which a person who has a session must sign in again.
	Reason = authorize.Reason
)

// The reasons for which a person who has a session must sign in again.
const (
	// OtherAccount is the reason if the request names another account.
	OtherAccount = authorize.OtherAccount
	// ChooseAccount is the reason for prompt=select_account.
	ChooseAccount = authorize.ChooseAccount
	// LoginRequest is the reason for prompt=login and max_age=0.
	LoginRequest = authorize.LoginRequest
	// LoginTooOld is the reason if the login is older than max_age.
	LoginTooOld = authorize.LoginTooOld
)

// The types for second factors (package people).
type (
	// Challenge asks a person for a second factor.
	Challenge = people.Challenge
	// Answer is what a person sends in answer to a Challenge.
	Answer = people.Answer
	// Factors says what a person has beside the password.
	Factors = people.Factors
	// NewTOTP is an authenticator app that a person may add.
	NewTOTP = people.NewTOTP
)

// The ways to answer a Challenge.
const (
	ByTOTP       = people.ByTOTP
	ByPasskey    = people.ByPasskey
	ByNewPasskey = people.ByNewPasskey
	ByRecovery   = people.ByRecovery
	ByNewTOTP    = people.ByNewTOTP
)

// The policies about second factors.
const (
	SecondFactorOptional       = people.SecondFactorOptional
	SecondFactorAdministrators = people.SecondFactorAdministrators
	SecondFactorEverybody      = people.SecondFactorEverybody
)

// ErrConfirm means that the person must sign in again before a change.
var ErrConfirm = people.ErrConfirm

// ErrNotSignedIn means that the session has ended meanwhile.
var ErrNotSignedIn = people.ErrNotSignedIn

// SignInLife is how long a person may take for the second step of a sign-in.
const SignInLife = people.SignInLife

// DraftLife is how long a form is kept while its person signs in again.
const DraftLife = people.DraftLife

// ACRValues returns every value of acr, the weakest one first. A server whose browsers offer no
// passkeys supports fewer.
func ACRValues() []string { return acr.Values() }

// ACRMFA is the acr of a login with a second factor.
const ACRMFA = acr.MFA

// SatisfiesACR reports whether the login of a session satisfies an acr.
func SatisfiesACR(s *SignedIn, value string) bool { return acr.Satisfies(s.Session.AMR, value) }

// WeakestACR is the acr that every login satisfies.
const WeakestACR = acr.Password

// QR returns a picture of a text as a QR code: a data: URL.
func QR(text string) (string, error) { return totp.QR(text) }

// LoginProofLife is how long a browser may take to return from the login page to the request that
// needed the login.
const LoginProofLife = authorize.LoginProofLife

// LoginRequired returns the error for a request with prompt=none that needs a login.
func LoginRequired() *Error { return authorize.LoginRequired() }

// The mail that the server sends. The program supplies its text.
type (
	// Letters writes the messages.
	Letters = notices.Letters
	// Letter is what a person reads.
	Letter = mail.Letter
	// ResetMail is the message with the link that sets a new password.
	ResetMail = notices.Reset
	// AddressMail is the message with the link that confirms an address.
	AddressMail = notices.Address
	// PasswordChangedMail is the message after the password has changed.
	PasswordChangedMail = notices.PasswordChanged
	// SignInMail is the message after a sign-in with a browser that is new for the person.
	SignInMail = notices.SignIn
	// FactorMail is the message after the factors of a person have changed.
	FactorMail = notices.Factor
	// InvitationMail is the message with the link of somebody who was invited.
	InvitationMail = notices.Invitation
	// SignUpMail is the message with the link of somebody who asked for an account.
	SignUpMail = notices.SignUp
	// KnownMail is the message to somebody who asked for an account, and has one.
	KnownMail = notices.Known
)

// ResetLife is how long a link that sets a new password works.
const ResetLife = people.ResetLife

// CheckMailServer returns what is wrong with the URL of a mail server, or "".
func CheckMailServer(at string) string { return mail.CheckURL(at) }

// CheckMailFrom returns what is wrong with the sender of mail, or "".
func CheckMailFrom(address string) string { return mail.CheckFrom(address) }

// IsNetwork reports whether a text is a network address as the event log has it: an IP address, or a network (CIDR).
func IsNetwork(text string) bool {
	_, err := netip.ParseAddr(text)
	if err != nil {
		_, err = netip.ParsePrefix(text)
	}
	return err == nil
}

// RequestRefused is the kind of the events that count refused requests.
const RequestRefused = string(events.RequestRefused)

// The senders of refused requests.
const (
	Itself         = events.Itself
	PersonSignedIn = events.SignedIn
	Stranger       = events.Stranger
)

// ScopeLeftOut stands in the place of an error code where requests are listed that were granted without a scope.
const ScopeLeftOut = policy.ScopeLeftOut

// RemedyOf returns what to change after a refusal.
func RemedyOf(r Refusal) clients.Remedy { return clients.RemedyOf(r) }
