package main

import (
	"go/token"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
)

// source has a circle of two files, and a file that both use.
var source = map[string]string{
	"a/top.go":    "package a\n\nimport \"low\"\n\nfunc Top() { middle(); low.Back() }\n",
	"a/middle.go": "package a\n\nfunc middle() { var t thing; t.Low(); t.Back() }\n",
	"a/low.go": "package a\n\ntype thing struct{}\n\nfunc (t *thing) Low() { t.Low() }\n\n" +
		"func (thing) Other() {}\n",
	"a/back.go":     "package a\n\nfunc (t thing) Back() { middle() }\n",
	"a/top_test.go": "package a\n\n// " + strings.Repeat("x", columns) + "\n",
	"b/b.go": "package b\n\n// " + strings.Repeat("ü", columns-2) + "\n" +
		"//\t" + strings.Repeat("ü", columns-3) + "\n" +
		"//\"a/\"" + strings.Repeat("x", columns-5) + "\ntype tagged struct {\n\tA int `key:\"" +
		strings.Repeat("x", columns) + "\"`\n}\n\nfunc generic[T any](t T) T { return t }\n",
	"go.mod":            "module a\n\nrequire (\n\tx v1\n\ty v1 // why\n)\n\nrequire (\n\tz v1 // indirect\n)\n",
	"b/testdata/x/x.go": "package broken",
}

func read(name string) ([]byte, error) {
	text, ok := source[name]
	if !ok {
		return nil, os.ErrNotExist
	}
	return []byte(text), nil
}

func TestTable(t *testing.T) {
	var out strings.Builder
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(source)), func(name string) bool { return name == "go.mod" })
	run(append(names, "a/deleted.go"), read, &out)
	if want := "modules that go.mod requires directly: 2, limit"; !strings.Contains(out.String(), want) {
		t.Errorf("no %q in %s", want, &out)
	}
	if want := "packages with 15 % of them or more: 1, limit 0"; !strings.Contains(out.String(), want) {
		t.Errorf("no %q in %s", want, &out)
	}
	got := strings.Split(strings.TrimSpace(out.String()), "\n")[:3]
	for i, want := range []string{
		"package >120 >120 tests identifiers methods of arrows upward",
		"a 0 1 2 3 thing 5 20 %",
		"b 1 0 1 0 0 0 %",
	} {
		if strings.Join(strings.Fields(got[i]), " ") != want {
			t.Errorf("got  %s\nwant %s", got[i], want)
		}
	}
}

func TestCompare(t *testing.T) {
	for most, want := range map[int]string{2: "long: 3 is worse than the limit, 2", 3: "", 4: ""} {
		var out strings.Builder
		err := compare(total{long: 3}, []limit{{"long", most, func(t total) int { return t.long }}}, &out)
		if err == nil && want != "" || err != nil && err.Error() != want {
			t.Errorf("limit %d: %v", most, err)
		}
		if strings.Contains(out.String(), "to 3") != (most == 4) {
			t.Errorf("limit %d: %s", most, &out)
		}
	}
}

func TestOrder(t *testing.T) {
	for name, test := range map[string]struct {
		uses []map[int]bool
		want int // arrows upward
	}{
		"a chain":                    {[]map[int]bool{{1: true}, {2: true}, {}}, 0},
		"written in the other order": {[]map[int]bool{{}, {0: true}, {0: true, 1: true}}, 0},
		"the second uses the most":   {[]map[int]bool{{1: true}, {2: true, 3: true, 4: true}, {}, {}, {}}, 0},
		"one can still move":         {[]map[int]bool{{}, {0: true, 2: true}, {3: true}, {1: true, 2: true}}, 1},
		"a circle, and what it uses": {[]map[int]bool{{}, {0: true, 2: true}, {1: true}}, 1},
	} {
		up, place := 0, order(test.uses)
		for from, to := range test.uses {
			for i := range to {
				if place[i] < place[from] {
					up++
				}
			}
		}
		if up != test.want {
			t.Errorf("%s: %d upward, %v", name, up, place)
		}
	}
}

// TestUses has names that a reader of the text alone takes for those of another file.
func TestUses(t *testing.T) {
	for name, test := range map[string]struct {
		first string
		want  bool // uses the second file
	}{
		"a function": {"func f() { low() }", true},
		"a type":     {"type x struct{ thing }", true},
		"a function in a map": {
			"import \"os\"\n\nvar x = map[string]func(){os.DevNull: low}", true},
		"a constant":                {"var x = number", true},
		"a method":                  {"func f(t thing) { t.Close() }", true},
		"its receiver":              {"func (thing) Open() {}", true},
		"a method of a generic":     {"func f(b box[int]) { b.Empty() }", true},
		"the type that was deduced": {"var x = other{}\n\nfunc f() { x.make().Close() }", true},
		"a field of that name":      {"type x struct{ low int }\n\nfunc f(x x) int { return x.low }", false},
		"a parameter of that name":  {"func f(low int) int { return low }", false},
		"a type parameter":          {"func f[thing any](thing) {}", false},
		"another type's method":     {"type x struct{}\n\nfunc (x) Close() {}\n\nfunc f(x x) { x.Close() }", false},
		"another package's method":  {"import \"os\"\n\nfunc f() { os.Stdout.Close() }", false},
	} {
		p := measured{places: token.NewFileSet()}
		for i, text := range []string{
			test.first,
			"const number = 1\n\nfunc low() {}\n\ntype thing struct{}\n\nfunc (thing) Close() {}\n\n" +
				"type box[T any] struct{}\n\nfunc (box[T]) Empty() {}",
			"type other struct{}\n\nfunc (other) make() thing { return thing{} }",
		} {
			err := p.add(string(rune('a'+i))+".go", []byte("package p\n\n"+text+"\n"))
			if err != nil {
				t.Fatal(name, err)
			}
		}
		if got := p.uses()[0][1]; got != test.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

func TestChanged(t *testing.T) {
	got := changed([]string{"commit", "a.go", "b.go", "commit", "a.go"})
	if !slices.Equal(got, []int{2, 1}) {
		t.Error(got)
	}
}
