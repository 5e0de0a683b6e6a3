package mandate

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The logos of applications that describe themselves (RFC 7591 §2, §5).

// logoPNG returns a logo of one colour.
func logoPNG(t testing.TB, width, height int, c color.Color) []byte {
	t.Helper()
	i := image.NewNRGBA(image.Rect(0, 0, width, height))
	for y := range height {
		for x := range width {
			i.Set(x, y, c)
		}
	}
	return encodedPNG(t, i)
}

func encodedPNG(t testing.TB, i image.Image) []byte {
	t.Helper()
	var b bytes.Buffer
	err := png.Encode(&b, i)
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

var teal = color.NRGBA{13, 87, 82, 255}

// logo serves a file at a path, and returns its address.
func (h *documentHost) logo(path, contentType string, file []byte) string {
	return h.page(path, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		_, _ = w.Write(file)
	})
}

var logoElement = regexp.MustCompile(`<img class="logo" src="([^"]+)" alt="">`)

// logoOn returns the path of the logo that a page shows, or "".
func logoOn(page string) string {
	found := logoElement.FindStringSubmatch(page)
	if found == nil {
		return ""
	}
	return found[1]
}

// registersLogo registers a client of the host with a logo.
func (s *server) registersLogo(t testing.TB, h *documentHost, name, logo string) application {
	t.Helper()
	redirect := h.URL + "/cb/" + url.PathEscape(name)
	return asApplication(s.registers(t, nobody,
		member{"client_name": name, "redirect_uris": []string{redirect}, "logo_uri": logo,
			"policy_uri": h.URL + "/policy", "tos_uri": h.URL + "/terms"}), redirect)
}

// consentLogo returns the path of the logo on the consent page.
func (b *browser) consentLogo(t testing.TB, app application) string {
	t.Helper()
	address, _ := b.server.authorizeURL(app)
	b.open(t, address)
	if !b.shows("decision") {
		t.Fatalf("no consent page: %d\n%s", b.Status, b.Body)
	}
	return logoOn(b.Body)
}

func TestLogo(t *testing.T) {
	ownProcesses(t)
	t.Parallel()
	h := newDocumentHost(t)
	v := newFixture(t, h.options(options{}))
	two := v.node(t)
	alice, bob := v.signedIn(t, v.alice), v.signedIn(t, v.bob)
	good := logoPNG(t, 300, 200, teal)

	t.Run("one fetch serves all people, and the answer is a picture of this server", func(t *testing.T) {
		app := v.registersLogo(t, h, "Once", h.logo("/once.png", "image/png", good))
		path := alice.consentLogo(t, app)
		if path == "" || path != bob.consentLogo(t, app) {
			t.Fatalf("%q:\n%s", path, alice.Body)
		}
		for _, a := range parallel(t, crowd, func(int) (answer, error) { return v.trySend("GET", path, nobody, nil) }) {
			i, err := png.Decode(strings.NewReader(a.Body))
			if a.Status != http.StatusOK || err != nil || i.Bounds() != image.Rect(0, 0, 96, 96) {
				t.Fatal(a.Status, err)
			}
			for name, want := range map[string]string{"Content-Type": "image/png", "X-Content-Type-Options": "nosniff",
				"Cross-Origin-Resource-Policy": "same-origin",
				"Cache-Control":                "private, max-age=3600", "Pragma": "", "Access-Control-Allow-Origin": "",
				"Set-Cookie": ""} {
				if got := a.Header.Get(name); got != want {
					t.Errorf("%s is %q, want %q", name, got, want)
				}
			}
			if strings.Contains(a.Body, string(good[60:100])) {
				t.Error("the bytes of the client are passed on")
			}
		}
		if n := h.fetches("/once.png"); n != 1 {
			t.Errorf("%d fetches, want 1", n)
		}
		// Another node understands the name, and keeps its own picture.
		if a := two.get(t, path, nobody); a.Status != http.StatusOK || h.fetches("/once.png") != 2 {
			t.Errorf("the other node answers %d, %d fetches", a.Status, h.fetches("/once.png"))
		}
	})

	t.Run("a document that nobody has approved", func(t *testing.T) {
		app := h.client("/client.json", agentURI, map[string]any{"logo_uri": h.logo("/document.png", "image/png", good)})
		path := alice.consentLogo(t, app)
		if a := v.get(t, path, nobody); path == "" || a.Status != http.StatusOK {
			t.Errorf("%q: %d", path, a.Status)
		}
	})

	t.Run("the page does not wait for the logo", func(t *testing.T) {
		arrived, goOn := make(chan struct{}), make(chan struct{})
		app := v.registersLogo(t, h, "Slow", h.page("/slow.png", func(w http.ResponseWriter, _ *http.Request) {
			close(arrived)
			<-goOn
			w.Header().Set("Content-Type", "image/png")
			_, _ = w.Write(good)
		}))
		path := alice.consentLogo(t, app)
		got := make(chan answer)
		go func() {
			a, _ := v.trySend("GET", path, nobody, nil)
			got <- a
		}()
		<-arrived
		bob.consentLogo(t, app)
		close(goOn)
		if a := <-got; a.Status != http.StatusOK {
			t.Errorf("status %d", a.Status)
		}
	})

	t.Run("RFC7591/5 a logo of another host is not fetched", func(t *testing.T) {
		for name, logo := range map[string]string{"another host": "https://bank.example/logo.png",
			"another name of the host": strings.Replace(h.URL, "127.0.0.1", "localhost", 1) + "/other.png",
			"not encrypted":            strings.Replace(h.URL, "https", "http", 1) + "/other.png"} {
			app := v.registersLogo(t, h, name, logo)
			if path := alice.consentLogo(t, app); path != "" {
				t.Errorf("%s: %s", name, path)
			}
			if !strings.Contains(alice.Body, h.URL+"/policy") || strings.Contains(alice.Body, "pictured") {
				t.Errorf("%s:\n%s", name, alice.Body)
			}
		}
		if n := h.fetches("/other.png"); n != 0 {
			t.Errorf("%d fetches", n)
		}
	})

	t.Run("what is no logo is not there, and is not fetched again and again", func(t *testing.T) {
		const svg = `<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>`
		h.logo("/svg", "image/svg+xml", []byte(svg))
		h.logo("/html", "text/html", []byte("<h1>No</h1>"))
		h.logo("/disguised", "image/png", []byte(svg))
		h.logo("/wide", "image/png", logoPNG(t, 1025, 1, teal))
		h.logo("/large", "image/png", append(slices.Clone(good), make([]byte, 300<<10)...))
		h.logo("/truncated", "image/png", good[:len(good)/2])
		h.page("/moved", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/once.png", http.StatusFound) })
		for _, path := range []string{"/svg", "/html", "/disguised", "/wide", "/large", "/truncated", "/moved", "/missing"} {
			named := alice.consentLogo(t, v.registersLogo(t, h, path, h.URL+path))
			for range 2 {
				a := v.get(t, named, nobody)
				if a.Status != http.StatusNotFound || a.Header.Get("Cache-Control") != "no-store" ||
					strings.Contains(a.Body, "svg") {
					t.Errorf("%s: %d %s", path, a.Status, a.Body)
				}
			}
			if n := h.fetches(path); n != 1 {
				t.Errorf("%s: %d fetches, want 1", path, n)
			}
		}
	})

	t.Run("this server is no proxy for what it has not named", func(t *testing.T) {
		path := alice.consentLogo(t, v.registersLogo(t, h, "Named", h.logo("/named.png", "image/png", good)))
		body, mac, _ := strings.Cut(strings.Trim(strings.TrimPrefix(path, "/logo/"), "/"), ".")
		for _, name := range []string{"x", body, body + ".", body + "x." + mac, url.PathEscape(h.URL + "/named.png")} {
			if a := v.get(t, "/logo/"+name+"/", nobody); a.Status != http.StatusNotFound {
				t.Errorf("%s: %d", name, a.Status)
			}
		}
		if n := h.fetches("/named.png"); n != 0 {
			t.Errorf("%d fetches", n)
		}
	})
}

// Without OPEN_HOSTS a stranger reaches no internal network, whatever the operator allows for
// others.
func TestLogoOfAnInternalNetwork(t *testing.T) {
	t.Parallel()
	h := newDocumentHost(t)
	s := startServer(t, options{env: []string{"SSL_CERT_FILE=" + h.file},
		settings: []string{"OUTBOUND_ALLOWED_NETWORKS: [127.0.0.0/8]"}, provider: openClients})
	app := s.registersLogo(t, h, "Inside", h.logo("/logo.png", "image/png", logoPNG(t, 9, 9, teal)))
	path := s.signIn(t, s.person(t, "alice"), "/account/").consentLogo(t, app)
	if a := s.get(t, path, nobody); path == "" || a.Status != http.StatusNotFound {
		t.Errorf("%q: %d", path, a.Status)
	}
	if n := h.fetches("/logo.png"); n != 0 {
		t.Errorf("%d fetches", n)
	}
}

// OIDC Registration §2: people see the logo, the policy and the terms of a client, also where
// they sign in for it.
func TestLogoAtLogin(t *testing.T) {
	t.Parallel()
	h := newDocumentHost(t)
	s := startServer(t, h.options(options{}))
	alice := s.person(t, "alice")
	app := s.registersLogo(t, h, "Login", h.logo("/login.png", "image/png", logoPNG(t, 9, 9, teal)))
	shows := func(t *testing.T, b *browser, want bool) {
		t.Helper()
		for _, text := range []string{`href="` + h.URL + `/policy"`, `href="` + h.URL + `/terms"`, "Login</bdi>",
			"Nobody has checked this application"} {
			if strings.Contains(b.Body, text) != want {
				t.Errorf("%s: %v, want %v:\n%s", text, !want, want, b.Body)
			}
		}
		if path := logoOn(b.Body); (path != "") != want {
			t.Errorf("logo %q", path)
		}
	}
	t.Run("of an authorization request", func(t *testing.T) {
		b := s.browser(t)
		address, _ := s.authorizeURL(app)
		b.open(t, address)
		shows(t, b, true)
		if a := s.get(t, logoOn(b.Body), nobody); a.Status != http.StatusOK {
			t.Errorf("status %d", a.Status)
		}
		b.submit(t, "", params("username", alice.Name, "password", "wrong"))
		if !b.shows("password") {
			t.Fatal(b.Body)
		}
		shows(t, b, true)
		b.logIn(t, alice)
		if !b.shows("decision") {
			t.Error(b.Body)
		}
	})
	t.Run("of a client with a document", func(t *testing.T) {
		described := h.client("/described.json", agentURI,
			map[string]any{"client_name": "Login", "policy_uri": h.URL + "/policy", "tos_uri": h.URL + "/terms",
				"logo_uri": h.URL + "/login.png"})
		b := s.browser(t)
		address, _ := s.authorizeURL(described)
		b.open(t, address)
		shows(t, b, true)
	})
	t.Run("of the account page", func(t *testing.T) {
		b := s.browser(t)
		b.open(t, "/account/")
		shows(t, b, false)
	})
	t.Run("an application that says nothing about itself", func(t *testing.T) {
		plain := s.application(t, "--name", "Login", "--grant", "authorization_code", "--redirect-uri",
			"https://plain.example/cb", "--owner", alice.Name)
		b := s.browser(t)
		address, _ := s.authorizeURL(plain)
		b.open(t, address)
		shows(t, b, false)
	})
	t.Run("the owner of a described application is not shown", func(t *testing.T) {
		root := s.person(t, "gertrude", "--admin")
		owned := asApplication(s.registers(t, bearer(s.initialToken(t)),
			member{"client_name": "Owned", "redirect_uris": []string{h.URL + "/owned"}, "policy_uri": h.URL + "/policy",
				"token_endpoint_auth_method": "none"}), h.URL+"/owned")
		s.mustCLI(t, "", "application", "assign", owned.ClientID, root.Name)
		b := s.browser(t)
		address, _ := s.authorizeURL(owned)
		b.open(t, address)
		if !strings.Contains(b.Body, h.URL+"/policy") || strings.Contains(b.Body, root.Name) {
			t.Error(b.Body)
		}
	})
	t.Run("a link to the login page makes the server fetch nothing", func(t *testing.T) {
		invented := h.client("/invented.json", agentURI, map[string]any{"policy_uri": h.URL + "/policy"})
		b := s.browser(t)
		for _, next := range []string{"/o/authorize/?client_id=" + url.QueryEscape(invented.ClientID),
			"/o/authorize/?client_id=" + app.ClientID + "&client_id=x", "/o/authorize/?client_id=%00",
			"/o/authorize/?client_id=%zz"} {
			b.open(t, "/login/?next="+url.QueryEscape(next))
			if !b.shows("password") {
				t.Errorf("%s: %d", next, b.Status)
			}
			shows(t, b, false)
		}
		if n := h.fetches("/invented.json"); n != 0 {
			t.Errorf("%d fetches", n)
		}
	})
}
