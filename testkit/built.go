package testkit

import (
	"debug/buildinfo"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
)

// Built returns the path of the server's program, with the race detector or as people use it. `make test` builds both
// once for all packages, and gives their paths in variables of the environment. Without the variable Built builds the
// program in dir. top is the folder of the module.
func Built(top, dir string, detector bool) (string, error) {
	err := ExamineSources(top)
	if err != nil {
		return "", err
	}
	variable, name := "MANDATE_TEST_PROGRAM", "mandate"
	if detector {
		variable, name = "MANDATE_TEST_WATCHED_PROGRAM", "watched"
	}
	shared := os.Getenv(variable)
	if shared != "" {
		return shared, watched(shared, detector)
	}
	path := filepath.Join(dir, name)
	out, err := exec.Command("go", "build", fmt.Sprintf("-race=%t", detector), "-o", path,
		"mandate/cmd/mandate").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("build the binary: %w\n%s", err, out)
	}
	return path, nil
}

// watched returns an error unless a program has the race detector, or has none, as it should.
func watched(path string, want bool) error {
	built, err := buildinfo.ReadFile(path)
	if err != nil {
		return err
	}
	if got := slices.Contains(built.Settings, debug.BuildSetting{Key: "-race", Value: "true"}); got != want {
		return fmt.Errorf("%s was built with -race: %t, and the tests want: %t", path, got, want)
	}
	return nil
}
