package mandate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
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
)

// ownProcesses says that the servers of a test are processes of their own: the test kills one, or reads what the system
// says of it.
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
// environment are for the libraries that it uses, because it is another release, or because MANDATE_TEST_PROCESS=all.
// Any other server is a part of this process, at an address of its own, and so are its commands: that takes less time,
// and the race detector watches server and test together.
func (s *server) separate() bool {
	ofLibraries := func(variable string) bool { return !strings.HasPrefix(variable, "MANDATE_") }
	return s.apart || s.program != "" || slices.ContainsFunc(s.options.env, ofLibraries) || os.Getenv("MANDATE_TEST_PROCESS") == "all"
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
			err = serve(app.Process{Environ: s.options.env, Stdout: &s.log, Log: settings.Logger(out), Lost: out.Lost}, ctx, settings)
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
	code := command.Run(ctx, command.Process{Environ: env, Stdin: strings.NewReader(stdin), Stdout: &stdout, Stderr: &stderr}, args)
	return result{stdout.String(), stderr.String(), code}
}

// migrated is the file of an SQLite database that has the newest schema and nothing else.
var migrated = sync.OnceValues(func() (string, error) {
	path := filepath.Join(binaryDir, "migrated.db")
	r := commandInside([]string{"MANDATE_DATABASE_URL=sqlite:///" + path}, "", "migrate")
	if r.code != 0 {
		return "", fmt.Errorf("migrate: exit code %d\n%s%s", r.code, r.stdout, r.stderr)
	}
	return path, nil
})

// provide makes the database of a server inside this process, unless it exists.
func (s *server) provide(t testing.TB) {
	t.Helper()
	path := strings.TrimPrefix(s.database.url, "sqlite:///")
	_, err := os.Stat(path)
	if s.database.name != "sqlite" || !errors.Is(err, fs.ErrNotExist) {
		return
	}
	from, err := migrated()
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(path, file, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}
