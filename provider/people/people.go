// Package people manages the people of the server: their accounts, groups, profiles
// (OIDC Core §5.1), passwords and second factors (NIST SP 800-63B-4), and browser sessions.
package people

import (
	"errors"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

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
	SessionLifetime   time.Duration
	SessionIdle       time.Duration
	PasswordMinLength int
	SecondFactor      string        // one of the policies about second factors
	SecondFactorGrace time.Duration // how long a person may sign in without one after the first sign-in under the policy
	Name              string        // the name of the service; may be empty
	ServerName        string        // the name of the service in an authenticator app, or else the host of this server
	Passkeys          bool          // browsers offer passkeys at the address of this server
	Base              string        // the URL of this server, without a final slash
	Servers           []Server      // other servers with which people sign in
	Languages         []string      // the language tags of those in which there are messages

	SignUp             string        // one of the policies about accounts that people make themselves
	SignUpDomains      []string      // of the addresses of people who may ask for an account, in lower case; none: there is no limit
	InvitationLifetime time.Duration // unless an invitation says otherwise
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
