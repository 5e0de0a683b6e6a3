package request

import (
	"context"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"mandate/provider/throttle"
)

// refusals limits the log lines about requests that strangers can cause: refused ones (4xx),
// and those about tokens that they invent. Each network has a
// limit, each site, and all networks together have one. Further requests are counted by network
// and status. The first request after the interval writes the counts to the log.
type refusals struct {
	summary string // the message of a line with a count

	left  atomic.Bool // some lines were not written
	mu    sync.Mutex
	until time.Time // the end of the interval
	lines int
	from  map[string]*networkRefusals
	sites map[string]*siteRefusals
}

// siteRefusals is what is counted of all networks of one customer.
type siteRefusals struct{ lines, networks int }

// networkRefusals counts the refused requests of one network.
type networkRefusals struct {
	lines int
	left  map[int]int // by status
}

const (
	refusalInterval = 10 * time.Second
	linesPerNetwork = 30
	linesPerSite    = 60
	networksPerSite = 8 // further networks of one site are counted under its name
	linesInAll      = 300
	networksCounted = 1000 // further networks are counted together
	networksLogged  = 20   // further networks share one log line per status
)

// otherNetworks is the name under which the log puts all further networks together.
const otherNetworks = "others"

// admit reports whether a request gets a log line of its own.
func (f *refusals) admit(address string, status int) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.from == nil {
		f.from, f.sites = map[string]*networkRefusals{}, map[string]*siteRefusals{}
	}
	network, name := throttle.Network(address), throttle.Site(address)
	site := f.sites[name]
	if site == nil && len(f.sites) >= networksCounted {
		name = otherNetworks
		site = f.sites[name]
	}
	if site == nil {
		site = &siteRefusals{}
		f.sites[name] = site
	}
	there := f.from[network]
	if there == nil && site.networks >= networksPerSite {
		network = name
		there = f.from[network]
	}
	if there == nil && len(f.from) >= networksCounted {
		network = otherNetworks
		there = f.from[network]
	}
	if there == nil {
		there = &networkRefusals{left: map[int]int{}}
		f.from[network] = there
		site.networks++
	}
	if there.lines < linesPerNetwork && site.lines < linesPerSite && f.lines < linesInAll {
		site.lines++
		there.lines++
		f.lines++
		return true
	}
	there.left[status]++
	f.left.Store(true)
	return false
}

// roll begins a new interval if the last one has ended. It writes the counts of that
// interval to the log.
func (f *refusals) roll(ctx context.Context, log *slog.Logger, concerned bool) {
	if !concerned && !f.left.Load() {
		return
	}
	at := time.Now()
	f.mu.Lock()
	if at.Before(f.until) {
		f.mu.Unlock()
		return
	}
	from := f.from
	f.from, f.sites, f.lines, f.until = nil, nil, 0, at.Add(refusalInterval)
	f.left.Store(false)
	f.mu.Unlock()
	f.logCounts(ctx, log, from)
}

// logCounts writes one line per network and status. The networks with the most
// requests come first; the rest is counted together.
func (f *refusals) logCounts(ctx context.Context, log *slog.Logger, from map[string]*networkRefusals) {
	sum := func(there *networkRefusals) int {
		n := 0
		for _, left := range there.left {
			n += left
		}
		return n
	}
	maps.DeleteFunc(from, func(_ string, there *networkRefusals) bool { return len(there.left) == 0 })
	most := slices.SortedFunc(maps.Keys(from), func(a, b string) int { return sum(from[b]) - sum(from[a]) })
	rest := &networkRefusals{left: map[int]int{}}
	for i, network := range most {
		if i < networksLogged && network != otherNetworks {
			f.logNetwork(ctx, log, network, from[network])
			continue
		}
		for status, n := range from[network].left {
			rest.left[status] += n
		}
	}
	f.logNetwork(ctx, log, otherNetworks, rest)
}

func (f *refusals) logNetwork(ctx context.Context, log *slog.Logger, network string, there *networkRefusals) {
	for _, status := range slices.Sorted(maps.Keys(there.left)) {
		log.LogAttrs(ctx, slog.LevelWarn, f.summary,
			slog.String("address", network), slog.Int("status", status), slog.Int("count", there.left[status]))
	}
}

// isRefusal reports whether the status is an error of the client. Such a request needs
// no line for the operator.
func isRefusal(status int) bool {
	return status >= http.StatusBadRequest && status < http.StatusInternalServerError
}
