package mandate

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
)

// A browser application runs in a browser: the page is served as it is shown.
func TestBrowserSnippet(t *testing.T) {
	browser := chromium(t)
	v := newSnippetServer(t)
	var page string
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/app":
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			fmt.Fprint(w, page)
		case "/favicon.ico":
			w.WriteHeader(http.StatusNoContent)
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(site.Close)
	_, found := v.register(t, v.alice, "browser", "resources", v.api, "redirect_uris", site.URL+"/app")
	page = found["browser-html"]
	if page == "" {
		t.Fatal("the page has no program")
	}
	host := func(address string) string { u, _ := url.Parse(address); return u.Host }
	b := v.window(t, browser, host(site.URL), host(v.api))
	b.open(site.URL + "/app")
	b.press("Sign in")
	b.logIn(v.alice)
	b.press("Allow")
	b.until(`document.getElementById("result").textContent == "The API answers 200: hello alice"`)
	if b.URL().RawQuery != "" {
		t.Errorf("the code stays in the address: %s", b.URL())
	}
	// The request belongs to one window: its answer is not accepted a second time.
	b.open(site.URL + "/app?state=forged&code=forged&iss=" + url.QueryEscape(v.Issuer))
	b.until(`document.getElementById("result").textContent.startsWith("This answer does not belong")`)
}
