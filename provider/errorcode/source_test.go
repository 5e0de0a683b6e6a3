package errorcode_test

import (
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mandate/provider/errorcode"
)

// refusal is a function that refuses: its arguments with the code and the text. The code is fixed if its argument is
// -1. A text that is passed on stands between before and after.
type refusal struct {
	codeAt, textAt int
	code           string
	before, after  string
}

// source is what the packages say that refuse.
type source struct {
	files    map[string][]*ast.File // by the name of the package
	refusals map[string]refusal     // by package and function
	said     map[string]bool
	codes    map[string]bool
}

// elsewhere are codes that handlers/resource sends, or a function that chooses its code by the mistake.
var elsewhere = []string{"insufficient_user_authentication", "invalid_redirect_uri"}

// TestDescriptionsDocs compares descriptions.txt with the source, so that mandate explain finds each text that the
// server sends.
func TestDescriptionsDocs(t *testing.T) {
	s := readSource(t)
	for code := range s.codes {
		if _, found := errorcode.Find(code); !found {
			t.Errorf("the source sends %s, which the table does not explain", code)
		}
	}
	for _, c := range errorcode.All() {
		if !s.codes[c.Name] && !slices.Contains(elsewhere, c.Name) {
			t.Errorf("nothing sends %s", c.Name)
		}
	}
	if len(s.said) < 200 {
		t.Fatalf("only %d descriptions were found: the test does not read the source as it is written", len(s.said))
	}
	want := strings.Join(slices.Sorted(maps.Keys(s.said)), "\n") + "\n"
	if flag.Lookup("update").Value.String() == "true" {
		if err := os.WriteFile("descriptions.txt", []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	written, err := os.ReadFile("descriptions.txt")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(written)); diff != "" {
		t.Errorf("descriptions.txt is not what the source says; run make docs:\n%s", diff)
	}
}

func readSource(t *testing.T) *source {
	t.Helper()
	s := &source{files: map[string][]*ast.File{}, said: map[string]bool{}, codes: map[string]bool{},
		refusals: map[string]refusal{
			"oauth.Refuse": {codeAt: 0, textAt: 1}, "oauth.ForPerson": {codeAt: 1, textAt: 3},
			"oauth.Later":        {codeAt: -1, textAt: 2, code: "temporarily_unavailable"},
			"oauth.InvalidToken": {codeAt: -1, code: "invalid_token"}, "oauth.NoToken": {codeAt: -1, code: "invalid_token"},
		}}
	for _, root := range []string{"..", "../../handlers"} {
		err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case entry.IsDir() && slices.Contains([]string{"resource", "testdata", "errorcode"}, entry.Name()):
				return filepath.SkipDir // handlers/resource is the API: it stands in other people's services
			case entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
				return nil
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
			if err == nil {
				s.files[file.Name.Name] = append(s.files[file.Name.Name], file)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for known := 0; known != len(s.refusals); { // a function may pass its text on to another one that does
		known = len(s.refusals)
		s.eachFunction(s.passesOn)
	}
	s.eachFunction(s.says)
	return s
}

func (s *source) eachFunction(visit func(pkg string, f *ast.FuncDecl)) {
	for pkg, files := range s.files {
		for _, file := range files {
			for _, d := range file.Decls {
				if f, ok := d.(*ast.FuncDecl); ok && f.Body != nil {
					visit(pkg, f)
				}
			}
		}
	}
}

// passesOn notes a function that refuses with a text that is its parameter.
func (s *source) passesOn(pkg string, f *ast.FuncDecl) {
	if _, known := s.refusals[pkg+"."+f.Name.Name]; known {
		return
	}
	parameters := names(f)
	s.eachRefusal(pkg, f, func(code, text ast.Expr, r refusal) {
		passed, at := r, slices.IndexFunc(parameters, func(name string) bool { return mentions(text, name) })
		if at < 0 || passed.code == "" && code == nil {
			return
		}
		if code != nil {
			passed.code = s.text(pkg, code, nil)
			passed.codeAt = -1
			if name, ok := code.(*ast.Ident); ok && slices.Contains(parameters, name.Name) {
				passed.codeAt, passed.code = slices.Index(parameters, name.Name), ""
			}
		}
		before, after, _ := strings.Cut(s.text(pkg, text, parameters[at:at+1]), "\x00")
		passed.textAt, passed.before, passed.after = at, r.before+before, after+r.after
		s.refusals[pkg+"."+f.Name.Name] = passed
	})
}

// says notes each text of a function.
func (s *source) says(pkg string, f *ast.FuncDecl) {
	s.eachRefusal(pkg, f, func(code, text ast.Expr, r refusal) {
		name := r.code
		if code != nil {
			name = s.text(pkg, code, nil)
		}
		if !regexp.MustCompile(`^[a-z_]+$`).MatchString(name) {
			return // what it passes on
		}
		s.codes[name] = true
		said := plain(r.before + s.text(pkg, text, nil) + r.after)
		if strings.Trim(said, "… .") != "" && !strings.HasPrefix(said, "…") {
			s.said[name+"\t"+said] = true
		}
	})
}

// eachRefusal visits the calls of refusals, and the errors that a function makes itself.
func (s *source) eachRefusal(pkg string, f *ast.FuncDecl, visit func(code, text ast.Expr, r refusal)) {
	ast.Inspect(f.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			r, known := s.refusals[called(pkg, n)]
			if !known || r.textAt >= len(n.Args) {
				return true
			}
			if r.codeAt >= 0 {
				visit(n.Args[r.codeAt], n.Args[r.textAt], r)
			} else {
				visit(nil, n.Args[r.textAt], r)
			}
		case *ast.CompositeLit:
			if code, text := errorOf(pkg, n); code != nil && text != nil {
				visit(code, text, refusal{})
			}
		}
		return true
	})
}

// errorOf returns the code and the text of a literal of oauth.Error or dpop.Error.
func errorOf(pkg string, n *ast.CompositeLit) (code, text ast.Expr) {
	name := ""
	switch of := n.Type.(type) {
	case *ast.Ident:
		name = of.Name
	case *ast.SelectorExpr:
		name = of.Sel.Name
	}
	if name != "Error" {
		return nil, nil
	}
	for i, e := range n.Elts {
		field, keyed := e.(*ast.KeyValueExpr)
		switch {
		case keyed && field.Key.(*ast.Ident).Name == "Code", !keyed && i == 0 && pkg == "dpop":
			code = e
		case keyed && field.Key.(*ast.Ident).Name == "Description", !keyed && i == 1 && pkg == "dpop":
			text = e
		}
	}
	return value(code), value(text)
}

func value(e ast.Expr) ast.Expr {
	if field, keyed := e.(*ast.KeyValueExpr); keyed {
		return field.Value
	}
	return e
}

func called(pkg string, call *ast.CallExpr) string {
	switch f := call.Fun.(type) {
	case *ast.Ident:
		return pkg + "." + f.Name
	case *ast.SelectorExpr:
		if of, ok := f.X.(*ast.Ident); ok && slices.Contains([]string{"oauth", "web"}, of.Name) {
			return of.Name + "." + f.Sel.Name
		}
		return pkg + "." + f.Sel.Name
	}
	return ""
}

func names(f *ast.FuncDecl) []string {
	var all []string
	for _, field := range f.Type.Params.List {
		for _, name := range field.Names {
			all = append(all, name.Name)
		}
	}
	return all
}

func mentions(e ast.Expr, name string) bool {
	found := false
	ast.Inspect(e, func(n ast.Node) bool {
		id, ok := n.(*ast.Ident)
		found = found || ok && id.Name == name
		return !found
	})
	return found
}

// text returns what an expression says. A value of the request is an ellipsis, and a name of open is a zero byte.
func (s *source) text(pkg string, e ast.Expr, open []string) string {
	switch e := e.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(e.Value)
		if err == nil {
			return text
		}
	case *ast.BinaryExpr:
		return s.text(pkg, e.X, open) + s.text(pkg, e.Y, open)
	case *ast.SelectorExpr:
		if of, ok := e.X.(*ast.Ident); ok && s.files[of.Name] != nil {
			return s.text(of.Name, e.Sel, open)
		}
	case *ast.CallExpr:
		if of, ok := e.Fun.(*ast.SelectorExpr); ok && of.Sel.Name == "Sprintf" {
			return s.text(pkg, e.Args[0], open)
		}
	case *ast.Ident:
		if slices.Contains(open, e.Name) {
			return "\x00"
		}
		for _, file := range s.files[pkg] {
			o := file.Scope.Lookup(e.Name)
			if o == nil || o.Kind != ast.Con {
				continue
			}
			spec := o.Decl.(*ast.ValueSpec)
			if i := slices.IndexFunc(spec.Names, func(n *ast.Ident) bool { return n.Name == e.Name }); i < len(spec.Values) {
				return s.text(pkg, spec.Values[i], open)
			}
		}
	}
	return "…"
}

var verb = regexp.MustCompile(`%[-+# 0-9.]*[a-zA-Z]`)

// plain is the text that a format says, as oauth.ASCII writes it.
func plain(format string) string {
	text := strings.ReplaceAll(verb.ReplaceAllString(format, "…"), "%%", "%")
	text = strings.NewReplacer(`"`, "'", `\`, "/", "\x00", "…", "\n", " ").Replace(text)
	return regexp.MustCompile(`…+`).ReplaceAllString(text, "…")
}
