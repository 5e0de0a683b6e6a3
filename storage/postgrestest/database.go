package postgrestest

import (
	"crypto/rand"
	"database/sql"
	"fmt"
	"net/url"
	"strings"
	"testing"

	_ "github.com/lib/pq"
)

// createDatabase creates a database on the server at admin. When the test ends, it
// drops the database with all open connections, if the server is up.
func createDatabase(t testing.TB, admin, of string, up func() bool) string {
	t.Helper()
	name, err := newDatabase(admin, of)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if !up() {
			return
		}
		err := dropDatabase(admin, name)
		if err != nil {
			t.Errorf("drop the test database: %v", err)
		}
	})
	return at(admin, name)
}

// newDatabase creates a database that is a copy of another one, and returns its name.
func newDatabase(admin, of string) (string, error) {
	name := "mandate_test_" + strings.ToLower(rand.Text())
	err := execute(admin, fmt.Sprintf("CREATE DATABASE %s TEMPLATE %s ENCODING 'UTF8'", name, of))
	if err != nil {
		return "", fmt.Errorf("create a test database: %w", err)
	}
	return name, nil
}

func dropDatabase(admin, name string) error {
	return execute(admin, fmt.Sprintf("DROP DATABASE IF EXISTS %s WITH (FORCE)", name))
}

// at returns the address of a database of the server at admin.
func at(admin, database string) string {
	address, _ := url.Parse(admin) // server has parsed it
	address.Path = "/" + database
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
