package rules

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// tokens are the steps of package check that get tokens, or block the check; codes get at least a code.
var (
	tokens = []string{"Granted", "WantGranted", "Grant", "GrantRefresh", "GrantOffline", "GrantFor", "GrantIn", "Visit",
		"VisitIn", "SignIn", "Machine"}
	codes = append([]string{"Code", "CodeOf", "wantCode", "wantTaken", "Approved", "begins", "Questioned",
		"SignedResponse", "bearsDecision"}, tokens...)
)

// controls are, for each way to see that something is refused or has no effect, the steps that show that the same works
// without the mistake.
var controls = []struct{ refusals, controls []string }{
	{[]string{"WantNoCode", "WantWithheld", "WantRedirectError", "wantNoRedirect"}, codes},
	{[]string{"WantRefused"}, tokens},
	// A certain error of a client that the server knows.
	{[]string{"WantError"}, append([]string{"clientTaken", "revokerKnown", "Introspect", "Device"}, tokens...)},
	{[]string{"wantNoEffect", "WantNotSent", "WantSignedIn"},
		[]string{"SignOut", "SignedOut", "wantSignedOut", "sentBack"}},
	{[]string{"wantKept"}, []string{"accepted"}},
	{[]string{"wantNoCodes"}, []string{"Device", "DeviceOf"}},
	{[]string{"wantNotPushed"}, []string{"Pushed", "pushTaken"}},
	{[]string{"wantNotRegistered", "refusedRegistration"}, []string{"WithClient"}},
}

// refusalText matches the text of a rule about what is refused, or has no effect.
var refusalText = regexp.MustCompile(
	`\b(refused?s?|ignore[ds]?|accepts? no|not accept|not accepted|gets? no|useless|rejects?|no effect|invalid|inactive)\b`)

func anyControl() []string {
	all := codes
	for _, c := range controls {
		all = append(all, c.controls...)
	}
	return all
}

// aCheck is the text of a rule, and what its check mentions.
type aCheck struct {
	text     string
	mentions map[string]bool
}

// uncontrolled are the rules without such a step, each with the reason.
var uncontrolled = map[string]string{
	"RFC6750/3/challenge":               formOfRefusal,
	"RFC6750/3/error-told":              formOfRefusal,
	"RFC6750/3.1/invalid-token-401":     formOfRefusal,
	"OIDCCore/3.1.3.4/error":            formOfRefusal,
	"OIDCCore/3.1.3.4/json":             formOfRefusal,
	"OIDCCore/3.1.3.4/status-400":       formOfRefusal,
	"OIDCCore/5.3.3/invalid-token":      formOfRefusal,
	"OIDCCore/5.3.3/no-token":           formOfRefusal,
	"RFC10017/6.3.3.4/challenge":        formOfRefusal,
	"RFC9700/2.4/a31-no-password-grant": "the grant should not exist, so that nothing can show that it works",
}

const formOfRefusal = "the rule is about the form of a refusal, which it has also where everything is refused"

// A check that concludes something from a refusal would pass on a server on which nothing works: TestControls finds the
// checks in which no step shows that the same request works without the mistake.
func TestControls(t *testing.T) {
	calls := callsOf(t, ".")
	found := map[string]bool{}
	for id, check := range checksIn(t, ".") {
		all := reached(calls, check)
		if refusalText.MatchString(check.text) && within(all, anyControl()) == "" {
			found[id] = true
			if uncontrolled[id] == "" {
				t.Errorf("%s: %q, and no step shows that the same works without the mistake", id, check.text)
			}
		}
		for _, c := range controls {
			refuses, has := within(all, c.refusals), within(all, c.controls)
			if refuses == "" || has != "" {
				continue
			}
			found[id] = true
			if uncontrolled[id] == "" {
				t.Errorf("%s passes if %s finds a refusal, and no step shows that the same works without the mistake (%s)",
					id, refuses, strings.Join(c.controls, " or "))
			}
		}
	}
	for id := range uncontrolled {
		if !found[id] {
			t.Errorf("%s has a control: it is no exception", id)
		}
	}
}

// within returns the first of the names that is called, or "".
func within(called map[string]bool, names []string) string {
	for _, name := range names {
		if called[name] {
			return name
		}
	}
	return ""
}

// reached returns all that a check calls, directly or by a function of the package.
func reached(calls map[string]map[string]bool, first aCheck) map[string]bool {
	all, next := map[string]bool{}, slices.Collect(maps.Keys(first.mentions))
	for len(next) > 0 {
		name := next[0]
		next = next[1:]
		if all[name] {
			continue
		}
		all[name] = true
		next = slices.AppendSeq(next, maps.Keys(calls[name]))
	}
	return all
}

// parsed returns the files of a folder, without tests.
func parsed(t *testing.T, folder string) []*ast.File {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil || len(names) == 0 {
		t.Fatal(err, "no files")
	}
	var files []*ast.File
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	return files
}

// callsOf returns what each function and method of a folder mentions.
func callsOf(t *testing.T, folder string) map[string]map[string]bool {
	calls := map[string]map[string]bool{}
	for _, file := range parsed(t, folder) {
		for _, d := range file.Decls {
			if f, is := d.(*ast.FuncDecl); is && f.Body != nil {
				if calls[f.Name.Name] == nil {
					calls[f.Name.Name] = map[string]bool{}
				}
				maps.Copy(calls[f.Name.Name], mentioned(f.Body))
			}
		}
	}
	return calls
}

func mentioned(n ast.Node) map[string]bool {
	names := map[string]bool{}
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr: // need.Code is a client, and t.Code gets a code
			of, is := n.X.(*ast.Ident)
			return !is || of.Name != "need"
		case *ast.Ident:
			names[n.Name] = true
		}
		return true
	})
	return names
}

// checksIn returns what the check of each rule of a folder mentions.
func checksIn(t *testing.T, folder string) map[string]aCheck {
	texts, all := map[string]string{}, map[string]aCheck{}
	for _, r := range All() {
		texts[r.ID] = r.Text
	}
	for _, file := range parsed(t, folder) {
		ast.Inspect(file, func(n ast.Node) bool {
			list, is := n.(*ast.CompositeLit)
			if !is {
				return true
			}
			kind, is := list.Type.(*ast.Ident)
			if !is || kind.Name != "checks" {
				return true
			}
			for _, e := range list.Elts {
				row := e.(*ast.KeyValueExpr)
				id, err := strconv.Unquote(row.Key.(*ast.BasicLit).Value)
				if err != nil {
					t.Error(err)
				}
				all[id] = aCheck{texts[id], mentioned(row.Value)}
			}
			return false
		})
	}
	if len(all) < 900 {
		t.Fatalf("only %d checks were found", len(all))
	}
	return all
}
