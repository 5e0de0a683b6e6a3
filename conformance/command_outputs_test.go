package conformance

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mandate/conformance/servertest"
)

// A file that cannot be written after the run loses no results: the other files are written, and the report is printed.
func TestCommandOutputsThatFail(t *testing.T) {
	dir := t.TempDir()
	known, first, second := filepath.Join(dir, "known.yaml"), filepath.Join(dir, "first.html"),
		filepath.Join(dir, "second.json")
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost { // of the run: the files were opened before
			for _, path := range []string{known, first} {
				_ = os.Remove(path)
				_ = os.Mkdir(path, 0o700)
			}
		}
		w.WriteHeader(http.StatusBadRequest)
	}))
	defer server.Close()
	path := targetText(t, "issuer: "+server.URL+"\nendpoints: {token_endpoint: "+server.URL+
		"/token}\nclients:\n  machine: {id: m, secret: verysecret}\n")
	r := servertest.Run(t, "", "--target", path, "--only", "RFC6749/5.2", "--write-baseline", known, "--report", first,
		"--report", second)
	r.Want(t, 1, "rules in ", "known.yaml: is a directory", "write the report: open "+first)
	text, err := os.ReadFile(second)
	if err != nil || !strings.Contains(string(text), `"issuer"`) {
		t.Errorf("%v: %s", err, text)
	}
}
