package mandate

import (
	"encoding/csv"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"unicode"
)

// A stranger hides an escape sequence of the operator's terminal in the name of a browser, and text that runs
// backwards. The event log is read in terminals, also as JSON.
func TestAttackEscapeSequenceInTheEventLog(t *testing.T) {
	t.Parallel()
	attack(t, "injection into a log (CWE-117, CWE-150)", "")
	s := startServer(t, options{})
	s.person(t, "alice")
	const hidden = "Mozilla \u009b2J\u202etxt.exe \U000e0041\u2028 end"
	s.post(t, "/login/", func(r *http.Request, _ url.Values) {
		r.Header.Set("Sec-Fetch-Site", "same-origin")
		r.Header.Set("User-Agent", hidden)
	}, params("username", "alice", "password", "none of hers"))
	for _, flags := range [][]string{{"--json"}, {}} {
		printed := s.mustCLI(t, "", append([]string{"events", "--kind", "sign-in.failed"}, flags...)...)
		if strings.ContainsFunc(printed, func(r rune) bool { return r != '\n' && !unicode.IsGraphic(r) }) {
			t.Errorf("%v: %q", flags, printed)
		}
	}
	list := s.events(t, "--kind", "sign-in.failed")
	if len(list) != 1 || list[0].UserAgent != hidden {
		t.Errorf("the name of the browser is %s, want %q", fmt.Sprint(list), hidden)
	}
}

// A stranger writes a formula into the name of a browser. Where a semicolon separates cells, a spreadsheet takes
// what follows one for another cell.
func TestAttackFormulaInTheExportOfEvents(t *testing.T) {
	t.Parallel()
	attack(t, "formula injection into CSV (CWE-1236)", "")
	s := startServer(t, options{settings: []string{"TRUSTED_PROXIES: [127.0.0.1]"}})
	s.person(t, "alice")
	admin := s.signedIn(t, s.person(t, "root", "--admin"))
	names := []string{"=1+1", "x;=1+1", "x; =1+1", "x;\"=1+1\"", "x;+1", "\uff1d1+1", "x;@SUM(1)", "x\t=1+1", "(compatible; bot)"}
	for i, name := range names {
		s.post(t, "/login/", func(r *http.Request, form url.Values) {
			from(fmt.Sprintf("192.0.%d.1", i))(r, form) // a network of its own has a row of its own
			r.Header.Set("User-Agent", name)
		}, params("username", "alice", "password", "none of hers"))
	}
	admin.open(t, "/admin/events/?kind=sign-in.failed")
	admin.submit(t, "Export as CSV", nil)
	rows, err := csv.NewReader(strings.NewReader(admin.Body)).ReadAll()
	if err != nil || len(rows) != len(names)+1 {
		t.Fatalf("%v, %d rows\n%s", err, len(rows), admin.Body)
	}
	for _, separator := range []string{",", ";", "\t"} {
		for cell := range strings.SplitSeq(strings.ReplaceAll(admin.Body, "\n", separator), separator) {
			if begin := strings.TrimLeft(cell, `" `); begin != "" && strings.ContainsAny(begin[:1], "=+-@\t\r") || strings.HasPrefix(begin, "\uff1d") {
				t.Errorf("with %q between cells, one is %q", separator, cell)
			}
		}
	}
	if !strings.Contains(admin.Body, "(compatible; bot)") {
		t.Error("a usual name has changed")
	}
}
