package handlers

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/gorilla/mux"

	"mandate/handlers/resource"
	"mandate/templates"
)

// What a person's cookie does is protected; this finds a route that was
// forgotten.
func TestEveryOtherFormIsProtected(t *testing.T) {
	pages, err := templates.New("")
	if err != nil {
		t.Fatal(err)
	}
	guard, err := resource.NewGuard(resource.GuardConfig{Verifier: verifier{}})
	if err != nil {
		t.Fatal(err)
	}
	s, err := newServer(Config{BaseURL: &url.URL{Scheme: "https", Host: "id.example.com"}, SampleAPI: guard}, nil, pages)
	if err != nil {
		t.Fatal(err)
	}
	routes := s.routes().(*router)
	paths := slices.Collect(maps.Keys(routes.fixed))
	err = routes.Walk(func(route *mux.Route, _ *mux.Router, _ []*mux.Route) error {
		path, err := route.GetPathTemplate()
		paths = append(paths, path)
		return err
	})
	if err != nil || len(paths) < 50 {
		t.Errorf("%d routes, %v", len(paths), err)
	}
	open := []string{"/o/token", "/o/revoke_token", "/o/revoke", "/o/introspect", "/o/authorize"}
	for _, path := range paths {
		if strings.HasPrefix(path, "/static/") || slices.Contains(open, strings.TrimSuffix(path, "/")) {
			continue
		}
		r := httptest.NewRequest(post, strings.NewReplacer("{", "", "}", "").Replace(path), nil)
		r.Header.Set("Origin", "https://evil.example.com")
		r.Header.Set("Sec-Fetch-Site", "cross-site")
		w := httptest.NewRecorder()
		routes.ServeHTTP(w, r)
		if w.Code != 403 && w.Code != 405 && w.Code != 401 {
			t.Errorf("POST %s from another site: %d", path, w.Code)
		}
	}
}

func TestBothSlashesAndBothBases(t *testing.T) {
	for _, base := range []string{"", "/auth"} {
		s := newSite(t, base)
		v := s.visitor(t)
		for path, status := range map[string]int{
			"/": 200, "/login": 200, "/login/": 200, "/account": 303, "/account/": 303, "/o/applications": 303, "/o/applications/": 303,
			"/o/applications/register": 303, "/healthz": 200, "/healthz/": 200, "/readyz": 200, "/o/token": 405, "/o/token/": 405, "/o/authorize": 400,
			"/.well-known/oauth-authorization-server": 200, "/.well-known/oauth-authorization-server/o": 200, "/o/.well-known/oauth-authorization-server": 200,
			"/o/.well-known/oauth-authorization-server/": 200,
			"/nothing": 404, "/o/token/x": 404, "/o//token/": 404, "/o/../login/": 404, "/users/": 404, "/resource": 404, "/static/none.css": 404, "/setup/x/": 404,
			"/o/authorized_tokens/": 303,
		} {
			if got := v.get(t, path); got.StatusCode != status {
				t.Errorf("GET %s%s: %d, expected %d", base, path, got.StatusCode, status)
			}
		}
	}
	// A proxy may hand us the root form as it came in, and probes the bare node.
	s := newSite(t, "/auth")
	root := strings.TrimSuffix(s.base, "/auth")
	for path, status := range map[string]int{"/.well-known/oauth-authorization-server/auth/o": 200, "/healthz": 200, "/readyz": 200, "/": 404, "/login/": 404} {
		got, err := http.Get(root + path)
		if err != nil {
			t.Fatal(err)
		}
		got.Body.Close()
		if got.StatusCode != status {
			t.Errorf("GET %s: %d, expected %d", path, got.StatusCode, status)
		}
	}
}

func TestWrongMethod(t *testing.T) {
	s := newSite(t, "")
	v := s.visitor(t)
	for _, test := range []struct{ method, path, allow, kind string }{
		{"GET", "/o/token/", "POST", "application/json"},
		{"PUT", "/o/revoke_token", "POST", "application/json"},
		{"DELETE", "/o/introspect/", "POST", "application/json"},
		{"OPTIONS", "/o/token/", "POST", "application/json"},
		{"POST", "/.well-known/oauth-authorization-server", "GET, HEAD", "application/json"},
		{"POST", "/account/", "GET, HEAD", "text/html; charset=utf-8"},
		{"PUT", "/login/", "GET, HEAD, POST", "text/html; charset=utf-8"},
		{"GET", "/o/consent/", "POST", "text/html; charset=utf-8"},
	} {
		got := v.do(t, v.request(t, test.method, test.path, ""))
		if got.StatusCode != 405 || got.Header.Get("Allow") != test.allow || got.Header.Get("Content-Type") != test.kind {
			t.Errorf("%s %s: %d, Allow %q, %s", test.method, test.path, got.StatusCode, got.Header.Get("Allow"), got.Header.Get("Content-Type"))
		}
	}
	got := v.do(t, v.request(t, "HEAD", "/login/", ""))
	if got.StatusCode != 200 || got.body != "" || got.ContentLength < 100 {
		t.Errorf("HEAD: %d, %d bytes", got.StatusCode, got.ContentLength)
	}
}

func TestSharedWithScripts(t *testing.T) {
	s := newSite(t, "")
	v := s.visitor(t)
	for path, shared := range map[string]bool{
		"/o/token/": true, "/o/revoke_token/": true, "/o/revoke/": true, "/.well-known/oauth-authorization-server": true,
		"/o/introspect/": false, "/o/authorize/": false, "/login/": false, "/account/": false,
	} {
		r := v.request(t, "OPTIONS", path, "")
		r.Header.Set("Origin", "https://app.example.com")
		r.Header.Set("Access-Control-Request-Method", "POST")
		got := v.do(t, r)
		if (got.StatusCode == 204) != shared || (got.Header.Get("Access-Control-Allow-Origin") == "*") != shared || got.Header.Get("Access-Control-Allow-Credentials") != "" {
			t.Errorf("preflight of %s: %d %v", path, got.StatusCode, got.Header)
		}
		// Errors can be read too.
		got = v.do(t, v.request(t, "POST", path, "a=b"))
		if (got.Header.Get("Access-Control-Allow-Origin") == "*") != shared {
			t.Errorf("POST %s: %d %v", path, got.StatusCode, got.Header)
		}
	}
}

func TestSampleAPI(t *testing.T) {
	s := newSite(t, "/auth", func(c *Config) {
		guard, err := resource.NewGuard(resource.GuardConfig{Verifier: verifier{}})
		if err != nil {
			t.Fatal(err)
		}
		c.SampleAPI = guard
	})
	v := s.visitor(t)
	for _, test := range []struct {
		method, path, token string
		status              int
		text                string
	}{
		{"GET", "/users/", "", 401, `{"detail":"Authentication credentials were not provided."}`},
		{"GET", "/users", "read", 200, `"username":"alice"`},
		{"GET", "/users/2/", "read", 200, `"username":"alice"`},
		{"GET", "/users/99/", "read", 404, `{"detail":`},
		{"GET", "/users/x/", "read", 404, `{"detail":`},
		{"POST", "/users/", "read", 403, `{"detail":"You do not have permission to perform this action."}`},
		{"POST", "/users/", "write", 201, `"username":"bob"`},
		{"POST", "/users/", "write", 400, `{"username":[`},
		{"GET", "/groups/", "read", 403, `{"detail":`},
		{"GET", "/groups/", "groups", 200, `[]`},
		{"GET", "/resource", "other", 200, `"scope":["other"]`},
		{"GET", "/resource/", "other", 200, `"scope":["other"]`},
		{"PUT", "/users/", "write", 405, `{"detail":`},
	} {
		body := ""
		if test.method == "POST" {
			body = "username=bob&password=correct+horse+battery&scope=write"
		}
		r := v.request(t, test.method, test.path, body)
		if test.token != "" {
			r.Header.Set("Authorization", "Bearer "+test.token)
		}
		got := v.do(t, r)
		got.wants(t, test.status, test.text)
		if !json.Valid([]byte(got.body)) || got.Header.Get("Content-Type") != "application/json" || got.Header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s %s: %v %s", test.method, test.path, got.Header, got.body)
		}
	}
}
