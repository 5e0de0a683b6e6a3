package attributes_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mandate/provider/attributes"
)

var set = attributes.Set{
	{Name: "quota", Type: attributes.Number, Min: -5, Max: 500},
	{Name: "department", Type: attributes.Text, Values: []string{"sales", "research"}},
	{Name: "room", Type: attributes.Text},
	{Name: "beta", Type: attributes.Truth},
	{Name: "teams", Type: attributes.List},
	{Name: "floors", Type: attributes.List, Values: []string{"1", "2"}},
}

// Each type has its values, and refuses the others.
func TestChange(t *testing.T) {
	for change, want := range map[string]any{
		"quota=500":            json.Number("500"),
		"quota=-5":             json.Number("-5"),
		"quota=0":              json.Number("0"),
		"quota=501":            "from -5 to 500",
		"quota=-6":             "from -5 to 500",
		"quota=1.5":            "whole number",
		"quota=+5":             "whole number",
		"quota=007":            "whole number",
		"quota=1e2":            "whole number",
		"department=sales":     "sales",
		"department=Sales":     "one of sales, research",
		"room=a=b;c":           "a=b;c",
		"room=a\nb":            "one line",
		"room=\xff":            "one line",
		"beta=true":            true,
		"beta=false":           false,
		"beta=yes":             "true or false",
		"teams=red; blue;":     []any{"red", "blue"},
		"teams=;":              "1 to 20 values",
		"floors=1;2":           []any{"1", "2"},
		"floors=1;3":           "one of 1, 2",
		"sub=root":             "no attribute",
		"Quota=5":              "no attribute",
		"quota":                "NAME=VALUE",
		"room=" + repeat(200):  repeat(200),
		"room=" + repeat(201):  "200 characters",
		"teams=" + many(20):    slices.Repeat([]any{"x"}, 20),
		"teams=" + many(21):    "1 to 20 values",
		"teams=" + repeat(201): "200 characters",
	} {
		var wrong []string
		stored, err := set.Change("", []string{change}, func(m string) { wrong = append(wrong, m) })
		if err != nil {
			t.Fatal(err)
		}
		if len(wrong) > 0 {
			text, _ := want.(string)
			if len(wrong) != 1 || !strings.Contains(wrong[0], text) || !strings.HasSuffix(wrong[0], ".") {
				t.Errorf("%.30s: %q, want %v", change, wrong, want)
			}
			continue
		}
		values, err := set.Values(stored)
		name, _, _ := strings.Cut(change, "=")
		if d := cmp.Diff(map[string]any{name: want}, values); d != "" || err != nil {
			t.Errorf("%.30s: %s %v", change, d, err)
		}
	}
}

func repeat(n int) string { return strings.Repeat("é", n) }

func many(n int) string { return strings.Repeat("x;", n) }

// A change keeps what it does not name, also the values of an attribute that the server does not have now.
func TestChangeKeepsTheRest(t *testing.T) {
	change := func(set attributes.Set, stored string, changes ...string) string {
		t.Helper()
		now, err := set.Change(stored, changes, func(m string) { t.Error(m) })
		if err != nil {
			t.Fatal(err)
		}
		return now
	}
	both := change(set, "", "quota=5", "room=<1>")
	if both != `{"quota":["5"],"room":["<1>"]}` {
		t.Error(both)
	}
	if got := change(set[:1], both, "quota=6"); got != `{"quota":["6"],"room":["<1>"]}` {
		t.Error(got)
	}
	if got := change(set, both); got != both {
		t.Error(got)
	}
	if got := change(set, both, "quota=", "room="); got != "" {
		t.Errorf("%q, want none", got)
	}
	for _, broken := range []string{"[]", `{"quota":5}`, "x"} {
		_, err := set.Change(broken, []string{"quota=5"}, func(string) {})
		_, err2 := set.Values(broken)
		if err == nil || err2 == nil {
			t.Errorf("%s is read: %v %v", broken, err, err2)
		}
	}
}

// A value from before the operator changed the type, the bounds or the list of values decides nothing.
func TestAttackValueOfAFormerType(t *testing.T) {
	stored := `{"quota":["50"],"room":["root"],"teams":["a","b"]}`
	for _, one := range []attributes.Attribute{
		{Name: "quota", Type: attributes.Number, Max: 49},
		{Name: "quota", Type: attributes.Truth},
		{Name: "quota", Type: attributes.Text, Values: []string{"5"}},
		{Name: "room", Type: attributes.Number, Max: 100},
		{Name: "room", Type: attributes.List, Values: []string{"user"}},
		{Name: "teams", Type: attributes.Text},
		{Name: "teams", Type: attributes.Number, Max: 9},
		{Name: "other", Type: attributes.Text},
	} {
		values, err := attributes.Set{one}.Values(stored)
		if len(values) > 0 || err != nil {
			t.Errorf("%v has the values %v, %v", one, values, err)
		}
	}
}
