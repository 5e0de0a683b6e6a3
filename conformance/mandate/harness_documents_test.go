package mandate

import (
	"encoding/json"
	"encoding/pem"
	"io"
	"log"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

// documentHost is a host on which clients publish their metadata documents (CIMD-02 in these
// tests is draft-ietf-oauth-client-id-metadata-document-02).
type documentHost struct {
	URL  string
	file string // its certificate, as PEM

	mu       sync.Mutex
	pages    map[string]http.HandlerFunc
	requests map[string]int
}

func newDocumentHost(t testing.TB) *documentHost {
	t.Helper()
	h := &documentHost{pages: map[string]http.HandlerFunc{}, requests: map[string]int{},
		file: filepath.Join(t.TempDir(), "host.pem")}
	server := httptest.NewUnstartedServer(http.HandlerFunc(h.serve))
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	t.Cleanup(server.Close)
	h.URL = server.URL
	err := os.WriteFile(h.file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}),
		0o600)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func (h *documentHost) serve(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	h.requests[r.URL.Path]++
	page := h.pages[r.URL.Path]
	h.mu.Unlock()
	if page == nil {
		http.NotFound(w, r)
		return
	}
	page(w, r)
}

// options returns the options of a server that may read documents of the host.
func (h *documentHost) options(o options) options {
	o.env = append(o.env, "SSL_CERT_FILE="+h.file)
	o.settings = append(o.settings, "OUTBOUND_ALLOWED_NETWORKS: [127.0.0.0/8]")
	o.provider = append(o.provider, "OPEN_CLIENTS: [documents, registration]", `OPEN_HOSTS: [127.0.0.1, "*.example"]`)
	return o
}

// page serves a path, or nothing at all if the handler is nil.
func (h *documentHost) page(path string, page http.HandlerFunc) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.pages[path] = page
	return h.URL + path
}

// fetches returns how often the server has asked for a path.
func (h *documentHost) fetches(path string) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.requests[path]
}

// client publishes the document of a client with this redirect URI. more lists members and
// their values, which replace others.
func (h *documentHost) client(path, redirectURI string, more map[string]any) application {
	document := map[string]any{"client_id": h.URL + path, "client_name": "Agent", "redirect_uris": []string{redirectURI},
		"token_endpoint_auth_method": "none"}
	maps.Copy(document, more)
	text, _ := json.Marshal(document) // it cannot fail
	h.page(path, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(text)
	})
	return application{ClientID: h.URL + path, RedirectURI: redirectURI}
}
