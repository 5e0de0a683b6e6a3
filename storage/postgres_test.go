package storage

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/jmoiron/sqlx"

	"mandate/storage/postgrestest"
)

func TestParametersOfOtherDrivers(t *testing.T) {
	const address = "postgres://u@db.example/app?sslmode=verify-full&"
	for parameters, remedy := range map[string]string{
		"channel_binding=prefer&gssencmode=disable&keepalives_idle=30&pool_min_conns=2&pgbouncer=true": "",
		"channel_binding=require": "sslmode=verify-full",
		"gssencmode=require":      "sslmode=verify-full",
		"pool_max_conns=10":       "set DATABASE_MAX_CONNECTIONS",
	} {
		got, q, err := driverURL(address+parameters, "test")
		if remedy != "" {
			name, _, _ := strings.Cut(parameters, "=")
			if err == nil || !strings.Contains(err.Error(), "the parameter "+name+" ") ||
				!strings.Contains(err.Error(), remedy) {
				t.Errorf("%s: %v", parameters, err)
			}
			continue
		}
		if err != nil || q.Get("sslmode") != "verify-full" {
			t.Errorf("%s: %q, %v", parameters, got, err)
		}
		for name := range strings.SplitSeq(parameters, "&") {
			name, _, _ = strings.Cut(name, "=")
			if q.Has(name) {
				t.Errorf("%s stays: the server would refuse it", name)
			}
		}
	}
}

// ownDatabase creates a database with options of CREATE DATABASE, and returns its address and a connection of the
// owner.
func ownDatabase(t *testing.T, name, options string) (string, *sqlx.DB) {
	t.Helper()
	admin := sqlx.MustOpen("postgres", postgrestest.URL(t))
	t.Cleanup(func() { admin.Close() })
	admin.MustExec(`DROP DATABASE IF EXISTS ` + name)
	admin.MustExec(`CREATE DATABASE ` + name + ` TEMPLATE template0 ` + options)
	t.Cleanup(func() { admin.MustExec(`DROP DATABASE IF EXISTS ` + name + ` WITH (FORCE)`) })
	address, err := url.Parse(postgrestest.URL(t))
	if err != nil {
		t.Fatal(err)
	}
	address.Path = "/" + name
	owner := sqlx.MustOpen("postgres", address.String())
	t.Cleanup(func() { owner.Close() })
	return address.String(), owner
}

// A stranger can send a letter that such a database cannot store.
func TestDatabaseWithoutUnicodeIsRefused(t *testing.T) {
	for _, encoding := range []string{"LATIN1", "SQL_ASCII"} {
		address, _ := ownDatabase(t, "mandate_"+strings.ToLower(encoding),
			fmt.Sprintf(`ENCODING '%s' LC_COLLATE 'C' LC_CTYPE 'C'`, encoding))
		s, err := Open(t.Context(), address)
		if err == nil {
			s.Close()
		}
		if err == nil || !strings.Contains(err.Error(), "has the encoding "+encoding) ||
			!strings.Contains(err.Error(), "createdb --encoding UTF8") {
			t.Errorf("%s: %v", encoding, err)
		}
	}
}

func TestMigrationSaysWhatToGrant(t *testing.T) {
	address, owner := ownDatabase(t, "mandate_no_rights", `ENCODING 'UTF8'`)
	owner.MustExec(`DROP ROLE IF EXISTS "mandate-app"`)
	owner.MustExec(`CREATE ROLE "mandate-app" LOGIN PASSWORD 'app'`)
	t.Cleanup(func() { owner.MustExec(`DROP OWNED BY "mandate-app"; DROP ROLE "mandate-app"`) })
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.UserPassword("mandate-app", "app")
	s, err := Open(t.Context(), u.String())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	_, err = s.Migrate(t.Context())
	const grant = `GRANT USAGE, CREATE ON SCHEMA public TO "mandate-app"`
	if err == nil || !strings.Contains(err.Error(), grant) {
		t.Fatal(err)
	}
	owner.MustExec(grant)
	_, err = s.Migrate(t.Context())
	if err != nil {
		t.Error("after the advice:", err)
	}
}

// A value that the database does not accept is no failure of the database: waiting does not help.
func TestRejectedValueIsNoOutage(t *testing.T) {
	s, err := Open(t.Context(), postgrestest.URL(t))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	_, err = s.Migrate(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	err = s.AddGroup(t.Context(), "a\x00b", at)
	if !errors.Is(err, ErrRejected) {
		t.Error(err)
	}
}
