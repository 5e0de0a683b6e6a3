package request

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"mandate/testkit"
)

// observing returns an observer that logs everything to the buffer. An error is written
// as its text, with status 500.
func observing(change func(*Config)) (*Observer, *bytes.Buffer) {
	log := &bytes.Buffer{}
	c := Config{Log: slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Fail: func(w http.ResponseWriter, r *http.Request, err error) {
			Note(r.Context(), "error", err.Error())
			http.Error(w, "failed", http.StatusInternalServerError)
		}}
	if change != nil {
		change(&c)
	}
	return NewObserver(c), log
}

func status(code int) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) })
}

// serve handles one request without a network.
func serve(h http.Handler, r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func TestHeadersOfEveryResponse(t *testing.T) {
	for _, https := range []bool{false, true} {
		o, _ := observing(func(c *Config) { c.OnlyHTTPS = https })
		var id string
		w := serve(o.Observe(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { id = ID(r) })),
			httptest.NewRequest("GET", "/", nil))
		if id == "" || w.Header().Get("X-Request-Id") != id {
			t.Errorf("the response has the ID %q, the request %q", w.Header().Get("X-Request-Id"), id)
		}
		if w.Header().Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("headers: %v", w.Header())
		}
		// RFC 6797 §7.2: not over http.
		if (w.Header().Get("Strict-Transport-Security") != "") != https {
			t.Errorf("https %v: %v", https, w.Header())
		}
	}
}

func TestBodyEndsAtTheLimit(t *testing.T) {
	for limit, want := range map[int64]int64{0: 64 << 10, 100: 100} {
		o, _ := observing(func(c *Config) { c.MaxBodyBytes = limit })
		for extra, fits := range map[int64]bool{0: true, 1: false} {
			var err error
			h := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { _, err = io.ReadAll(r.Body) })
			serve(o.Observe(h), httptest.NewRequest("POST", "/", strings.NewReader(strings.Repeat("x", int(want+extra)))))
			big, tooBig := errors.AsType[*http.MaxBytesError](err)
			if tooBig == fits || tooBig && big.Limit != want {
				t.Errorf("limit %d, %d bytes: %v", limit, want+extra, err)
			}
		}
	}
}

func TestPanicBeforeTheResponseIsAnError(t *testing.T) {
	o, log := observing(nil)
	w := serve(o.Observe(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("the lamp fell") })),
		httptest.NewRequest("GET", "/", nil))
	if w.Code != http.StatusInternalServerError || strings.Contains(w.Body.String(), "lamp") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if text := log.String(); !strings.Contains(text, "the lamp fell") || !strings.Contains(text, "observer_test.go") ||
		!strings.Contains(text, "level=ERROR") {
		t.Errorf("log: %s", text)
	}
}

func TestPanicInTheFormatOfTheRoute(t *testing.T) {
	o, _ := observing(nil)
	h := o.Route("/here/", http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		RecordOf(r.Context()).Fail = func(w http.ResponseWriter, _ *http.Request, _ error) {
			w.WriteHeader(http.StatusTeapot)
		}
		panic("the lamp fell")
	}))
	if w := serve(o.Observe(h), httptest.NewRequest("GET", "/here/", nil)); w.Code != http.StatusTeapot {
		t.Errorf("status %d", w.Code)
	}
}

// The client must not take a part of a response for the whole.
func TestPanicWithinTheResponseAbortsTheConnection(t *testing.T) {
	for cause, logged := range map[any]bool{"the lamp fell": true, http.ErrAbortHandler: false} {
		o, log := observing(nil)
		aborted := func() (abort any) {
			defer func() { abort = recover() }()
			serve(o.Observe(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				_, _ = io.WriteString(w, `{"a":`)
				panic(cause)
			})), httptest.NewRequest("GET", "/", nil))
			return nil
		}()
		if aborted != http.ErrAbortHandler {
			t.Errorf("%v: the handler ends with %v", cause, aborted)
		}
		text := log.String()
		if strings.Contains(text, "panic: the lamp fell") != logged ||
			strings.Contains(text, "outcome=server_error") != logged || !strings.Contains(text, "aborted=true") {
			t.Errorf("%v: log: %s", cause, text)
		}
	}
}

func TestLogLine(t *testing.T) {
	o, log := observing(func(c *Config) {
		c.Watch.Begin = func(r *http.Request) (context.Context, string, func(Seen)) {
			return r.Context(), "trace-1", func(Seen) {}
		}
	})
	h := o.Route("/o/token/", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		Note(r.Context(), "empty", "")
		Note(r.Context(), "client", "first")
		Note(r.Context(), "client", "second")
		Note(r.Context(), "subject", nil)
		RecordOf(r.Context()).Grant = "password"
		Outcome(r.Context(), "ok")
		w.WriteHeader(http.StatusCreated)
		w.WriteHeader(http.StatusOK) // has no effect
	}))
	r := httptest.NewRequest("POST", "/o/token/?code=secret", nil)
	r.RemoteAddr = "192.0.2.7:1"
	w := serve(o.Observe(h), r)
	for _, want := range []string{"level=INFO", "msg=request", "request=" + w.Header().Get("X-Request-Id"), "method=POST",
		"route=/o/token/", "status=201", "duration=",
		"grant_type=password", "outcome=ok", "address=192.0.2.7", "trace=trace-1", "client=second"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("no %s in %s", want, log)
		}
	}
	for _, wrong := range []string{"secret", "first", "subject", "empty"} {
		if strings.Contains(log.String(), wrong) {
			t.Errorf("%s in %s", wrong, log)
		}
	}
}

func TestLevelOfTheLogLine(t *testing.T) {
	for _, test := range []struct {
		quiet  bool
		status int
		want   string
	}{{false, 200, "INFO"}, {false, 404, "INFO"}, {true, 200, "DEBUG"}, {true, 404, "DEBUG"}, {false, 500, "ERROR"},
		{true, 503, "ERROR"}} {
		o, log := observing(nil)
		serve(o.Observe(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			RecordOf(r.Context()).Quiet = test.quiet
			w.WriteHeader(test.status)
		})), httptest.NewRequest("GET", "/", nil))
		if !strings.Contains(log.String(), "level="+test.want+" ") {
			t.Errorf("quiet %v, status %d: %s", test.quiet, test.status, log)
		}
	}
}

func TestWatch(t *testing.T) {
	type mark struct{}
	var routes, ended []string
	o, _ := observing(func(c *Config) {
		c.Watch.Route = func(pattern string) func(Seen) {
			routes = append(routes, pattern)
			return func(s Seen) { ended = append(ended, fmt.Sprint("route ", pattern, " ", s.Route, " ", s.Status)) }
		}
		c.Watch.Begin = func(r *http.Request) (context.Context, string, func(Seen)) {
			return context.WithValue(r.Context(), mark{}, 1), "",
				func(s Seen) { ended = append(ended, fmt.Sprint("trace ", s.Route, " ", s.Status)) }
		}
	})
	here := o.Route("/here/", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Context().Value(mark{}) == nil {
			t.Error("the handler does not get the context of the trace")
		}
		_, _ = io.WriteString(w, "x")
	}))
	serve(o.Observe(here), httptest.NewRequest("GET", "/here/", nil))
	serve(o.Observe(status(404)), httptest.NewRequest("GET", "/there/", nil))
	gone, leave := context.WithCancel(t.Context())
	leave()
	serve(o.Observe(status(503)), httptest.NewRequest("GET", "/", nil).WithContext(gone))
	serve(o.Observe(status(404)), httptest.NewRequest("GET", "/", nil).WithContext(gone))
	if want := []string{unmatched, "/here/"}; !slices.Equal(routes, want) {
		t.Errorf("routes %v, want %v", routes, want)
	}
	want := []string{"route /here/ /here/ 200", "trace /here/ 200", "route unmatched unmatched 404", "trace unmatched 404",
		// A client that has left causes no 5xx that an operator must look into.
		"route unmatched unmatched 499", "trace unmatched 499", "route unmatched unmatched 404", "trace unmatched 404"}
	if !slices.Equal(ended, want) {
		t.Errorf("ended: %q\nwant:  %q", ended, want)
	}
}

func TestNoWatchAndNoLog(t *testing.T) {
	o := NewObserver(Config{})
	if w := serve(o.Observe(o.Route("/", status(204))), httptest.NewRequest("GET", "/", nil)); w.Code != 204 {
		t.Errorf("status %d", w.Code)
	}
	if rec := RecordOf(t.Context()); rec == nil || rec.id != "" {
		t.Errorf("record %v", rec)
	}
}

// Requests that are refused, at the same time, some with a header of a proxy.
func TestObserverAtOnce(t *testing.T) {
	o := NewObserver(Config{Log: slog.New(slog.DiscardHandler)})
	served := o.Observe(http.NotFoundHandler())
	ask := func() {
		r := httptest.NewRequest("GET", "/", nil)
		r.Header.Set("X-Forwarded-For", "192.0.2.1")
		served.ServeHTTP(httptest.NewRecorder(), r)
	}
	testkit.AtOnce(ask, ask, ask)
}
