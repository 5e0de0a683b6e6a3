package postgrestest

import (
	"database/sql"
	"testing"
	"time"
)

// The commits of a server can wait for a standby that does not exist, and somebody can end their wait.

// StandbyIsMissing makes commits wait until StandbyIsBack is called, or the test ends.
func (c *Cluster) StandbyIsMissing(t testing.TB) {
	t.Helper()
	if c.operator == nil {
		db, err := sql.Open("postgres", c.admin()+"&application_name=operator")
		if err != nil {
			t.Fatal(err)
		}
		c.operator = db
		t.Cleanup(func() {
			c.StandbyIsBack(t) // the removal of a database is a commit, too
			_ = db.Close()
			c.operator = nil
		})
	}
	c.waitFor(t, "nobody")
	// A process of the server, not the connection, reads the setting for all commits.
	c.until(t, "a commit waits", func() bool {
		ended := make(chan struct{})
		go func() {
			_, _ = c.operator.Exec(`SELECT pg_logical_emit_message(true, 'probe', '')`)
			close(ended)
		}()
		for {
			select {
			case <-ended:
				return false
			default:
			}
			if c.number(t, `SELECT count(*) FROM (SELECT pg_cancel_backend(pid)`+waitsForStandby+`
				AND application_name = 'operator') x`) > 0 {
				<-ended
				return true
			}
		}
	})
}

// StandbyIsBack ends the wait of all commits, and lets them succeed.
func (c *Cluster) StandbyIsBack(t testing.TB) {
	t.Helper()
	c.waitFor(t, "")
	c.until(t, "a commit ends", func() bool {
		_, err := c.operator.Exec(`SELECT pg_logical_emit_message(true, 'probe', '')`)
		return err == nil
	})
}

func (c *Cluster) waitFor(t testing.TB, standby string) {
	t.Helper()
	for _, statement := range []string{
		`ALTER SYSTEM SET synchronous_standby_names = '` + standby + `'`,
		`SELECT pg_reload_conf()`,
	} {
		_, err := c.operator.Exec(statement)
		if err != nil {
			t.Fatal(err)
		}
	}
}

// The lock of the queue has the same name as the wait for the standby, but another type. A commit that waits for the
// lock may find that no standby is missing any more.
const (
	waitsForStandby = ` FROM pg_stat_activity WHERE wait_event_type = 'IPC' AND wait_event = 'SyncRep'`
	waiting         = waitsForStandby + ` AND application_name <> 'operator'`
)

// Waiting returns how many commits wait that began after a time.
func (c *Cluster) Waiting(t testing.TB, after time.Time) int {
	t.Helper()
	return c.number(t, `SELECT count(*)`+waiting+` AND query_start > $1`, after)
}

// EndWait ends the wait of the one commit that waits with a function of PostgreSQL, and returns when it began.
func (c *Cluster) EndWait(t testing.TB, function string) (began time.Time) {
	t.Helper()
	err := c.operator.QueryRow(`SELECT query_start` + waiting).Scan(&began)
	if err != nil {
		t.Fatal(err)
	}
	if c.number(t, `SELECT count(*) FROM (SELECT `+function+`(pid)`+waiting+`) x`) != 1 {
		t.Fatal("not one commit was waiting")
	}
	return began
}

// EndWaits ends the wait of every commit that waits. The commits report a success.
func (c *Cluster) EndWaits(t testing.TB) {
	t.Helper()
	c.number(t, `SELECT count(*) FROM (SELECT pg_cancel_backend(pid)`+waiting+`) x`)
}

func (c *Cluster) number(t testing.TB, query string, args ...any) (n int) {
	t.Helper()
	err := c.operator.QueryRow(query, args...).Scan(&n)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func (*Cluster) until(t testing.TB, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !done(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("after a minute: not yet: %s", what)
		}
	}
}
