package languages

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"text/template/parse"
)

// use is a place at which a text of the catalogue is used.
type use struct {
	at, text, one string   // one is the singular, if the place gives a number
	values        []string // the names of the values that a template gives
	format        bool     // a format of fmt
}

const root = "../.."

// uses returns all places, in templates and in Go.
func uses(t *testing.T) []use {
	t.Helper()
	var found []use
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		name := entry.Name()
		switch {
		case err != nil:
			return err
		case entry.IsDir() &&
			(name[0] == '.' && path != root || slices.Contains([]string{"testdata", "node_modules", "conformance", "snippets"},
				name)):
			return filepath.SkipDir
		case strings.HasPrefix(path, root+"/templates/") &&
			(strings.HasSuffix(name, ".html") || strings.HasSuffix(name, ".txt") && name != "catalogue.txt"):
			found = append(found, inTemplate(t, path)...)
		case strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go"):
			found = append(found, inGo(t, path)...)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func inTemplate(t *testing.T, path string) []use {
	t.Helper()
	body, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	trees := map[string]*parse.Tree{}
	tree := parse.New(path)
	tree.Mode = parse.SkipFuncCheck
	_, err = tree.Parse(string(body), "", "", trees)
	if err != nil {
		t.Fatal(err)
	}
	var found []use
	for _, part := range trees {
		walk(part.Root, func(c *parse.CommandNode) {
			name, ok := c.Args[0].(*parse.IdentifierNode)
			if !ok || !slices.Contains([]string{"t", "n", "f"}, name.Ident) {
				return
			}
			u := use{at: path}
			var texts []string
			for i, arg := range c.Args[1:] {
				text, literal := arg.(*parse.StringNode)
				switch {
				case i == 0 || i == 1 && name.Ident == "n":
					if !literal {
						t.Errorf("%s: %s: the text is not a literal", path, c)
						return
					}
					texts = append(texts, text.Text)
				case name.Ident == "t" && i%2 == 1, name.Ident == "n" && i > 2 && i%2 == 1:
					if !literal {
						t.Errorf("%s: %s: the name of a value is not a literal", path, c)
						return
					}
					u.values = append(u.values, text.Text)
				}
			}
			u.text = texts[len(texts)-1]
			if name.Ident == "n" {
				u.one = texts[0]
				u.values = append(u.values, "n")
			}
			found = append(found, u)
		})
	}
	return found
}

// walk visits every command of a template.
func walk(n parse.Node, visit func(*parse.CommandNode)) {
	pipe := func(p *parse.PipeNode) {
		if p != nil {
			walk(p, visit)
		}
	}
	branch := func(b *parse.BranchNode) {
		pipe(b.Pipe)
		walk(b.List, visit)
		if b.ElseList != nil {
			walk(b.ElseList, visit)
		}
	}
	switch n := n.(type) {
	case *parse.ListNode:
		for _, one := range n.Nodes {
			walk(one, visit)
		}
	case *parse.ActionNode:
		pipe(n.Pipe)
	case *parse.IfNode:
		branch(&n.BranchNode)
	case *parse.RangeNode:
		branch(&n.BranchNode)
	case *parse.WithNode:
		branch(&n.BranchNode)
	case *parse.TemplateNode:
		pipe(n.Pipe)
	case *parse.PipeNode:
		for _, c := range n.Cmds {
			walk(c, visit)
		}
	case *parse.CommandNode:
		visit(n)
		for _, arg := range n.Args {
			walk(arg, visit)
		}
	}
}

// forPeople are the places whose errors people read on pages. The other packages write for the developers
// of applications, in English.
var forPeople = []string{"provider/people/", "provider/limits/", "provider/device/decision.go",
	"provider/oauth/error.go"}

// returning lists functions that return texts for people, by file.
var returning = map[string][]string{
	"provider/policy/standing.go":     {"WhySuspended"}, // on the account page of a person who has allowed the application
	"provider/people/address_form.go": {"wrongAddress"},
	"provider/policy/built_in.go":     {"describeBuiltIn"},
	"provider/presets/fill.go":        {"wrongAddress", "wrongPart"},
}

// explained is the table of the error codes. A page shows each of its sentences.
const explained = "provider/errorcode/table.go"

// elsewhere are texts of these places that no page shows: they are for the command line, or for clients.
var elsewhere = []string{
	"This person signs in with a second factor: use the authorization code grant.",
	"Use at most 255 ASCII characters without spaces for the subject, and neither new nor dots alone.",
	"An application has this client id already.",
	"A person with that subject already exists.",
	"The action %q is not supported: use delete or take-over.",
}

// textArguments says which argument of a function is a text, by the name of the function.
func textArguments(path string) map[string]int {
	functions := map[string]int{"T": 0, "ForPerson": 3}
	for _, prefix := range forPeople {
		if strings.HasPrefix(path, prefix) {
			functions["Add"], functions["Refuse"], functions["Later"], functions["refuse"], functions["wrongCode"] = 1, 1, 2, 1,
				0
		}
	}
	return functions
}

func inGo(t *testing.T, path string) []use {
	t.Helper()
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, path, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	short, err := filepath.Rel(root, path)
	if err != nil {
		t.Fatal(err)
	}
	functions := textArguments(filepath.ToSlash(short))
	var found []use
	add := func(n ast.Node, of string, text string) {
		found = append(found, use{at: set.Position(n.Pos()).String(), text: text, format: true})
	}
	if filepath.ToSlash(short) == explained {
		ast.Inspect(file, func(n ast.Node) bool {
			switch e := n.(type) {
			case *ast.BasicLit, *ast.BinaryExpr:
				text, ok := literal(t, path, e.(ast.Expr))
				if ok && strings.HasSuffix(text, ".") {
					add(e, "", text)
					return false // its parts are no texts
				}
			}
			return true
		})
	}
	ast.Inspect(file, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		name := ""
		switch f := call.Fun.(type) {
		case *ast.Ident:
			name = f.Name
		case *ast.SelectorExpr:
			name = f.Sel.Name
		}
		at, ok := functions[name]
		if !ok || at >= len(call.Args) {
			return true
		}
		text, ok := literal(t, path, call.Args[at])
		if slices.Contains(elsewhere, text) {
			return true
		}
		switch {
		case ok && text != "" && text != "%s":
			add(call, name, text)
		case !ok && (name == "T" || name == "ForPerson") && !passedOn(call.Args[at]):
			t.Errorf("%s: the text is not a literal", set.Position(call.Pos()))
		}
		return true
	})
	for _, d := range file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || !slices.Contains(returning[filepath.ToSlash(short)], f.Name.Name) {
			continue
		}
		ast.Inspect(f, func(n ast.Node) bool {
			returned, ok := n.(*ast.ReturnStmt)
			if ok {
				text, ok := literal(t, path, returned.Results[0])
				if !ok {
					t.Errorf("%s: the text is not a literal", set.Position(n.Pos()))
				}
				if text != "" {
					add(n, f.Name.Name, text)
				}
			}
			return true
		})
	}
	return found
}

// passedOn reports whether a text is the parameter of a function that only passes it on.
func passedOn(e ast.Expr) bool {
	name, ok := e.(*ast.Ident)
	return ok && name.Name == "format"
}

// literal returns the value of a literal, or of a constant of the same package.
func literal(t *testing.T, path string, e ast.Expr) (string, bool) {
	t.Helper()
	switch e := e.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(e.Value)
		return text, e.Kind == token.STRING && err == nil
	case *ast.BinaryExpr: // a text of several lines
		first, ok := literal(t, path, e.X)
		rest, all := literal(t, path, e.Y)
		return first + rest, ok && all && e.Op == token.ADD
	case *ast.Ident:
		files, err := filepath.Glob(filepath.Join(filepath.Dir(path), "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			o := parsed.Scope.Lookup(e.Name)
			if o == nil || o.Kind != ast.Con {
				continue
			}
			spec := o.Decl.(*ast.ValueSpec)
			for i, name := range spec.Names {
				if name.Name == e.Name && i < len(spec.Values) {
					return literal(t, path, spec.Values[i])
				}
			}
		}
	}
	return "", false
}
