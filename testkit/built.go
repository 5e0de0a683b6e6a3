package testkit

import (
	"debug/buildinfo"
	"fmt"
	"os"
	"os/exec"
	"runtime/debug"
	"slices"
)

// Built returns the path of the server's program. `make test` builds it once for all packages, and gives its path in a
// variable of the environment. Without the variable Built builds it at path, with flags of go build. top is the folder
// of the module.
func Built(top, variable, path string, flags ...string) (string, error) {
	err := ExamineSources(top)
	if err != nil {
		return "", err
	}
	shared := os.Getenv(variable)
	if shared != "" {
		return shared, watched(shared, slices.Contains(flags, "-race"))
	}
	args := append([]string{"build", "-o", path}, flags...)
	out, err := exec.Command("go", append(args, "mandate/cmd/mandate")...).CombinedOutput()
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
