package postgrestest

import (
	"bytes"
	"crypto/hmac"
	"crypto/pbkdf2"
	crand "crypto/rand"
	"crypto/sha256"
	"database/sql"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"mandate/testkit/port"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Cluster is one PostgreSQL server with its data in a temporary folder. It listens on
// the loopback address and requires a password.
type Cluster struct {
	bin, dir string
	password string
	port     int
	owner    *owner
	watchdog *exec.Cmd
	lifeline io.Closer // closing it, or the end of this process, makes the watchdog clean up

	mu      sync.Mutex
	process *os.Process
	exited  chan struct{}

	operator *sql.DB // of StandbyIsMissing
}

// URL creates a new, empty database on this server and returns its address.
func (c *Cluster) URL(t testing.TB) string {
	t.Helper()
	return createDatabase(t, c.admin(), empty, c.up)
}

// Stop ends the server in order: it rolls open transactions back and closes
// connections.
func (c *Cluster) Stop(t testing.TB) { t.Helper(); c.end(t, syscall.SIGINT) }

// Crash ends the server without a checkpoint. The next Start must recover from the log.
func (c *Cluster) Crash(t testing.TB) { t.Helper(); c.end(t, syscall.SIGQUIT) }

// Start starts a stopped server again at the same address.
func (c *Cluster) Start(t testing.TB) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	err := c.serve()
	if err != nil {
		t.Fatal(err)
	}
}

// watch waits until the process at the other end of its standard input has ended. Then
// it ends the server and removes the folder. It ignores the signals of the terminal,
// which are meant for the tests.
const watch = `trap '' HUP INT TERM
cat >/dev/null
pid=$(head -n 1 "$1/data/postmaster.pid" 2>/dev/null) && kill -QUIT "$pid" 2>/dev/null
n=0
while [ -e "$1/data/postmaster.pid" ] && [ $n -lt 100 ]; do sleep 0.1; n=$((n + 1)); done
rm -rf "$1"`

// start creates a cluster and runs it.
func start(bin string) (*Cluster, error) {
	return begin(bin, crand.Text(), (*Cluster).initialize)
}

// begin runs a server on the data that fill creates.
func begin(bin, password string, fill func(*Cluster) error) (*Cluster, error) {
	o, err := unprivileged()
	if err != nil {
		return nil, err
	}
	dir, err := o.tempDir()
	if err != nil {
		return nil, fmt.Errorf("make a folder for PostgreSQL: %w", err)
	}
	c := &Cluster{bin: bin, dir: dir, password: password, owner: o}
	c.watchdog = exec.Command("/bin/sh", "-c", watch, "watchdog", dir)
	c.watchdog.SysProcAttr = detached()
	c.lifeline, err = c.watchdog.StdinPipe()
	if err != nil {
		return nil, err
	}
	err = c.watchdog.Start()
	if err != nil {
		return nil, fmt.Errorf("start the watchdog of PostgreSQL: %w", err)
	}
	err = fill(c)
	for try := 0; err == nil && try < 5; try++ {
		c.port = port.Free()
		err = c.serve()
		if !errors.Is(err, errPortTaken) {
			break
		}
	}
	if err != nil {
		c.remove()
		return nil, err
	}
	return c, nil
}

// initialize creates the data folder. The data need not survive a power failure, so
// initdb does not sync it.
func (c *Cluster) initialize() error {
	secret := filepath.Join(c.dir, "password")
	verifier, err := c.verifier()
	if err != nil {
		return err
	}
	err = os.WriteFile(secret, []byte(verifier+"\n"), 0o600)
	if err != nil {
		return err
	}
	err = c.owner.own(secret)
	if err != nil {
		return err
	}
	out, err := c.command("initdb", "-D", c.data(), "-U", "postgres", "--no-sync", "--encoding=UTF8", "--locale=C",
		"--auth=scram-sha-256", "--pwfile="+secret).CombinedOutput()
	if err != nil {
		return fmt.Errorf("initdb: %w\n%s", err, out)
	}
	return os.Remove(secret)
}

// verifier returns the SCRAM verifier that PostgreSQL stores instead of the password
// (RFC 5803 §2). It uses 1000 iterations, not 4096. The password is random, so more
// iterations would protect nothing. With the race detector they would take most of the
// time of each connection.
func (c *Cluster) verifier() (string, error) {
	const iterations = 1000 // lib/pq takes no fewer than four digits
	salt := make([]byte, 16)
	_, _ = crand.Read(salt) // it cannot fail
	salted, err := pbkdf2.Key(sha256.New, c.password, salt, iterations, sha256.Size)
	if err != nil {
		return "", err
	}
	derive := func(name string) []byte {
		h := hmac.New(sha256.New, salted)
		h.Write([]byte(name))
		return h.Sum(nil)
	}
	stored, b64 := sha256.Sum256(derive("Client Key")), base64.StdEncoding.EncodeToString
	return fmt.Sprintf("SCRAM-SHA-256$%d:%s$%s:%s", iterations, b64(salt), b64(stored[:]), b64(derive("Server Key"))), nil
}

var errPortTaken = errors.New("the port is in use")

// serve starts the server and waits until it answers. The caller holds the lock or the
// only reference.
func (c *Cluster) serve() error {
	// fsync is off: no test simulates a power failure. What a killed server wrote is in
	// the kernel's cache, and waiting for the disk would take most of the tests' time.
	cmd := c.command("postgres", "-D", c.data(), "-c", "listen_addresses=127.0.0.1", "-c", "port="+strconv.Itoa(c.port),
		"-c", "unix_socket_directories=", "-c", "max_connections=200", "-c", "fsync=off")
	var log buffer
	cmd.Stdout, cmd.Stderr = &log, &log

	started, exited := make(chan error), make(chan struct{})
	go func() {
		// Pdeathsig makes the kernel end the server when the thread that started it ends.
		// So this thread must stay.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait()
		}
		close(exited)
	}()
	err := <-started
	if err != nil {
		return fmt.Errorf("start PostgreSQL: %w", err)
	}
	c.process, c.exited = cmd.Process, exited

	deadline := time.After(time.Minute)
	for {
		answer := execute(c.admin(), "SELECT 1")
		if answer == nil {
			return nil
		}
		select {
		case <-exited:
			if strings.Contains(log.String(), "could not bind") {
				return errPortTaken
			}
			return fmt.Errorf("PostgreSQL stopped immediately:\n%s", log.String())
		case <-deadline:
			return fmt.Errorf("PostgreSQL does not answer: %w\n%s", answer, log.String())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func (c *Cluster) end(t testing.TB, signal os.Signal) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	err := c.process.Signal(signal)
	if err != nil && !errors.Is(err, os.ErrProcessDone) {
		t.Fatalf("stop PostgreSQL: %v", err)
	}
	select {
	case <-c.exited:
	case <-time.After(time.Minute):
		t.Fatal("PostgreSQL does not stop")
	}
}

func (c *Cluster) up() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	select {
	case <-c.exited:
		return false
	default:
		return true
	}
}

// remove ends the server and deletes its folder, in the same way as after the death of
// this process.
func (c *Cluster) remove() {
	_ = c.lifeline.Close()
	_ = c.watchdog.Wait()
}

func (c *Cluster) admin() string {
	return fmt.Sprintf("postgres://postgres:%s@127.0.0.1:%d/postgres?sslmode=disable", c.password, c.port)
}

func (c *Cluster) data() string { return filepath.Join(c.dir, "data") }

func (c *Cluster) command(program string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(c.bin, program), args...)
	cmd.Dir = c.dir // the unprivileged user may have no access to our working directory
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C"}
	cmd.SysProcAttr = c.owner.attributes()
	return cmd
}

// find returns the folder that contains initdb and postgres: the one in PATH, otherwise
// the newest release in Debian's folders.
func find() string {
	var folders []string
	inPath, err := exec.LookPath("initdb")
	if err == nil {
		// PATH may contain a link to initdb without links to the other programs.
		target, err := filepath.EvalSymlinks(inPath)
		if err == nil {
			folders = append(folders, filepath.Dir(target))
		}
		folders = append(folders, filepath.Dir(inPath))
	}
	debian, _ := filepath.Glob("/usr/lib/postgresql/*/bin") // the pattern is well formed
	best := 0
	for _, folder := range debian {
		release, err := strconv.Atoi(filepath.Base(filepath.Dir(folder)))
		if err == nil && release > best {
			best = release
		}
	}
	folders = append(folders, fmt.Sprintf("/usr/lib/postgresql/%d/bin", best))
	for _, folder := range folders {
		_, missing := os.Stat(filepath.Join(folder, "postgres"))
		_, missingInit := os.Stat(filepath.Join(folder, "initdb"))
		if missing == nil && missingInit == nil {
			return folder
		}
	}
	return ""
}

// buffer is a bytes.Buffer that can be read while a process writes to it.
type buffer struct {
	mu    sync.Mutex
	bytes bytes.Buffer
}

// Write appends to the buffer.
func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.bytes.Write(p)
}

// String returns the content of the buffer.
func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.bytes.String()
}
