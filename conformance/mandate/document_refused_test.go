package mandate

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// Each document that cannot be used is explained on a page, and redirects nobody.
func TestDocumentRefused(t *testing.T) {
	t.Parallel()
	h := newDocumentHost(t)
	s := startServer(t, h.options(options{}))
	good := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"client_id":%q,"redirect_uris":[%q]}`, h.URL+r.URL.Path, agentURI)
	}
	target := h.page("/target", good)
	for name, test := range map[string]struct {
		page http.HandlerFunc
		says string
	}{
		"missing": {nil, "has the status 404"},
		"forbidden": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) },
			"has the status 403"},
		"created": {func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusCreated); good(w, r) },
			"has the status 201"},
		"redirecting": {func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, target, http.StatusFound) },
			"redirects are not followed"},
		"page": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, "<html>")
		}, "Content-Type: application/json"},
		"large": {func(w http.ResponseWriter, r *http.Request) { good(w, r); fmt.Fprint(w, strings.Repeat(" ", 5<<10)) },
			"larger than 5120 bytes"},
		"endless": {func(w http.ResponseWriter, r *http.Request) {
			good(w, r)
			for r.Context().Err() == nil {
				_, err := fmt.Fprint(w, strings.Repeat(" ", 1<<10))
				if err != nil {
					return
				}
			}
		}, "larger than 5120 bytes"},
		"silent": {func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, "answer within 5 seconds"},
		"truncated": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Content-Length", "100")
			fmt.Fprint(w, `{"client_id":`)
			panic(http.ErrAbortHandler)
		}, "could not fetch"},
		"other": {func(w http.ResponseWriter, r *http.Request) {
			r.URL.Path = "/another"
			good(w, r)
		}, "another client_id"},
		"array": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, `[]`)
		}, "must be a JSON object"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clientID := h.page("/"+name, test.page)
			address, _ := s.authorizeURL(application{ClientID: clientID, RedirectURI: agentURI})
			a := s.get(t, strings.TrimPrefix(address, s.URL), nobody)
			if a.Status != http.StatusBadRequest || a.Header.Get("Location") != "" ||
				!strings.Contains(a.Body, "invalid_client") || !strings.Contains(a.Body, test.says) {
				t.Errorf("status %d, want the page with %q:\n%s", a.Status, test.says, a.Body)
			}
		})
	}
	for _, clientID := range []string{h.URL, h.URL + "/target?", h.URL + "/target#f", h.URL + "/a/../target",
		h.URL + "/%2e/target", strings.Replace(target, "https:", "http:", 1), strings.Replace(target, "://", "://user@", 1)} {
		address, _ := s.authorizeURL(application{ClientID: clientID, RedirectURI: agentURI})
		if a := s.get(t, strings.TrimPrefix(address, s.URL), nobody); a.Status != http.StatusBadRequest ||
			!strings.Contains(a.Body, "invalid_client") {
			t.Errorf("%s: status %d", clientID, a.Status)
		}
	}
	if n := h.fetches("/target"); n != 0 {
		t.Errorf("%d fetches of the target of a redirect, or of a wrong URL", n)
	}
}

// CVE-2026-4874 and CVE-2026-56739: a URL of a stranger leads into the network of the server.
// The texts for all these hosts are equal, so they do not say what is there.
func TestDocumentOfInternalHosts(t *testing.T) {
	h := newDocumentHost(t)
	_, port, _ := strings.Cut(strings.TrimPrefix(h.URL, "https://"), ":")
	h.client("/c", agentURI, nil)
	s := startServer(t, options{env: []string{"SSL_CERT_FILE=" + h.file},
		settings: []string{"OUTBOUND_ALLOWED_NETWORKS: [127.0.0.0/8]"}, provider: []string{"OPEN_CLIENTS: [documents]"}})
	var texts []string
	for _, host := range []string{"127.0.0.1:" + port, "localhost:" + port, "127.0.0.1:1", "[::1]:" + port,
		"[::ffff:127.0.0.1]:" + port, "169.254.169.254", "0.0.0.0:" + port, "no-such-host.invalid"} {
		address, _ := s.authorizeURL(application{ClientID: "https://" + host + "/c", RedirectURI: agentURI})
		a := s.get(t, strings.TrimPrefix(address, s.URL), nobody)
		_, text, _ := strings.Cut(a.Body, "This server could not")
		text, _, _ = strings.Cut(text, "<")
		if a.Status != http.StatusBadRequest || text == "" {
			t.Errorf("%s: status %d:\n%s", host, a.Status, a.Body)
		}
		texts = append(texts, text)
	}
	if len(slices.Compact(texts)) != 1 {
		t.Errorf("the texts differ: %q", texts)
	}
	if n := h.fetches("/c"); n != 0 {
		t.Errorf("%d fetches from an internal host", n)
	}
}
