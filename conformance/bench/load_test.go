package main

import (
	"context"
	"math"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

func TestHistogramIsExactToOnePercent(t *testing.T) {
	for _, d := range []time.Duration{0, 1, 255, 256, 257, 511, 512, 1023, 1024, 999_999, time.Second, time.Hour, math.MaxInt64} {
		got := middle(step(d))
		if math.Abs(float64(got-d)) > 0.01*float64(d) {
			t.Errorf("%d is counted as %d", d, got)
		}
		if d > 0 && step(d) < step(d-1) {
			t.Errorf("the step of %d is before that of %d", d, d-1)
		}
	}
	source := rand.New(rand.NewPCG(1, 2))
	var whole, first, second histogram
	var all []float64
	for n := range 20_000 {
		d := time.Duration(math.Exp(source.Float64()*18 + 3)) // 20 ns to 1.3 s
		whole.add(d)
		all = append(all, float64(d))
		if n%3 == 0 {
			first.add(d)
		} else {
			second.add(d)
		}
	}
	slices.Sort(all)
	first.merge(second)
	for _, share := range []float64{0.001, 0.5, 0.9, 0.99, 0.999, 1} {
		want := all[int(math.Ceil(share*float64(len(all))))-1]
		for _, h := range []*histogram{&whole, &first} {
			got := float64(h.quantile(share))
			if math.Abs(got-want) > 0.01*want {
				t.Errorf("quantile %v: %v, want %v", share, got, want)
			}
		}
	}
}

func TestQuantileIsTheLeastThatEnoughDoNotExceed(t *testing.T) {
	var h histogram
	if h.quantile(0.5) != 0 {
		t.Error("nothing has a median")
	}
	for n := range 100 {
		h.add(time.Duration(n + 1))
	}
	for _, c := range []struct {
		share float64
		want  time.Duration
	}{{0, 1}, {0.01, 1}, {0.011, 2}, {0.5, 50}, {0.501, 51}, {0.99, 99}, {0.999, 100}, {1, 100}} {
		got := h.quantile(c.share)
		if got != c.want {
			t.Errorf("quantile %v of 1 to 100 is %d, want %d", c.share, got, c.want)
		}
	}
}

func TestRatiosArePaired(t *testing.T) {
	// The machine was three times as fast in the second round and twice as slow in the third.
	got := ratios([]float64{80, 270, 30}, []float64{100, 300, 50})
	want := spread{0.8, 0.6, 0.9}
	for _, pair := range [][2]float64{{got.Median, want.Median}, {got.Min, want.Min}, {got.Max, want.Max}} {
		if math.Abs(pair[0]-pair[1]) > 1e-9 {
			t.Errorf("%v, want %v", got, want)
		}
	}
	if (ratios([]float64{1}, []float64{0}) != spread{}) {
		t.Error("a bare handler that answered nothing gives a ratio")
	}
	if median([]float64{4, 1, 3, 2}) != 2.5 {
		t.Error("the median of four is not between the two in the middle")
	}
}

// TestWaitingForTheServerCounts stalls the server once. All that became due meanwhile has waited, also what was not
// even sent: were latencies counted from the sending, only one would be long.
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
	to, workers, err := bareWorkers(s.URL, path{bare: "fixed"}, 1, 1)
	if err != nil {
		t.Fatal(err)
	}
	o, err := load{to: to, workers: workers, rate: 1000, length: 600 * time.Millisecond}.run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if o.good != 600 || len(o.wrong) > 0 {
		t.Errorf("%d good answers of 600, and %v", o.good, o.wrong)
	}
	// Those that were due in the first half of the stall have waited for the other half at least: 200 of 600.
	if got := o.latency.quantile(1 - 200.0/600); got < stall/2 {
		t.Errorf("of three requests one waited for %v or more, want %v", got, stall/2)
	}
	if o.latency.max < stall {
		t.Errorf("the longest took %v, and the server stalled for %v", o.latency.max, stall)
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
	o, err := load{to: to, workers: workers, length: time.Minute}.run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for kind, want := range map[string]int{"HTTP 503 temporarily_unavailable": 3, "connection closed": 3, "200 without access_token": 3, "a token twice": 2} {
		if o.wrong[kind] != want {
			t.Errorf("%d x %s, want %d", o.wrong[kind], kind, want)
		}
	}
	if o.good != 1 || o.answers() != 12 {
		t.Errorf("%d good of %d: %v", o.good, o.answers(), o.wrong)
	}
}

func TestAnswersInAnyShape(t *testing.T) {
	const body = `{"active": true}`
	for name, sent := range map[string][]string{
		"length":         {"HTTP/1.1 200 OK\r\ncontent-length: 16\r\n\r\n" + body},
		"in pieces":      {"HTTP/1.1 200 O", "K\r\nContent-Length: 16\r", "\n\r", "\n{\"active\"", ": true}"},
		"chunked":        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\n{\"active\"\r\n7;x=y\r\n: true}\r\n0\r\n\r\n"},
		"chunked pieces": {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1", "0\r\n{\"active\"", ": true}\r", "\n0\r\n\r", "\n"},
		"long head":      {"HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", 20_000) + "\r\nContent-Length: 16\r\n\r\n" + body},
	} {
		t.Run(name, func(t *testing.T) {
			ours, theirs := net.Pipe()
			defer ours.Close()
			_ = ours.SetDeadline(time.Now().Add(10 * time.Second)) // a pipe takes one
			c := &conn{Conn: ours, buf: make([]byte, 64)}
			go func() {
				defer theirs.Close()
				read := make([]byte, 64)
				for range 2 { // the connection is good for another one
					_, err := theirs.Read(read)
					for _, part := range sent {
						if err == nil {
							_, err = theirs.Write([]byte(part))
						}
					}
				}
			}()
			for range 2 {
				r, err := c.ask([]byte("GET / HTTP/1.1\r\n\r\n"))
				if err != nil || r.status != 200 || string(r.body) != body {
					t.Fatalf("status %d, body %q, %v", r.status, r.body, err)
				}
			}
		})
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
	to, workers, err := bareWorkers(s.URL, path{bare: "fixed"}, 1, 4)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer stop()
	began := time.Now()
	o, err := load{to: to, workers: workers, length: time.Second}.run(ctx)
	if err == nil || o.answers() != 0 || time.Since(began) > grace/2 {
		t.Errorf("after %v: %v, %v", time.Since(began), err, o.wrong)
	}
}
