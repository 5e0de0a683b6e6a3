package request

import (
	"bytes"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestRefusalsAreBoundedInTheLog(t *testing.T) {
	// server answers with a status, to an address.
	type ask func(address string, status int)
	var o *Observer
	begin := func(t *testing.T, rule string, test func(t *testing.T, ask ask, log *bytes.Buffer)) {
		t.Run(rule, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				log := &bytes.Buffer{}
				o = NewObserver(Config{Log: slog.New(slog.NewTextHandler(log, nil))})
				test(t, func(address string, status int) {
					h := o.Observe(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }))
					r := httptest.NewRequest("POST", "/", nil)
					r.RemoteAddr = address
					h.ServeHTTP(httptest.NewRecorder(), r)
				}, log)
			})
		})
	}
	const here, there = "198.51.100.1:1", "[2001:db8::1]:1"
	wants := func(t *testing.T, log *bytes.Buffer, text string, want int) {
		t.Helper()
		if n := strings.Count(log.String(), text); n != want {
			t.Errorf("%q is there %d times, want %d:\n%.2000s", text, n, want, log)
		}
	}
	begin(t, "of one network, and the rest is counted", func(t *testing.T, ask ask, log *bytes.Buffer) {
		for range 500 {
			ask(here, 401)
		}
		for range 200 {
			ask(here, 429)
		}
		for i := range 100 {
			ask(fmt.Sprintf("[2001:db8::%x]:1", i), 404)
			ask(here, 200)
			ask(here, 503)
		}
		wants(t, log, "address=198.51.100.1 status=", 0)
		wants(t, log, "status=401", linesPerNetwork)
		wants(t, log, "status=404", linesPerNetwork) // one network
		wants(t, log, "status=200", 100)
		wants(t, log, "status=503", 100)
		time.Sleep(refusalInterval - time.Nanosecond)
		ask(here, 200)
		wants(t, log, "left out of the log", 0)
		time.Sleep(time.Nanosecond)
		ask(there, 200)
		for _, line := range []string{fmt.Sprintf("address=198.51.100.1 status=401 count=%d\n", 500-linesPerNetwork),
			"address=198.51.100.1 status=429 count=200\n",
			fmt.Sprintf("address=2001:db8::/64 status=404 count=%d\n", 100-linesPerNetwork)} {
			wants(t, log, line, 1)
		}
		ask(here, 401) // a new interval
		wants(t, log, "status=401 duration", linesPerNetwork+1)
		time.Sleep(time.Hour)
		ask(here, 401)
		wants(t, log, "left out of the log", 3)
	})
	begin(t, "and quiet ones take no place there", func(t *testing.T, ask ask, log *bytes.Buffer) {
		quiet := o.Observe(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			RecordOf(r.Context()).Quiet = true
			w.WriteHeader(http.StatusBadRequest)
		}))
		for range 10 * linesInAll {
			r := httptest.NewRequest("POST", "/", nil)
			r.RemoteAddr = here
			quiet.ServeHTTP(httptest.NewRecorder(), r)
		}
		ask(here, 401)
		wants(t, log, "status=400", 0)
		wants(t, log, "status=401", 1)
	})
	begin(t, "of many networks together", func(t *testing.T, ask ask, log *bytes.Buffer) {
		address := func(i int) string { return fmt.Sprintf("10.0.%d.%d:1", i>>8, i&255) }
		const networks = 3 * networksCounted
		for i := range networks {
			for range 1 + i%2 {
				ask(address(i), 401)
			}
		}
		ask(address(7), 401)
		wants(t, log, "status=401", linesInAll)
		if n := len(o.refusals.from); n > networksCounted+1 {
			t.Errorf("%d networks are counted one by one", n)
		}
		lines := strings.Count(log.String(), "\n")
		time.Sleep(refusalInterval)
		ask(here, 200)
		if n := strings.Count(log.String(), "\n") - lines; n > networksLogged+2 {
			t.Errorf("%d lines say what was left out", n)
		}
		total := 0
		for line := range strings.Lines(log.String()) {
			_, n, found := strings.Cut(line, "count=")
			if found {
				var left int
				fmt.Sscan(n, &left)
				total += left
			}
		}
		if want := networks + networks/2 + 1 - linesInAll; total != want {
			t.Errorf("the lines count %d requests, want %d", total, want)
		}
	})
}

// Whoever sends invented tokens to an API causes requests of the API, which its operator cannot limit by
// their address. They take no place from refusals of that address.
func TestAttackInventedTokensFillLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := &bytes.Buffer{}
		o := NewObserver(Config{Log: slog.New(slog.NewTextHandler(log, nil))})
		ask := func(address string, inactive bool, status int) {
			h := o.Observe(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if inactive {
					Inactive(r.Context())
				}
				w.WriteHeader(status)
			}))
			r := httptest.NewRequest("POST", "/", nil)
			r.RemoteAddr = address
			h.ServeHTTP(httptest.NewRecorder(), r)
		}
		wants := func(text string, want int) {
			t.Helper()
			if n := strings.Count(log.String(), text); n != want {
				t.Errorf("%q is there %d times, want %d:\n%.2000s", text, n, want, log)
			}
		}
		const api, other = "198.51.100.1:1", "198.51.100.2:1"
		for range 500 {
			ask(api, true, 200)
		}
		ask(other, true, 200)
		for range 50 {
			ask(api, false, 200)
		}
		ask(api, false, 401)
		wants("outcome=inactive", linesPerNetwork+1)
		wants("status=200", linesPerNetwork+1+50)
		wants("status=401", 1)
		time.Sleep(refusalInterval)
		ask(other, false, 200)
		wants(fmt.Sprintf("msg=\"requests about inactive tokens were left out of the log\" address=198.51.100.1 status=200 "+
			"count=%d\n", 500-linesPerNetwork), 1)
		wants("requests were refused", 0)
		ask(api, true, 200)
		wants("outcome=inactive", linesPerNetwork+2)
	})
}
