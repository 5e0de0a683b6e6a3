package conformance

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mandate/conformance/check"
	"mandate/conformance/engine"
	"mandate/conformance/servertest"
)

// The rules of these tests.
const (
	aMust       = "TEST/1/must"
	anotherMust = "TEST/1/other"
	aThirdMust  = "TEST/2/third"
	aFourthMust = "TEST/2/fourth"
	aShould     = "TEST/2/should"
	aMay        = "TEST/3/may"
	unchecked   = "TEST/3/unchecked"
)

func testRules() []check.Rule {
	checked := func(*check.T) {}
	return []check.Rule{
		{ID: aMust, Level: check.Must, Text: "It must.", Check: checked},
		{ID: anotherMust, Level: check.Must, Text: "It must too.", Check: checked},
		{ID: aThirdMust, Level: check.Must, Text: "It must.", Check: checked},
		{ID: aFourthMust, Level: check.Must, Text: "It must.", Check: checked},
		{ID: aShould, Level: check.Should, Text: "It should.", Check: checked},
		{ID: aMay, Level: check.May, Text: "It may.", Check: checked},
		{ID: unchecked, Level: check.Must, Text: "Nobody can see it.", TestedBy: "x_test.go:TestX"},
	}
}

func TestBaselineErrors(t *testing.T) {
	entry := func(rule, rest string) string { return "- rule: " + rule + "\n" + rest }
	for text, want := range map[string]string{
		"# known\n" + entry("RFC6749/1/no-such-rule",
			"  reason: x\n"): `line 2: there is no rule "RFC6749/1/no-such-rule": mandate conformance --list`,
		entry(aMust, "  reason: x\n") + entry(anotherMust, "  reason: x\n") +
			entry(aMust, "  reason: y\n"): "line 5: the rule " + aMust + " stands in line 1 too",
		entry(aMust, "  reason: x\n") +
			"- reason: y\n": "line 3: rule is missing",
		entry(aMust,
			""): "line 1: the reason is missing",
		entry(aMust,
			"  reason: '  '\n"): "line 1: the reason is missing",
		entry(aMust, "  reason: x\n  because: y\n"): "line 3: unknown key because",
		entry(aMust, "  reason: x\n  reason: y\n"):  "line 3: reason stands twice",
		entry(aMust,
			"  reason: [x]\n"): "line 2: reason must be a text",
		entry(aMust,
			"  reason: x\n  result: skip\n"): `line 1: result is "skip": it must be fail, blocked or broken`,
		entry(aMay, "  reason: x\n"): "line 1: the rule " + aMay +
			" is a MAY",
		entry(unchecked, "  reason: x\n"): "line 1: the rule " +
			unchecked + " is not checked",
		"- cause: x\n  reason: y\n": "line 1: an entry has " +
			"either rule, or both cause and rules",
		"- rules: [" + aMust + "]\n  reason: y\n": "line 1: an entry has " +
			"either rule, or both cause and rules",
		entry(aMust, "  cause: x\n  reason: y\n"): "line 1: an entry has " +
			"either rule, or both cause and rules",
		"- cause: x\n  rules: " + aMust + "\n":   "line 2: rules must be a list",
		"- cause: x\n  rules: []\n  reason: y\n": "line 1: rule is missing",
		"- cause: x\n  reason: y\n  rules:\n  - " + aMust + "\n  - " + aMay + "\n": "line 5: the rule " + aMay +
			" is a MAY",
		entry(aMust, "  reason: x\n") + "- cause: x\n  reason: y\n  rules: [" + aMust + "]\n": "line 5: the rule " + aMust +
			" stands in line 1 too",
		"- " + aMust + "\n": "line 1: an entry has the " +
			"keys rule and reason",
		"rule: " + aMust +
			"\n": "line 1: must be a list of entries",
		"- rule: [\n":   "did not find expected node content",
		"[]\n---\n[]\n": "more than one document",
	} {
		_, err := engine.ReadBaseline([]byte(text), testRules())
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	for _, empty := range []string{"", "# nothing is known\n", "[]\n"} {
		b, err := engine.ReadBaseline([]byte(empty), testRules())
		if err != nil || len(b.Entries) > 0 {
			t.Errorf("%q: %v", empty, err)
		}
	}
}

// outcome is a report with one result for each rule.
func outcome(t *testing.T, statuses map[string]check.Status) *engine.Report {
	t.Helper()
	report := &engine.Report{Issuer: "https://issuer.example"}
	for _, r := range testRules() {
		if status := statuses[r.ID]; status != "" {
			report.Results = append(report.Results,
				check.Result{Rule: r, Status: status, Reason: "the server is wrong. It says more.\nAnd more."})
		}
	}
	if len(report.Results) != len(statuses) {
		t.Fatalf("there is no rule for each of %v", slices.Sorted(maps.Keys(statuses)))
	}
	return report
}

// listed is a baseline with one entry.
func listed(t *testing.T, rule, result string) *engine.Baseline {
	t.Helper()
	b, err := engine.ReadBaseline(fmt.Appendf(nil, "- rule: %s\n  reason: A person accepts it.\n  result: %s\n", rule,
		result), testRules())
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestBaselineComparison(t *testing.T) {
	const flaky check.Status = "flaky"
	for _, c := range []struct {
		rule, listed string // listed as; empty if the rule is not listed
		now          check.Status
		want         string // new, known, passing or open
		failed       bool
	}{
		{aMust, "", check.Fail, "new", true},
		{aMust, "", check.Blocked, "new", true},
		{aMust, "", check.Broken, "new", true},
		{aMust, "", check.Pass, "", false},
		{aMust, "", check.Skip, "", false},
		{aMust, "", flaky, "", false},
		{aShould, "", check.Fail, "", false},
		{aShould, "", check.Blocked, "", false},
		{aShould, "", check.Broken, "new", true},
		{aMust, "fail", check.Fail, "known", false},
		{aMust, "fail", check.Pass, "passing", true},
		{aMust, "fail", check.Blocked, "open", false},
		{aMust, "fail", check.Broken, "open", false},
		{aMust, "fail", check.Skip, "open", false},
		{aMust, "fail", flaky, "open", false},
		{aMust, "blocked", check.Blocked, "known", false},
		{aMust, "blocked", check.Broken, "known", false},
		{aMust, "blocked", check.Fail, "new", true},
		{aMust, "blocked", check.Pass, "passing", true},
		{aMust, "blocked", check.Skip, "open", false},
		{aShould, "fail", check.Fail, "known", false},
		{aShould, "fail", check.Pass, "passing", true},
		{aShould, "blocked", check.Fail, "known", false},
	} {
		b := &engine.Baseline{}
		if c.listed != "" {
			b = listed(t, c.rule, c.listed)
		}
		report := outcome(t, map[string]check.Status{c.rule: c.now})
		report.Baseline = b.Compare(report)
		is := map[string]int{"new": len(report.Baseline.New), "known": len(report.Baseline.Known),
			"passing": len(report.Baseline.Passing), "open": len(report.Baseline.Open)}
		for name, n := range is {
			if (n == 1) != (name == c.want) {
				t.Errorf("%s, listed as %q, %s now: %d %s, want %q", c.rule, c.listed, c.now, n, name, c.want)
			}
		}
		if report.Failed() != c.failed {
			t.Errorf("%s, listed as %q, %s now: failed is %t", c.rule, c.listed, c.now, report.Failed())
		}
	}
	// An entry of a rule that is not selected says nothing.
	report := outcome(t, map[string]check.Status{anotherMust: check.Pass})
	if c := listed(t, aMust, "fail").Compare(report); c.Failed() || len(c.Open) > 0 {
		t.Errorf("%+v", c)
	}
}

// A written baseline makes the same results succeed. It keeps what a person wrote.
func TestBaselineUpdate(t *testing.T) {
	before := listed(t, aMust, "fail")
	before.Entries = append(before.Entries, listed(t, aThirdMust, "fail").Entries[0],
		listed(t, aFourthMust, "fail").Entries[0], listed(t, aShould, "fail").Entries[0])
	report := outcome(t, map[string]check.Status{aMust: check.Fail, anotherMust: check.Blocked, aThirdMust: check.Pass,
		aFourthMust: check.Skip})
	var text bytes.Buffer
	err := before.Updated(report, testRules()).Write(&text, report.Issuer)
	if err != nil {
		t.Fatal(err)
	}
	want := `# Known results of https://issuer.example, for mandate conformance --baseline.
- rule: TEST/1/must
  reason: A person accepts it.
- rule: TEST/1/other
  result: blocked
  reason: 'Not explained yet: the server is wrong.'
- rule: TEST/2/fourth
  reason: A person accepts it.
- rule: TEST/2/should
  reason: A person accepts it.
`
	if text.String() != want {
		t.Errorf("%s\nwant\n%s", &text, want)
	}
	after, err := engine.ReadBaseline(text.Bytes(), testRules())
	if err != nil {
		t.Fatal(err)
	}
	c := after.Compare(report)
	if c.Failed() || len(c.Known) != 2 ||
		!strings.Contains(c.Summary(), "2 known results, 1 of them without a reason yet (replace \"Not explained yet\" in "+
			"the file); 1 listed rule was not tried") {
		t.Errorf("%s: %+v", c.Summary(), c)
	}
}

// decided gives each failed result of a report the fact that decides it.
func decided(report *engine.Report, facts map[string]string) *engine.Report {
	for i := range report.Results {
		report.Results[i].Rule.Fact = facts[report.Results[i].Rule.ID]
		report.Results[i].Reason = "the reason of " + report.Results[i].Rule.ID + " alone"
	}
	return report
}

// Failures with one cause are one entry, and a further rule that fails because of it is known too. Another cause is
// not.
func TestBaselineByCause(t *testing.T) {
	const ignored, lost = "max_age has no effect", "the state is lost"
	fails := map[string]check.Status{aMust: check.Fail, anotherMust: check.Fail, aThirdMust: check.Fail}
	facts := map[string]string{aMust: ignored, anotherMust: ignored, aThirdMust: lost, aFourthMust: ignored}
	var text bytes.Buffer
	err := (&engine.Baseline{}).Updated(decided(outcome(t, fails), facts), testRules()).Write(&text,
		"https://issuer.example")
	want := `# Known results of https://issuer.example, for mandate conformance --baseline.
- cause: max_age has no effect
  rules:
    - TEST/1/must
    - TEST/1/other
  reason: 'Not explained yet: max_age has no effect'
- rule: TEST/2/third
  reason: 'Not explained yet: the reason of TEST/2/third alone'
`
	if err != nil || text.String() != want {
		t.Fatalf("%v: %s\nwant\n%s", err, &text, want)
	}
	explained := strings.Replace(want, "'Not explained yet: max_age has no effect'", "We decide it.", 1)
	known, err := engine.ReadBaseline([]byte(explained), testRules())
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		now                map[string]check.Status
		facts              map[string]string
		new, known, passes int
	}{
		"the same":                  {fails, facts, 0, 3, 0},
		"a further rule, the cause": {map[string]check.Status{aMust: check.Fail, aFourthMust: check.Fail}, facts, 0, 2, 0},
		"a further rule, another": {map[string]check.Status{aFourthMust: check.Fail},
			map[string]string{aFourthMust: lost}, 1, 0, 0},
		"a further rule, no fact":      {map[string]check.Status{aFourthMust: check.Fail}, nil, 1, 0, 0},
		"a further rule that is stuck": {map[string]check.Status{aFourthMust: check.Blocked}, facts, 1, 0, 0},
		"one rule passes":              {map[string]check.Status{aMust: check.Pass, anotherMust: check.Fail}, facts, 0, 1, 1},
	} {
		report := decided(outcome(t, c.now), c.facts)
		report.Baseline = known.Compare(report)
		got := report.Baseline
		if len(got.New) != c.new || len(got.Known) != c.known || len(got.Passing) != c.passes {
			t.Errorf("%s: %s", name, got.Summary())
		}
		for _, format := range []string{"text", "html", "json", "junit"} {
			var out bytes.Buffer
			err := engine.Formats()[format](report, &out)
			if err != nil || strings.Contains(out.String(), "We decide it.") != (c.known > 0 && c.now[aThirdMust] == "" ||
				name == "the same") {
				t.Errorf("%s, %s: %v\n%s", name, format, err, &out)
			}
		}
	}
	// A check that the same reason blocks is no failure that somebody has accepted.
	report := outcome(t, map[string]check.Status{aFourthMust: check.Blocked})
	report.Results[0].Reason = ignored
	if c := known.Compare(report); len(c.New) != 1 {
		t.Errorf("blocked by the cause of a failure: %s", c.Summary())
	}
	// Entries stay apart if their causes or results differ, although their reasons are equal.
	apart := `# Known results of https://issuer.example, for mandate conformance --baseline.
- cause: one
  rules:
    - TEST/1/must
  reason: Accepted.
- cause: two
  rules:
    - TEST/1/other
  reason: Accepted.
- cause: two
  rules:
    - TEST/2/third
  result: blocked
  reason: Accepted.
`
	read, err := engine.ReadBaseline([]byte(apart), testRules())
	if err != nil {
		t.Fatal(err)
	}
	text.Reset()
	err = read.Write(&text, "https://issuer.example")
	if err != nil || text.String() != apart {
		t.Errorf("%v: %s\nwant\n%s", err, &text, apart)
	}
	// What a person wrote stays, also for the rules that join and leave.
	text.Reset()
	now := map[string]check.Status{aMust: check.Pass, anotherMust: check.Fail, aThirdMust: check.Pass,
		aFourthMust: check.Fail}
	err = known.Updated(decided(outcome(t, now), facts), testRules()).Write(&text, "https://issuer.example")
	want = `# Known results of https://issuer.example, for mandate conformance --baseline.
- cause: max_age has no effect
  rules:
    - TEST/1/other
    - TEST/2/fourth
  reason: We decide it.
`
	if err != nil || text.String() != want {
		t.Errorf("%v: %s\nwant\n%s", err, &text, want)
	}
}

// Each format shows what is known, and what differs from the baseline.
func TestBaselineInReports(t *testing.T) {
	b := listed(t, aMust, "fail")
	b.Entries = append(b.Entries, listed(t, aThirdMust, "fail").Entries[0], listed(t, aFourthMust, "fail").Entries[0])
	b.File = "known.yaml"
	report := outcome(t, map[string]check.Status{aMust: check.Fail, anotherMust: check.Fail, aThirdMust: check.Pass,
		aFourthMust: check.Skip})
	report.Documents, report.Baseline = []check.Document{{ID: "TEST", Cited: "Test", Title: "A document"}},
		b.Compare(report)
	for format, words := range map[string][]string{
		"text": {"known     MUST   must:", "known, line 1: A person accepts it.", "not listed   " + anotherMust,
			"passes now   " + aThirdMust + ": remove its entry (line 1)", "not tried    " + aFourthMust + " (line 1): skip"},
		"json": {`"known": "A person accepts it."`, `"failed": true`, `"passing": [ "TEST/2/third" ]`,
			`"not_tried": [ "TEST/2/fourth" ]`},
		"junit": {`failures="2" errors="0" skipped="2"`, `<skipped message="known: A person accepts it.">`,
			"The rule passes now: remove its entry in line 1 of known.yaml."},
		"html": {"Known: A person accepts it.", "Compared with known.yaml: 1 known result; 1 listed rule was not tried; 1 " +
			"failure is not listed; 1 listed rule passes now.", "remove its entry in line 1 of known.yaml"},
	} {
		var out bytes.Buffer
		err := engine.Formats()[format](report, &out)
		text := strings.Join(strings.Fields(out.String()), " ")
		for _, word := range words {
			if err != nil || !strings.Contains(text, strings.Join(strings.Fields(word), " ")) {
				t.Errorf("%s: %v: the report lacks %q:\n%s", format, err, word, &out)
			}
		}
	}
}

// A server whose only violation is known succeeds, and fails again when the violation is gone.
func TestCommandBaseline(t *testing.T) {
	server := newRegistrar(t)
	target := server.target()
	target.Endpoints = map[string]string{"token_endpoint": server.url + "/nothing"}
	path, known := targetFile(t, target), filepath.Join(t.TempDir(), "known.yaml")
	only := []string{"--target", path, "--only", "RFC6749/4.4", "--only", "RFC6749/5"}
	servertest.Run(t, "", only...).Want(t, 1, "the server does not satisfy every MUST")
	servertest.Run(t, "", append(only, "--baseline", known)...).Want(t, 2, "there is no file "+known+": --write-baseline")
	servertest.Run(t, "", append(only, "--write-baseline", known)...).Want(t, 0, "Compared with "+known)
	text, err := os.ReadFile(known)
	if err != nil || !strings.Contains(string(text), "  reason: 'Not explained yet: ") {
		t.Fatalf("%v: %s", err, text)
	}
	servertest.Run(t, "", append(only, "--baseline", known)...).Want(t, 0, "known     MUST", "without a reason")
	// Another rule may fail because of the same, and because of nothing else.
	servertest.Run(t, "", "--target", path, "--only", "RFC6749/4.4", "--only", "RFC6749/5", "--only",
		"RFC6749/3.2/empty-is-absent",
		"--baseline", known).Want(t, 0, "known")
	servertest.Run(t, "", append(only, "--only", "RFC8414/2", "--baseline", known)...).Want(t, 1, "not listed   RFC8414/2",
		"mandate: the server differs from the baseline: ")
	// Mistakes are found before the run.
	err = os.WriteFile(known, append(text, "- rule: RFC6749/4.4/nothing\n  reason: x\n"...), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	for _, flag := range []string{"--baseline", "--write-baseline"} {
		servertest.Run(t, "", append(only, flag, known)...).Want(t, 2,
			fmt.Sprintf("line %d: there is no rule", strings.Count(string(text), "\n")+1))
	}
	servertest.Run(t, "", append(only, "--baseline", known, "--write-baseline", known)...).Want(t, 2, "exclude each other")
	servertest.Run(t, "", append(only, "--write-baseline", filepath.Join(known, "x"))...).Want(t, 2, "not a directory")
	// If nothing could be tried, no file remains.
	absent := filepath.Join(t.TempDir(), "absent.yaml")
	servertest.Run(t, "", "--target", targetText(t, "issuer: http://127.0.0.1:1"), "--write-baseline", absent).Want(t, 2,
		"connection refused")
	_, err = os.Stat(absent)
	if !os.IsNotExist(err) {
		t.Errorf("the file remains: %v", err)
	}
}
