package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"mandate/conformance/browser"
	"mandate/conformance/check"
	"mandate/conformance/need"
	"mandate/conformance/target"
	"mandate/conformance/wire"
)

// door is a server with a login page. The correct password leads to the client without another page.
type door struct {
	*httptest.Server
	mu     sync.Mutex
	logins map[string]int // by password
}

func newDoor(t *testing.T) *door {
	t.Helper()
	d := &door{logins: map[string]int{}}
	mux := http.NewServeMux()
	d.Server = httptest.NewServer(mux)
	t.Cleanup(d.Close)
	mux.HandleFunc("/.well-known/oauth-authorization-server", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(map[string]any{"issuer": d.URL, "authorization_endpoint": d.URL + "/authorize",
			"token_endpoint": d.URL + "/token"})
	})
	mux.HandleFunc("/authorize", func(w http.ResponseWriter, r *http.Request) {
		_ = r.ParseForm()
		password := r.PostForm.Get("password")
		if r.Method == http.MethodPost {
			d.mu.Lock()
			d.logins[password]++
			d.mu.Unlock()
		}
		session, err := r.Cookie("session")
		switch {
		case password == "open sesame" && !r.Form.Has("mistake"):
			http.SetCookie(w, &http.Cookie{Name: "session", Value: "a-session-of-alice"})
		case err != nil || session.Value == "":
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w,
				`<form method="post"><input name="login"><input type="password" name="password"><button>Go</button></form>`)
			return
		}
		http.Redirect(w, r, r.Form.Get("redirect_uri")+"?"+url.Values{"code": {"a-code"}, "state": r.Form["state"]}.Encode(),
			http.StatusFound)
	})
	mux.HandleFunc("/token", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadRequest) })
	return d
}

func (d *door) tried(password string) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.logins[password]
}

// run checks rules with a password.
func (d *door) run(t *testing.T, password string, rules ...check.Rule) []check.Result {
	t.Helper()
	return d.runAs(t.Context(), t, password, rules...)
}

// runUntil checks rules until the context ends.
func (d *door) runUntil(ctx context.Context, t *testing.T, rules ...check.Rule) []check.Result {
	t.Helper()
	return d.runAs(ctx, t, "open sesame", rules...)
}

func (d *door) runAs(ctx context.Context, t *testing.T, password string, rules ...check.Rule) []check.Result {
	t.Helper()
	of := &target.Target{Issuer: d.URL, User: target.User{Username: "alice", Password: password},
		Clients: map[need.Need]*target.Client{
			need.Code: {ID: "client", Secret: "a-secret", RedirectURIs: []string{"https://client.example/code"}}}}
	err := of.Check()
	if err != nil {
		t.Fatal(err)
	}
	runner, err := NewRunner(t.Context(), of, nil, wire.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range rules {
		rules[i].ID, rules[i].Level = fmt.Sprintf("TEST/1/rule-%d", i), check.Must
	}
	var told []string
	report := runner.Run(ctx, rules, func(r check.Result) { told = append(told, r.Rule.ID) })
	if slices.Sort(told); len(slices.Compact(told)) != len(rules) {
		t.Errorf("progress is told of %v", told)
	}
	return report.Results
}

// A check that fails beside others, and passes alone, is flaky. A check that fails alone has failed.
func TestRunRepeats(t *testing.T) {
	d := newDoor(t)
	var mu sync.Mutex
	runs := map[string]int{}
	nth := func(name string) int {
		mu.Lock()
		defer mu.Unlock()
		runs[name]++
		return runs[name]
	}
	results := d.run(t, "open sesame",
		check.Rule{Check: func(t *check.T) {
			n := nth("flaky")
			t.Get(fmt.Sprintf("%s/run-%d", t.Issuer(), n))
			if n == 1 {
				t.Errorf("it fails at first")
			}
		}},
		check.Rule{Check: func(t *check.T) { nth("always"); t.Get(t.Issuer() + "/always"); t.Errorf("it always fails") }},
		check.Rule{Check: func(t *check.T) {
			if nth("blocked") == 1 {
				t.Blockedf("it is blocked at first")
			}
		}},
		check.Rule{Check: func(t *check.T) { nth("passes") }},
		check.Rule{Check: func(t *check.T) {
			n := nth("undecided")
			t.Get(fmt.Sprintf("%s/undecided-%d", t.Issuer(), n))
			if n == 1 {
				t.Failf("it fails at first")
			}
			t.Blockedf("there is no code")
		}},
		check.Rule{Alone: true, Check: func(t *check.T) { nth("stuck"); t.Blockedf("it is always blocked") }},
	)
	for i, want := range []check.Status{check.Flaky, check.Fail, check.Pass, check.Pass, check.Blocked, check.Blocked} {
		if results[i].Status != want {
			t.Errorf("rule %d: %s %s, want %s", i, results[i].Status, results[i].Reason, want)
		}
	}
	flaky := results[0]
	if flaky.Exchange == nil || !strings.Contains(flaky.Exchange.Sent, "/run-1") || flaky.Second == nil ||
		!strings.Contains(flaky.Second.Sent, "/run-2") {
		t.Errorf("the flaky rule has the exchanges %+v and %+v", flaky.Exchange, flaky.Second)
	}
	undecided := results[4]
	if undecided.Exchange == nil || !strings.Contains(undecided.Exchange.Sent, "/undecided-1") ||
		undecided.Second == nil || !strings.Contains(undecided.Second.Sent, "/undecided-2") ||
		undecided.Reason != "The check could not be repeated alone: there is no code\nBeside other checks it had failed: "+
			"it fails at first" {
		t.Errorf("the undecided rule has the reason %q and the exchanges %+v and %+v", undecided.Reason, undecided.Exchange,
			undecided.Second)
	}
	var text strings.Builder
	err := (&Report{Results: results[4:5]}).Text(&text)
	if err != nil || !strings.Contains(text.String(), "/undecided-1") ||
		!strings.Contains(text.String(), "when it was repeated alone:") {
		t.Errorf("%v: the report does not show both exchanges:\n%s", err, &text)
	}
	if want := map[string]int{"flaky": 2, "always": 2, "blocked": 2, "passes": 1, "undecided": 2,
		"stuck": 2}; fmt.Sprint(runs) != fmt.Sprint(want) {
		t.Errorf("the checks ran %v times, want %v", runs, want)
	}
	report := &Report{Results: results[:1]}
	if report.Failed() || !strings.Contains(report.Summary(), "1 flaky") {
		t.Errorf("a flaky rule: failed is %t, %s", report.Failed(), report.Summary())
	}
}

// The failure shows the exchange of the first assertion that failed, and the requests before it.
func TestRunShowsTheFailedAssertion(t *testing.T) {
	d := newDoor(t)
	results := d.run(t, "open sesame", check.Rule{Check: func(t *check.T) {
		t.Get(t.Issuer() + "/before")
		t.Get(t.Issuer() + "/wrong")
		t.Errorf("this is wrong")
		t.Errorf("this is wrong")
		t.Get(t.Issuer() + "/after")
		t.Errorf("this too")
	}})
	got := results[0]
	if got.Exchange == nil || !strings.Contains(got.Exchange.Sent, "/wrong") ||
		!strings.Contains(got.Exchange.Repeat, "/wrong") || got.Earlier != 1 ||
		len(got.Steps) != 1 || !strings.Contains(got.Steps[0], "/before -> 404") || got.Reason != "this is wrong\nthis too" {
		t.Errorf("%q after %d, steps %q: %+v", got.Reason, got.Earlier, got.Steps, got.Exchange)
	}
}

// Each check has a session of its own, and continues it.
func TestRunSessions(t *testing.T) {
	d := newDoor(t)
	var mu sync.Mutex
	used := map[*browser.Jar]bool{}
	rules := slices.Repeat([]check.Rule{{Check: func(t *check.T) {
		b := t.SignedIn()
		mu.Lock()
		if used[b.Jar()] {
			t.Errorf("another check uses the session")
		}
		used[b.Jar()] = true
		mu.Unlock()
		for range 2 {
			t.Code(t.Request(t.Client(need.Code)))
		}
		if t.SignIns(t.SignedIn()) != 1 {
			t.Errorf("the password was entered %d times", t.SignIns(b))
		}
	}}}, 12)
	for _, result := range d.run(t, "open sesame", rules...) {
		if result.Status != check.Pass {
			t.Errorf("%s: %s", result.Status, result.Reason)
		}
	}
}

// A password that the server refuses is sent once. A refusal that a check causes by a mistake of its own concerns no
// other check.
func TestRunPassword(t *testing.T) {
	signIn := check.Rule{Check: func(t *check.T) { t.Code(t.Request(t.Client(need.Code))) }}
	d := newDoor(t)
	for _, result := range d.run(t, "wrong password", signIn, signIn, signIn, signIn, signIn, signIn) {
		if result.Status != check.Blocked || !strings.Contains(result.Reason, "user.password of the target") {
			t.Errorf("%s: %s", result.Status, result.Reason)
		}
	}
	if n := d.tried("wrong password"); n != 1 {
		t.Errorf("the wrong password was sent %d times", n)
	}
	mistake := check.Rule{Check: func(t *check.T) {
		t.Code(t.Request(t.Client(need.Code))) // the correct password leads to the client without another page
		b := t.NewBrowser()
		r := t.Walk(b, t.Request(t.Client(need.Code)).Set("mistake", "1"), true)
		if t.SignIns(b) != 1 {
			t.Errorf("the password was entered %d times", t.SignIns(b))
		}
		t.WantRedirectError(r, "invalid_request")
	}}
	results := d.run(t, "open sesame", mistake, signIn, signIn, mistake, signIn)
	for i, result := range results {
		want := check.Pass
		if i == 0 || i == 3 {
			want = check.Blocked
		}
		if result.Status != want || want == check.Blocked &&
			!strings.Contains(result.Reason, "it accepted the same password before") {
			t.Errorf("rule %d: %s %s, want %s", i, result.Status, result.Reason, want)
		}
	}
}

// A person does not decide twice at the same moment for the same client: a server may then store two consents.
func TestRunDecidesOneAfterTheOther(t *testing.T) {
	mux := http.NewServeMux()
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	var deciding atomic.Int32
	another := make(chan struct{}, 10)
	mux.HandleFunc("GET /authorize", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w,
			`<form method="post" action="/decide"><input type="hidden" name="to" value="%s"><button>Allow</button></form>`,
			r.URL.Query().Get("redirect_uri"))
	})
	mux.HandleFunc("POST /decide", func(w http.ResponseWriter, r *http.Request) {
		if deciding.Add(1) > 1 {
			another <- struct{}{}
		}
		defer deciding.Add(-1)
		select {
		case <-another:
			t.Error("two checks decide at the same moment")
		case <-time.After(100 * time.Millisecond): // the other checks are at their consent pages by then
		}
		http.Redirect(w, r, r.PostFormValue("to")+"?code=a-code", http.StatusSeeOther)
	})
	of := &target.Target{Issuer: server.URL, User: target.User{Username: "alice", Password: "open sesame"},
		Endpoints: map[string]string{"authorization_endpoint": server.URL + "/authorize",
			"token_endpoint": server.URL + "/token"},
		Clients: map[need.Need]*target.Client{need.Code: {ID: "client", Secret: "a-secret",
			RedirectURIs: []string{"https://client.example/code"}}}}
	err := of.Check()
	if err != nil {
		t.Fatal(err)
	}
	runner, err := NewRunner(t.Context(), of, nil, wire.Options{})
	if err != nil {
		t.Fatal(err)
	}
	rule := check.Rule{ID: "TEST/1/decide", Level: check.Must,
		Check: func(t *check.T) { t.Code(t.Request(t.Client(need.Code))) }}
	for _, result := range runner.Run(t.Context(), slices.Repeat([]check.Rule{rule}, 4), func(check.Result) {}).Results {
		if result.Status != check.Pass {
			t.Errorf("%s: %s", result.Status, result.Reason)
		}
	}
}
