package app

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mandate/app/config"
	"mandate/conformance/wire"
	"mandate/testkit"
)

// A command that is printed is pasted into a shell: no value in it is code there.
//
// The class is CWE-78: a text of somebody else becomes a part of a command.
func TestAttackCommandInAPrintedCommand(t *testing.T) {
	testkit.Program(t, "sh", "dash")
	uri, name, client := "https://api.example/?a=1&b=$(touch pwned);c", "It's `id` \\ \"x\" $HOME\n!", "~root $(id) && 'x"
	var settings config.Config
	settings.Provider.ResourceServerAudience, settings.Provider.ResourceServerName = uri, name
	settings.Provider.ResourceServerIntrospectionCredentials = []string{client, "secret"}
	settings.Rules = []config.Rule{{Scopes: []string{"read", "a;b"}}, {Scopes: []string{"read", "c>d"}}}
	want := []string{
		"resource",
		"add",
		uri,
		"--name",
		name,
		"--introspector",
		client,
		"--scope",
		"read",
		"--scope",
		"a;b",
		"--scope",
		"c>d",
	}
	if d := cmp.Diff(want, wordsOf(t, addResource(&settings))); d != "" {
		t.Error(d)
	}
	for _, word := range []string{
		"",
		"~",
		"~root",
		"=ls",
		"-x",
		"*",
		"a b",
		"#x",
		"a=b",
		"{a,b}",
		"a\tb",
		"!x",
		"é",
		"%USER%",
	} {
		if d := cmp.Diff([]string{word}, wordsOf(t, "mandate "+wire.ShellWord(word))); d != "" {
			t.Errorf("%q: %s", word, d)
		}
	}
}

// wordsOf returns the arguments with which a shell calls the program of a command.
func wordsOf(t *testing.T, command string) []string {
	t.Helper()
	c := exec.Command("sh", "-c", `mandate() { printf '%s\0' "$@"; }; `+command)
	c.Dir, c.Env = t.TempDir(), []string{"HOME=/home/of/somebody", "PATH=/usr/bin:/bin"}
	out, err := c.Output()
	if err != nil {
		t.Fatalf("%s: %v", command, err)
	}
	return strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
}
