package conformance

import (
	"encoding/json"
	"encoding/xml"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mandate/conformance/check"
	"mandate/conformance/need"
	"mandate/conformance/rules"
	"mandate/conformance/servertest"
	"mandate/conformance/target"
	"mandate/testkit"
)

// A run with parallel checks has the same results as single checks. It checks on SQLite the rules that a test of their
// own checks on PostgreSQL; make test-all checks all of them.
func TestRun(t *testing.T) {
	s := servertest.OnDatabase(t, "run") // its wrong secrets and passwords use up the attempts that a server allows
	chosen := slices.DeleteFunc(slices.Clone(rules.All()), func(r check.Rule) bool {
		return !testkit.All() && slices.Contains(testkit.Databases(r.ID), "sqlite")
	})
	done := map[string]bool{}
	report := s.Runner.Run(t.Context(), chosen, func(r check.Result) { done[r.Rule.ID] = true })
	if len(done) != len(chosen) || len(done) < len(rules.All())/3 {
		t.Errorf("%d of %d rules were told of", len(done), len(chosen))
	}
	for i, result := range report.Results {
		if result.Rule.ID != chosen[i].ID {
			t.Fatalf("result %d is that of %s", i, result.Rule.ID)
		}
		if result.Rule.Check != nil {
			servertest.Judge(t, result)
		}
	}
	if report.Failed() {
		t.Error(report.Summary())
	}
}

// targetFile writes a target to a temporary folder.
func targetFile(t *testing.T, target *target.Target) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "target.yaml")
	err := target.Write(path)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func targetText(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "target.yaml")
	err := os.WriteFile(path, []byte(text), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// copied returns a copy of the target that a test may change.
func copied(s *servertest.Server) *target.Target {
	c := *s.Runner.Target
	c.Endpoints = map[string]string{}
	return &c
}

func TestCommand(t *testing.T) {
	s := servertest.OnDatabase(t, "sqlite")
	path := targetFile(t, copied(s))
	t.Run("a tree, and a summary last", func(t *testing.T) {
		r := servertest.Run(t, "", "--target", path, "--only", "RFC7636/4.6", "--only", "RFC6749/10.12")
		r.Want(t, 0, "RFC 7636 Proof Key for Code Exchange\n  §4.6  https://www.rfc-editor.org/rfc/rfc7636#section-4.6\n   "+
			" pass      MUST   verifier-compared: ", "RFC 6749", " rules in ")
		lines := strings.Split(strings.TrimSpace(r.Stdout), "\n")
		if last := lines[len(lines)-1]; !strings.Contains(last, "passed") {
			t.Errorf("the last line is %q", last)
		}
		if r.Stderr != "" {
			t.Errorf("it writes progress where nobody watches: %q", r.Stderr)
		}
	})
	t.Run("json", func(t *testing.T) {
		r := servertest.Run(t, "", "--target", path, "--only", "RFC7662/2.2", "--format", "json")
		r.Want(t, 0)
		var report struct {
			Issuer  string `json:"issuer"`
			Failed  bool   `json:"failed"`
			Results []struct{ ID, Status string }
		}
		err := json.Unmarshal([]byte(r.Stdout), &report)
		if err != nil || report.Issuer != s.URL+"/o" || report.Failed || len(report.Results) < 5 {
			t.Errorf("%v: %s", err, r.Stdout)
		}
	})
	t.Run("junit", func(t *testing.T) {
		r := servertest.Run(t, "", "--target", path, "--only", "RFC6750", "--format", "junit")
		r.Want(t, 0)
		var suites struct {
			Suites []struct {
				Failures int `xml:"failures,attr"`
				Skipped  int `xml:"skipped,attr"`
			} `xml:"testsuite"`
		}
		err := xml.Unmarshal([]byte(r.Stdout), &suites)
		if err != nil || len(suites.Suites) != 1 || suites.Suites[0].Failures != 0 || suites.Suites[0].Skipped == 0 {
			t.Errorf("%v: %s", err, r.Stdout)
		}
	})
	t.Run("several reports", func(t *testing.T) {
		dir := t.TempDir()
		args := []string{"--target", path, "--only", "RFC7636/4.6"}
		wanted := map[string]string{"r.html": "<!doctype html>", "r.xml": "<testsuites>", "r.json": `"issuer"`,
			"r.txt": "verifier-compared"}
		for name := range wanted {
			args = append(args, "--report", filepath.Join(dir, name))
		}
		servertest.Run(t, "", args...).Want(t, 0, "verifier-compared")
		for name, want := range wanted {
			text, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil || !strings.Contains(string(text), want) {
				t.Errorf("%s: %v: %s", name, err, text)
			}
		}
		absent := filepath.Join(dir, "absent.html")
		servertest.Run(t, "", "--target", targetText(t, "issuer: http://127.0.0.1:1"), "--report", absent).Want(t, 2,
			"connection refused")
		_, err := os.Stat(absent)
		if !os.IsNotExist(err) {
			t.Errorf("a report without results remains: %v", err)
		}
		servertest.Run(t, "", "--target", path, "--report", absent, "--report", filepath.Join(dir, "none", "r.html")).Want(t,
			2, "no such file")
	})
	t.Run("list", func(t *testing.T) {
		r := servertest.Run(t, "", "--list")
		r.Want(t, 0, "no check: Mandate, for which the rules were written, gives this reason: ",
			"not observable from outside: ", "not done: ")
		for _, rule := range rules.All() {
			if !strings.Contains(r.Stdout, rule.ID+"\n") {
				t.Errorf("the list lacks %s", rule.ID)
			}
		}
		servertest.Run(t, "", "--list", "--profile", "oauth21").Want(t, 0, "RFC7636/4.6/")
		servertest.Run(t, "", "--list", "--profile", "fapi2-message-signing").Want(t, 0, "FAPI2/5.3.2.2/", "FAPI2MS/5.3.1/")
	})
	t.Run("wrong usage", func(t *testing.T) {
		for line, want := range map[string]string{
			"": "--target is missing: name the file that describes the server to check; " +
				"--write-target writes it",
			"--target":                          "flag needs an argument: --target",
			"--target " + path + " --only RFC1": `--only: there is no document "RFC1", only RFC6749, `,
			"--target " + path +
				" --only RFC7636/9": `--only: no rule is under "RFC7636/9": --list --only RFC7636 shows`,
			"--target " + path + " --profile logout --only RFC7636": `--only: the profile logout has no rule under "RFC7636"`,
			"--target " + path + " --only RFC7636 --only RFC1":      `--only: there is no document "RFC1"`,
			"--target " + path +
				" --profile x": `--profile: there is no profile "x", only browser, fapi2, fapi2-ms, logout, `,
			"--target " + path + " --format x":   `--format: there is no format "x", only html, json, `,
			"--list --format json":               "--format: a list is always text",
			"--target " + path + " more":         `unexpected argument "more"`,
			"--target " + path + " --timeout 0s": "--timeout: must be greater than 0",
			"--target " + path + " --workers 17": "--workers: must be between 1 and 16",
			"--target " + path + " --workers 0":  "--workers: must be between 1 and 16",
			"--target " + path + " --report r.pdf": "--report: the ending of r.pdf must be .html, .json, " +
				".xml (JUnit) or .txt",
			"--frobnicate": "unknown flag: --frobnicate",
		} {
			r := servertest.Run(t, "", strings.Fields(line)...)
			r.Want(t, 2, "mandate: "+want, "(see: mandate conformance --help)")
			if strings.Count(r.Stderr, "\n") != 1 || r.Stdout != "" {
				t.Errorf("%s: %s%s", line, r.Stdout, r.Stderr)
			}
		}
	})
}

// The report names what is wrong in the target. If it blocks many rules, it is repeated at the end.
func TestCommandWrongTarget(t *testing.T) {
	s := servertest.OnDatabase(t, "sqlite")
	// A client of its own keeps wrong secrets from slowing other checks down.
	role, _ := need.RoleOf(need.Code)
	own, err := s.Register(role, "")
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		change     func(*target.Target)
		only, want string
	}{
		"a wrong password": {func(t *target.Target) { t.User.Password = "wrong" }, "RFC7636/4",
			"user.username or user.password of the target may be wrong"},
		"nobody's name": {func(t *target.Target) { t.User.Username = "nobody" }, "RFC7636/4",
			"user.username or user.password of the target may be wrong"},
		"nobody's client": {func(t *target.Target) { t.Clients[need.Code].ID = "nobody" }, "RFC7636/4",
			`the server shows a page: 400 Bad Request, "`},
		"a wrong secret": {func(t *target.Target) { t.Clients[need.Code].Secret = "wrong" }, "RFC7636/4.2 RFC7636/4.6",
			"There is no client with this id, or the secret is wrong.: the server does not accept the client code: " +
				"clients.code.secret or clients.code.auth of the target may be wrong"},
		"a wrong scope": {func(t *target.Target) { t.Scope = "raed" }, "RFC7636/4",
			"There is no scope 'raed' on this server"},
	} {
		t.Run(name, func(t *testing.T) {
			written, client := copied(s), *own
			written.Clients = map[need.Need]*target.Client{need.Code: &client}
			c.change(written)
			args := []string{"--target", targetFile(t, written)}
			for only := range strings.FieldsSeq(c.only) {
				args = append(args, "--only", only)
			}
			r := servertest.Run(t, "", args...)
			r.Want(t, 1, c.want)
			if strings.Contains(r.Stdout, " FAIL      MUST ") {
				t.Errorf("the mistake in the target fails a MUST:\n%s", r.Stdout)
			}
			_, end, _ := strings.Cut(strings.Join(strings.Fields(r.Stdout), " "), "Results with the same cause: ")
			if strings.Contains(r.Stdout, " blocked ") && !strings.Contains(end, c.want) {
				t.Errorf("the end lacks %q:\n%s", c.want, r.Stdout)
			}
		})
	}
}

// RFC 10070 §4: assertions are for the issuer, so that the issuer of the target may be what is wrong with a client.
func TestCommandWrongIssuer(t *testing.T) {
	written := copied(servertest.OnDatabase(t, "sqlite"))
	written.Issuer = strings.TrimSuffix(written.Issuer, "/o") // its metadata is found all the same
	servertest.Run(t, "", "--target", targetFile(t, written), "--only", "RFC7523/3").Want(t, 1,
		"issuer or clients.key.jwk of the target may be wrong")
}

// A fault fails the check that names it. The report shows the request, the response and a command to repeat it,
// without secrets.
func TestCommandShowsAFault(t *testing.T) {
	s := servertest.OnDatabase(t, "sqlite")
	target := copied(s)
	target.Endpoints["token_endpoint"] = faulty(t, s.URL, func(a *http.Response) error {
		a.Header.Del("Pragma")
		return nil
	}) + "/o/token/"
	path := targetFile(t, target)
	r := servertest.Run(t, "", "--target", path, "--only", "RFC6749/5.1", "--only", "RFC6749/4.1")
	r.Want(t, 1, "FAIL      MUST   no-cache: ", "the answer has no header Pragma: no-cache", "> POST http://127.0.0.1:",
		"> Authorization: Basic (",
		"grant_type=client_credentials", "< 200 OK", `"access_token":"$ACCESS_TOKEN"`,
		"to repeat it:\n                curl -i http://127.0.0.1", `:"$MACHINE_SECRET"`, "-d grant_type=client_credentials",
		"1 MUST failed", "mandate: the server does not satisfy every MUST")
	if !strings.HasSuffix(r.Stdout, "\n  FAIL MUST RFC6749/5.1/no-cache, security: the answer has no header Pragma: "+
		"no-cache\n") {
		t.Errorf("the end does not name the failure:\n%s", r.Stdout)
	}
	if strings.Count(r.Stdout, "FAIL ") != 2 || strings.Contains(r.Stdout, "blocked") {
		t.Errorf("other checks fail too:\n%s", r.Stdout)
	}
	for role, c := range target.Clients {
		if c.Secret != "" && strings.Contains(r.Stdout+r.Stderr, c.Secret) {
			t.Errorf("the secret of %s is shown", role)
		}
	}
	if strings.Contains(r.Stdout, "mat_") {
		t.Errorf("an access token is shown:\n%s", r.Stdout)
	}
}

// faulty returns the address of a proxy that changes answers.
func faulty(t *testing.T, address string, spoil func(*http.Response) error) string {
	t.Helper()
	to, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(to)
	proxy.ModifyResponse = spoil
	front := httptest.NewServer(proxy)
	t.Cleanup(front.Close)
	return front.URL
}
