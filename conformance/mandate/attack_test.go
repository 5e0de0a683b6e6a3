package mandate

import (
	"strings"
	"testing"
)

// These tests try attacks to which this server or other servers were vulnerable, over
// HTTP against the built binary. Each is in a file attack_*_test.go and begins with a
// call of attack.

// attack names the class of vulnerability that a test tries, and a similar public
// advisory.
func attack(t *testing.T, class, advisory string) {
	t.Helper()
	if class == "" || !strings.HasPrefix(t.Name(), "TestAttack") {
		t.Fatal("an attack has a class, and a name that begins with TestAttack")
	}
	if advisory == "" {
		advisory = "no public advisory is known"
	}
	t.Logf("class: %s", class)
	resembles(t, advisory)
}

// resembles names a similar public advisory in a test that does not only try attacks.
func resembles(t *testing.T, advisory string) {
	t.Helper()
	t.Logf("resembles: %s", advisory)
}
