package mandate

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"mandate/testkit"
	"mandate/testkit/port"
)

// django-oauth-toolkit as a resource server, which asks this server about every token. Its users
// move from its authorization server to this one, and keep their APIs.

var djangoPackages = sync.OnceValues(func() (string, error) { return installPython("django") })

// djangoAPI starts testdata/django/api.py with the settings of OAUTH2_PROVIDER, and returns a server
// whose URL is that of the API.
func (s *server) djangoAPI(t *testing.T, provider map[string]any) *server {
	t.Helper()
	address := port.Address()
	provider["RESOURCE_SERVER_INTROSPECTION_URL"] = s.URL + "/o/introspect/"
	// By default the toolkit keeps each answer for ten hours. With 0 it accepts no token at all.
	provider["RESOURCE_SERVER_TOKEN_CACHING_SECONDS"] = 2
	provider["SCOPES"] = map[string]string{"read": "Read scope", "write": "Write scope", "groups": "Access to your groups"}
	settings, err := json.Marshal(map[string]any{"listen": address, "database": filepath.Join(t.TempDir(), "database"),
		"provider": provider})
	if err != nil {
		t.Fatal(err)
	}
	cmd, err := fromPyPI(djangoPackages, "django/api.py", string(settings))
	if err != nil {
		testkit.Missing(t, err.Error())
	}
	var log logBuffer
	api, err := launch(cmd, &log)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = api.cmd.Process.Kill()
		<-api.exited
		if t.Failed() {
			t.Logf("log of the API:\n%s", log.String())
		}
	})
	waitFor(t, "Django listens", func() bool {
		if !api.running() {
			t.Fatalf("Django has ended:\n%s", log.String())
		}
		conn, err := net.Dial("tcp", address)
		if err == nil {
			conn.Close()
		}
		return err == nil
	})
	return &server{URL: "http://" + address, client: s.client, secrets: s.secrets}
}

// TestDjangoResourceServer tries both ways in which such an API authenticates at the introspection
// endpoint, and its three answers.
func TestDjangoResourceServer(t *testing.T) {
	ownProcesses(t)
	testkit.NotShort(t, "Django")
	s := startServer(t, options{provider: []string{sampleScopes}})
	alice, app, asker := s.person(t, "alice"), s.whole(t, "service"), s.introspector(t)
	key := s.mustToken(t, asker.auth(), params("grant_type", "client_credentials", "scope", "introspection"))
	for name, provider := range map[string]map[string]any{
		"RESOURCE_SERVER_AUTH_TOKEN": {"RESOURCE_SERVER_AUTH_TOKEN": key.AccessToken},
		"RESOURCE_SERVER_INTROSPECTION_CREDENTIALS": {"RESOURCE_SERVER_INTROSPECTION_CREDENTIALS": []string{asker.ClientID,
			asker.ClientSecret}},
	} {
		t.Run(name, func(t *testing.T) {
			api := s.djangoAPI(t, provider)
			pair, whole := s.pair(t, app, alice, "scope", "read"), s.pair(t, app, alice)
			robot := s.mustToken(t, app.auth(), params("grant_type", "client_credentials", "scope", "read"))
			for _, call := range []struct {
				what, path, token string
				status            int
			}{
				{"a token with the scope", "/users/", pair.AccessToken, http.StatusOK},
				{"a token with the default scopes", "/groups/", whole.AccessToken, http.StatusOK},
				{"a token of an application", "/machine/", robot.AccessToken, http.StatusOK},
				{"a token without the scope", "/groups/", pair.AccessToken, http.StatusForbidden},
				{"an unknown token", "/users/", "mat_unknown", http.StatusUnauthorized},
				{"a refresh token", "/users/", pair.RefreshToken, http.StatusUnauthorized},
			} {
				a := api.get(t, call.path, bearer(call.token))
				if a.Status != call.status {
					t.Errorf("%s: %d %s, want %d", call.what, a.Status, a.Body, call.status)
				}
			}
			// The person of the token is a person of the API.
			if a := api.get(t, "/users/", bearer(pair.AccessToken)); !strings.Contains(a.Body, `"username":"alice"`) {
				t.Errorf("the API does not know whose token it is: %s", a.Body)
			}
			s.revoke(t, app.auth(), pair.AccessToken)
			waitFor(t, "the API refuses the revoked token", func() bool {
				return api.get(t, "/users/", bearer(pair.AccessToken)).Status == http.StatusUnauthorized
			})
		})
	}
}

// A token for one API has its aud, and the toolkit compares it with the URL of the request.
func TestDjangoResourceServerIsOneResource(t *testing.T) {
	ownProcesses(t)
	testkit.NotShort(t, "Django")
	s := startServer(t, options{provider: []string{sampleScopes}})
	alice := s.person(t, "alice")
	asker := s.application(t, "--name", "API", "--grant", "client_credentials", "--may-introspect")
	api := s.djangoAPI(t,
		map[string]any{"RESOURCE_SERVER_INTROSPECTION_CREDENTIALS": []string{asker.ClientID, asker.ClientSecret}})
	const another = "https://another.example/"
	for _, uri := range []string{api.URL + "/", another} {
		s.mustCLI(t, "", "resource", "add", uri, "--name", "API", "--scope", "read", "--introspector", asker.ClientID)
	}
	for resource, status := range map[string]int{api.URL + "/": http.StatusOK, another: http.StatusUnauthorized} {
		for _, format := range []string{"opaque", "jwt"} {
			t.Run(fmt.Sprintf("%s, %s", format, resource), func(t *testing.T) {
				formed := s.whole(t, format, "--access-token-format", format)
				token := s.pair(t, formed, alice, "scope", "read", "resource", resource).AccessToken
				if a := api.get(t, "/users/", bearer(token)); a.Status != status {
					t.Errorf("%d %s, want %d", a.Status, a.Body, status)
				}
			})
		}
	}
}
