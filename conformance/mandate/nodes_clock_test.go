package mandate

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
)

// clockBehind returns an address of the database by which its clock is behind. For a node that uses it, the difference
// is the same as if the node's own clock were ahead.
func clockBehind(t testing.TB, db database, by string) string {
	t.Helper()
	_, err := db.open(t).ExecContext(t.Context(), `CREATE SCHEMA slow;
		CREATE FUNCTION slow.clock_timestamp() RETURNS timestamptz LANGUAGE sql AS $$SELECT pg_catalog.clock_timestamp() -
			interval '`+by+`'$$`)
	if err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(db.url)
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	q.Set("search_path", "slow,public,pg_catalog")
	u.RawQuery = q.Encode()
	return u.String()
}

// A node whose clock is eleven hours ahead deletes nothing that the others use, and says so.
func TestNodeWithAWrongClockDeletesNothing(t *testing.T) {
	db := newPostgres(t)
	c := newCluster(t, options{database: db, provider: []string{"ACCESS_TOKEN_EXPIRE_SECONDS: 36000"}})
	app := c.client(t)
	c.mustToken(t, app.auth(), params("grant_type", "client_credentials", "scope", "read"))
	// What has expired by the clock of the node, and not by that of the database.
	pool := db.open(t)
	_, err := pool.ExecContext(t.Context(), `UPDATE tokens SET expires_at = expires_at - 36000 - 3600`)
	if err != nil {
		t.Fatal(err)
	}
	c.stop(t) // only the node with the wrong clock is left
	wrong := c.nodeBy(t, clockBehind(t, db, "11 hours"))
	wrong.says(t, "the clock of this machine is 11h0m0s ahead of that of the database", 0)
	if a := wrong.get(t, "/readyz", nobody); a.Status != http.StatusServiceUnavailable ||
		!strings.Contains(a.Body, "clock") {
		t.Errorf("/readyz answered %d %s", a.Status, a.Body)
	}
	began := time.Now() // that something does not happen can only be seen after a time
	waitFor(t, "the node would have cleaned up three times", func() bool { return time.Since(began) > 3*time.Second })
	var n int
	err = pool.QueryRowContext(t.Context(), `SELECT COUNT(*) FROM tokens`).Scan(&n)
	if err != nil || n == 0 {
		t.Errorf("%d tokens are left of one, %v", n, err)
	}
}
