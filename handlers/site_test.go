package handlers

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"mandate/provider"
	"mandate/provider/authorize"
	"mandate/provider/device"
	"mandate/provider/limits"
	"mandate/provider/mail"
	"mandate/provider/password"
	"mandate/provider/people"
	"mandate/provider/policy"
	"mandate/provider/resources"
	"mandate/storage"
	"mandate/storage/storagetest"
	"mandate/templates"
)

// site is the whole server over a database of its own.
type site struct {
	*httptest.Server
	base     string // what a path of ours is put behind
	store    *storage.Store
	provider *provider.Provider
	log      *logged
}

// logged is a log that a test can read.
type logged struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logged) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(b)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

const (
	get  = http.MethodGet
	post = http.MethodPost
)

const goodPassword = "correct horse battery"

// emptySite starts a server below a path, "" or "/auth", where nobody is yet.
func emptySite(t *testing.T, path string, change ...func(*Config)) *site {
	t.Helper()
	return siteOver(t, path, nil, change...)
}

// siteOver is an emptySite whose provider has configured resources.
func siteOver(t *testing.T, path string, apis []resources.Registration, change ...func(*Config)) *site {
	t.Helper()
	return siteWith(t, path, func(c *provider.Config) { c.Resources.Configured = apis }, change...)
}

// mailing lets people be invited, and is for a site whose messages nobody sends.
func mailing(c *provider.Config) {
	c.People.SignUp, c.People.InvitationLifetime = people.SignUpInvited, time.Hour
	c.Mail.URL, c.Mail.From = "smtp://127.0.0.1:1", "noreply@example.org"
	c.Letters = func(string, any) (mail.Letter, error) { return mail.Letter{}, nil }
}

// siteWith is an emptySite whose provider has other settings.
func siteWith(t *testing.T, path string, settings func(*provider.Config), change ...func(*Config)) *site {
	t.Helper()
	ctx := t.Context()
	store, _ := storagetest.Open(t)
	s := &site{Server: httptest.NewUnstartedServer(nil), store: store, log: &logged{}}
	s.base = "http://" + s.Listener.Addr().String() + path
	log := slog.New(slog.NewTextHandler(s.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	base, err := url.Parse(s.base)
	if err != nil {
		t.Fatal(err)
	}
	config := Config{BaseURL: base, Log: log}
	for _, f := range change {
		f(&config)
	}
	c := provider.Config{
		Issuer:    s.base + "/o",
		ServerKey: bytes.Repeat([]byte{7}, 32),
		Settings: policy.Settings{
			Scopes: []policy.Scope{
				{Name: "read", Description: "Read it"}, {Name: "write", Description: "Write it"},
				{Name: "introspection", Description: "Ask"},
			},
			AccessTokenLifetime:     10 * time.Hour,
			JWTAccessTokenLifetime:  time.Hour,
			RefreshTokenLifetime:    30 * 24 * time.Hour,
			RefreshTokenMaxLifetime: 365 * 24 * time.Hour,
			OpenID:                  config.OpenID,
		},
		Authorize: authorize.Config{CodeLifetime: time.Minute, PushedLifetime: time.Minute},
		People:    people.Config{SessionLifetime: time.Hour},
		Device:    device.Config{Lifetime: 10 * time.Minute},
		Hashing:   limits.Config{Cost: password.Cost{MemoryKiB: 64, Iterations: 1}},
	}
	settings(&c)
	s.provider, err = provider.New(ctx, c, store, log)
	if err != nil {
		t.Fatal(err)
	}
	pages, err := templates.New(path, templates.Brand{})
	if err != nil {
		t.Fatal(err)
	}
	s.Config.Handler, err = New(config, s.provider, pages)
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(s.Close)
	return s
}

// newSite is a site with an administrator, root, and somebody else, alice.
func newSite(t *testing.T, path string, change ...func(*Config)) *site {
	t.Helper()
	s := emptySite(t, path, change...)
	s.addPeople(t)
	return s
}

func (s *site) addPeople(t *testing.T) {
	t.Helper()
	for _, person := range []people.Person{{
		Username:      "root",
		Password:      goodPassword,
		Administrator: true,
	}, {Username: "alice", Password: goodPassword}} {
		_, err := s.provider.People.AddUser(context.Background(), policy.Operator(), person)
		if err != nil {
			t.Fatal(err)
		}
	}
}

// visitor is a browser that follows no redirect.
type visitor struct {
	*http.Client
	site *site
}

func (s *site) visitor(t *testing.T) *visitor {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &visitor{&http.Client{Jar: jar, CheckRedirect: stay}, s}
}

// as is a visitor who has signed in.
func (s *site) as(t *testing.T, username string) *visitor {
	t.Helper()
	v := s.visitor(t)
	got := v.post(t, "/login/", "username", username, "password", goodPassword)
	got.wants(t, 303)
	return v
}

type answer struct {
	*http.Response
	body string
}

func (v *visitor) do(t *testing.T, r *http.Request) answer {
	t.Helper()
	response, err := v.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{response, string(body)}
}

func (v *visitor) request(t *testing.T, method, path, body string) *http.Request {
	t.Helper()
	r, err := http.NewRequest(method, v.site.base+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if body != "" || method == post {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	return r
}

func (v *visitor) get(t *testing.T, path string) answer {
	t.Helper()
	return v.do(t, v.request(t, get, path, ""))
}

func (v *visitor) post(t *testing.T, path string, pairs ...string) answer {
	t.Helper()
	form := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		form.Add(pairs[i], pairs[i+1])
	}
	return v.do(t, v.request(t, post, path, form.Encode()))
}

// follow opens where an answer sends the visitor.
func (v *visitor) follow(t *testing.T, a answer) answer {
	t.Helper()
	a.wants(t, 303)
	target, err := a.Location()
	if err != nil {
		t.Fatal(err)
	}
	path, ours := strings.CutPrefix(target.String(), v.site.base)
	if !ours {
		t.Fatalf("sent to %s", target)
	}
	return v.get(t, path)
}

func (a answer) wants(t *testing.T, status int, texts ...string) {
	t.Helper()
	if a.StatusCode != status {
		t.Fatalf(
			"%s %s: status %d, expected %d, Location %q\n%s", a.Request.Method, a.Request.URL, a.StatusCode, status,
			a.Header.Get("Location"), a.body,
		)
	}
	for _, text := range texts {
		if !strings.Contains(a.body, text) {
			t.Fatalf("%s %s: no %q in\n%s", a.Request.Method, a.Request.URL, text, a.body)
		}
	}
}

// cookies are those that an answer sets, by name.
func (a answer) cookies() map[string]*http.Cookie {
	named := map[string]*http.Cookie{}
	for _, c := range a.Response.Cookies() {
		named[c.Name] = c
	}
	return named
}
