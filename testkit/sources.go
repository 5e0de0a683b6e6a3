package testkit

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// ExamineSources examines each file below the root of the repository that can be part of the program. The go command
// records which files a test examines. It does not use a cached result after one of them has changed.
func ExamineSources(root string) error {
	return filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil || path == root:
			return err
		case entry.IsDir() &&
			(strings.HasPrefix(entry.Name(), ".") || slices.Contains([]string{"bin", "docs"}, entry.Name())):
			return filepath.SkipDir
		case entry.IsDir():
			return nil
		}
		_, err = os.Stat(path)
		return err
	})
}
