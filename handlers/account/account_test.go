package account

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
	"mandate/provider/limits"
	"mandate/provider/password"
	"mandate/provider/people"
	"mandate/provider/policy"
	"mandate/storage/storagetest"
	"mandate/templates"
)

// TestPages opens the pages of this area without a session, and with one.
func TestPages(t *testing.T) {
	store, _ := storagetest.Open(t)
	p, err := provider.New(t.Context(), provider.Config{
		Issuer:    "http://id.example.com/o",
		ServerKey: bytes.Repeat([]byte{7}, 32),
		People:    people.Config{SessionLifetime: time.Hour},
		Hashing:   limits.Config{Cost: password.Cost{MemoryKiB: 64, Iterations: 1}},
	}, store, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	const secret = "correct horse battery"
	_, err = p.People.AddUser(t.Context(), policy.Operator(), people.Person{Username: "alice", Password: secret})
	if err != nil {
		t.Fatal(err)
	}
	in, err := p.People.Login(t.Context(), "alice", secret, people.Browser{})
	if err != nil {
		t.Fatal(err)
	}
	pages, err := templates.New("", templates.Brand{})
	if err != nil {
		t.Fatal(err)
	}
	site, err := web.New(web.Config{BaseURL: &url.URL{Scheme: "http", Host: "id.example.com"}}, p, pages)
	if err != nil {
		t.Fatal(err)
	}
	routes := http.NewServeMux()
	Routes(site, func(path string, adapter web.Adapter, methods web.On) {
		if path == "/" {
			path = "/{$}"
		}
		routes.Handle(path, adapter(methods))
	})
	served := site.Requests.Observe(routes)
	try := func(method, path, session string, status int, location, body string) {
		t.Helper()
		r := httptest.NewRequest(method, "http://id.example.com"+path, strings.NewReader(""))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		if session != "" {
			r.AddCookie(&http.Cookie{Name: "mandate_session", Value: session})
		}
		w := httptest.NewRecorder()
		served.ServeHTTP(w, r)
		if w.Code != status || w.Header().Get("Location") != location || !strings.Contains(w.Body.String(), body) {
			t.Errorf("%s %s: %d, Location %q\n%s", method, path, w.Code, w.Header().Get("Location"), w.Body)
		}
		if w.Header().Get("Cache-Control") != "no-store" || w.Header().Get("X-Frame-Options") != "DENY" {
			t.Errorf("%s %s: %v", method, path, w.Header())
		}
	}
	try("GET", "/", "", 200, "", `href="/login/"`)
	try("GET", "/account/", "", 303, "/login/?next=%2Faccount%2F", "")
	try("GET", "/account/", "wrong", 303, "/login/?next=%2Faccount%2F", "")
	try("POST", "/account/password/", "", 303, "/login/?next=%2Faccount%2Fpassword%2F", "")
	try("GET", "/", in.Session, 200, "", "There is nothing to open yet.")
	try("GET", "/account/", in.Session, 200, "", "alice")
	try("POST", "/account/password/", in.Session, 422, "", `href="#current_password"`)
	try("POST", "/account/sessions/nothing/end/", in.Session, 404, "", "")
}
