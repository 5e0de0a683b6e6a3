package command

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// A suggestion that is wrong costs more than none.
func TestSuggestionsAreNear(t *testing.T) {
	commands := []string{
		"serve",
		"user",
		"group",
		"application",
		"resource",
		"resource-server",
		"registration-token",
		"events",
		"add",
		"add-member",
		"list",
		"delete",
		"show",
	}
	flags := []string{
		"redirect-uri",
		"request-uri",
		"scope",
		"grant",
		"client-type",
		"client-id",
		"client-secret-stdin",
		"name",
	}
	for _, c := range []struct {
		word  string
		names []string
		want  string
	}{
		{"aplication", commands, "application"},
		{"app", commands, "application"},
		{"Users", commands, "user"},
		{"lits", commands, "list"},
		{"ad", commands, "add add-member"},
		{"add-members", commands, "add-member"},
		{"rm", commands, "delete"},
		{"start", commands, "serve"},
		{"grups", commands, "group"},
		{"x", commands, ""},
		{"abc", commands, ""},
		{"nonsense", commands, ""},
		{"", commands, ""},
		{strings.Repeat("a", 1<<20), commands, ""},
		{"redirect-url", flags, "redirect-uri"},
		{"callback-url", flags, "redirect-uri"},
		{"scopes", flags, "scope"},
		{"grant-type", flags, "grant"},
		{"client", flags, "client-type client-id client-secret-stdin"},
		{"nonsense", flags, ""},
		{"rm", flags, ""},
	} {
		if got := strings.Join(meant(c.word, c.names), " "); got != c.want {
			t.Errorf("%.20s: %q, want %q", c.word, got, c.want)
		}
	}
}

// Each other word leads to something that exists.
func TestOtherWordsLeadSomewhere(t *testing.T) {
	known := map[string]bool{}
	root := (&program{}).root()
	for _, c := range append(root.Commands(), runnable(root)...) {
		known[c.Name()] = true
		for _, name := range flagNames(c) {
			known[name] = true
		}
	}
	for word, means := range otherWords {
		if !known[means] {
			t.Errorf("%s leads to %s, which does not exist", word, means)
		}
	}
}

// A word that nothing takes must not be lost without a word: what somebody has typed there has no effect.
func TestEveryCommandRefusesAnArgumentTooMany(t *testing.T) {
	for _, c := range runnable((&program{}).root()) {
		if c.Name() == "explain" { // its text may have spaces
			continue
		}
		err := c.Args(c, strings.Fields(strings.Repeat("a ", 9)))
		if err == nil {
			t.Errorf("%s takes nine arguments", c.CommandPath())
		}
	}
}

// The help of an update promises no default: what no flag names stays.
func TestUpdatesHaveNoDefaults(t *testing.T) {
	updates := 0
	for _, c := range runnable((&program{}).root()) {
		if c.Name() != "update" {
			continue
		}
		updates++
		for _, f := range all(c.LocalNonPersistentFlags().VisitAll) {
			if strings.Contains(f.Usage, "default: ") || f.Usage == "" && f.Name != "help" {
				t.Errorf("%s --%s: %s", c.CommandPath(), f.Name, f.Usage)
			}
		}
	}
	if updates < 3 {
		t.Errorf("%d updates", updates)
	}
}

// RFC 6749 §3.3: a scope has no space, so an argument with spaces is a list.
func TestScopesInOneArgument(t *testing.T) {
	for _, args := range [][]string{{"--scope", "openid email"}, {"--scope", " openid", "--scope=email "}} {
		var f registrationFlags
		c := &cobra.Command{}
		f.add(c)
		err := c.ParseFlags(args)
		if err != nil {
			t.Fatal(err)
		}
		r := filled()
		err = f.read(c, &r)
		if err != nil || strings.Join(r.Scopes, ",") != "openid,email" {
			t.Errorf("%q: %q, %v", args, r.Scopes, err)
		}
	}
}
