package mandate

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mandate/app"
	"mandate/testkit/port"
)

// The resource server is a separate process. It knows the authorization server only by
// its settings.

// guard runs `mandate resource-server` in front of an API until the test ends. It
// shares with s only the list of secrets that no log may contain. rules are lines of
// RULES, settings are lines of OAUTH2_PROVIDER.
func (s *server) guard(t testing.TB, upstream string, rules []string, settings ...string) *server {
	t.Helper()
	return s.guardWith(t, options{provider: settings}, upstream, rules)
}

// guardWith is guard with other options.
func (s *server) guardWith(t testing.TB, o options, upstream string, rules []string) *server {
	t.Helper()
	o.database = newSQLite(t)
	o.settings = append(o.settings, "UPSTREAM: "+quote(upstream), "RULES: ["+strings.Join(rules, ", ")+"]")
	g := newServer(t, o, "", newKey(), s.secrets)
	if g.separate() {
		g.launch(t, g.binary(t), "resource-server")
	} else {
		g.process = g.inside(app.Process.Protect)
	}
	waitFor(t, "the resource server answers at "+g.URL, func() bool {
		if !g.process.running() {
			t.Fatalf("the resource server ended at once:\n%s", g.log.String())
		}
		answer, err := g.client.Get(g.URL)
		if err == nil {
			answer.Body.Close()
		}
		return err == nil
	})
	return g
}

// upstream starts an API that does not support OAuth. It returns the request that it
// received.
func upstream(t testing.TB) (*httptest.Server, func() []*http.Request) {
	t.Helper()
	var mu sync.Mutex
	var requests []*http.Request
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		requests = append(requests, r)
		fmt.Fprint(w, "upstream ", r.Method, " ", r.URL.Path)
	}))
	t.Cleanup(api.Close)
	return api, func() []*http.Request {
		mu.Lock()
		defer mu.Unlock()
		return requests
	}
}

// Exactly one of the two kinds of credentials must be set. With both or none, the start
// fails and the message names the settings.
func TestSpecGuardSettings(t *testing.T) {
	t.Parallel()
	const (
		address     = "RESOURCE_SERVER_INTROSPECTION_URL: http://127.0.0.1:1/o/introspect/"
		token       = "RESOURCE_SERVER_AUTH_TOKEN: mat_secretsecret"
		credentials = "RESOURCE_SERVER_INTROSPECTION_CREDENTIALS: [client, secretsecret]"
	)
	names := []string{"RESOURCE_SERVER_AUTH_TOKEN", "RESOURCE_SERVER_INTROSPECTION_CREDENTIALS"}
	for _, c := range []struct {
		name     string
		settings []string
		want     []string
	}{
		{"both", []string{address, token, credentials}, names},
		{"none", []string{address}, names},
		{"a token without an address", []string{token}, []string{"RESOURCE_SERVER_INTROSPECTION_URL"}},
		{"credentials without an address", []string{credentials}, []string{"RESOURCE_SERVER_INTROSPECTION_URL"}},
		{"half a pair", []string{address, "RESOURCE_SERVER_INTROSPECTION_CREDENTIALS: [client]"}, names[1:]},
	} {
		for _, command := range []string{"resource-server", "serve"} {
			t.Run(c.name+" at "+command, func(t *testing.T) {
				dir := t.TempDir()
				lines := []string{"LISTEN: " + quote(port.Address()), "UPSTREAM: http://127.0.0.1:1", "RULES: [{PATH: /}]",
					"SAMPLE_API: true",
					"OAUTH2_PROVIDER:", "  " + strings.Join(c.settings, "\n  ")}
				config := filepath.Join(dir, "mandate.yaml")
				err := os.WriteFile(config, []byte(strings.Join(lines, "\n")+"\n"), 0o600)
				if err != nil {
					t.Fatal(err)
				}
				r := run(t, dir, nil, "", command, "--config", config)
				if r.code != 1 || r.stdout != "" {
					t.Errorf("exit code %d, standard output %q", r.code, r.stdout)
				}
				for _, name := range c.want {
					if !strings.Contains(r.stderr, name) {
						t.Errorf("standard error does not name %s:\n%s", name, r.stderr)
					}
				}
				if strings.Contains(r.stderr, "secretsecret") {
					t.Errorf("standard error holds the secret:\n%s", r.stderr)
				}
			})
		}
	}
}

// RFC 7662 §2.1: the request of the resource server, to an endpoint that is not ours.
func TestSpecGuardQuestion(t *testing.T) {
	for _, c := range []struct{ name, setting, authorization string }{
		{"by token", "RESOURCE_SERVER_AUTH_TOKEN: key-of-the-api", "Bearer key-of-the-api"},
		{"by credentials", "RESOURCE_SERVER_INTROSPECTION_CREDENTIALS: [api, api-secret]",
			"Basic " + base64.StdEncoding.EncodeToString([]byte("api:api-secret"))},
	} {
		t.Run(c.name, func(t *testing.T) {
			var mu sync.Mutex
			asked := map[string]int{}
			endpoint := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				mu.Lock()
				defer mu.Unlock()
				err := r.ParseForm()
				got := []string{r.Method, r.URL.String(), r.Header.Get("Content-Type"), r.Header.Get("Accept"),
					r.Header.Get("Authorization")}
				want := []string{"POST", "/o/introspect/", "application/x-www-form-urlencoded", "application/json", c.authorization}
				if diff := cmp.Diff(want, got); diff != "" || err != nil {
					t.Errorf("question, %v (-want +got):\n%s", err, diff)
				}
				token := r.PostForm.Get("token")
				if token != "good-token" && token != "bad-token" {
					token = "a token of nobody" // the question at the start
				}
				asked[token]++
				w.Header().Set("Content-Type", "application/json")
				live := token == "good-token"
				_ = json.NewEncoder(w).Encode(map[string]any{"active": live, "scope": "read", "client_id": "app",
					"username": "alice"})
			}))
			defer endpoint.Close()
			api, requests := upstream(t)
			s := &server{secrets: &vault{}}
			s.secret("key-of-the-api")
			s.secret("api-secret")
			g := s.guard(t, api.URL,
				[]string{"{PATH: /users, METHODS: [GET], SCOPES: [read]}", "{PATH: /users, METHODS: [POST], SCOPES: [write]}"},
				"RESOURCE_SERVER_INTROSPECTION_URL: "+quote(endpoint.URL+"/o/introspect/"), c.setting)
			for range 3 {
				if a := g.get(t, "/users/", bearer("good-token")); a.Status != http.StatusOK || a.Body != "upstream GET /users/" {
					t.Errorf("%d %s", a.Status, a.Body)
				}
			}
			checkPermission(t, g.post(t, "/users/", bearer("good-token"), params("username", "bob")), "write")
			checkDetail(t, g.get(t, "/users/", bearer("bad-token")), http.StatusUnauthorized, "invalid_token")
			checkDetail(t, g.get(t, "/users/", nobody), http.StatusUnauthorized, "")
			// A request that no rule covers is refused with any token.
			if a := g.get(t, "/other", bearer("good-token")); a.Status != http.StatusForbidden {
				t.Errorf("a path without a rule gave %d", a.Status)
			}
			// Answers are cached for some seconds, so each token caused one request.
			waitFor(t, "the question at the start", func() bool {
				mu.Lock()
				defer mu.Unlock()
				return asked["a token of nobody"] > 0
			})
			want := map[string]int{"good-token": 1, "bad-token": 1, "a token of nobody": 1}
			if diff := cmp.Diff(want, asked); diff != "" {
				t.Errorf("questions (-want +got):\n%s", diff)
			}
			if len(requests()) != 3 {
				t.Errorf("%d requests went through, want 3", len(requests()))
			}
			for _, r := range requests() {
				if r.Header.Get("Authorization") != "" || r.Header.Get("X-Token-Username") != "alice" ||
					r.Header.Get("X-Token-Scope") != "read" {
					t.Errorf("the API got the headers %v", r.Header)
				}
			}
		})
	}
}

// If the endpoint does not answer, a token is neither active nor inactive.
func TestSpecGuardWithoutProvider(t *testing.T) {
	api, requests := upstream(t)
	s := &server{secrets: &vault{}}
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	broken := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	defer broken.Close()
	refusing := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusUnauthorized) // the credentials of the resource server are wrong
	}))
	defer refusing.Close()
	for name, endpoint := range map[string]string{"no connection": gone.URL, "503": broken.URL, "401": refusing.URL} {
		t.Run(name, func(t *testing.T) {
			g := s.guard(t, api.URL, []string{"{PATH: /}"}, "RESOURCE_SERVER_INTROSPECTION_URL: "+
				quote(endpoint+"/o/introspect/"),
				"RESOURCE_SERVER_AUTH_TOKEN: key")
			a := g.get(t, "/users/", bearer("some-token"))
			if a.Status != http.StatusServiceUnavailable || a.Header.Get("Retry-After") == "" {
				t.Errorf("%d, Retry-After %q: %s", a.Status, a.Header.Get("Retry-After"), a.Body)
			}
		})
	}
	if len(requests()) != 0 {
		t.Errorf("%d requests went through", len(requests()))
	}
}
