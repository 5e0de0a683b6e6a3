//go:build foreign

package foreign

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"mandate/conformance/servertest"
	"mandate/conformance/target"
	"mandate/testkit/port"
)

const realmName = "conformance"

// keycloak is a running Keycloak.
type keycloak struct {
	java, dir string
	url       string
	password  string // of the person
}

func (k *keycloak) issuer() string { return k.url + "/realms/" + realmName }

// program returns a command of the folder bin of Keycloak.
func (k *keycloak) program(name string, arguments ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(k.dir, "bin", name), arguments...)
	cmd.Dir, cmd.Env = k.dir, k.environment()
	return cmd
}

// environment lets a script call the programs of Keycloak by their names. kcadm.sh keeps the administrator's session in
// the home folder as Java knows it.
func (k *keycloak) environment() []string {
	return append(servertest.Environment(), "JAVA="+k.java, "KC_OPTS=-Duser.home="+k.dir,
		"PATH="+filepath.Join(k.dir, "bin")+":"+os.Getenv("PATH"))
}

// admin runs kcadm.sh, and returns what it prints.
func (k *keycloak) admin(t *testing.T, arguments ...string) string {
	t.Helper()
	return outputOf(t, k.program("kcadm.sh", arguments...))
}

// outputOf runs a command until it ends, and returns what it prints.
func outputOf(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	out, err := cmd.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		t.Fatalf("%s: %v\n%s%s", cmd, err, out, exit.Stderr)
	}
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

// answers are what a person answers to the first questions of --write-target.
func (k *keycloak) answers(more ...string) string {
	return strings.Join(append([]string{k.issuer(), "alice", k.password, "openid profile email"}, more...), "\n") + "\n"
}

// scripted describes the realm by --write-target --clients kcadm, and runs the script that this prints, as
// docs/check-a-server.md says.
func (k *keycloak) scripted(t *testing.T) *target.Target {
	path := filepath.Join(t.TempDir(), "target.yaml")
	cmd := servertest.Command(t, "--target", path, "--write-target", "--clients", "kcadm")
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stderr, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err == nil {
		_, err = io.WriteString(stdin, k.answers(port.Address()))
	}
	if err != nil {
		t.Fatal(err)
	}
	var printed []string
	for lines := bufio.NewScanner(stderr); lines.Scan(); {
		printed = append(printed, lines.Text())
		if lines.Text() == "EOF" {
			// the questions are the first line
			script := exec.CommandContext(t.Context(), "sh", "-e", "-c", strings.Join(printed[1:], "\n"))
			script.Env = k.environment()
			outputOf(t, script)
			_, _ = io.WriteString(stdin, "\n") // if it has ended, Wait says why
		}
	}
	err = cmd.Wait()
	if all := strings.Join(printed, "\n"); err != nil ||
		!strings.Contains(all, "It works: the server issued a code and tokens.") {
		t.Fatalf("%v\n%s", err, all)
	}
	return k.withAPI(t, path)
}

// registered describes the realm by --write-target, and lets each run register the clients. Such a client has all roles
// of its account in each token, so that no part of the API depends on the scope.
func (k *keycloak) registered(t *testing.T) *target.Target {
	var initial struct{ Token string }
	err := json.Unmarshal([]byte(k.admin(t, "create", "clients-initial-access", "-r", realmName, "-s", "count=1000", "-s",
		"expiration=3600", "-o")), &initial)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "target.yaml")
	servertest.Run(t, k.answers("yes", initial.Token, "no"), "--target", path, "--write-target").Want(t, 0,
		"It works: the server issued a code and tokens.")
	of := k.withAPI(t, path)
	of.Backchannel, of.API.Restricted, of.API.Scope = port.Address(), "", ""
	return of
}

// withAPI reads a target, and adds Keycloak's own API: any token with a role of it may read the realm's name, and what
// else it may read depends on the scope.
func (k *keycloak) withAPI(t *testing.T, path string) *target.Target {
	of, err := target.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	address := k.url + "/admin/realms/" + realmName
	of.API = target.API{URL: address, Restricted: address + "/client-scopes", Scope: "phone"}
	return of
}
