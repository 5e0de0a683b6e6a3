package mandate

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"mandate/testkit"
	"mandate/testkit/port"
)

// The servers and clients around the proxy: programs from PyPI, and servers that break
// the rules of HTTP.

// pythonPackages, mcpPackages and authlibPackages install the packages of a folder of
// testdata, and return the folder with the packages.
var (
	pythonPackages  = sync.OnceValues(func() (string, error) { return installPython("python") })
	mcpPackages     = sync.OnceValues(func() (string, error) { return installPython("mcp") })
	authlibPackages = sync.OnceValues(func() (string, error) { return installPython("authlib") })
)

func installPython(folder string) (string, error) {
	dir := filepath.Join(binaryDir, folder+"-packages")
	out, err := exec.Command(python, "-m", "pip", "install", "--quiet", "--no-input", "--disable-pip-version-check",
		"--target", dir,
		"--require-hashes", "--only-binary", ":all:", "--requirement",
		filepath.Join("testdata", folder, "requirements.txt")).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("pip install (apt-get install python3-pip): %w\n%s", err, out)
	}
	return dir, nil
}

// fromPyPI runs a program of testdata that uses the packages.
func fromPyPI(packages func() (string, error), program string, args ...string) (*exec.Cmd, error) {
	dir, err := packages()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(python, append([]string{filepath.Join("testdata", program)}, args...)...)
	cmd.Env = append(environment(), "PYTHONPATH="+dir)
	return cmd, nil
}

// hypercorn runs an API on Hypercorn with its default settings and returns its URL.
func hypercorn(t testing.TB) string { return pythonServer(t, pythonPackages, "python/upstream.py") }

// pythonServer runs a server of testdata, whose argument is its address, and returns its
// URL.
func pythonServer(t testing.TB, packages func() (string, error), program string) string {
	t.Helper()
	address := port.Address()
	cmd, err := fromPyPI(packages, program, address)
	if err != nil {
		testkit.Missing(t, err.Error())
	}
	return listens(t, program, cmd, address, syscall.SIGKILL)
}

// listens runs a server until the end of the test, which ends it with a signal, and returns its URL
// when it listens.
func listens(t testing.TB, name string, cmd *exec.Cmd, address string, end os.Signal) string {
	t.Helper()
	var log logBuffer
	api, err := launch(cmd, &log)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = api.cmd.Process.Signal(end)
		select {
		case <-api.exited:
		case <-time.After(30 * time.Second):
			t.Errorf("%s does not end:\n%s", name, log.String())
			_ = api.cmd.Process.Kill()
			<-api.exited
		}
	})
	waitFor(t, name+" listens", func() bool {
		if !api.running() {
			t.Fatalf("%s has ended:\n%s", name, log.String())
		}
		conn, err := net.Dial("tcp", address)
		if err == nil {
			conn.Close()
		}
		return err == nil
	})
	return "http://" + address
}

var webSocketClient = sync.OnceValues(func() (*foreignProgram, error) {
	cmd, err := fromPyPI(pythonPackages, "python/websocket.py")
	if err != nil {
		return nil, err
	}
	return startForeign(cmd)
})

// webSocket runs a step of the client websockets. See testdata/python/websocket.py.
func webSocket(t testing.TB, step map[string]any) map[string]any {
	t.Helper()
	program, err := webSocketClient()
	if err != nil {
		testkit.Missing(t, err.Error())
	}
	line, err := json.Marshal(step)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := program.ask(line)
	if err != nil {
		t.Fatalf("%v: %v\n%s", step["step"], err, program.stderr.String())
	}
	var got map[string]any
	err = json.Unmarshal(answer, &got)
	if err != nil || got["problem"] != nil {
		t.Fatalf("%v: %v: %s\n%s", step["step"], err, answer, program.stderr.String())
	}
	return got
}

// switcher is an upstream that answers each request with 101 and configurable headers.
// It writes all later bytes of the connection to tunnelled.
type switcher struct {
	url       string
	mu        sync.Mutex
	headers   func(r *http.Request) string // lines, each with its end
	tunnelled []byte
}

func newSwitcher(t testing.TB) *switcher {
	t.Helper()
	s := &switcher{headers: func(*http.Request) string { return "" }}
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, buffered, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		defer conn.Close()
		s.mu.Lock()
		headers := s.headers
		s.mu.Unlock()
		_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\n"+headers(r)+"\r\n")
		_, _ = io.Copy(s, buffered)
	}))
	t.Cleanup(api.Close)
	s.url = api.URL
	return s
}

// answers sets the headers of the next answers.
func (s *switcher) answers(headers func(r *http.Request) string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.headers = headers
}

func (s *switcher) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tunnelled = append(s.tunnelled, p...)
	return len(p), nil
}

// got returns and clears the bytes that arrived after the switch.
func (s *switcher) got() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer func() { s.tunnelled = nil }()
	return string(s.tunnelled)
}

// switches sends a GET request unchanged and reads the header of the answer. The reader
// then gives the rest.
func (s *server) switches(t testing.TB, path, token string, headers ...string) (net.Conn, *bufio.Reader,
	*http.Response) {
	t.Helper()
	lines := []string{"GET " + path + " HTTP/1.1", "Host: api.example"}
	if token != "" {
		lines = append(lines, "Authorization: Bearer "+token)
	}
	conn := s.dial(t, strings.Join(append(lines, headers...), "\r\n")+"\r\n\r\n")
	reader := bufio.NewReader(conn)
	response, err := http.ReadResponse(reader, nil)
	if err != nil {
		t.Fatalf("%s %q: %v", path, headers, err)
	}
	return conn, reader, response
}
