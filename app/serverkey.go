package app

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"mandate/app/config"
	"mandate/storage"
)

// serverKey is the key that encrypts secrets in the database: the configured one,
// or with an embedded database the one in a file beside it.
func serverKey(ctx context.Context, settings *config.Config, store *storage.Store) ([]byte, error) {
	if settings.ServerKey != nil {
		return settings.ServerKey, nil
	}
	path := keyFile(settings.SQLitePath())
	key, err := readKey(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return key, err
	}
	// Existing data cannot be decrypted with a new key.
	_, err = store.Setting(ctx, "server_key_fingerprint")
	if err == nil {
		return nil, fmt.Errorf(
			"this database was created with a server key, and no key is set: set SECRET_KEY or SECRET_KEY_FILE to that key, "+
				"or restore %s from a backup",
			path,
		)
	}
	if !errors.Is(err, storage.ErrNotFound) {
		return nil, fmt.Errorf("read the server key's fingerprint: %w", err)
	}
	err = makeKey(path)
	if err != nil {
		return nil, err
	}
	return readKey(path)
}

// keyFile is the file with the server key of a database file.
func keyFile(database string) string { return database + ".key" }

func readKey(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.Mode().Perm()&0o077 != 0 && runtime.GOOS != "windows" {
		return nil, fmt.Errorf("the key file %s can be read by other accounts of this machine: run chmod 600 %s", path, path)
	}
	text, err := config.ReadFile(path)
	if err != nil {
		return nil, err
	}
	key, err := base64.StdEncoding.DecodeString(strings.TrimSpace(string(text)))
	if err != nil || len(key) != 32 {
		return nil, fmt.Errorf("the key file %s does not contain 32 bytes in base64: restore it from a backup", path)
	}
	return key, nil
}

// makeKey writes a new key. The file appears complete or not at all. If two
// processes start at the same time, both use the key of one of them.
func makeKey(path string) error {
	draft, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*") // with mode 0600
	if err != nil {
		return fmt.Errorf("create the server key: %w", err)
	}
	defer os.Remove(draft.Name())
	key := make([]byte, 32)
	rand.Read(key) // never fails
	_, err = draft.WriteString(base64.StdEncoding.EncodeToString(key) + "\n")
	if err == nil {
		err = draft.Sync()
	}
	if err == nil {
		err = draft.Close()
	}
	if err == nil {
		err = os.Link(draft.Name(), path)
	}
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("create the server key: %w", err)
	}
	return nil
}
