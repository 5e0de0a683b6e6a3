package testkit

import (
	"fmt"
	"os"
	"os/exec"
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
		return shared, nil
	}
	args := append([]string{"build", "-o", path}, flags...)
	out, err := exec.Command("go", append(args, "mandate/cmd/mandate")...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("build the binary: %w\n%s", err, out)
	}
	return path, nil
}
