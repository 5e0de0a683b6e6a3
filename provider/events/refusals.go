package events

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"mandate/provider/bell"
	"mandate/provider/oauth"
	"mandate/provider/throttle"
	"mandate/storage"
)

const (
	// storeRefusals is the pause between two transactions that store refusals. The first refusal after a pause is stored
	// at once.
	storeRefusals = 5 * time.Second
	refusalBatch  = 500 // rows of one transaction

	// Rows of one day. Each share of one application has mostRefusals, and one more for all others. The rest limits what
	// one node stores for an application that has authenticated, and for all of them; and for strangers, and for people
	// who have signed in: for one of their sites or one person and one application, for one site or one person, and
	// for all.
	mostRefusals     = 50
	mostOfItself     = 2 * mostRefusals // the second half is counted in the row for all others
	mostOfSite       = 10
	mostOfSiteInAll  = 40
	mostOfStrangers  = 5_000
	mostOfClients    = 20_000 // of applications that have authenticated
	refusalsShown    = 7      // days
	refusalDay       = 24 * 60 * 60
	maxRefusalDetail = 300 // bytes
)

// otherRefusals is the detail of the row that counts the refusals for which an application has no rows left.
const otherRefusals = "other"

// Sender says what is known about the sender of a request.
type Sender string

// The senders. Each has a share of its own of the rows of an application.
const (
	Itself Sender = "application" // the application has authenticated
	// the browser of somebody who has signed in, perhaps with an account of their own making
	SignedIn Sender = "person"
	Stranger Sender = "unknown"
)

// senders lists them, those who have proved more first, with the shares in the IDs of their rows.
var senders = [...]struct {
	Sender
	share string
}{{Itself, "p"}, {SignedIn, "u"}, {Stranger, "s"}}

// Refused says which request was refused.
type Refused struct {
	Endpoint string
	// the one that has authenticated, or that the request names; nil or without an ID: none that is stored
	Application *storage.Application
	Proved      bool   // the application has authenticated
	PersonID    string // of whoever has signed in
	Address     string
}

// sender returns who has sent the request.
func (r Refused) sender() Sender {
	switch {
	case r.Proved:
		return Itself
	case r.PersonID != "":
		return SignedIn
	}
	return Stranger
}

// Refusal is what is known about equal refusals.
type Refusal struct {
	Endpoint, Error, Description string // Endpoint is "other", and the rest empty, for those that were not kept apart
	Sender                       Sender
	Times, Since, At             int64
}

// counted names what is counted together.
type counted struct {
	day                  int64 // its first second
	applicationID        string
	endpoint, code, text string
	sender               Sender
}

// tally is how often it has happened since it was stored.
type tally struct {
	of              Object
	times           int64
	firstAt, lastAt int64
}

// Refusals counts refused requests in memory, and stores the numbers together, so that a refused request has no
// statement of its own.
//
// Anybody can have requests refused, as often as they like. So what is counted together is a text of this program, an
// endpoint, an application and a day, and never a text of the sender, and the number of rows is limited: nobody
// displaces the rows of senders who have proved more, and one site or one person alone does not displace those of
// others.
type Refusals struct {
	store *storage.Store
	log   *slog.Logger
	wake  bell.Bell

	mu      sync.Mutex
	waiting map[counted]*tally
	day     int64
	known   map[counted]bool // have a row of this day
	causes  map[string]int   // rows of this day, by what limitsOf names
	numbers map[Sender]int   // rows of this day
}

// NewRefusals makes the component.
func NewRefusals(store *storage.Store, log *slog.Logger) *Refusals {
	return &Refusals{store: store, log: log, wake: bell.New(), waiting: map[counted]*tally{}}
}

// uncounted are the codes of responses that a client gets in the usual course of a flow: it asks again.
var uncounted = [...]string{"authorization_pending", "login_required", "use_dpop_nonce"}

// Count counts a refusal. It runs no statement, and waits for nobody.
func (r *Refusals) Count(of Refused, e *oauth.Error) {
	if e.Status >= http.StatusInternalServerError || slices.Contains(uncounted[:], e.Code) {
		return
	}
	now := oauth.Now()
	key := counted{day: now - now%refusalDay, endpoint: of.Endpoint, code: e.Code}
	object := Object{}
	if a := of.Application; a != nil && a.ID != "" {
		key.applicationID, key.sender, key.text = a.ID, of.sender(), oauth.Clip(e.Fixed(), maxRefusalDetail)
		object = Application(*a)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.admit(key, of) {
		return
	}
	t := r.waiting[key]
	if t == nil {
		t = &tally{of: object, firstAt: now}
		r.waiting[key] = t
	}
	t.times++
	t.lastAt = now
	r.wake.Ring()
}

// admit reports whether there is a row for a refusal, or room for one.
func (r *Refusals) admit(key counted, of Refused) bool {
	if key.day != r.day {
		r.day, r.known, r.causes, r.numbers = key.day, map[counted]bool{}, map[string]int{}, map[Sender]int{}
	}
	if r.known[key] {
		return true
	}
	most := mostOfClients
	if key.sender == SignedIn || key.sender == Stranger { // without an application, there are few codes
		most = mostOfStrangers
	}
	limits := limitsOf(key, of)
	reached := func(l limit) bool { return r.causes[l.cause] >= l.most }
	if r.numbers[key.sender] >= most || slices.ContainsFunc(limits, reached) {
		return false
	}
	for _, l := range limits {
		r.causes[l.cause]++
	}
	r.numbers[key.sender]++
	r.known[key] = true
	return true
}

// limit is how many rows one cause has.
type limit struct {
	cause string
	most  int
}

// limitsOf returns the limits for a row: of the application, of the site, and of the person, in whatever network.
func limitsOf(key counted, of Refused) []limit {
	by := func(cause string) []limit {
		return []limit{{cause, mostOfSiteInAll}, {cause + " " + key.applicationID, mostOfSite}}
	}
	site := string(key.sender) + " " + throttle.Site(of.Address)
	switch key.sender {
	case Itself:
		return []limit{{"itself " + key.applicationID, mostOfItself}}
	case SignedIn:
		return append(by(site), by(of.PersonID)...)
	case Stranger:
		return by(site)
	}
	return nil
}

// Run stores refusals until ctx ends.
func (r *Refusals) Run(ctx context.Context) {
	failed := false // and the log says so
	for {
		select {
		case <-ctx.Done():
		case <-r.wake:
		}
		final, stop := context.WithTimeout(context.WithoutCancel(ctx), storeRefusals)
		err := r.Store(final)
		stop()
		if err != nil && !failed {
			r.log.Warn("refused requests could not be stored in the event log; they are stored later", "error", err)
		}
		failed = err != nil
		if ctx.Err() != nil {
			return
		}
		select {
		case <-ctx.Done():
		case <-time.After(storeRefusals):
		}
	}
}

// Store stores the refusals that wait. After an error the next call stores them.
func (r *Refusals) Store(ctx context.Context) error {
	for {
		taken := r.take()
		if len(taken) == 0 {
			return nil
		}
		rows := make([]storage.CountedRefusal, 0, len(taken))
		for key, t := range taken {
			rows = append(rows, t.row(ctx, key))
		}
		// The same order on every node, so that two of them seldom wait for each other. The row for all others of a
		// full share is out of this order: then the database ends one of the two transactions, and it is tried again.
		slices.SortFunc(rows, func(a, b storage.CountedRefusal) int { return strings.Compare(a.ID, b.ID) })
		err := r.store.CountRefusals(ctx, rows, mostRefusals)
		if err != nil {
			r.giveBack(taken)
			return oauth.Unavailable(err)
		}
	}
}

// take removes at most refusalBatch tallies and returns them.
func (r *Refusals) take() map[counted]*tally {
	r.mu.Lock()
	defer r.mu.Unlock()
	taken := map[counted]*tally{}
	for key, t := range r.waiting {
		if len(taken) == refusalBatch {
			break
		}
		taken[key] = t
		delete(r.waiting, key)
	}
	return taken
}

// giveBack adds tallies that were not stored, as far as they are of this day: a database that fails for days makes no
// memory grow.
func (r *Refusals) giveBack(taken map[counted]*tally) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for key, t := range taken {
		now := r.waiting[key]
		switch {
		case key.day != r.day:
		case now == nil:
			r.waiting[key] = t
		default:
			now.times, now.firstAt = now.times+t.times, min(now.firstAt, t.firstAt)
		}
	}
	r.wake.Ring()
}

// row returns the row in which a tally is counted.
func (t *tally) row(ctx context.Context, key counted) storage.CountedRefusal {
	by, detail := Nobody(), key.endpoint+" "+key.code
	if key.sender == Itself {
		by = ByApplication(storage.Application{ClientID: t.of.ID, Name: t.of.Name})
	}
	if key.text != "" {
		detail += ": " + key.text
	}
	e := rowAt(ctx, Event{Kind: RequestRefused, By: by, Object: t.of, Detail: detail}, time.Unix(t.lastAt, 0))
	// Many requests are one row, so it has the address of none.
	e.Since, e.Times, e.Address, e.UserAgent = t.firstAt, t.times, "", ""
	of := refusalsOf(key.applicationID, key.sender) + idAt(time.Unix(key.day, 0))
	e.ID = of + shortHex(detail)
	return storage.CountedRefusal{Event: e, Prefix: of, RestID: of + shortHex(otherRefusals), RestDetail: otherRefusals}
}

// refusalsOf returns the beginning of the IDs of the refusals of one share of an application. The day follows, so one
// range of the primary key has the last days.
func refusalsOf(applicationID string, sender Sender) string {
	share := "s" // without an application, too
	for _, one := range senders {
		if one.Sender == sender {
			share = one.share
		}
	}
	return "r" + share + shortHex(applicationID)
}

func shortHex(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:8])
}

// Of returns the refusals of the last seven days about an application, the newest first: those of the application
// itself, then those of people who had signed in, then those of strangers.
func (r *Refusals) Of(ctx context.Context, a storage.Application) ([]Refusal, error) {
	err := r.Store(ctx) // those of this node
	if err != nil {
		return nil, err
	}
	now := oauth.Now()
	first := idAt(time.Unix(now-now%refusalDay-(refusalsShown-1)*refusalDay, 0))
	var all []Refusal
	for _, one := range senders {
		of := refusalsOf(a.ID, one.Sender)
		rows, err := r.store.EventsFrom(ctx, of, of+first, refusalsShown*(mostRefusals+1))
		if err != nil {
			return nil, oauth.Unavailable(err)
		}
		all = append(all, grouped(rows, one.Sender)...)
	}
	return all, nil
}

// grouped adds up the rows of several days, the newest first.
func grouped(rows []storage.Event, sender Sender) []Refusal {
	var found []Refusal
	at := map[string]int{}
	for _, e := range rows {
		i, known := at[e.Detail]
		if !known {
			at[e.Detail] = len(found)
			endpoint, rest, _ := strings.Cut(e.Detail, " ")
			code, text, _ := strings.Cut(rest, ": ")
			found = append(found, Refusal{endpoint, code, text, sender, e.Times, e.Since, e.At})
			continue
		}
		found[i].Times += e.Times
		found[i].Since, found[i].At = min(found[i].Since, e.Since), max(found[i].At, e.At)
	}
	slices.SortStableFunc(found, func(a, b Refusal) int { return cmp.Compare(b.At, a.At) })
	return found
}
