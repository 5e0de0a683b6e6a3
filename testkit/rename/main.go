// Command rename gives this module another path, for whoever hosts it: in go.mod, in the imports, and where else the
// path stands, such as in docs. It runs in the root of the repository:
//
//	rename example.org/team/mandate
package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

func main() {
	err := errors.New("usage: rename PATH")
	if len(os.Args) == 2 {
		err = rename(os.Args[1])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// rename changes the files that git knows.
func rename(path string) error {
	old, err := output("go", "list", "-m")
	if err != nil {
		return err
	}
	listed, err := output("git", "ls-files")
	if err != nil {
		return err
	}
	_, err = output("go", "mod", "edit", "-module="+path) // refuses what is no path of a module
	if err != nil {
		return err
	}
	files := strings.Split(listed, "\n")
	written := mentions(old, folders(files))
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		changed := written.ReplaceAll(text, []byte("${1}"+path+"${2}"))
		if !utf8.Valid(text) || string(changed) == string(text) {
			continue
		}
		err = os.WriteFile(name, changed, 0o644)
		if err != nil {
			return err
		}
	}
	_, err = output("gofmt", "-w", ".")
	return err
}

// mentions finds the path where it is one, and not another name of the same spelling: before a folder with packages, a
// version, or the folder that replaces it.
func mentions(path string, folders []string) *regexp.Regexp {
	return regexp.MustCompile(`(?m)(^|[^\w./@-])` + regexp.QuoteMeta(path) +
		`(/(?:` + strings.Join(folders, "|") + `)\b|@v0\.0\.0|=\.\./)`)
}

// folders are those of the root that have packages.
func folders(files []string) []string {
	var found []string
	for _, name := range files {
		folder, _, below := strings.Cut(name, "/")
		if below && strings.HasSuffix(name, ".go") && !slices.Contains(found, folder) {
			found = append(found, folder)
		}
	}
	return found
}

func output(name string, arguments ...string) (string, error) {
	command := exec.Command(name, arguments...)
	command.Stderr = os.Stderr
	out, err := command.Output()
	return strings.TrimSpace(string(out)), err
}
