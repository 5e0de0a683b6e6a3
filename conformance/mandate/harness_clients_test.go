package mandate

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"mandate/testkit"
)

// Third-party clients. Each runs in one process for all tests and takes one step per
// line. testdata/node/client.mjs and testdata/python/client.py describe the steps and
// their parameters. Both report errors of the server as {"error": ...,
// "error_description": ..., "message": ...}.

// nodeClient uses openid-client, nodeEngine oauth4webapi, and mcpClient the SDK of the
// Model Context Protocol.
var (
	nodeClient = sync.OnceValues(func() (*foreignProgram, error) { return startNode(nodePackages, "client.mjs") })
	nodeEngine = sync.OnceValues(func() (*foreignProgram, error) { return startNode(nodePackages, "engine.mjs") })
	mcpClient  = sync.OnceValues(func() (*foreignProgram, error) { return startNode(mcpNode, "client.mjs") })
)

// nodePackages and mcpNode install the packages of a folder of testdata into a copy of it,
// and return the copy.
var (
	nodePackages = sync.OnceValues(func() (string, error) { return installNode("node") })
	mcpNode      = sync.OnceValues(func() (string, error) { return installNode("mcp") })
)

func installNode(folder string) (string, error) {
	dir := filepath.Join(binaryDir, folder)
	err := os.CopyFS(dir, os.DirFS(filepath.Join("testdata", folder)))
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
}

func startNode(packages func() (string, error), program string) (*foreignProgram, error) {
	dir, err := packages()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command("node", program)
	cmd.Dir = dir
	return startForeign(cmd)
}

const python = "/usr/bin/python3" // the one that Debian's packages are for

var pythonClient = sync.OnceValues(func() (*foreignProgram, error) {
	err := exec.Command(python, "-c", "import requests_oauthlib").Run()
	if err != nil {
		return nil, fmt.Errorf("requests-oauthlib is not installed: apt-get install python3-requests-oauthlib (%w)", err)
	}
	cmd := exec.Command(python, filepath.Join("testdata", "python", "client.py"))
	// The library refuses http, even to this machine, without this option.
	cmd.Env = append(environment(), "OAUTHLIB_INSECURE_TRANSPORT=1")
	return startForeign(cmd)
})

// openidClient runs a step of the npm package openid-client.
func (s *server) openidClient(t testing.TB, app application, step string, input map[string]any) map[string]any {
	t.Helper()
	return s.onNode(t, nodeClient, app, step, input)
}

// oauth4webapi runs a step of the npm package oauth4webapi.
func (s *server) oauth4webapi(t testing.TB, app application, step string, input map[string]any) map[string]any {
	t.Helper()
	return s.onNode(t, nodeEngine, app, step, input)
}

func (s *server) onNode(t testing.TB, start func() (*foreignProgram, error), app application, step string,
	input map[string]any) map[string]any {
	t.Helper()
	for _, program := range []string{"node", "npm"} {
		testkit.Program(t, program, "nodejs npm")
	}
	program, err := start()
	if err != nil {
		testkit.Missing(t, err.Error())
	}
	return s.foreign(t, program, app, step, input)
}

// An agent is a client of the Model Context Protocol, written with an SDK.
type mcpSDK struct {
	name    string
	program func() (*foreignProgram, error)
	release int // of the SDK for TypeScript
}

var mcpSDKs = []mcpSDK{
	{"TypeScript, release 1", mcpClient, 1}, // @modelcontextprotocol/sdk of npm
	{"TypeScript, release 2", mcpClient, 2}, // @modelcontextprotocol/client of npm
	{"Python", mcpPython, 0},                // mcp of PyPI
}

var mcpPython = sync.OnceValues(func() (*foreignProgram, error) {
	cmd, err := fromPyPI(mcpPackages, "mcp/client.py")
	if err != nil {
		return nil, err
	}
	return startForeign(cmd)
})

// step runs a step of the client. session names its memory. See testdata/mcp/client.mjs.
func (k mcpSDK) step(t testing.TB, step, session string, input map[string]any) map[string]any {
	t.Helper()
	for _, program := range []string{"node", "npm"} {
		testkit.Program(t, program, "nodejs npm")
	}
	program, err := k.program()
	if err != nil {
		testkit.Missing(t, err.Error())
	}
	whole := map[string]any{"step": step, "session": session, "sdk": k.release}
	maps.Copy(whole, input)
	return exchange(t, program, step, whole)
}

var authlibClient = sync.OnceValues(func() (*foreignProgram, error) {
	cmd, err := fromPyPI(authlibPackages, "authlib/client.py")
	if err != nil {
		return nil, err
	}
	return startForeign(cmd)
})

// authlib runs a step of the PyPI package Authlib.
func (s *server) authlib(t testing.TB, app application, step string, input map[string]any) map[string]any {
	t.Helper()
	program, err := authlibClient()
	if err != nil {
		testkit.Missing(t, err.Error())
	}
	return s.foreign(t, program, app, step, input)
}

// requestsOAuthlib runs a step of Debian's python3-requests-oauthlib.
func (s *server) requestsOAuthlib(t testing.TB, app application, step string, input map[string]any) map[string]any {
	t.Helper()
	program, err := pythonClient()
	if err != nil {
		testkit.Missing(t, err.Error())
	}
	return s.foreign(t, program, app, step, input)
}

func (s *server) foreign(t testing.TB, program *foreignProgram, app application, step string,
	input map[string]any) map[string]any {
	t.Helper()
	whole := map[string]any{"issuer": s.Issuer, "client_id": app.ClientID, "step": step}
	if app.ClientSecret != "" {
		whole["client_secret"] = app.ClientSecret
	}
	maps.Copy(whole, input)
	got := exchange(t, program, step, whole)
	for _, name := range confidential {
		value, _ := got[name].(string)
		s.secret(value)
	}
	return got
}

// exchange sends one step to a program, and returns its answer.
func exchange(t testing.TB, program *foreignProgram, step string, whole map[string]any) map[string]any {
	t.Helper()
	line, err := json.Marshal(whole)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := program.ask(line)
	if err != nil {
		t.Fatalf("%s: %v\n%s", step, err, program.stderr.String())
	}
	var got map[string]any
	err = json.Unmarshal(answer, &got)
	if err != nil {
		t.Fatalf("%s: %v: %s\n%s", step, err, answer, program.stderr.String())
	}
	return got
}

// foreignProgram is a process that answers each line of its standard input with a line.
// It ends when its input ends, and so with the tests.
type foreignProgram struct {
	asking  sync.Mutex // held from a line to its answer
	stdin   io.Writer
	answers chan []byte // closed when the program has ended
	stderr  logBuffer
}

func startForeign(cmd *exec.Cmd) (*foreignProgram, error) {
	p := &foreignProgram{answers: make(chan []byte)}
	cmd.Stderr = &p.stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.stdin = stdin
	err = cmd.Start()
	if err != nil {
		return nil, err
	}
	go func() {
		defer close(p.answers)
		lines := bufio.NewReader(stdout)
		for {
			line, err := lines.ReadBytes('\n')
			if err != nil {
				return
			}
			p.answers <- line
		}
	}()
	return p, nil
}

// ask sends one line and waits for its answer.
func (p *foreignProgram) ask(line []byte) ([]byte, error) {
	p.asking.Lock()
	defer p.asking.Unlock()
	_, err := p.stdin.Write(append(line, '\n'))
	if err != nil {
		return nil, err
	}
	select {
	case answer, running := <-p.answers:
		if !running {
			return nil, errors.New("the client has ended")
		}
		return answer, nil
	case <-time.After(time.Minute):
		return nil, errors.New("no answer within a minute")
	}
}
