package protocol

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"mandate/handlers/web"
	"mandate/provider"
	"mandate/provider/authorize"
	"mandate/provider/limits"
	"mandate/provider/password"
	"mandate/provider/people"
	"mandate/provider/policy"
	"mandate/storage/storagetest"
	"mandate/templates"
)

// TestEndpoints sends a request to each kind of endpoint, and looks at the status, the headers and the body.
func TestEndpoints(t *testing.T) {
	store, _ := storagetest.Open(t)
	p, err := provider.New(t.Context(), provider.Config{
		Issuer:    "https://id.example.com/o",
		ServerKey: bytes.Repeat([]byte{7}, 32),
		Settings: policy.Settings{
			Scopes:              []policy.Scope{{Name: "read", Description: "Read it"}},
			OpenID:              true,
			AccessTokenLifetime: time.Hour,
		},
		Authorize: authorize.Config{CodeLifetime: time.Minute},
		People:    people.Config{SessionLifetime: time.Hour},
		Hashing:   limits.Config{Cost: password.Cost{MemoryKiB: 64, Iterations: 1}},
	}, store, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	pages, err := templates.New("", templates.Brand{})
	if err != nil {
		t.Fatal(err)
	}
	stopping := make(chan struct{})
	site, err := web.New(web.Config{
		BaseURL:    &url.URL{Scheme: "https", Host: "id.example.com"},
		OpenID:     true,
		JWKSMaxAge: 60,
		Stopping:   stopping,
	}, p, pages)
	if err != nil {
		t.Fatal(err)
	}
	routes := http.NewServeMux()
	add := func(path string, adapter web.Adapter, methods web.On) { routes.Handle(path, adapter(methods)) }
	Routes(site, add, func(string, web.Adapter, web.On) {})
	served := site.Requests.Observe(routes)
	try := func(method, path, form string, status int, header, value, body string) {
		t.Helper()
		r := httptest.NewRequest(method, "https://id.example.com"+path, strings.NewReader(form))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		w := httptest.NewRecorder()
		served.ServeHTTP(w, r)
		if w.Code != status || w.Header().Get(header) != value || !strings.Contains(w.Body.String(), body) {
			t.Errorf("%s %s: %d, %s %q, %s", method, path, w.Code, header, w.Header().Get(header), w.Body)
		}
	}
	try("GET", "/healthz", "", 200, "Cache-Control", "no-store", `"status":"ok"`)
	try("GET", "/readyz", "", 200, "Content-Type", "application/json", `"status":"ready"`)
	try("GET", "/.well-known/oauth-authorization-server", "", 200, "Access-Control-Allow-Origin", "*",
		`"issuer":"https://id.example.com/o"`)
	try("GET", "/o/.well-known/jwks.json", "", 200, "Cache-Control", "public, max-age=60", `"keys":[`)
	try("GET", "/.well-known/openid-configuration", "", 200, "Content-Type", "application/json", `"userinfo_endpoint":`)
	try("GET", "/o/userinfo/", "", 401, "Access-Control-Allow-Origin", "*", "")
	try("GET", "/o/token/", "", 405, "Allow", "POST", `"error":"invalid_request"`)
	// RFC 6749 §5.2: an error of a client has its code, and the reason.
	try("POST", "/o/token/", "", 400, "Cache-Control", "no-store", `"error_uri":`)
	try("POST", "/o/introspect/", "token=x", 401, "Access-Control-Allow-Origin", "", `"error":"invalid_client"`)
	// RFC 7009 §2.1: the client authenticates first.
	try("POST", "/o/revoke/", "token=x", 401, "Access-Control-Allow-Origin", "*", `"error":"invalid_client"`)
	close(stopping)
	try("GET", "/readyz", "", 503, "Content-Type", "application/json", `"error":"temporarily_unavailable"`)
}
