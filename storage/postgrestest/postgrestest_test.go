package postgrestest

import (
	"bufio"
	"database/sql"
	"errors"
	"net"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"mandate/testkit"
)

func TestMain(m *testing.M) { os.Exit(Main(m)) }

func TestEachDatabaseIsNewAndEmpty(t *testing.T) {
	first, second := URL(t), URL(t)
	if first == second {
		t.Fatal("both calls gave the same database")
	}
	for _, address := range []string{first, second} {
		err := execute(address, "CREATE TABLE thing (id TEXT PRIMARY KEY)")
		if err != nil {
			t.Fatal(err)
		}
	}
}

func TestDatabaseIsDroppedWithOpenConnections(t *testing.T) {
	address := URL(t) // skips this test, not only its subtest
	t.Run("use", func(t *testing.T) {
		address = URL(t)
		db, err := sql.Open("postgres", address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { db.Close() })
		err = db.Ping()
		if err != nil {
			t.Fatal(err)
		}
	})
	err := execute(address, "SELECT 1")
	if err == nil || !strings.Contains(err.Error(), "does not exist") {
		t.Errorf("the database is still there: %v", err)
	}
}

func TestStopStartAndCrash(t *testing.T) {
	c := New(t)
	address := c.URL(t)
	err := execute(address, "CREATE TABLE thing (id TEXT PRIMARY KEY)")
	if err != nil {
		t.Fatal(err)
	}
	for _, end := range []func(testing.TB){c.Stop, c.Crash} {
		end(t)
		if execute(address, "SELECT 1") == nil {
			t.Fatal("a stopped server answered")
		}
		c.Start(t)
		err = execute(address, "SELECT id FROM thing")
		if err != nil {
			t.Fatalf("after the restart: %v", err)
		}
	}
}

// TestServerDiesWithTheTests runs itself in another process and kills that process.
func TestServerDiesWithTheTests(t *testing.T) {
	if os.Getenv("POSTGRESTEST_VICTIM") != "" {
		c := New(t)
		os.Stdout.WriteString("victim " + c.dir + " " + c.admin() + "\n")
		select {}
	}
	programs(t)
	cmd := exec.Command(os.Args[0], "-test.run=^TestServerDiesWithTheTests$")
	cmd.Env = append(os.Environ(), "POSTGRESTEST_VICTIM=1")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	err = cmd.Start()
	if err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	words := strings.Fields(line)
	if err != nil || len(words) != 3 {
		t.Fatalf("the killed process printed %q, %v", line, err)
	}
	dir, admin := words[1], words[2]
	err = execute(admin, "SELECT 1")
	if err != nil {
		t.Fatal(err)
	}

	err = cmd.Process.Kill()
	if err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	address, err := url.Parse(admin)
	if err != nil {
		t.Fatal(err)
	}
	deadline := time.Now().Add(30 * time.Second)
	for {
		_, statErr := os.Stat(dir)
		conn, dialErr := net.Dial("tcp", address.Host)
		if dialErr == nil {
			conn.Close()
		}
		if errors.Is(statErr, os.ErrNotExist) && dialErr != nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("after 30 s: folder %v, server %v", statErr, dialErr)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func TestMissingServerIsLoud(t *testing.T) {
	for _, c := range []struct{ ci, require, want string }{
		{"", "", "skip"},
		{"true", "", "fatal"},
		{"", "all", "fatal"},
	} {
		t.Setenv("CI", c.ci)
		t.Setenv("MANDATE_TEST_REQUIRE", c.require)
		r := &testkit.Recorder{TB: t}
		absent(r)
		if !strings.HasPrefix(r.Said, c.want) || !strings.Contains(r.Said, "apt-get install postgresql") {
			t.Errorf("CI=%q MANDATE_TEST_REQUIRE=%q: %q", c.ci, c.require, r.Said)
		}
	}
}
