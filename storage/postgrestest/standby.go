package postgrestest

import (
	"database/sql"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// Standby starts a standby server of this one. From then on, a commit that this server
// has confirmed is on both servers.
func (c *Cluster) Standby(t testing.TB) *Cluster {
	t.Helper()
	s, err := begin(c.bin, c.password, c.copyTo)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.remove)
	for _, statement := range []string{`ALTER SYSTEM SET synchronous_standby_names = '*'`, `SELECT pg_reload_conf()`} {
		err = execute(c.admin(), statement)
		if err != nil {
			t.Fatal(err)
		}
	}
	db, err := sql.Open("postgres", c.admin())
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for deadline, n := time.Now().Add(time.Minute), 0; n == 0; {
		err = db.QueryRow(`SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'`).Scan(&n)
		if err != nil || time.Now().After(deadline) {
			t.Fatalf("the standby is not replicating: %v", err)
		}
	}
	return s
}

// copyTo fills the data folder of a standby.
func (c *Cluster) copyTo(s *Cluster) error {
	from := fmt.Sprintf("host=127.0.0.1 port=%d user=postgres password=%s application_name=standby", c.port, c.password)
	out, err := s.command("pg_basebackup", "-d", from, "-D", s.data(), "-R", "-X", "stream", "--checkpoint=fast",
		"--no-sync").CombinedOutput()
	if err != nil {
		return fmt.Errorf("pg_basebackup: %w\n%s", err, out)
	}
	return nil
}

// Kill ends the server in the same way as a failure of its computer.
func (c *Cluster) Kill(t testing.TB) {
	t.Helper()
	c.end(t, syscall.SIGKILL)
	// a killed server leaves this file, and the watchdog waits for its removal
	_ = os.Remove(filepath.Join(c.data(), "postmaster.pid"))
}

// Promote makes the standby the primary, which accepts writes.
func (c *Cluster) Promote(t testing.TB) {
	t.Helper()
	err := execute(c.admin(), `SELECT pg_promote()`)
	if err != nil {
		t.Fatal(err)
	}
}

// Both returns the address of a database on this server or its standby, whichever
// accepts writes.
func (c *Cluster) Both(t testing.TB, databaseURL string, standby *Cluster) string {
	t.Helper()
	u, err := url.Parse(databaseURL)
	if err != nil {
		t.Fatal(err)
	}
	u.Host = fmt.Sprintf("127.0.0.1:%d,127.0.0.1:%d", c.port, standby.port)
	return u.String()
}
