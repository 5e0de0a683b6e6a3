package limits

import (
	"net/http"
	"time"

	"mandate/provider/oauth"
	"mandate/provider/password"
	"mandate/provider/throttle"
)

// What is counted against guessing. Each kind has a memory of its own, so that a
// flood of one leaves the others as they are: names that nobody has do not take
// the place of addresses, nor addresses that of clients.
const (
	OfAccount = iota // a name, at the login page or at the token endpoint
	OfPair           // a name, and where it is tried from
	OfDevice         // a browser that is known, or a session
	OfClient         // a client that is known, and where its secret is tried from
	OfOwner          // all applications of an owner, or one of an administrator's
	OfAddress
)

// The account's own limit is wide: strangers who guess at it from many networks
// slow its logins for as long as they go on. A browser in which the person has
// signed in before is not subject to it, nor is an application that an
// administrator stands for.
var (
	PerPair    = throttle.Limit{Tries: 10, Refill: 10 * time.Second}
	PerAccount = throttle.Limit{Tries: 100, Refill: 5 * time.Second}
	PerOwner   = throttle.Limit{Tries: 100, Refill: time.Second}
	PerAddress = throttle.Limit{Tries: 100, Refill: time.Second}
)

// throttleSize is how many counters of each kind there are, beside an eighth of it
// for wide networks. A counter takes about 100 bytes, and there are six kinds: 35 MB
// when all are in use.
const Size = 50_000

// Limits protects passwords and client secrets from guessing: it counts tries, and
// bounds the slow hashes.
type Limits struct {
	*throttle.Throttle
	People   Hasher // for people at a page
	Programs Hasher // for requests by programs, which must not make people wait
}

// New makes limits. cost is that of a password hash; concurrency is how many hashes of
// each of the two hashers run at once, 0 for as many as the machine can take.
func New(cost password.Cost, concurrency int) *Limits {
	return &Limits{NewThrottle(Size), Hasher{password.New(cost, concurrency)}, Hasher{password.New(cost, concurrency)}}
}

func NewThrottle(most int) *throttle.Throttle {
	return throttle.New(most, PerAccount, PerPair, PerPair, PerPair, PerOwner, PerAddress)
}

func (l *Limits) Take(tries ...throttle.Try) (func(), error) {
	giveBack, wait := l.Throttle.Take(tries...)
	if wait > 0 {
		return nil, tooMany(wait)
	}
	return giveBack, nil
}

// refused looks without taking: right requests may come in any number at once.
func (l *Limits) Refused(tries ...throttle.Try) error {
	wait := l.Wait(tries...)
	if wait > 0 {
		return tooMany(wait)
	}
	return nil
}

func tooMany(wait time.Duration) *oauth.Error {
	return &oauth.Error{Status: http.StatusTooManyRequests, Code: "temporarily_unavailable",
		Description: "Too many failed attempts. Wait a little, then try again.", RetryAfter: int(wait/time.Second) + 1}
}

// Where a password is tried. Programs and the login page are counted apart:
// whoever guesses through one keeps nobody out of the other.
const (
	AtPage    = "page "
	AtProgram = "program "
)

// guessAt counts a guess at a name: from an address, at the name from there, and
// at the name.
func GuessAt(where, name, address string) []throttle.Try {
	from, wide := throttle.Network(address), throttle.WideNetwork(address)
	return []throttle.Try{
		{Kind: OfAddress, Key: where + from, Wide: where + wide},
		{Kind: OfPair, Key: where + name + " " + from, Wide: where + wide},
		{Kind: OfAccount, Key: where + name, Wide: where + wide},
	}
}
