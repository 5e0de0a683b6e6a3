// Package places limits how many addresses of others are read at one moment, and remembers which of them
// answer. Anybody can register an address that does not answer. Such addresses never take the places of those
// that do.
package places

import (
	"net/netip"
	"net/url"
	"strings"
	"time"

	"golang.org/x/net/publicsuffix"

	"mandate/provider/throttle"
)

// The limits.
const (
	Most    = 32   // places of addresses that work, and as many of the others
	PerHost = 8    // from one host: one that does not answer must not take all places
	PerWho  = 8    // for one who has registered addresses: they can have any number of hosts
	PerBoth = 6    // for one, from one host: they must not take all that others may read from it
	known   = 1000 // addresses that are remembered
)

// Distrust is how long an address that has failed has no place among those that work. It is so long that all
// addresses which are remembered, failing in turn, take few of these places.
const Distrust = 20 * time.Minute

// Slow is how long a read may take. An address that answers after a longer time, even if it always does, holds a place
// as long as one that fails, so it has none among those that work either.
const Slow = time.Second

// Places are the places for reading addresses of one kind. Its owner has the lock.
type Places struct {
	of    [2]taken // the second ones are those of addresses that work
	known map[string]*address
}

// taken counts the places that are taken.
type taken struct {
	all           int
	ofHost, ofWho map[string]int
	ofBoth        map[both]int
}

// both is one host, for one.
type both struct{ host, who string }

// address is one that was read at least once.
type address struct {
	who    string
	last   time.Time // when it was read, or should have been
	failed time.Time // when this has last failed, or was slow
}

// New makes the component.
func New() *Places {
	none := func() taken { return taken{0, map[string]int{}, map[string]int{}, map[both]int{}} }
	return &Places{of: [2]taken{none(), none()}, known: map[string]*address{}}
}

// Works reports whether an address was read, and has neither failed nor been slow of late. One success gives no lasting
// place: a host can answer once, and then no more.
func (p *Places) Works(at string) bool {
	one := p.known[at]
	return one != nil && time.Since(one.failed) >= Distrust
}

// Enter takes a place. who has registered the address; "" has no limit. It returns what gives the place back,
// or nil if there is none.
func (p *Places) Enter(at, who string) (leave func()) {
	of, host := &p.of[0], Host(at)
	if p.Works(at) {
		of = &p.of[1]
	}
	pair := both{host, who}
	if of.all == Most || of.ofHost[host] == PerHost ||
		who != "" && (of.ofWho[who] == PerWho || of.ofBoth[pair] == PerBoth) {
		return nil
	}
	of.all++
	of.ofHost[host]++
	of.ofWho[who]++
	of.ofBoth[pair]++
	return func() {
		of.all--
		release(of.ofHost, host)
		release(of.ofWho, who)
		release(of.ofBoth, pair)
	}
}

// TakenBy returns how many places one has.
func (p *Places) TakenBy(who string) int { return p.of[0].ofWho[who] + p.of[1].ofWho[who] }

// Taken returns how many places are taken.
func (p *Places) Taken() int { return p.of[0].all + p.of[1].all }

// Note notes whether an address could be read, and how long that took. One that never could in a short time is not
// remembered.
func (p *Places) Note(at, who string, read bool, took time.Duration) {
	read = read && took <= Slow
	one := p.known[at]
	switch {
	case one == nil && !read:
		return
	case one == nil:
		if len(p.known) >= known {
			delete(p.known, First(p.known, func(at string, one *address) Entry {
				return Entry{Who: one.who, Fails: !p.Works(at), Last: one.last}
			}))
		}
		one = &address{who: who}
		p.known[at] = one
	}
	one.last = time.Now()
	if !read {
		one.failed = one.last
	}
}

func release[K comparable](counts map[K]int, key K) {
	counts[key]--
	if counts[key] == 0 {
		delete(counts, key)
	}
}

// Host returns whose host an address names. The port is no part of it, because one host has 65,535 of them, and
// neither are the names below a domain that somebody has registered, because a wildcard gives any number of them.
// Likewise one customer has all addresses of an IPv6 /48.
func Host(at string) string {
	u, err := url.Parse(at)
	if err != nil {
		return at
	}
	host := strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
	ip, err := netip.ParseAddr(host)
	switch {
	case err != nil:
		domain, err := publicsuffix.EffectiveTLDPlusOne(host)
		if err != nil { // it is a public suffix itself, or no name of the internet
			return host
		}
		return domain
	case ip.Unmap().Is4():
		return throttle.Network(host)
	}
	return throttle.Site(host)
}

// Entry is what makes an entry of a bounded memory go before another one.
type Entry struct {
	Unread bool   // it was never read
	Who    string // who has registered it
	Fails  bool
	Last   time.Time // when it was last used
	Stays  bool      // it must not go now
}

// First returns the key of the entry that makes room for a new one, or "". Those that were never read go first,
// because anybody can register them. Then one of those who have the most goes, so that nobody displaces what others
// have: one that fails, and the oldest one of these.
func First[T any](all map[string]T, entry func(key string, one T) Entry) string {
	type candidate struct {
		Entry
		key string
	}
	of, candidates := map[string]int{}, make([]candidate, 0, len(all))
	for key, one := range all {
		e := entry(key, one)
		of[e.Who]++
		if !e.Stays {
			candidates = append(candidates, candidate{e, key})
		}
	}
	if len(candidates) == 0 {
		return ""
	}
	first := candidates[0]
	for _, next := range candidates[1:] {
		if next.before(first.Entry, of) {
			first = next
		}
	}
	return first.key
}

func (e Entry) before(other Entry, of map[string]int) bool {
	switch {
	case e.Unread != other.Unread:
		return e.Unread
	case of[e.Who] != of[other.Who]:
		return of[e.Who] > of[other.Who]
	case e.Fails != other.Fails:
		return e.Fails
	}
	return e.Last.Before(other.Last)
}
