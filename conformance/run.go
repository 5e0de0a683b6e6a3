package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Status is how a check ended.
type Status string

const (
	Pass    Status = "pass"
	Fail    Status = "fail"
	Skip    Status = "skip"    // the target has not what it takes
	Blocked Status = "blocked" // another step, which is not what is checked, did not work
	Broken  Status = "broken"  // the check itself is wrong

	// Nobody wrote a check.
	Unobservable Status = "not observable from outside"
	Inapplicable Status = "not applicable" // it asks nothing of Mandate
)

// Result is what became of one rule.
type Result struct {
	Rule       Rule
	Status     Status
	Reason     string
	Exchange   *Exchange // what a failure was seen in
	Earlier    int       // requests before that one
	Undeclared []Need    // used by the check, and not in its Needs
	Duration   time.Duration
}

// Runner checks one server.
type Runner struct {
	Target   *Target
	Metadata map[string]any // of the server, empty if it publishes none

	network  *network
	mask     *mask
	origins  map[string]bool // of the server's pages
	workers  int
	found    string     // where the metadata was
	signedIn *jar       // of the browser in which the user has signed in
	walking  sync.Mutex // by that browser
	made     []*Client
	refusals map[Need]error // why a client was not registered
	mu       sync.Mutex
	entered  atomic.Bool // the password was right once
	refused  atomic.Bool // it was wrong: no more guesses at somebody's account
	listens  *listener   // for logout tokens, once a check has wanted one
	visited  sync.Map    // the sid of each visit
}

// NewRunner finds the server's metadata, and registers clients if the target says so. Close removes them.
func NewRunner(ctx context.Context, target *Target, o Options) (*Runner, error) {
	if o.Workers <= 0 {
		o.Workers = 4
	}
	r := &Runner{Target: target, Metadata: map[string]any{}, network: newNetwork(o), mask: newMask(), origins: map[string]bool{}, workers: o.Workers, signedIn: newJar(), refusals: map[Need]error{}}
	if r.Target.Clients == nil {
		r.Target.Clients = map[Need]*Client{}
	}
	err := r.discover(ctx)
	if err != nil {
		return nil, err
	}
	for _, address := range append([]string{target.Issuer, r.endpoint(NeedAuthorization)}, target.Origins...) {
		if address != "" {
			r.origins[origin(address)] = true
		}
	}
	if target.Register {
		err = r.register(ctx)
		var left error
		if err != nil {
			left = r.Close(context.WithoutCancel(ctx))
		}
		if left != nil {
			return nil, fmt.Errorf("%v; %w", err, left) // who was interrupted has to know of it
		}
		if err != nil {
			return nil, err
		}
	}
	r.mask.add("password", target.User.Password)
	for _, role := range slices.Sorted(maps.Keys(target.Clients)) {
		r.mask.add(string(role)+"_secret", target.Clients[role].Secret)
	}
	return r, nil
}

// metadataAddresses are where an issuer's metadata may be.
//
// RFC 8414 §3.1: the well-known part comes between host and path. OIDC Discovery §4 puts it behind.
func metadataAddresses(issuer string) []string {
	u, err := url.Parse(issuer)
	if err != nil {
		return nil
	}
	root, path := u.Scheme+"://"+u.Host, strings.TrimSuffix(u.EscapedPath(), "/")
	addresses := []string{root + "/.well-known/oauth-authorization-server" + path}
	if path != "" {
		addresses = append(addresses, root+path+"/.well-known/openid-configuration")
	}
	return append(addresses, root+"/.well-known/openid-configuration"+path)
}

var errNoMetadata = errors.New("publishes no metadata (RFC 8414, OIDC Discovery)")

// discover reads the metadata. A server that has none can be checked if the target names its endpoints.
func (r *Runner) discover(ctx context.Context) error {
	var first *Answer
	for _, address := range metadataAddresses(r.Target.Issuer) {
		request, err := http.NewRequest(http.MethodGet, address, nil)
		if err != nil {
			return err
		}
		a, err := r.network.do(ctx, request)
		if err != nil {
			return err
		}
		if first == nil {
			first = a
		}
		var found map[string]any
		err = json.Unmarshal(a.Body, &found)
		if a.Status == http.StatusOK && err == nil && found["issuer"] != nil {
			r.Metadata, r.found = found, address
			return nil
		}
	}
	if r.endpoint(NeedToken) == "" {
		return fmt.Errorf("%s %w: %s answers %s. Put the issuer right, or name authorization_endpoint, token_endpoint and others as endpoints in the target file",
			r.Target.Issuer, errNoMetadata, bare(first.URL), first)
	}
	return nil
}

// endpoint finds an endpoint by its name in the metadata; the target's word comes first.
func (r *Runner) endpoint(name Need) string {
	if named := r.Target.Endpoints[string(name)]; named != "" {
		return named
	}
	published, _ := r.Metadata[string(name)].(string)
	return published
}

func origin(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return address
	}
	return u.Scheme + "://" + u.Host
}

// lacks says why a need is not there, or "".
func (r *Runner) lacks(n Need) string {
	switch {
	case n == NeedUser && r.Target.User.Username == "":
		return "the target has no user"
	case n == NeedAPI && r.Target.API.URL == "":
		return "the target names no api"
	case n == NeedOpenID && !r.openID():
		return "the server is no OpenID Provider: it does not list the scope openid"
	case n == NeedBackchannel && r.Target.Backchannel == "":
		return "the target has no backchannel address to listen at"
	case n.role() && r.Target.Clients[n] == nil:
		if refusal := r.refusals[n]; refusal != nil {
			return fmt.Sprintf("the server did not register the client %s: %s", n, refusal)
		}
		role, _ := roleOf(n)
		return fmt.Sprintf("the target has no client %s: %s", n, role.Is)
	case n.endpoint() && r.endpoint(n) == "":
		return fmt.Sprintf("the server names no %s", n)
	}
	return ""
}

func (r *Runner) openID() bool {
	scopes, _ := r.Metadata["scopes_supported"].([]any)
	for _, s := range scopes {
		if s == "openid" {
			return true
		}
	}
	return r.Metadata["id_token_signing_alg_values_supported"] != nil
}

// Check tries one rule.
func (r *Runner) Check(ctx context.Context, rule Rule) (result Result) {
	if status, reason := rule.unchecked(); status != "" {
		return Result{Rule: rule, Status: status, Reason: reason}
	}
	for _, n := range rule.Needs {
		if reason := r.lacks(n); reason != "" {
			return Result{Rule: rule, Status: Skip, Reason: reason}
		}
	}
	ctx, cancel := context.WithTimeout(ctx, checkTime)
	defer cancel()
	t := &T{run: r, ctx: ctx, rule: rule, mask: r.mask.clone(), used: map[Need]bool{}}
	began := time.Now()
	defer func() {
		result = t.result(recover())
		result.Duration = time.Since(began)
	}()
	rule.Check(t)
	return Result{}
}

// checkTime bounds one check: the slowest of them waits for a throttle more than once.
const checkTime = 3 * time.Minute

// result makes one of how a check ended.
func (t *T) result(cause any) Result {
	result := Result{Rule: t.rule, Status: Pass, Undeclared: t.undeclared()}
	ended, stopped := cause.(stop)
	switch {
	case cause != nil && !stopped:
		result.Status, result.Reason = Broken, fmt.Sprintf("the check panicked: %v\n%s", cause, debug.Stack())
	case len(t.problems) > 0:
		result.Status, result.Reason = Fail, strings.Join(t.problems, "\n")
	case stopped:
		result.Status, result.Reason = ended.status, ended.reason
	}
	result.Reason = printable(t.mask.hide(result.Reason))
	if t.seen != nil && (result.Status == Fail || result.Status == Blocked) {
		shown := t.mask.exchange(t.seen)
		result.Exchange, result.Earlier = &shown, t.earlier
	}
	return result
}

// Run checks rules, a few at a time, and those that want to be alone one by one at the end. It tells
// progress of each that is done.
func (r *Runner) Run(ctx context.Context, rules []Rule, progress func(Result)) *Report {
	report := &Report{Issuer: r.Target.Issuer, Began: time.Now().UTC(), Results: make([]Result, len(rules))}
	var mu sync.Mutex
	check := func(i int) {
		result := r.Check(ctx, rules[i])
		mu.Lock()
		defer mu.Unlock()
		report.Results[i] = result
		progress(result)
	}
	work := make(chan int)
	var group sync.WaitGroup
	for range r.workers {
		group.Go(func() {
			for i := range work {
				check(i)
			}
		})
	}
	for i, rule := range rules {
		if !rule.Alone {
			work <- i
		}
	}
	close(work)
	group.Wait()
	for i, rule := range rules {
		if rule.Alone {
			check(i)
		}
	}
	report.Duration = time.Since(report.Began)
	return report
}
