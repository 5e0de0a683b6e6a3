//go:build foreign

package programs

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"mandate/conformance/browser"
	"mandate/conformance/servertest"
	"mandate/conformance/wire"
	"mandate/storage/postgrestest"
)

// slow are the programs that only `make foreign` tries.
var slow = []program{
	{
		name: "django-allauth", version: pythonVersion("more-python", "django-allauth"),
		redirect: "/accounts/oidc/mandate/login/callback/", login: "/accounts/oidc/mandate/login/", presses: true,
		shows: complete,
		start: func(t *testing.T, _ *site) *exec.Cmd { return inPython(t, "more-python", "allauth_site.py") },
	},
	{
		name: "python-social-auth, in NetBox, Weblate and Zulip", version: pythonVersion("more-python", "social-auth-core"),
		redirect: "/complete/oidc/", login: "/login/", presses: true, shows: complete,
		start: func(t *testing.T, _ *site) *exec.Cmd { return inPython(t, "more-python", "social_site.py") },
	},
	{
		name: "FastAPI with Authlib", version: pythonVersion("more-python", "authlib"), redirect: "/auth", login: "/login",
		shows: complete,
		start: func(t *testing.T, _ *site) *exec.Cmd { return inPython(t, "more-python", "fastapi_authlib.py") },
	},
	{
		name: "httpx-oauth, the client of fastapi-users", version: pythonVersion("more-python", "httpx-oauth"),
		redirect: "/callback", login: "/login", shows: complete,
		start: func(t *testing.T, _ *site) *exec.Cmd { return inPython(t, "more-python", "httpx_oauth_site.py") },
	},
	{
		name: "Flask-AppBuilder, in Airflow and Superset", version: pythonVersion("appbuilder", "flask-appbuilder"),
		redirect: "/oauth-authorized/mandate", login: "/login/mandate?next=/who", shows: complete,
		start: func(t *testing.T, _ *site) *exec.Cmd { return inPython(t, "appbuilder", "site.py") },
	},
	{
		name: "JupyterHub with oauthenticator", version: pythonVersion("jupyterhub", "oauthenticator"),
		settings: "`manage_groups`, `auth_state_groups_key`",
		redirect: "/hub/oauth_callback", login: "/hub/oauth_login?next=/hub/who", shows: complete,
		start: func(t *testing.T, _ *site) *exec.Cmd { return inPython(t, "jupyterhub", "hub.py") },
	},
	{
		name: "pgAdmin", version: pythonVersion("pgadmin", "pgadmin4"), settings: "`OAUTH2_ADDITIONAL_CLAIMS`",
		redirect: "/oauth2/authorize", login: "/login",
		presses: true, button: pgAdminButton, shows: person{Email: "alice@example.com", Groups: []string{"admins"}},
		reads: pgAdminUser("admins"),
		start: func(t *testing.T, _ *site) *exec.Cmd { return inPython(t, "pgadmin", "site.py") },
	},
	{
		name: "Spring Boot 3.5 (Spring Security 6.5), client", version: springVersion("pom3.xml"),
		redirect: "/login/oauth2/code/mandate", login: "/", shows: complete,
		start: func(t *testing.T, _ *site) *exec.Cmd { return spring(t, "pom3.xml") },
	},
	{
		name: "Spring Boot 4 (Spring Security 7), client", version: springVersion("pom4.xml"),
		redirect: "/login/oauth2/code/mandate", login: "/", shows: complete,
		start: func(t *testing.T, _ *site) *exec.Cmd { return spring(t, "pom4.xml") },
	},
	{
		name: "Quarkus, quarkus-oidc as a web-app", version: func(t *testing.T) string {
			return versionIn(t, filepath.Join("quarkus", "pom.xml"), "<quarkus.version>", "<")
		},
		redirect: "/", login: "/", shows: complete, start: quarkus,
	},
	{
		name: "Keycloak, with Mandate as its identity provider", version: keycloakVersion,
		redirect: "/realms/company/broker/mandate/endpoint",
		login:    "/realms/company/protocol/openid-connect/auth", shows: complete, start: keycloak,
	},
	{
		name: "hashicorp/cap, the library of Vault and Boundary", version: goVersion("cap", "github.com/hashicorp/cap"),
		redirect: "/callback", login: "/login", shows: complete,
		start: func(t *testing.T, _ *site) *exec.Cmd { return exec.Command(fromGo(t, "cap", ".")) },
	},
	{
		name: "mod_auth_openidc, Apache 2.4 (Debian's)", version: debianVersion("libapache2-mod-auth-openidc"),
		redirect: "/callback", login: "/", shows: complete,
		start: apache,
	},
	{
		name: "nginx with auth_request (Debian's) and oauth2-proxy", version: debianVersion("nginx"),
		settings: "`reverse_proxy`, `set_xauthrequest`",
		redirect: "/oauth2/callback", login: "/", presses: true, shows: oauth2Proxy.shows, start: nginx,
	},
	{
		name: "Better Auth, genericOAuth", version: nodeVersion("more-node", "better-auth"),
		redirect: "/api/auth/callback/mandate", login: "/login", shows: noGroups,
		start: func(t *testing.T, _ *site) *exec.Cmd { return inNode(t, "more-node", "better-auth.mjs") },
	},
	{
		name: "MeshCentral", version: nodeVersion("meshcentral", "meshcentral"), settings: "`groups`",
		redirect: "/auth-oidc-callback", login: "/auth-oidc",
		shows: complete, reads: meshCentralUser,
		start: func(t *testing.T, _ *site) *exec.Cmd { return inNode(t, "meshcentral", "site.mjs") },
	},
	{
		name: "Actual Budget", version: nodeVersion("actual", "@actual-app/sync-server"), preset: "actual-budget", login: "/",
		presses: true, button: actualButton,
		shows: person{Name: "Alice Liddell"}, reads: actualUser, start: actualBudget,
	},
	{
		name: "Gitea", version: goVersion("gitea", "code.gitea.io/gitea"), preset: "gitea", login: "/user/oauth2/mandate",
		shows: noGroups,
		reads: giteaUser, start: gitea,
	},
	{
		name: "Node-RED with passport-openidconnect", version: nodeVersion("node-red", "node-red"),
		redirect: "/auth/strategy/callback", login: "/auth/strategy",
		shows: person{Name: "alice"}, reads: nodeREDUser,
		start: func(t *testing.T, s *site) *exec.Cmd {
			cmd := inNode(t, "node-red", "settings.js")
			cmd.Args = []string{"node", "node_modules/node-red/red.js", "--settings", "settings.js"}
			return cmd
		},
	},
	{
		name: "Apache Superset", version: pythonVersion("superset", "apache-superset"), preset: "superset",
		login: "/login/mandate?next=/who", shows: complete,
		start: superset,
	},
	pocketBase(),
	{
		name: "Matrix Synapse", version: pythonVersion("synapse", "matrix-synapse"),
		redirect: "/_synapse/client/oidc/callback",
		login:    "/_matrix/client/v3/login/sso/redirect/oidc-mandate", shows: noGroups, start: synapse,
	},
	{
		name: "Miniflux", version: goVersion("miniflux", "miniflux.app/v2"), redirect: "/oauth2/oidc/callback",
		login: "/oauth2/oidc/redirect",
		shows: person{Name: "alice"}, page: "alice",
		start: func(t *testing.T, s *site) *exec.Cmd {
			cmd := exec.Command(fromGo(t, "miniflux", "miniflux.app/v2"))
			cmd.Env = append(servertest.Environment(), "DATABASE_URL="+postgrestest.URL(t), "RUN_MIGRATIONS=1",
				"LISTEN_ADDR="+s.address, "BASE_URL="+s.url(""),
				"OAUTH2_PROVIDER=oidc", "OAUTH2_CLIENT_ID="+s.id, "OAUTH2_CLIENT_SECRET="+s.secret, "OAUTH2_REDIRECT_URL="+
					s.url("/oauth2/oidc/callback"),
				"OAUTH2_OIDC_DISCOVERY_ENDPOINT="+s.server.issuer, "OAUTH2_USER_CREATION=1")
			return cmd
		},
	},
}

func TestForeignPrograms(t *testing.T) {
	t.Parallel()
	for _, p := range slow {
		p.foreign = true
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			p.try(t)
		})
	}
}

// meshCentralUser opens the WebSocket from which the page of MeshCentral learns who has signed in.
func meshCentralUser(t *testing.T, s *site, v *visitor) []byte {
	t.Helper()
	var cookies []string
	for _, c := range v.Cookies() {
		cookies = append(cookies, c.Name+"="+c.Value)
	}
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	script := inNode(t, "meshcentral", "who.mjs")
	cmd := exec.CommandContext(ctx, script.Path, script.Args[1:]...)
	cmd.Dir, cmd.Env = script.Dir, append(script.Env, "ADDRESS="+s.address, "COOKIE="+strings.Join(cookies, "; "))
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", script, err, out)
	}
	return out
}

// nodeREDUser asks as the page of Node-RED does, which knows a username and the permissions that belong to it.
func nodeREDUser(t *testing.T, s *site, v *visitor) []byte {
	t.Helper()
	r, err := http.NewRequest(http.MethodGet, s.url("/settings"), nil)
	if err != nil {
		t.Fatal(err)
	}
	_, token, _ := strings.Cut(v.Page.URL.RawQuery, "access_token=") // which is not escaped
	r.Header.Set("Authorization", "Bearer "+token)
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	var known struct{ User struct{ Username string } }
	err = json.NewDecoder(answer.Body).Decode(&known)
	if err != nil {
		t.Fatalf("%v at %s after %s: %s", err, v.Page.URL, v.Page, v.Page.Body)
	}
	shown, _ := json.Marshal(person{Name: known.User.Username})
	return shown
}

var (
	pgAdminToken = regexp.MustCompile(`"csrfToken": "([^"]+)"`)
	pgAdminEmail = regexp.MustCompile(`'email': '([^']+)'`)
)

// pgAdminButton is what a script of pgAdmin's page sends for the button of its provider.
func pgAdminButton(page *wire.Answer) *browser.Form {
	form := &browser.Form{
		Method: http.MethodPost,
		Action: "/authenticate/login",
		Values: url.Values{"oauth2_button": {"mandate"}},
	}
	if token := pgAdminToken.FindSubmatch(page.Body); token != nil {
		form.Values.Set("csrf_token", string(token[1]))
	}
	return form
}

// pgAdminUser opens the script from which the page of pgAdmin learns who has signed in. Only a person with the group of
// OAUTH2_ADDITIONAL_CLAIMS can.
func pgAdminUser(groups ...string) func(t *testing.T, s *site, v *visitor) []byte {
	return func(t *testing.T, s *site, v *visitor) []byte {
		t.Helper()
		v.check(t, v.Open(s.url("/user_management/current_user.js")))
		email := pgAdminEmail.FindSubmatch(v.Page.Body)
		if email == nil {
			return v.Page.Body
		}
		shown, err := json.Marshal(person{Email: string(email[1]), Groups: groups})
		if err != nil {
			t.Fatal(err)
		}
		return shown
	}
}
