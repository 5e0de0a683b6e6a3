package faults

import (
	"context"
	"crypto/rand"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"mandate/conformance"
	"mandate/conformance/browser"
	"mandate/conformance/check"
	"mandate/conformance/need"
	"mandate/conformance/rules"
	"mandate/conformance/servertest"
	"mandate/conformance/target"
	"mandate/conformance/wire"
)

// fault is one thing that a server does wrong. It proves the checks: those that are about it fail, and no
// other does.
type fault struct {
	name  string // what the server does
	at    string // the paths where it does it, or anywhere
	spoil spoiler
	fails string // the rules that fail
	hides string // rules, or documents and clauses, that cannot be tried then: they are blocked or skipped

	// aim makes it a fault of what the target says, which is tried for its own rules alone.
	aim func(*target.Target)
	// mute is for a server that tells nobody of a logout: the listener does not wait long for it.
	mute bool
}

// spoiler answers a request in the place of the true server, mostly by asking it and changing something.
type spoiler func(*proxy, *ask) *wire.Answer

// proven are the documents of which no rule may change its outcome but by a fault that names it. Rules of
// other documents are tried where a fault names them: to try all of them for each would take hours.
var proven = []string{"RFC6749", "RFC6750", "RFC7009", "RFC7636", "RFC7662"}

func faults() []fault {
	return slices.Concat(tokenFaults(), tokenErrorFaults(), grantFaults(), codeFaults(), refreshFaults(), authorizeFaults(),
		redirectFaults(), pageFaults(), pkceFaults(), bearerFaults(), revocationFaults(), introspectionFaults(),
		metadataFaults(), describedFaults(), keyFaults(), nativeFaults(), practiceFaults(), resourceFaults(),
		signInFaults(), promptFaults(), answerFaults(), claimsFaults(), identityFaults(), refreshedFaults(), hmacFaults(),
		userInfoFaults(), claimFaults(), formPostFaults(), logoutFaults(), noticeFaults(), signedFaults())
}

// Each fault fails the rules that it breaks, and those alone. With -v it prints the table of them.
func TestFaults(t *testing.T) {
	fronts := make(chan *front, 2) // that many runs at once
	for n := range cap(fronts) {
		fronts <- newFront(t, n)
	}
	known := map[string]check.Rule{}
	for _, r := range rules.All() {
		known[r.ID] = r
	}
	f := <-fronts
	healthy := f.run(t, fault{name: "none", spoil: (*proxy).real}, ofProven)
	near := f.asked() // a fault at another path changes nothing for the proven documents
	maps.Copy(healthy, f.run(t, fault{name: "none", spoil: (*proxy).real}, func(r check.Rule) bool { return !ofProven(r) }))
	fronts <- f
	proved := map[string]bool{}
	for id, result := range healthy {
		servertest.Judge(t, result)
		proved[id] = result.Status == check.Fail // what is waived has been seen to fail
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
				row.compare(t, healthy, f.run(t, row, func(r check.Rule) bool {
					return slices.Contains(strings.Fields(row.fails), r.ID) || ofProven(r) && row.aim == nil && row.isNear(near)
				}))
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

func ofProven(r check.Rule) bool { return slices.Contains(proven, r.Document()) }

// isNear says whether the fault is at one of these paths.
func (row fault) isNear(paths []string) bool {
	if row.at == "" {
		return true
	}
	return slices.ContainsFunc(strings.Fields(row.at), func(path string) bool { return slices.Contains(paths, path) })
}

// compare holds a run to what the row says, against one without a fault.
func (row fault) compare(t *testing.T, healthy, results map[string]check.Result) {
	t.Helper()
	hides, hidden := strings.Fields(row.hides), map[string]bool{}
	for _, id := range slices.Sorted(maps.Keys(results)) {
		got := results[id]
		want, named := healthy[id].Status, slices.Contains(strings.Fields(row.fails), id)
		if named {
			want = check.Fail
		}
		behind := slices.IndexFunc(hides, got.Rule.Under)
		untried := got.Status == check.Blocked || got.Status == check.Skip
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
	*servertest.Server
	runs   int
	signed *browser.Jar

	mu            sync.Mutex
	proxy, before *proxy
}

func newFront(t *testing.T, n int) *front {
	t.Helper()
	f := &front{}
	listener := httptest.NewServer(f)
	t.Cleanup(listener.Close)
	name := fmt.Sprint("faults", n)
	f.Server = servertest.Behind(name, listener.URL)
	f.stand(nil, fault{spoil: (*proxy).real})
	err := f.Start("sqlite:///" + filepath.Join(servertest.Dir(), name+".db"))
	if err != nil {
		t.Fatal(err)
	}
	// The client's address for logout tokens is the proxy's too, which hands them on to where the runner listens.
	told, err := net.Listen("tcp", f.Runner.Target.Backchannel)
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: f, ReadHeaderTimeout: time.Minute}
	go server.Serve(told) // it ends with Close
	t.Cleanup(func() { server.Close() })
	return f
}

// personFor is how many runs a person is for: each run guesses a password, and Mandate slows who guesses.
const personFor = 8

// run has rules tried against the server with a fault.
func (f *front) run(t *testing.T, row fault, which func(check.Rule) bool) map[string]check.Result {
	t.Helper()
	target := *f.Runner.Target
	target.Backchannel = servertest.FreeAddress() // a new one: a child that is being started may hold the last for a moment
	if f.runs%personFor == 0 {
		f.person(t, fmt.Sprintf("alice%d", f.runs))
	}
	target.User = f.Runner.Target.User
	if row.aim != nil {
		target.Clients, target.Endpoints = maps.Clone(target.Clients), map[string]string{}
		row.aim(&target)
	}
	f.runs++
	f.stand(&target, row)
	defer f.stand(&target, fault{spoil: (*proxy).real})
	runner, err := conformance.NewRunner(t.Context(), &target, wire.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		err := runner.Close(t.Context())
		if err != nil {
			t.Error(err)
		}
	}()
	runner.Session = f.signed
	if row.mute {
		listener, err := runner.Listen()
		if err != nil {
			t.Fatal(err)
		}
		listener.Waited(true)
	}
	rules := slices.DeleteFunc(rules.All(), func(r check.Rule) bool { return r.Check == nil || !which(r) })
	results := map[string]check.Result{}
	for _, result := range runner.Run(t.Context(), rules, func(check.Result) {}).Results {
		results[result.Rule.ID] = result
	}
	return results
}

// person adds a user, whose browser signs in.
func (f *front) person(t *testing.T, name string) {
	t.Helper()
	u := target.User{Username: name, Password: "pw " + rand.Text()}
	err := f.AddPerson(u)
	if err != nil {
		t.Fatal(err)
	}
	f.Runner.Target.User, f.Runner.Session = u, browser.NewJar()
	f.stand(f.Runner.Target, fault{spoil: (*proxy).real})
	signIn := check.Rule{ID: "TEST/1/sign-in", Check: func(t *check.T) { t.Code(t.Request(t.Client(need.Code))) }}
	result := f.Runner.Check(context.WithoutCancel(t.Context()), signIn)
	if result.Status != check.Pass {
		t.Fatalf("%s: %s", result.Status, result.Reason)
	}
	f.signed = f.Runner.Session
}

// stand puts a new proxy there.
func (f *front) stand(target *target.Target, row fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.proxy != nil {
		f.before = f.proxy
	}
	f.proxy = &proxy{front: f, fault: row, target: target, kept: map[string]any{},
		// To each run an address of its own: Mandate slows who guesses, by address.
		from: fmt.Sprintf("10.0.%d.%d", f.runs/250, f.runs%250+1)}
}

// asked are the paths that the last run has asked for.
func (f *front) asked() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.before.named("path ")
}

func (f *front) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	p := f.proxy
	f.mu.Unlock()
	p.serve(w, r)
}
