package conformance

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"mandate/conformance/check"
	"mandate/conformance/need"
	"mandate/conformance/rules"
	"mandate/conformance/servertest"
	"mandate/conformance/target"
	"mandate/testkit"
)

// providerVersion is the version of oidc-provider that testdata/oidc-provider installs.
const providerVersion = "9.13.3"

// providerFindings are the rules that oidc-provider violates with its default settings. It is certified for OpenID
// Connect. So a violated rule means that the check is wrong, unless the document clearly says otherwise.
var providerFindings = map[string]string{
	"RFC6749/5.1/no-cache": "It sends Cache-Control: no-store alone. The document asks for Pragma: no-cache as well, " +
		"although Pragma says nothing in an answer and RFC 9111 §5.4 has given it up.",
	"RFC6749/5.2/unauthorized-client": "It answers invalid_request to a client that is not registered for the grant type. " +
		"The definition of that error leaves the grant type out, and the one of unauthorized_client is the case.",
	"RFC6750/5.3/audience": "A token that is asked for without a resource (RFC 8707) has no audience: " +
		"a deployment has to name its resources first.",
	"RFC7662/2.2/inactive": "It answers 400 and unsupported_token_type to the introspection of any JWT. " +
		"The document wants active: false for a token that the server did not issue.",
	"RFC7662/4/specially-authorized": "Every confidential client may introspect every token, " +
		"unless a deployment sets features.introspection.allowedPolicy.",

	"RFC9700/2.3/a29-audience-restricted": "As RFC6750/5.3/audience.",
	"RFC9700/4.11.2/a5-person-first": "It sends the error of a request back at once, to a registered address, as RFC 6749 §4.1.2.1 has it. " +
		"This later document has the person sign in before.",
	"RFC9700/4.16/a47-frame-ancestors": "Its pages for developers have no such header; nobody sees them in a frame, since their cookies are SameSite=Lax.",
	"RFC9700/4.16/a48-older-browsers":  "As RFC9700/4.16/a47-frame-ancestors.",

	"OIDCCore/3.1.2.6/response-mode-unknown": "It sends the error back in the query, as if there had been no response_mode.",
	"OIDCCore/5.5.1/value-other":             "It gives a claim whatever value was asked for; errata set 2 has it left out.",
	"OIDCCore/5.5.1/sub-of-others":           "It compares the sub with value alone, and not with values; errata set 2 treats both alike.",
	"OIDCCore/12.2/no-nonce":                 "The ID token of a refresh repeats the nonce.",
	"OIDCCore/16.8/audience":                 "As RFC6750/5.3/audience.",
}

// The runner handles the pages of a server of another project, and finds only real violations.
func TestForeignProvider(t *testing.T) {
	p := startProvider(t)
	report := p.run(t, p.target)
	for _, result := range report.Results {
		reason, expected := providerFindings[result.ID]
		switch {
		case result.Level == check.May && (result.Status == check.Fail || result.Status == check.Blocked): // it chose otherwise
		case result.Status == check.Fail && expected:
			t.Logf("%s %s, as expected: %s", result.Level, result.ID, reason)
		case result.bad():
			t.Errorf("%s %s: %s: %s", result.Status, result.Level, result.ID, result.Reason)
		case expected:
			t.Errorf("%s: it is expected to fail, and ends with %s: %s", result.ID, result.Status, result.Reason)
		}
	}
	for id := range providerFindings {
		if !slices.ContainsFunc(report.Results, func(r foreignResult) bool { return r.ID == id }) {
			t.Errorf("%s is expected to fail, and there is no such rule", id)
		}
	}
	report.log(t)
}

// Missing clients are registered (RFC 7591), work like those of the target, and are deleted at the end (RFC 7592).
func TestForeignRegistration(t *testing.T) {
	p := startProvider(t)
	report := p.run(t, &target.Target{Issuer: p.target.Issuer, User: p.target.User, Register: true, Scope: p.target.Scope, Parameters: p.target.Parameters,
		Backchannel: p.target.Backchannel})
	passed := map[string]int{}
	for _, result := range report.Results {
		if result.bad() && result.Level != check.May && providerFindings[result.ID] == "" {
			t.Errorf("%s %s: %s: %s", result.Status, result.Level, result.ID, result.Reason)
		}
		if result.Status != check.Pass {
			continue
		}
		for _, need := range rule(t, result.ID).Needs {
			passed[string(need)]++
		}
	}
	for _, role := range need.Roles() {
		needed := slices.ContainsFunc(rules.All(), func(r check.Rule) bool { return r.Check != nil && slices.Contains(r.Needs, role.Name) })
		if needed && role.Registrable() && passed[string(role.Name)] == 0 {
			t.Errorf("no rule passed with the registered client %s", role.Name)
		}
	}
	if left := p.ask(t, "registered"); left != "[]" {
		t.Errorf("after the run the server still knows the clients %s", left)
	}
	report.log(t)

	t.Run("a target file of questions", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "target.yaml")
		answers := []string{p.target.Issuer, p.target.User.Username, p.target.User.Password, "", "yes", "", ""}
		mandate(t, strings.Join(answers, "\n")+"\n", "--target", path, "--write-target").want(t, 0, "Wrote "+path)
		mandate(t, "", "--target", path, "--only", "RFC7636").want(t, 0, "pass      MUST   verifier-compared: ")
		if left := p.ask(t, "registered"); left != "[]" {
			t.Errorf("after the run the server still knows the clients %s", left)
		}
	})
}

// The findings belong to the installed version.
func TestForeignVersion(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("testdata", "oidc-provider", "package.json"))
	if err != nil {
		t.Fatal(err)
	}
	var named struct{ Dependencies map[string]string }
	err = json.Unmarshal(text, &named)
	if err != nil || named.Dependencies["oidc-provider"] != providerVersion {
		t.Errorf("%v: package.json has oidc-provider %q, the findings are of %s", err, named.Dependencies["oidc-provider"], providerVersion)
	}
}

func rule(t *testing.T, id string) check.Rule {
	t.Helper()
	all := rules.All()
	i := slices.IndexFunc(all, func(r check.Rule) bool { return r.ID == id })
	if i < 0 {
		t.Fatalf("there is no rule %s", id)
	}
	return all[i]
}

// foreignProvider is oidc-provider in its own process.
type foreignProvider struct {
	target  *target.Target
	stdin   io.WriteCloser
	answers *bufio.Reader
	log     bytes.Buffer // may be read after the process has ended
	ended   chan struct{}
}

// installProvider installs the package in a copy of its folder.
var installProvider = sync.OnceValues(func() (string, error) {
	for _, program := range []string{"node", "npm"} {
		_, err := exec.LookPath(program)
		if err != nil {
			return "", fmt.Errorf("%s is not installed: apt-get install nodejs npm", program)
		}
	}
	version, err := exec.Command("node", "-p", "process.versions.node").Output()
	major, _, _ := strings.Cut(string(version), ".")
	number, _ := strconv.Atoi(major)
	if err != nil || number < 20 {
		return "", fmt.Errorf("oidc-provider needs Node.js 20 or later, node is %s", bytes.TrimSpace(version))
	}
	dir := filepath.Join(servertest.Dir(), "oidc-provider")
	err = os.CopyFS(dir, os.DirFS(filepath.Join("testdata", "oidc-provider")))
	if err != nil {
		return "", err
	}
	install := exec.Command("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund")
	install.Dir = dir
	out, err := install.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("npm ci: %w\n%s", err, out)
	}
	return dir, nil
})

// startProvider runs the server with a client for each role. The server issues refresh tokens for offline access with
// the person's consent (OIDC Core §11).
func startProvider(t *testing.T) *foreignProvider {
	t.Helper()
	dir, err := installProvider()
	if err != nil {
		testkit.Missing(t, err.Error())
	}
	p := &foreignProvider{ended: make(chan struct{}), target: &target.Target{User: target.User{Username: "alice", Password: "any password"}, Clients: map[need.Need]*target.Client{}, Backchannel: servertest.FreeAddress(),
		Scope: "openid profile email offline_access", Parameters: map[string]string{"prompt": "consent"}}}
	clients, err := json.Marshal(p.clients())
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("node", "server.mjs")
	cmd.Dir, cmd.Env, cmd.Stderr = dir, servertest.Environment(), &p.log
	p.stdin, err = cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.answers = bufio.NewReader(stdout)
	err = cmd.Start()
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = cmd.Wait()
		close(p.ended)
	}()
	t.Cleanup(func() {
		p.stdin.Close()
		select {
		case <-p.ended:
		case <-time.After(30 * time.Second):
			_ = cmd.Process.Kill()
			t.Error("the server did not end with its input")
		}
	})
	p.target.Issuer = p.ask(t, string(clients))
	return p
}

// clients returns the metadata of a client for each role that the server supports. It does not support the password
// grant, and its access tokens are opaque unless resources are configured.
func (p *foreignProvider) clients() []map[string]any {
	var all []map[string]any
	for _, role := range need.Roles() {
		if role.Grant == need.GrantPassword || role.SignedAccess {
			continue
		}
		metadata, c := role.Metadata(need.SecretBasic, p.target.Backchannel), target.NewClient(role, "conformance-"+string(role.Name), "")
		if !role.Public {
			c.Secret = rand.Text() + rand.Text() // HS256 requires 32 bytes
			metadata["client_secret"] = c.Secret
		}
		if role.RedirectURIs == nil {
			metadata["redirect_uris"] = []string{} // the server requires this member
		}
		metadata["client_id"] = c.ID
		p.target.Clients[role.Name] = c
		all = append(all, metadata)
	}
	return all
}

// ask sends a line to the server, and returns the line that it answers.
func (p *foreignProvider) ask(t *testing.T, line string) string {
	t.Helper()
	answer := make(chan string, 1)
	go func() {
		_, _ = io.WriteString(p.stdin, line+"\n")
		text, _ := p.answers.ReadString('\n')
		answer <- strings.TrimSpace(text)
	}()
	select {
	case text := <-answer:
		if text != "" {
			return text
		}
	case <-time.After(time.Minute):
	}
	p.stdin.Close()
	<-p.ended
	t.Fatalf("the server gives no answer:\n%s", p.log.String())
	return ""
}

// foreignResult is a result in the JSON report.
type foreignResult struct {
	ID     string
	Level  check.Level
	Status check.Status
	Reason string
}

// bad reports whether the rule is violated, or was not reached.
func (r foreignResult) bad() bool {
	return r.Status == check.Fail || r.Status == check.Blocked || r.Status == check.Broken
}

type foreignReport struct {
	Summary string
	Results []foreignResult
}

// run runs the command with a target file and all rules.
func (p *foreignProvider) run(t *testing.T, target *target.Target) foreignReport {
	t.Helper()
	out := mandate(t, "", "--target", targetFile(t, target), "--format", "json")
	var report foreignReport
	err := json.Unmarshal([]byte(out.stdout), &report)
	if err != nil {
		t.Fatalf("%v\n%s%s", err, out.stdout, out.stderr)
	}
	failed := slices.ContainsFunc(report.Results, func(r foreignResult) bool { return r.bad() && r.Level == check.Must })
	if failed != (out.code == 1) {
		t.Errorf("exit code %d, and that a MUST does not hold is %t", out.code, failed)
	}
	return report
}

// log prints the results by document.
func (r foreignReport) log(t *testing.T) {
	t.Helper()
	counts := map[string]map[check.Status]int{}
	for _, result := range r.Results {
		document, _, _ := strings.Cut(result.ID, "/")
		if counts[document] == nil {
			counts[document] = map[check.Status]int{}
		}
		counts[document][result.Status]++
	}
	for _, document := range slices.Sorted(maps.Keys(counts)) {
		t.Logf("%s: %v", document, counts[document])
	}
	t.Log(r.Summary)
}
