package foreign

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mandate/conformance/check"
	"mandate/conformance/engine"
	"mandate/conformance/rules"
)

// findingsOf reads what a server violates, and why each report of it is correct. The file is one for --baseline.
func findingsOf(t *testing.T, name string) *engine.Baseline {
	t.Helper()
	known, err := engine.LoadBaseline(filepath.Join("testdata", name+".yaml"), rules.All())
	if err != nil {
		t.Fatal(err)
	}
	return known
}

// unexpected compares the failed MUSTs and SHOULDs of a report, and the blocked MUSTs, with the findings. Each finding
// has to be there, and no other.
func unexpected(known *engine.Baseline, r report) []string {
	compared := &engine.Report{}
	for _, x := range r.Results {
		compared.Results = append(compared.Results,
			check.Result{Rule: check.Rule{ID: x.ID, Level: x.Level}, Status: x.Status, Reason: x.Reason})
	}
	c := known.Compare(compared)
	var all []string
	missing := func(x check.Result) {
		all = append(all, fmt.Sprintf("%s %s: %s without a finding: %s", x.Rule.Level, x.Rule.ID, x.Status, x.Reason))
	}
	for _, x := range c.New {
		missing(x.Result)
	}
	for _, x := range compared.Results {
		if x.Status == check.Fail && x.Rule.Level == check.Should &&
			!slices.ContainsFunc(known.Entries, func(e engine.Entry) bool { return e.Rule == x.Rule.ID }) {
			missing(x)
		}
	}
	for _, x := range append(c.Passing, c.Open...) {
		all = append(all, fmt.Sprintf("%s: there is a finding, but the rule ends with %s: %s", x.Entry.Rule, x.Result.Status,
			x.Result.Reason))
	}
	for _, e := range known.Entries {
		if !slices.ContainsFunc(r.Results, func(x result) bool { return x.ID == e.Rule }) {
			all = append(all, fmt.Sprintf("%s: there is a finding, but no such rule", e.Rule))
		}
	}
	return all
}

// Each finding names a rule that can be violated, once, and has a reason.
func TestFindings(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatal(err, "no findings")
	}
	for _, file := range files {
		known, err := engine.LoadBaseline(file, rules.All())
		if err != nil {
			t.Error(err)
			continue
		}
		for _, e := range known.Entries {
			if !e.Explained() {
				t.Errorf("%s: line %d: a person has to write the reason", file, e.Line)
			}
		}
	}
}

func TestUnexpected(t *testing.T) {
	r := report{Results: []result{
		{ID: "a", Level: check.Must, Status: check.Fail, Reason: "first"}, {ID: "b", Level: check.Should, Status: check.Fail},
		{ID: "c", Level: check.May, Status: check.Fail},
		{ID: "d", Level: check.Must, Status: check.Pass},
		{ID: "e", Level: check.Must, Status: check.Blocked, Reason: "no code"},
		{ID: "f", Level: check.Should, Status: check.Blocked, Reason: "no code"},
	}}
	finding := func(rule string, result check.Status) engine.Entry {
		return engine.Entry{Rule: rule, Result: result, Reason: "because"}
	}
	a, b, e := finding("a", check.Fail), finding("b", check.Fail), finding("e", check.Blocked)
	for _, c := range []struct {
		known []engine.Entry
		want  []string
	}{
		{[]engine.Entry{a, b, e}, nil},
		{[]engine.Entry{b, e}, []string{"MUST a: fail without a finding: first"}},
		{[]engine.Entry{a, e}, []string{"SHOULD b: fail without a finding: "}},
		{[]engine.Entry{a, b}, []string{"MUST e: blocked without a finding: no code"}},
		{[]engine.Entry{a, b, e, finding("d", check.Fail)}, []string{"d: there is a finding, but the rule ends with pass: "}},
		{[]engine.Entry{a, b, e, finding("x", check.Fail)}, []string{"x: there is a finding, but no such rule"}},
		{[]engine.Entry{a, b, finding("e", check.Fail)},
			[]string{"e: there is a finding, but the rule ends with blocked: no code"}},
		{[]engine.Entry{b, e, finding("a", check.Blocked)}, []string{"MUST a: fail without a finding: first"}},
	} {
		if diff := cmp.Diff(c.want, unexpected(&engine.Baseline{Entries: c.known}, r)); diff != "" {
			t.Error(diff)
		}
	}
}
