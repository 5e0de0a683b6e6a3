package app

import (
	"os"
	"path/filepath"
	"testing"

	"mandate/templates"
)

// The setting may name the wrong file, such as the image of a disk. Its size does not matter.
func TestLogoFileIsReadUpToItsLimit(t *testing.T) {
	name := filepath.Join(t.TempDir(), "disk.img")
	err := os.WriteFile(name, nil, 0o600)
	if err == nil {
		err = os.Truncate(name, 10*templates.MostLogo)
	}
	if err != nil {
		t.Fatal(err)
	}
	body, err := readLogo(name)
	if err != nil || len(body) != templates.MostLogo+1 {
		t.Errorf("%d bytes, %v", len(body), err)
	}
	if templates.CheckLogo(body) == nil {
		t.Error("it is a logo")
	}
}
