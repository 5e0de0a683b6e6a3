package main

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"mandate/conformance/bench/load"
	"mandate/testkit"
)

// TestMain also runs the bare handlers, which are this program run again.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == bareCommand {
		main()
		return
	}
	os.Exit(testMain(m))
}

func testMain(m *testing.M) int {
	dir, err := os.MkdirTemp("", "mandate-bench-test-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	binaryDir = dir
	return m.Run()
}

// binaryDir is set before the first test.
var binaryDir string

// binary builds the command once.
var binary = sync.OnceValues(func() (string, error) {
	err := testkit.ExamineSources(filepath.Join("..", ".."))
	if err != nil {
		return "", err
	}
	return build(context.Background(), binaryDir)
})

// must runs a command of the program and returns its output.
func must(t *testing.T, args ...string) string {
	t.Helper()
	path, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(t.Context(), 5*time.Minute)
	defer stop()
	var stdout, stderr bytes.Buffer
	err = run(ctx, append(args, "--binary", path), &stdout, &stderr)
	if err != nil {
		t.Fatalf("bench %s: %v\n%s%s", strings.Join(args, " "), err, &stdout, &stderr)
	}
	return stdout.String()
}

// databases returns the databases of this machine. Without PostgreSQL a part of the test is skipped, or fails where
// skipping is forbidden.
func databases(t *testing.T) []string {
	t.Helper()
	if postgresPrograms() != "" {
		return []string{onPostgres, onSQLite}
	}
	t.Run(onPostgres, func(t *testing.T) { testkit.Missing(t, "PostgreSQL is not installed: apt-get install postgresql") })
	return []string{onSQLite}
}

func readReport(t *testing.T, file string) report {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var r report
	err = json.Unmarshal(text, &r)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// measured returns the databases of a test that measures the same on both: where testkit.All both, otherwise one. args
// are the arguments that choose them.
func measured(t *testing.T, name string) (all, args []string) {
	t.Helper()
	all = databases(t)
	if !testkit.All() && slices.Contains(all, name) {
		return []string{name}, []string{"--databases", map[string]string{onPostgres: "postgres", onSQLite: "sqlite"}[name]}
	}
	return all, nil
}

// Each path is measured on PostgreSQL. SQLite has the paths of TestTwoBinariesTakeTurns and TestTarget, and its figures
// of the start.
func TestEveryPathIsAnswered(t *testing.T) {
	measuredOn, choice := measured(t, onPostgres)
	starts := filepath.Join(t.TempDir(), "starts.json")
	must(t, "--databases", "sqlite", "--only", "start,memory", "--starts", "1", "--tokens", "200", "--json", starts)
	small := readReport(t, starts)
	for _, name := range []string{"first start to first 200, SQLite, schema and keys created",
		"restart to first 200, SQLite", "resident memory when idle, " + onSQLite,
		"resident memory after 200 tokens, " + onSQLite} {
		checkSingle(t, small, name)
	}
	file, picture := filepath.Join(t.TempDir(), "all.json"), filepath.Join(t.TempDir(), "chart.svg")
	printed := must(t, append(choice, "--rounds", "1", "--seconds", "0.2", "--warm-up", "0.1", "--introspect", "50",
		"--tokens", "200", "--fill", "1000", "--starts", "1", "--json", file, "--svg", picture, "--markdown")...)
	r := readReport(t, file)
	for _, database := range measuredOn {
		for _, p := range []string{"client", "introspect-50", "assertion", "push", "refresh", "code", "device", "register",
			"guard", "dpop", "sample", "proxy"} {
			checkPath(t, r, database, p)
		}
		for _, memory := range []string{"resident memory when idle, ", "resident memory after 200 tokens, "} {
			checkSingle(t, r, memory+database)
		}
	}
	if postgresPrograms() != "" {
		checkSingle(t, r, "client credentials with 1,000 live tokens against an empty table")
		checkSingle(t, r, "bytes of a live token with its indexes, PostgreSQL")
	}
	checkTable(t, printed)
	checkSVG(t, picture, measuredOn)
}

func TestTwoBinariesTakeTurns(t *testing.T) {
	before, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "pairs.json")
	printed := must(t, "--against", before, "--databases", "sqlite", "--only", "client,refresh", "--rounds", "2",
		"--seconds", "0.2", "--warm-up", "0.1", "--json", file)
	r := readReport(t, file)
	first := map[int]string{}
	for _, path := range []string{"client", "refresh"} {
		checkPath(t, r, onSQLite, path)
		for _, f := range r.Figures {
			if f.Path == path && first[f.Round] == "" {
				first[f.Round] = f.Side
			}
		}
	}
	if first[1] != sideOurs || first[2] != sideBare {
		t.Errorf("the rounds are begun by %v", first)
	}
	header, _, _ := strings.Cut(printed[strings.Index(printed, "Path"):], "\n")
	if !strings.Contains(header, "before") {
		t.Errorf("the table has the columns %s", header)
	}
}

// checkPath asserts that both loops of both sides have correct answers and no others.
func checkPath(t *testing.T, r report, database, path string) {
	t.Helper()
	seen := map[string]bool{}
	for _, f := range r.Figures {
		if f.Database != database || f.Path != path {
			continue
		}
		name := fmt.Sprintf("%s %s %s %s", database, path, f.Side, f.Loop)
		seen[f.Side+" "+f.Loop] = true
		if len(f.Errors) > 0 {
			t.Errorf("%s: %v", name, f.Errors)
		}
		if f.Rate <= 0 || f.Requests == 0 || f.P50 <= 0 || f.P99 < f.P50 || f.P999 < f.P99 || f.Max < f.P999 {
			t.Errorf("%s: %+v", name, f)
		}
		if f.Loop == loopsOpen && f.Requests != int(f.Arrivals*0.2) {
			t.Errorf("%s: %d requests, and %.0f a second were due for 0.2 s", name, f.Requests, f.Arrivals)
		}
	}
	if len(seen) != 4 {
		t.Errorf("%s %s: only %v", database, path, seen)
	}
}

func checkSingle(t *testing.T, r report, name string) {
	t.Helper()
	for _, s := range r.Singles {
		if s.Name == name {
			if load.Median(s.Values) <= 0 {
				t.Errorf("%s: %v", name, s.Values)
			}
			return
		}
	}
	t.Errorf("there is no figure %q", name)
}

// checkTable asserts that all rows of a Markdown table have the same number of cells.
func checkTable(t *testing.T, printed string) {
	t.Helper()
	cells, rows := 0, 0
	for line := range strings.Lines(printed) {
		n := strings.Count(line, "|")
		switch {
		case n == 0:
			cells = 0
			continue
		case cells == 0:
			cells = n
		case n != cells:
			t.Errorf("a row of %d cells in a table of %d: %s", n-1, cells-1, line)
		}
		rows++
	}
	if rows < 10 {
		t.Errorf("the table has %d rows:\n%s", rows, printed)
	}
}

func checkSVG(t *testing.T, file string, databases []string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	bars := 0
	for d := xml.NewDecoder(bytes.NewReader(text)); ; {
		token, err := d.Token()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatalf("%v in %s", err, text)
		}
		element, ok := token.(xml.StartElement)
		if !ok || element.Name.Local != "rect" {
			continue
		}
		for _, attribute := range element.Attr {
			if attribute.Name.Local == "class" && attribute.Value != "ground" {
				bars++
			}
		}
	}
	if want := 10 * len(databases); bars != want {
		t.Errorf("the chart has %d bars, want %d", bars, want)
	}
}

func TestSoakIssuesAndTheTableEmpties(t *testing.T) {
	printed := must(t, "soak", "--tokens", "300", "--lifetime", "1", "--every", "0.1", "--rate", "500")
	for _, database := range databases(t) {
		if !strings.Contains(printed, database+": 300 tokens with a lifetime of 1s") {
			t.Errorf("no line about %s in:\n%s", database, printed)
		}
	}
	if got, want := strings.Count(printed, "after the last token the table is empty"), len(databases(t)); got != want {
		t.Errorf("%d tables are empty in the end, want %d:\n%s", got, want, printed)
	}
}

func TestGrowthIsFound(t *testing.T) {
	o := &options{stdout: io.Discard, growth: 0.25}
	const mb = 1 << 20
	for name, c := range map[string]struct {
		states []tableState
		grows  bool
	}{
		"flat":         {[]tableState{{100, 10, 10 * mb}, {90, 5, 11 * mb}, {110, 0, 10 * mb}, {100, 10, 11 * mb}}, false},
		"in waves":     {[]tableState{{100, 10, 10 * mb}, {90, 5, 20 * mb}, {110, 0, 10 * mb}, {100, 10, 20 * mb}}, false},
		"larger":       {[]tableState{{100, 10, 10 * mb}, {90, 5, 11 * mb}, {110, 0, 13 * mb}, {100, 10, 15 * mb}}, true},
		"not deleted":  {[]tableState{{100, 10, 10 * mb}, {90, 5, 10 * mb}, {110, 0, 10 * mb}, {300, 200, 10 * mb}}, true},
		"cannot judge": {[]tableState{{100, 10, 10 * mb}, {90, 5, 90 * mb}}, false},
	} {
		err := o.judge(name, c.states)
		if (err != nil) != c.grows {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestFloodPrintsAllSix(t *testing.T) {
	measuredOn, choice := measured(t, onSQLite)
	printed := must(t, append([]string{"flood", "--rounds", "1", "--seconds", "0.3", "--rate", "200", "--attackers", "4"},
		choice...)...)
	for _, row := range []string{"quiet", "token requests", "wrong passwords", "right passwords", "invented documents",
		"registrations"} {
		if got, want := strings.Count(printed, "\n"+row+" "), len(measuredOn); got != want {
			t.Errorf("%d rows %q, want %d:\n%s", got, row, want, printed)
		}
	}
	if !strings.Contains(printed, "x HTTP 400 invalid_grant") || !strings.Contains(printed, "x accepted") {
		t.Errorf("passwords were neither refused nor taken:\n%s", printed)
	}
}
