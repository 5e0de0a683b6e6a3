package programs

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"mandate/conformance/servertest"
	"mandate/testkit"
)

// installing holds back a second installation of a folder while the first one runs.
var installing sync.Map // of *sync.Mutex, by folder

// installed returns a folder with what the files of a folder of testdata name. install fills it, unless an earlier run
// of the tests has done that for the same files.
func installed(t *testing.T, folder string, files []string, install func(dir string) *exec.Cmd) string {
	t.Helper()
	lock, _ := installing.LoadOrStore(folder, new(sync.Mutex))
	lock.(*sync.Mutex).Lock()
	defer lock.(*sync.Mutex).Unlock()
	sum := sha256.New()
	for _, name := range files {
		text, err := os.ReadFile(filepath.Join("testdata", folder, name))
		if err != nil {
			t.Fatal(err)
		}
		sum.Write(append(text, 0))
	}
	all := servertest.Cached(t, "programs")
	dir := filepath.Join(all, folder+"-"+hex.EncodeToString(sum.Sum(nil)[:8]))
	_, err := os.Stat(dir)
	if err == nil {
		return dir
	}
	if !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	unfinished, err := os.MkdirTemp(all, "unfinished-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(unfinished)
	for _, name := range files {
		text, err := os.ReadFile(filepath.Join("testdata", folder, name))
		if err == nil {
			err = os.WriteFile(filepath.Join(unfinished, name), text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	out, err := install(unfinished).CombinedOutput()
	if err != nil {
		testkit.Missing(t, folder+" could not be installed: "+err.Error()+"\n"+string(out))
	}
	err = os.Rename(unfinished, dir)
	if _, other := os.Stat(dir); err != nil && other != nil {
		t.Fatal(err)
	}
	return dir
}

// fromGo builds a program from a module of testdata: the package of the module itself, or another one.
func fromGo(t *testing.T, folder, of string) string {
	t.Helper()
	files := []string{"go.mod", "go.sum"}
	if of == "." {
		files = append(files, "main.go")
	}
	dir := installed(t, folder, files, func(dir string) *exec.Cmd {
		cmd := exec.Command("go", "build", "-buildvcs=false", "-trimpath", "-o", "program", of)
		cmd.Dir, cmd.Env = dir, append(servertest.Environment(), "CGO_ENABLED=0", "GOFLAGS=", "GOWORK=off")
		return cmd
	})
	return filepath.Join(dir, "program")
}

const python = "/usr/bin/python3" // the one that Debian's pip is for

// inPython runs a script of testdata with the packages of its folder.
func inPython(t *testing.T, folder, script string, more ...string) *exec.Cmd {
	t.Helper()
	return withPython(t, folder, append([]string{filepath.Join("testdata", folder, script)}, more...)...)
}

// withPython runs Python with the packages of a folder of testdata.
func withPython(t *testing.T, folder string, arguments ...string) *exec.Cmd {
	t.Helper()
	if exec.Command(python, "-m", "pip", "--version").Run() != nil {
		testkit.Missing(t, "apt-get install python3-pip")
	}
	dir := installed(t, folder, []string{"requirements.txt"}, func(dir string) *exec.Cmd {
		return exec.Command(python, "-m", "pip", "install", "--quiet", "--no-input", "--disable-pip-version-check",
			"--target", dir,
			"--require-hashes", "--only-binary", ":all:", "--requirement", filepath.Join(dir, "requirements.txt"))
	})
	cmd := exec.Command(python, arguments...)
	cmd.Env = append(servertest.Environment(), "PYTHONPATH="+dir, "PYTHONDONTWRITEBYTECODE=1")
	return cmd
}

// nodePackages returns a folder with node_modules, as the package-lock.json of a folder of testdata says.
func nodePackages(t *testing.T, folder string) string {
	t.Helper()
	testkit.Program(t, "node", "nodejs npm")
	testkit.Program(t, "npm", "nodejs npm")
	return installed(t, folder, []string{"package.json", "package-lock.json"}, func(dir string) *exec.Cmd {
		cmd := exec.Command("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund")
		cmd.Dir = dir
		return cmd
	})
}

// inNode runs a script of testdata with the packages of its folder.
func inNode(t *testing.T, folder, script string) *exec.Cmd {
	t.Helper()
	dir := nodePackages(t, folder)
	// Node.js looks for packages beside the script.
	text, err := os.ReadFile(filepath.Join("testdata", folder, script))
	if err != nil {
		t.Fatal(err)
	}
	beside := t.TempDir()
	err = errors.Join(os.WriteFile(filepath.Join(beside, script), text, 0o600),
		os.Symlink(filepath.Join(dir, "node_modules"), filepath.Join(beside, "node_modules")))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("node", script)
	cmd.Dir, cmd.Env = beside, servertest.Environment()
	return cmd
}

// goVersion, pythonVersion and nodeVersion return the version of a package that a folder of testdata names.
func goVersion(folder, module string) func(*testing.T) string {
	return func(t *testing.T) string { return versionIn(t, filepath.Join(folder, "go.mod"), module+" v", " \n") }
}

func pythonVersion(folder, name string) func(*testing.T) string {
	return func(t *testing.T) string {
		return versionIn(t, filepath.Join(folder, "requirements.txt"), "\n"+name+"==", " \\\n")
	}
}

func versionIn(t *testing.T, file, before, end string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", file))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(text), before)
	if !found {
		t.Fatalf("%s does not name %q", file, before)
	}
	return rest[:strings.IndexAny(rest, end)]
}

func nodeVersion(folder, name string) func(*testing.T) string {
	return func(t *testing.T) string {
		t.Helper()
		text, err := os.ReadFile(filepath.Join("testdata", folder, "package-lock.json"))
		if err != nil {
			t.Fatal(err)
		}
		var locked struct {
			Packages map[string]struct{ Version string }
		}
		err = json.Unmarshal(text, &locked)
		if err != nil {
			t.Fatal(err)
		}
		return locked.Packages["node_modules/"+name].Version
	}
}
