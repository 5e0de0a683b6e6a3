package conformance

import (
	"fmt"
	"strings"
	"testing"

	"mandate/conformance/engine"
	"mandate/conformance/need"
	"mandate/conformance/rules"
	"mandate/testkit"
)

// TestRolesDocs compares the table of clients in docs/check-a-server.md with the roles.
func TestRolesDocs(t *testing.T) {
	var b strings.Builder
	b.WriteString("\n| Client | What it is | What it looks like |\n|---|---|---|\n")
	for _, r := range need.Roles() {
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", r.Name, r.Is, r.Description())
	}
	testkit.DocsBlock(t, "check-a-server.md", "roles", b.String()+"\n")
}

// Every role is needed by a check.
func TestRolesAreNeeded(t *testing.T) {
	for _, r := range need.Roles() {
		if engine.Needing(rules.All(), r) == 0 {
			t.Errorf("no check needs the client %s", r.Name)
		}
	}
}
