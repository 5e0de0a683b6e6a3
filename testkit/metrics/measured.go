package main

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
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
	places          *token.FileSet
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
	file, err := parser.ParseFile(p.places, name, text, 0)
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

// uses says for each file the files that declare what it uses: functions, methods, types, variables and constants of
// the package. Other packages are not read, so what has a type of theirs has none here.
func (p *measured) uses() []map[int]bool {
	info := types.Info{Uses: map[*ast.Ident]types.Object{}}
	partly := types.Config{Importer: nothing{}, Error: func(error) {}}
	pkg, _ := partly.Check("", p.places, p.files, &info)
	at := map[*token.File]int{}
	for i, f := range p.files {
		at[p.places.File(f.FileStart)] = i
	}
	found := make([]map[int]bool, len(p.files))
	use := func(from int, what types.Object) {
		if to := at[p.places.File(what.Pos())]; to != from {
			found[from][to] = true
		}
	}
	for i, f := range p.files {
		found[i] = map[int]bool{}
		// The parser lists the names that no declaration of the file has. The types do not have all of them: what is
		// beside something of another package may be left out.
		for _, name := range f.Unresolved {
			if what := pkg.Scope().Lookup(name.Name); what != nil {
				use(i, what)
			}
		}
	}
	for name, what := range info.Uses {
		method, ok := what.(*types.Func)
		if ok && method.Signature().Recv() != nil && method.Pkg() == pkg {
			use(at[p.places.File(name.Pos())], method.Origin())
		}
	}
	return found
}

// nothing imports nothing.
type nothing struct{}

func (nothing) Import(string) (*types.Package, error) { return nil, errors.New("not read") }

// order gives each file its place, with few arrows upward. The first order is half of the heuristic of Eades, Lin and
// Smyth (1993): a file that none of the others uses comes next. If there is none, it is the file that uses most more
// files than use it. Then each file moves to the place where it has fewest arrows upward, until none can move.
func order(uses []map[int]bool) []int {
	left := map[int]bool{}
	for i := range uses {
		left[i] = true
	}
	var files []int
	for range uses {
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
		files = append(files, chosen)
		delete(left, chosen)
	}
	for moved := true; moved; {
		moved = false
		for _, file := range slices.Clone(files) {
			better := settle(uses, files, file)
			moved = moved || better
		}
	}
	place := make([]int, len(uses))
	for i, file := range files {
		place[file] = i
	}
	return place
}

// settle moves a file within the order to its best place. It reports whether another place was better.
func settle(uses []map[int]bool, files []int, file int) bool {
	now := slices.Index(files, file)
	others := slices.Delete(slices.Clone(files), now, now+1)
	upward := 0 // of the file at the first place
	for _, other := range others {
		upward += count(uses[other][file])
	}
	best, fewest, current := 0, upward, upward
	for i, other := range others {
		upward += count(uses[file][other]) - count(uses[other][file])
		if upward < fewest {
			best, fewest = i+1, upward
		}
		if i+1 == now {
			current = upward
		}
	}
	if fewest < current {
		copy(files, slices.Insert(others, best, file))
	}
	return fewest < current
}

func count(yes bool) int {
	if yes {
		return 1
	}
	return 0
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
