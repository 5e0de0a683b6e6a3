package handlers

import (
	"context"
	"log/slog"
	"mandate/provider/throttle"
	"maps"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// refusals bounds what a flood writes into the log. Of the requests that are
// refused (4xx) so many have a line of their own: for each network, and in all.
// The others are counted by network and status, and the first request after the
// interval writes the counts.
type refusals struct {
	left  atomic.Bool // lines were left out
	mu    sync.Mutex
	until time.Time // when the interval is over
	lines int
	from  map[string]*refusedThere
}

// refusedThere is what was refused to one network.
type refusedThere struct {
	lines int
	left  map[int]int // by status
}

const (
	refusalInterval = 10 * time.Second
	linesPerNetwork = 30
	linesInAll      = 300
	networksCounted = 1000 // the others are counted together
	networksTold    = 20   // the others are told of together
)

// otherNetworks stands for those that are not counted or told of one by one.
const otherNetworks = "others"

// admit says whether a refused request has a line of its own.
func (f *refusals) admit(address string, status int) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.from == nil {
		f.from = map[string]*refusedThere{}
	}
	network := throttle.Network(address)
	there := f.from[network]
	if there == nil && len(f.from) >= networksCounted {
		network = otherNetworks
		there = f.from[network]
	}
	if there == nil {
		there = &refusedThere{left: map[int]int{}}
		f.from[network] = there
	}
	if there.lines < linesPerNetwork && f.lines < linesInAll {
		there.lines++
		f.lines++
		return true
	}
	there.left[status]++
	f.left.Store(true)
	return false
}

// roll begins a new interval where one is over, and writes what was left out.
func (f *refusals) roll(ctx context.Context, log *slog.Logger, refused bool) {
	if !refused && !f.left.Load() {
		return
	}
	at := time.Now()
	f.mu.Lock()
	if at.Before(f.until) {
		f.mu.Unlock()
		return
	}
	from := f.from
	f.from, f.lines, f.until = nil, 0, at.Add(refusalInterval)
	f.left.Store(false)
	f.mu.Unlock()
	tell(ctx, log, from)
}

func tell(ctx context.Context, log *slog.Logger, from map[string]*refusedThere) {
	sum := func(there *refusedThere) int {
		n := 0
		for _, left := range there.left {
			n += left
		}
		return n
	}
	maps.DeleteFunc(from, func(_ string, there *refusedThere) bool { return len(there.left) == 0 })
	most := slices.SortedFunc(maps.Keys(from), func(a, b string) int { return sum(from[b]) - sum(from[a]) })
	rest := &refusedThere{left: map[int]int{}}
	for i, network := range most {
		if i < networksTold && network != otherNetworks {
			tellOne(ctx, log, network, from[network])
			continue
		}
		for status, n := range from[network].left {
			rest.left[status] += n
		}
	}
	tellOne(ctx, log, otherNetworks, rest)
}

func tellOne(ctx context.Context, log *slog.Logger, network string, there *refusedThere) {
	for _, status := range slices.Sorted(maps.Keys(there.left)) {
		log.LogAttrs(ctx, slog.LevelWarn, "requests were refused and left out of the log",
			slog.String("address", network), slog.Int("status", status), slog.Int("count", there.left[status]))
	}
}

// isRefusal: the client's fault, and nothing of the server's that a line is needed for.
func isRefusal(status int) bool {
	return status >= http.StatusBadRequest && status < http.StatusInternalServerError
}
