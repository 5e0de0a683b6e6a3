//go:build foreign

package programs

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mandate/conformance/servertest"
	"mandate/storage/postgrestest"
)

// printed are programs that have exactly the text that `mandate application add --for` prints, where its
// documentation puts it. What the tests add is what every installation has: its address, its database, its own keys.
var printed = []program{
	{
		name: "oauth2-proxy", version: oauth2Proxy.version, preset: "oauth2-proxy", login: "/oauth2/start?rd=/",
		shows: oauth2Proxy.shows,
		start: func(t *testing.T, s *site) *exec.Cmd {
			cmd := exec.Command(
				fromGo(t, "oauth2-proxy", "github.com/oauth2-proxy/oauth2-proxy/v7"),
				"--http-address="+s.address,
				"--upstream="+echo(t),
				"--cookie-secure=false",
			)
			cmd.Env = append(servertest.Environment(), s.variables(t)...)
			return cmd
		},
	},
	{
		name: "Miniflux", version: goVersion("miniflux", "miniflux.app/v2"), preset: "miniflux",
		login: "/oauth2/oidc/redirect",
		shows: person{Name: "alice"}, page: "alice",
		start: func(t *testing.T, s *site) *exec.Cmd {
			cmd := exec.Command(fromGo(t, "miniflux", "miniflux.app/v2"))
			cmd.Env = append(servertest.Environment(), s.variables(t)...)
			cmd.Env = append(
				cmd.Env,
				"DATABASE_URL="+postgrestest.URL(t),
				"RUN_MIGRATIONS=1",
				"LISTEN_ADDR="+s.address,
				"BASE_URL="+s.url(""),
			)
			return cmd
		},
	},
	{
		name: "JupyterHub", version: pythonVersion("jupyterhub", "jupyterhub"), preset: "jupyterhub",
		login: "/hub/oauth_login?next=/hub/who",
		shows: person{"alice", "", complete.Groups},
		start: func(t *testing.T, s *site) *exec.Cmd {
			return inPython(t, "jupyterhub", "hub.py", s.write(t, "jupyterhub_config.py", s.printed+jupyterHubOwn))
		},
	},
	{
		name: "Matrix Synapse", version: pythonVersion("synapse", "matrix-synapse"), preset: "synapse", secured: true,
		shows: noGroups,
		login: "/_matrix/client/v3/login/sso/redirect/oidc-mandate",
		start: func(t *testing.T, s *site) *exec.Cmd {
			cmd := synapse(t, s)
			cmd.Env = append(cmd.Env, "PROVIDERS="+s.write(t, "providers.yaml", s.printed))
			return cmd
		},
	},
	{
		name: "pgAdmin", version: pythonVersion("pgadmin", "pgadmin4"), preset: "pgadmin", login: "/login", presses: true,
		button: pgAdminButton,
		shows:  person{Email: "alice@example.com"}, reads: pgAdminUser(),
		start: func(t *testing.T, s *site) *exec.Cmd {
			return inPython(t, "pgadmin", "site.py", s.write(t, "printed.py", s.printed))
		},
	},
	{
		name: "MeshCentral", version: nodeVersion("meshcentral", "meshcentral"), preset: "meshcentral", login: "/auth-oidc",
		shows: noGroups,
		reads: meshCentralUser,
		start: func(t *testing.T, s *site) *exec.Cmd {
			cmd := inNode(t, "meshcentral", "site.mjs")
			cmd.Env = append(cmd.Env, "PRINTED="+s.printed)
			return cmd
		},
	},
	{
		name: "Keycloak", version: keycloakVersion, preset: "keycloak", below: "/realms/company",
		login: "/realms/company/protocol/openid-connect/auth",
		shows: noGroups, start: keycloak,
	},
	{
		name: "Spring Boot 3.5", version: springVersion("pom3.xml"), preset: "spring-boot-3", login: "/", shows: complete,
		start: func(t *testing.T, s *site) *exec.Cmd {
			return withProperties(t, s, spring(t, "pom3.xml"), "application.properties")
		},
	},
	{
		name: "Spring Boot 4", version: springVersion("pom4.xml"), preset: "spring-boot", login: "/", shows: complete,
		start: func(t *testing.T, s *site) *exec.Cmd {
			return withProperties(t, s, spring(t, "pom4.xml"), "application.properties")
		},
	},
	{
		name: "Quarkus", preset: "quarkus", login: "/", shows: complete,
		version: func(t *testing.T) string {
			return versionIn(t, filepath.Join("quarkus", "pom.xml"), "<quarkus.version>", "<")
		},
		start: func(t *testing.T, s *site) *exec.Cmd {
			return withProperties(t, s, quarkus(t, s), filepath.Join("config", "application.properties"))
		},
	},
	inText(
		"django-allauth",
		"more-python",
		"django-allauth",
		"allauth_site.py",
		noGroups,
		"/accounts/oidc/mandate/login/",
		true,
	),
	inText(
		"mozilla-django-oidc",
		"python",
		"mozilla-django-oidc",
		"mozilla_django_oidc_site.py",
		person{Email: "alice@example.com"},
		"/",
		false,
	),
	inText("python-social-auth", "more-python", "social-auth-core", "social_site.py", noGroups, "/login/", true),
	inText("flask-authlib", "python", "authlib", "authlib_flask.py", complete, "/login", false),
	inText("fastapi-authlib", "more-python", "authlib", "fastapi_authlib.py", complete, "/login", false),
	inText("flask-oidc", "python", "flask-oidc", "flask_oidc_site.py", noGroups, "/", false),
	inText(
		"flask-appbuilder",
		"appbuilder",
		"flask-appbuilder",
		"site.py",
		complete,
		"/login/mandate?next=/who",
		false,
	),
	{
		name: "better-auth", version: nodeVersion("more-node", "better-auth"), preset: "better-auth", login: "/login",
		shows: noGroups,
		start: func(t *testing.T, s *site) *exec.Cmd {
			cmd := inNode(t, "more-node", "better-auth.mjs")
			cmd.Env = append(
				cmd.Env,
				"PRINTED="+s.printed,
				"BETTER_AUTH_SECRET=a secret of this website, which has enough letters",
			)
			return cmd
		},
	},
	inLines("authjs", "@auth/express", noGroups, "/auth/signin", true),
	inLines("express-openid-connect", "express-openid-connect", noGroups, "/login", false),
	inLines("passport-openidconnect", "passport-openidconnect", noGroups, "/login", false),
}

// inText is a website in Python, a script of a folder of testdata, which reads the printed text.
func inText(preset, folder, module, script string, shows person, login string, presses bool) program {
	return program{
		name: preset, version: pythonVersion(folder, module), preset: preset, login: login, presses: presses, shows: shows,
		start: func(t *testing.T, s *site) *exec.Cmd {
			cmd := inPython(t, folder, script)
			cmd.Env = append(cmd.Env, "PRINTED="+s.printed)
			return cmd
		},
	}
}

// inLines is a website in JavaScript with the printed lines.
func inLines(preset, module string, shows person, login string, presses bool) program {
	return program{
		name: preset, version: nodeVersion("node", module), preset: preset, login: login, presses: presses, shows: shows,
		start: func(t *testing.T, s *site) *exec.Cmd {
			cmd := inNode(t, "node", "printed.mjs")
			cmd.Env = append(
				cmd.Env,
				"PRINTED="+s.printed,
				"PROGRAM="+preset,
				"AUTH_SECRET=a secret of this website, which has enough letters",
				"AUTH_TRUST_HOST=true",
			)
			return cmd
		},
	}
}

// A printed setting that is wrong keeps everybody out, and nobody suspects it.
func TestForeignPrinted(t *testing.T) {
	t.Parallel()
	for _, p := range printed {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			p.signsIn(t)
		})
	}
}

// What says that a login was run with its text is run here. TestSettingsOfApacheSignPeopleIn runs the text of Apache.
func TestForeignPrintedIsRun(t *testing.T) {
	run := []string{"apache", streamlit.preset}
	for _, p := range slices.Concat(printed, slow) {
		run = append(run, p.preset)
	}
	for _, one := range knownPrograms(t) {
		if strings.HasPrefix(one.Verified, loginRun) && !slices.Contains(run, one.Name) {
			t.Errorf("nothing runs the text of %s", one.Name)
		}
	}
}

// jupyterHubOwn adds a page that shows who has signed in.
const jupyterHubOwn = `
import os

from jupyterhub.handlers import BaseHandler
from tornado import web


class Who(BaseHandler):
    @web.authenticated
    async def get(self):
        self.write({"name": self.current_user.name, "groups": [group.name for group in self.current_user.groups]})


c.JupyterHub.extra_handlers = [(r"/who", Who)]
host, port = os.environ["ADDRESS"].split(":")
folder = os.environ["FOLDER"]
c.JupyterHub.hub_ip, c.JupyterHub.hub_port = host, int(port)
c.JupyterHub.bind_url = f"http://{os.environ['ADDRESS']}"
c.JupyterHub.db_url = f"sqlite:///{folder}/jupyterhub.sqlite"
c.JupyterHub.cookie_secret_file = f"{folder}/cookie_secret"
`

// withProperties runs a program of Java where its own settings are in a file, which replace those that were packed.
func withProperties(t *testing.T, s *site, cmd *exec.Cmd, file string) *exec.Cmd {
	t.Helper()
	s.write(t, file, s.printed)
	cmd.Dir = s.folder
	return cmd
}

// write writes a file to the folder of the program, and returns its path.
func (s *site) write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(s.folder, name)
	err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600))
	if err != nil {
		t.Fatal(err)
	}
	return path
}
