package resource

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func accept(context.Context, string) (*Token, error) {
	return &Token{Scope: []string{"read", "write"}}, nil
}

// Fetch, CORS protocol: what a browser sees, with and without allowed origins.
func TestAllowedOrigins(t *testing.T) {
	const spa, other = "https://spa.example", "https://other.example"
	for _, test := range []struct {
		name    string
		origins []string
		origin  string
		allowed string // Access-Control-Allow-Origin
		vary    string
	}{
		{"off", nil, spa, "", ""},
		{"all", []string{"*"}, spa, "*", ""},
		{"listed", []string{"https://a.example", spa}, spa, spa, "Origin"},
		{"not listed", []string{spa}, other, "", "Origin"},
		{"not sent", []string{spa}, "", "", "Origin"},
	} {
		t.Run(test.name, func(t *testing.T) {
			server, _ := newDescribed(t, "https://api.example", func(c *GuardConfig) { c.AllowedOrigins = test.origins })
			for _, token := range []string{"read", "unknown", ""} {
				headers := []string{"Origin", test.origin}
				if token != "" {
					headers = append(headers, "Authorization", "Bearer "+token)
				}
				resp, _ := get(t, "GET", server.URL+"/users", headers...)
				h := resp.Header
				if h.Get("Access-Control-Allow-Origin") != test.allowed || h.Get("Vary") != test.vary ||
					h.Get("Access-Control-Allow-Credentials") != "" ||
					(h.Get("Access-Control-Expose-Headers") == "*") != (test.allowed != "") {
					t.Errorf("token %q: %v", token, h)
				}
			}
			if test.origin == "" {
				return
			}
			resp, got := get(t, "OPTIONS", server.URL+"/users", "Origin", test.origin, "Access-Control-Request-Method", "DELETE",
				"Access-Control-Request-Headers", "authorization,mcp-session-id")
			h := resp.Header
			if (got.Status == 204) != (test.origins != nil) || h.Get("Access-Control-Allow-Origin") != test.allowed ||
				got.Challenge != "" {
				t.Errorf("preflight: %d %v", got.Status, h)
			}
			if (h.Get("Access-Control-Allow-Methods") == "*") != (test.allowed != "") ||
				(h.Get("Access-Control-Allow-Headers") == "Authorization, *") != (test.allowed != "") {
				t.Errorf("preflight: %v", h)
			}
		})
	}
}

func TestOriginsAreChecked(t *testing.T) {
	for origin, ok := range map[string]bool{"*": true, "https://app.example": true, "https://app.example/": false} {
		_, err := NewGuard(GuardConfig{Verifier: &counter{}, AllowedOrigins: []string{"https://a.example", origin}})
		if (err == nil) != ok {
			t.Errorf("%q: %v", origin, err)
		}
	}
}

// With allowed origins the proxy answers preflight requests, and its headers replace those
// of the upstream. Without, OPTIONS is a method like any other, and the upstream decides.
func TestProxyOrigins(t *testing.T) {
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Access-Control-Allow-Origin", "https://upstream.example")
		w.Header().Set("Access-Control-Allow-Credentials", "true")
		w.Header().Set("Mcp-Session-Id", "7")
	}))
	defer api.Close()
	for _, origins := range [][]string{nil, {"*"}} {
		server, _ := newProxy(t, func(c *ProxyConfig) {
			c.Upstream = parseURL(t, api.URL)
			c.Guard = newGuard(t, GuardConfig{Verifier: verifierFunc(accept), AllowedOrigins: origins})
		})
		resp, got := get(t, "GET", server.URL+"/users", "Origin", "https://spa.example", "Authorization", "Bearer read")
		want := "https://upstream.example"
		if origins != nil {
			want = "*"
		}
		if all := strings.Join(resp.Header.Values("Access-Control-Allow-Origin"), ", "); got.Status != 200 || all != want ||
			resp.Header.Get("Mcp-Session-Id") != "7" {
			t.Errorf("%v: %d %v", origins, got.Status, resp.Header)
		}
		if origins != nil && resp.Header.Get("Access-Control-Allow-Credentials") != "" {
			t.Errorf("%v: credentials: %v", origins, resp.Header)
		}
		for _, path := range []string{"/users", "/Users", "/a//b"} {
			_, got = get(t, "OPTIONS", server.URL+path, "Origin", "https://spa.example", "Access-Control-Request-Method",
				"PURGE")
			if (got.Status == 204) != (origins != nil) {
				t.Errorf("%v, preflight of %s: %d", origins, path, got.Status)
			}
		}
		// OPTIONS without a requested method is no preflight request.
		if _, got = get(t, "OPTIONS", server.URL+"/users", "Origin", "https://spa.example"); got.Status != 403 {
			t.Errorf("%v, OPTIONS: %d", origins, got.Status)
		}
	}
}
