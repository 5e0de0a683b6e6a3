//go:build foreign

package programs

import (
	"encoding/json"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"mandate/conformance/servertest"
	"mandate/storage/postgrestest"
)

// giteaConfig is what every installation has. Gitea makes an account for each person who signs in.
const giteaConfig = `I_AM_BEING_UNSAFE_RUNNING_AS_ROOT = true
WORK_PATH = $folder
[server]
HTTP_ADDR = $host
HTTP_PORT = $port
ROOT_URL = http://$host:$port/
STATIC_ROOT_PATH = $source
OFFLINE_MODE = true
[database]
DB_TYPE = postgres
HOST = $database
NAME = $name
USER = $user
PASSWD = $password
SSL_MODE = disable
[security]
INSTALL_LOCK = true
[oauth2_client]
ENABLE_AUTO_REGISTRATION = true
`

// gitea runs the printed command, as its user, and then Gitea. Its pages are in its module.
func gitea(t *testing.T, s *site) *exec.Cmd {
	t.Helper()
	program := fromGo(t, "gitea", "code.gitea.io/gitea")
	list := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "code.gitea.io/gitea")
	list.Dir, list.Env = filepath.Dir(program), append(servertest.Environment(), "GOFLAGS=", "GOWORK=off")
	source, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	database, err := url.Parse(postgrestest.URL(t))
	if err == nil {
		err = os.Symlink(program, filepath.Join(s.folder, "gitea"))
	}
	if err != nil {
		t.Fatal(err)
	}
	host, port, _ := strings.Cut(s.address, ":")
	password, _ := database.User.Password()
	config := s.write(
		t,
		filepath.Join("custom", "conf", "app.ini"),
		strings.NewReplacer(
			"$folder",
			s.folder,
			"$host",
			host,
			"$port",
			port,
			"$source",
			strings.TrimSpace(string(source)),
			"$database",
			database.Host,
			"$name",
			strings.TrimPrefix(database.Path, "/"),
			"$user",
			database.User.Username(),
			"$password",
			password,
		).Replace(giteaConfig),
	)
	environment := append(
		servertest.Environment(),
		"GITEA_WORK_DIR="+s.folder,
		"HOME="+s.folder,
		"PATH="+s.folder+":"+os.Getenv("PATH"),
	)
	for _, command := range []string{"gitea migrate", s.printed} {
		cmd := exec.Command("sh", "-ec", command)
		cmd.Env = environment
		said, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v: %s", command, err, said)
		}
	}
	cmd := exec.Command(program, "web", "--config", config)
	cmd.Env = environment
	return cmd
}

var (
	giteaName  = regexp.MustCompile(`name="full_name" value="([^"]*)"`)
	giteaEmail = regexp.MustCompile(`id="signed-user-email">([^<]*)<`)
)

// giteaUser reads the page of the person's own settings. Gitea reads groups for its administrators and its teams.
func giteaUser(t *testing.T, s *site, v *visitor) []byte {
	t.Helper()
	v.check(t, v.Open(s.url("/user/settings")))
	name, email := giteaName.FindSubmatch(v.Page.Body), giteaEmail.FindSubmatch(v.Page.Body)
	if name == nil || email == nil {
		return v.Page.Body
	}
	shown, _ := json.Marshal(person{Name: string(name[1]), Email: string(email[1])})
	return shown
}
