package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// FuzzConfig checks that no file and no variable makes the loader panic, that every
// problem has a text, and that the printed form of a loaded configuration loads
// again, unless it contains a secret.
func FuzzConfig(f *testing.F) {
	seeds, err := filepath.Glob("testdata/*.yaml")
	if err != nil || len(seeds) == 0 {
		f.Fatal("no seeds", err)
	}
	for _, seed := range seeds {
		text, err := os.ReadFile(seed)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text), "SCOPES", "{read: R, write: W}")
	}
	f.Add("LISTEN: &a [*a]", "TRUSTED_PROXIES", "10.0.0.1 [::1]")
	f.Add("\t", "RULES", "[{PATH: /}]")
	f.Add("%TAG ! x\n---\n!a b: ? c", "DATABASE_URL", "postgres://a:b@c/d?password=e")
	f.Fuzz(func(t *testing.T, text, key, value string) {
		if strings.Contains(text+key, "_FILE") || key == "CONFIG" {
			return // it would read files of this machine
		}
		c, err := load(t, text, envPrefix+key+"="+value)
		if err != nil {
			for line := range strings.Lines(err.Error()) {
				if strings.TrimSpace(line) == "" {
					t.Errorf("an empty problem in %q", err)
				}
			}
			return
		}
		again, err := load(t, printed(c))
		if err != nil {
			if !strings.Contains(printed(c), mask) {
				t.Fatalf("%v\n%s", err, printed(c))
			}
			return
		}
		if diff := cmp.Diff(withoutSource(printed(c)), withoutSource(printed(again))); diff != "" {
			t.Error(diff)
		}
	})
}
