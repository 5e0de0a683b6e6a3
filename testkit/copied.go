package testkit

import (
	"os"
	"path/filepath"
	"sync"
	"testing"
)

// Copied is a file that is made once for the tests of a process. Each of them gets a copy.
type Copied struct {
	Make func(path string) error

	once    sync.Once
	content []byte
	err     error
}

// Copy writes the file to a path.
func (c *Copied) Copy(t testing.TB, path string) {
	t.Helper()
	c.once.Do(func() { c.content, c.err = c.make() })
	err := c.err
	if err == nil {
		err = os.WriteFile(path, c.content, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func (c *Copied) make() ([]byte, error) {
	dir, err := os.MkdirTemp("", "copied-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "file")
	err = c.Make(path)
	if err != nil {
		return nil, err
	}
	return os.ReadFile(path)
}
