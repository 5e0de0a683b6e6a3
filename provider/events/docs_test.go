package events

import (
	"fmt"
	"strings"
	"testing"

	"mandate/testkit"
)

// TestDocs compares the table of kinds in docs/event-log.md with the kinds.
func TestDocs(t *testing.T) {
	var table strings.Builder
	table.WriteString("\n| Kind | Meaning | Object | Detail |\n|---|---|---|---|\n")
	for _, d := range Kinds() {
		fmt.Fprintf(&table, "| `%s` | %s | %s | %s |\n", d.Kind, strings.TrimSpace(d.Meaning+" "+d.Note), d.Object, d.Detail)
	}
	testkit.DocsBlock(t, "event-log.md", "kinds", table.String()+"\n")
}
