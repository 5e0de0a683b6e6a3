// Package testkit holds what the tests of several packages share. No program imports it.
package testkit

import (
	"os"
	"os/exec"
	"testing"
)

// Missing ends a test that needs something that this machine does not have. It skips the test. If CI=true or
// MANDATE_TEST_REQUIRE=all is set, it fails the test instead. what says what is missing and how to install it.
func Missing(t testing.TB, what string) {
	t.Helper()
	if os.Getenv("CI") == "true" || os.Getenv("MANDATE_TEST_REQUIRE") == "all" {
		t.Fatal(what)
	}
	t.Skip("SKIPPED, NOT TESTED: " + what)
}

// Program returns the path of a program. If it is not installed, Program ends the test as Missing does. packages are
// the Debian packages that have the program.
func Program(t testing.TB, name, packages string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		Missing(t, name+" is not installed: apt-get install "+packages)
	}
	return path
}

// NotShort skips a test under `go test -short`, which `make test-fast` uses. why says which tests are left out.
func NotShort(t testing.TB, why string) {
	t.Helper()
	if testing.Short() {
		t.Skip("-short leaves out " + why)
	}
}

// Changed returns the text with another character at one place. A test that writes a
// fixed character over a random one leaves the text as it is once in 64 runs.
func Changed(text string, at int) string {
	other := "A"
	if text[at] == 'A' {
		other = "Q"
	}
	return text[:at] + other + text[at+1:]
}
