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
	"mandate/testkit"
	"mandate/testkit/port"
)

// fault is one mistake of a server. It proves the checks: the checks of the violated rules fail, and no others.
type fault struct {
	name  string // what the server does
	at    string // the paths at which it does it, or all
	spoil spoiler
	fails string // the rules that fail
	hides string // rules, documents or clauses that cannot be checked because of it: they are blocked or skipped

	// The rules of which a control shows that the server does not violate them. A check without the control would fail
	// or pass.
	blocks string // what the rules are about has no effect on this server: exactly these are blocked
	skips  string // a condition of the rules does not hold on this server: exactly these are skipped
	passes string // the rules are not about this mistake, but could be mistaken for being so: exactly these pass
	after  string // a document: the mistake shows only after the approvals and tokens of its rules

	// aim changes the target instead of the server. Only the rules that the fault names are checked.
	aim func(*target.Target)
	// owned says that the target may have an address outside of this machine.
	owned bool
	// apart says that it concerns no request of the proven documents, so that their rules need not be checked.
	apart bool
	// certified says that the clients of FAPI 2.0 have certificates, to which their tokens are bound.
	certified bool
	// mute says that the server sends no logout tokens: the listener does not wait for them for long.
	mute bool
}

// spoiler answers a request instead of the true server. Most spoilers ask the true server and change something.
type spoiler func(*proxy, *ask) *wire.Answer

// proven are the documents whose rules are all checked with each fault, where testkit.All. No rule of theirs may change
// its result unless the fault names it. The rules of other documents are checked only with the faults that name them.
var proven = []string{"RFC6749", "RFC6750", "RFC7009", "RFC7636", "RFC7662"}

func faults() []fault {
	return slices.Concat(tokenFaults(), tokenErrorFaults(), grantFaults(), codeFaults(), refreshFaults(),
		authorizeFaults(),
		redirectFaults(), pageFaults(), pkceFaults(), bearerFaults(), revocationFaults(), introspectionFaults(),
		metadataFaults(), describedFaults(), keyFaults(), nativeFaults(), practiceFaults(), resourceFaults(),
		signInFaults(), promptFaults(), answerFaults(), claimsFaults(), identityFaults(), refreshedFaults(), hmacFaults(),
		userInfoFaults(), claimFaults(), formPostFaults(), logoutFaults(), noticeFaults(), signedFaults(),
		registrationFaults(), deviceFaults(), documentFaults(), controlFaults(),
		apiFaults(), browserFaults(), stepUpFaults(), pushFaults(), assertionFaults(), certificateFaults(), proofFaults(),
		objectFaults(), responseFaults(), fapiFaults())
}

// TestFaults checks that each fault fails the rules that it violates and, where testkit.All, no others. With -v it
// prints the table. With -short it does not check what the rules say of a server without a fault:
// go test -short ./conformance/faults -run TestFaults/each/NAME
func TestFaults(t *testing.T) {
	fronts := make(chan *front, 4) // runs at the same time, which wait for much of their time
	for n := range cap(fronts) {
		fronts <- newFront(t, n)
	}
	known := map[string]check.Rule{}
	for _, r := range rules.All() {
		known[r.ID] = r
	}
	f := <-fronts
	healthy, near := map[string]check.Result{}, map[string][]string{}
	if !testing.Short() {
		healthy = f.healthy(t)
	}
	if testkit.All() {
		near = f.near(t, healthy)
	}
	fronts <- f
	proved := map[string]bool{}
	for id, result := range healthy {
		servertest.Judge(t, result)
		proved[id] = result.Status == check.Fail // a waived rule fails without a fault
	}
	rows, lines := faults(), make([]string, len(faults()))
	t.Run("each", func(t *testing.T) {
		for i, row := range rows {
			if slices.ContainsFunc(rows[:i], func(other fault) bool { return other.name == row.name }) {
				t.Errorf("%q stands twice in the table", row.name)
			}
			if len(row.expected()) == 0 {
				t.Errorf("%q changes the result of no check", row.name)
			}
			for id, status := range row.expected() {
				if known[id].Check == nil {
					t.Errorf("there is no check %s", id)
				}
				proved[id] = proved[id] || status == check.Fail
			}
			t.Run(row.name, func(t *testing.T) {
				t.Parallel()
				f := <-fronts
				defer func() { fronts <- f }()
				began := time.Now()
				row.compare(t, healthy, f.run(t, row, func(r check.Rule) bool {
					return row.expected()[r.ID] != "" || r.Document() == row.after || ofProven(r) && testkit.All() && row.aim == nil &&
						!row.apart && row.isNear(near[r.ID])
				}))
				lines[i] = fmt.Sprintf("%-60s %5.2f s  %s", row.name, time.Since(began).Seconds(),
					strings.Join(slices.Sorted(maps.Keys(row.expected())), " "))
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

var noFault = fault{name: "none", spoil: (*proxy).real}

// healthy returns the results on a server without a fault.
func (f *front) healthy(t *testing.T) map[string]check.Result {
	all := f.run(t, noFault, ofProven)
	maps.Copy(all, f.run(t, noFault, func(r check.Rule) bool { return !ofProven(r) }))
	return all
}

// near returns the paths that each proven rule requests: a fault at other paths changes nothing for the rule.
func (f *front) near(t *testing.T, healthy map[string]check.Result) map[string][]string {
	near := map[string][]string{}
	for id, together := range healthy {
		if !ofProven(together.Rule) {
			continue
		}
		alone := f.run(t, noFault, func(r check.Rule) bool { return r.ID == id })
		if alone[id].Status != together.Status {
			t.Errorf("%s: %s alone, %s after others", id, alone[id].Status, together.Status)
		}
		near[id] = f.asked()
	}
	return near
}

func ofProven(r check.Rule) bool { return slices.Contains(proven, r.Document()) }

// isNear reports whether the fault is at one of these paths.
func (row fault) isNear(paths []string) bool {
	if row.at == "" {
		return true
	}
	return slices.ContainsFunc(strings.Fields(row.at), func(path string) bool { return slices.Contains(paths, path) })
}

// expected returns the result of each rule that the fault names.
func (row fault) expected() map[string]check.Status {
	all := map[string]check.Status{}
	for status, names := range map[check.Status]string{check.Fail: row.fails, check.Blocked: row.blocks,
		check.Skip: row.skips, check.Pass: row.passes} {
		for id := range strings.FieldsSeq(names) {
			all[id] = status
		}
	}
	return all
}

// compare compares a run with what the fault names, and with a run without a fault.
func (row fault) compare(t *testing.T, healthy, results map[string]check.Result) {
	t.Helper()
	hides, hidden, expected := strings.Fields(row.hides), map[string]bool{}, row.expected()
	for _, id := range slices.Sorted(maps.Keys(results)) {
		got := results[id]
		want, named := expected[id], expected[id] != ""
		if !named && !testkit.All() {
			continue
		}
		if !named {
			want = healthy[id].Status
		}
		behind := slices.IndexFunc(hides, got.Rule.Under)
		untried := got.Status == check.Blocked || got.Status == check.Skip
		switch {
		case got.Status == want:
		case untried && !named && behind >= 0:
			hidden[hides[behind]] = true
		case named && want == check.Fail:
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
		if !hidden[name] && slices.Contains(proven, document) && testkit.All() {
			t.Errorf("%s can be tried in spite of it", name)
		}
	}
}

// front is the address of the faulty server. Behind it runs Mandate with this address as its base URL.
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
	// The proxy also has the client's address for logout tokens. It forwards them to the runner's listener.
	told, err := net.Listen("tcp", f.Runner.Target.Backchannel)
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: f, ReadHeaderTimeout: time.Minute}
	go server.Serve(told) // it ends with Close
	t.Cleanup(func() { server.Close() })
	return f
}

// personFor is the number of runs with the same person. Each run sends a wrong password, and Mandate limits wrong
// passwords.
const personFor = 8

// run checks rules on the server with a fault.
func (f *front) run(t *testing.T, row fault, which func(check.Rule) bool) map[string]check.Result {
	t.Helper()
	target := *f.Runner.Target
	target.Backchannel = port.Address() // a new one: a child process that is just starting could still hold the last one
	target.Documents.Listen = port.Address()
	if f.runs%personFor == 0 {
		f.person(t, fmt.Sprintf("alice%d", f.runs))
	}
	target.User = f.Runner.Target.User
	if row.certified {
		target.Clients = f.Certified.Clients
	}
	// The runner changes a client if the faulty server wants another assertion of it.
	target.Clients = maps.Clone(target.Clients)
	if row.aim != nil {
		target.Endpoints = map[string]string{}
		row.aim(&target)
	}
	f.runs++
	f.stand(&target, row)
	defer f.stand(&target, fault{spoil: (*proxy).real})
	options := f.Options()
	options.Owned = row.owned
	runner, err := conformance.NewRunner(t.Context(), &target, options)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		err := runner.Close(t.Context())
		if err != nil {
			t.Error(err)
		}
	}()
	// The person signs in without the fault, which would otherwise show in each check.
	runner.NewSession = f.signed.Clone
	if row.mute {
		listener, err := runner.Listen()
		if err != nil {
			t.Fatal(err)
		}
		listener.NoteTimeout(true)
	}
	rules := slices.DeleteFunc(rules.All(), func(r check.Rule) bool { return r.Check == nil || !which(r) })
	results := map[string]check.Result{}
	for _, result := range runner.Run(t.Context(), rules, func(check.Result) {}).Results {
		results[result.Rule.ID] = result
	}
	return results
}

// person adds a user, and signs the user in.
func (f *front) person(t *testing.T, name string) {
	t.Helper()
	u := target.User{Username: name, Password: "pw " + rand.Text()}
	err := f.AddPerson(u)
	if err != nil {
		t.Fatal(err)
	}
	f.Runner.Target.User = u
	f.stand(f.Runner.Target, fault{spoil: (*proxy).real})
	signIn := check.Rule{ID: "TEST/1/sign-in", Check: func(t *check.T) {
		b := t.NewBrowser()
		t.CodeOf(t.Walk(b, t.Request(t.Client(need.Code)), true))
		f.signed = b.Jar()
	}}
	result := f.Runner.Check(context.WithoutCancel(t.Context()), signIn)
	if result.Status != check.Pass {
		t.Fatalf("%s: %s", result.Status, result.Reason)
	}
}

// stand installs a new proxy.
func (f *front) stand(target *target.Target, row fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.proxy != nil {
		f.before = f.proxy
	}
	f.proxy = &proxy{front: f, fault: row, target: target, kept: map[string]any{},
		// Each run has an address of its own, since Mandate limits wrong passwords by address.
		from: fmt.Sprintf("10.%d.%d.1", f.runs/250, f.runs%250)} // another site: Mandate limits what one customer fails
}

// asked returns the paths that the last run requested.
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
