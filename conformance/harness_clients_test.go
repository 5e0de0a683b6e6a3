package conformance

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// Clients that we did not write. Each runs one step at a time, see testdata/node/client.mjs and
// testdata/python/client.py for the steps and what they take; both tell the refusals of the server as
// {"error": ..., "error_description": ..., "message": ...}.

// nodeClient installs openid-client once, into a copy of its folder, and returns that.
var nodeClient = sync.OnceValues(func() (string, error) {
	dir := filepath.Join(binaryDir, "node")
	err := os.CopyFS(dir, os.DirFS(filepath.Join("testdata", "node")))
	if err != nil {
		return "", err
	}
	install := exec.Command("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund")
	install.Dir = dir
	out, err := install.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("npm ci: %w\n%s", err, out)
	}
	return dir, nil
})

// openidClient runs a step of the npm package openid-client.
func (s *server) openidClient(t testing.TB, app application, step string, input map[string]any) map[string]any {
	t.Helper()
	for _, program := range []string{"node", "npm"} {
		_, err := exec.LookPath(program)
		if err != nil {
			absent(t, program+" is not installed: apt-get install nodejs npm")
		}
	}
	dir, err := nodeClient()
	if err != nil {
		absent(t, err.Error())
	}
	return s.foreign(t, app, step, input, func(stdin string) result {
		return runProgram(t, dir, environment(), stdin, "node", "client.mjs")
	})
}

// requestsOAuthlib runs a step of Debian's python3-requests-oauthlib.
func (s *server) requestsOAuthlib(t testing.TB, app application, step string, input map[string]any) map[string]any {
	t.Helper()
	const python = "/usr/bin/python3" // the one that Debian's packages are for
	err := exec.Command(python, "-c", "import requests_oauthlib").Run()
	if err != nil {
		absent(t, "requests-oauthlib is not installed: apt-get install python3-requests-oauthlib")
	}
	return s.foreign(t, app, step, input, func(stdin string) result {
		// The library refuses http, even to this machine, without this word.
		env := append(environment(), "OAUTHLIB_INSECURE_TRANSPORT=1")
		return runProgram(t, "", env, stdin, python, filepath.Join("testdata", "python", "client.py"))
	})
}

func (s *server) foreign(t testing.TB, app application, step string, input map[string]any, run func(stdin string) result) map[string]any {
	t.Helper()
	whole := map[string]any{"issuer": s.Issuer, "client_id": app.ClientID, "step": step}
	if app.ClientSecret != "" {
		whole["client_secret"] = app.ClientSecret
	}
	maps.Copy(whole, input)
	stdin, err := json.Marshal(whole)
	if err != nil {
		t.Fatal(err)
	}
	r := run(string(stdin))
	var got map[string]any
	err = json.Unmarshal([]byte(r.stdout), &got)
	if err != nil {
		t.Fatalf("%s: exit code %d, %v\n%s%s", step, r.code, err, r.stdout, r.stderr)
	}
	if _, refused := got["error"]; r.code != 0 && !refused {
		t.Fatalf("%s: exit code %d\n%s%s", step, r.code, r.stdout, r.stderr)
	}
	for _, name := range confidential {
		value, _ := got[name].(string)
		s.secret(value)
	}
	return got
}
