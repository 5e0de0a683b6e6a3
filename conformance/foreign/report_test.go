package foreign

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mandate/conformance/check"
)

// report is what the tests read of the JSON report.
type report struct {
	Summary string
	Results []result
}

type result struct {
	ID       string
	Level    check.Level
	Status   check.Status
	Reason   string
	Exchange struct{ Sent, Got string }
}

// undecided are the statuses of a rule that was not tried to the end. The reason says what would enable it.
var undecided = []check.Status{check.Skip, check.Blocked}

// gaps returns the results that lack something that each report needs: a reason if the rule was not decided, a result
// if the check ended.
func (r report) gaps() []string {
	var all []string
	for _, x := range r.Results {
		switch {
		case x.Status == check.Broken:
			all = append(all, fmt.Sprintf("%s: the check stopped: %s", x.ID, x.Reason))
		case slices.Contains(undecided, x.Status) && strings.TrimSpace(x.Reason) == "":
			all = append(all, fmt.Sprintf("%s: %s without a reason", x.ID, x.Status))
		}
	}
	return all
}

// differences compares two reports on the same server. Values that each run makes anew are left out.
func differences(a, b report) []string {
	if len(a.Results) != len(b.Results) {
		return []string{fmt.Sprintf("%d results, and %d in another run", len(a.Results), len(b.Results))}
	}
	var all []string
	for i, x := range a.Results {
		y := b.Results[i]
		for _, part := range []struct{ name, one, other string }{
			{"rule", x.ID, y.ID},
			{"status", string(x.Status), string(y.Status)},
			{"reason", steady(x.Reason), steady(y.Reason)},
			{"request", first(x.Exchange.Sent), first(y.Exchange.Sent)},
			{"answer", first(x.Exchange.Got), first(y.Exchange.Got)},
		} {
			if part.one != part.other {
				all = append(all, fmt.Sprintf("%s: %s %q, and %q in another run", x.ID, part.name, part.one, part.other))
				if part.name == "status" {
					all[len(all)-1] += ": " + steady(x.Reason+y.Reason)
				}
				break
			}
		}
	}
	return all
}

// anew matches what each run makes anew: random values of the checks and of servers, times, the numbers of masked
// values, and lengths that depend on them.
var anew = regexp.MustCompile(
	`(?i:\b[a-z2-7]{26}\b)|\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b|\b1[0-9]{9}\b|\$[A-Z_]+[0-9]*|\b[0-9]+ bytes in all`)

func steady(text string) string { return anew.ReplaceAllString(text, "…") }

// first returns the first line of a request or answer, without the query.
func first(message string) string {
	line, _, _ := strings.Cut(message, "\n")
	line, _, _ = strings.Cut(line, "?")
	return steady(strings.TrimSpace(line))
}

func TestDifferences(t *testing.T) {
	run := func(change func(*result)) report {
		r := report{Results: []result{{ID: "RFC6749/5.2/a", Status: check.Fail,
			Reason: "state=TTHRHA5DR2UEH53Y5XSVNYGQ5G at 1795370446"}, {ID: "RFC6749/5.2/b", Status: check.Pass}}}
		r.Results[0].Exchange.Sent, r.Results[0].Exchange.Got = "GET http://127.0.0.1/a?state=1\nX: 1\n",
			"200 OK\nDate: now\n"
		change(&r.Results[0])
		return r
	}
	same := run(func(*result) {})
	for name, change := range map[string]func(*result){
		"":        func(r *result) { r.Exchange.Got = "200 OK\nDate: later\n" },
		"random":  func(r *result) { r.Reason = "state=WTHRHA5DR2UEH53Y5XSVNYGQ5Q at 1795370449" },
		"query":   func(r *result) { r.Exchange.Sent = "GET http://127.0.0.1/a?state=2\nX: 2\n" },
		"status":  func(r *result) { r.Status = check.Blocked },
		"reason":  func(r *result) { r.Reason = "another one" },
		"request": func(r *result) { r.Exchange.Sent = "POST http://127.0.0.1/a\n" },
		"answer":  func(r *result) { r.Exchange.Got = "400 Bad Request\n" },
		"rule":    func(r *result) { r.ID = "RFC6749/5.2/c" },
	} {
		found := strings.Join(differences(same, run(change)), "\n")
		steady := slices.Contains([]string{"", "random", "query"}, name)
		if steady != (found == "") || !steady && !strings.Contains(found, ": "+name+" ") {
			t.Errorf("%s: differences %q", name, found)
		}
	}
	if got := differences(same, report{}); len(got) != 1 {
		t.Error(got)
	}
}

func TestGaps(t *testing.T) {
	r := report{Results: []result{{ID: "a", Status: check.Skip}, {ID: "b", Status: check.Blocked, Reason: " "},
		{ID: "c", Status: check.Broken, Reason: "a panic"},
		{ID: "d", Status: check.Skip, Reason: "no api"}, {ID: "e", Status: check.Pass}, {ID: "f", Status: check.Fail}}}
	want := []string{"a: skip without a reason", "b: blocked without a reason", "c: the check stopped: a panic"}
	if diff := cmp.Diff(want, r.gaps()); diff != "" {
		t.Error(diff)
	}
}
