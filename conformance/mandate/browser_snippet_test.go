package mandate

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"mandate/testkit/port"
)

// A browser application runs in a browser: the page is served as it is shown.
func TestBrowserSnippet(t *testing.T) {
	browser := chromium(t)
	v := newSnippetServer(t, "OIDC_ENABLED: false")
	site := newSnippetSite(t)
	_, found := v.register(t, v.alice, "browser", "resources", v.api, "redirect_uris", site.URL+"/app")
	site.page = found["browser-html"]
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

// snippetSite serves the page of a browser application.
type snippetSite struct {
	*httptest.Server
	page string
}

func newSnippetSite(t testing.TB) *snippetSite {
	t.Helper()
	site := &snippetSite{}
	site.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/app":
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			fmt.Fprint(w, site.page)
		case "/favicon.ico":
			w.WriteHeader(http.StatusNoContent)
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(site.Close)
	return site
}

func host(address string) string { u, _ := url.Parse(address); return u.Host }

// Whoever registers an application with the fewest fields, and pastes the program that its page shows, is greeted by
// name: nothing in it is to be replaced. It requests what this needs, and nothing else.
func TestBrowserSnippetGreets(t *testing.T) {
	browser := chromium(t)
	v := newSnippetServer(t, "OIDC_ENABLED: true")
	v.zoe = v.person(t, "zoe", "--first-name", "Zoë", "--last-name", "O'Neil")
	for name, run := range map[string]func(t *testing.T, b *tab){
		"website": v.greetsAtWebsite, "browser": v.greetsInBrowser, "native": v.greetsNative, "device": v.greetsDevice,
	} {
		t.Run(name, func(t *testing.T) { run(t, v.window(t, browser)) })
	}
}

const greeting = "Hello, Zoë O'Neil"

// allows signs in and approves what the page asks for: who the person is, and nothing else. A website is not asked
// about again.
func (v *snippetServer) allows(b *tab) {
	b.Helper()
	if len(b.all("textbox", "Password")) > 0 {
		b.logIn(v.zoe)
	}
	if b.URL().Host != host(v.URL) {
		return
	}
	if text := b.text(); strings.Contains(text, "Read scope") || strings.Contains(text, "Write scope") {
		b.Errorf("the program requests more than it needs:\n%s", text)
	}
	b.press("Allow")
}

// requested checks the scope of every authorization request of the window.
func requested(t *testing.T, b *tab) {
	t.Helper()
	seen := 0
	for _, sent := range b.requests() {
		u, err := url.Parse(sent)
		if err != nil || u.Path != "/o/authorize/" {
			continue
		}
		seen++
		if scope := u.Query().Get("scope"); scope != "openid profile" {
			t.Errorf("the program requests %q", scope)
		}
	}
	if seen == 0 {
		t.Error("there was no request")
	}
}

func (v *snippetServer) greetsAtWebsite(t *testing.T, b *tab) {
	address := port.Address()
	b.hosts[address] = true
	b.absent = "http://" + address + "/favicon.ico"
	app, found := v.register(t, v.alice, "website", "redirect_uris", "http://"+address+"/callback")
	v.each(t, found, languagesOf("website", "go", "mjs", "py"), func(t *testing.T, id, code string) {
		b := b.in(t)
		v.start(t, id, code, "MANDATE_CLIENT_SECRET="+app.ClientSecret).listens(t, address)
		b.open("http://" + address + "/")
		v.allows(b)
		b.until("document.body.innerText.trim() == " + quote(greeting) + ` && document.contentType == "text/plain"`)
	})
	requested(t, b)
}

func (v *snippetServer) greetsInBrowser(t *testing.T, b *tab) {
	site := newSnippetSite(t)
	b.hosts[host(site.URL)] = true
	_, found := v.register(t, v.alice, "browser", "redirect_uris", site.URL+"/app")
	site.page = found["browser-html"]
	b.open(site.URL + "/app")
	b.press("Sign in")
	v.allows(b)
	b.until(`document.getElementById("result").textContent == ` + quote(greeting))
	requested(t, b)
}

func (v *snippetServer) greetsNative(t *testing.T, b *tab) {
	_, found := v.register(t, v.alice, "native", "redirect_uris", "http://127.0.0.1/callback")
	v.each(t, found, languagesOf("native", "go", "mjs", "py"), func(t *testing.T, id, code string) {
		b := b.in(t)
		p := v.start(t, id, code)
		address := p.line(t, regexp.MustCompile(`^(http\S+)`))[1]
		back, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		local := host(back.Query().Get("redirect_uri"))
		b.hosts[local] = true
		b.absent = "http://" + local + "/favicon.ico"
		b.open(address)
		v.allows(b)
		b.until(`document.body.innerText.startsWith("You can close this window.")`)
		p.ends(t, greeting)
	})
	requested(t, b)
}

func (v *snippetServer) greetsDevice(t *testing.T, b *tab) {
	_, found := v.register(t, v.alice, "device")
	v.each(t, found, languagesOf("device", "sh", "go", "mjs", "py"), func(t *testing.T, id, code string) {
		b := b.in(t)
		p := v.start(t, id, code)
		m := p.line(t, told)
		b.open(m[1])
		if len(b.all("textbox", "Password")) > 0 {
			b.logIn(v.zoe)
		}
		b.fill("Code on your device", m[2])
		b.press("Continue")
		v.allows(b)
		p.ends(t, greeting)
	})
}
