package conformance

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"mandate/conformance/need"
	"mandate/conformance/servertest"
	"mandate/conformance/target"
	"mandate/conformance/wire"
)

// registrar is a server that registers and deletes clients. Its token endpoint does not answer.
type registrar struct {
	*http.ServeMux
	url string

	mu         sync.Mutex
	clients    map[string]bool
	registered int
	first      func() // called at the first registration
	refused    string // a grant type that is refused
	required   string // a member without which a registration is refused
	token      string // the initial access token
	grants     []string
	stay       bool // it names no address to delete a client
	asked      chan struct{}
}

func newRegistrar(t *testing.T) *registrar {
	t.Helper()
	r := &registrar{ServeMux: http.NewServeMux(), clients: map[string]bool{}, first: func() {},
		asked: make(chan struct{}, 100)}
	server := httptest.NewServer(r)
	t.Cleanup(server.Close)
	r.url = server.URL
	r.HandleFunc("GET /.well-known/oauth-authorization-server", func(w http.ResponseWriter, _ *http.Request) {
		metadata := map[string]any{"issuer": r.url, "token_endpoint": r.url + "/token",
			"registration_endpoint": r.url + "/register", "backchannel_authentication_endpoint": r.url + "/ask"}
		if r.grants != nil {
			metadata["grant_types_supported"] = r.grants
		}
		_ = json.NewEncoder(w).Encode(metadata)
	})
	r.HandleFunc("POST /register", r.register)
	r.HandleFunc("DELETE /register/{id}", r.remove)
	r.HandleFunc("POST /token", func(_ http.ResponseWriter, q *http.Request) {
		_, _ = io.Copy(io.Discard, q.Body)
		r.asked <- struct{}{}
		<-q.Context().Done()
	})
	return r
}

func (r *registrar) register(w http.ResponseWriter, q *http.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var asked map[string]any
	err := json.NewDecoder(q.Body).Decode(&asked)
	if err != nil || r.token != "" && q.Header.Get("Authorization") != "Bearer "+r.token {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	if r.required != "" && asked[r.required] == nil || r.refused != "" && includes(asked["grant_types"], r.refused) {
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, `{"error":"invalid_client_metadata","error_description":"no robots"}`)
		return
	}
	r.registered++
	id := fmt.Sprint("client", r.registered)
	r.clients[id] = true
	made := maps.Clone(asked)
	maps.Copy(made, map[string]any{"client_id": id, "registration_client_uri": r.url + "/register/" + id,
		"registration_access_token": "manage-" + id})
	if r.stay {
		delete(made, "registration_client_uri")
	}
	if asked["token_endpoint_auth_method"] != "none" {
		made["client_secret"] = "secret-of-" + id
	}
	w.WriteHeader(http.StatusCreated)
	_ = json.NewEncoder(w).Encode(made)
	if r.registered == 1 {
		r.first()
	}
}

// includes reports whether a JSON value is a list with this text.
func includes(list any, value string) bool {
	all, _ := list.([]any)
	return slices.Contains(all, any(value))
}

func (r *registrar) remove(w http.ResponseWriter, q *http.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	id := q.PathValue("id")
	if q.Header.Get("Authorization") != "Bearer manage-"+id || !r.clients[id] {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	delete(r.clients, id)
	w.WriteHeader(http.StatusNoContent)
}

// empty asserts that clients were registered, and that all were deleted.
func (r *registrar) empty(t *testing.T, atLeast int) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.registered < atLeast || len(r.clients) != 0 {
		t.Errorf("%d clients were registered, and %v are left", r.registered, r.clients)
	}
}

// target returns a target without a user.
func (r *registrar) target() *target.Target {
	return &target.Target{Issuer: r.url, Register: target.Once}
}

// An interrupt during the registration leaves no client behind.
func TestRegistrationInterrupted(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	server := newRegistrar(t)
	server.first = interrupt
	_, err := NewRunner(ctx, server.target(), wire.Options{})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("the run goes on: %v", err)
	}
	server.empty(t, 1)
	if server.registered > 1 {
		t.Errorf("%d clients were registered after that", server.registered-1)
	}
}

// OIDC Registration §2 requires redirect_uris of every client. A server that does so registers a client of the client
// credentials grant too.
func TestRegistrationRequiresRedirectURIs(t *testing.T) {
	server := newRegistrar(t)
	server.required = "redirect_uris"
	runner, err := NewRunner(t.Context(), server.target(), wire.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if runner.Target.Clients[need.Machine] == nil {
		t.Error("there is no client machine")
	}
	err = runner.Close(t.Context())
	if err != nil {
		t.Error(err)
	}
	server.empty(t, 2)
}

// Before the rules are tried, the run says that its clients will stay.
func TestRegistrationThatCannotBeUndone(t *testing.T) {
	server := newRegistrar(t)
	server.stay = true
	r := servertest.Run(t, "", "--target", targetFile(t, server.target()), "--only", "RFC7591/5/tls")
	before, _, _ := strings.Cut(r.Stderr, " rules, ")
	if !strings.Contains(before, "nobody can delete the ") || !strings.Contains(before, "that 1 of the rules register") {
		t.Errorf("it says %s", r.Stderr)
	}
}

// A client is not registered for a grant that the metadata does not list: the server would refuse it.
func TestRegistrationOfListedGrants(t *testing.T) {
	server := newRegistrar(t)
	server.grants, server.refused = []string{"authorization_code"}, "refresh_token"
	runner, err := NewRunner(t.Context(), server.target(), wire.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, role := range []need.Need{need.Code, need.Key} {
		if runner.Target.Clients[role] == nil {
			t.Errorf("there is no client %s", role)
		}
	}
	err = runner.Close(t.Context())
	if err != nil {
		t.Error(err)
	}
}

// running starts a command, and returns when it has registered clients and requested a token.
func running(t *testing.T, server *registrar, stdout io.Writer, flags ...string) (*exec.Cmd, *strings.Builder) {
	t.Helper()
	args := []string{"--target", targetFile(t, server.target()), "--only", "RFC6749/3.2", "--timeout", "30s"}
	cmd := servertest.Command(t, append(args, flags...)...)
	var stderr strings.Builder
	cmd.Stdout, cmd.Stderr = stdout, &stderr
	err := cmd.Start()
	if err != nil {
		t.Fatal(err)
	}
	select {
	case <-server.asked:
	case <-time.After(30 * time.Second):
		_ = cmd.Process.Kill()
		t.Fatal("the token endpoint is not asked")
	}
	return cmd, &stderr
}

// After an interrupt during the checks, the command waits only for the deletion of the clients.
func TestCommandInterrupted(t *testing.T) {
	server := newRegistrar(t)
	cmd, stderr := running(t, server, io.Discard)
	began := time.Now()
	err := cmd.Process.Signal(os.Interrupt)
	if err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // the exit code shows it
	if code := cmd.ProcessState.ExitCode(); code != 2 || stderr.String() != "mandate: interrupted: the report has the "+
		"results so far\n" || time.Since(began) > 10*time.Second {
		t.Errorf("exit code %d after %s: %q", code, time.Since(began), stderr)
	}
	server.empty(t, 2)
}

// An interrupted command writes its reports with the results so far, and no baseline.
func TestCommandInterruptedReports(t *testing.T) {
	for flag, want := range map[string]bool{"--report": true, "--write-baseline": false} {
		server := newRegistrar(t)
		path := filepath.Join(t.TempDir(), "written.json")
		var stdout strings.Builder
		cmd, stderr := running(t, server, &stdout, flag, path)
		err := cmd.Process.Signal(os.Interrupt)
		if err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait() // the exit code shows it
		if code := cmd.ProcessState.ExitCode(); code != 2 || stderr.String() != "mandate: interrupted: the report has the "+
			"results so far\n" || !strings.Contains(stdout.String(), "the run was interrupted") {
			t.Errorf("exit code %d: %q\n%s", code, stderr, &stdout)
		}
		text, err := os.ReadFile(path)
		if want != (err == nil) || want && !strings.Contains(string(text), "the run was interrupted") {
			t.Errorf("%s: %v\n%s", flag, err, text)
		}
		server.empty(t, 2)
	}
}

// If the reader of the output ends, like head, no client is left behind, and the command does not panic.
func TestCommandWithoutReader(t *testing.T) {
	server := newRegistrar(t)
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	read.Close()
	target := server.target()
	target.Endpoints = map[string]string{"token_endpoint": server.url + "/nothing"}
	cmd := servertest.Command(t, "--target", targetFile(t, target), "--only", "RFC6749/3.2")
	var stderr strings.Builder
	cmd.Stdout, cmd.Stderr = write, &stderr
	err = cmd.Run()
	write.Close()
	if err == nil || strings.Contains(stderr.String(), "panic") || strings.Contains(stderr.String(), "goroutine ") {
		t.Errorf("%v: %s", err, &stderr)
	}
	server.empty(t, 2)
}

// If the server refuses to register a client, its rules are skipped, and the report shows the refusal.
func TestCommandRegistration(t *testing.T) {
	server := newRegistrar(t)
	server.refused = "client_credentials"
	target := server.target()
	target.Endpoints = map[string]string{"token_endpoint": server.url + "/nothing"}
	servertest.Run(t, "", "--target", targetFile(t, target), "--only", "RFC6749/4.4").Want(t, 0,
		"the server did not register the client machine: 400 Bad Request, invalid_client_metadata (no robots)")
	server.empty(t, 5)
	server.token = "initial"
	servertest.Run(t, "", "--target", targetFile(t, target)).Want(t, 2,
		"mandate: register the client code: 401 Unauthorized. If the server requires an initial access token, name it in "+
			"the target as initial_access_token")
}

// After an interrupt during the questions, no further answer is needed, and no file is left behind.
func TestAskInterrupted(t *testing.T) {
	cmd := servertest.Command(t, "--target", "new.yaml", "--write-target")
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer stdin.Close()
	stderr, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	defer time.AfterFunc(30*time.Second, func() { _ = cmd.Process.Kill() }).Stop()
	said := bufio.NewReader(stderr)
	_, err = said.ReadString(':') // the question was asked
	if err == nil {
		err = cmd.Process.Signal(os.Interrupt)
	}
	rest, readErr := io.ReadAll(said)
	_ = cmd.Wait() // the exit code shows it
	if code := cmd.ProcessState.ExitCode(); err != nil || readErr != nil || code != 2 ||
		!strings.HasSuffix(string(rest), "mandate: interrupted\n") {
		t.Errorf("%v, %v, exit code %d: %q", err, readErr, code, rest)
	}
	left, err := os.ReadDir(cmd.Dir)
	if err != nil || len(left) > 0 {
		t.Errorf("%v: it leaves %v", err, left)
	}
}
