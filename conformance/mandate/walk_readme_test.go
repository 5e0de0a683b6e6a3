package mandate

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"mandate/testkit"
	"mandate/testkit/port"
)

// TestWalkReadme runs the commands of the README's shortest way to a protected API
// unchanged, except for the addresses.
func TestWalkReadme(t *testing.T) {
	ownProcesses(t)
	t.Parallel()
	testkit.Program(t, "curl", "curl")
	commands, files := steps(t, "README.md", "The shortest way to a protected API")
	s := startServer(t, options{})
	err := os.Symlink(built(t, binary), filepath.Join(s.dir, "mandate"))
	if err != nil {
		t.Fatal(err)
	}
	api, requests := upstream(t)
	proxy := port.Address()
	values := []string{"127.0.0.1:8000", strings.TrimPrefix(s.URL, "http://"), "127.0.0.1:8080", proxy, "127.0.0.1:3000",
		strings.TrimPrefix(api.URL, "http://")}
	shell := func(line string) *exec.Cmd {
		line = strings.NewReplacer(values...).Replace(line)
		cmd := exec.Command("sh", "-c", "exec "+line)
		cmd.Dir, cmd.Env = s.dir, append(environment(), "MANDATE_CONFIG="+s.config)
		return cmd
	}
	printed := func(line string) string {
		out, err := shell(line).Output()
		if err != nil {
			t.Fatalf("%s: %v\n%s", line, err, out)
		}
		return string(out)
	}

	for _, app := range []struct{ placeholder, command string }{{"API", "./mandate application add"},
		{"CALLER", "./mandate application add (2)"}} {
		registered := printed(commands[app.command])
		for _, credential := range []struct{ name, placeholder string }{{"client id", "-ID"}, {"client secret", "-SECRET"}} {
			found := regexp.MustCompile(`(?m)^` + credential.name + ` +(\S+)`).FindStringSubmatch(registered)
			if found == nil {
				t.Fatalf("the command does not print the %s:\n%s", credential.name, registered)
			}
			values = append(values, app.placeholder+credential.placeholder, found[1])
		}
		s.secret(values[len(values)-1])
	}
	err = os.WriteFile(filepath.Join(s.dir, "guard.yaml"),
		[]byte(strings.NewReplacer(values...).Replace(files["guard.yaml"])), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	var log logBuffer
	guard, err := launch(shell(commands["./mandate resource-server"]), &log)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = guard.cmd.Process.Kill() // it may have ended
		<-guard.exited
	})
	waitFor(t, "the proxy listens", func() bool {
		if !guard.running() {
			t.Fatalf("the proxy ended at once:\n%s", log.String())
		}
		return exec.Command("curl", "-s", "http://"+proxy).Run() == nil
	})

	answer := printed(commands["curl -d"])
	token := regexp.MustCompile(`"access_token":"([^"]+)"`).FindStringSubmatch(answer)
	if token == nil {
		t.Fatalf("the token endpoint answers %s", answer)
	}
	values = append(values, "TOKEN", s.secret(token[1]))
	if got := printed(commands["curl -H"]); got != "upstream GET /" {
		t.Errorf("through the proxy the API answers %q", got)
	}
	if got := printed("curl -s -o /dev/null -w %{http_code} http://127.0.0.1:8080/"); got != "401" {
		t.Errorf("without a token the proxy answers %s, and README.md says 401", got)
	}
	if n := len(requests()); n != 1 {
		t.Errorf("%d requests reached the API, want 1", n)
	}
}

// steps returns the commands of a section by their first two or three words, of which the second one has (2) at its
// end, and its files by name.
func steps(t *testing.T, page, heading string) (commands, files map[string]string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", page))
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(text), "\n## "+heading+"\n")
	if !found {
		t.Fatalf("%s has no section %q", page, heading)
	}
	section, _, _ = strings.Cut(section, "\n## ")
	commands, files = map[string]string{}, map[string]string{}
	file := ""
	for line := range strings.Lines(section) {
		code, isCode := strings.CutPrefix(line, "       ")
		named := regexp.MustCompile("Write `([a-z.]+)`").FindStringSubmatch(line)
		switch {
		case named != nil:
			file = named[1]
		case isCode && file != "":
			files[file] += code
		case isCode:
			words := strings.Fields(code)
			n := 2
			if words[0] == "./mandate" && slices.Contains([]string{"application", "resource"}, words[1]) {
				n = 3
			}
			name := strings.Join(words[:n], " ")
			if commands[name] != "" {
				name += " (2)"
			}
			commands[name] = strings.TrimSpace(code)
		case strings.TrimSpace(line) != "":
			file = ""
		}
	}
	return commands, files
}
