package mandate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"mandate/storage/postgrestest"
	"mandate/testkit"
)

// The tests of this package run servers, in this process or by the built binary. TestMain creates a folder for the
// binary, and the first test that needs it builds it.

func TestMain(m *testing.M) { os.Exit(testMain(m)) }

func testMain(m *testing.M) int {
	dir, err := os.MkdirTemp("", "mandate-conformance-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	binaryDir = dir
	debug.SetGCPercent(400) // as the program does
	return postgrestest.Main(m)
}

// binaryDir is set once, before the first test.
var binaryDir string

// binary builds the command once as people build it, and returns its path.
var binary = sync.OnceValues(func() (string, error) { return build(false) })

// watchedBinary builds the command once with the race detector, and returns its path.
var watchedBinary = sync.OnceValues(func() (string, error) {
	return build(true)
})

// built returns the path of a program.
func built(t testing.TB, program func() (string, error)) string {
	t.Helper()
	path, err := program()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func build(detector bool) (string, error) {
	return testkit.Built(filepath.Join("..", ".."), binaryDir, detector)
}

// result is the outcome of a command.
type result struct {
	stdout, stderr string
	code           int
}

// run runs the binary until it exits, in dir. It removes the server's settings from the
// environment; env adds others.
func run(t testing.TB, dir string, env []string, stdin string, args ...string) result {
	t.Helper()
	return runProgram(t, dir, append(environment(), env...), stdin, built(t, binary), args...)
}

// runProgram runs a program until it exits. It fails the test only if the program
// cannot be started or does not end.
func runProgram(t testing.TB, dir string, env []string, stdin, path string, args ...string) result {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Dir, cmd.Env, cmd.Stdin = dir, env, strings.NewReader(stdin)
	cmd.WaitDelay = time.Second
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if ctx.Err() != nil || err != nil && !errors.As(err, &exit) {
		t.Fatalf("%s %s: %v, %v\n%s%s", filepath.Base(path), strings.Join(args, " "), err, ctx.Err(), &stdout, &stderr)
	}
	return result{stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()}
}

// environment returns the environment of the tests without the server's settings.
func environment() []string {
	var env []string
	for _, setting := range os.Environ() {
		if !strings.HasPrefix(setting, "MANDATE_") {
			env = append(env, setting)
		}
	}
	return env
}

// process is a running program, or a part of this process.
type process struct {
	cmd    *exec.Cmd     // nil: a part of this process
	end    func()        // asks it to end in order, by SIGTERM if it is a program
	exited chan struct{} // closed when it has ended
	code   int           // the exit code, when exited is closed
}

// launch starts a program and writes its standard output and error to log.
func launch(cmd *exec.Cmd, log *logBuffer) (*process, error) {
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = childAttributes()
	started := make(chan error)
	p := &process{cmd: cmd, exited: make(chan struct{})}
	p.end = func() { _ = cmd.Process.Signal(syscall.SIGTERM) } // it may have ended; the exit code tells
	go func() {
		// The kernel ends the child when the thread that started it ends, so this thread
		// must stay.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait()
			p.code = cmd.ProcessState.ExitCode()
		}
		close(p.exited)
	}()
	return p, <-started
}

func (p *process) running() bool {
	select {
	case <-p.exited:
		return false
	default:
		return true
	}
}

// logBuffer is a bytes.Buffer that can be read while a process writes to it.
type logBuffer struct {
	mu    sync.Mutex
	bytes bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.bytes.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.bytes.String()
}

// waitFor calls a condition repeatedly until it is true. It is for changes in another
// process.
func waitFor(t testing.TB, what string, done func() bool) {
	t.Helper()
	deadline := time.Now().Add(time.Minute)
	for !done() {
		if time.Now().After(deadline) {
			t.Fatalf("after a minute, this has not happened: %s", what)
		}
		time.Sleep(10 * time.Millisecond)
	}
}
