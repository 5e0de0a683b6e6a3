package telemetry

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the table of metrics into docs")

// TestDocs compares the table of metrics in docs/observability.md with the families.
func TestDocs(t *testing.T) {
	const path, start, end = "../../../docs/observability.md", "<!-- metrics:start -->", "<!-- metrics:end -->"
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, opened := strings.Cut(string(text), start)
	_, after, closed := strings.Cut(rest, end)
	if !opened || !closed {
		t.Fatalf("docs/observability.md lacks %s and %s", start, end)
	}
	var table strings.Builder
	table.WriteString("\n\n| Metric | Kind | Labels | Meaning |\n|---|---|---|---|\n")
	for _, f := range families {
		labels := ""
		if len(f.labels) > 0 {
			labels = "`" + strings.Join(f.labels, "`, `") + "`"
		}
		fmt.Fprintf(&table, "| `%s` | %s | %s | %s |\n", f.name, f.kind, labels, f.help)
	}
	want := before + start + table.String() + "\n" + end + after
	if want == string(text) {
		return
	}
	if !*update {
		t.Fatal("the metrics in docs/observability.md are not those of families.go; run make docs")
	}
	err = os.WriteFile(path, []byte(want), 0o644)
	if err != nil {
		t.Fatal(err)
	}
}
