package telemetry

import (
	"fmt"
	"strings"
	"testing"

	"mandate/testkit"
)

// TestDocs compares the table of metrics in docs/observability.md with the families.
func TestDocs(t *testing.T) {
	var table strings.Builder
	table.WriteString("\n| Metric | Kind | Labels | Meaning |\n|---|---|---|---|\n")
	for _, f := range families {
		labels := ""
		if len(f.labels) > 0 {
			labels = "`" + strings.Join(f.labels, "`, `") + "`"
		}
		fmt.Fprintf(&table, "| `%s` | %s | %s | %s |\n", f.name, f.kind, labels, f.help)
	}
	testkit.DocsBlock(t, "observability.md", "metrics", table.String()+"\n")
}
