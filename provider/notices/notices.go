// Package notices sends mail to people. A message waits in the database, encrypted, until one
// node has sent it.
package notices

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"

	"mandate/provider/bell"
	"mandate/provider/mail"
	"mandate/provider/oauth"
	"mandate/provider/seal"
	"mandate/storage"
)

// The kinds of messages. Each kind has its own share of the queue.
const (
	asked    = "asked"    // no message yet: somebody asks for a new password
	reset    = "reset"    // a link to set a new password
	address  = "address"  // a link to confirm the address
	password = "password" // the password has changed
	signIn   = "sign-in"  // a sign-in with a browser that is new for the person
	refused  = "refused"  // a wrong second factor after the right password
	factor   = "factor"   // another way to sign in was added or removed
	account  = "account"  // another address or username
	next     = "next"     // a link to confirm another address, or that somebody has it
	former   = "former"   // to the former address, with the way back

	invitation  = "invitation"    // a link with which somebody who was invited makes an account
	askedSignUp = "asked-sign-up" // no message yet: somebody asks for an account
	signUp      = "sign-up"       // a link with which somebody who asked makes an account
	known       = "known"         // somebody who asked has an account
)

// Change is what has happened to the factors of a person, or to the name or the address by which the account is found.
type Change string

// The changes.
const (
	TOTPAdded      Change = "totp-added"
	TOTPRemoved    Change = "totp-removed"
	PasskeyAdded   Change = "passkey-added"
	PasskeyRemoved Change = "passkey-removed"
	AccountAdded   Change = "account-added" // of another server
	AccountRemoved Change = "account-removed"
	CodesMade      Change = "codes-made"     // recovery codes replace the former ones
	CodeUsed       Change = "code-used"      // a recovery code was used
	FactorRefused  Change = "factor-refused" // nothing has changed: a second factor was wrong after the right first step
	FactorsReset   Change = "factors-reset"  // an administrator or the operator removed everything but the password

	AddressChanged  Change = "address-changed" // by an administrator, who may have removed it
	UsernameChanged Change = "username-changed"
)

// strangers is the queue of messages to people who have no account, and of the notes from which they
// are made. Strangers can cause any number of them, so nothing else waits behind them.
const strangers = "strangers"

const (
	mostWaiting    = 10_000 // messages of one kind
	linksPerHour   = 5      // messages with links of one kind to one address
	changesPerHour = 20     // messages to one address that say what has happened
	// linksPerSite is how many of linksPerHour one network can cause: so it does not keep the links
	// from whoever reads the mail of the address.
	linksPerSite = 3
	// addressesPerHour is how many messages one person can send to addresses that they may only have typed.
	addressesPerHour = 20
	// signUpShare is the part of the messages to people without an account that one network can cause.
	signUpShare = 10
	longestLife = 24 * 60 * 60
	askedLife   = 10 * 60
)

// Config is what the messages need to know.
type Config struct {
	// SignUpsPerHour is the largest number of messages that people who ask for an account can cause in one hour.
	//
	// One IPv4 /24 or IPv6 /48 may have a tenth of it (at least one). 0 means no limit.
	SignUpsPerHour int `key:"SIGN_UP_MAX_MAILS_PER_HOUR" default:"1000" min:"0" max:"1000000" subject:"Mail" after:"SIGN_UP_ALLOWED_DOMAINS"`

	Base string // the URL of this server, without a final slash
}

// Letters writes a message: a value of one of the types below. languages are the language tags that the
// recipient prefers, with spaces between them, the best one first. There may be none. The provider knows no
// templates, so the program supplies them.
type Letters func(languages string, message any) (mail.Letter, error)

// Reset is the message with the link that sets a new password.
type Reset struct {
	Username, Link string
	Minutes        int64 // for which the link works
}

// Address is the message with the link that confirms an address.
type Address struct {
	Username, Link string
	Hours          int64 // for which the link works
}

// NewAddress is the message to the address that a person wants to have.
type NewAddress struct {
	Username string
	Taken    bool   // another account has the address, and the link leads to the login page
	Link     string // to the page that confirms the address
	Hours    int64  // for which the link works
}

// FormerAddress is the message to the address that a person has had.
type FormerAddress struct {
	Username string
	At       int64
	Link     string // gives the address back, or leads to the account page
	Days     int64  // for which the link gives it back; 0: it does not
}

// PasswordChanged is the message after the password has changed.
type PasswordChanged struct {
	Username string
	At       int64
	Link     string // to the page for a forgotten password
}

// SignIn is the message after a sign-in with a browser that is new for the person.
type SignIn struct {
	Username  string
	At        int64
	UserAgent string // as the browser sent it
	Address   string // from which it came
	Link      string // to the account page
}

// Factor is the message after the factors of a person, or the name or the address of the account, have changed.
type Factor struct {
	Username string
	At       int64
	Change   Change
	Link     string // to the account page
	Server   string `json:",omitempty"` // of FactorRefused: where the first step was; empty: it was the password
}

// Invitation is the message with the link of somebody who was invited.
type Invitation struct {
	Inviter string // the name of a person; empty: the operator
	Link    string
	Until   int64 // when the link ends
}

// SignUp is the message with the link of somebody who asked for an account.
type SignUp struct {
	Link  string
	Hours int64 // for which the link works
}

// Known is the message to somebody who asked for an account, and has one.
type Known struct {
	Username string
	Link     string // to the login page
}

// content is the encrypted part of a message in the queue. One of the pointers is set, or Asked.
type content struct {
	To        string `json:"to,omitempty"`
	Languages string `json:"languages,omitempty"`

	Asked   string           `json:"asked,omitempty"`
	Reset   *Reset           `json:"reset,omitempty"`
	Address *Address         `json:"address,omitempty"`
	Next    *NewAddress      `json:"next,omitempty"`
	Former  *FormerAddress   `json:"former,omitempty"`
	Changed *PasswordChanged `json:"changed,omitempty"`
	SignIn  *SignIn          `json:"sign_in,omitempty"`
	Factor  *Factor          `json:"factor,omitempty"`
	Invited *Invitation      `json:"invitation,omitempty"`
	SignUp  *SignUp          `json:"sign_up,omitempty"`
	Known   *Known           `json:"known,omitempty"`
}

// message returns the value for Letters.
func (c content) message() (any, error) {
	switch {
	case c.Reset != nil:
		return *c.Reset, nil
	case c.Address != nil:
		return *c.Address, nil
	case c.Next != nil:
		return *c.Next, nil
	case c.Former != nil:
		return *c.Former, nil
	case c.Changed != nil:
		return *c.Changed, nil
	case c.SignIn != nil:
		return *c.SignIn, nil
	case c.Factor != nil:
		return *c.Factor, nil
	case c.Invited != nil:
		return *c.Invited, nil
	case c.SignUp != nil:
		return *c.SignUp, nil
	case c.Known != nil:
		return *c.Known, nil
	}
	return nil, errors.New("the kind of the message is unknown")
}

// Notices makes the messages, and sends them.
type Notices struct {
	config     Config
	store      *storage.Store
	sender     *mail.Sender // nil: the operator has no mail server
	letters    Letters
	bodies     seal.Sealer
	recipients []byte // the key of the digests that stand for recipients
	log        *slog.Logger
	wake       map[string]bell.Bell // by queue
	counters   struct{ sent, failed, givenUp atomic.Int64 }
}

// New makes the component. sender is nil if there is no mail server: then no message is stored.
// recipients is the key of the digests that stand for recipients.
func New(
	config Config,
	store *storage.Store,
	sender *mail.Sender,
	letters Letters,
	bodies seal.Sealer,
	recipients []byte,
	log *slog.Logger,
) *Notices {
	if letters == nil {
		sender = nil // without texts there is nothing to send
	}
	return &Notices{
		config:     config,
		store:      store,
		sender:     sender,
		letters:    letters,
		bodies:     bodies,
		recipients: recipients,
		log:        log,
		wake:       map[string]bell.Bell{"": bell.New(), strangers: bell.New()},
	}
}

// On reports whether messages are sent.
func (n *Notices) On() bool { return n.sender != nil }

// Check connects to the mail server and signs in to it, and sends nothing.
func (n *Notices) Check(ctx context.Context) error { return n.sender.Check(ctx) }

// Counts returns how many messages this node has sent, how many attempts have failed, and how
// many messages it gave up.
func (n *Notices) Counts() (sent, failed, givenUp int64) {
	c := &n.counters
	return c.sent.Load(), c.failed.Load(), c.givenUp.Load()
}

// Asked returns the note that somebody asks for a new password, by username or by address. Run
// answers it. It is the same for a name that does not exist. language is that of whoever asks, and network
// the site from which they do.
func (n *Notices) Asked(name, language, network string) storage.NewMail {
	m := n.message(asked, askedLife, content{Asked: name, Languages: language})
	m.Network = network
	return m
}

// Reset returns the message with a link that sets a new password. language is that of whoever asked, from a
// network.
func (n *Notices) Reset(u storage.User, l storage.Link, language, network, link string) storage.NewMail {
	life := l.ExpiresAt - l.CreatedAt
	m := n.message(reset, life, content{
		To:        u.Email,
		Languages: languagesOf(u, language),
		Reset:     &Reset{u.Username, link, life / 60},
	})
	return n.by(network, n.to(m, u, &l.Digest, linksPerHour), u.Email)
}

// Address returns the message with a link that confirms the address of a person.
func (n *Notices) Address(u storage.User, l storage.Link, link string) storage.NewMail {
	life := l.ExpiresAt - l.CreatedAt
	m := n.message(address, life, content{
		To:        u.Email,
		Languages: languagesOf(u),
		Address:   &Address{u.Username, link, life / 3600},
	})
	m = n.to(m, u, &l.Digest, linksPerHour)
	m.Limit.Also = []storage.MailCount{{Name: n.digest(address + " by " + u.ID), PerHour: addressesPerHour}}
	return m
}

// NewAddress returns the message to the next address of a link. at leads to the page that confirms it; empty: another
// account has the address. Both messages are counted alike.
func (n *Notices) NewAddress(u storage.User, l storage.Link, at string) storage.NewMail {
	life := l.ExpiresAt - l.CreatedAt
	m := n.message(next, life, content{
		To:        l.NextEmail,
		Languages: languagesOf(u),
		Next:      &NewAddress{u.Username, at == "", cmp.Or(at, n.config.Base+"/login/"), life / 3600},
	})
	m.UserID, m.Link = &u.ID, &l.Digest
	m = n.limited(m, l.NextEmail, linksPerHour)
	m.Limit.Also = []storage.MailCount{{Name: n.digest(next + " by " + u.ID), PerHour: addressesPerHour}}
	return m
}

// FormerAddress returns the message to the address of u, who has another one from now on. l gives it back; nil: nothing
// does.
func (n *Notices) FormerAddress(u storage.User, l *storage.Link, at string) storage.NewMail {
	said := &FormerAddress{Username: u.Username, At: oauth.Now(), Link: cmp.Or(at, n.account())}
	life := int64(longestLife)
	if l != nil {
		life = l.ExpiresAt - l.CreatedAt
		said.Days = life / (24 * 60 * 60)
	}
	m := n.message(former, life, content{To: u.Email, Languages: languagesOf(u), Former: said})
	m.UserID = &u.ID
	if l != nil {
		m.Link = &l.Digest
	}
	return n.limited(m, u.Email, changesPerHour)
}

// PasswordChanged returns the message after the password of a person has changed. It returns none
// if the person has no address.
func (n *Notices) PasswordChanged(u storage.User) []storage.NewMail {
	if !n.On() || u.Email == "" {
		return nil
	}
	m := n.message(password, longestLife, content{
		To:        u.Email,
		Languages: languagesOf(u),
		Changed:   &PasswordChanged{u.Username, oauth.Now(), n.config.Base + "/password/forgot/"},
	})
	return []storage.NewMail{n.to(m, u, nil, changesPerHour)}
}

// SignedIn returns the message after a person has signed in with a browser that is new for them. It
// returns none if the person has no address.
func (n *Notices) SignedIn(u storage.User, userAgent, from string) []storage.NewMail {
	if !n.On() || u.Email == "" {
		return nil
	}
	m := n.message(signIn, longestLife, content{
		To:        u.Email,
		Languages: languagesOf(u),
		SignIn:    &SignIn{u.Username, oauth.Now(), userAgent, from, n.account()},
	})
	return []storage.NewMail{n.to(m, u, nil, changesPerHour)}
}

// FactorChanged returns the message after the factors of a person have changed. It returns none if
// the person has no address.
func (n *Notices) FactorChanged(u storage.User, what Change) []storage.NewMail {
	return n.changed(factor, u, what)
}

// AccountChanged returns the message after an administrator has changed the address or the username of a person. It
// goes to the address of u, the former one, and does not name the new one: the former one may be a mistake, and
// somebody else's. It returns none if there was none.
func (n *Notices) AccountChanged(u storage.User, what Change) []storage.NewMail {
	return n.changed(account, u, what)
}

func (n *Notices) changed(kind string, u storage.User, what Change) []storage.NewMail {
	if !n.On() || u.Email == "" {
		return nil
	}
	m := n.message(kind, longestLife, content{
		To:        u.Email,
		Languages: languagesOf(u),
		Factor:    &Factor{u.Username, oauth.Now(), what, n.account(), ""},
	})
	return []storage.NewMail{n.to(m, u, nil, changesPerHour)}
}

// FactorRefused returns the message after a second factor was wrong at a sign-in whose password was right, or that
// began at another server. A person gets one of each on a day. It returns none if the person has no address.
func (n *Notices) FactorRefused(u storage.User, server string) []storage.NewMail {
	if !n.On() || u.Email == "" {
		return nil
	}
	m := n.message(refused, longestLife, content{
		To:        u.Email,
		Languages: languagesOf(u),
		Factor:    &Factor{u.Username, oauth.Now(), FactorRefused, n.account(), server},
	})
	m = n.to(m, u, nil, 1)
	first := refused
	if server != "" {
		first += " server"
	}
	m.Limit.Recipient, m.Limit.Period = n.digest(first+" "+u.ID), longestLife
	return []storage.NewMail{m}
}

// Invitation returns the message with the link of an invitation.
func (n *Notices) Invitation(i storage.Invitation, inviter, link string) storage.NewMail {
	m := n.message(invitation, i.ExpiresAt-i.CreatedAt, content{
		To:        i.Email,
		Languages: i.Language,
		Invited:   &Invitation{inviter, link, i.ExpiresAt},
	})
	m.Invitation = &i.ID
	return n.limited(m, i.Email, linksPerHour)
}

// AskedSignUp returns the note that somebody asks for an account with an address. Run answers it. It is
// the same for an address that somebody has. The messages that all such notes cause have a bound, of which each
// network has a share.
func (n *Notices) AskedSignUp(email, language, network string) storage.NewMail {
	m := n.message(askedSignUp, askedLife, content{Asked: email, Languages: language})
	m.Network, m.Queue = network, strangers
	if most := int64(n.config.SignUpsPerHour); most > 0 {
		m.Limit.Also = []storage.MailCount{{
			Name:    n.digest("all " + askedSignUp + " from " + network),
			PerHour: max(1, most/signUpShare),
		}}
		m.Limit.Recipient, m.Limit.PerHour = n.digest("all "+askedSignUp), most
	}
	return m
}

// SignUp returns the message with the link that somebody asked for.
func (n *Notices) SignUp(i storage.Invitation, link string) storage.NewMail {
	life := i.ExpiresAt - i.CreatedAt
	m := n.message(signUp, life, content{To: i.Email, Languages: i.Language, SignUp: &SignUp{link, life / 3600}})
	m.Invitation, m.Queue = &i.ID, strangers
	return n.by(i.Network, n.limited(m, i.Email, linksPerHour), i.Email)
}

// Known returns the message to a person who asked for an account, and has one. language is that of whoever
// asked, from a network.
func (n *Notices) Known(u storage.User, language, network string) storage.NewMail {
	m := n.message(known, askedLife, content{
		To:        u.Email,
		Languages: languagesOf(u, language),
		Known:     &Known{u.Username, n.config.Base + "/login/"},
	})
	m.Queue = strangers
	return n.by(network, n.to(m, u, nil, linksPerHour), u.Email)
}

// by notes which network has caused a message, and counts what it causes for this recipient.
func (n *Notices) by(network string, m storage.NewMail, email string) storage.NewMail {
	m.Network = network
	if network != "" {
		name := n.digest(m.Kind + " " + strings.ToLower(email) + " from " + network)
		m.Limit.Also = append(m.Limit.Also, storage.MailCount{Name: name, PerHour: linksPerSite})
	}
	return m
}

// digest returns what stands for a recipient, and for what else is counted.
func (n *Notices) digest(of string) string {
	return base64.RawURLEncoding.EncodeToString(seal.Mac(n.recipients, of))
}

// languagesOf lists the languages of a person: the claim locale of the profile, and the language of the
// last sign-in. Those of others follow, for a person of whom neither is known.
func languagesOf(u storage.User, others ...string) string {
	var profile struct {
		Locale string `json:"locale"`
	}
	_ = json.Unmarshal([]byte(u.Profile), &profile) // a profile that cannot be read has no claim
	return strings.Join(strings.Fields(strings.Join(append([]string{profile.Locale, u.Language}, others...), " ")), " ")
}

// account returns the URL of the account page.
func (n *Notices) account() string { return n.config.Base + "/account/" }

// message makes a message that is due at once.
func (n *Notices) message(kind string, life int64, c content) storage.NewMail {
	id, at := seal.Identifier(), oauth.Now()
	text, _ := json.Marshal(c) // texts and numbers can always be written
	return storage.NewMail{
		Mail: storage.Mail{
			ID:        id,
			Kind:      kind,
			Body:      n.bodies.Seal(text, kind+" "+id),
			CreatedAt: at,
			DueAt:     at,
			ExpiresAt: at + life,
		},
		Limit: storage.MailLimit{Most: mostWaiting},
	}
}

// to addresses a message. The messages of each kind are counted apart, so that requests of
// strangers for new passwords do not suppress the message that the password has changed.
func (n *Notices) to(m storage.NewMail, u storage.User, link *string, perHour int64) storage.NewMail {
	m.UserID, m.Link = &u.ID, link
	return n.limited(m, u.Email, perHour)
}

func (n *Notices) limited(m storage.NewMail, email string, perHour int64) storage.NewMail {
	m.Limit.Recipient = n.digest(m.Kind + " " + strings.ToLower(email))
	m.Limit.PerHour = perHour
	return m
}
