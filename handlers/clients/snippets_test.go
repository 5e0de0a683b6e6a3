package clients

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"mandate/handlers/web"
	"mandate/provider"
	"mandate/provider/oauth"
	"mandate/provider/policy"
	"mandate/storage"
	"mandate/storage/storagetest"
	"mandate/templates"
)

// A website listens on the port of its redirect URI, if that leads to the same computer.
func TestPortOfAWebsite(t *testing.T) {
	for uri, want := range map[string]uint64{
		"http://127.0.0.1:9099/back": 9099, "http://localhost:3000": 3000, "http://[::1]:4000/": 4000,
		"http://localhost/back": 8080, "http://127.0.0.1:0/back": 8080, "http://127.0.0.1:70000/back": 8080,
		"https://localhost:8443/back": 8080, "https://app.example:8443/back": 8080, "http://192.0.2.1:9099/back": 8080,
	} {
		u, err := url.Parse(uri)
		if err != nil {
			t.Fatal(err)
		}
		if got := ownPort(u); got != want {
			t.Errorf("%s: port %d, want %d", uri, got, want)
		}
	}
}

// A website says where to begin: at the host of its redirect URI, because the cookies are for that host alone.
func TestWebsiteSaysWhereToBegin(t *testing.T) {
	pages, err := templates.New("", templates.Brand{})
	if err != nil {
		t.Fatal(err)
	}
	for redirect, want := range map[string]string{
		"http://localhost:3000/back": "http://localhost:3000/", "http://127.0.0.1:3000": "http://127.0.0.1:3000/sign-in/",
		"https://app.example/back": "https://app.example/",
	} {
		var values templates.SnippetValues
		if !redirectTo(storage.Application{RedirectURIs: redirect}, &values, func(*url.URL) bool { return true }) {
			t.Fatal(redirect)
		}
		programs, err := pages.Snippets("website", values)
		if err != nil || len(programs) < 3 {
			t.Fatal(programs, err)
		}
		for _, one := range programs {
			if !strings.Contains(one.Code, `"Open", "`+want+`"`) {
				t.Errorf("%s does not say where to begin, at %s:\n%s", one.ID, want, one.Code)
			}
		}
	}
}

// A database that fails is no resource that the application may not request: the page would show programs without a
// scope.
func TestSnippetsOfABrokenDatabase(t *testing.T) {
	store, _ := storagetest.Open(t)
	p, err := provider.New(t.Context(), provider.Config{
		Issuer:    "https://id.example.com/o",
		ServerKey: bytes.Repeat([]byte{7}, 32),
	}, store, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	store.Close()
	values := templates.SnippetValues{Resource: "https://api.example"}
	err = (&server{&web.Site{Provider: p}}).needs(
		&http.Request{},
		kind{grant: policy.GrantClient},
		storage.Application{},
		&values,
	)
	if _, refused := oauth.Refused(err); err == nil || refused {
		t.Errorf("%v, scope %q", err, values.Scope)
	}
}
