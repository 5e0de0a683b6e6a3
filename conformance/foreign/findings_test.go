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
	"mandate/conformance/rules"
)

// finding is a rule that a server violates, and why the report of it is correct.
type finding struct {
	Rule   string
	Reason string
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

// unexpected compares the failed MUSTs and SHOULDs of a report with the findings.
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
		case r.Results[i].Status != check.Fail:
			all = append(all, fmt.Sprintf("%s: there is a finding, but the rule ends with %s: %s", f.Rule, r.Results[i].Status, r.Results[i].Reason))
		}
	}
	for _, x := range r.Results {
		// A MAY that does not hold is another choice of the server.
		if x.Status == check.Fail && x.Level != check.May && reasons[x.ID] == "" {
			all = append(all, fmt.Sprintf("%s %s: failed without a finding: %s", x.Level, x.ID, x.Reason))
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
	// A report in which each rule fails.
	var r report
	for _, rule := range rules.All() {
		if rule.Check != nil && rule.Level != check.May {
			r.Results = append(r.Results, result{ID: rule.ID, Status: check.Fail, Level: check.May})
		}
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".yaml")
		for _, complaint := range unexpected(findingsOf(t, name), r) {
			t.Errorf("%s: %s", file, complaint)
		}
	}
}

func TestUnexpected(t *testing.T) {
	r := report{Results: []result{
		{ID: "a", Level: check.Must, Status: check.Fail, Reason: "first"}, {ID: "b", Level: check.Should, Status: check.Fail}, {ID: "c", Level: check.May, Status: check.Fail},
		{ID: "d", Level: check.Must, Status: check.Pass}, {ID: "e", Level: check.Must, Status: check.Blocked, Reason: "no code"},
	}}
	for _, c := range []struct {
		known []finding
		want  []string
	}{
		{[]finding{{"a", "because"}, {"b", "because"}}, nil},
		{[]finding{{"b", "because"}}, []string{"MUST a: failed without a finding: first"}},
		{[]finding{{"a", "because"}, {"b", "because"}, {"d", "because"}}, []string{"d: there is a finding, but the rule ends with pass: "}},
		{[]finding{{"a", "because"}, {"b", "because"}, {"e", "because"}}, []string{"e: there is a finding, but the rule ends with blocked: no code"}},
		{[]finding{{"a", "because"}, {"b", "because"}, {"x", "because"}}, []string{"x: there is a finding, but no such rule"}},
		{[]finding{{"a", "because"}, {"b", "because"}, {"a", "because"}}, []string{"a: the finding appears twice, or has no reason"}},
		{[]finding{{"a", "because"}, {"b", " "}}, []string{"b: the finding appears twice, or has no reason"}},
	} {
		if diff := cmp.Diff(c.want, unexpected(c.known, r)); diff != "" {
			t.Error(diff)
		}
	}
}
