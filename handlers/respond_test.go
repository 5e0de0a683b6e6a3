package handlers

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"mandate/handlers/resource"
	"mandate/handlers/web"
	"mandate/provider/oauth"
	"mandate/templates"
)

// verifier takes the token for the name of its only scope.
type verifier struct{}

func (verifier) Verify(_ context.Context, token string) (*resource.Token, error) {
	return &resource.Token{ClientID: "c", Scope: []string{token}}, nil
}

// bare is a server around handlers of a test.
func bare(t *testing.T) (*web.Site, *logged) {
	t.Helper()
	pages, err := templates.New("", templates.Brand{})
	if err != nil {
		t.Fatal(err)
	}
	log := &logged{}
	s, err := web.New(Config{
		BaseURL:      &url.URL{Scheme: "http", Host: "localhost"},
		MaxBodyBytes: 100,
		Log:          slog.New(slog.NewTextHandler(log, nil)),
	}, nil, pages)
	if err != nil {
		t.Fatal(err)
	}
	return s, log
}

func TestPanicIsAnInternalError(t *testing.T) {
	s, log := bare(t)
	broken := func(http.ResponseWriter, *http.Request) error { panic("the lamp fell") }
	for kind, h := range map[string]http.Handler{
		"application/json":         s.Protocol(broken),
		"text/html; charset=utf-8": s.Page(web.On{get: broken}),
	} {
		w := httptest.NewRecorder()
		s.Requests.Observe(h).ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
		if w.Code != 500 || w.Header().Get("Content-Type") != kind || strings.Contains(w.Body.String(), "lamp") ||
			!strings.Contains(w.Body.String(), w.Header().Get("X-Request-Id")) {
			t.Errorf("%d %v\n%s", w.Code, w.Header(), w.Body)
		}
	}
	if text := log.String(); strings.Count(
		text, "the lamp fell",
	) != 2 || !strings.Contains(text, "respond_test.go") || !strings.Contains(text, "level=ERROR") {
		t.Errorf("log: %s", text)
	}
}

func TestPanicBehindHalfAnAnswerCutsIt(t *testing.T) {
	s, log := bare(t)
	server := httptest.NewServer(s.Requests.Observe(s.Protocol(func(w http.ResponseWriter, _ *http.Request) error {
		w.Header().Set("Content-Length", "100")
		_, _ = io.WriteString(w, `{"a":`)
		panic("the lamp fell")
	})))
	defer server.Close()
	response, err := http.Get(server.URL)
	if err == nil {
		_, err = io.ReadAll(response.Body)
		response.Body.Close()
	}
	if err == nil {
		t.Error("half an answer passes for a whole one")
	}
	if !strings.Contains(log.String(), "the lamp fell") {
		t.Errorf("log: %s", log)
	}
}

func TestErrors(t *testing.T) {
	s, log := bare(t)
	for _, test := range []struct {
		err    error
		status int
		text   string
	}{
		{&oauth.Error{
			Status:      401,
			Code:        "invalid_client",
			Description: "Say who you are.",
			Challenge:   "Basic",
			RetryAfter:  3,
		}, 401, `{"error":"invalid_client","error_description":"Say who you are."}`},
		{&oauth.Error{Code: "odd"}, 400, `{"error":"odd"}`},
		{oauth.ErrNotFound, 404, `"error":"not_found"`},
		{&oauth.Invalid{Fields: []oauth.FieldError{{Field: "name", Message: "Not so."}}}, 422, "name: Not so."},
		{&http.MaxBytesError{Limit: 7}, 413, "7 bytes"},
		{errors.New("disk on fire"), 500, "Internal error"},
	} {
		w := httptest.NewRecorder()
		s.Requests.Observe(s.Protocol(func(http.ResponseWriter, *http.Request) error { return test.err })).ServeHTTP(
			w, httptest.NewRequest("POST", "/", nil),
		)
		if w.Code != test.status || !strings.Contains(
			w.Body.String(), test.text,
		) || strings.Contains(w.Body.String(), "fire") || w.Header().Get("Cache-Control") != "no-store" {
			t.Errorf("%v: %d %s", test.err, w.Code, w.Body)
		}
		if test.status == 401 && (w.Header().Get("WWW-Authenticate") != "Basic" || w.Header().Get("Retry-After") != "3") {
			t.Errorf("%v", w.Header())
		}
	}
	if !strings.Contains(log.String(), "disk on fire") {
		t.Errorf("log: %s", log)
	}
}

func TestBodyIsLimited(t *testing.T) {
	s := newSite(t, "", func(c *Config) { c.MaxBodyBytes = 1000 })
	v := s.visitor(t)
	long := strings.Repeat("x", 2000)
	v.post(t, "/login/", "username", long, "password", "x").wants(t, 413, "1000 bytes")
	v.post(t, "/o/token/", "grant_type", long).wants(t, 413, `"error":"invalid_request"`)
}

func TestMalformedForms(t *testing.T) {
	s := newSite(t, "")
	v := s.as(t, "alice")
	for _, test := range []struct {
		path, body string
		status     int
	}{
		{"/login/", "username=a&username=b&password=c", 400},
		{"/login/", "username=a%00b&password=c", 400},
		{"/login/", "username=a%ffb&password=c", 400},
		{"/login/", "username=%zz", 400},
		{"/login/", "a;b=c", 400},
		{"/login/", "%ff=a", 400},
		{"/o/applications/register/", "name=a&name=b", 400},
		{"/o/applications/register/", "scope=read&scope=%00", 400},
		{"/account/password/", "new_password=a&new_password=b", 400},
	} {
		got := v.do(t, v.request(t, post, test.path, test.body))
		if got.StatusCode != test.status || !strings.Contains(got.body, "<html") {
			t.Errorf("POST %s %s: %d", test.path, test.body, got.StatusCode)
		}
	}
	for path, status := range map[string]int{
		"/login/?next=%ff":                               400,
		"/login/?next=%00":                               400,
		"/login/?next=a&next=b":                          400,
		"/login/?%zz":                                    400,
		"/o/applications/?page=0":                        400,
		"/o/applications/?page=x":                        400,
		"/o/applications/?page=99999999999999999999":     400,
		"/o/applications/?page=2":                        404,
		"/o/applications/?q=%00":                         400,
		"/o/applications/?q=" + strings.Repeat("x", 201): 400,
		"/o/applications/?q=%25_!'":                      200,
		"/o/applications/%00/":                           404,
		"/o/applications/%ff/":                           404,
		"/o/applications/a%2fb/":                         404,
		"/setup/%00/":                                    404,
	} {
		if got := v.get(t, path); got.StatusCode != status {
			t.Errorf("GET %s: %d, expected %d", path, got.StatusCode, status)
		}
	}
	r := v.request(t, post, "/login/", `{"username":"alice"}`)
	r.Header.Set("Content-Type", "application/json")
	v.do(t, r).wants(t, 415, "application/x-www-form-urlencoded")
	// A header is not always text; the session that it is stored with is.
	r = v.request(t, post, "/login/", url.Values{"username": {"alice"}, "password": {goodPassword}}.Encode())
	r.Header.Set("User-Agent", "Fire\xff\xfe"+strings.Repeat("é", 300))
	v.do(t, r).wants(t, 303)
}

func TestPageHeaders(t *testing.T) {
	s := newSite(t, "")
	v := s.as(t, "root") // for others, the start page leads to the account page
	for _, path := range []string{
		"/",
		"/account/",
		"/o/applications/register/",
		"/nothing",
		"/o/authorize/",
		"/login/",
		"/logout/",
		"/o/applications/?page=x",
	} {
		got := v.get(t, path)
		h := got.Header
		csp := h.Get("Content-Security-Policy")
		for _, want := range []string{"default-src 'none'", "frame-ancestors 'none'", "base-uri 'none'"} {
			if !strings.Contains(csp, want) {
				t.Errorf("%s: no %s in %q", path, want, csp)
			}
		}
		// A page without a script runs none.
		if strings.Contains(csp, "script-src 'self'") != strings.Contains(got.body, "<script") {
			t.Errorf("%s: policy %q", path, csp)
		}
		// Chromium would hold the way back to the client against it.
		if strings.Contains(csp, "form-action") == (path == "/login/") {
			t.Errorf("%s: policy %q", path, csp)
		}
		if (h.Get("Cross-Origin-Opener-Policy") == "") != (path == "/login/") {
			t.Errorf("%s: opener policy %q", path, h.Get("Cross-Origin-Opener-Policy"))
		}
		for name, want := range map[string]string{
			"Cache-Control":          "no-store",
			"X-Frame-Options":        "DENY",
			"X-Content-Type-Options": "nosniff",
			"Referrer-Policy":        "same-origin",
		} {
			if h.Get(name) != want {
				t.Errorf("%s: %s is %q", path, name, h.Get(name))
			}
		}
	}
	// Redirects are pages on their way.
	if h := s.visitor(t).get(
		t, "/account/",
	).Header; h.Get("Cache-Control") != "no-store" || h.Get("Referrer-Policy") != "same-origin" {
		t.Errorf("%v", h)
	}
}

func TestLogTellsWhatHappenedAndNoSecret(t *testing.T) {
	s := newSite(t, "", func(c *Config) { c.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")} })
	v := s.visitor(t)
	r := v.request(t, post, "/login/", url.Values{
		"username": {"alice"},
		"password": {"hunter2secret"},
		"next":     {"/?nextsecret"},
	}.Encode())
	r.Header.Set("X-Forwarded-For", "198.51.100.7")
	r.Header.Set("X-Request-Id", "abc-1")
	got := v.do(t, r)
	if got.Header.Get("X-Request-Id") != "abc-1" {
		t.Errorf("request id %q", got.Header.Get("X-Request-Id"))
	}
	v = s.as(t, "alice")
	v.get(t, "/account/?code=querysecret")
	v.get(t, "/setup/linksecret/")
	v.get(t, "/no/pathsecret")
	v.post(
		t, "/o/token/", "grant_type", "authorization_code", "code", "codesecret", "client_id", "x", "client_secret",
		"clientsecret",
	)
	v.post(t, "/o/token/", "grant_type", "grantsecret", "client_id", "x")
	v.get(t, "/healthz")
	v.get(t, "/readyz")
	v.post(t, "/o/applications/register/", "redirect_uris", "http://urisecret.example.com", "name", "n", "scope", "read")
	v.do(t, v.request(
		t, post, "/login/", "namesecret=a&namesecret=b",
	)).wants(t, 400, "The field namesecret is sent more than once.")
	v.do(t, v.request(t, post, "/login/", "bytesecret=%ff")).wants(t, 400, "The field bytesecret is not UTF-8 text.")
	// A line is written after the answer.
	for deadline := time.Now().Add(10 * time.Second); strings.Count(
		s.log.String(), "\n",
	) < 12 && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond)
	}
	text := s.log.String()
	for _, secret := range []string{
		"hunter2secret",
		"nextsecret",
		"querysecret",
		"linksecret",
		"pathsecret",
		"codesecret",
		"clientsecret",
		"grantsecret",
		"urisecret",
		"namesecret",
		"bytesecret",
		goodPassword,
	} {
		if strings.Contains(text, secret) {
			t.Errorf("the log has %s:\n%s", secret, text)
		}
	}
	u, err := s.provider.People.UserByName(t.Context(), "alice")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(text, "\n")
	for _, want := range [][]string{
		{
			"request=abc-1",
			"method=POST",
			"route=/login/",
			"status=422",
			"duration=",
			"address=198.51.100.7",
			"error=invalid_grant",
		},
		{"route=/account/", "status=200", "subject=" + u.ID},
		{"route=/setup/{link}/", "status=404"},
		{"route=/o/token/", "status=401", "error=", "grant_type=authorization_code", "outcome=invalid_client"},
		{"route=/o/token/", "status=4", "grant_type=other"},
		{"route=/login/", "status=400", "The field … is sent more than once."},
		{"level=DEBUG", "route=/healthz/", "status=200"}, // load balancers call it every few seconds
		{"level=DEBUG", "route=/readyz/", "status=200"},
		{"route=/o/applications/register/", "status=422", "redirect_uris"},
	} {
		if !slices.ContainsFunc(lines, func(line string) bool {
			return !slices.ContainsFunc(want, func(part string) bool { return !strings.Contains(line, part) })
		}) {
			t.Errorf("no line with %v in\n%s", want, text)
		}
	}
}

func TestDatabaseDownIsUnavailable(t *testing.T) {
	s := newSite(t, "")
	v := s.as(t, "alice")
	s.store.Close()
	for _, path := range []string{"/", "/account/", "/o/applications/", "/readyz", "/o/authorize/?client_id=x"} {
		got := v.get(t, path)
		if got.StatusCode != 503 || got.Header.Get("Retry-After") == "" {
			t.Errorf("GET %s: %d %s", path, got.StatusCode, got.body)
		}
	}
	v.post(t, "/login/", "username", "alice", "password", goodPassword).wants(t, 503)
	v.get(t, "/healthz").wants(t, 200, "ok")
	v.get(t, "/login/").wants(t, 200)
}

// The pages that a session opens agree on who is signed in, even if the session ends
// while one of them is made.
func TestSessionIsLookedUpOncePerRequest(t *testing.T) {
	s := newSite(t, "")
	v := s.as(t, "alice")
	base, err := url.Parse(s.base)
	if err != nil {
		t.Fatal(err)
	}
	in, err := web.New(Config{BaseURL: base}, s.provider, nil)
	if err != nil {
		t.Fatal(err)
	}
	h := in.Requests.Observe(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		before, err := in.Person(r)
		if err != nil {
			t.Fatal(err)
		}
		_, err = s.provider.People.EndSessions(r.Context(), before.User.ID)
		if err != nil {
			t.Fatal(err)
		}
		after, err := in.Person(r)
		if err != nil || after != before {
			t.Errorf("a second look finds %v, %v", after, err)
		}
	}))
	r := v.request(t, get, "/", "")
	for _, c := range v.Jar.Cookies(r.URL) {
		r.AddCookie(c)
	}
	h.ServeHTTP(httptest.NewRecorder(), r)
	_, err = in.Person(r)
	if !errors.Is(err, web.ErrSignIn) {
		t.Errorf("the next request finds %v", err)
	}
}
