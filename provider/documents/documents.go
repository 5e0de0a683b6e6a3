// Package documents fetches what clients publish, such as their metadata documents
// (draft-ietf-oauth-client-id-metadata-document-02, which the comments call CIMD-02) and
// their logos, and keeps it for a while. It decides when to fetch and how long to keep; a
// Kind says what is valid.
package documents

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"mandate/provider/oauth"
	"mandate/provider/outbound"
	"mandate/provider/places"
	"mandate/provider/recovered"
	"mandate/provider/throttle"
)

// maxWaiters is how many requests may wait for one fetch.
const maxWaiters = 500

// The kinds of counters. Anybody can invent URLs in the name of a host, so nobody's fetches use up tries that others
// have there: the places bound what all together read from one host.
const (
	ofAsking = iota // the network of a request for a document that nobody has approved
	ofHost          // the host of such a document, for the site of the network
	ofURL           // a document of a client that somebody has approved
)

func newThrottle() *throttle.Throttle {
	return throttle.New(10_000,
		throttle.Limit{Tries: 100, Refill: time.Second},
		throttle.Limit{Tries: 300, Refill: time.Second / 3},
		throttle.Limit{Tries: 10, Refill: time.Second})
}

// Kind is what is fetched.
type Kind[T any] struct {
	Name     string // in the plural, for messages
	Accept   string // the media types
	MaxBytes int    // how much of a document is read
	MaxKept  int    // how many documents are kept
	// Read checks the document at a URL and returns what it says.
	Read func(url string, document outbound.Document) (T, error)
	// Explain returns what Get returns if the document at a URL could not be fetched, or if
	// Read returned an error.
	Explain func(url string, err error) error
	// Longest is how long a document is kept at most. 0: as long as any.
	Longest time.Duration
	// KeepErrors is how long such an error answers the next requests. 0: each of them fetches.
	KeepErrors time.Duration
}

// Documents keeps the documents of one kind. Each node has its own.
type Documents[T any] struct {
	kind  Kind[T]
	out   *outbound.Client
	log   *slog.Logger
	tries *throttle.Throttle

	mu      sync.Mutex
	kept    map[string]*document[T]
	fetches map[string]*fetch[T]
	// Strangers can invent URLs, so the URLs of clients that somebody has approved have places of their own.
	invented, approved *places.Places

	hits, fetched, failed, refused atomic.Int64
}

// document is a valid document, or the error of one that is not.
type document[T any] struct {
	value    T
	err      error
	began    time.Time // its fetch
	took     time.Duration
	until    time.Time
	approved bool
}

// fetch is a request that has not ended.
type fetch[T any] struct {
	done    chan struct{}
	waiters int
	value   T
	err     error
}

// New makes the component.
func New[T any](out *outbound.Client, kind Kind[T], log *slog.Logger) *Documents[T] {
	return &Documents[T]{kind: kind, out: out, log: log, tries: newThrottle(), kept: map[string]*document[T]{},
		fetches:  map[string]*fetch[T]{},
		invented: places.New(), approved: places.New()}
}

// Asked is a request for a document.
type Asked struct {
	URL      *url.URL
	ID       string // the URL as the client spells it
	Address  string // of whoever asks
	Approved bool   // whether somebody has approved the client before
	For      string // who has registered the URL of such a client; "": somebody who has no limit
	// Since asks for a document whose fetch began at this time or later.
	Since time.Time
}

// Get returns what the document at a URL says. Its error is that of Kind.Explain, that of
// ctx, or an *oauth.Error with the status 429.
func (d *Documents[T]) Get(ctx context.Context, a Asked) (T, error) {
	value, f, err := d.find(a)
	if f == nil {
		return value, err
	}
	select {
	case <-f.done:
		return f.value, f.err
	case <-ctx.Done():
		return value, ctx.Err()
	}
}

// Kept returns what the document at a URL says, if it is kept. It fetches nothing.
func (d *Documents[T]) Kept(id string) (value T, kept bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if known := d.kept[id]; known != nil && known.err == nil && time.Now().Before(known.until) {
		return known.value, true
	}
	return value, false
}

// find returns the document, the fetch to wait for, or an error.
func (d *Documents[T]) find(a Asked) (T, *fetch[T], error) {
	var none T
	d.mu.Lock()
	defer d.mu.Unlock()
	if known := d.kept[a.ID]; known != nil && time.Now().Before(known.until) && !known.began.Before(a.Since) {
		if a.Approved && !known.approved {
			known.approved = true
			d.approved.Note(a.ID, a.For, known.err == nil, known.took)
		}
		d.hits.Add(1)
		return known.value, nil, known.err
	}
	f := d.fetches[a.ID]
	if f == nil {
		var err error
		f, err = d.begin(a)
		if err != nil {
			d.refused.Add(1)
			return none, nil, err
		}
	}
	if f.waiters == maxWaiters {
		d.refused.Add(1)
		return none, nil, d.busy()
	}
	f.waiters++
	return none, f, nil
}

// begin starts a fetch, which does not end with the request that caused it: others may wait
// for it too.
func (d *Documents[T]) begin(a Asked) (*fetch[T], error) {
	of, who, tries := d.invented, throttle.Site(a.Address), []throttle.Try{throttle.From(ofAsking, "", a.Address)}
	if a.Approved {
		of, who, tries = d.approved, a.For, []throttle.Try{{Kind: ofURL, Key: a.ID}}
	}
	// A host that does not answer must not take the places of the others, whoever has approved
	// its clients.
	leave := of.Enter(a.ID, who)
	if leave == nil {
		return nil, d.busy()
	}
	giveBack, wait := d.takeTries(a, who, tries)
	if wait > 0 {
		leave()
		return nil, oauth.Later(http.StatusTooManyRequests, wait, "Too many "+d.kind.Name+" were requested. Wait a little, "+
			"then try again.")
	}
	f := &fetch[T]{done: make(chan struct{})}
	d.fetches[a.ID] = f
	go func() {
		began := time.Now()
		value, until, answered, err := d.fetch(a.ID)
		took := time.Since(began)
		d.mu.Lock()
		defer d.mu.Unlock()
		delete(d.fetches, a.ID)
		leave()
		of.Note(a.ID, who, err == nil, took)
		if answered && took <= places.Slow {
			giveBack()
		}
		if err == nil || d.kind.KeepErrors > 0 {
			d.keep(a.ID, &document[T]{value, err, began, took, until, a.Approved})
		}
		f.value, f.err = value, err
		close(f.done)
	}()
	return f, nil
}

// takeTries takes the tries of a fetch. It returns what gives that of the host back: a host that answers at once costs
// little, and hardly anybody could ask for so many of its documents.
func (d *Documents[T]) takeTries(a Asked, site string, tries []throttle.Try) (giveBack func(), wait time.Duration) {
	undo, wait := d.tries.Take(tries...)
	if a.Approved || wait > 0 {
		return func() {}, wait
	}
	giveBack, wait = d.tries.Take(throttle.Try{Kind: ofHost, Key: places.Host(a.ID) + " " + site,
		Wide: throttle.WideNetwork(a.Address)})
	if wait > 0 {
		undo()
	}
	return giveBack, wait
}

// busy returns the error for a request that would need one fetch too many. It is no 5xx,
// because strangers can cause it.
func (d *Documents[T]) busy() *oauth.Error {
	return oauth.Later(http.StatusTooManyRequests, 5*time.Second, "The server is reading as many "+d.kind.Name+
		" as it may. Try again in a moment.")
}

// fetch reads and checks a document. It returns until when the document, or the error, may
// be kept, and whether the host has answered at all.
func (d *Documents[T]) fetch(id string) (value T, until time.Time, answered bool, err error) {
	began := time.Now()
	var told outbound.Document
	err = recovered.Do(d.log, "read one of the "+d.kind.Name+", "+id, func() error {
		told, err = d.out.Get(context.Background(), id, d.kind.Accept, d.kind.MaxBytes)
		_, refused := errors.AsType[*outbound.StatusError](err)
		answered = err == nil || refused
		if err == nil {
			value, err = d.kind.Read(id, told)
		}
		return err
	})
	if err != nil {
		d.failed.Add(1)
		return value, time.Now().Add(d.kind.KeepErrors), answered, d.kind.Explain(id, err)
	}
	d.fetched.Add(1)
	kept := lifetime(told.Header)
	if d.kind.Longest > 0 {
		kept = min(kept, d.kind.Longest)
	}
	return value, began.Add(kept), true, nil
}

// keep stores a document. If there is no room, it removes one that has expired, or one of a
// client that nobody has approved, or any.
func (d *Documents[T]) keep(id string, one *document[T]) {
	if _, again := d.kept[id]; !again && len(d.kept) >= d.kind.MaxKept {
		d.makeRoom()
	}
	d.kept[id] = one
}

func (d *Documents[T]) makeRoom() {
	now, looked, victim := time.Now(), 0, ""
	for id, one := range d.kept {
		if now.After(one.until) {
			victim = id
			break
		}
		if victim == "" || d.kept[victim].approved && !one.approved {
			victim = id
		}
		if looked++; looked == 64 {
			break
		}
	}
	delete(d.kept, victim)
}

// Drop removes the documents that have expired.
func (d *Documents[T]) Drop() {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := time.Now()
	for id, one := range d.kept {
		if now.After(one.until) {
			delete(d.kept, id)
		}
	}
	if len(d.kept) == 0 {
		d.kept = map[string]*document[T]{} // a map never shrinks
	}
}

// Stats returns how many requests a document answered that was kept, how many it did not, and
// how many documents are kept.
func (d *Documents[T]) Stats() (hits, misses int64, entries int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.hits.Load(), d.fetched.Load() + d.failed.Load(), len(d.kept)
}

// Counts returns how many documents were fetched, how many of the fetches gave no usable
// document, and how many requests were refused because of a limit.
func (d *Documents[T]) Counts() (fetched, unusable, refused int64) {
	return d.fetched.Load(), d.failed.Load(), d.refused.Load()
}
