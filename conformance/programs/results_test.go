package programs

import (
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"mandate/testkit"
)

// result is what happened when a program was tried.
type result struct {
	Version  string `json:"version"`
	Settings string `json:"settings,omitempty"` // of the program
	Flags    string `json:"flags,omitempty"`    // of `mandate application add`
	Shows    string `json:"shows"`              // what the program knows about the person
	Refused  string `json:"refused,omitempty"`  // the reason on the page
	Foreign  bool   `json:"foreign,omitempty"`  // `make foreign` tries it, not every run of the tests
	Date     string `json:"date"`
}

var (
	resultsFile = filepath.Join("testdata", "results.json")
	recording   sync.Mutex
)

func results(t *testing.T) map[string]result {
	t.Helper()
	text, err := os.ReadFile(resultsFile)
	if err != nil {
		t.Fatal(err)
	}
	var all map[string]result
	err = json.Unmarshal(text, &all)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// record compares the result of a test that has passed with the recorded one, which the documentation shows. With
// -update it writes the result.
func (p program) record(t *testing.T) {
	t.Helper()
	if t.Failed() {
		return
	}
	recording.Lock()
	defer recording.Unlock()
	all := results(t)
	flags, settings := p.flags, p.settings
	if p.preset != "" {
		flags, settings = append([]string{"--for", p.preset}, flags...), cmp.Or(settings, "those that Mandate prints")
	}
	if p.grant != "" {
		flags = append([]string{"--grant", p.grant}, flags...)
	}
	got := result{
		Version:  p.version(t),
		Settings: settings,
		Flags:    strings.Join(flags, " "),
		Shows:    p.shows.String(),
		Refused:  p.refused,
		Foreign:  p.foreign,
		Date:     all[p.name].Date,
	}
	if gocmp.Equal(all[p.name], got) {
		return
	}
	if flag.Lookup("update").Value.String() != "true" {
		t.Fatalf("testdata/results.json has another result (-recorded +got); run this test with -update, and make docs:\n%s",
			gocmp.Diff(all[p.name], got))
	}
	got.Date = time.Now().UTC().Format(time.DateOnly)
	all[p.name] = got
	text, err := json.MarshalIndent(all, "", "  ")
	if err == nil {
		err = os.WriteFile(resultsFile, append(text, '\n'), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// loginRun is how Mandate says that a login was run with exactly the settings that it prints.
const loginRun = "tested, version "

// known is a program whose settings Mandate prints.
type known struct{ Name, Verified string }

func knownPrograms(t *testing.T) []known {
	t.Helper()
	var all []known
	err := json.Unmarshal([]byte((&server{dir: t.TempDir()}).cli(t, "", "application", "programs", "--json")), &all)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// wantVerified asserts that Mandate says with which version of the program a login was run.
func (p program) wantVerified(t *testing.T) {
	t.Helper()
	all := knownPrograms(t)
	i := slices.IndexFunc(all, func(one known) bool { return one.Name == p.preset })
	if i < 0 || !strings.HasPrefix(all[i].Verified, loginRun) || !strings.Contains(all[i].Verified, p.version(t)) {
		t.Errorf(
			"a login was run with the text for %s and version %s, but Mandate says: %+v",
			p.preset,
			p.version(t),
			all[max(0, i)],
		)
	}
}

// String names what a program knows about a person.
func (p person) String() string {
	var has []string
	for _, one := range []struct {
		what  string
		known bool
	}{{"name", p.Name != ""}, {"email", p.Email != ""}, {"groups", len(p.Groups) > 0}} {
		if one.known {
			has = append(has, one.what)
		}
	}
	return strings.Join(has, ", ")
}

// The table of docs/programs-tried.md has the recorded results.
func TestProgramsDocs(t *testing.T) {
	all := results(t)
	var b strings.Builder
	b.WriteString("| Program | Version | Signs people in | It gets | Settings beside issuer, client and scopes | Tried " +
		"| By |\n|---|---|---|---|---|---|---|\n")
	for _, name := range slices.SortedFunc(maps.Keys(all),
		func(a, b string) int { return cmp.Compare(strings.ToLower(a), strings.ToLower(b)) }) {
		r := all[name]
		works, shows, settings, by := "yes", r.Shows, cmp.Or(r.Settings, "none"), "`make test`"
		if r.Refused != "" {
			works, shows = "no: `"+r.Refused+"`", "-"
		}
		if r.Flags != "" {
			settings += "; in Mandate `" + r.Flags + "`"
		}
		if r.Foreign {
			by = "`make foreign`"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s | %s |\n", name, r.Version, works, shows, settings, r.Date, by)
	}
	testkit.DocsBlock(t, "programs-tried.md", "programs", b.String())
}
