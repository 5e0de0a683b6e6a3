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
	"mandate/handlers/web"
	"mandate/templates"
)

// What a person's cookie does is protected; this finds a route that was
// forgotten.
func TestEveryOtherFormIsProtected(t *testing.T) {
	pages, err := templates.New("", templates.Brand{})
	if err != nil {
		t.Fatal(err)
	}
	guard, err := resource.NewGuard(resource.GuardConfig{
		Verifier:             verifier{},
		Audience:             "https://id.example.com",
		AuthorizationServers: []string{"https://id.example.com/o"},
	})
	if err != nil {
		t.Fatal(err)
	}
	s, err := web.New(Config{
		BaseURL:      &url.URL{Scheme: "https", Host: "id.example.com"},
		SampleAPI:    guard,
		Registration: true,
		OpenID:       true,
		RPLogout:     true,
	}, nil, pages)
	if err != nil {
		t.Fatal(err)
	}
	routes := routes(s).(*router)
	paths := slices.Collect(maps.Keys(routes.fixed))
	err = routes.Walk(func(route *mux.Route, _ *mux.Router, _ []*mux.Route) error {
		path, err := route.GetPathTemplate()
		paths = append(paths, path)
		return err
	})
	if err != nil || len(paths) < 50 {
		t.Errorf("%d routes, %v", len(paths), err)
	}
	open := []string{"/o/token", "/o/revoke_token", "/o/revoke", "/o/introspect", "/o/authorize", "/o/par",
		"/o/device_authorization", "/o/device-authorization", "/o/register",
		"/o/userinfo", "/o/logout"} // TestOpenIDEndpointsFromAnotherSite
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

// An application may send a browser to the end session endpoint by a form of its own (OIDC RP-Logout §2), which ends no
// session before the person has confirmed it. The UserInfo endpoint knows nobody by the cookie.
func TestOpenIDEndpointsFromAnotherSite(t *testing.T) {
	s := newSite(t, "", func(c *Config) { c.OpenID, c.RPLogout = true, true })
	v := s.as(t, "alice")
	for path, status := range map[string]int{"/o/userinfo/": 401, "/o/logout/": 303} {
		r := v.request(t, post, path, "")
		r.Header.Set("Origin", "https://evil.example.com")
		r.Header.Set("Sec-Fetch-Site", "cross-site")
		got := v.do(t, r)
		got.wants(t, status)
		if status == http.StatusSeeOther {
			v.follow(t, got).wants(t, 200, `action="/logout/"`)
		}
		v.get(t, "/account/").wants(t, 200)
	}
}

func TestBothSlashesAndBothBases(t *testing.T) {
	for _, base := range []string{"", "/auth"} {
		s := newSite(t, base)
		v := s.visitor(t)
		for path, status := range map[string]int{
			"/": 200, "/login": 200, "/login/": 200, "/account": 303, "/account/": 303, "/o/applications": 303,
			"/o/applications/":         303,
			"/o/applications/register": 303, "/healthz": 200, "/healthz/": 200, "/readyz": 200, "/o/token": 405,
			"/o/token/": 405, "/o/authorize": 400,
			"/.well-known/oauth-authorization-server": 200, "/.well-known/oauth-authorization-server/o": 200,
			"/o/.well-known/oauth-authorization-server":  200,
			"/o/.well-known/oauth-authorization-server/": 200,
			"/nothing": 404, "/o/token/x": 404, "/o//token/": 404, "/o/../login/": 404, "/users/": 404, "/resource": 404,
			"/static/none.css": 404, "/setup/x/": 404,
			"/o/authorized_tokens/": 303,
		} {
			if got := v.get(t, path); got.StatusCode != status {
				t.Errorf("GET %s%s: %d, expected %d", base, path, got.StatusCode, status)
			}
		}
	}
	// A proxy may hand us the root form as it came in, and probes the bare node. A client
	// may drop the path of the issuer.
	s := newSite(t, "/auth", func(c *Config) { c.OpenID = true })
	root := strings.TrimSuffix(s.base, "/auth")
	for path, status := range map[string]int{"/.well-known/oauth-authorization-server/auth/o": 200,
		"/.well-known/openid-configuration/auth/o": 200,
		"/.well-known/oauth-authorization-server":  200, "/.well-known/openid-configuration": 200, "/healthz": 200,
		"/readyz": 200, "/": 404, "/login/": 404} {
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
			t.Errorf("%s %s: %d, Allow %q, %s", test.method, test.path, got.StatusCode, got.Header.Get("Allow"),
				got.Header.Get("Content-Type"))
		}
	}
	got := v.do(t, v.request(t, "HEAD", "/login/", ""))
	if got.StatusCode != 200 || got.body != "" || got.ContentLength < 100 {
		t.Errorf("HEAD: %d, %d bytes", got.StatusCode, got.ContentLength)
	}
}

// RFC 10017 §6.3.3.4: exactly the endpoints that an application in a browser calls allow
// it, with the methods of the route. A preflight request is answered before anything
// else, and whatever method it announces.
func TestSharedWithScripts(t *testing.T) {
	s := newSite(t, "", func(c *Config) { c.OpenID, c.RPLogout = true, true })
	v := s.visitor(t)
	const documents = "GET, HEAD"
	for path, methods := range map[string]string{
		"/o/token/": "POST", "/o/revoke_token/": "POST", "/o/revoke": "POST", "/o/userinfo/": "GET, HEAD, POST",
		"/o/.well-known/jwks.json":                documents,
		"/.well-known/oauth-authorization-server": documents, "/.well-known/openid-configuration": documents,
		"/.well-known/openid-configuration/o": documents,
		"/o/introspect/":                      "", "/o/authorize/": "", "/o/consent/": "", "/o/logout/": "", "/login/": "",
		"/logout/":  "",
		"/account/": "", "/o/applications/": "", "/healthz": "", "/": "",
	} {
		shared := methods != ""
		for _, method := range []string{"POST", "BREW"} {
			r := v.request(t, "OPTIONS", path, "")
			r.Header.Set("Origin", "https://app.example.com")
			r.Header.Set("Access-Control-Request-Method", method)
			got := v.do(t, r)
			h := got.Header
			if (got.StatusCode == 204) != shared || (h.Get("Access-Control-Allow-Origin") == "*") != shared ||
				h.Get("Access-Control-Allow-Credentials") != "" || h.Get("Access-Control-Allow-Methods") != methods {
				t.Errorf("preflight of %s: %d %v", path, got.StatusCode, h)
			}
			const headers = "Authorization, Content-Type, DPoP, MCP-Protocol-Version, *"
			if shared && h.Get("Access-Control-Allow-Headers") != headers {
				t.Errorf("preflight of %s: %v", path, h)
			}
		}
		// Errors can be read too.
		got := v.do(t, v.request(t, "POST", path, "a=b"))
		h := got.Header
		if (h.Get("Access-Control-Allow-Origin") == "*") != shared ||
			strings.HasPrefix(h.Get("Access-Control-Expose-Headers"), "WWW-Authenticate, Retry-After, DPoP-Nonce") != shared {
			t.Errorf("POST %s: %d %v", path, got.StatusCode, h)
		}
	}
}

// RFC 9728 §3.1, §5.1: the sample API describes itself at the path form of the base URL,
// which is not below the base path, and nowhere else.
func TestSampleAPIMetadata(t *testing.T) {
	const wellKnown = "/.well-known/oauth-protected-resource"
	for _, base := range []string{"", "/auth"} {
		s := newSite(t, base, func(c *Config) {
			guard, err := resource.NewGuard(resource.GuardConfig{Verifier: verifier{}, Audience: c.BaseURL.String(),
				AuthorizationServers: []string{c.BaseURL.String() + "/o"}, AllowedOrigins: []string{"*"}})
			if err != nil {
				t.Fatal(err)
			}
			c.SampleAPI = guard
		})
		host := strings.TrimSuffix(s.base, base)
		for _, path := range []string{wellKnown + base, wellKnown + base + "/", "/auth" + wellKnown, wellKnown + "/other"} {
			got, err := http.Get(host + path)
			if err != nil {
				t.Fatal(err)
			}
			var document struct {
				Resource string
				Servers  []string `json:"authorization_servers"`
				Scopes   []string `json:"scopes_supported"`
			}
			err = json.NewDecoder(got.Body).Decode(&document)
			got.Body.Close()
			if here := strings.TrimSuffix(path, "/") == wellKnown+base; (got.StatusCode == 200) != here ||
				here && (err != nil || document.Resource != s.base || !slices.Equal(document.Servers, []string{s.base + "/o"}) ||
					!slices.Equal(slices.Sorted(slices.Values(document.Scopes)), []string{"groups", "read", "write"})) {
				t.Errorf("%s%s: %d %v %+v", base, path, got.StatusCode, err, document)
			}
		}
		v := s.visitor(t)
		got := v.do(t, v.request(t, "POST", "/users/", "username=bob"))
		if want := `Bearer realm="api", scope="write", resource_metadata="` + host + wellKnown + base +
			`"`; got.Header.Get("WWW-Authenticate") != want || got.Header.Get("Access-Control-Expose-Headers") != "*" {
			t.Errorf("%v", got.Header)
		}
		r := v.request(t, "OPTIONS", "/users/", "")
		r.Header.Set("Origin", "https://app.example.com")
		r.Header.Set("Access-Control-Request-Method", "POST")
		if got = v.do(t, r); got.StatusCode != 204 || got.Header.Get("Access-Control-Allow-Origin") != "*" {
			t.Errorf("preflight: %d %v", got.StatusCode, got.Header)
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
		if !json.Valid([]byte(got.body)) || got.Header.Get("Content-Type") != "application/json" ||
			got.Header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s %s: %v %s", test.method, test.path, got.Header, got.body)
		}
	}
}
