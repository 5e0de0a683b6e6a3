//go:build foreign

package programs

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"mandate/conformance/browser"
	"mandate/conformance/servertest"
	"mandate/conformance/wire"
)

// pocketBase is a backend with a page in front of it, which signs people in as its documentation shows under "Manual
// code exchange". A migration has what people choose in the dashboard: OpenID Connect, and the addresses of the
// provider.
func pocketBase() program {
	const migration = `migrate(app => {
  const users = app.findCollectionByNameOrId('users')
  unmarshal({ oauth2: { enabled: true, providers: [PROVIDER] } }, users)
  app.save(users)
})
`
	const signedIn = "/signed-in.html"
	var verifier string
	return program{
		name: "PocketBase", version: goVersion("pocketbase", "github.com/pocketbase/pocketbase"), redirect: signedIn,
		login: "/", presses: true, shows: noGroups,
		start: func(t *testing.T, s *site) *exec.Cmd {
			provider, err := json.Marshal(
				map[string]any{
					"name":         "oidc",
					"displayName":  "Mandate",
					"clientId":     s.id,
					"clientSecret": s.secret,
					"pkce":         true,
					"authURL":      s.server.issuer + "/authorize/",
					"tokenURL":     s.server.issuer + "/token/",
					"userInfoURL":  s.server.issuer + "/userinfo/",
				},
			)
			public := filepath.Join(s.folder, "pb_public")
			err = errors.Join(
				err,
				os.Mkdir(public, 0o700),
				os.WriteFile(filepath.Join(public, "index.html"), []byte("Sign in"), 0o600),
				os.WriteFile(filepath.Join(public, filepath.Base(signedIn)), []byte("Signed in"), 0o600),
			)
			if err != nil {
				t.Fatal(err)
			}
			s.write(
				t,
				filepath.Join("pb_migrations", "1_provider.js"),
				string(bytes.Replace([]byte(migration), []byte("PROVIDER"), provider, 1)),
			)
			cmd := exec.Command(
				fromGo(t, "pocketbase", "github.com/pocketbase/pocketbase/examples/base"),
				"serve",
				"--http",
				s.address,
				"--dir",
				filepath.Join(s.folder, "pb_data"),
				"--publicDir",
				public,
				"--migrationsDir",
				filepath.Join(s.folder, "pb_migrations"),
			)
			cmd.Dir, cmd.Env = s.folder, servertest.Environment()
			return cmd
		},
		button: func(page *wire.Answer) *browser.Form {
			at := page.URL.Scheme + "://" + page.URL.Host
			form := &browser.Form{Method: http.MethodGet}
			answer, err := http.Get(at + "/api/collections/users/auth-methods")
			if err != nil {
				return form
			}
			defer answer.Body.Close()
			var offered struct {
				OAuth2 struct {
					Providers []struct{ CodeVerifier, AuthURL string }
				}
			}
			err = json.NewDecoder(answer.Body).Decode(&offered)
			if err != nil || len(offered.OAuth2.Providers) != 1 {
				return form
			}
			verifier = offered.OAuth2.Providers[0].CodeVerifier
			to, err := url.Parse(offered.OAuth2.Providers[0].AuthURL + url.QueryEscape(at+signedIn))
			if err == nil {
				form.Values, to.RawQuery = to.Query(), ""
				form.Action = to.String()
			}
			return form
		},
		reads: func(t *testing.T, s *site, v *visitor) []byte {
			t.Helper()
			body, _ := json.Marshal(
				map[string]string{"provider": "oidc", "code": v.Page.URL.Query().Get("code"), "codeVerifier": verifier,
					"redirectURL": s.url(signedIn)},
			)
			answer, err := http.Post(
				s.url("/api/collections/users/auth-with-oauth2"),
				"application/json",
				bytes.NewReader(body),
			)
			if err != nil {
				t.Fatal(err)
			}
			defer answer.Body.Close()
			var said struct{ Record json.RawMessage }
			err = json.NewDecoder(answer.Body).Decode(&said)
			if err != nil || answer.StatusCode != http.StatusOK {
				t.Fatalf("PocketBase says %s: %v", answer.Status, err)
			}
			return said.Record
		},
	}
}
