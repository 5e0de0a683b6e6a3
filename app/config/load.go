package config

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

const (
	defaultConfigFile = "mandate.yaml"
	maxConfigBytes    = 1 << 20
	envPrefix         = "MANDATE_"
	fileSuffix        = "_FILE"
)

// source is the place where a value was set. The zero source means the default.
type source struct {
	file  string // the YAML file
	line  int    // the line in it
	env   string // or the environment variable
	value string // the file that contains the value, if <KEY>_FILE is set
}

func (s source) String() string {
	if s.env != "" {
		return s.env
	}
	if s.line > 0 {
		return fmt.Sprintf("%s:%d", s.file, s.line)
	}
	return cmp.Or(s.file, "default")
}

// problem is one mistake in the configuration.
type problem struct {
	at   source
	key  string
	text string
}

func (p problem) String() string {
	parts := []string{p.key, p.text}
	if p.at.file != "" {
		parts = []string{p.at.String(), p.key, p.text}
	}
	if p.at.env != "" {
		parts[0] = p.at.env
		if strings.Contains(p.key, "[") { // an item of the list in the variable
			parts = []string{p.at.env, p.key, p.text}
		}
	}
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), ": ")
}

// Error lists every mistake, so that one start shows them all. It contains no value
// that may be secret.
type Error struct {
	problems []problem
}

func (e *Error) Error() string {
	lines := make([]string, len(e.problems))
	for i, p := range e.problems {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

// loader fills a Config in layers: defaults, file, environment.
type loader struct {
	c        *Config
	here     source            // the current layer; position adds the line of a file
	set      map[string]string // full name to the spelling (KEY or KEY_FILE) set in this layer
	bad      map[string]bool   // full names that have had a problem
	problems []problem
}

// Load reads the configuration from the file at path and from environ, which has
// the form of os.Environ. If path is empty, it reads the file that MANDATE_CONFIG
// names, or mandate.yaml if that file exists, or no file. The error is an *Error.
func Load(path string, environ []string) (*Config, error) {
	l := &loader{c: &Config{sources: map[string]source{}}, bad: map[string]bool{}}
	l.defaults()
	whole := l.file(path, environ)
	l.environment(environ)
	if whole { // half a configuration would cause misleading problems
		l.check()
	}
	if len(l.problems) == 0 {
		return l.c, nil
	}
	// Problems of the file come first, in its order, then those of the environment,
	// then the rest.
	slices.SortStableFunc(l.problems, func(a, b problem) int {
		return cmp.Or(cmp.Compare(a.at.rank(), b.at.rank()), cmp.Compare(a.at.line, b.at.line))
	})
	return nil, &Error{problems: l.problems}
}

func (s source) rank() int {
	switch {
	case s.file != "":
		return 0
	case s.env != "":
		return 1
	}
	return 2
}

func (l *loader) defaults() {
	for _, f := range allFields(l.c) {
		node, text := textNode(f.value.Type(), f.tag.Get("default"))
		if text != "" {
			l.report(source{}, f.name, text)
			continue
		}
		l.decode(node, f)
	}
	clear(l.c.sources)
}

// file applies the YAML file, and reports whether it could be read.
func (l *loader) file(path string, environ []string) bool {
	from := "--config"
	if path == "" {
		from, path = envPrefix+"CONFIG", Lookup(environ, envPrefix+"CONFIG")
	}
	data, err := ReadFile(cmp.Or(path, defaultConfigFile))
	if path == "" && errors.Is(err, fs.ErrNotExist) {
		return true
	}
	if path == "" {
		from, path = "", defaultConfigFile
	}
	l.begin(source{file: path})
	if err != nil {
		l.report(source{}, from, err.Error())
		return false
	}
	root, line, err := parseYAML(data)
	if err != nil {
		l.report(source{file: path, line: line}, "", err.Error())
		return false
	}
	if root != nil {
		l.mapping(root, "", fieldsOf(reflect.ValueOf(l.c).Elem(), ""))
	}
	return true
}

// Lookup is os.Getenv for a list of variables.
func Lookup(environ []string, name string) string {
	for _, entry := range environ {
		value, found := strings.CutPrefix(entry, name+"=")
		if found {
			return value
		}
	}
	return ""
}

// ReadFile reads a file of at most 1 MiB.
func ReadFile(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err // it names the path
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, maxConfigBytes+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxConfigBytes {
		return nil, fmt.Errorf("%s is larger than %d bytes", path, maxConfigBytes)
	}
	return data, nil
}

// environment applies the MANDATE_ variables. A variable that names no setting is
// an error: otherwise a typing mistake would remain unnoticed.
func (l *loader) environment(environ []string) {
	l.begin(source{})
	fields := map[string]field{}
	for _, f := range allFields(l.c) {
		fields[f.key] = f
	}
	for _, entry := range slices.Sorted(slices.Values(environ)) {
		name, value, _ := strings.Cut(entry, "=")
		key, ours := strings.CutPrefix(name, envPrefix)
		if !ours || notSetting(key, value) {
			continue
		}
		if !keyShape.MatchString(name) {
			name = strconv.Quote(name) // it may contain line breaks, which must not reach the log
		}
		l.here = source{env: name}
		if !utf8.ValidString(value) {
			l.report(l.here, shownName("", key), "is not UTF-8 text")
			continue
		}
		l.variable(key, value, fields)
	}
}

func (l *loader) variable(key, value string, fields map[string]field) {
	f, known := fields[key]
	if known {
		l.fromText(f, key, value, l.here)
		return
	}
	f, known = fields[strings.TrimSuffix(key, fileSuffix)]
	if known && f.secret() {
		l.fromFile(f, key, value, l.here)
		return
	}
	l.report(l.here, shownName("", key), unknownVariable(key, fields))
}

// fromText sets a field from the text of a variable or a file.
func (l *loader) fromText(f field, spelling, text string, at source) {
	if !l.claim(f, spelling, at) {
		return
	}
	node, wrong := textNode(f.value.Type(), text)
	if wrong != "" {
		l.report(at, f.name, wrong)
		return
	}
	outer := l.here
	l.here = at // the nodes of the text have no lines
	l.decode(node, f)
	l.here = outer
	l.c.sources[f.name] = at
}

// fromFile sets a secret from the file that <KEY>_FILE names: container platforms
// provide secrets as files. The final newline is not part of the secret.
func (l *loader) fromFile(f field, spelling, path string, at source) {
	text, err := fileText(path)
	if err != nil {
		l.report(at, f.name+fileSuffix, err.Error())
		l.bad[rootName(f.name)] = true
		return
	}
	at.value = path
	l.fromText(f, spelling, strings.TrimRight(text, "\r\n"), at)
}

// fileText returns the text of a file that a setting names.
func fileText(path string) (string, error) {
	if path == "" {
		return "", errors.New("names no file; set a path or remove it")
	}
	data, err := ReadFile(path)
	if err == nil && !utf8.Valid(data) {
		err = errors.New("the file does not contain UTF-8 text")
	}
	return string(data), err
}

// begin starts a layer, which may set again what an earlier layer set.
func (l *loader) begin(here source) {
	l.here = here
	l.set = map[string]string{}
}

// claim records that a layer sets a field, and refuses the second time.
func (l *loader) claim(f field, spelling string, at source) bool {
	before, again := l.set[f.name]
	l.set[f.name] = spelling
	if !again {
		return true
	}
	if before == spelling {
		l.report(at, f.name, fmt.Sprintf("is set twice, first at %s; keep one", l.c.sources[f.name]))
		return false
	}
	l.report(at, f.name, fmt.Sprintf("%s and %s are both set; keep one", f.key, f.key+fileSuffix))
	return false
}

func (l *loader) report(at source, key, text string) {
	at.value = ""
	l.bad[rootName(key)] = true
	l.problems = append(l.problems, problem{at: at, key: key, text: text})
}

// rootName is the setting to which an element such as "RULES[0].PATH" belongs.
func rootName(name string) string {
	root, _, _ := strings.Cut(name, "[")
	return root
}
