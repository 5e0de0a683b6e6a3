package command

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// createsDatabase are the commands that may create a database. The others would hide the one of the server.
var createsDatabase = []string{"mandate serve", "mandate demo", "mandate migrate"}

// withoutDatabase are the commands that use no database.
var withoutDatabase = []string{
	"mandate resource-server",
	"mandate conformance",
	"mandate config check",
	"mandate config print",
	"mandate version",
	"mandate explain",
	"mandate application programs",
}

var argument = regexp.MustCompile(`\b[A-Z][A-Z_]+\b`)

// A command in another folder, or with a mistake in its configuration, must not create a second database.
func TestOnlyThreeCommandsCreateADatabase(t *testing.T) {
	folder := t.TempDir()
	for command, text := range map[string]string{
		"user":       "username,email\nzoe,zoe@example.org\n",
		"invitation": "email\nzoe@example.org\n",
	} {
		err := os.WriteFile(filepath.Join(folder, command), []byte(text), 0o600)
		if err != nil {
			t.Fatal(err)
		}
	}
	more := map[string][]string{
		"mandate application add": {
			"--name",
			"x",
			"--grant",
			"client_credentials",
		}, "mandate resource add": {"--name", "x"}, "mandate site add": {"--host", "x"},
		"mandate site update": {"--host", "x"},
		"mandate user add": {
			"--password-stdin",
		}, "mandate user passwd": {"--password-stdin"}, "mandate keys rotate": {"--kind", "EC"},
		"mandate application update": {
			"--name",
			"x",
		}, "mandate resource update": {"--name", "x"}, "mandate user update": {"--first-name", "x"},
	}
	for _, c := range runnable((&program{}).root()) {
		name := c.CommandPath()
		if slices.Contains(createsDatabase, name) || slices.Contains(withoutDatabase, name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "other.db")
			args := append(strings.Fields(name)[1:], more[name]...)
			use, _, _ := strings.Cut(strings.TrimPrefix(c.Use, c.Name()), " --")
			for range argument.FindAllString(strings.ReplaceAll(use, "ID|EMAIL", "ID"), -1) {
				args = append(args, filepath.Join(folder, strings.Fields(name)[1]))
			}
			var out, log screen
			p := &program{Process: Process{
				Environ: []string{keyVariable, "MANDATE_DATABASE_URL=sqlite:///" + file},
				Stdin:   strings.NewReader("correct horse battery staple"),
				Stdout:  &out,
				Stderr:  &log,
			}}
			code := p.run(t.Context(), args)
			if code != exitError || !strings.Contains(log.String(), "there is no database at "+file) {
				t.Errorf("mandate %s: exit code %d:\n%s%s", strings.Join(args, " "), code, out.String(), log.String())
			}
			if made, _ := filepath.Glob(file + "*"); len(made) > 0 {
				t.Error("the command has created a database")
			}
		})
	}
}

// withoutJSON are the commands that print no record, and what they do instead.
var withoutJSON = map[string]string{
	"mandate serve":           "it runs until it is stopped",
	"mandate demo":            "it runs until it is stopped",
	"mandate resource-server": "it runs until it is stopped",
	"mandate conformance":     "its reports have formats of their own",
}

// Scripts read what a command lists, shows or changes.
func TestEveryCommandPrintsJSON(t *testing.T) {
	seen := 0
	for _, c := range runnable((&program{}).root()) {
		name := c.CommandPath()
		reason, left := withoutJSON[name]
		if has := c.Flags().Lookup("json") != nil; has == left {
			t.Errorf("%s has --json: %t, although it %s", name, has, either(reason, "prints a record"))
		}
		seen++
	}
	if seen < 50 {
		t.Errorf("only %d commands were found", seen)
	}
}

// Each field that the page of a person can change has a flag of user add and user update.
func TestAddAndUpdateHaveAFlagForEveryFieldOfAPerson(t *testing.T) {
	left := map[string]string{
		"Password":        "user passwd changes it",
		"Inactive":        "user disable and user enable change it",
		"Subject":         "it never changes",
		"Shown":           "it is no field",
		"Verified":        "it is no field",
		"Username":        "of user add it is the argument",
		"Profile.Address": "its parts have flags",
		"Administers":     "it is a flag of user update: a new person administers nothing",
	}
	set := map[string]bool{}
	for _, one := range personFlags() {
		person := noPerson()
		fill(reflect.ValueOf(one.field(&person)).Elem())
		for _, name := range changedIn("", reflect.ValueOf(noPerson()), reflect.ValueOf(person)) {
			set[name] = true
		}
	}
	whole := noPerson()
	for _, part := range []any{whole.Profile.Address, whole.Profile, &whole} {
		fillTexts(reflect.ValueOf(part).Elem())
	}
	for _, name := range changedIn("", reflect.ValueOf(noPerson()), reflect.ValueOf(whole)) {
		if left[name] == "" && !set[name] {
			t.Errorf("no flag sets %s of a person: add it to personFlags", name)
		}
	}
	if (&program{}).userUpdateCommand().Flags().Lookup("username") == nil || len(set) < 20 {
		t.Errorf("the flags of user update set only %d fields", len(set))
	}
}

// fillTexts fills the fields of a struct, and leaves those that are pointers.
func fillTexts(v reflect.Value) {
	for i := range v.NumField() {
		if v.Field(i).Kind() != reflect.Pointer {
			fill(v.Field(i))
		}
	}
}

// changedIn names the fields in which two structs differ, and those of what they point to.
func changedIn(prefix string, a, b reflect.Value) []string {
	var names []string
	for i := range a.NumField() {
		name := prefix + a.Type().Field(i).Name
		switch {
		case a.Field(i).Kind() == reflect.Pointer:
			names = append(names, changedIn(name+".", a.Field(i).Elem(), b.Field(i).Elem())...)
		case !reflect.DeepEqual(a.Field(i).Interface(), b.Field(i).Interface()):
			names = append(names, name)
		}
	}
	return names
}
