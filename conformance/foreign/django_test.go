//go:build foreign

package foreign

import (
	"crypto/rand"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"mandate/conformance/need"
	"mandate/conformance/servertest"
	"mandate/conformance/target"
	"mandate/testkit"
	"mandate/testkit/port"
)

func TestDjango(t *testing.T) { checkServer(t, "django", startDjango) }

// The findings belong to the installed version.
func TestDjangoVersion(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("testdata", "django", "requirements.txt"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "\ndjango-oauth-toolkit==")
	version, _, _ := strings.Cut(rest, " ")
	wantVersion(t, "django", "django-oauth-toolkit "+version)
}

// djangoApplication has the fields of the package's model.
type djangoApplication struct {
	Name          string `json:"name"`
	ID            string `json:"client_id"`
	Secret        string `json:"client_secret,omitempty"`
	Hashed        bool   `json:"hash_client_secret"`
	Type          string `json:"client_type"`
	Grant         string `json:"authorization_grant_type"`
	RedirectURIs  string `json:"redirect_uris"`
	AfterLogout   string `json:"post_logout_redirect_uris"`
	IDTokenSigned string `json:"algorithm,omitempty"`
}

// startDjango installs django-oauth-toolkit, and runs testdata/django/server.py.
func startDjango(t *testing.T) *target.Target {
	t.Helper()
	python := installDjango(t)
	address := port.Address()
	of := &target.Target{
		Issuer:  "http://" + address + "/o",
		User:    target.User{Username: "alice", Password: "correct horse battery staple"},
		Scope:   "openid profile email read",
		Clients: map[need.Need]*target.Client{},
		API: target.API{URL: "http://" + address + "/api/notes/", Restricted: "http://" + address + "/api/drafts/",
			Scope: "write"},
	}
	var applications []djangoApplication
	for _, role := range need.Roles() {
		if application, offered := djangoApplicationOf(role); offered {
			client := target.NewClient(role, application.ID, application.Secret)
			if role.Grant != need.GrantCode {
				client.Scope = "read write" // the server refuses openid here
			}
			of.Clients[role.Name] = client
			applications = append(applications, application)
		}
	}
	dir := t.TempDir()
	config, err := json.Marshal(map[string]any{"address": address, "database": filepath.Join(dir, "database"),
		"person":       map[string]string{"username": of.User.Username, "password": of.User.Password},
		"applications": applications})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "config.json")
	err = os.WriteFile(path, config, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(python, filepath.Join("testdata", "django", "server.py"), path)
	cmd.Env = servertest.Environment()
	serve(t, cmd, of.Issuer+"/.well-known/openid-configuration")
	return of
}

// installDjango makes a virtual environment with the packages, and returns its Python.
func installDjango(t *testing.T) string {
	t.Helper()
	const python = "/usr/bin/python3" // the one that Debian's pip is for
	if exec.Command(python, "-m", "pip", "--version").Run() != nil {
		testkit.Missing(t, "apt-get install python3-pip")
	}
	dir := servertest.Cached(t, "django")
	run(t, ".", python, "-m", "venv", "--without-pip", dir)
	inside := filepath.Join(dir, "bin", "python")
	run(t, ".", python, "-m", "pip", "--python", inside, "install", "--quiet", "--no-input", "--disable-pip-version-check",
		"--require-hashes", "--only-binary", ":all:", "--requirement",
		filepath.Join("testdata", "django", "requirements.txt"))
	return inside
}

// djangoApplicationOf returns the application of a role, and whether the package can offer it. It has no signed
// UserInfo, no pairwise subjects, no back-channel logout, no JWT access tokens, and clients with secrets only.
func djangoApplicationOf(r need.Role) (djangoApplication, bool) {
	if r.UserInfoAlgorithm != "" || r.Pairwise || r.Backchannel || r.SignedAccess || r.Auth != "" ||
		r.Grant == need.GrantDevice {
		return djangoApplication{}, false
	}
	a := djangoApplication{Name: "conformance " + string(r.Name), ID: "conformance-" + string(r.Name), Type: "public",
		Hashed:       true,
		RedirectURIs: strings.Join(r.RedirectURIs, " "), AfterLogout: strings.Join(r.AfterLogout, " ")}
	if !r.Public {
		a.Type, a.Secret = "confidential", rand.Text()+rand.Text()
	}
	switch r.Grant {
	case need.GrantCode:
		a.Grant, a.IDTokenSigned = "authorization-code", "RS256"
	case need.GrantMachine:
		a.Grant = "client-credentials"
	case need.GrantPassword:
		a.Grant = "password"
	}
	if r.IDTokenAlgorithm != "" {
		a.IDTokenSigned, a.Hashed = r.IDTokenAlgorithm, false // the secret is the key
	}
	return a, true
}
