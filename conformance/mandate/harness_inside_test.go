package mandate

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime/pprof"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"mandate/app"
	"mandate/app/config"
	"mandate/app/lines"
	"mandate/cmd/mandate/command"
	"mandate/testkit"
)

// ownProcesses says that the servers of a test are processes of their own: the test kills one, or reads what the system
// says of it, or has a second node, which must share no memory with the first, or has a browser or programs of others,
// beside which a server in this process would save nothing.
func ownProcesses(t testing.TB) { alone.Store(t.Name(), true) }

// alone has the names of the tests that have called ownProcesses.
var alone sync.Map

// apart reports whether a test, or one that it is a part of, has called ownProcesses.
func apart(test string) bool {
	for name := range alone.Range {
		if test == name || strings.HasPrefix(test, name.(string)+"/") {
			return true
		}
	}
	return false
}

// separate reports whether a server is a process of its own: because its test says so, because variables of the
// environment are for the libraries that it uses, because it is another release, or because it has the race detector.
// Any other server is a part of this process, at an address of its own, and so are its commands.
// With MANDATE_TEST_PROCESS=all every server is a process.
func (s *server) separate() bool {
	ofLibraries := func(variable string) bool { return !strings.HasPrefix(variable, "MANDATE_") }
	return s.apart || s.options.watched || s.program != "" || slices.ContainsFunc(s.options.env, ofLibraries) ||
		os.Getenv("MANDATE_TEST_PROCESS") == "all"
}

// inside runs app.Process.Serve or app.Process.Protect in this process, as the program does.
func (s *server) inside(serve func(app.Process, context.Context, *config.Config) error) *process {
	ctx, end := context.WithCancel(context.Background())
	p := &process{end: end, exited: make(chan struct{})}
	go func() {
		defer close(p.exited)
		out := lines.New(&s.log)
		defer out.Close()
		settings, err := config.Load(s.config, s.options.env)
		if err == nil {
			err = serve(app.Process{
				Environ: s.options.env,
				Stdout:  &s.log,
				Log:     settings.Logger(out),
				Lost:    out.Lost,
			}, ctx, settings)
		}
		if err != nil && !errors.Is(err, context.Canceled) {
			p.code = 1
			fmt.Fprintln(&s.log, "mandate:", err)
		}
	}()
	return p
}

// stacks writes what every goroutine of this process does.
func (s *server) stacks() { _ = pprof.Lookup("goroutine").WriteTo(&s.log, 1) }

// commandInside runs a command in this process.
func commandInside(env []string, stdin string, args ...string) result {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	var stdout, stderr bytes.Buffer
	code := command.Run(ctx, command.Process{
		Environ: env,
		Stdin:   strings.NewReader(stdin),
		Stdout:  &stdout,
		Stderr:  &stderr,
	}, args)
	return result{stdout.String(), stderr.String(), code}
}

// installation is the key of the servers. One key lets them begin with a copy of one database.
var installation = sync.OnceValue(newKey)

// newKey returns a random SECRET_KEY.
func newKey() string {
	key := make([]byte, 32)
	_, _ = rand.Read(key) // it cannot fail
	return base64.StdEncoding.EncodeToString(key)
}

// begun is the file of an SQLite database as a server has it after its first start.
var begun = testkit.Copied{Make: func(path string) error { return begin("sqlite:///" + path) }}

// begin gives a database the newest schema, and keys that sign. To make an RSA key is a good part of the work of a
// short test.
func begin(address string) error {
	err := installed(address, "migrate")
	if err == nil {
		err = installed(address, "keys", "list")
	}
	return err
}

// installed runs a command with the key of the servers.
func installed(address string, args ...string) error {
	r := commandInside([]string{"MANDATE_DATABASE_URL=" + address, "MANDATE_SECRET_KEY=" + installation()}, "", args...)
	if r.code != 0 {
		return fmt.Errorf("%v: exit code %d\n%s%s", args, r.code, r.stdout, r.stderr)
	}
	return nil
}

// provide makes the database of a server, unless it exists, or the server is another release, or has keys of its own or
// none.
func (s *server) provide(t testing.TB) {
	t.Helper()
	path := strings.TrimPrefix(s.database.url, "sqlite:///")
	_, err := os.Stat(path)
	empty := s.database.name == "sqlite" && errors.Is(err, fs.ErrNotExist)
	if empty && s.program == "" && s.key == installation() && !s.ownKeys() {
		begun.Copy(t, path)
	}
}

// ownKeys reports whether the settings of a server give it keys that sign, or none.
func (s *server) ownKeys() bool {
	return slices.ContainsFunc(s.options.provider, func(setting string) bool {
		return setting == openIDOff || strings.HasPrefix(setting, "OIDC_RSA_PRIVATE_KEY")
	})
}
