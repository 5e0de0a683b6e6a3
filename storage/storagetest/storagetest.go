// Package storagetest gives tests a Store whose database has the current schema, and no records.
package storagetest

import (
	"context"
	"path/filepath"
	"testing"

	"mandate/storage"
	"mandate/testkit"
)

// migrated is a SQLite database. To migrate one for each test would take half of the tests' processor time.
var migrated = testkit.Copied{Make: func(path string) error {
	store, err := storage.Open(context.Background(), "sqlite:///"+path)
	if err != nil {
		return err
	}
	defer store.Close()
	_, err = store.Migrate(context.Background())
	return err
}}

// Open returns a Store on a new SQLite database, which is closed when the test ends, and the path of the database.
func Open(t testing.TB) (store *storage.Store, path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "mandate.db")
	migrated.Copy(t, path)
	store, err := storage.Open(t.Context(), "sqlite:///"+path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(store.Close)
	return store, path
}
