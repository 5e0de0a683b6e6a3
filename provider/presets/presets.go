// Package presets knows programs that sign people in with OpenID Connect: what each of them needs at this server,
// and what has to be written into its own settings. It decides nothing: the values are those of a registration, which
// is checked like any other.
package presets

import (
	"cmp"
	"slices"
	"strings"
)

// Programs lists all programs, in the order of their names within a kind.
func Programs() []Program {
	return slices.Concat(sorted(applications()), sorted(frameworks()), others())
}

func sorted(rows []Program) []Program {
	slices.SortFunc(rows, func(a, b Program) int { return cmp.Compare(a.Name, b.Name) })
	return rows
}

// Find returns the program with a name, or with another word for it.
func Find(name string) (Program, bool) {
	name = strings.ToLower(strings.TrimSpace(name))
	all := Programs()
	i := slices.IndexFunc(all, func(p Program) bool { return p.Name == name })
	if i < 0 {
		i = slices.IndexFunc(all, func(p Program) bool { return slices.Contains(p.Also, name) })
	}
	if i < 0 {
		return Program{}, false
	}
	return all[i], true
}

// Search returns the programs whose name or whose other words contain a text, or begin with a single letter. Without a
// text it returns all. If there is none, it returns those that the person could have meant.
func Search(text string) []Program {
	text = strings.ToLower(strings.TrimSpace(text))
	matches := strings.Contains
	if len(text) == 1 {
		matches = strings.HasPrefix
	}
	var found []Program
	for _, p := range Programs() {
		if slices.ContainsFunc(p.words(), func(word string) bool { return matches(word, text) }) {
			found = append(found, p)
		}
	}
	if len(found) > 0 {
		return found
	}
	for _, name := range Near(text) {
		p, _ := Find(name)
		found = append(found, p)
	}
	return found
}

// most is the number of near names.
const most = 6

// Near returns the names of programs that a person could have meant, the nearest first.
func Near(name string) []string {
	name = strings.ToLower(strings.TrimSpace(name))
	if name == "" {
		return nil
	}
	type candidate struct {
		name     string
		distance int
	}
	var found []candidate
	for _, p := range Programs() {
		nearest := len(name) + 1
		for _, word := range p.words() {
			nearest = min(nearest, distance(name, word))
		}
		if nearest <= min(len(name)/2, max(2, len(name)/3)) {
			found = append(found, candidate{p.Name, nearest})
		}
	}
	slices.SortStableFunc(found, func(a, b candidate) int { return cmp.Compare(a.distance, b.distance) })
	var names []string
	for _, c := range found[:min(len(found), most)] {
		names = append(names, c.name)
	}
	return names
}

// words are the texts by which people look for a program, in lower case.
func (p Program) words() []string {
	return append([]string{p.Name, strings.ToLower(p.Title)}, p.Also...)
}

// distance is 0 if one text contains the other, and the number of changed characters (Levenshtein) otherwise. The
// names that people type are short, and a long one is no name.
func distance(a, b string) int {
	if len(a) > 40 {
		return len(a)
	}
	if len(a) > 2 && strings.Contains(b, a) || len(b) > 2 && strings.Contains(a, b) {
		return 0
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before := row[0]
		row[0] = i + 1
		for j := range len(b) {
			kept := before
			if a[i] != b[j] {
				kept++
			}
			before, row[j+1] = row[j+1], min(kept, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
