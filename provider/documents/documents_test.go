package documents

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"mandate/provider/oauth"
	"mandate/provider/outbound"
	"mandate/provider/places"
	"mandate/provider/throttle"
)

// site serves documents and counts the requests.
type site struct {
	*httptest.Server
	requests atomic.Int64
}

func newSite(t *testing.T, h http.HandlerFunc) *site {
	t.Helper()
	s := &site{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.requests.Add(1)
		h(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *site) asked(path string) Asked {
	u, err := url.Parse(s.URL + path)
	if err != nil {
		panic(err)
	}
	return Asked{URL: u, ID: u.String(), Address: "192.0.2.1"}
}

func sendJSON(w http.ResponseWriter, body string) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write([]byte(body))
}

// newDocuments makes the component, whose documents are valid if they are not empty.
func newDocuments() *Documents[string] {
	out := outbound.New(outbound.Config{Networks: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}})
	return New(out, Metadata(func(_ string, body []byte) (string, error) {
		if string(body) == "{}" {
			return "", Invalid("has no client_id")
		}
		return string(body), nil
	}), nil)
}

func TestOneFetchServesAllWhoAsk(t *testing.T) {
	arrived, goOn := make(chan struct{}), make(chan struct{})
	s := newSite(t, func(w http.ResponseWriter, _ *http.Request) {
		arrived <- struct{}{}
		<-goOn
		sendJSON(w, `{"a":1}`)
	})
	d := newDocuments()
	var asking sync.WaitGroup
	for range 64 {
		asking.Go(func() {
			got, err := d.Get(t.Context(), s.asked("/c"))
			if err != nil || got != `{"a":1}` {
				t.Error(got, err)
			}
		})
	}
	<-arrived
	// Whoever began the fetch can leave: the others still get the document.
	gone, leave := context.WithCancel(t.Context())
	leave()
	if _, err := d.Get(gone, s.asked("/c")); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	close(goOn)
	asking.Wait()
	if _, err := d.Get(t.Context(), s.asked("/c")); err != nil {
		t.Error(err)
	}
	if n := s.requests.Load(); n != 1 {
		t.Errorf("%d requests, want 1", n)
	}
}

func TestCIMD02_5_2_errors_and_invalid_documents_are_not_kept(t *testing.T) {
	good := atomic.Bool{}
	for rule, bad := range map[string]http.HandlerFunc{
		"a status":     func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotFound) },
		"another type": func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>")) },
		"invalid":      func(w http.ResponseWriter, _ *http.Request) { sendJSON(w, "{}") },
		"too large":    func(w http.ResponseWriter, _ *http.Request) { sendJSON(w, strings.Repeat(" ", MaxBytes+1)) },
	} {
		good.Store(false)
		s := newSite(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Cache-Control", "max-age=3600")
			if good.Load() {
				sendJSON(w, `{"a":1}`)
				return
			}
			bad(w, r)
		})
		d := newDocuments()
		for range 2 {
			_, err := d.Get(t.Context(), s.asked("/c"))
			e, ok := errors.AsType[*oauth.Error](err)
			if !ok || e.Status != http.StatusBadRequest || e.Code != "invalid_client" {
				t.Fatalf("%s: %v", rule, err)
			}
			// The log names the document, and the page does not repeat it.
			if !strings.Contains(e.Error(), s.URL+"/c") || strings.Contains(e.Description, s.URL) {
				t.Errorf("%s: %v", rule, e)
			}
		}
		good.Store(true)
		if got, err := d.Get(t.Context(), s.asked("/c")); err != nil || got != `{"a":1}` {
			t.Errorf("%s: afterwards %q, %v", rule, got, err)
		}
		if n := s.requests.Load(); n != 3 {
			t.Errorf("%s: %d requests, want 3", rule, n)
		}
	}
}

// A kind may keep its errors for a while, so that one page does not wait for a broken address
// again and again.
func TestErrorsThatAreKept(t *testing.T) {
	s := newSite(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotFound) })
	d := newDocuments()
	d.kind.KeepErrors = time.Hour
	_, first := d.Get(t.Context(), s.asked("/c"))
	_, second := d.Get(t.Context(), s.asked("/c"))
	if first == nil || !errors.Is(second, first) {
		t.Errorf("%v, then %v", first, second)
	}
	if n := s.requests.Load(); n != 1 {
		t.Errorf("%d requests, want 1", n)
	}
	if _, kept := d.Kept(s.URL + "/c"); kept {
		t.Error("an error counts as a document")
	}
}

func TestKeptFetchesNothing(t *testing.T) {
	s := newSite(t, func(w http.ResponseWriter, _ *http.Request) { sendJSON(w, `{"a":1}`) })
	d := newDocuments()
	kept := func(want bool) {
		t.Helper()
		if value, got := d.Kept(s.URL + "/c"); got != want || want && value != `{"a":1}` {
			t.Errorf("%q, %v", value, got)
		}
	}
	kept(false)
	if _, err := d.Get(t.Context(), s.asked("/c")); err != nil {
		t.Fatal(err)
	}
	kept(true)
	d.kept[s.URL+"/c"].until = time.Now()
	kept(false)
	if n := s.requests.Load(); n != 1 {
		t.Errorf("%d requests, want 1", n)
	}
}

func TestADocumentThatHasExpiredIsReadAgain(t *testing.T) {
	s := newSite(t, func(w http.ResponseWriter, _ *http.Request) { sendJSON(w, `{"a":1}`) })
	d := newDocuments()
	for range 3 {
		if _, err := d.Get(t.Context(), s.asked("/c")); err != nil {
			t.Fatal(err)
		}
		d.mu.Lock()
		d.kept[s.URL+"/c"].until = time.Now()
		d.mu.Unlock()
	}
	if n := s.requests.Load(); n != 3 {
		t.Errorf("%d requests, want 3", n)
	}
	d.Drop()
	if _, _, kept := d.Stats(); kept != 0 {
		t.Errorf("%d documents are kept", kept)
	}
}

// A stranger can invent any number of URLs. The fetches are limited, and neither the fetches
// of others nor those of clients that somebody approved have to wait for them.
func TestInventedURLs(t *testing.T) {
	goOn := make(chan struct{})
	s := newSite(t, func(w http.ResponseWriter, _ *http.Request) {
		<-goOn
		w.WriteHeader(http.StatusNotFound)
	})
	d := newDocuments()
	begin := func(a Asked) error {
		_, _, err := d.find(a)
		return err
	}
	from := func(address, path string) Asked {
		a := s.asked(path)
		a.Address = address
		return a
	}
	refused := func(err error) {
		t.Helper()
		if e, ok := errors.AsType[*oauth.Error](err); !ok || e.Status != http.StatusTooManyRequests || e.RetryAfter == 0 {
			t.Errorf("%v, want the status 429", err)
		}
	}
	for i := range places.PerBoth {
		if err := begin(from("192.0.2.1", fmt.Sprint("/", i))); err != nil {
			t.Fatal(err)
		}
	}
	refused(begin(from("192.0.2.1", "/one-more")))
	for i := range places.PerHost - places.PerBoth {
		if err := begin(from("203.0.113.1", fmt.Sprint("/of-others", i))); err != nil {
			t.Error("a network that has not asked for this host:", err)
		}
	}
	// The host has as many fetches as it may have.
	refused(begin(from("198.51.100.1", "/of-another")))
	approved := from("192.0.2.1", "/approved")
	approved.Approved = true
	if err := begin(approved); err != nil {
		t.Error("a client that somebody approved:", err)
	}
	close(goOn)
	wait(t, d)

	// The tries of this network are exhausted before those of the host.
	var last error
	for i := range 200 {
		_, last = d.Get(t.Context(), from("192.0.2.1", fmt.Sprint("/again", i)))
		if e, _ := errors.AsType[*oauth.Error](last); e.Status == http.StatusTooManyRequests {
			break
		}
	}
	refused(last)
	_, err := d.Get(t.Context(), from("198.51.100.1", "/of-another"))
	if e, _ := errors.AsType[*oauth.Error](err); e.Status != http.StatusBadRequest {
		t.Error("another network:", err)
	}
	if n := s.requests.Load(); n > 104 {
		t.Errorf("%d requests, want at most 104", n)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.kept)+len(d.fetches)+d.invented.Taken()+d.approved.Taken() != 0 {
		t.Error("something is left", len(d.kept), len(d.fetches), d.invented.Taken(), d.approved.Taken())
	}
}

// A host that does not answer takes its own places only, even if people have approved its
// clients.
func TestAHostThatHangs(t *testing.T) {
	goOn := make(chan struct{})
	hangs := newSite(t, func(w http.ResponseWriter, _ *http.Request) {
		<-goOn
		sendJSON(w, `{"a":1}`)
	})
	d := newDocuments()
	approved := func(s *site, host, path string) Asked {
		a := s.asked(path)
		a.Approved = true
		a.URL.Host = strings.Replace(a.URL.Host, "127.0.0.1", host, 1)
		a.ID = a.URL.String()
		return a
	}
	for i := range places.PerHost {
		if _, _, err := d.find(approved(hangs, "127.0.0.1", fmt.Sprint("/", i))); err != nil {
			t.Fatal(err)
		}
	}
	_, _, err := d.find(approved(hangs, "127.0.0.1", "/one-more"))
	if e, ok := errors.AsType[*oauth.Error](err); !ok || e.Status != http.StatusTooManyRequests || e.RetryAfter == 0 {
		t.Errorf("one more from this host: %v, want the status 429", err)
	}
	// Strangers have their own places for the host.
	if _, _, err := d.find(hangs.asked("/invented")); err != nil {
		t.Error("a client that nobody has approved:", err)
	}
	answers := newSite(t, func(w http.ResponseWriter, _ *http.Request) { sendJSON(w, `{"a":1}`) })
	if got, err := d.Get(t.Context(), approved(answers, "localhost", "/c")); err != nil || got != `{"a":1}` {
		t.Errorf("another host: %q, %v", got, err)
	}
	close(goOn)
	wait(t, d)
	// The places are free again.
	if _, err := d.Get(t.Context(), approved(hangs, "127.0.0.1", "/one-more")); err != nil {
		t.Error(err)
	}
}

// wait waits until no fetch is under way.
func wait(t *testing.T, d *Documents[string]) {
	t.Helper()
	for {
		d.mu.Lock()
		var next *fetch[string]
		for _, f := range d.fetches {
			next = f
		}
		d.mu.Unlock()
		if next == nil {
			return
		}
		<-next.done
	}
}

func TestTheMemoryIsBounded(t *testing.T) {
	d := newDocuments()
	later := time.Now().Add(time.Hour)
	for i := range 100 {
		d.keep(fmt.Sprint("approved", i), &document[string]{value: "a", until: later, approved: true})
	}
	for i := range maxMetadata + 500 {
		d.keep(fmt.Sprint(i), &document[string]{value: "a", until: later})
	}
	if len(d.kept) != maxMetadata {
		t.Errorf("%d documents are kept, want %d", len(d.kept), maxMetadata)
	}
	for i := range 100 {
		if d.kept[fmt.Sprint("approved", i)] == nil {
			t.Fatal("the documents of strangers replaced that of an approved client")
		}
	}
	d.kept["expired"] = &document[string]{value: "a", until: time.Now().Add(-time.Second), approved: true}
	d.Drop()
	if d.kept["expired"] != nil || len(d.kept) != maxMetadata {
		t.Error("Drop removes what has expired, and nothing else")
	}
}

func TestCIMD02_5_2_lifetime(t *testing.T) {
	now := time.Now()
	at := func(d time.Duration) string { return now.Add(d).UTC().Format(http.TimeFormat) }
	for _, test := range []struct {
		rule   string
		header http.Header
		want   time.Duration
	}{
		{"no header", http.Header{}, shortest},
		{"RFC9111/5.2.2.1 max-age", http.Header{"Cache-Control": {"public, max-age=3600"}}, time.Hour},
		{"below the lower bound", http.Header{"Cache-Control": {"max-age=1"}}, shortest},
		{"above the upper bound", http.Header{"Cache-Control": {"max-age=31536000, immutable"}}, longest},
		{"RFC9111/1.2.2 a number that is too large", http.Header{"Cache-Control": {"max-age=99999999999999999999"}}, longest},
		{"RFC9111/4.2.1 no number", http.Header{"Cache-Control": {"max-age=1h"}}, shortest},
		{"a negative number", http.Header{"Cache-Control": {"max-age=-3600"}}, shortest},
		{"a quoted number", http.Header{"Cache-Control": {`Max-Age="3600"`}}, time.Hour},
		{"RFC9111/4.2.1 the first of two", http.Header{"Cache-Control": {"max-age=3600", "max-age=7200"}}, time.Hour},
		{"RFC9111/5.2.2.10 s-maxage is for shared caches", http.Header{"Cache-Control": {"max-age=3600, s-maxage=7200"}},
			2 * time.Hour},
		{"RFC9111/5.2.2.5 no-store", http.Header{"Cache-Control": {"no-store, max-age=3600"}}, shortest},
		{"RFC9111/5.2.2.4 no-cache", http.Header{"Cache-Control": {"max-age=3600", "no-cache"}}, shortest},
		{"RFC9111/5.2.2.7 private", http.Header{"Cache-Control": {"private, max-age=3600"}}, shortest},
		{"RFC9111/4.2.3 Age", http.Header{"Cache-Control": {"max-age=3600"}, "Age": {"600"}}, 50 * time.Minute},
		{"RFC9111/5.3 Expires", http.Header{"Expires": {at(2 * time.Hour)}, "Date": {at(time.Hour)}}, time.Hour},
		{"RFC9111/5.3 max-age wins over Expires",
			http.Header{"Cache-Control": {"max-age=3600"}, "Expires": {at(9 * time.Hour)}}, time.Hour},
		{"RFC9111/5.3 Expires that is no date", http.Header{"Expires": {"0"}}, shortest},
	} {
		if got := lifetime(test.header); got != test.want {
			t.Errorf("%s: %s, want %s", test.rule, got, test.want)
		}
	}
}

// A node reads a document anew that it read before another node stored a change of it.
func TestADocumentOfBeforeIsReadAgain(t *testing.T) {
	s := newSite(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Cache-Control", "max-age=3600")
		sendJSON(w, `{"a":1}`)
	})
	d := newDocuments()
	for _, step := range []struct {
		since time.Time
		want  int64
	}{{time.Time{}, 1}, {time.Now().Add(-time.Hour), 1}, {time.Now().Add(time.Hour), 2}, {time.Time{}, 2}} {
		asked := s.asked("/c")
		asked.Since = step.since
		_, err := d.Get(t.Context(), asked)
		if n := s.requests.Load(); err != nil || n != step.want {
			t.Errorf("since %s: %d requests, want %d (%v)", step.since, n, step.want, err)
		}
	}
}

// One network asks for the documents of many hosts that do not answer. It has no more than its share of the
// places.
func TestAttackOneNetworkAndManyHosts(t *testing.T) {
	listener, err := net.Listen("tcp4", ":0")
	if err != nil {
		t.Fatal(err)
	}
	goOn, arrived := make(chan struct{}), make(chan struct{}, places.Most)
	web := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		arrived <- struct{}{}
		<-goOn
		sendJSON(w, `{"a":1}`)
	})}
	go func() { _ = web.Serve(listener) }()
	t.Cleanup(func() { web.Close() })
	d := newDocuments()
	get := func(host int, from string) error {
		u, err := url.Parse(fmt.Sprintf("http://127.0.0.%d:%d/c", host, listener.Addr().(*net.TCPAddr).Port))
		if err != nil {
			t.Fatal(err)
		}
		_, err = d.Get(t.Context(), Asked{URL: u, ID: u.String(), Address: from})
		return err
	}
	var waiting sync.WaitGroup
	for host := 1; host <= places.PerWho; host++ {
		waiting.Go(func() {
			if err := get(host, "192.0.2.1"); err != nil {
				t.Error(err)
			}
		})
		<-arrived
	}
	// The site of the network is counted, not one address of it.
	if e, ok := errors.AsType[*oauth.Error](get(places.PerWho+1, "192.0.2.2")); !ok ||
		e.Status != http.StatusTooManyRequests {
		t.Errorf("fetch %d of one network: %v", places.PerWho+1, e)
	}
	waiting.Go(func() {
		if err := get(places.PerWho+2, "198.51.100.1"); err != nil {
			t.Error("another network:", err)
		}
	})
	<-arrived
	close(goOn)
	waiting.Wait()
}

// hangingSites serves documents at all addresses of this machine. Those below /hang do not come before the end.
func hangingSites(t *testing.T) (at func(host, path string) Asked, arrived chan struct{}) {
	t.Helper()
	listener, err := net.Listen("tcp4", ":0")
	if err != nil {
		t.Fatal(err)
	}
	arrived, goOn := make(chan struct{}, 1000), make(chan struct{})
	web := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/hang") {
			arrived <- struct{}{}
			<-goOn
		}
		sendJSON(w, `{"a":1}`)
	})}
	go func() { _ = web.Serve(listener) }()
	t.Cleanup(func() { close(goOn); web.Close() })
	return func(host, path string) Asked {
		u, err := url.Parse(fmt.Sprintf("http://%s:%d%s", host, listener.Addr().(*net.TCPAddr).Port, path))
		if err != nil {
			t.Fatal(err)
		}
		return Asked{URL: u, ID: u.String(), Address: "192.0.2.1", Approved: true}
	}, arrived
}

// expire ends the time of what is kept.
func expire(d *Documents[string]) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, one := range d.kept {
		one.until = time.Now()
	}
}

// People approve clients whose hosts do not answer later. They do not take the places of a client whose document this
// node has read, when it must be read again.
//
// Resembles CVE-2023-44487 in its class: a few peers who never finish use up what all share.
func TestAttackApprovedClientsThatHang(t *testing.T) {
	at, arrived := hangingSites(t)
	d := newDocuments()
	asked := func(host int, path, who string) Asked {
		a := at(fmt.Sprintf("127.0.0.%d", host), path)
		a.For = who
		return a
	}
	good, before := asked(1, "/good", "good"), asked(1, "/before", "good")
	if _, err := d.Get(t.Context(), good); err != nil {
		t.Fatal(err)
	}
	// The other document was read before anybody had approved its client.
	before.Approved = false
	for range 2 {
		if _, err := d.Get(t.Context(), before); err != nil {
			t.Fatal(err)
		}
		before.Approved = true
	}
	for who := range places.Most / places.PerWho {
		for i := range places.PerWho {
			if _, _, err := d.find(asked(2+2*who+i%2, fmt.Sprint("/hang", i), fmt.Sprint("site ", who))); err != nil {
				t.Fatal(who, i, err)
			}
			<-arrived
		}
	}
	expire(d)
	d.Drop()
	for _, a := range []Asked{good, before} {
		if _, err := d.Get(t.Context(), a); err != nil {
			t.Error("a document that was read before:", a.ID, err)
		}
	}
	_, _, err := d.find(asked(1, "/new", "new"))
	if e, ok := errors.AsType[*oauth.Error](err); !ok || e.Status != http.StatusTooManyRequests {
		t.Error("the hosts that hang have more places than they may:", err)
	}
}

// One who has approved clients at many hosts has a few places.
func TestAttackApprovedClientsOfOne(t *testing.T) {
	at, arrived := hangingSites(t)
	d := newDocuments()
	asked := func(host int, who string) Asked {
		a := at(fmt.Sprintf("127.0.0.%d", host), "/hang")
		a.For = who
		return a
	}
	for i := range places.PerWho {
		if _, _, err := d.find(asked(1+i, "mallory")); err != nil {
			t.Fatal(err)
		}
		<-arrived
	}
	_, _, err := d.find(asked(100, "mallory"))
	if e, ok := errors.AsType[*oauth.Error](err); !ok || e.Status != http.StatusTooManyRequests {
		t.Error("one more:", err)
	}
	if _, _, err := d.find(asked(100, "another")); err != nil {
		t.Error("another one:", err)
	}
}

// One customer invents clients in the name of a host, and uses up all tries for it. Whoever asks for a client of this
// host from elsewhere still gets its document.
//
// Its class is CWE-770: one party uses up a budget that all share.
func TestAttackClientsInventedInTheNameOfAHost(t *testing.T) {
	s := newSite(t, func(w http.ResponseWriter, _ *http.Request) { sendJSON(w, `{"a":1}`) })
	closed := httptest.NewServer(nil)
	closed.Close()
	d := newDocuments()
	last := error(nil)
	for i := range 400 {
		a := s.asked("/")
		a.ID, a.Address = fmt.Sprint(closed.URL, "/", i), fmt.Sprintf("192.0.2.%d", 1+i%4)
		_, last = d.Get(t.Context(), a)
		if e, ok := errors.AsType[*oauth.Error](last); ok && e.Status == http.StatusTooManyRequests {
			break
		}
	}
	if e, ok := errors.AsType[*oauth.Error](last); !ok || e.Status != http.StatusTooManyRequests {
		t.Fatal("there is no limit:", last)
	}
	a := s.asked("/honest")
	a.Address = "198.51.100.1"
	if _, err := d.Get(t.Context(), a); err != nil {
		t.Error("the document of an honest client:", err)
	}
}

// A host that answers at once, whatever it answers, costs so little that its tries come back.
func TestAnswersAtOnceUseNoTryOfTheHost(t *testing.T) {
	s := newSite(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/invalid":
			sendJSON(w, "{}")
		case "/good":
			sendJSON(w, `{"a":1}`)
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	})
	closed := httptest.NewServer(nil)
	closed.Close()
	d := newDocuments()
	left := func() (n int) {
		try, undo := throttle.Try{Kind: ofHost, Key: places.Host(s.URL) + " 192.0.2.0/24"}, []func(){}
		for {
			giveBack, wait := d.tries.Take(try)
			if wait > 0 {
				break
			}
			undo = append(undo, giveBack)
		}
		for _, one := range undo {
			one()
		}
		return len(undo)
	}
	all := left()
	for _, path := range []string{"/good", "/none", "/invalid"} {
		_, _ = d.Get(t.Context(), s.asked(path))
		if n := left(); n != all {
			t.Errorf("%s: %d tries are left, want %d", path, n, all)
		}
	}
	// The counter of the whole network still counts them.
	silent := s.asked("/")
	silent.ID = closed.URL
	_, _ = d.Get(t.Context(), silent)
	if n := left(); n != all-1 {
		t.Errorf("no answer: %d tries are left, want %d", n, all-1)
	}
}

// A mistake in a library that reads what a stranger has published does not end the server.
//
// Resembles CVE-2020-29652 in its class: a document of a stranger makes a parser panic.
func TestAttackDocumentThatMakesAParserPanic(t *testing.T) {
	s := newSite(t, func(w http.ResponseWriter, _ *http.Request) { sendJSON(w, `{"a":1}`) })
	var logged strings.Builder
	d := New(outbound.New(outbound.Config{Networks: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}),
		Metadata(func(_ string, body []byte) (string, error) {
			return string(body[len(body)+1:]), nil
		}), slog.New(slog.NewTextHandler(&logged, nil)))
	for range 2 * places.Most { // each gives its place back
		_, err := d.Get(t.Context(), s.asked("/c"))
		e, ok := errors.AsType[*oauth.Error](err)
		if !ok || e.Status != http.StatusBadRequest || !strings.Contains(e.Error(), "panic") ||
			strings.Contains(e.Description, "panic") {
			t.Fatal(err)
		}
	}
	if !strings.Contains(logged.String(), "level=ERROR") || !strings.Contains(logged.String(), s.URL+"/c") {
		t.Error(logged.String())
	}
}

// slow answers late, and in place of the network.
type slow time.Duration

func (s slow) RoundTrip(*http.Request) (*http.Response, error) {
	time.Sleep(time.Duration(s))
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(strings.NewReader(`{"a":1}`))}, nil
}

// A host that always answers late has no place among those that work.
func TestAttackDocumentsThatComeLate(t *testing.T) {
	for _, late := range []time.Duration{0, time.Millisecond} {
		synctest.Test(t, func(t *testing.T) {
			d := newDocuments()
			d.out = outbound.New(outbound.Config{Networks: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")},
				Trace: func(http.RoundTripper) http.RoundTripper { return slow(places.Slow + late) }})
			const id = "https://127.0.0.1/c"
			if _, err := d.Get(t.Context(), Asked{ID: id, Address: "192.0.2.1"}); err != nil {
				t.Fatal(err)
			}
			if got := d.invented.Works(id); got != (late == 0) {
				t.Errorf("%s: it works: %v", late, got)
			}
			// Somebody approves the client.
			if _, err := d.Get(t.Context(), Asked{ID: id, Approved: true}); err != nil || d.approved.Works(id) != (late == 0) {
				t.Errorf("%s: it works when it is approved: %v (%v)", late, late != 0, err)
			}
		})
	}
}
