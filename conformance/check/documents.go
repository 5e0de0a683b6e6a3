package check

import (
	"encoding/json"
	"fmt"
	"io"
	"log"
	"maps"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"mandate/conformance/need"
	"mandate/conformance/target"
	"mandate/conformance/wire"
)

// DocumentHost serves the metadata documents of clients (Client ID Metadata Documents).
type DocumentHost struct {
	server *http.Server
	url    string
	scope  string // of the clients' requests; if it is empty, the target's

	mu       sync.Mutex
	pages    map[string]Page // by the path as it was requested
	requests map[string]int
}

// Page is what the host serves at a path.
type Page struct {
	Status      int    // 0: 200
	ContentType string // "": application/json
	Header      http.Header
	Body        string
}

// documentHost is the host of a run.
type documentHost struct {
	mu   sync.Mutex
	host *DocumentHost // started by the first check that needs it
}

// Documents returns the host of metadata documents, and starts it if it does not run yet.
func (t *T) Documents() *DocumentHost {
	t.Require(need.Documents)
	h, err := t.server.serveDocuments()
	if err != nil {
		t.Blockedf("%v", err)
	}
	return h
}

func (s *Server) serveDocuments() (*DocumentHost, error) {
	s.documents.mu.Lock()
	defer s.documents.mu.Unlock()
	if s.documents.host != nil {
		return s.documents.host, nil
	}
	of := s.Target.Documents
	at, err := net.Listen("tcp", of.Listen)
	if err != nil {
		return nil, fmt.Errorf("listen for requests for metadata documents: %w", err)
	}
	h := &DocumentHost{url: of.Address(), scope: of.Scope, pages: map[string]Page{}, requests: map[string]int{}}
	h.server = &http.Server{Handler: h, ReadTimeout: 10 * time.Second, IdleTimeout: 10 * time.Second,
		MaxHeaderBytes: wire.MaxHeader, ErrorLog: log.New(io.Discard, "", 0)}
	if of.Certificate == "" {
		go h.server.Serve(at) // it ends with close or with the program
	} else {
		go h.server.ServeTLS(at, of.Certificate, of.Key)
	}
	s.documents.host = h
	return h, nil
}

// StopDocuments stops the host of metadata documents.
func (s *Server) StopDocuments() error {
	s.documents.mu.Lock()
	defer s.documents.mu.Unlock()
	if s.documents.host == nil {
		return nil
	}
	return s.documents.host.server.Close()
}

// maxPages bounds what the host counts: anybody who reaches the port can request any path.
const maxPages = 1000

// ServeHTTP serves the pages that checks have published.
func (h *DocumentHost) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	page, known := h.pages[r.RequestURI]
	if known || len(h.requests) < maxPages {
		h.requests[r.RequestURI]++
	}
	h.mu.Unlock()
	if !known {
		http.NotFound(w, r)
		return
	}
	maps.Copy(w.Header(), page.Header)
	if page.ContentType == "" {
		page.ContentType = "application/json"
	}
	w.Header().Set("Content-Type", page.ContentType)
	if page.Status != 0 {
		w.WriteHeader(page.Status)
	}
	_, _ = io.WriteString(w, page.Body) // the server may stop reading
}

// URL returns a new address at the host. name says what is served there.
func (h *DocumentHost) URL(t *T, name string) string { return h.url + "/" + name + "/" + t.Random() }

// Serve publishes a page at an address of the host.
func (h *DocumentHost) Serve(address string, page Page) {
	path := "/" + strings.TrimLeft(strings.TrimPrefix(address, h.url), "/")
	h.mu.Lock()
	defer h.mu.Unlock()
	h.pages[path] = page
}

// Fetches returns how often an address was requested.
func (h *DocumentHost) Fetches(address string) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.requests[strings.TrimPrefix(address, h.url)]
}

// documentRedirect is the redirect URI of the clients. Nothing has to answer there.
const documentRedirect = "https://client.example/document"

// ClientDocument returns the document of a public client, with these members in addition. A member with the value nil
// is left out.
func ClientDocument(clientID string, members map[string]any) string {
	document := map[string]any{"client_id": clientID, "client_name": "conformance document",
		"redirect_uris":              []string{documentRedirect},
		"token_endpoint_auth_method": need.NoAuthentication, "grant_types": []string{"authorization_code"},
		"response_types": []string{"code"}}
	for name, value := range members {
		document[name] = value
		if value == nil {
			delete(document, name)
		}
	}
	text, _ := json.Marshal(document) // the members are texts, numbers and lists
	return string(text)
}

// Client returns a client by its client id, whose document is at the host or not at all.
func (h *DocumentHost) Client(clientID string) *target.Client {
	return &target.Client{ID: clientID, Auth: need.NoAuthentication, RedirectURIs: []string{documentRedirect},
		Scope: h.scope}
}

// Publish publishes the document of a new client, with these members in addition.
func (h *DocumentHost) Publish(t *T, name string, members map[string]any) *target.Client {
	address := h.URL(t, name)
	h.Serve(address, Page{Body: ClientDocument(address, members)})
	return h.Client(address)
}

// Valid returns a client with a valid document, the same in all checks.
func (h *DocumentHost) Valid() *target.Client {
	address := h.url + "/valid"
	h.Serve(address, Page{Header: http.Header{"Cache-Control": {"max-age=3600"}}, Body: ClientDocument(address, nil)})
	return h.Client(address)
}
