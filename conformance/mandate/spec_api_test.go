package mandate

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The sample protected API: its resources, and the scope that each request needs.

const sampleScopes = "SCOPES: {read: Read scope, write: Write scope, groups: Access to your groups, introspection: " +
	"Introspect token scope}"

// list decodes a JSON array.
func list(t testing.TB, a answer) []map[string]any {
	t.Helper()
	if a.Status != http.StatusOK {
		t.Fatalf("status %d: %s", a.Status, a.Body)
	}
	checkType(t, a, "application/json")
	var got []map[string]any
	err := json.Unmarshal([]byte(a.Body), &got)
	if err != nil || got == nil {
		t.Fatalf("%v, want an array: %s", err, a.Body)
	}
	return got
}

func sampleUser(username, email, first, last string) map[string]any {
	return map[string]any{"username": username, "email": email, "first_name": first, "last_name": last}
}

func TestSpecSampleResources(t *testing.T) {
	onADatabase(t, func(t *testing.T, db database) {
		s := startServer(t, options{database: db, settings: []string{"SAMPLE_API: true"}, provider: []string{sampleScopes}})
		s.mustCLI(t, "", "group", "add", "staff")
		s.mustCLI(t, "", "group", "add", "friends")
		alice := s.person(t, "alice", "--email", "alice@example.org", "--first-name", "Alice", "--last-name", "Liddell",
			"--group", "staff")
		app := s.whole(t, "all grants")
		as := bearer(s.pair(t, app, alice).AccessToken)
		first := sampleUser("alice", "alice@example.org", "Alice", "Liddell")
		t.Run("GET /users/ lists users", func(t *testing.T) {
			if diff := cmp.Diff([]map[string]any{first}, list(t, s.get(t, "/users/", as))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
		t.Run("GET /users/{id}/ shows one user", func(t *testing.T) {
			a := s.get(t, "/users/1/", as)
			if diff := cmp.Diff(first, object(t, a)); a.Status != http.StatusOK || diff != "" {
				t.Errorf("status %d (-want +got):\n%s", a.Status, diff)
			}
		})
		for _, id := range []string{"999", "0", "-1", "x", "99999999999999999999"} {
			t.Run("GET /users/{id}/ knows no "+id, func(t *testing.T) {
				a := s.get(t, "/users/"+id+"/", as)
				if detail, _ := object(t, a)["detail"].(string); a.Status != http.StatusNotFound || detail == "" {
					t.Errorf("%d %s", a.Status, a.Body)
				}
			})
		}
		t.Run("GET /groups/ lists groups", func(t *testing.T) {
			got := list(t, s.get(t, "/groups/", as))
			slices.SortFunc(got, func(a, b map[string]any) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
			if diff := cmp.Diff([]map[string]any{{"name": "friends"}, {"name": "staff"}}, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
		t.Run("POST /users/ makes a user whose password works", func(t *testing.T) {
			bob := person{"bob", s.secret("the password of bob")}
			a := s.post(t, "/users/", as, params("username", bob.Name, "password", bob.Password, "scope", "write"))
			if diff := cmp.Diff(sampleUser("bob", "", "", ""), object(t, a)); a.Status != http.StatusCreated || diff != "" {
				t.Fatalf("status %d (-want +got):\n%s", a.Status, diff)
			}
			s.checkGranted(t, s.password(t, app.auth(), bob), "read write groups", true)
			b := s.browser(t)
			b.open(t, "/account/")
			b.logIn(t, bob)
			if b.Status != http.StatusOK || b.URL.Path != "/account/" {
				t.Errorf("signing in leads to %d %s", b.Status, b.URL)
			}
		})
		for _, c := range []struct{ name, field, username, password string }{
			{"a username that is taken", "username", "alice", "another password of hers"},
			{"no username", "username", "", "some long password"},
			{"no password", "password", "carol", ""},
			{"a short password", "password", "carol", "short"},
		} {
			t.Run("POST /users/ refuses "+c.name, func(t *testing.T) {
				a := s.post(t, "/users/", as, params("username", c.username, "password", c.password))
				got := object(t, a)
				texts, _ := got[c.field].([]any)
				if a.Status != http.StatusBadRequest || len(texts) == 0 {
					t.Errorf("%d %s, want a text at %s", a.Status, a.Body, c.field)
				}
			})
		}
		t.Run("GET /resource takes any live token", func(t *testing.T) {
			a := s.get(t, "/resource", bearer(s.pair(t, app, alice, "scope", "write").AccessToken))
			if a.Status != http.StatusOK {
				t.Errorf("%d %s", a.Status, a.Body)
			}
		})
	})
}

// Each path and method is tried with each scope. Only the required scope gives access.
func TestSpecSampleScopes(t *testing.T) {
	onADatabase(t, func(t *testing.T, db database) {
		s := startServer(t, options{database: db, settings: []string{"SAMPLE_API: true"}, provider: []string{sampleScopes}})
		alice, app := s.person(t, "alice"), s.whole(t, "all grants", "--may-introspect")
		count := 0
		for _, c := range []struct {
			method, path, scope string
			status              int
		}{
			{"GET", "/users/", "read", 200}, {"GET", "/users/1/", "read", 200}, {"POST", "/users/", "write", 201},
			{"GET", "/groups/", "groups", 200},
			{"GET", "/users", "read", 200}, {"GET", "/groups", "groups", 200}, {"POST", "/users", "write", 201},
		} {
			call := func(t *testing.T, as auth) answer {
				t.Helper()
				if c.method == "GET" {
					return s.get(t, c.path, as)
				}
				count++
				return s.post(t, c.path, as, params("username", fmt.Sprintf("user%d", count), "password", "a password of its own",
					"scope", "write"))
			}
			for _, scope := range []string{"read", "write", "groups", "introspection"} {
				t.Run(c.method+" "+c.path+" with "+scope, func(t *testing.T) {
					a := call(t, bearer(s.pair(t, app, alice, "scope", scope).AccessToken))
					if scope != c.scope {
						checkPermission(t, a, c.scope)
					} else if a.Status != c.status {
						t.Errorf("%d %s", a.Status, a.Body)
					}
				})
			}
			t.Run(c.method+" "+c.path+" without a token", func(t *testing.T) {
				checkDetail(t, call(t, nobody), http.StatusUnauthorized, "")
			})
			t.Run(c.method+" "+c.path+" with a bad token", func(t *testing.T) {
				checkDetail(t, call(t, bearer("mat_unknown")), http.StatusUnauthorized, "invalid_token")
			})
		}
		for name, text := range map[string]string{"no token": "", "a bad token": "mat_unknown"} {
			t.Run("GET /resource with "+name, func(t *testing.T) {
				as, code := nobody, ""
				if text != "" {
					as, code = bearer(text), "invalid_token"
				}
				checkDetail(t, s.get(t, "/resource", as), http.StatusUnauthorized, code)
			})
		}
		t.Run("a refresh token opens nothing", func(t *testing.T) {
			pair := s.pair(t, app, alice)
			checkDetail(t, s.get(t, "/resource", bearer(pair.RefreshToken)), http.StatusUnauthorized, "invalid_token")
		})
		t.Run("the word Bearer may be written in any case", func(t *testing.T) {
			token := s.pair(t, app, alice).AccessToken
			request, err := http.NewRequest("GET", s.URL+"/users/", nil)
			if err != nil {
				t.Fatal(err)
			}
			request.Header.Set("Authorization", "bearer "+token)
			a, err := s.do(request)
			if err != nil || a.Status != http.StatusOK {
				t.Errorf("%d %s, %v", a.Status, a.Body, err)
			}
		})
		for path, allow := range map[string]string{"/users/": "GET, POST", "/users/1/": "GET", "/groups/": "GET",
			"/resource": "GET"} {
			t.Run("another method at "+path, func(t *testing.T) {
				request, err := http.NewRequest("DELETE", s.URL+path, nil)
				if err != nil {
					t.Fatal(err)
				}
				bearer(s.pair(t, app, alice).AccessToken)(request, nil)
				a, err := s.do(request)
				if err != nil || a.Status != http.StatusMethodNotAllowed {
					t.Fatalf("%d %s, %v", a.Status, a.Body, err)
				}
				for method := range strings.SplitSeq(allow, ", ") {
					if !strings.Contains(a.Header.Get("Allow"), method) {
						t.Errorf("Allow %q, want %s", a.Header.Get("Allow"), allow)
					}
				}
			})
		}
	})
}

// If SCOPES does not list the scope groups, it is no default scope. With OpenID Connect it exists all the same, and an
// application gets it by its name. Without, no token can have it.
func TestSpecSampleWithoutGroups(t *testing.T) {
	onADatabase(t, func(t *testing.T, db database) {
		s := startServer(t, options{database: db, settings: []string{"SAMPLE_API: true"}})
		alice, app := s.person(t, "alice"), s.whole(t, "all grants")
		for _, openID := range []string{"on", "off"} {
			s.turnOpenID(t, openID)
			pair := s.checkGranted(t, s.password(t, app.auth(), alice), "read write", true)
			checkPermission(t, s.get(t, "/groups/", bearer(pair.AccessToken)), "groups")
			named := s.password(t, app.auth(), alice, "scope", "groups")
			if openID == "off" {
				checkRefused(t, named, http.StatusBadRequest, "invalid_scope")
				continue
			}
			pair = s.checkGranted(t, named, "groups", true)
			checkEqual(t, "the groups", s.get(t, "/groups/", bearer(pair.AccessToken)).Status, http.StatusOK)
		}
	})
}

// The sample API is off unless it is configured.
func TestSpecSampleOff(t *testing.T) {
	onADatabase(t, func(t *testing.T, db database) {
		s := startServer(t, options{database: db})
		alice, app := s.person(t, "alice"), s.whole(t, "all grants")
		as := bearer(s.pair(t, app, alice).AccessToken)
		for _, path := range []string{"/users/", "/users/1/", "/groups/", "/resource"} {
			if a := s.get(t, path, as); a.Status != http.StatusNotFound {
				t.Errorf("%s answers %d", path, a.Status)
			}
		}
	})
}
