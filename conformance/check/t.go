package check

import (
	"context"
	"crypto/rand"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"mandate/conformance/browser"
	"mandate/conformance/need"
	"mandate/conformance/target"
	"mandate/conformance/wire"
)

// T is the parameter of a check. A check reports that its own rule is violated with Errorf, Failf and the Want
// methods. If a step before that fails, the check is blocked. So one fault of a server fails the checks of the
// violated rule, and blocks others.
//
// T has a method for each step that several documents need, so that a check reads as a sequence of steps. The methods
// are in one file for each subject. What only one document needs is a function in package rules.
type T struct {
	server *Server
	ctx    context.Context
	rule   Rule
	record

	session *browser.Jar // nil if the check has not used it
	signIns map[*browser.Jar]int
	probing bool // it finds out whether the password is right
	waits   func(d time.Duration, of string)
	explain bool // the result has an exchange even if the rule passes

	used     map[need.Need]bool
	issuedTo map[string]*target.Client // the client of each token
	accepted map[string]bool           // the tokens that a resource has accepted
}

// newT returns the state of a check that has done nothing yet.
func (s *Server) newT(ctx context.Context, rule Rule, mask *wire.Mask) *T {
	return &T{server: s, ctx: ctx, rule: rule, record: record{mask: mask}, signIns: map[*browser.Jar]int{},
		used: map[need.Need]bool{}, issuedTo: map[string]*target.Client{}, accepted: map[string]bool{}}
}

// record is what a check has received and found.
type record struct {
	mask       *wire.Mask
	all        []*wire.Answer
	kept       int  // bytes in the bodies of all
	unanswered bool // the server did not answer the last request
	// their secrets are not in the mask: to find them takes long, and only a result with a text needs them
	unmasked []*wire.Answer
	seen     *wire.Answer // the exchange that would be shown with a failure now
	failedAt *wire.Answer // the exchange of the first problem
	problems []string
}

// secrets returns the mask, with the secrets of all answers so far.
func (r *record) secrets() *wire.Mask {
	for _, a := range r.unmasked {
		r.mask.Learn(a)
	}
	r.unmasked = nil
	return r.mask
}

// stop ends a check.
type stop struct {
	status   Status
	reason   string
	endedTLS bool // the server ended the TLS connection
}

// Errorf reports that the rule is violated. The check continues.
func (t *T) Errorf(format string, args ...any) {
	if t.failedAt == nil {
		t.failedAt = t.seen
	}
	problem := fmt.Sprintf(format, args...)
	if !slices.Contains(t.problems, problem) {
		t.problems = append(t.problems, problem)
	}
}

// Failf reports that the rule is violated, and ends the check.
func (t *T) Failf(format string, args ...any) {
	t.Errorf(format, args...)
	panic(stop{status: Fail})
}

// Skipf ends a check for which the target lacks something.
func (t *T) Skipf(format string, args ...any) {
	panic(stop{status: Skip, reason: fmt.Sprintf(format, args...)})
}

// Blockedf ends a check that cannot reach what it checks.
func (t *T) Blockedf(format string, args ...any) {
	panic(stop{status: Blocked, reason: fmt.Sprintf(format, args...)})
}

// Last returns the answer that would be shown with a failure now.
func (t *T) Last() *wire.Answer { return t.seen }

// TellWaits sets a function that is called before the check waits because the server answers 429. It gets the time, and
// what the server limits.
func (t *T) TellWaits(tell func(d time.Duration, of string)) { t.waits = tell }

// Pause waits.
func (t *T) Pause(d time.Duration) {
	select {
	case <-time.After(d):
	case <-t.ctx.Done():
		t.Blockedf("no answer: %v", t.ctx.Err())
	}
}

// Clip masks a text for a reason, and shortens it. Half a secret would not be recognized later.
func (t *T) Clip(text string, n int) string { return wire.Clip(t.secrets().Hide(text), n) }

// At selects the answer that is shown with a failure. Without it the last answer is shown.
func (t *T) At(a *wire.Answer) { t.seen = a }

// Require skips the check if the target lacks something.
func (t *T) Require(n need.Need) {
	t.used[n] = true
	if reason := t.server.lacks(n); reason != "" {
		t.Skipf("%s", reason)
	}
}

// Besides runs steps on which the check does not depend: it comes to a result without them too, on another target.
func (t *T) Besides(steps func()) {
	before := maps.Clone(t.used)
	defer func() { t.used = before }()
	steps()
}

func (t *T) undeclared() []need.Need {
	var all []need.Need
	for n := range t.used {
		if !slices.Contains(t.rule.Needs, n) {
			all = append(all, n)
		}
	}
	slices.Sort(all)
	return all
}

// Has reports whether the target has something that the check does not depend on.
func (t *T) Has(n need.Need) bool { return t.server.lacks(n) == "" }

// Client returns the target's client of a role.
func (t *T) Client(role need.Need) *target.Client {
	t.Require(role)
	return t.server.Target.Clients[role]
}

// User returns the person who can sign in, from the target.
func (t *T) User() target.User {
	t.Require(need.User)
	return t.server.Target.User
}

// Resources returns the resources of the target, at least two.
func (t *T) Resources() []target.Resource {
	t.Require(need.Resources)
	return t.server.Target.Resources
}

// OptionalResources returns the resources of the target, which may have none. The check does not depend on them.
func (t *T) OptionalResources() []target.Resource { return t.server.Target.Resources }

// API returns the target's API.
func (t *T) API() target.API {
	t.Require(need.API)
	return t.server.Target.API
}

// Endpoint returns the address of an endpoint, by its name in the metadata.
func (t *T) Endpoint(name need.Need) string {
	t.Require(name)
	return t.server.Endpoint(name)
}

// Issuer returns the issuer identifier that the target names.
func (t *T) Issuer() string { return t.server.Target.Issuer }

// Reach returns from where a host can be reached.
func (t *T) Reach(host string) wire.Reach { return t.server.network.Reach(t.ctx, host) }

// Metadata returns what the server publishes; it is empty if the server publishes nothing.
func (t *T) Metadata() Metadata { return t.server.Metadata }

// OptionalClient returns the target's client of a role, or nil. The check does not depend on it.
func (t *T) OptionalClient(role need.Need) *target.Client { return t.server.Target.Clients[role] }

// OptionalAPI returns the target's API; its URL is "" if the target names none. The check does not depend on it.
func (t *T) OptionalAPI() target.API { return t.server.Target.API }

// OptionalEndpoint returns the address of an endpoint, or "". The check does not depend on it.
func (t *T) OptionalEndpoint(name need.Need) string { return t.server.Endpoint(name) }

// MetadataAddress returns the address at which the metadata was found, or "".
func (t *T) MetadataAddress() string { return t.server.found }

// Scoped reports whether the target names a scope for authorization requests.
func (t *T) Scoped() bool { return t.server.Target.Scope != "" }

// Scope returns the scope that the target names for authorization requests, or "".
func (t *T) Scope() string { return t.server.Target.Scope }

// Random returns a text that was never sent before.
func (t *T) Random() string { return rand.Text() }

// patience limits how long a check waits for a server that answers 429, and maxKept how many bytes of answers it keeps.
const (
	patience = 30 * time.Second
	maxKept  = 32 << 20
)

func join[E any](list []E) string {
	var words []string
	for _, e := range list {
		words = append(words, fmt.Sprint(e))
	}
	return strings.Join(words, " or ")
}
