package config

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode"

	"mandate/testkit"
)

// TestConfigDocs compares the tables of settings in docs/configuration.md with the comments and tags of Config.
func TestConfigDocs(t *testing.T) {
	testkit.DocsBlock(t, "configuration.md", "config", configTables(t))
}

// Every setting has a comment that says what it means, in one paragraph.
func TestConfigComments(t *testing.T) {
	tables := configTables(t)
	for _, f := range allFields(&Config{}) {
		if !strings.Contains(tables, "| `"+f.key+"` | ") {
			t.Errorf("%s is in no table", f.key)
		}
	}
	for line := range strings.Lines(tables) {
		if strings.HasPrefix(line, "|") && strings.Count(line, "|") != 5 {
			t.Errorf("not four columns: %s", line)
		}
	}
}

func configTables(t *testing.T) string {
	t.Helper()
	meanings := configComments(t)
	c := &Config{}
	var out strings.Builder
	out.WriteString("\nAt the top level:\n\n")
	writeSettings(t, &out, meanings["Config"], fieldsOf(reflect.ValueOf(c).Elem(), ""), reflect.TypeFor[Config]())
	out.WriteString("\nInside `OAUTH2_PROVIDER`:\n\n")
	writeSettings(
		t, &out, meanings["Provider"], fieldsOf(reflect.ValueOf(&c.Provider).Elem(), providerBlock),
		reflect.TypeFor[Provider](),
	)
	out.WriteString("\nIn an item of `RESOURCES`:\n\n")
	writeSettings(
		t, &out, meanings["Resource"], fieldsOf(reflect.ValueOf(&Resource{}).Elem(), ""), reflect.TypeFor[Resource](),
	)
	out.WriteString("\nIn an item of `SOFTWARE_STATEMENT_ISSUERS`:\n\n")
	writeSettings(
		t, &out, meanings["StatementIssuer"], fieldsOf(reflect.ValueOf(&StatementIssuer{}).Elem(), ""),
		reflect.TypeFor[StatementIssuer](),
	)
	out.WriteString("\nIn an item of `SIGN_IN_SERVERS`:\n\n")
	writeSettings(
		t, &out, meanings["SignInServer"], fieldsOf(reflect.ValueOf(&SignInServer{}).Elem(), ""),
		reflect.TypeFor[SignInServer](),
	)
	out.WriteString("\nIn an item of `RULES`:\n\n")
	writeSettings(t, &out, meanings["Rule"], fieldsOf(reflect.ValueOf(&Rule{}).Elem(), ""), reflect.TypeFor[Rule]())
	out.WriteString("\n")
	return out.String()
}

func writeSettings(t *testing.T, out *strings.Builder, meanings map[string]string, fields []field, of reflect.Type) {
	t.Helper()
	out.WriteString("| Key | Value | Default | Meaning |\n|---|---|---|---|\n")
	names := map[string]string{}
	for i := range of.NumField() {
		names[of.Field(i).Tag.Get("key")] = of.Field(i).Name
	}
	for _, f := range fields {
		meaning := meanings[names[f.key]]
		if meaning == "" {
			t.Errorf("%s has no comment", f.name)
		}
		if f.value.Kind() == reflect.Struct {
			continue // has a table of its own
		}
		shown := ""
		if f.tag.Get("default") != "" {
			shown = "`" + f.tag.Get("default") + "`"
		}
		fmt.Fprintf(out, "| `%s` | %s | %s | %s |\n", f.key, valueKind(f), shown, meaning)
	}
}

func valueKind(f field) string {
	bounds := fmt.Sprintf(", %s to %s", f.tag.Get("min"), f.tag.Get("max"))
	kind := ""
	switch f.value.Interface().(type) {
	case bool:
		kind = "true or false"
	case time.Duration:
		kind = "seconds" + bounds
	case int, int64:
		kind = "number" + bounds
	case Scopes, Pairs:
		kind = "mapping"
	case string:
		kind = "text"
	default:
		kind = "list"
	}
	if words := strings.Fields(f.tag.Get("oneof")); len(words) > 0 {
		kind = "`" + strings.Join(words, "`, `") + "`"
	}
	if f.secret() {
		kind += "; secret, also as `" + f.key + fileSuffix + "`"
	}
	return kind
}

// configComments reads the comments of config.go: struct to field to meaning.
func configComments(t *testing.T) map[string]map[string]string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "config.go", nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	meanings := map[string]map[string]string{}
	ast.Inspect(file, func(node ast.Node) bool {
		spec, ok := node.(*ast.TypeSpec)
		if !ok {
			return true
		}
		structure, ok := spec.Type.(*ast.StructType)
		if !ok {
			return false
		}
		meanings[spec.Name.Name] = map[string]string{}
		for _, f := range structure.Fields.List {
			for _, name := range f.Names {
				meanings[spec.Name.Name][name.Name] = meaning(name.Name, f.Doc.Text())
			}
		}
		return false
	})
	return meanings
}

// meaning drops the name of the field from a comment, since the key stands beside it.
func meaning(name, comment string) string {
	text := strings.Join(strings.Fields(comment), " ")
	text = strings.TrimPrefix(text, name+" ")
	for _, verb := range []string{"is ", "are "} {
		text = strings.TrimPrefix(text, verb)
	}
	for i, first := range text {
		if i == 0 {
			text = string(unicode.ToUpper(first)) + text[len(string(first)):]
		}
	}
	return strings.ReplaceAll(text, "|", "\\|")
}
