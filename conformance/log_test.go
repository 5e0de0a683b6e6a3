package conformance

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"mandate/conformance/check"
	"mandate/conformance/engine"
	"mandate/conformance/rules"
	"mandate/conformance/wire"
)

func TestLog(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "log")
	exchanges := []wire.Exchange{{Sent: "POST https://as.example/token\n", Got: "200 OK\n", Repeat: "curl one"}, {Sent: "GET https://as.example/me\n", Got: "401 Unauthorized\n", Repeat: "curl two"}}
	result := failure("a", check.Fail, "the server is wrong", "", "")
	elsewhere := filepath.Join(t.TempDir(), "elsewhere")
	for range 2 { // the second run replaces the file
		log, err := engine.NewLog(dir)
		if err != nil {
			t.Fatal(err)
		}
		log.Keep(result, exchanges)
		log.Keep(failure("b", check.Skip, "no client", "", ""), nil)
		if log.Err() != nil {
			t.Fatal(log.Err())
		}
	}
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != 1 || files[0].Name() != "TEST_1_a.txt" {
		t.Fatalf("%v: %v", err, files)
	}
	path := filepath.Join(dir, "TEST_1_a.txt")
	text, err := os.ReadFile(path)
	for _, want := range []string{"TEST/1/a\nMUST: ", "FAIL in 0.0 s\nthe server is wrong\n", "=== Request 1 of 2\n\nPOST https://as.example/token\n", "=== Answer\n\n401 Unauthorized\n", "=== To repeat it\n\ncurl two\n"} {
		if err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%v: the log lacks %q:\n%s", err, want, text)
		}
	}
	for of, want := range map[string]os.FileMode{dir: 0o700, path: 0o600} {
		info, err := os.Stat(of)
		if err != nil || info.Mode().Perm() != want {
			t.Errorf("%v: %s has mode %v", err, of, info.Mode())
		}
	}
	// A link that somebody put there does not lead elsewhere.
	err = os.Remove(path)
	if err == nil {
		err = os.Symlink(elsewhere, path)
	}
	if err != nil {
		t.Fatal(err)
	}
	log, err := engine.NewLog(dir)
	if err != nil {
		t.Fatal(err)
	}
	log.Keep(result, exchanges)
	_, err = os.Stat(elsewhere)
	if log.Err() != nil || !os.IsNotExist(err) {
		t.Errorf("%v, %v", log.Err(), err)
	}
	_, err = engine.NewLog(path)
	if err == nil {
		t.Error("a file is taken as a folder")
	}
}

// Every rule has a file name of its own, also where upper and lower case are the same.
func TestLogNames(t *testing.T) {
	safe, taken := regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,120}\.txt$`), map[string]string{}
	for _, r := range rules.All() {
		name := engine.LogName(r.ID)
		if other := taken[strings.ToLower(name)]; !safe.MatchString(name) || other != "" {
			t.Errorf("%s has the file %s, like %q", r.ID, name, other)
		}
		taken[strings.ToLower(name)] = r.ID
	}
	if name := engine.LogName("../a b/c:d"); name != ".._a_b_c_d.txt" {
		t.Errorf("the name is %s", name)
	}
}
