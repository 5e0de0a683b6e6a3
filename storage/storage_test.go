package storage

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"
)

func TestEveryConnectionOfSQLiteIsDurable(t *testing.T) {
	w := migrated(t, sqliteURL(t))
	want := map[string]string{"journal_mode": "wal", "synchronous": "2" /* FULL */, "foreign_keys": "1",
		"busy_timeout": "3000"}
	for name, db := range map[string]*sqlx.DB{"read": w.read, "write": w.write} {
		for i := range db.Stats().MaxOpenConnections { // each stays open, so the next is another connection
			conn, err := db.Connx(t.Context())
			must(t, err)
			defer conn.Close()
			for pragma, want := range want {
				var got string
				must(t, conn.GetContext(t.Context(), &got, `PRAGMA `+pragma))
				if got != want {
					t.Errorf("%s connection %d: %s is %s, want %s", name, i, pragma, got, want)
				}
			}
		}
	}
	if n := w.write.Stats().MaxOpenConnections; n != 1 {
		t.Errorf("%d connections write", n)
	}
	_, err := os.Stat(strings.TrimPrefix(w.url, "sqlite:///") + "-wal")
	must(t, err)
}

func TestSQLitePathIsTakenAsItIsWritten(t *testing.T) {
	for _, name := range []string{"plain.db", "with space.db", "a?b.db", "a?mode=memory", "a#b.db", "a%b.db", "a%20b.db",
		"a&b=c.db", "a+b.db", "a:b.db", "a;b.db", "it's.db", "ä.db", `a\b.db`, "[a].db"} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			useFile(t, "sqlite:///"+dir+"/"+name, dir, name) // four slashes in all
			t.Chdir(t.TempDir())
			useFile(t, "sqlite:///"+name, ".", name)
			must(t, os.Mkdir("sub dir", 0o700))
			useFile(t, "sqlite:///sub dir/"+name, "sub dir", name)
		})
	}
}

// useFile checks that both pools use this file and no other.
func useFile(t *testing.T, url, dir, name string) {
	t.Helper()
	w := migrated(t, url)
	if !w.Embedded() {
		t.Error("the store does not report that it is embedded")
	}
	got, err := w.AddSetting(t.Context(), "key", "value")
	if err != nil || got != "value" {
		t.Fatalf("got %q, %v", got, err)
	}
	w.Close()
	files, err := os.ReadDir(dir)
	must(t, err)
	var found []string
	for _, f := range files {
		if !f.IsDir() {
			found = append(found, f.Name())
		}
	}
	if len(found) != 1 || found[0] != name {
		t.Errorf("files are %q, want %q alone", found, name)
	}
	got, err = opened(t, url).Setting(t.Context(), "key")
	if err != nil || got != "value" {
		t.Errorf("opened again: got %q, %v", got, err)
	}
}

func TestNewSQLiteFileIsOpenedByManyAtOnce(t *testing.T) {
	url := sqliteURL(t)
	for _, err := range race(8, func(int) error {
		s, err := Open(t.Context(), url)
		if err == nil {
			s.Close()
		}
		return err
	}) {
		must(t, err)
	}
}

func TestDatabaseURLThatCannotWorkIsRefused(t *testing.T) {
	dir := t.TempDir()
	for url, want := range map[string]string{
		"":                             "must begin with sqlite:/// or postgres://",
		"mandate.db":                   "must begin with sqlite:/// or postgres://",
		"mysql://localhost/mandate":    "must begin with sqlite:/// or postgres://",
		"Sqlite:///mandate.db":         "must begin with sqlite:/// or postgres://",
		"sqlite://":                    "contains no file name",
		"sqlite:///":                   "contains no file name",
		"sqlite:///:memory:":           "contains no file name",
		"sqlite:///" + dir:             "reach the database",
		"sqlite:///" + dir + "/no/x.d": "reach the database",
		"postgres://localhost:port/x":  "database URL is not a URL",
		// If unreadable parameters were dropped, the connection would skip the TLS
		// checks.
		"postgres://127.0.0.1:1/x?sslmode=verify-full;connect_timeout=3": "database URL is not a URL",
		"postgres://127.0.0.1:1/x?sslmode=verify-full&a=%zz":             "database URL is not a URL",
		"postgres://127.0.0.1:1/x":                                       "connection refused",
		"postgresql://127.0.0.1:1/x":                                     "connection refused",
	} {
		s, err := Open(t.Context(), url)
		if err == nil {
			s.Close()
			t.Errorf("%q was opened", url)
			continue
		}
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %q, want %q in it", url, err, want)
		}
	}
}

func TestErrorOfOpenNeverShowsThePassword(t *testing.T) {
	for _, url := range []string{
		"host=127.0.0.1 port=1 user=u password=tiger",
		"u:tiger@127.0.0.1:1/db",
		"tiger",
		"postgres:u:tiger@127.0.0.1:1/db",
		"mysql://u:tiger@127.0.0.1:1/db",
		"postgres://u:tiger@127.0.0.1:1/db",
		"postgres://u:tiger@127.0.0.1:1/db?sslmode=silly",
		"postgres://u:tiger@127.0.0.1:1/db?unknown=parameter",
		"postgres://u:tiger@127.0.0.1:1/db?connect_timeout=soon",
		"postgres://127.0.0.1:1/db?password=tiger&port=x",
		"postgres://u:tiger@127.0.0.1:99999/db",
		"postgres://u:tiger@127.0.0.1:port/db",
		"postgres://u:tiger@[::1/db",
		"postgres://u:tiger%zz@127.0.0.1:1/db",
		"postgres://u:tiger#x@127.0.0.1:1/db",
		"postgres://u:tiger/x@127.0.0.1:1/db",
		"postgres://u:tiger x@127.0.0.1:1/db",
		"postgres://127.0.0.1:1?tiger@127.0.0.1/db",
		"postgres://127.0.0.1:1/tiger@127.0.0.1/db",
		"postgres://127.0.0.1:1#tiger@127.0.0.1/db",
	} {
		s, err := Open(t.Context(), url)
		if err == nil {
			s.Close()
			t.Errorf("%q was opened", url)
			continue
		}
		if strings.Contains(err.Error(), "tiger") {
			t.Errorf("%q: %v", url, err)
		}
	}
}

func TestErrorOfPostgreSQLsRefusalNeverShowsThePassword(t *testing.T) {
	address, err := url.Parse(postgresURL(t))
	must(t, err)
	address.User = url.UserPassword(address.User.Username(), "tiger")
	_, err = Open(t.Context(), address.String())
	if err == nil || strings.Contains(err.Error(), "tiger") ||
		!strings.Contains(err.Error(), "password authentication failed") {
		t.Errorf("got %v", err)
	}
}

func TestPostgresURLWithoutSSLModeAsksForTLS(t *testing.T) {
	s, err := Open(t.Context(), withParameter(t, postgresURL(t), "sslmode", ""))
	if err == nil {
		s.Close()
		t.Fatal("it connected without TLS")
	}
	if !strings.Contains(err.Error(), "SSL is not enabled") {
		t.Errorf("the error does not name the reason: %v", err)
	}
}

func TestPostgresURLKeepsItsParameters(t *testing.T) {
	address := withParameter(t, withParameter(t, postgresURL(t), "connect_timeout", "7"), "application_name", "a & b")
	_, rest, _ := strings.Cut(address, "://")
	for _, scheme := range []string{"postgres", "postgresql"} {
		s := opened(t, scheme+"://"+rest)
		var name string
		must(t, s.write.GetContext(t.Context(), &name, `SELECT current_setting('application_name')`))
		if name != "a & b" || s.Embedded() {
			t.Errorf("%s: application_name is %q, embedded %t", scheme, name, s.Embedded())
		}
	}
}

func TestOpenGivesUpOnAServerThatDoesNotAnswer(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer silent.Close()
	began := time.Now()
	_, err = Open(t.Context(), fmt.Sprintf("postgres://u@%s/db?sslmode=disable&connect_timeout=1", silent.Addr()))
	if took := time.Since(began); err == nil || took > 8*time.Second {
		t.Errorf("got %v after %v, where connect_timeout is a second", err, took)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = Open(ctx, "sqlite:///"+filepath.Join(t.TempDir(), "x.db"))
	is(t, "Open with a context that has ended", err, context.Canceled)
}

func TestPingSaysWhetherTheDatabaseAnswers(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		is(t, "Ping", w.Ping(t.Context()), nil)
		w.Close()
		w.Close() // a second call is allowed
		if w.Ping(t.Context()) == nil {
			t.Error("a closed database answers")
		}
	})
}
