// Package postgrestest gives tests a real PostgreSQL. It starts a temporary server from
// the programs that are installed on the machine, or uses the server at
// MANDATE_TEST_POSTGRES.
//
// The temporary server belongs to the test process. It stops when the process ends,
// even if the process is killed.
package postgrestest

import (
	"fmt"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"

	_ "github.com/lib/pq" // the driver "postgres"

	"mandate/testkit"
)

// shared is the one server of this test process. It is a package variable because the
// tests that use it have no other place in common.
var shared struct {
	sync.Mutex
	cluster *Cluster
	filled  string // the name of the database that Filled copies
	err     error
}

// Main runs the tests of a package and then stops the shared server. A TestMain ends
// with os.Exit(postgrestest.Main(m)). m may wrap a *testing.M, to stop first the
// programs that use the server.
func Main(m interface{ Run() int }) int {
	code := m.Run()
	shared.Lock()
	defer shared.Unlock()
	switch {
	case shared.cluster != nil:
		shared.cluster.remove()
	case shared.filled != "":
		err := dropDatabase(os.Getenv("MANDATE_TEST_POSTGRES"), shared.filled)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return max(code, 1)
		}
	}
	return code
}

// URL creates a new, empty database, returns its address and drops it when the test
// ends. If there is neither a server nor the programs to start one, the test is
// skipped, or fails where skipping is forbidden. The test is also skipped under -short.
func URL(t testing.TB) string {
	t.Helper()
	admin, up := server(t)
	return createDatabase(t, admin, empty, up)
}

// Filled creates a database as URL does. It is a copy of one that fill has filled at the
// first call.
func Filled(t testing.TB, fill func(address string) error) string {
	t.Helper()
	admin, up := server(t)
	shared.Lock()
	if shared.filled == "" {
		shared.filled, shared.err = newDatabase(admin, empty)
		if shared.err == nil {
			shared.err = fill(at(admin, shared.filled))
		}
	}
	err := shared.err
	shared.Unlock()
	if err != nil {
		t.Fatal(err)
	}
	return createDatabase(t, admin, shared.filled, up)
}

// server returns the address of the shared server, and a function that reports whether
// the server is up.
func server(t testing.TB) (admin string, up func() bool) {
	t.Helper()
	testkit.NotShort(t, "the tests that need PostgreSQL")
	admin = os.Getenv("MANDATE_TEST_POSTGRES")
	if admin != "" {
		_, err := url.Parse(admin)
		if err != nil || !strings.HasPrefix(admin, "postgres") {
			t.Fatal("MANDATE_TEST_POSTGRES must be a URL, postgres://user:password@host:port/database")
		}
		return admin, func() bool { return true }
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
	return c.admin(), c.up
}

// New starts a server for this test alone. The test may stop it and start it again.
func New(t testing.TB) *Cluster {
	t.Helper()
	c, err := start(programs(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.remove)
	return c
}

// empty is the database that an empty one is a copy of. template1 cannot be copied while
// a connection to it is open.
const empty = "template0"

// programs returns the folder of PostgreSQL's server programs.
func programs(t testing.TB) string {
	t.Helper()
	testkit.NotShort(t, "the tests that need PostgreSQL")
	bin := find()
	if bin == "" {
		absent(t)
	}
	return bin
}

func absent(t testing.TB) {
	t.Helper()
	testkit.Missing(t, "PostgreSQL is not installed: apt-get install postgresql, or set MANDATE_TEST_POSTGRES to the "+
		"URL of a server")
}
