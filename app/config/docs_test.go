package config

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"mandate/provider/policy"
	"mandate/testkit"
)

// subjects are the headings of docs/configuration.md, in the order in which an operator needs them.
var subjects = []struct{ heading, about string }{
	{"Address", "Where people and applications reach the server, and its certificate."},
	{"Database and key", "Where the server keeps its data, and the key that encrypts the secrets in it."},
	{"People and sign-in", "How people get an account and sign in, and how long they stay signed in."},
	{"Mail", "The server that sends the mail of Mandate. [Mail to people](people.md) describes the messages."},
	{"Brand", "How the pages and the mail look. [Make it yours](make-it-yours.md) shows the result."},
	{"Scopes and resources", "What applications can ask for, and the APIs that tokens are for."},
	{"Lifetimes", "How long codes and tokens work, and when a refresh token is replaced."},
	{"Authorization requests", "Which requests for an authorization the server accepts, and when it asks the person."},
	{"Redirect URIs", "Which redirect URIs applications may register."},
	{"Devices", "The grant for devices without a browser (RFC 8628)."},
	{"Proofs of possession", "How clients prove that they have the key of a token (RFC 9449)."},
	{"Limits of applications", "What applications may have for which a person or an administrator is responsible. " +
		"[Who is responsible](register-applications.md) says more."},
	{"Applications that nobody registered", "Which applications may come by themselves, and what they may have."},
	{"OpenID Connect", "Whether the server is an OpenID Provider."},
	{"Signing keys", "The keys that sign ID tokens and access tokens."},
	{"Logout", "Logout by applications (OIDC RP-Logout). All other logouts need no setting."},
	{"Requests", "What the server accepts from everybody, and where it sends people who are not signed in."},
	{"Client certificates", "Applications that authenticate with a certificate (RFC 8705)."},
	{"Outbound requests", "Which addresses the server calls."},
	{"Log and events", "The log of a node, and the event log that administrators read."},
	{"Health and metrics", "What operators see of a node."},
	{"Cleanup and caches", "How the server deletes what has expired, and how old its copies may be."},
	{"Start and stop", "How a node stops."},
	{"Sample API", "The sample API of this server, for tests of an application."},
	{"Protect an API", "The settings of `mandate resource-server`, which [protects an API](protect-an-api.md). " +
		"Those that begin with `RESOURCE_SERVER` apply to the sample API too."},
}

// mostCell is the largest number of characters in the meaning of a setting. What is longer follows the table.
const mostCell = 160

// TestConfigDocs compares the tables of settings in docs/configuration.md with the comments and tags of the settings.
func TestConfigDocs(t *testing.T) {
	testkit.DocsBlock(t, "configuration.md", "config", configTables(t))
}

// Every setting has a comment that says what it means, and is declared once.
func TestConfigComments(t *testing.T) {
	tables := configTables(t)
	seen := map[string]bool{}
	for _, f := range allFields(&Config{}) {
		if seen[f.key] || !strings.Contains(tables, "\n| `"+f.key+"` | ") {
			t.Errorf("%s is declared twice, or in no table", f.key)
		}
		seen[f.key] = true
	}
	for line := range strings.Lines(tables) {
		if strings.HasPrefix(line, "|") && strings.Count(line, "|") != 5 {
			t.Errorf("not four columns: %s", line)
		}
	}
}

func configTables(t *testing.T) string {
	t.Helper()
	var out strings.Builder
	fields := allFields(&Config{})
	comments := comments{}
	for _, subject := range subjects {
		fmt.Fprintf(&out, "\n### %s\n\n%s\n", subject.heading, subject.about)
		of := slices.DeleteFunc(slices.Clone(fields), func(f field) bool { return f.subject != subject.heading })
		if len(of) == 0 {
			t.Errorf("no setting is about %s", subject.heading)
		}
		isOuter := func(f field) bool { return f.name == f.key }
		outer := slices.DeleteFunc(slices.Clone(of), func(f field) bool { return !isOuter(f) })
		writeSettings(t, &out, comments, "", outer)
		writeSettings(t, &out, comments, "Inside `OAUTH2_PROVIDER`:", slices.DeleteFunc(of, isOuter))
		fields = slices.DeleteFunc(fields, func(f field) bool { return f.subject == subject.heading })
	}
	for _, f := range fields {
		t.Errorf("the tag subject of %s is not one of the headings: %q", f.key, f.subject)
	}
	out.WriteString("\n")
	return out.String()
}

// writeSettings writes one table, the details of its settings, and the tables of the items of those that are lists.
func writeSettings(t *testing.T, out *strings.Builder, meanings comments, title string, fields []field) {
	t.Helper()
	if len(fields) == 0 {
		return
	}
	if title != "" {
		out.WriteString("\n" + title + "\n")
	}
	out.WriteString("\n| Key | Value | Default | Meaning |\n|---|---|---|---|\n")
	details := ""
	for _, f := range fields {
		paragraphs := meanings.of(t, f)
		meaning := strings.ReplaceAll(paragraphs[0], "|", "\\|")
		if n := utf8.RuneCountInString(meaning); n == 0 || n > mostCell {
			t.Errorf("the first paragraph about %s has %d characters, want 1 to %d", f.name, n, mostCell)
		}
		shown := ""
		if f.tag.Get("default") != "" {
			shown = "`" + f.tag.Get("default") + "`"
		}
		fmt.Fprintf(out, "| `%s` | %s | %s | %s |\n", f.key, valueKind(f), shown, meaning)
		if len(paragraphs) > 1 {
			details += "\n`" + f.key + "`: " + strings.Join(paragraphs[1:], "\n\n") + "\n"
		}
	}
	out.WriteString(details)
	for _, f := range fields {
		if f.value.Kind() == reflect.Slice && f.value.Type().Elem().Kind() == reflect.Struct {
			items := fieldsOf(reflect.New(f.value.Type().Elem()).Elem(), "")
			if len(items) > 0 {
				writeSettings(t, out, meanings, "In an item of `"+f.key+"`:", items)
			}
		}
	}
}

func valueKind(f field) string {
	bounds := fmt.Sprintf(", %s to %s", f.tag.Get("min"), f.tag.Get("max"))
	kind := ""
	switch f.value.Interface().(type) {
	case bool:
		kind = "true or false"
	case time.Duration, int, int64, uint32:
		kind = cmp.Or(f.unitName(), "number") + bounds
	case []policy.Scope, Pairs:
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

// comments are the comments of the structs that were needed: struct to field to paragraphs.
type comments map[reflect.Type]map[string][]string

// of returns what the comment of a setting says, without the name of the field, since the key stands beside it.
func (c comments) of(t *testing.T, f field) []string {
	t.Helper()
	if c[f.owner] == nil {
		c[f.owner] = read(t, f.owner)
	}
	paragraphs := c[f.owner][f.goName]
	if len(paragraphs) == 0 {
		t.Errorf("%s has no comment", f.name)
		return []string{""}
	}
	return paragraphs
}

// read reads the comments of a struct in the source of its package.
func read(t *testing.T, of reflect.Type) map[string][]string {
	t.Helper()
	dir := filepath.Join("..", "..", strings.TrimPrefix(of.PkgPath(), "mandate/"))
	found := map[string][]string{}
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if !strings.HasSuffix(file.Name(), ".go") || strings.HasSuffix(file.Name(), "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), filepath.Join(dir, file.Name()), nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(parsed, func(node ast.Node) bool {
			spec, is := node.(*ast.TypeSpec)
			if !is || spec.Name.Name != of.Name() {
				return true
			}
			for _, f := range spec.Type.(*ast.StructType).Fields.List {
				for _, name := range f.Names {
					found[name.Name] = meaning(name.Name, f.Doc.Text())
				}
			}
			return false
		})
	}
	return found
}

// meaning returns the paragraphs of a comment without the name of the field.
func meaning(name, comment string) []string {
	var paragraphs []string
	for text := range strings.SplitSeq(strings.TrimSpace(comment), "\n\n") {
		paragraphs = append(paragraphs, strings.Join(strings.Fields(text), " "))
	}
	text := strings.TrimPrefix(paragraphs[0], name+" ")
	for _, verb := range []string{"is ", "are "} {
		text = strings.TrimPrefix(text, verb)
	}
	if first, size := utf8.DecodeRuneInString(text); size > 0 {
		paragraphs[0] = string(unicode.ToUpper(first)) + text[size:]
	}
	return paragraphs
}
