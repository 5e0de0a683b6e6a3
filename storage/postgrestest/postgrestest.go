// Package postgrestest gives tests a real PostgreSQL. It starts a throw-away server from the programs
// that are installed on the machine, or uses the one that MANDATE_TEST_POSTGRES points at.
//
// The server belongs to the test process: it stops with it, even when the process is killed.
package postgrestest

import (
	"crypto/rand"
	"database/sql"
	"fmt"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"

	_ "github.com/lib/pq" // the driver "postgres"
)

// shared is the one server of this test process. It is a package variable because a process has one, and
// the tests that want it have nothing else in common.
var shared struct {
	sync.Mutex
	cluster *Cluster
	err     error
}

// Main runs the tests of a package and stops the server that they shared. A TestMain ends with
// os.Exit(postgrestest.Main(m)); what wraps its *testing.M may stop first what uses the server.
func Main(m interface{ Run() int }) int {
	code := m.Run()
	shared.Lock()
	defer shared.Unlock()
	if shared.cluster != nil {
		shared.cluster.remove()
	}
	return code
}

// URL returns the address of a new, empty database and drops it when the test ends. Without a server and
// without the programs to start one, the test is skipped, or fails where skipping is forbidden. It is also skipped
// under -short.
func URL(t testing.TB) string {
	t.Helper()
	leftOut(t)
	admin := os.Getenv("MANDATE_TEST_POSTGRES")
	if admin != "" {
		return createDatabase(t, admin, func() bool { return true })
	}
	bin := programs(t)
	shared.Lock()
	if shared.cluster == nil && shared.err == nil {
		shared.cluster, shared.err = start(bin)
	}
	c, err := shared.cluster, shared.err
	shared.Unlock()
	if err != nil {
		t.Fatal(err)
	}
	return c.URL(t)
}

// New starts a server for this test alone, one that the test may stop and start again.
func New(t testing.TB) *Cluster {
	t.Helper()
	c, err := start(programs(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.remove)
	return c
}

// createDatabase makes a database on the server at admin. The database is dropped, with the connections
// that are still open to it, if the server is up at the end.
func createDatabase(t testing.TB, admin string, up func() bool) string {
	t.Helper()
	address, err := url.Parse(admin)
	if err != nil || !strings.HasPrefix(address.Scheme, "postgres") {
		t.Fatal("MANDATE_TEST_POSTGRES must be a URL, postgres://user:password@host:port/database")
	}
	name := "mandate_test_" + strings.ToLower(rand.Text())
	// template0, because template1 cannot be copied while anybody is connected to it.
	err = execute(admin, fmt.Sprintf("CREATE DATABASE %s TEMPLATE template0 ENCODING 'UTF8'", name))
	if err != nil {
		t.Fatalf("create a test database: %v", err)
	}
	t.Cleanup(func() {
		if !up() {
			return
		}
		err := execute(admin, fmt.Sprintf("DROP DATABASE IF EXISTS %s WITH (FORCE)", name))
		if err != nil {
			t.Errorf("drop the test database: %v", err)
		}
	})
	address.Path = "/" + name
	return address.String()
}

func execute(address, statement string) error {
	db, err := sql.Open("postgres", address)
	if err != nil {
		return err
	}
	defer db.Close()
	_, err = db.Exec(statement)
	return err
}

// programs returns the folder of PostgreSQL's server programs.
func programs(t testing.TB) string {
	t.Helper()
	leftOut(t)
	bin := find()
	if bin == "" {
		absent(t)
	}
	return bin
}

// leftOut skips the test under `go test -short`, which `make test-fast` uses.
func leftOut(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("-short leaves out the tests that need PostgreSQL")
	}
}

func absent(t testing.TB) {
	t.Helper()
	const missing = "PostgreSQL is not installed: apt-get install postgresql, or set MANDATE_TEST_POSTGRES to the URL of a server"
	if os.Getenv("CI") == "true" || os.Getenv("MANDATE_TEST_REQUIRE") == "all" {
		t.Fatal(missing)
	}
	t.Skip("SKIPPED, NOT TESTED: " + missing)
}
