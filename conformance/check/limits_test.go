package check

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"mandate/conformance/wire"
)

// A Retry-After that does not fit into a duration does not repeat a request without a pause.
func TestRetryAfterOverflow(t *testing.T) {
	for header, want := range map[string]time.Duration{"18446744073": time.Hour, "9223372037": time.Hour,
		"99999999999999999999": 5 * time.Second, "-1": 5 * time.Second, "2": 2 * time.Second, "": 5 * time.Second} {
		a := &wire.Answer{Status: http.StatusTooManyRequests, Header: http.Header{"Retry-After": {header}}}
		if got := retryAfter(a); got != want {
			t.Errorf("%q: %s, want %s", header, got, want)
		}
	}
}

// A check that waits for the server says for how long, and what the server limits.
func TestWaitIsTold(t *testing.T) {
	tries := map[string]int{}
	server := newSite(t, func(w http.ResponseWriter, r *http.Request) {
		tries[r.URL.Path]++
		if tries[r.URL.Path] == 1 {
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusTooManyRequests)
		}
	})
	s := serverOf(server.URL, Metadata{"registration_endpoint": server.URL + "/register"})
	var told []string
	check := &T{server: s, ctx: t.Context()}
	check.TellWaits(func(d time.Duration, of string) { told = append(told, d.String()+" "+of) })
	check.Get(server.URL + "/register")
	check.Get(server.URL + "/token")
	if got := strings.Join(told, ", "); got != "1s registrations, 1s requests" {
		t.Errorf("it tells of %s", got)
	}
}

// A check keeps all answers, so it ends when they become too large.
func TestKeptAnswers(t *testing.T) {
	body := strings.Repeat("x", 1<<20)
	server := newSite(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(body)) })
	s := serverOf(server.URL, Metadata{})
	check := &T{server: s, ctx: t.Context()}
	ended := func() (ended any) {
		defer func() { ended = recover() }()
		for range 100 {
			check.Get(server.URL)
		}
		return nil
	}()
	result, _ := ended.(stop)
	if n := len(server.requests()); result.status != Blocked || !strings.Contains(result.reason, "larger than 32 MiB") ||
		n != 33 {
		t.Errorf("after %d requests: %s: %s", n, result.status, result.reason)
	}
}
