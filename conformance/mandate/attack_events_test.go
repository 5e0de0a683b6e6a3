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
	names := []string{"=1+1", "x;=1+1", "x; =1+1", "x;\"=1+1\"", "x;+1", "\uff1d1+1", "x;@SUM(1)", "x\t=1+1",
		"(compatible; bot)"}
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
			if begin := strings.TrimLeft(cell, `" `); begin != "" && strings.ContainsAny(begin[:1], "=+-@\t\r") ||
				strings.HasPrefix(begin, "\uff1d") {
				t.Errorf("with %q between cells, one is %q", separator, cell)
			}
		}
	}
	if !strings.Contains(admin.Body, "(compatible; bot)") {
		t.Error("a usual name has changed")
	}
}

// A person signs in again and again, without a session that would count the forms. No password is hashed with a
// passkey. Each sign-in would be an event for a year.
func TestAttackEndlessSignIns(t *testing.T) {
	attack(t, "event log flooded by sign-ins (CWE-770)", "")
	s := startServer(t, options{host: "localhost"})
	alice, bob := s.person(t, "alice"), s.person(t, "bob")
	key := s.signedIn(t, alice).newPasskey(t)
	refused := 0
	for range 1060 {
		b := s.browser(t)
		options, form := b.asked(t, "/login/?next=/account/password/")
		form.Set("response", key.Get(options))
		key.Counter++
		b.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
		b.send(t, "/login/passkey/", form)
		if b.Status == http.StatusTooManyRequests {
			refused++
			if !strings.Contains(b.Body, "Too many requests. Try again in a minute.") {
				t.Fatalf("%s", b.Body)
			}
		}
	}
	if refused < 20 {
		t.Errorf("%d of 1060 sign-ins were refused", refused)
	}
	if n := rows(t, s.database, "events WHERE kind IN ('sign-in', 'sign-in.failed') AND person_name = 'alice'"); n > 1040 {
		t.Errorf("%d events", n)
	}
	if b := s.signedIn(t, bob); !b.isSignedIn(t) {
		t.Error("somebody else cannot sign in")
	}
}

// An application that was registered with an initial access token changes itself again and again.
func TestAttackEndlessChangesOfAClient(t *testing.T) {
	t.Parallel()
	attack(t, "event log flooded by a client (CWE-770)", "")
	s := startServer(t, options{provider: openClients})
	token := s.initialToken(t)
	made := s.registers(t, bearer(token), `{"client_name":"One","redirect_uris":["https://tool.example/cb"]}`)
	refused := 0
	for i := range 1060 {
		a := s.send(t, "PUT", textOf(made, "registration_client_uri"), bearer(textOf(made, "registration_access_token")),
			member{"client_id": textOf(made, "client_id"), "client_name": fmt.Sprint("Name ", i),
				"redirect_uris": []string{"https://tool.example/cb"}})
		if a.Status == http.StatusTooManyRequests {
			refused++
			if a.Header.Get("Retry-After") == "" {
				t.Error("the response does not say when to try again")
			}
		} else if a.Status != http.StatusOK {
			t.Fatalf("%d %s", a.Status, a.Body)
		}
	}
	if n := rows(t, s.database, "events WHERE kind = 'application.changed'"); refused < 20 || n > 1040 {
		t.Errorf("%d of 1060 changes were refused, and there are %d events", refused, n)
	}
}
