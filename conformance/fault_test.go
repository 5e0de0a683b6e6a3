package conformance

import (
	"context"
	"crypto/rand"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// fault is one thing that a server does wrong. It proves the checks: those that are about it fail, and no
// other does.
type fault struct {
	name  string // what the server does
	at    string // the path where it does it, or anywhere
	spoil spoiler
	fails string // the rules that fail
	hides string // rules, or documents and clauses, that cannot be tried then: they are blocked or skipped
}

// spoiler answers a request in the place of the true server, mostly by asking it and changing something.
type spoiler func(*proxy, *ask) *Answer

// proven are the documents of which no rule may change its outcome but by a fault that names it. Rules of
// other documents are tried where a fault names them.
var proven = []string{"RFC6749", "RFC6750", "RFC7009", "RFC7636", "RFC7662"}

func faults() []fault {
	return slices.Concat(tokenFaults(), tokenErrorFaults(), grantFaults(), codeFaults(), refreshFaults(), authorizeFaults(),
		redirectFaults(), pageFaults(), pkceFaults(), bearerFaults(), revocationFaults(), introspectionFaults(), furtherFaults())
}

// Each fault fails the rules that it breaks, and those alone. With -v it prints the table of them.
func TestFaults(t *testing.T) {
	fronts := make(chan *front, 2) // that many runs at once
	for n := range cap(fronts) {
		fronts <- newFront(t, n)
	}
	known := map[string]Rule{}
	for _, r := range Rules() {
		known[r.ID] = r
	}
	f := <-fronts
	healthy := f.run(t, fault{name: "none", spoil: (*proxy).real})
	fronts <- f
	proved := map[string]bool{}
	for id, result := range healthy {
		judge(t, result)
		proved[id] = result.Status == Fail // what is waived has been seen to fail
	}
	rows, lines := faults(), make([]string, len(faults()))
	t.Run("each", func(t *testing.T) {
		for i, row := range rows {
			if slices.ContainsFunc(rows[:i], func(other fault) bool { return other.name == row.name }) {
				t.Errorf("%q stands twice in the table", row.name)
			}
			if row.fails == "" {
				t.Errorf("%q fails no check", row.name)
			}
			for id := range strings.FieldsSeq(row.fails) {
				if known[id].Check == nil {
					t.Errorf("there is no check %s", id)
				}
				proved[id] = true
			}
			t.Run(row.name, func(t *testing.T) {
				t.Parallel()
				f := <-fronts
				defer func() { fronts <- f }()
				began := time.Now()
				row.compare(t, healthy, f.run(t, row))
				lines[i] = fmt.Sprintf("%-60s %5.2f s  %s", row.name, time.Since(began).Seconds(), row.fails)
			})
		}
	})
	lines = slices.DeleteFunc(lines, func(line string) bool { return line == "" })
	t.Logf("%d faults, and what catches them:\n%s", len(lines), strings.Join(lines, "\n"))
	for id := range healthy {
		if !proved[id] {
			t.Errorf("no fault proves that %s can fail", id)
		}
	}
}

// compare holds a run to what the row says, against one without a fault.
func (row fault) compare(t *testing.T, healthy, results map[string]Result) {
	t.Helper()
	hides, hidden := strings.Fields(row.hides), map[string]bool{}
	for _, id := range slices.Sorted(maps.Keys(results)) {
		got := results[id]
		before, tried := healthy[id]
		if !tried {
			before.Status = Pass // it is tried for this row alone
		}
		want, named := before.Status, slices.Contains(strings.Fields(row.fails), id)
		if named {
			want = Fail
		}
		behind := slices.IndexFunc(hides, got.Rule.under)
		untried := got.Status == Blocked || got.Status == Skip
		switch {
		case got.Status == want:
		case untried && !named && behind >= 0:
			hidden[hides[behind]] = true
		case named:
			t.Errorf("%s does not catch it: %s %s", id, got.Status, got.Reason)
		default:
			t.Errorf("%s: %s, want %s: %s", id, got.Status, want, got.Reason)
			if got.Exchange != nil {
				t.Logf("after %d requests:\n%s\n%s", got.Earlier, got.Exchange.Sent, got.Exchange.Got)
			}
		}
	}
	for _, name := range hides {
		document, _, _ := strings.Cut(name, "/")
		if !hidden[name] && slices.Contains(proven, document) {
			t.Errorf("%s can be tried in spite of it", name)
		}
	}
}

// front is where the faulty server is found. Behind it is Mandate, which takes that address for its own.
type front struct {
	*server
	runs   int
	signed *jar

	mu    sync.Mutex
	proxy *proxy
}

func newFront(t *testing.T, n int) *front {
	t.Helper()
	f := &front{}
	listener := httptest.NewServer(f)
	t.Cleanup(listener.Close)
	name := fmt.Sprint("faults", n)
	f.server = &server{dir: filepath.Join(workDir, name), exited: make(chan struct{}), front: listener.URL}
	serving.Lock()
	servers[name] = f.server
	serving.Unlock()
	f.stand(nil, fault{spoil: (*proxy).real})
	err := f.start("sqlite:///" + filepath.Join(workDir, name+".db"))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// personFor is how many runs a person is for: each run guesses a password, and Mandate slows who guesses.
const personFor = 8

// run has all rules of the proven documents tried against the server with a fault, and those that the fault names.
func (f *front) run(t *testing.T, row fault) map[string]Result {
	t.Helper()
	target := *f.runner.Target
	if f.runs%personFor == 0 {
		f.person(t, fmt.Sprintf("alice%d", f.runs))
	}
	target.User = f.runner.Target.User
	f.runs++
	f.stand(&target, row)
	defer f.stand(&target, fault{spoil: (*proxy).real})
	runner, err := NewRunner(t.Context(), &target, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		err := runner.Close(t.Context())
		if err != nil {
			t.Error(err)
		}
	}()
	runner.signedIn = f.signed
	rules := slices.DeleteFunc(Rules(), func(r Rule) bool {
		return r.Check == nil || !slices.Contains(proven, r.Document()) && !slices.Contains(strings.Fields(row.fails), r.ID)
	})
	results := map[string]Result{}
	for _, result := range runner.Run(t.Context(), rules, func(Result) {}).Results {
		results[result.Rule.ID] = result
	}
	return results
}

// person adds a user, whose browser signs in.
func (f *front) person(t *testing.T, name string) {
	t.Helper()
	u := User{name, "pw " + rand.Text()}
	err := f.addPerson(u)
	if err != nil {
		t.Fatal(err)
	}
	f.runner.Target.User, f.runner.signedIn = u, newJar()
	f.stand(f.runner.Target, fault{spoil: (*proxy).real})
	signIn := Rule{ID: "TEST/1/sign-in", Check: func(t *T) { t.Code(t.Request(t.Client(NeedCode))) }}
	result := f.runner.Check(context.WithoutCancel(t.Context()), signIn)
	if result.Status != Pass {
		t.Fatalf("%s: %s", result.Status, result.Reason)
	}
	f.signed = f.runner.signedIn
}

// stand puts a new proxy there.
func (f *front) stand(target *Target, row fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.proxy = &proxy{front: f, fault: row, target: target, kept: map[string]any{},
		// To each run an address of its own: Mandate slows who guesses, by address.
		from: fmt.Sprintf("10.0.%d.%d", f.runs/250, f.runs%250+1)}
}

func (f *front) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	p := f.proxy
	f.mu.Unlock()
	p.serve(w, r)
}
