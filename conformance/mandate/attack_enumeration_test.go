package mandate

import (
	"fmt"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"mandate/testkit"
)

// work returns the processor time that a server has used, in hundredths of a second. Unlike the time of a
// response, it does not depend on what else the machine does.
func (s *server) work(t testing.TB) int {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.process.cmd.Process.Pid))
	if err != nil {
		testkit.Missing(t, "this system does not say how much processor time a process has used: "+err.Error())
	}
	_, rest, _ := strings.Cut(string(text), ") ")
	fields := strings.Fields(rest)
	sum := 0
	for _, field := range fields[11:13] { // utime and stime, of proc(5)
		n, err := strconv.Atoi(field)
		if err != nil {
			t.Fatal(err)
		}
		sum += n
	}
	return sum
}

// perRequest matches what is another one in each response. The name of the browser is random.
var perRequest = regexp.MustCompile(`(?m)^(Date: |X-Request-Id: |Set-Cookie: mandate_browser=)[^;\r\n]*`)

// without returns a response without what differs in each one, and without a name.
func (a answer) without(name string) string {
	var header strings.Builder
	_ = a.Header.Write(&header) // it cannot fail
	return fmt.Sprint(a.Status, "\n", strings.ReplaceAll(perRequest.ReplaceAllString(header.String(), "$1")+a.Body,
		name, "NAME"))
}

// Whether somebody has an account, and what kind of account, is neither in the response to a wrong
// password nor in the work that the server does for it, on the page as at the token endpoint.
func TestAttackSignInEnumeration(t *testing.T) {
	ownProcesses(t)
	attack(t, "user enumeration (CWE-204, CWE-208)", "CVE-2026-23511 (zitadel)")
	onADatabase(t, func(t *testing.T, db database) {
		s := startServer(t, options{database: db,
			settings: []string{ours, "PASSWORD_HASH_MEMORY_KIB: 7168", "PASSWORD_HASH_ITERATIONS: 8"}})
		app := s.application(t, "--name", "Old", "--grant", "password")
		passwords := map[string]string{"usual-": "wrong words in a row", "nobody": "wrong words in a row"}
		for _, name := range []string{"usual-", "locked", "secure", "wholly"} {
			p := s.person(t, name)
			switch name {
			case "locked": // even with the right password
				s.mustCLI(t, "", "user", "disable", name)
				passwords[name] = p.Password
			case "secure":
				s.withApp(t, p)
				passwords[name] = "wrong words in a row"
			case "wholly": // signs in with a passkey or at another server only
				behind(t, db, `UPDATE users SET password = '' WHERE username = 'wholly'`)
				passwords[name] = "wrong words in a row"
			}
		}
		// Addresses: one that somebody has verified, one that somebody has, and one that nobody has.
		for name, address := range map[string]string{"vera": "v@x.io", "ulla": "u@x.io"} {
			s.person(t, name, "--email", address)
			passwords[address] = "wrong words in a row"
		}
		s.hasVerified(t, "vera")
		passwords["n@x.io"] = "wrong words in a row"
		for place, try := range map[string]func(name, password string) answer{
			"page": func(name, password string) answer {
				return s.post(t, "/login/", ownForm, params("username", name, "password", password, "next", "/account/"))
			},
			"token endpoint": func(name, password string) answer {
				return s.post(t, "/o/token/", app.auth(), params("grant_type", "password", "username", name, "password", password))
			},
		} {
			said, spent := map[string][]string{}, map[string]int{}
			for name, password := range passwords {
				before := s.work(t)
				var got answer
				for range 4 {
					got = try(name, password)
				}
				spent[name] = s.work(t) - before
				said[got.without(name)] = append(said[got.without(name)], name)
				if got.Status != http.StatusUnprocessableEntity && got.Status != http.StatusBadRequest {
					t.Errorf("%s, %s: %d", place, name, got.Status)
				}
			}
			if len(said) != 1 {
				t.Errorf("%s: the responses differ: %v", place, said)
			}
			t.Logf("%s: hundredths of a second for four attempts: %v", place, spent)
			for name, n := range spent {
				// Without the hash, an attempt takes a fiftieth of the time.
				if 3*n < spent["usual-"] || n > 3*spent["usual-"] {
					t.Errorf("%s: four attempts as %s take %d hundredths of a second, a wrong password %d", place, name, n,
						spent["usual-"])
				}
			}
		}
		// Nor does the limit tell: both are slowed after as many attempts.
		checkEqual(t, "attempts", s.guesses(t, afar(ownForm), "usual-"), s.guesses(t, afar(ownForm), "nobody"))
	})
}
