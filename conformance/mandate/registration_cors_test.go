package mandate

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// OIDC Registration §3 and §4: scripts of other sites may register a client and manage it.
// A browser asks before it sends JSON or a token.
func TestRegistrationFromBrowsers(t *testing.T) {
	s := startServer(t, options{provider: openClients})
	preflight := func(path, method string) http.Header {
		t.Helper()
		a := s.send(t, "OPTIONS", path, func(r *http.Request, _ url.Values) {
			r.Header.Set("Origin", "https://app.example")
			r.Header.Set("Access-Control-Request-Method", method)
			r.Header.Set("Access-Control-Request-Headers", "authorization, content-type")
		}, nil)
		if a.Status != http.StatusNoContent {
			t.Errorf("%s %s: the preflight is answered with %d", method, path, a.Status)
		}
		return a.Header
	}
	for path, methods := range map[string]string{"/o/register/": "POST", "/o/register": "POST",
		"/o/register/some-client/": "GET PUT DELETE", "/o/register/some-client": "GET PUT DELETE"} {
		for method := range strings.FieldsSeq(methods) {
			h := preflight(path, method)
			if h.Get("Access-Control-Allow-Origin") != "*" || h.Get("Access-Control-Allow-Credentials") != "" ||
				!strings.Contains(h.Get("Access-Control-Allow-Methods"), method) {
				t.Errorf("%s %s: %v", method, path, h)
			}
			for _, name := range []string{"Authorization", "Content-Type"} {
				if !strings.Contains(h.Get("Access-Control-Allow-Headers"), name) {
					t.Errorf("%s %s: the header %s is not allowed", method, path, name)
				}
			}
		}
	}
	// The page on which a person registers an application uses the person's session.
	if h := s.send(t, "OPTIONS", "/o/applications/register/", nobody,
		nil).Header; h.Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("%v", h)
	}
	refused := s.send(t, "GET", "/o/register/some-client/",
		func(r *http.Request, _ url.Values) { r.Header.Set("Origin", "https://app.example") }, nil)
	if refused.Header.Get("Access-Control-Allow-Origin") != "*" ||
		!strings.Contains(refused.Header.Get("Access-Control-Expose-Headers"), "WWW-Authenticate") {
		t.Errorf("a script cannot read the refusal: %v", refused.Header)
	}
}
