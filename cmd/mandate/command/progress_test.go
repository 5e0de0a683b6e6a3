package command

import (
	"bytes"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mandate/conformance/check"
	"mandate/conformance/target"
)

// In a file there is a line every ten seconds, with the check that has been running for the longest time.
func TestProgressInAFile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		p := newProgress(&out, false, 3)
		slow := func(d time.Duration) func(*check.T) { return func(*check.T) { time.Sleep(d) } }
		rules := p.watched([]check.Rule{{
			ID:    "TEST/1/first",
			Level: check.Must,
			Check: slow(15 * time.Second),
		}, {ID: "TEST/1/second", Level: check.Must, Check: func(t *check.T) {
			slow(6 * time.Second)(t)
			t.Failf("the server is wrong")
		}}, {ID: "TEST/1/unchecked", TestedBy: "x"}})
		server := check.NewServer(&target.Target{}, nil)
		for _, rule := range rules {
			p.add(server.Check(t.Context(), rule))
		}
		time.Sleep(progressInterval)
		synctest.Wait()
		p.end()
		want := "mandate: 0 of 3 rules, 0 failed, now TEST/1/first (for 10s)\n" +
			"mandate: 1 of 3 rules, 0 failed, now TEST/1/second (for 5s)\n" +
			"mandate: 3 of 3 rules, 1 failed\n"
		if out.String() != want {
			t.Errorf("%s\nwant\n%s", &out, want)
		}
	})
}

// The result of a check that failed is known only after the check was repeated.
func TestProgressBeforeRepetitions(t *testing.T) {
	p := newProgress(&bytes.Buffer{}, true, 2)
	defer p.end()
	rules := p.watched([]check.Rule{{
		ID:    "TEST/1/first",
		Level: check.Must,
		Check: func(t *check.T) { t.Failf("the server is wrong") },
	}, {ID: "TEST/1/second", Check: func(*check.T) {}}})
	server := check.NewServer(&target.Target{}, nil)
	first := server.Check(t.Context(), rules[0])
	p.add(server.Check(t.Context(), rules[1]))
	if got, want := p.line(), "1 of 2 rules, 0 failed, 1 to be repeated"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	p.add(first)
	if got, want := p.line(), "2 of 2 rules, 1 failed"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// The line says that a check waits because the server limits something, until the check goes on.
func TestProgressOfAWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		p := newProgress(&out, true, 2)
		defer p.end()
		p.begin("TEST/1/first")
		p.begin("TEST/1/second")
		p.wait("TEST/1/second", 27*time.Second, "registrations")
		p.add(check.Result{Rule: check.Rule{ID: "TEST/1/third"}})
		if want := "\r\r0 of 2  waiting 27 s: the server limits registrations"; !strings.HasPrefix(
			out.String(), want,
		) || strings.Contains(out.String(), "third") {
			t.Errorf("%q, want %q twice", &out, want)
		}
		time.Sleep(10 * time.Second)
		if got, want := p.line(), "1 of 2 rules, 0 failed, now TEST/1/first (for 10s), waiting 17 s: the server limits "+
			"registrations"; got != want {
			t.Errorf("%q, want %q", got, want)
		}
		time.Sleep(17 * time.Second)
		if got, want := p.line(), "1 of 2 rules, 0 failed, now TEST/1/first (for 27s)"; got != want {
			t.Errorf("%q, want %q", got, want)
		}
	})
}

// On a terminal there is one line, which is empty at the end.
func TestProgressOnATerminal(t *testing.T) {
	var out bytes.Buffer
	p := newProgress(&out, true, 2)
	p.add(check.Result{Rule: check.Rule{ID: "TEST/1/first"}})
	p.add(check.Result{Rule: check.Rule{ID: "TEST/1/second"}})
	p.end()
	if want := "\r\r1 of 2  TEST/1/first\r                    \r"; out.String() != want {
		t.Errorf("%q, want %q", &out, want)
	}
}
