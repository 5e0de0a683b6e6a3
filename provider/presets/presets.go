// Package presets knows programs that sign people in with OpenID Connect: what each of them needs at this server,
// and what has to be written into its own settings. It decides nothing: the values are those of a registration, which
// is checked like any other.
package presets

import (
	"cmp"
	"slices"
	"strings"
)

// Format is the syntax of the settings of a program.
type Format string

// The formats.
const (
	Apache     Format = "apache"
	Env        Format = "env" // assignments, which a shell, Docker Compose and systemd read alike
	Go         Format = "go"
	INI        Format = "ini"
	JavaScript Format = "javascript"
	JSON       Format = "json"
	List       Format = "list" // a label and a value on each line, for a page of the program
	Properties Format = "properties"
	Python     Format = "python"
	Ruby       Format = "ruby"
	Shell      Format = "shell" // commands
	TOML       Format = "toml"
	YAML       Format = "yaml"
)

// How a row was verified.
const (
	Text = "text" // a person signed in, with exactly this text of the settings
	Run  = "run"  // a person signed in with this version; its settings were written by hand
	Read = "read" // from the documentation of the program, or from a guide that names this version
)

// Verified says how the facts of a row are known. Version may be empty: the documentation names none. What is about no
// program has nothing to verify.
type Verified struct{ How, Version, Date string }

// String is the text for people. It promises no more than what was done.
func (v Verified) String() string {
	if v.How == "" {
		return ""
	}
	text := map[string]string{Text: "tested", Run: "tested by hand", Read: "read in its documentation"}[v.How]
	if v.Version != "" {
		text += ", version " + v.Version
	}
	return text + ", " + v.Date
}

// The values of PKCE and Claims.
const (
	PKCERequired = "required" // it sends a code challenge with these settings
	PKCEIfSent   = "if-sent"  // it sends none, or not in all versions
	ClaimsOn     = "on"       // it reads the ID token only
	ClaimsOff    = "off"      // it reads UserInfo
)

// Program is a row of the table. A URI of it is a path below the address of the program, or complete. The name of
// its settings in the folder settings is Name.
type Program struct {
	Name, Title string
	Also        []string // other words by which people look for it
	Kind        string   // Application, Framework or Other
	Redirects   []string // none: the person has to say them
	PostLogout  []string
	BackChannel string
	Public      bool
	Grant       string // empty: authorization_code
	PKCE        string // empty: the server decides
	Claims      string // in the ID token; empty: the server decides
	AuthMethod  string // empty: it sends its secret in any way
	Rotation    string // of refresh tokens: on, off; empty: as the server is set
	Scopes      []string
	Since       string // the first version with these settings, if it matters
	File        string // where its settings belong
	Format      Format
	Address     string   // what its address is, if that is not obvious, with an example
	Part        Part     // of its address, which people leave out
	Notes       []string // what the person has to know
	Verified    Verified
}

// Part is a part of an address.
type Part string

// The parts that an address needs.
const (
	Realm Part = "realm" // it ends in /realms/ and a name
	Port  Part = "port"
)

// The kinds of programs.
const (
	Application = "application"
	Framework   = "framework"
	Other       = "other"
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
