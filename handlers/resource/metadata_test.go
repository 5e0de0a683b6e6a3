package resource

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mandate/testkit"
)

// described returns an API that describes itself, and its guard.
func newDescribed(t *testing.T, audience string, change func(*GuardConfig)) (*httptest.Server, *Guard) {
	p := newProvider(t, map[string]string{"read": liveRead})
	c := GuardConfig{Verifier: p.introspection(t), Realm: "users", Audience: audience,
		AuthorizationServers: []string{issuer}}
	if change != nil {
		change(&c)
	}
	g := newGuard(t, c)
	in := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "in") })
	mux := http.NewServeMux()
	mux.Handle("GET /any", g.Require(in))
	mux.Handle("GET /users", g.Require(in, "read", "list"))
	mux.Handle("POST /users", g.Require(in, "write", "read", "offline_access"))
	server := httptest.NewServer(g.Wrap(mux))
	t.Cleanup(server.Close)
	return server, g
}

func get(t *testing.T, method, address string, headers ...string) (*http.Response, answer) {
	t.Helper()
	r, err := http.NewRequest(method, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	return do(t, r)
}

// RFC 9728 §2, §3.2: the members, and the form of the response.
func TestMetadata(t *testing.T) {
	server, g := newDescribed(t, "https://api.example/v1", func(c *GuardConfig) {
		c.Name, c.Documentation = "Orders", "https://docs.example/orders"
	})
	if g.MetadataURL() != "https://api.example/.well-known/oauth-protected-resource/v1" {
		t.Errorf("the metadata is at %s", g.MetadataURL())
	}
	resp, got := get(t, "GET", server.URL+wellKnown+"/v1")
	h := resp.Header
	if got.Status != 200 || h.Get("Content-Type") != "application/json" ||
		h.Get("Cache-Control") != "public, max-age=300" || h.Get("Access-Control-Allow-Origin") != "*" {
		t.Errorf("%d %v", got.Status, h)
	}
	var published map[string]any
	err := json.Unmarshal([]byte(got.Body), &published)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"resource": "https://api.example/v1", "authorization_servers": []any{issuer},
		"scopes_supported":         []any{"read", "list", "write"},
		"bearer_methods_supported": []any{"header"}, "resource_name": "Orders",
		"resource_documentation":            "https://docs.example/orders",
		"dpop_signing_alg_values_supported": []any{"ES256", "EdDSA", "Ed25519", "PS256"},
	}
	if diff := cmp.Diff(want, published); diff != "" {
		t.Error(diff)
	}
	resp, got = get(t, "HEAD", server.URL+wellKnown+"/v1")
	if got.Status != 200 || got.Body != "" || resp.ContentLength < 100 {
		t.Errorf("HEAD: %d %q", got.Status, got.Body)
	}
	resp, got = get(t, "POST", server.URL+wellKnown+"/v1")
	if got.Status != 405 || resp.Header.Get("Allow") != "GET, HEAD" {
		t.Errorf("POST: %d %v", got.Status, resp.Header)
	}
	resp, got = get(t, "OPTIONS", server.URL+wellKnown+"/v1", "Origin", "https://spa.example",
		"Access-Control-Request-Method", "GET", "Access-Control-Request-Headers", "mcp-protocol-version")
	if got.Status != 204 || resp.Header.Get("Access-Control-Allow-Origin") != "*" ||
		resp.Header.Get("Access-Control-Allow-Headers") != "Authorization, *" {
		t.Errorf("preflight: %d %v", got.Status, resp.Header)
	}
}

// RFC 9728 §3.2: a member without values is left out.
func TestMetadataWithoutScopes(t *testing.T) {
	g := newGuard(t, GuardConfig{Verifier: &counter{}, Audience: "https://api.example",
		AuthorizationServers: []string{issuer}})
	w := httptest.NewRecorder()
	g.Wrap(http.NotFoundHandler()).ServeHTTP(w, httptest.NewRequest("GET", wellKnown, nil))
	want := `{"resource":"https://api.example","authorization_servers":["` + issuer +
		`"],"bearer_methods_supported":["header"],"dpop_signing_alg_values_supported":["ES256","EdDSA","Ed25519","PS256"]}`
	if w.Body.String() != want {
		t.Errorf("got %s", w.Body)
	}
}

// RFC 9728 §3.1: where the document of a resource is, and that it is nowhere else.
func TestMetadataAddress(t *testing.T) {
	for _, test := range []struct {
		audience, url string
		at, not       []string
	}{
		{"https://api.example", "https://api.example" + wellKnown, []string{"", "/"}, []string{"/v1"}},
		{"https://api.example/", "https://api.example" + wellKnown, []string{"", "/"}, nil},
		{"https://api.example:8443/mcp", "https://api.example:8443" + wellKnown + "/mcp", []string{"/mcp", "/mcp/", "/mcp?a"},
			[]string{"", "/", "/mcp/x", "/MCP", "/mc"}},
		{"https://api.example/mcp/", "https://api.example" + wellKnown + "/mcp/", []string{"/mcp", "/mcp/"}, []string{""}},
		{"https://api.example/a%2Fb", "https://api.example" + wellKnown + "/a%2Fb", []string{"/a%2Fb"}, []string{"/a/b"}},
		{"https://api.example?tenant=1", "https://api.example" + wellKnown + "?tenant=1", []string{"?tenant=1"},
			[]string{"", "?tenant=2"}},
		{"https://api.example/?tenant=1", "https://api.example" + wellKnown + "?tenant=1", []string{"?tenant=1"}, nil},
		{"http://localhost:9000/mcp", "http://localhost:9000" + wellKnown + "/mcp", []string{"/mcp"}, nil},
		{"http://127.0.0.1:9000", "http://127.0.0.1:9000" + wellKnown, []string{""}, nil},
		{"http://[::1]/", "http://[::1]" + wellKnown, []string{""}, nil},
		{"http://api.example/mcp", "", nil, []string{"/mcp", ""}},
		{"https://api.example/#a", "", nil, []string{""}},
		{"https://user@api.example", "", nil, []string{""}},
		{"orders", "", nil, []string{""}},
		{"urn:example:orders", "", nil, []string{""}},
		{"", "", nil, []string{""}},
	} {
		t.Run(test.audience, func(t *testing.T) {
			server, g := newDescribed(t, test.audience, nil)
			if g.MetadataURL() != test.url {
				t.Errorf("the metadata is at %q", g.MetadataURL())
			}
			for _, path := range test.at {
				var published members
				_, got := get(t, "GET", server.URL+wellKnown+path)
				if got.Status != 200 || json.Unmarshal([]byte(got.Body), &published) != nil || published.Resource != test.audience {
					t.Errorf("%q: %d %s", path, got.Status, got.Body)
				}
			}
			for _, path := range test.not {
				if _, got := get(t, "GET", server.URL+wellKnown+path); got.Status != 404 {
					t.Errorf("%q: %d %s", path, got.Status, got.Body)
				}
			}
		})
	}
	g := newGuard(t, GuardConfig{Verifier: &counter{}, Audience: "http://api.example", AllowHTTP: true,
		AuthorizationServers: []string{issuer}})
	if g.MetadataURL() != "http://api.example"+wellKnown {
		t.Errorf("a test network: %q", g.MetadataURL())
	}
	g = newGuard(t, GuardConfig{Verifier: &counter{}, Audience: "https://api.example"})
	if g.MetadataURL() != "" {
		t.Errorf("without an issuer: %q", g.MetadataURL())
	}
}

// RFC 9728 §5.1: challenges name the URL of the metadata, which never comes from the Host
// header, and the scopes that the request needs. Without metadata they do not change.
func TestMetadataInChallenge(t *testing.T) {
	const meta = `, resource_metadata="https://api.example/.well-known/oauth-protected-resource/v1"`
	server, _ := newDescribed(t, "https://api.example/v1", nil)
	old, _ := newDescribed(t, "orders", nil)
	for _, test := range []struct {
		name, path, authorization string
		status                    int
		challenge, before         string
	}{
		{"no token", "/users", "", 401, bareChallenge + `, scope="read list"` + meta, bareChallenge},
		{"no token, no scope", "/any", "", 401, bareChallenge + meta, bareChallenge},
		{"an unknown token", "/users", "Bearer unknown", 401, badChallenge + `, scope="read list"` + meta, badChallenge},
		{"a scope is missing", "/users", "Bearer read", 403,
			`Bearer realm="users", error="insufficient_scope", scope="read list"` + meta,
			`Bearer realm="users", error="insufficient_scope", scope="read list"`},
		{"accepted", "/any", "Bearer read", 200, "", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			var headers []string
			if test.authorization != "" {
				headers = []string{"Authorization", test.authorization}
			}
			if _, got := get(t, "GET", server.URL+test.path, headers...); got.Status != test.status ||
				got.Challenge != test.challenge {
				t.Errorf("%d %s", got.Status, got.Challenge)
			}
			if _, got := get(t, "GET", old.URL+test.path, headers...); got.Status != test.status ||
				got.Challenge != test.before {
				t.Errorf("with a name as audience: %d %s", got.Status, got.Challenge)
			}
		})
	}
}

// The proxy answers for its own metadata, even if a rule covers the path. It forwards
// every other well-known path.
func TestProxyMetadata(t *testing.T) {
	for _, test := range []struct {
		audience string
		path     string
		reached  bool
	}{
		{"https://api.example/v1", "/v1", false},
		{"https://api.example/v1", "", true},
		{"orders", "/v1", true},
	} {
		server, _ := newProxy(t, func(c *ProxyConfig) {
			c.Guard = newGuard(t,
				GuardConfig{Verifier: verifierFunc(accept), Audience: test.audience, AuthorizationServers: []string{issuer}})
		})
		status, body := send(t, server, "GET "+wellKnown+test.path, "Authorization: Bearer read")
		if status != 200 || (body == "GET /v1"+wellKnown+test.path) != test.reached {
			t.Errorf("%s, %s: %d %s", test.audience, test.path, status, body)
		}
	}
}

// An API can add a rule while it answers requests.
func TestScopesAtOnce(t *testing.T) {
	_, g := newDescribed(t, "https://api.example/v1", func(*GuardConfig) {})
	published := func() string {
		w := httptest.NewRecorder()
		g.described.serve(w, httptest.NewRequest(http.MethodGet, wellKnown+"/v1", nil))
		return w.Body.String()
	}
	added := 0
	testkit.AtOnce(
		func() {
			added++
			g.described.add([]string{fmt.Sprint("first-", added)})
		},
		func() { g.described.add([]string{"second"}) },
		func() { published() },
	)
	for _, scope := range []string{`"first-1"`, `"first-100"`, `"second"`} {
		if got := published(); strings.Count(got, scope) != 1 {
			t.Errorf("the scope %s is not there once: %s", scope, got)
		}
	}
}
