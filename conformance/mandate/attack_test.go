package mandate

import (
	"strings"
	"testing"
)

// The attacks that this server was found open to, or that others were, each as a test over HTTP against the built
// binary. Each lies in a file attack_*_test.go and begins with a call of attack.

// attack says what class of vulnerability a test tries, and which public advisory it resembles.
func attack(t *testing.T, class, advisory string) {
	t.Helper()
	if class == "" || !strings.HasPrefix(t.Name(), "TestAttack") {
		t.Fatal("an attack has a class, and a name that begins with TestAttack")
	}
	if advisory == "" {
		advisory = "no public advisory is known"
	}
	t.Logf("class: %s; resembles: %s", class, advisory)
}
