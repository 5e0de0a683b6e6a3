package check

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
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

// Get sends a GET request.
func (t *T) Get(address string, as ...wire.Auth) *wire.Answer {
	return t.Send(http.MethodGet, address, "", "", as...)
}

// Post sends a form.
func (t *T) Post(address string, form url.Values, as ...wire.Auth) *wire.Answer {
	return t.withNonce(func() *wire.Answer {
		header, whole := http.Header{}, url.Values{}
		for name, values := range form {
			whole[name] = slices.Clone(values)
		}
		for _, a := range as {
			a(header, whole)
		}
		return t.send(http.MethodPost, address, whole.Encode(), wire.FormEncoded, wire.Headers(header))
	})
}

// Send sends a request of any kind. The functions in as may only add headers.
func (t *T) Send(method, address, body, contentType string, as ...wire.Auth) *wire.Answer {
	return t.withNonce(func() *wire.Answer { return t.send(method, address, body, contentType, as...) })
}

func (t *T) send(method, address, body, contentType string, as ...wire.Auth) *wire.Answer {
	r, err := http.NewRequest(method, address, strings.NewReader(body))
	if err != nil {
		t.Blockedf("%s is not an address: %v", address, err)
	}
	if contentType != "" {
		r.Header.Set("Content-Type", contentType)
	}
	for _, a := range as {
		a(r.Header, url.Values{})
	}
	return t.Do(r)
}

// patience limits how long a check waits for a server that answers 429, and maxKept how many bytes of answers it keeps.
const (
	patience = 30 * time.Second
	maxKept  = 32 << 20
)

// Do sends a request and does not follow redirects. If the server does not answer, the check is blocked. If it
// answers 429, the request is repeated after the time in Retry-After, since the many wrong requests of a run can
// exceed a rate limit.
func (t *T) Do(r *http.Request) *wire.Answer {
	var waited time.Duration
	t.server.forCertificates(r)
	for {
		a, err := t.server.do(t.ctx, r)
		t.blockedByTLS(err)
		if wire.IsRefused(err) {
			t.Blockedf("%v", err)
		}
		if err != nil {
			_, t.unanswered = errors.AsType[*wire.NoAnswerError](err)
			t.server.silence.note(t.rule, r, err)
			t.Blockedf("no answer: %v", err)
		}
		t.server.silence.noteGateway(t.rule, r, a)
		t.unmasked = append(t.unmasked, a)
		t.all = append(t.all, a)
		t.seen = a
		t.kept += len(a.Body)
		if t.kept > maxKept {
			t.Blockedf("the server's answers to this check are larger than %d MiB", maxKept>>20)
		}
		t.server.noteCredentials(a)
		wait := retryAfter(a)
		if wait == 0 {
			return a
		}
		if waited+wait > patience {
			t.Blockedf("the server limits the rate of requests: it answers 429 (Retry-After: %s)", a.Header.Get("Retry-After"))
		}
		waited += wait
		if t.waits != nil {
			t.waits(wait, t.limited(r))
		}
		t.Pause(wait)
		if r.GetBody != nil {
			r.Body, _ = r.GetBody() // the body is a string, so this cannot fail
		}
	}
}

// limited names what a server limits that answers a request with 429.
func (t *T) limited(r *http.Request) string {
	if endpoint := t.server.Endpoint(need.Registration); endpoint != "" && r.URL.String() == endpoint {
		return "registrations"
	}
	return "requests"
}

func retryAfter(a *wire.Answer) time.Duration {
	if a.Status != http.StatusTooManyRequests {
		return 0
	}
	seconds, err := strconv.Atoi(a.Header.Get("Retry-After"))
	if err != nil || seconds < 1 {
		seconds = 5
	}
	return time.Duration(min(seconds, 3600)) * time.Second // a larger number would overflow
}

// WantStatus asserts that the status is one of several.
func (t *T) WantStatus(a *wire.Answer, statuses ...int) {
	if !slices.Contains(statuses, a.Status) {
		t.At(a)
		t.Errorf("the answer is %s, want %s", a, join(statuses))
	}
}

// WantError asserts an error response with one of the codes (RFC 6749 §5.2). If tokens were issued, the check is
// blocked.
func (t *T) WantError(a *wire.Answer, codes ...string) {
	t.Refused(a)
	code := a.Text("error")
	if !slices.Contains(codes, code) {
		t.At(a)
		t.Errorf("the answer is %s with error %q, want %s", a, code, strings.Join(codes, " or "))
	}
}

// WantRefused asserts that no token was issued. How the server says so is not asserted: other rules are about the error
// response (RFC 6749 §5.2).
func (t *T) WantRefused(a *wire.Answer, why string) {
	t.At(a)
	if a.Granted() {
		t.Failf("tokens were issued, although %s", why)
	}
}

// Refused blocks the check if a token was issued for a request that is wrong on purpose. Another check reports this.
func (t *T) Refused(a *wire.Answer) {
	if a.Granted() {
		t.Blockedf("tokens were issued for a request that is wrong on purpose")
	}
}

// WantGranted asserts that a token was issued. If the credentials of the target may be wrong, the check is blocked.
func (t *T) WantGranted(a *wire.Answer) *Tokens {
	if !a.Granted() {
		t.At(a)
		if t.server.mistaken(a) != "" {
			t.Granted(a)
		}
		t.Failf("no access token was issued: %s", a.Failure())
	}
	return TokensOf(a)
}

func join[E any](list []E) string {
	var words []string
	for _, e := range list {
		words = append(words, fmt.Sprint(e))
	}
	return strings.Join(words, " or ")
}
