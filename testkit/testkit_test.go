package testkit

import (
	"fmt"
	"strings"
	"testing"
)

func TestMissingIsLoud(t *testing.T) {
	for _, c := range []struct{ ci, require, want string }{
		{"", "", "skip"},
		{"true", "", "fatal"},
		{"", "all", "fatal"},
	} {
		t.Setenv("CI", c.ci)
		t.Setenv("MANDATE_TEST_REQUIRE", c.require)
		for what, ends := range map[string]func(testing.TB){
			"a database":                   func(t testing.TB) { Missing(t, "a database") },
			"apt-get install some-package": func(t testing.TB) { Program(t, "no-such-program", "some-package") },
		} {
			r := &recorder{TB: t}
			ends(r)
			if !strings.HasPrefix(r.said, c.want) || !strings.Contains(r.said, what) {
				t.Errorf("CI=%q MANDATE_TEST_REQUIRE=%q: %q", c.ci, c.require, r.said)
			}
		}
	}
}

// recorder records the first call that ended a test.
type recorder struct {
	testing.TB
	said string
}

func (r *recorder) Helper()           {}
func (r *recorder) Fatal(args ...any) { r.say("fatal", args) }
func (r *recorder) Skip(args ...any)  { r.say("skip", args) }

func (r *recorder) say(kind string, args []any) {
	if r.said == "" {
		r.said = kind + ": " + fmt.Sprint(args...)
	}
}
