package mandate

import (
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
)

// site is the web site of a client or of an attacker. The test defines its pages.
type site struct {
	URL  string
	Host string // with its port

	mu       sync.Mutex
	pages    map[string]string
	onward   map[string]string
	visits   []*url.URL
	referers []string
}

// newSite serves any name below .example, with https if requested.
func newSite(t testing.TB, scheme, host string) *site {
	t.Helper()
	s := &site{pages: map[string]string{"/back": `<h1>Back at the client</h1>`}, onward: map[string]string{}}
	server := httptest.NewUnstartedServer(http.HandlerFunc(s.serve))
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // of handshakes that the browser gives up
	if scheme == "https" {
		server.StartTLS()
	} else {
		server.Start()
	}
	t.Cleanup(server.Close)
	_, port, _ := strings.Cut(server.Listener.Addr().String(), ":")
	s.Host = host + ":" + port
	s.URL = scheme + "://" + s.Host
	return s
}

// page adds a page with this markup as its body.
func (s *site) page(path, markup string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pages[path] = markup
	return s.URL + path
}

// redirect makes a path lead to another address.
func (s *site) redirect(path, target string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.onward[path] = target
}

func (s *site) serve(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.onward[r.URL.Path] != "" {
		http.Redirect(w, r, s.onward[r.URL.Path], http.StatusFound)
		return
	}
	markup, found := s.pages[r.URL.Path]
	if !found {
		http.NotFound(w, r)
		return
	}
	s.visits = append(s.visits, r.URL)
	s.referers = append(s.referers, r.Referer())
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	fmt.Fprintf(w, `<!doctype html><html lang="en"><title>Elsewhere</title><link rel="icon" href="data:,">%s</html>`,
		markup)
}

// formTo returns a page with a form, which a button sends.
func formTo(action string, fields url.Values) string {
	var inputs strings.Builder
	for name, values := range fields {
		fmt.Fprintf(&inputs, `<input type="hidden" name="%s" value="%s">`, name, strings.ReplaceAll(values[0], `"`, "&quot;"))
	}
	return fmt.Sprintf(`<form method="post" action="%s">%s<button>Win a prize</button></form>`, action, inputs.String())
}
