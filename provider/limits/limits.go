// Package limits protects passwords and client secrets from guessing (RFC 6749 §2.3.1):
// it counts attempts, and limits the slow hashes that run at once.
package limits

import (
	"net/http"
	"time"

	"mandate/provider/oauth"
	"mandate/provider/password"
	"mandate/provider/throttle"
)

// Config is what an operator decides about the hashes of passwords.
type Config struct {
	password.Cost
	// Concurrency is the number of passwords that are hashed at the same time.
	//
	// It limits the memory that many simultaneous sign-ins use. 0 derives it from the cores, and from the memory limit
	// of the container or unit.
	Concurrency int `key:"PASSWORD_HASH_CONCURRENCY" default:"0" min:"0" max:"1024" subject:"People and sign-in" after:"PASSWORD_HASH_ITERATIONS"`
}

// The kinds of counters against guessing. Each kind has a memory of its own, so that a
// flood of new keys of one kind does not displace the counters of another. For example,
// unknown usernames do not displace addresses.
const (
	OfAccount        = iota // a username, at the login page or at the token endpoint
	OfPair                  // a username, together with a network
	OfBrowser               // a browser in which the person has signed in before
	OfPasswordChange        // a session in which somebody types the present password
	OfUserCode              // a session in which somebody types user codes of devices, and all of a person
	OfClient                // a registered client, together with a network
	OfOwner                 // all applications of one person, or one application of an administrator
	OfAddress               // a network, at each of the places below
	OfRegistration          // applications that are registered by a request, from one network
	OfDeviceRequest         // requests of devices, from one network
	OfPushedRequest         // pushed authorization requests, from one network
	// assertions of applications for which nobody is responsible, and signed responses to nobody, from one network
	OfAssertion
	OfFactor    // a person who has typed the right password, and types a code
	OfMessage   // requests for a message, such as one with a link for a new password, from one network
	OfMessageTo // the same, for one name or address
	OfSecret    // a registered client, from all networks in which it has not authenticated before
	// forms of a session, and all of a person; what a person does, or an application about itself, if each is an event
	OfOwnChange
	// likewise OfFactor, in one session, or in one browser in which the person has signed in before
	OfKnownFactor
)

// Of returns the limit of a kind of counters.
func Of(kind int) throttle.Limit {
	switch kind {
	case OfAccount:
		// It is high. While strangers guess the password from many networks, logins to
		// the account are slow. The limit does not apply to a browser in which the
		// person has signed in before, nor to a confidential application that the operator
		// is responsible for.
		return throttle.Limit{Tries: 100, Refill: 5 * time.Second}
	case OfSecret:
		// While strangers guess the secret from many networks, new networks of the client wait.
		return throttle.Limit{Tries: 100, Refill: 2 * time.Second}
	case OfMessageTo:
		return throttle.Limit{Tries: 5, Refill: 5 * time.Minute, Site: 2, SiteRefill: 5 * time.Minute}
	case OfRegistration:
		// Each is a row for weeks, so one customer has the tries of one network.
		return throttle.Limit{Tries: 60, Refill: 30 * time.Second, Site: 1}
	case OfMessage:
		return throttle.Limit{Tries: 60, Refill: 30 * time.Second}
	case OfAssertion:
		// Each is a row for up to eleven minutes. A website with such an application may refresh the
		// tokens of many people.
		return throttle.Limit{Tries: 300, Refill: 200 * time.Millisecond}
	case OfFactor:
		// A code has six digits, and three codes are valid at a time. Whoever knows the password
		// finds one in a year with a probability of 27 %: 1-exp(-288*365*3/10^6).
		return throttle.Limit{Tries: 10, Refill: 5 * time.Minute}
	case OfKnownFactor:
		// All sessions of a person have the tries of four, and so have all browsers. Whoever has a copy of one leaves
		// the others theirs. With all of them and the password, it is 61 %: 1-exp(-3*288*365*3/10^6).
		return throttle.Limit{Tries: 10, Refill: 20 * time.Minute, Site: 4, SiteRefill: 5 * time.Minute}
	case OfOwnChange:
		// Each may store an event, which is kept for months.
		return throttle.Limit{Tries: 1000, Refill: 10 * time.Second}
	case OfOwner, OfAddress, OfDeviceRequest, OfPushedRequest:
		return throttle.Limit{Tries: 100, Refill: time.Second}
	}
	// One site alone never uses up the tries of an account, or of a client: its own come back more
	// slowly.
	return throttle.Limit{Tries: 10, Refill: 10 * time.Second, Site: 2, SiteRefill: 10 * time.Second}
}

// Size is the number of counters of each kind. Each kind has another quarter of it for sites, and
// an eighth of both for wide networks. A counter takes about 100 bytes, and there are eighteen kinds:
// 124 MB if all are in use.
const Size = 50_000

// Limits protects passwords and client secrets from guessing: it counts attempts, and
// limits the slow hashes.
type Limits struct {
	Tries    *throttle.Throttle // one kind of counter for each constant above
	People   Hasher             // for pages
	Programs Hasher             // for requests by programs, so that people do not wait behind them
}

// New makes the limits. cost is the cost of a password hash. concurrency is how many
// hashes each of the two hashers runs at once; 0 derives it from the processors.
func New(cost password.Cost, concurrency int) *Limits {
	return &Limits{NewThrottle(Size), Hasher{password.New(cost, concurrency)}, Hasher{password.New(cost, concurrency)}}
}

// NewThrottle makes the throttle with one kind of counter for each constant above, and
// room for most counters of each kind.
func NewThrottle(most int) *throttle.Throttle {
	return throttle.New(most, Of(OfAccount), Of(OfPair), Of(OfBrowser), Of(OfPasswordChange), Of(OfUserCode), Of(OfClient),
		Of(OfOwner), Of(OfAddress), Of(OfRegistration), Of(OfDeviceRequest), Of(OfPushedRequest), Of(OfAssertion),
		Of(OfFactor), Of(OfMessage), Of(OfMessageTo), Of(OfSecret), Of(OfOwnChange), Of(OfKnownFactor))
}

// Take uses a try of each counter. It returns a function that gives the tries back, or
// an Error with status 429 if one of the counters is exhausted.
func (l *Limits) Take(tries ...throttle.Try) (func(), error) {
	giveBack, wait := l.Tries.Take(tries...)
	if wait > 0 {
		return nil, tooMany(wait)
	}
	return giveBack, nil
}

// Request is Take for requests of which none needs to have failed: its Error speaks of requests.
func (l *Limits) Request(tries ...throttle.Try) (func(), error) {
	giveBack, wait := l.Tries.Take(tries...)
	if wait <= 0 {
		return giveBack, nil
	}
	minutes := int((wait + time.Minute - 1) / time.Minute)
	if minutes <= 1 {
		return nil, oauth.Later(http.StatusTooManyRequests, wait, "Too many requests. Try again in a minute.")
	}
	e := oauth.ForPerson(http.StatusTooManyRequests, "temporarily_unavailable", "",
		"Too many requests. Try again in %d minutes.", minutes)
	e.RetryAfter = oauth.Later(e.Status, wait, "").RetryAfter
	return nil, e
}

// CheckOnly returns an Error with status 429 if one of the counters is exhausted, and
// uses no try: any number of correct requests may come at once.
func (l *Limits) CheckOnly(tries ...throttle.Try) error {
	wait := l.Tries.Wait(tries...)
	if wait > 0 {
		return tooMany(wait)
	}
	return nil
}

func tooMany(wait time.Duration) *oauth.Error {
	return oauth.Later(http.StatusTooManyRequests, wait, "Too many failed attempts. Wait a little, then try again.")
}

// What a network does is counted apart for each place, so that a flood at one of them does
// not use up the tries at another.
const (
	AtPage          = "page "      // passwords, at the login page
	AtProgram       = "program "   // passwords, at the token endpoint
	AtAccount       = "account "   // passwords at the login page, by the account and not by the name that was typed
	AtUnknownClient = "client "    // client ids that do not exist
	AtUserCode      = "user code " // wrong user codes, by everybody in the network
	AtObject        = "object "    // request objects with a wrong signature
	AtFactor        = "factor "    // codes of second factors
	AtPasskey       = "passkey "   // responses of authenticators, at the login page
	// client certificates that no authority of this server has issued, apart for each client
	AtCertificate = "certificate "
	AtServer      = "server "  // responses of other servers, at which people sign in
	AtSignUp      = "sign-up " // forms of people who make an account
)

// At returns the try of a network at one of these places.
func At(where, address string) throttle.Try {
	return throttle.From(OfAddress, where, address)
}

// GuessAt returns the tries that one guess at a username uses: one of the address, one
// of the name together with the address, and one of the name.
func GuessAt(where, name, address string) []throttle.Try {
	return append([]throttle.Try{At(where, address)}, guessAtName(where, name, address)...)
}

// GuessAtAccount returns the tries that one guess uses of the account that the typed name leads to. Nobody may
// see that they are used up: they say which names lead to one account.
func GuessAtAccount(key, address string) []throttle.Try { return guessAtName(AtAccount, key, address) }

func guessAtName(where, name, address string) []throttle.Try {
	pair := throttle.From(OfPair, where+name+" ", address)
	pair.Wide = where + throttle.WideNetwork(address) // a flood of names
	return []throttle.Try{pair, OfAccountAt(where, name, address)}
}

// MessageTo returns the tries of one request for a message: one of the address, and one of the
// recipient together with the address. what is the kind of the message.
func MessageTo(what, recipient, address string) []throttle.Try {
	to := throttle.From(OfMessageTo, what+recipient+" ", address)
	to.Wide = what + throttle.WideNetwork(address)
	return []throttle.Try{throttle.From(OfMessage, what, address), to}
}

// PasswordChange returns the tries that one guess at the present password uses: one of the cookie of a session, which
// somebody else may have a copy of, and one of the person. Another sign-in in the same browser keeps the session, and
// changes the cookie. One session alone never uses up those of the person: its own come back more slowly.
func PasswordChange(cookie, person string) []throttle.Try {
	return []throttle.Try{{Kind: OfPasswordChange, Key: cookie, Wide: person},
		{Kind: OfAccount, Key: "password change " + person, Wide: person}}
}

// OfAccountAt returns the try of a username, from whatever network.
func OfAccountAt(where, name, address string) throttle.Try {
	return throttle.Try{Kind: OfAccount, Key: where + name, Wide: where + throttle.WideNetwork(address)}
}
