//go:build foreign

package programs

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// supersetOwn are the settings that every installation has, and a page that shows who has signed in.
const supersetOwn = `
SECRET_KEY = "a secret of this installation of Superset"
SQLALCHEMY_DATABASE_URI = "sqlite:///FOLDER/superset.db"
AUTH_ROLES_MAPPING |= {"staff": ["Alpha"]}


def FLASK_APP_MUTATOR(app):
    @app.route("/who")
    def who():
        from flask import g, jsonify

        groups = {"Admin": "admins", "Alpha": "staff"}  # everybody has Gamma
        known = [groups[role.name] for role in g.user.roles if role.name in groups]
        return jsonify({"name": g.user.get_full_name(), "email": g.user.email, "groups": known})
`

// superset prepares the database of Superset as its documentation says, and starts it.
func superset(t *testing.T, s *site) *exec.Cmd {
	t.Helper()
	config := filepath.Join(s.folder, "superset_config.py")
	own := strings.ReplaceAll(supersetOwn, "FOLDER", s.folder)
	err := os.WriteFile(config, []byte(s.printed+own), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	host, port, _ := strings.Cut(s.address, ":")
	var cmd *exec.Cmd
	for _, arguments := range [][]string{{"db", "upgrade"}, {"init"}, {"run", "-h", host, "-p", port}} {
		cmd = withPython(
			t,
			"superset",
			append([]string{"-c", "from superset.cli.main import superset; superset()"}, arguments...)...)
		cmd.Env = append(cmd.Env, "FLASK_APP=superset", "SUPERSET_CONFIG_PATH="+config)
		if arguments[0] == "run" {
			break
		}
		said, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%q: %v: %s", arguments, err, said)
		}
	}
	return cmd
}
