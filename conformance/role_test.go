package conformance

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"mandate/conformance/engine"
	"mandate/conformance/need"
	"mandate/conformance/rules"
)

const (
	rolesPage  = "../docs/check-a-server.md"
	rolesStart = "<!-- roles:start -->"
	rolesEnd   = "<!-- roles:end -->"
)

// TestRolesDocs compares the table of clients in docs/check-a-server.md with the roles.
func TestRolesDocs(t *testing.T) {
	text, err := os.ReadFile(rolesPage)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, opened := strings.Cut(string(text), rolesStart)
	_, after, closed := strings.Cut(rest, rolesEnd)
	if !opened || !closed {
		t.Fatalf("docs/check-a-server.md lacks %s and %s", rolesStart, rolesEnd)
	}
	var b strings.Builder
	b.WriteString("\n| Client | What it is | What it looks like |\n|---|---|---|\n")
	for _, r := range need.Roles() {
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", r.Name, r.Is, r.Look())
	}
	want := before + rolesStart + "\n" + b.String() + "\n" + rolesEnd + after
	if want == string(text) {
		return
	}
	if !*update {
		t.Fatal("the clients in docs/check-a-server.md are not the roles; run make docs")
	}
	err = os.WriteFile(rolesPage, []byte(want), 0o644)
	if err != nil {
		t.Fatal(err)
	}
}

// Every role is needed by a check.
func TestRolesAreNeeded(t *testing.T) {
	for _, r := range need.Roles() {
		if engine.Needing(rules.All(), r) == 0 {
			t.Errorf("no check needs the client %s", r.Name)
		}
	}
}
