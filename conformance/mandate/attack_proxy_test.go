package mandate

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// Full-width dots and slashes are plain ones to an upstream that normalizes its paths: /open/．．/admin is /admin.
func TestAttackPathInOtherCharacters(t *testing.T) {
	attack(t, "path traversal by Unicode normalization", "")
	api, requests := upstream(t)
	s := startServer(t, options{})
	app := s.whole(t, "service")
	g := s.protects(t, api.URL, "{PATH: /open}", "{PATH: /admin, SCOPES: [write]}")
	token := s.mustToken(t, app.auth(), params("grant_type", "client_credentials", "scope", "read")).AccessToken
	for _, path := range []string{
		"/open/．．/admin", "/open／..／admin", "/open/．./admin", "/open/‥/admin", "/open/︰/admin", "/open/﹒﹒/admin",
		"/open/..＼admin", "/open/..﹨admin", "/open/％2e％2e/admin", "/open/﹪2e", "/open/a℀b", "/open/⒈", "/open/…", "/open/🄀",
		"/open/；/admin", "/open/\u037e", "/open/admin\u3000", "/open/admin\u00a0", "/open/admin\u2028/x",
	} {
		for _, written := range []string{path, (&url.URL{Path: path}).EscapedPath(), strings.ToLower((&url.URL{Path: path}).EscapedPath())} {
			_, _, response := g.switches(t, written, token)
			if response.StatusCode != http.StatusBadRequest {
				t.Errorf("%+q as %s: %d, want 400", path, written, response.StatusCode)
			}
		}
	}
	for _, path := range []string{"/open/größe", "/open/日本語", "/open/a·b", "/open/٪"} {
		_, _, response := g.switches(t, (&url.URL{Path: path}).EscapedPath(), token)
		if response.StatusCode != http.StatusOK {
			t.Errorf("%s: %d, want 200", path, response.StatusCode)
		}
	}
	for _, r := range requests() {
		if strings.Contains(r.URL.Path, "admin") {
			t.Errorf("the upstream got %+q", r.URL.Path)
		}
	}
}
