package check

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"mandate/conformance/need"
	"mandate/conformance/target"
	"mandate/conformance/wire"
)

// T is what a check gets. What a check is about, it asserts by Errorf, Failf and the Want methods; a step
// on the way that does not work blocks it. So one fault of a server fails the check that names it, and the
// others say that they could not look.
type T struct {
	server *Server
	ctx    context.Context
	rule   Rule
	mask   *wire.Mask

	used     map[need.Need]bool
	seen     *wire.Answer // the exchange that a failure is shown with
	earlier  int          // exchanges before it
	count    int
	problems []string
}

// stop ends a check early.
type stop struct {
	status Status
	reason string
}

// Errorf notes that the rule does not hold, and goes on.
func (t *T) Errorf(format string, args ...any) {
	t.problems = append(t.problems, fmt.Sprintf(format, args...))
}

// Failf notes that the rule does not hold, and ends the check.
func (t *T) Failf(format string, args ...any) {
	t.Errorf(format, args...)
	panic(stop{Fail, ""})
}

// Skipf ends a check for which the target has not what it takes.
func (t *T) Skipf(format string, args ...any) { panic(stop{Skip, fmt.Sprintf(format, args...)}) }

// Blockedf ends a check that cannot get to what it looks at.
func (t *T) Blockedf(format string, args ...any) { panic(stop{Blocked, fmt.Sprintf(format, args...)}) }

// Last is the answer that a failure is shown with as things stand.
func (t *T) Last() *wire.Answer { return t.seen }

// Pause waits for a while.
func (t *T) Pause(d time.Duration) {
	select {
	case <-time.After(d):
	case <-t.ctx.Done():
		t.Blockedf("no answer: %v", t.ctx.Err())
	}
}

// At makes an answer the one that a failure is shown with; until then it is the last one.
func (t *T) At(a *wire.Answer) { t.seen = a }

// Require ends the check if the target lacks something.
func (t *T) Require(n need.Need) {
	t.used[n] = true
	if reason := t.server.lacks(n); reason != "" {
		t.Skipf("%s", reason)
	}
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

// Has says whether the target has something, for a check that can do without.
func (t *T) Has(n need.Need) bool { return t.server.lacks(n) == "" }

// Client is the target's client of a role.
func (t *T) Client(role need.Need) *target.Client {
	t.Require(role)
	return t.server.Target.Clients[role]
}

// User is the target's.
func (t *T) User() target.User {
	t.Require(need.User)
	return t.server.Target.User
}

// API is the target's.
func (t *T) API() target.API {
	t.Require(need.API)
	return t.server.Target.API
}

// Endpoint is the address of an endpoint, by its name in the metadata.
func (t *T) Endpoint(name need.Need) string {
	t.Require(name)
	return t.server.Endpoint(name)
}

// Issuer is the server's identifier, as the target has it.
func (t *T) Issuer() string { return t.server.Target.Issuer }

// Metadata is what the server publishes of itself, empty if nothing.
func (t *T) Metadata() Metadata { return t.server.Metadata }

// OptionalClient is the target's client of a role, or nil, for a check that can do without.
func (t *T) OptionalClient(role need.Need) *target.Client { return t.server.Target.Clients[role] }

// OptionalEndpoint is the address of an endpoint, or "", for a check that can do without.
func (t *T) OptionalEndpoint(name need.Need) string { return t.server.Endpoint(name) }

// MetadataAddress is where the metadata was found, or "".
func (t *T) MetadataAddress() string { return t.server.found }

// Scoped says whether the target names the scope of authorization requests.
func (t *T) Scoped() bool { return t.server.Target.Scope != "" }

// Random is text that nobody has sent before.
func (t *T) Random() string { return rand.Text() }

// Get fetches an address.
func (t *T) Get(address string, as ...wire.Auth) *wire.Answer {
	return t.Send(http.MethodGet, address, "", "", as...)
}

// Post sends a form.
func (t *T) Post(address string, form url.Values, as ...wire.Auth) *wire.Answer {
	header, whole := http.Header{}, url.Values{}
	for name, values := range form {
		whole[name] = slices.Clone(values)
	}
	for _, a := range as {
		a(header, whole)
	}
	return t.Send(http.MethodPost, address, whole.Encode(), wire.FormEncoded, wire.Headers(header))
}

// Send sends any request; as must only add headers.
func (t *T) Send(method, address, body, contentType string, as ...wire.Auth) *wire.Answer {
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

// patience is how long a check waits for a server that asks it to slow down.
const patience = 30 * time.Second

// Do sends a request and follows no redirect. A server that does not answer blocks the check. One that asks
// to slow down is given time: the checks try much that is wrong, and that is what a throttle is for.
func (t *T) Do(r *http.Request) *wire.Answer {
	var waited time.Duration
	for {
		a, err := t.server.network.Do(t.ctx, r)
		if err != nil {
			t.Blockedf("no answer: %v", err)
		}
		t.mask.Learn(a)
		t.seen, t.earlier = a, t.count
		t.count++
		wait := retryAfter(a)
		if wait == 0 {
			return a
		}
		if waited+wait > patience {
			t.Blockedf("the server wants fewer requests: it answers 429 (Retry-After: %s)", a.Header.Get("Retry-After"))
		}
		waited += wait
		t.Pause(wait)
		if r.GetBody != nil {
			r.Body, _ = r.GetBody() // a reader of a string: it cannot fail
		}
	}
}

func retryAfter(a *wire.Answer) time.Duration {
	if a.Status != http.StatusTooManyRequests {
		return 0
	}
	seconds, err := strconv.Atoi(a.Header.Get("Retry-After"))
	if err != nil || seconds < 1 {
		seconds = 5
	}
	return time.Duration(seconds) * time.Second
}

// WantStatus asserts a status, one of several.
func (t *T) WantStatus(a *wire.Answer, statuses ...int) {
	if !slices.Contains(statuses, a.Status) {
		t.At(a)
		t.Errorf("the answer is %s, want %s", a, join(statuses))
	}
}

// WantError asserts an error response with one of the codes (RFC 6749 §5.2). Where nothing was refused there is
// no error to look at.
func (t *T) WantError(a *wire.Answer, codes ...string) {
	t.Refused(a)
	code := a.Text("error")
	if !slices.Contains(codes, code) {
		t.At(a)
		t.Errorf("the answer is %s with error %q, want %s", a, code, strings.Join(codes, " or "))
	}
}

// WantRefused asserts that no token was given. Which error says so is another rule's business; a server that
// breaks down over the request has said nothing.
func (t *T) WantRefused(a *wire.Answer, why string) {
	switch {
	case a.Granted():
		t.At(a)
		t.Failf("tokens were given, although %s", why)
	case a.Status >= http.StatusInternalServerError:
		t.Blockedf("the server broke down: %s", a)
	}
}

// Refused is a step on the way: a server that gives a token where it should not fails another check.
func (t *T) Refused(a *wire.Answer) {
	if a.Granted() {
		t.Blockedf("tokens were given for a request that is wrong on purpose")
	}
}

// WantGranted asserts that a token was given.
func (t *T) WantGranted(a *wire.Answer) *Tokens {
	if !a.Granted() {
		t.At(a)
		t.Failf("no access token was given: %s", a.Failure())
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
