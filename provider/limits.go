package provider

import (
	"mandate/provider/oauth"
	"mandate/provider/throttle"
	"net/http"
	"time"
)

// What is counted against guessing. Each kind has a memory of its own, so that a
// flood of one leaves the others as they are: names that nobody has do not take
// the place of addresses, nor addresses that of clients.
const (
	ofAccount = iota // a name, at the login page or at the token endpoint
	ofPair           // a name, and where it is tried from
	ofDevice         // a browser that is known, or a session
	ofClient         // a client that is known, and where its secret is tried from
	ofOwner          // all applications of an owner, or one of an administrator's
	ofAddress
)

// The account's own limit is wide: strangers who guess at it from many networks
// slow its logins for as long as they go on. A browser in which the person has
// signed in before is not subject to it, nor is an application that an
// administrator stands for.
var (
	perPair    = throttle.Limit{Tries: 10, Refill: 10 * time.Second}
	perAccount = throttle.Limit{Tries: 100, Refill: 5 * time.Second}
	perOwner   = throttle.Limit{Tries: 100, Refill: time.Second}
	perAddress = throttle.Limit{Tries: 100, Refill: time.Second}
)

// throttleSize is how many counters of each kind there are, beside an eighth of it
// for wide networks. A counter takes about 100 bytes, and there are six kinds: 35 MB
// when all are in use.
const throttleSize = 50_000

func newLimits(most int) *throttle.Throttle {
	return throttle.New(most, perAccount, perPair, perPair, perPair, perOwner, perAddress)
}

func (p *Provider) take(tries ...throttle.Try) (func(), error) {
	giveBack, wait := p.throttle.Take(tries...)
	if wait > 0 {
		return nil, tooMany(wait)
	}
	return giveBack, nil
}

// refused looks without taking: right requests may come in any number at once.
func (p *Provider) refused(tries ...throttle.Try) error {
	wait := p.throttle.Wait(tries...)
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
	atPage    = "page "
	atProgram = "program "
)

// guessAt counts a guess at a name: from an address, at the name from there, and
// at the name.
func guessAt(where, name, address string) []throttle.Try {
	from, wide := throttle.Network(address), throttle.WideNetwork(address)
	return []throttle.Try{
		{Kind: ofAddress, Key: where + from, Wide: where + wide},
		{Kind: ofPair, Key: where + name + " " + from, Wide: where + wide},
		{Kind: ofAccount, Key: where + name, Wide: where + wide},
	}
}
