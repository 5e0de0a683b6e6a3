package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"mandate/conformance/bench/process"
	"mandate/testkit/port"
)

// build builds the binary that is measured.
func build(ctx context.Context, dir string) (string, error) {
	path := filepath.Join(dir, "mandate")
	out, err := exec.CommandContext(ctx, "go", "build", "-o", path, "mandate/cmd/mandate").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("build the binary (or set --binary): %w\n%s", err, out)
	}
	return path, nil
}

// server is a Mandate on a database of its own.
type server struct {
	binary, dir string
	url         string
	database    string
	config      string
	extra       []string // settings as MANDATE_KEY=value
	process     *process.Child
}

const noDatabase = "none"

// newServer writes a configuration. settings are whole lines, and those of provider are inside OAUTH2_PROVIDER. All
// other settings have their defaults. Without a database the server uses a file.
func newServer(o *options, database string, settings, provider []string) (*server, error) {
	dir, err := os.MkdirTemp(o.dir, "server-")
	if err != nil {
		return nil, err
	}
	if database == "" {
		database = "sqlite:///" + filepath.Join(dir, "mandate.db")
	}
	address := fmt.Sprintf("127.0.0.1:%d", port.Free())
	key := make([]byte, 32)
	_, _ = rand.Read(key) // it cannot fail
	s := &server{binary: o.binary, dir: dir, url: "http://" + address, database: database,
		config: filepath.Join(dir, "mandate.yaml"), extra: o.settings}
	lines := []string{"BASE_URL: " + s.url, "LISTEN: " + address}
	if database != noDatabase {
		lines = append(lines, "DATABASE_URL: "+quote(database), "SECRET_KEY: "+quote(base64.StdEncoding.EncodeToString(key)))
	}
	lines = append(lines, settings...)
	if len(provider) > 0 {
		lines = append(lines, "OAUTH2_PROVIDER:", "  "+strings.Join(provider, "\n  "))
	}
	return s, os.WriteFile(s.config, []byte(strings.Join(lines, "\n")+"\n"), 0o600)
}

// quote writes a string for YAML, which accepts JSON strings.
func quote(value string) string {
	text, _ := json.Marshal(value) // it cannot fail
	return string(text)
}

func (s *server) command(args ...string) *exec.Cmd {
	cmd := exec.Command(s.binary, append(args, "--config", s.config)...)
	cmd.Dir = s.dir
	for _, setting := range os.Environ() {
		if !strings.HasPrefix(setting, "MANDATE_") {
			cmd.Env = append(cmd.Env, setting)
		}
	}
	cmd.Env = append(cmd.Env, s.extra...)
	return cmd
}

// start runs `mandate serve`, or another command that serves. It returns how long it took until a path answered with
// a status.
func (s *server) start(ctx context.Context, command, path string, status int) (time.Duration, error) {
	began := time.Now()
	p, err := process.Start(s.command(command), s.dir)
	if err != nil {
		return 0, err
	}
	err = p.Wait("the first answer of mandate "+command, time.Minute, time.Millisecond, func() bool {
		return ctx.Err() != nil || answers(s.url+path, status)
	})
	took := time.Since(began)
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		p.End()
		return 0, err
	}
	s.process = p
	return took, nil
}

func (s *server) end() {
	if s != nil && s.process != nil {
		s.process.End()
		s.process = nil
	}
}

// cli runs a command of the binary and returns its output.
func (s *server) cli(ctx context.Context, stdin string, args ...string) (string, error) {
	cmd := s.command(args...)
	cmd.Stdin = strings.NewReader(stdin)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Start()
	if err != nil {
		return "", err
	}
	defer context.AfterFunc(ctx, func() { _ = cmd.Process.Kill() })()
	err = cmd.Wait()
	if err != nil {
		return "", fmt.Errorf("mandate %s: %w\n%s", strings.Join(args, " "), err, &stderr)
	}
	return stdout.String(), nil
}

// client is a registered application.
type client struct {
	ID     string `json:"client_id"`
	Secret string `json:"client_secret"`
}

// register registers an application. args are flags of `application add`.
func (s *server) register(ctx context.Context, name string, args ...string) (client, error) {
	out, err := s.cli(ctx, "", append([]string{"application", "add", "--json", "--name", name}, args...)...)
	if err != nil {
		return client{}, err
	}
	var made client
	err = json.Unmarshal([]byte(out), &made)
	if err != nil || made.ID == "" {
		return client{}, fmt.Errorf("application add --json printed %q: %v", out, err)
	}
	return made, nil
}

// person is a user.
type person struct{ name, password string }

func (s *server) person(ctx context.Context, name string) (person, error) {
	p := person{name, "a password " + rand.Text()}
	_, err := s.cli(ctx, p.password+"\n", "user", "add", name, "--password-stdin")
	return p, err
}
