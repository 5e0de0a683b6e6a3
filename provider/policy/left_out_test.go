package policy

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mandate/storage"
)

// The log says which scopes an application did not get, and why. A stranger does not decide how long that is.
func TestLeftOut(t *testing.T) {
	c := New(Settings{Scopes: []Scope{{Name: "read"}, {Name: "write"}, {Name: "groups"}, {Name: "introspection"}},
		ScopesByAdministrator: []string{"groups"}})
	operators := storage.Application{Responsible: storage.ByOperator, Scopes: "read"}
	active := true
	persons := storage.Application{Responsible: storage.ByOwner, OwnerID: new("p"), OwnerActive: &active}
	var many []string
	for i := range maxScopesOfTest {
		many = append(many, fmt.Sprintf("s%d", i))
	}
	long := strings.Repeat("x", 200)
	for _, test := range []struct {
		rule  string
		app   storage.Application
		asked string
		want  string
		shown string
	}{
		{"nothing", operators, "read", "", "0"},
		{"nothing, of the default scopes", operators, "", "", "0"},
		{"unknown", operators, "roles read", "roles (unknown)", "1"},
		{"each once", operators, "roles read roles", "roles (unknown)", "1"},
		{"known, but not of this application", operators, "read write introspection",
			"write (not allowed), introspection (not allowed)", "write introspection 0"},
		{"known, but not for what a person answers for", persons, "read groups", "groups (not allowed)", "groups 0"},
		{"long", operators, "read " + long, long[:80] + " (unknown)", "1"},
		{"many", operators, "read " + strings.Join(many, " "), "s0 (unknown), s1 (unknown), s2 (unknown), s3 (unknown), s4 " +
			"(unknown), …", "900"},
		{"known after many", operators, "read " + strings.Join(many[:7], " ") + " write",
			"s0 (unknown), s1 (unknown), s2 (unknown), s3 (unknown), s4 (unknown), …, write (not allowed)", "write 7"},
	} {
		t.Run(test.rule, func(t *testing.T) {
			got, err := c.RequestedScopes(test.app, test.asked, anyAudience{})
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(test.want, got.LeftOut.String()); d != "" {
				t.Error(d)
			}
			names, unknown := got.LeftOut.Shown()
			if diff := cmp.Diff(test.shown, strings.TrimSpace(strings.Join(names, " ")+fmt.Sprint(" ", unknown))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

const maxScopesOfTest = 900

// Like CVE-2023-24534 and others of its class: a small request that costs much. A request names so many scopes that the
// comparison of each with each takes the processor.
func TestAttackManyScopes(t *testing.T) {
	c := New(Settings{Scopes: []Scope{{Name: "read"}}})
	var many []string
	for i := range 20_000 {
		many = append(many, fmt.Sprintf("%x", i))
	}
	_, err := c.RequestedScopes(storage.Application{Responsible: storage.ByOperator}, "read "+strings.Join(many, " "),
		anyAudience{})
	if err == nil || !strings.Contains(err.Error(), "more than") {
		t.Error(err)
	}
}
