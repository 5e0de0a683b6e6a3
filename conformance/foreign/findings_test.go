package foreign

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"mandate/conformance/check"
	"mandate/conformance/engine"
	"mandate/conformance/rules"
)

// finding is a rule that a server violates, and why the report of it is correct.
type finding struct {
	Rule   string
	Reason string
	Result check.Status // fail, also if it is empty, or blocked
}

// explains reports whether the result of the rule is the expected one.
func (f finding) explains(x result) bool {
	if f.Result == "" {
		return x.Status == check.Fail
	}
	return x.Status == f.Result
}

// findingsOf reads the findings of a server. The file is one that --baseline accepts.
func findingsOf(t *testing.T, name string) []finding {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var all []finding
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	decoder.KnownFields(true)
	err = decoder.Decode(&all)
	if err != nil {
		t.Fatalf("testdata/%s.yaml: %v", name, err)
	}
	return all
}

// unexpected compares the failed MUSTs and SHOULDs of a report, and the blocked MUSTs, with the findings.
func unexpected(known []finding, r report) []string {
	var all []string
	reasons := map[string]string{}
	for _, f := range known {
		if reasons[f.Rule] != "" || strings.TrimSpace(f.Reason) == "" {
			all = append(all, fmt.Sprintf("%s: the finding appears twice, or has no reason", f.Rule))
		}
		reasons[f.Rule] = f.Reason
		i := slices.IndexFunc(r.Results, func(x result) bool { return x.ID == f.Rule })
		switch {
		case i < 0:
			all = append(all, fmt.Sprintf("%s: there is a finding, but no such rule", f.Rule))
		case !f.explains(r.Results[i]):
			all = append(all, fmt.Sprintf("%s: there is a finding, but the rule ends with %s: %s", f.Rule, r.Results[i].Status, r.Results[i].Reason))
		}
	}
	for _, x := range r.Results {
		// A MAY that does not hold is another choice of the server.
		counts := x.Status == check.Fail && x.Level != check.May || x.Status == check.Blocked && x.Level == check.Must
		if counts && reasons[x.ID] == "" {
			all = append(all, fmt.Sprintf("%s %s: %s without a finding: %s", x.Level, x.ID, x.Status, x.Reason))
		}
	}
	return all
}

// Each finding names a rule that can be violated, once, and has a reason. The files are what --baseline accepts.
func TestFindings(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatal(err, "no findings")
	}
	// A report in which each rule fails.
	var r report
	for _, rule := range rules.All() {
		if rule.Check != nil && rule.Level != check.May {
			r.Results = append(r.Results, result{ID: rule.ID, Status: check.Fail, Level: check.May})
		}
	}
	for _, file := range files {
		_, err := engine.LoadBaseline(file, rules.All())
		if err != nil {
			t.Error(err)
		}
		known := findingsOf(t, strings.TrimSuffix(filepath.Base(file), ".yaml"))
		for i := range known {
			known[i].Result = "" // blocked or not, the rule has to be one that can be violated
		}
		for _, complaint := range unexpected(known, r) {
			t.Errorf("%s: %s", file, complaint)
		}
	}
}

func TestUnexpected(t *testing.T) {
	r := report{Results: []result{
		{ID: "a", Level: check.Must, Status: check.Fail, Reason: "first"}, {ID: "b", Level: check.Should, Status: check.Fail}, {ID: "c", Level: check.May, Status: check.Fail},
		{ID: "d", Level: check.Must, Status: check.Pass}, {ID: "e", Level: check.Must, Status: check.Blocked, Reason: "no code"}, {ID: "f", Level: check.Should, Status: check.Blocked, Reason: "no code"},
	}}
	a, b, e := finding{Rule: "a", Reason: "because"}, finding{Rule: "b", Reason: "because"}, finding{Rule: "e", Reason: "because", Result: check.Blocked}
	for _, c := range []struct {
		known []finding
		want  []string
	}{
		{[]finding{a, b, e}, nil},
		{[]finding{b, e}, []string{"MUST a: fail without a finding: first"}},
		{[]finding{a, b}, []string{"MUST e: blocked without a finding: no code"}},
		{[]finding{a, b, e, {Rule: "d", Reason: "because"}}, []string{"d: there is a finding, but the rule ends with pass: "}},
		{[]finding{a, b, {Rule: "e", Reason: "because"}}, []string{"e: there is a finding, but the rule ends with blocked: no code"}},
		{[]finding{b, e, {Rule: "a", Reason: "because", Result: check.Blocked}}, []string{"a: there is a finding, but the rule ends with fail: first"}},
		{[]finding{a, b, e, {Rule: "x", Reason: "because"}}, []string{"x: there is a finding, but no such rule"}},
		{[]finding{a, b, e, a}, []string{"a: the finding appears twice, or has no reason"}},
		{[]finding{a, e, {Rule: "b", Reason: " "}}, []string{"b: the finding appears twice, or has no reason"}},
	} {
		if diff := cmp.Diff(c.want, unexpected(c.known, r)); diff != "" {
			t.Error(diff)
		}
	}
}
