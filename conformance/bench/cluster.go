package main

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	_ "github.com/lib/pq"

	"mandate/conformance/bench/process"
	"mandate/testkit/port"
)

// the driver "postgres"

// cluster is a PostgreSQL server: either one that is started with the default configuration except for the number of
// connections, or one that the user names. It is refused if its commits are not durable.
type cluster struct {
	admin   *url.URL
	db      *sql.DB
	process *process.Child // nil if the server was not started here
	dir     string
	pid     int // process ID of the server's main process; 0 if unknown
	version string
	made    []string // names of databases
}

// startCluster starts a server in a folder of its own.
func startCluster(ctx context.Context, dir string, settings []string) (*cluster, error) {
	bin := postgresPrograms()
	if bin == "" {
		return nil, errNoPostgres
	}
	dir = filepath.Join(dir, "postgres")
	err := os.Mkdir(dir, 0o700)
	if err != nil {
		return nil, err
	}
	// Others on this computer can reach the port, so the server has a password.
	password, secret := rand.Text(), filepath.Join(dir, "password")
	err = os.WriteFile(secret, []byte(password+"\n"), 0o600)
	if err != nil {
		return nil, err
	}
	attributes, err := process.Unprivileged(dir, secret)
	if err != nil {
		return nil, err
	}
	command := func(program string, args ...string) *exec.Cmd {
		cmd := exec.Command(filepath.Join(bin, program), args...)
		cmd.Dir, cmd.SysProcAttr = dir, attributes
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C"}
		return cmd
	}
	data := filepath.Join(dir, "data")
	initialize := command("initdb", "-D", data, "-U", "postgres", "--encoding=UTF8", "--locale=C",
		"--auth=scram-sha-256", "--pwfile="+secret)
	out, err := initialize.CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("initdb: %w\n%s", err, out)
	}
	port := port.Free()
	args := []string{"-D", data, "-c", "listen_addresses=127.0.0.1", "-c", "port=" + strconv.Itoa(port),
		"-c", "unix_socket_directories=", "-c", "max_connections=200"}
	for _, setting := range settings {
		args = append(args, "-c", setting)
	}
	p, err := process.Start(command("postgres", args...), dir)
	if err != nil {
		return nil, err
	}
	address := &url.URL{Scheme: "postgres", User: url.UserPassword("postgres", password),
		Host: fmt.Sprintf("127.0.0.1:%d", port), Path: "/postgres", RawQuery: "sslmode=disable"}
	c, err := newCluster(address)
	if err != nil {
		p.End()
		return nil, err
	}
	c.process, c.dir = p, dir
	err = p.Wait("PostgreSQL answers", time.Minute, 20*time.Millisecond,
		func() bool { return ctx.Err() != nil || c.db.Ping() == nil })
	if err == nil {
		err = c.look(ctx)
	}
	if err != nil {
		c.stop()
		return nil, err
	}
	return c, nil
}

// useCluster uses a running server. It creates databases there, and drops them at the end.
func useCluster(ctx context.Context, address string) (*cluster, error) {
	u, err := url.Parse(address)
	if err != nil || !strings.HasPrefix(u.Scheme, "postgres") {
		return nil, fmt.Errorf("--postgres must be a URL: postgres://user:password@host:port/database")
	}
	c, err := newCluster(u)
	if err != nil {
		return nil, err
	}
	err = c.look(ctx)
	if err != nil {
		c.stop()
		return nil, err
	}
	return c, nil
}

func newCluster(address *url.URL) (*cluster, error) {
	db, err := sql.Open("postgres", address.String())
	if err != nil {
		return nil, err
	}
	return &cluster{admin: address, db: db}, nil
}

// look reads the settings that the figures depend on. A server that loses confirmed commits is refused.
func (c *cluster) look(ctx context.Context) error {
	var backend int
	var fsync, commit string
	err := c.db.QueryRowContext(ctx, `SELECT pg_backend_pid(), current_setting('server_version'), current_setting('fsync'),
		current_setting('synchronous_commit')`).
		Scan(&backend, &c.version, &fsync, &commit)
	if err != nil {
		return fmt.Errorf("reach PostgreSQL: %w", err)
	}
	if fsync != "on" || commit != "on" {
		return fmt.Errorf("PostgreSQL has fsync=%s and synchronous_commit=%s: its commits are not durable, so its figures "+
			"are meaningless", fsync, commit)
	}
	if host := c.admin.Hostname(); host == "127.0.0.1" || host == "::1" || host == "localhost" {
		c.pid = process.Parent(backend, "postgres")
	}
	return nil
}

// database creates a database and returns its address.
func (c *cluster) database(ctx context.Context) (string, error) {
	name := "mandate_bench_" + strings.ToLower(rand.Text())
	_, err := c.db.ExecContext(ctx, "CREATE DATABASE "+name+" TEMPLATE template0 ENCODING 'UTF8'")
	if err != nil {
		return "", fmt.Errorf("create a database: %w", err)
	}
	c.made = append(c.made, name)
	address := *c.admin
	address.Path = "/" + name
	return address.String(), nil
}

func (c *cluster) processor() time.Duration {
	if c == nil || c.pid == 0 {
		return 0
	}
	return process.CPUTime(c.pid, true)
}

var errNoPostgres = errors.New("PostgreSQL is not installed")

// stop drops the databases and stops the server.
func (c *cluster) stop() {
	if c == nil {
		return
	}
	if c.process == nil {
		for _, name := range c.made {
			_, err := c.db.Exec("DROP DATABASE IF EXISTS " + name + " WITH (FORCE)")
			if err != nil {
				fmt.Fprintf(os.Stderr, "drop the database %s: %v\n", name, err)
			}
		}
	}
	c.db.Close()
	if c.process != nil {
		c.process.Stop(syscall.SIGINT)
	}
}

// postgresPrograms returns the folder of PostgreSQL's server programs: the one in PATH, or the newest one of Debian.
func postgresPrograms() string {
	var folders []string
	if inPath, err := exec.LookPath("postgres"); err == nil {
		folders = append(folders, filepath.Dir(inPath))
	}
	debian, _ := filepath.Glob("/usr/lib/postgresql/*/bin") // the pattern is well formed
	best := 0
	for _, folder := range debian {
		release, err := strconv.Atoi(filepath.Base(filepath.Dir(folder)))
		if err == nil {
			best = max(best, release)
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
