package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// measured is a package. Its tests count for the length of lines only.
type measured struct {
	module          string         // its path, which whoever hosts it chooses: lines are measured without it
	long, longTests int            // lines of more than 120 characters; a tab is one
	identifiers     []int          // of each function
	methods         map[string]int // by the name of their type
	files           []*ast.File
}

const columns = 120

// structTag matches a line with the tag of a field, which cannot be broken.
var structTag = regexp.MustCompile("`[a-z]+:\".*`$")

func (p *measured) add(name string, text []byte) error {
	long := 0
	for line := range strings.Lines(string(text)) {
		line = strings.ReplaceAll(strings.TrimRight(line, "\r\n"), `"`+p.module+"/", `"/`)
		if utf8.RuneCountInString(line) > columns && !structTag.MatchString(line) {
			long++
		}
	}
	if strings.HasSuffix(name, "_test.go") {
		p.longTests += long
		return nil
	}
	p.long += long
	// Without SkipObjectResolution, the parser lists the names that no declaration in the same file has.
	file, err := parser.ParseFile(token.NewFileSet(), name, text, 0)
	if err != nil {
		return err
	}
	p.files = append(p.files, file)
	for _, d := range file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok {
			continue
		}
		if f.Body != nil {
			p.identifiers = append(p.identifiers, identifiers(f.Body))
		}
		if f.Recv != nil {
			if p.methods == nil {
				p.methods = map[string]int{}
			}
			p.methods[receiver(f.Recv.List[0].Type)]++
		}
	}
	return nil
}

func identifiers(n ast.Node) int {
	found := 0
	ast.Inspect(n, func(n ast.Node) bool {
		if _, ok := n.(*ast.Ident); ok {
			found++
		}
		return true
	})
	return found
}

func receiver(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiver(e.X)
	case *ast.IndexExpr:
		return receiver(e.X)
	case *ast.IndexListExpr:
		return receiver(e.X)
	case *ast.Ident:
		return e.Name
	}
	return ""
}

// largest is the type with the most methods.
func (p *measured) largest() (name string, methods int) {
	for _, of := range slices.Sorted(maps.Keys(p.methods)) {
		if p.methods[of] > methods {
			name, methods = of, p.methods[of]
		}
	}
	return name, methods
}

// arrows counts the pairs of files where the first one uses a name that the second one declares, and how many of these
// run upward. The files are in the order that leaves few upward: a file stands above those that it uses. Without
// circles no arrow runs upward.
func (p *measured) arrows() (up, all int) {
	uses := p.uses()
	place := order(uses)
	for from, to := range uses {
		for i := range to {
			all++
			if place[i] < place[from] {
				up++
			}
		}
	}
	return up, all
}

// uses says for each file the files that declare what it uses. A method is known by its name, if one file alone
// declares a method of that name: the types are not read.
func (p *measured) uses() []map[int]bool {
	declared, methods := map[string]int{}, map[string]int{}
	for i, f := range p.files {
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Recv == nil {
					declared[d.Name.Name] = i
					continue
				}
				in, known := methods[d.Name.Name]
				if known && in != i {
					methods[d.Name.Name] = ambiguous
				} else {
					methods[d.Name.Name] = i
				}
			case *ast.GenDecl:
				for _, name := range names(d) {
					declared[name] = i
				}
			}
		}
	}
	found := make([]map[int]bool, len(p.files))
	for i, f := range p.files {
		found[i] = map[int]bool{}
		use := func(in map[string]int, name string) {
			at, ok := in[name]
			if ok && at != ambiguous && at != i {
				found[i][at] = true
			}
		}
		for _, name := range f.Unresolved {
			use(declared, name.Name)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			s, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			of, plain := s.X.(*ast.Ident)
			if !plain || !isImport(f, of) {
				use(methods, s.Sel.Name)
			}
			return true
		})
	}
	return found
}

const ambiguous = -1

func names(d *ast.GenDecl) []string {
	var found []string
	for _, s := range d.Specs {
		switch s := s.(type) {
		case *ast.TypeSpec:
			found = append(found, s.Name.Name)
		case *ast.ValueSpec:
			for _, n := range s.Names {
				found = append(found, n.Name)
			}
		}
	}
	return found
}

// isImport reports whether a name is that of an imported package: the last element of its path, or the name that the
// import gives it.
func isImport(f *ast.File, name *ast.Ident) bool {
	return name.Obj == nil && slices.ContainsFunc(f.Imports, func(s *ast.ImportSpec) bool {
		if s.Name != nil {
			return s.Name.Name == name.Name
		}
		path := strings.Trim(s.Path.Value, `"`)
		return path[strings.LastIndex(path, "/")+1:] == name.Name
	})
}

// order gives each file its place, with few arrows upward. It is half of the heuristic of Eades, Lin and Smyth (1993):
// a file that none of the others uses comes next. If there is none, it is the file that uses most more files than use
// it.
func order(uses []map[int]bool) []int {
	left := map[int]bool{}
	for i := range uses {
		left[i] = true
	}
	place := make([]int, len(uses))
	for next := range uses {
		chosen, most := 0, -len(uses)-1
		for _, i := range slices.Sorted(maps.Keys(left)) {
			out, in := degrees(uses, left, i)
			if in == 0 {
				chosen = i
				break
			}
			if out-in > most {
				chosen, most = i, out-in
			}
		}
		place[chosen] = next
		delete(left, chosen)
	}
	return place
}

// degrees counts the files among those left that a file uses, and those that use it.
func degrees(uses []map[int]bool, left map[int]bool, file int) (out, in int) {
	for other := range left {
		if uses[file][other] {
			out++
		}
		if uses[other][file] {
			in++
		}
	}
	return out, in
}
