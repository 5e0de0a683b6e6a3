package foreign

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
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
	"mandate/conformance/engine"
	"mandate/conformance/need"
	"mandate/conformance/rules"
	"mandate/conformance/servertest"
	"mandate/conformance/target"
	"mandate/testkit"
	"mandate/testkit/port"
)

var configurations = []providerConfiguration{ordinary, careful, fapi}

// npm's oidc-provider in all configurations. It is certified for OpenID Connect.
func TestProvider(t *testing.T) {
	t.Parallel()
	for _, configuration := range configurations {
		t.Run(configuration.name, func(t *testing.T) {
			t.Parallel()
			checkServer(t, "oidc-provider-"+configuration.name,
				func(t *testing.T) *target.Target { return startProvider(t, configuration).target }, configuration.flags...)
		})
	}
}

// Missing clients are registered (RFC 7591), work like those of the target, and are deleted at the end (RFC 7592).
func TestProviderRegistration(t *testing.T) {
	t.Parallel()
	p := startProvider(t, ordinary)
	of := &target.Target{Issuer: p.target.Issuer, User: p.target.User, Register: target.Once, Scope: p.target.Scope,
		Parameters: p.target.Parameters, Backchannel: p.target.Backchannel}
	path := filepath.Join(t.TempDir(), "target.yaml")
	err := of.Write(path)
	if err != nil {
		t.Fatal(err)
	}
	known := findingsOf(t, "oidc-provider-ordinary")
	passed := map[need.Need]int{}
	for _, result := range mandate(t, path, filepath.Join(t.ArtifactDir(), "registration.json")).Results {
		bad := result.Status == check.Fail || result.Status == check.Blocked || result.Status == check.Broken
		// OIDC Registration §2 lets a web client of the code flow have http, and RFC 7591 §5 does not. Only a run that
		// registers clients checks it.
		bad = bad && result.ID != "RFC7591/5/redirect-uris-protected"
		if bad && result.Level != check.May &&
			!slices.ContainsFunc(known.Entries, func(e engine.Entry) bool { return e.Rule == result.ID }) {
			t.Errorf("%s %s: %s: %s", result.Status, result.Level, result.ID, result.Reason)
		}
		if result.Status == check.Pass {
			for _, n := range needsOf(t, result.ID) {
				passed[n]++
			}
		}
	}
	for _, role := range need.Roles() {
		needed := slices.ContainsFunc(rules.All(),
			func(r check.Rule) bool { return r.Check != nil && slices.Contains(r.Needs, role.Name) })
		if needed && role.Registrable() && passed[role.Name] == 0 {
			t.Errorf("no rule passed with the registered client %s", role.Name)
		}
	}
	p.wantNoneRegistered(t)

	t.Run("a target file of questions", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "target.yaml")
		answers := []string{p.target.Issuer, p.target.User.Username, p.target.User.Password, "", "yes", "", ""}
		servertest.Run(t, strings.Join(answers, "\n")+"\n", "--target", path, "--write-target").Want(t, 0, "Wrote "+path)
		servertest.Run(t, "", "--target", path, "--only", "RFC7636").Want(t, 0, "pass      MUST   verifier-compared: ")
		p.wantNoneRegistered(t)
	})
}

// The findings belong to the installed version.
func TestProviderVersion(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("testdata", "oidc-provider", "package.json"))
	if err != nil {
		t.Fatal(err)
	}
	var named struct{ Dependencies map[string]string }
	err = json.Unmarshal(text, &named)
	if err != nil {
		t.Fatal(err)
	}
	for _, configuration := range configurations {
		wantVersion(t, "oidc-provider-"+configuration.name, "oidc-provider "+named.Dependencies["oidc-provider"])
	}
}

// wantVersion asserts that the findings of a server name the version that the tests install.
func wantVersion(t *testing.T, name, version string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if line, _, _ := strings.Cut(string(text), "\n"); !strings.Contains(line, " "+version+" ") {
		t.Errorf("testdata/%s.yaml begins with %q, but the tests install %s", name, line, version)
	}
}

func needsOf(t *testing.T, id string) []need.Need {
	t.Helper()
	all := rules.All()
	i := slices.IndexFunc(all, func(r check.Rule) bool { return r.ID == id })
	if i < 0 {
		t.Fatalf("there is no rule %s", id)
	}
	return all[i].Needs
}

// providerConfiguration is a script in testdata/oidc-provider, and what fits it.
type providerConfiguration struct {
	name     string
	password string
	// register completes the metadata of a client and the client, and reports whether the server offers the role.
	register func(r need.Role, metadata map[string]any, c *target.Client) bool
	// complete adds to the target what only this configuration has.
	complete func(of *target.Target)

	command []string // the script with its arguments; nil: that of the name
	flags   []string // of mandate conformance
}

// ordinary has the settings of the package where it works with them. It has no password grant, and its access tokens
// are opaque, because it has no resources.
var ordinary = providerConfiguration{
	name:     "ordinary",
	password: "any password",
	register: func(r need.Role, metadata map[string]any, _ *target.Client) bool {
		return r.Profile == "" && r.Grant != need.GrantPassword && !r.SignedAccess && r.Auth != need.CertificateAuth
	},
	complete: func(*target.Target) {},
}

// careful has no HS256 either. Some clients get access tokens for the API without asking.
var careful = providerConfiguration{
	name:     "careful",
	password: "correct horse battery staple",
	register: func(r need.Role, metadata map[string]any, c *target.Client) bool {
		switch {
		case r.Grant == need.GrantPassword || r.Grant == need.GrantDevice || r.IDTokenAlgorithm != "" ||
			r.Auth == need.CertificateAuth:
			return false
		case r.Introspects:
			metadata["introspects"] = true
		case r.SignedAccess:
			metadata["default_resource"], metadata["signed_access"] = carefulAPI, true
			c.Scope = "openid profile email offline_access read"
		case r.Grant == need.GrantMachine:
			metadata["default_resource"], c.Scope = carefulAPI, "read write"
		}
		return true
	},
	complete: func(of *target.Target) {
		origin := strings.TrimSuffix(of.Issuer, "/oidc")
		of.API = target.API{URL: origin + "/api/notes", Restricted: origin + "/api/drafts", Scope: "write"}
	},
}

// fapi has the settings for the FAPI 2.0 Security Profile.
var fapi = providerConfiguration{
	name:     "fapi",
	password: "any password",
	command:  []string{"ordinary.mjs", "fapi"},
	flags:    []string{"--profile", "fapi2"},
	register: func(r need.Role, metadata map[string]any, _ *target.Client) bool {
		metadata["dpop_bound_access_tokens"] = true
		return r.Profile == need.ProfileFAPI
	},
	complete: func(*target.Target) {},
}

const carefulAPI = "https://api.example/"

// provider is oidc-provider in its own process.
type provider struct {
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

// startProvider runs the server with a client for each role that it offers. The server issues refresh tokens for
// offline access with the person's consent (OIDC Core §11).
func startProvider(t *testing.T, configuration providerConfiguration) *provider {
	t.Helper()
	dir, err := installProvider()
	if err != nil {
		testkit.Missing(t, err.Error())
	}
	p := &provider{ended: make(chan struct{}),
		target: &target.Target{User: target.User{Username: "alice", Password: configuration.password},
			Clients:     map[need.Need]*target.Client{},
			Backchannel: port.Address(), Scope: "openid profile email offline_access",
			Parameters: map[string]string{"prompt": "consent"}}}
	clients, err := json.Marshal(p.clients(configuration))
	if err != nil {
		t.Fatal(err)
	}
	command := configuration.command
	if command == nil {
		command = []string{configuration.name + ".mjs"}
	}
	cmd := exec.Command("node", command...)
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
	err = servertest.StartChild(cmd, p.ended)
	if err != nil {
		t.Fatal(err)
	}
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
	configuration.complete(p.target)
	return p
}

// clients adds a client for each role to the target, and returns the metadata of these clients.
func (p *provider) clients(configuration providerConfiguration) []map[string]any {
	var all []map[string]any
	for _, role := range need.Roles() {
		metadata, c := role.Metadata(need.SecretBasic, p.target.Backchannel),
			target.NewClient(role, "conformance-"+string(role.Name), "")
		if !configuration.register(role, metadata, c) {
			continue
		}
		if role.HasSecret() {
			c.Secret = rand.Text() + rand.Text() // HS256 requires 32 bytes
			metadata["client_secret"] = c.Secret
		}
		if keys := c.Keys(); keys != nil {
			metadata["jwks"] = keys
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

func (p *provider) wantNoneRegistered(t *testing.T) {
	t.Helper()
	if left := p.ask(t, "registered"); left != "[]" {
		t.Errorf("after the run the server still knows the clients %s", left)
	}
}

// ask sends a line to the server, and returns the line that it answers.
func (p *provider) ask(t *testing.T, line string) string {
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
