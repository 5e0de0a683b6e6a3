// Package people manages the people of the server: their accounts, groups, profiles
// (OIDC Core §5.1), passwords and second factors (NIST SP 800-63B-4), and browser sessions.
package people

import (
	"errors"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"mandate/provider/attributes"
	"mandate/provider/bell"
	"mandate/provider/limits"
	"mandate/provider/notices"
	"mandate/provider/oauth"
	"mandate/provider/policy"
	"mandate/provider/seal"
	"mandate/storage"
)

// Config is what an operator decides about people.
type Config struct {
	// SessionLifetime is the lifetime of a browser session in seconds, counted from the sign-in.
	SessionLifetime time.Duration `key:"SESSION_COOKIE_AGE" default:"1209600" min:"60" max:"31536000" subject:"People and sign-in" after:"OUTBOUND_ALLOWED_NETWORKS"`
	// SessionIdle is the number of seconds after which a browser session without a request ends. The default is
	// lowered to `SESSION_COOKIE_AGE` if that is smaller.
	SessionIdle time.Duration `key:"SESSION_IDLE_SECONDS" default:"259200" min:"60" max:"31536000"`
	// PasswordMinLength is the smallest number of characters in a new password. NIST SP 800-63B-4 §3.1.1.2 requires 15
	// if the password is the only factor.
	//
	// Passwords that are commonly used or expected are refused whatever their length. Existing passwords stay valid.
	PasswordMinLength int `key:"PASSWORD_MIN_LENGTH" default:"15" min:"1" max:"64" after:"LOG_FORMAT"`
	// SecondFactor says of whom a second factor is demanded beside the password: `optional` leaves it to each person.
	//
	// `administrators` demands it of administrators, auditors and administrators of groups, `everybody` of all people. A
	// person who must have one and has none adds it at the sign-in, once `SECOND_FACTOR_GRACE_DAYS` are over. The
	// password grant is refused for a person who signs in with a second factor.
	SecondFactor string `key:"SECOND_FACTOR" default:"optional" oneof:"optional administrators everybody"`
	// SecondFactorGrace is the number of days for which a person of whom `SECOND_FACTOR` demands a second factor may
	// still sign in without one.
	//
	// The days count from the first sign-in under the policy. With 0, the person adds one at that sign-in.
	SecondFactorGrace time.Duration `key:"SECOND_FACTOR_GRACE_DAYS" default:"7" min:"0" max:"365"`
	// SignUp says who may make an account of their own: nobody (`off`), people who were [invited](sign-up.md), or also
	// everybody else (`open`).
	//
	// With `invited`, an administrator or the operator has invited the person. With `open`, everybody who reads the
	// mail of an address may make an account, so it needs `SMTP_URL`.
	SignUp string `key:"SIGN_UP" default:"invited" oneof:"off invited open"`
	// SignUpDomains are the only domains of the addresses of people who make an account without an invitation, in
	// lower case. A subdomain needs an entry of its own.
	//
	// If the list is empty, every domain is allowed.
	SignUpDomains []string `key:"SIGN_UP_ALLOWED_DOMAINS" default:"[]"`
	// RegistrationGroups are the groups whose members may register applications on the pages of this server.
	//
	// If the list is empty, everybody may. Administrators always may. What a person has registered stays, and works.
	RegistrationGroups []string `key:"REGISTRATION_ALLOWED_GROUPS" default:"[]"`
	// Editable lists what people may change of their own account: `name`, `locale` (the language), `zoneinfo` (the time
	// zone) and `email`.
	//
	// An empty list leaves all of it to administrators, for example because another system keeps the names. A new email
	// address counts once the person has opened a link that was sent to it, so `email` needs `SMTP_URL`. It must be in
	// `SIGN_UP_ALLOWED_DOMAINS`, if that is set. Leave it out if programs find people by an address of the company.
	Editable []string `key:"EDITABLE_BY_PEOPLE" default:"[name, locale, zoneinfo]"`
	// InvitationLifetime is the number of seconds for which an invitation works, unless the inviter says otherwise.
	InvitationLifetime time.Duration `key:"INVITATION_EXPIRE_SECONDS" default:"604800" min:"60" max:"31536000"`
	// Servers are other OpenID Providers with which people [sign in](sign-in.md#with-another-server).
	//
	// An item has the form `{NAME: company, LABEL: Example Company, ISSUER: https://login.example.com, CLIENT_ID:
	// mandate, CLIENT_SECRET_FILE: /run/secrets/company}`. The login page has a button for each, in this order.
	// Register the redirect URI `BASE_URL/login/with/NAME/callback/` there.
	Servers []Server `key:"SIGN_IN_SERVERS" default:"[]"`
	// Attributes are what you want to know about people beyond their profile, such as a quota, for the
	// [claims of applications](openid-connect.md#own-attributes-of-people).
	//
	// An item has the form `{NAME: quota, TYPE: number, MAX: 500}`. `mandate user update` gives people the
	// values. The values of an attribute that you remove stay stored, and have no effect.
	Attributes attributes.Set `key:"ATTRIBUTES" default:"[]"`

	Name       string   // the name of the service; may be empty
	ServerName string   // the name of the service in an authenticator app, or else the host of this server
	Passkeys   bool     // browsers offer passkeys at the address of this server
	Base       string   // the URL of this server, without a final slash
	Languages  []string // the language tags of those in which there are messages
}

// People manages the accounts of people, and their groups, passwords and browser sessions.
type People struct {
	// Ended rings when sessions have ended at this node.
	Ended bell.Bell

	config  Config
	rules   *policy.Rules
	store   *storage.Store
	limits  *limits.Limits
	notices *notices.Notices
	devices seal.Sealer // the cookies of browsers in which a person has signed in
	flashes seal.Sealer // the texts that a page shows once
	factors seal.Sealer // the stored secrets of authenticator apps
	signIns seal.Sealer // the first steps of sign-ins, in the browser
	setup   string      // the secret part of the first administrator's link
	log     *slog.Logger
	settled atomic.Bool // an account was seen
}

// New makes the component. setup is the secret part of the first administrator's link.
func New(
	config Config,
	rules *policy.Rules,
	store *storage.Store,
	l *limits.Limits,
	n *notices.Notices,
	sealers Sealers,
	setup string,
	log *slog.Logger,
) *People {
	return &People{
		config:  config,
		rules:   rules,
		store:   store,
		limits:  l,
		notices: n,
		devices: sealers.Devices,
		flashes: sealers.Flashes,
		factors: sealers.Factors,
		signIns: sealers.SignIns,
		setup:   setup,
		Ended:   bell.New(),
		log:     log,
	}
}

// Sealers encrypts what the server stores in people's browsers, and the secrets of their factors.
type Sealers struct{ Devices, Flashes, Factors, SignIns seal.Sealer }

// isLimited reports whether an error is that of a limit.
func isLimited(err error) bool {
	e, ok := errors.AsType[*oauth.Error](err)
	return ok && e.Status == http.StatusTooManyRequests
}

// isRefused reports whether an error is a refusal, and neither one of the server nor that of a limit.
func isRefused(err error) bool {
	e, refused := oauth.Refused(err)
	return refused && e.Status != http.StatusTooManyRequests
}
