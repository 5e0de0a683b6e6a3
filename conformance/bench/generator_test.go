package main

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"mandate/conformance/bench/load"
)

// TestWaitingForTheServerCounts stalls the server once. All requests that became due meanwhile have waited, even
// those that were not sent yet. If latencies were counted from the sending, only one would be long.
func TestWaitingForTheServerCounts(t *testing.T) {
	const stall = 400 * time.Millisecond
	var asked atomic.Bool
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if !asked.Swap(true) {
			<-time.After(stall)
		}
		give(w, fixed)
	}))
	defer s.Close()
	to, workers, err := bareWorkers(s.URL, path{bare: "fixed"}, 1, 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	o, err := load.Load{To: to, Workers: workers, Rate: 1000, Length: 600 * time.Millisecond}.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if o.Good != 600 || len(o.Wrong) > 0 {
		t.Errorf("%d good answers of 600, and %v", o.Good, o.Wrong)
	}
	// The requests that were due in the first half of the stall waited for at least its other half: 200 of 600.
	if got := o.Latency.Quantile(1 - 200.0/600); got < stall/2 {
		t.Errorf("of three requests one waited for %v or more, want %v", got, stall/2)
	}
	if o.Latency.Max < stall {
		t.Errorf("the longest took %v, and the server stalled for %v", o.Latency.Max, stall)
	}
}

func TestWhatIsNoSuccessCounts(t *testing.T) {
	var n atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		switch n.Add(1) % 4 {
		case 0:
			w.WriteHeader(http.StatusServiceUnavailable)
			give(w, []byte(`{"error":"temporarily_unavailable"}`))
		case 1:
			give(w, []byte(`{"access_token":"same","token_type":"Bearer","expires_in":1}`))
		case 2:
			panic(http.ErrAbortHandler) // cuts the connection
		case 3:
			give(w, []byte(`{"token_type":"Bearer"}`))
		}
	}))
	defer s.Close()
	to, workers, err := clientWorkers(t.Context(), &target{token: s.URL, machine: client{"id", "secret"}}, 1, 0)
	if err != nil {
		t.Fatal(err)
	}
	workers[0] = &counted{workers[0], counter(12)}
	o, err := load.Load{To: to, Workers: workers, Length: time.Minute}.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for kind, want := range map[string]int{"HTTP 503 temporarily_unavailable": 3, "connection closed": 3,
		"200 without access_token": 3, "the same token twice": 2} {
		if o.Wrong[kind] != want {
			t.Errorf("%d x %s, want %d", o.Wrong[kind], kind, want)
		}
	}
	if o.Good != 1 || o.Answers() != 12 {
		t.Errorf("%d good of %d: %v", o.Good, o.Answers(), o.Wrong)
	}
}

// TestAFlowCountsOnce lets each flow take two requests, of which the server answers one slowly. The latency of a flow
// is that of both.
func TestAFlowCountsOnce(t *testing.T) {
	const slow = 20 * time.Millisecond
	var asked atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if asked.Add(1)%2 == 1 {
			<-time.After(slow)
		}
		give(w, fixed)
	}))
	defer s.Close()
	to, err := load.ParseEndpoint(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	ask := func() []byte { return to.Get("/", "") }
	f := &flow{steps: []step{{ask, refused}, {ask, refused}}}
	o, err := load.Load{To: to, Workers: []load.Worker{&counted{f, counter(10)}}, Length: time.Minute}.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if o.Good != 5 || len(o.Wrong) > 0 || o.Latency.Quantile(0.01) < slow {
		t.Errorf("%d good flows of 5 in at least %v, and %v", o.Good, o.Latency.Quantile(0.01), o.Wrong)
	}
}

func TestFieldIsFoundWhereItStands(t *testing.T) {
	for _, c := range []struct{ body, want string }{
		{`{"access_token":"abc"}`, "abc"},
		{`{"x_access_token":"no", "access_token" : "abc"}`, "abc"},
		{`{"scope":"access_token", "access_token":"abc"}`, "abc"},
		{`{"access_token":1}`, ""},
		{`{"access_token":"abc`, ""},
		{`{}`, ""},
	} {
		got := field([]byte(c.body), "access_token")
		if string(got) != c.want {
			t.Errorf("%s: %q, want %q", c.body, got, c.want)
		}
	}
}

func TestLoadEndsWithItsContext(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	defer s.Close()
	to, workers, err := bareWorkers(s.URL, path{bare: "fixed"}, 1, 4, nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer stop()
	began := time.Now()
	o, err := load.Load{To: to, Workers: workers, Length: time.Second}.Run(ctx)
	if err == nil || o.Answers() != 0 || time.Since(began) > load.Grace/2 {
		t.Errorf("after %v: %v, %v", time.Since(began), err, o.Wrong)
	}
}
