package mandate

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"mandate/testkit"
)

// TestWalkFAPI does what docs/fapi.md says, from the key to the API. Only the addresses differ.
func TestWalkFAPI(t *testing.T) {
	ownProcesses(t)
	t.Parallel()
	for _, program := range []string{"node", "openssl"} {
		testkit.Program(t, program, "nodejs openssl")
	}
	s := startServer(t, options{settings: []string{"SAMPLE_API: true"}})
	alice := s.person(t, "alice")
	err := os.Symlink(built(t, binary), filepath.Join(s.dir, "mandate"))
	if err != nil {
		t.Fatal(err)
	}
	const page = "docs/fapi.md"
	shell := func(line string) *exec.Cmd {
		cmd := exec.Command("sh", "-ec", line)
		cmd.Dir, cmd.Env = s.dir, append(environment(), "MANDATE_CONFIG="+s.config)
		return cmd
	}
	registered := ""
	for _, heading := range []string{"Create a key", "Register the application"} {
		out, err := shell(code(t, page, heading)[0]).Output()
		if err != nil {
			t.Fatalf("%s: %v\n%s", heading, err, out)
		}
		registered = string(out)
	}
	id := regexp.MustCompile(`(?m)^client id +(\S+)`).FindStringSubmatch(registered)
	if id == nil {
		t.Fatalf("the command does not print the client id:\n%s", registered)
	}
	first := code(t, page, "Send the first request")
	if len(first) != 2 {
		t.Fatalf("the section has %d programs, want the client and how to run it", len(first))
	}
	err = os.WriteFile(filepath.Join(s.dir, "first.mjs"), []byte(first[0]), 0o600)
	if err != nil {
		t.Fatal(err)
	}

	var failure logBuffer
	client := shell("exec " + strings.NewReplacer("http://127.0.0.1:8000", s.URL, "CLIENT_ID", id[1]).Replace(first[1]))
	client.Stderr = &failure
	in, err := client.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := client.StdoutPipe()
	if err == nil {
		err = client.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Process.Kill() }) // it may have ended
	lines := bufio.NewReader(out)
	line, _ := lines.ReadString('\n')
	address, found := strings.CutPrefix(strings.TrimSpace(line), "Open ")
	if !found {
		t.Fatalf("the client prints %q\n%s", line, failure.String())
	}
	back := s.browser(t).authorize(t, address, alice, "approve")
	s.secret(back.Query().Get("code"))
	_, err = io.WriteString(in, back.String()+"\n")
	if err != nil {
		t.Fatal(err)
	}
	rest, err := io.ReadAll(lines)
	if waited := client.Wait(); err != nil || waited != nil || !strings.Contains(string(rest), "The API answers 200: ") {
		t.Errorf("the client prints %q, %v, %v\n%s", rest, err, waited, failure.String())
	}
}

// code returns the programs and commands of a section of a page: what is indented by four spaces.
func code(t testing.TB, page, heading string) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", page))
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(text), "\n## "+heading+"\n")
	section, _, _ = strings.Cut(section, "\n## ")
	var blocks []string
	inside := false
	for line := range strings.Lines(section) {
		text, indented := strings.CutPrefix(line, "    ")
		switch {
		case indented && inside:
			blocks[len(blocks)-1] += text
		case indented:
			blocks = append(blocks, text)
		case inside && strings.TrimSpace(line) == "": // an empty line belongs to the block
			blocks[len(blocks)-1] += line
			continue
		}
		inside = indented
	}
	if !found || len(blocks) == 0 {
		t.Fatalf("%s has no code in a section %q", page, heading)
	}
	return blocks
}
