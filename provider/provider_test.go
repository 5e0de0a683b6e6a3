package provider

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mandate/provider/authorize"
	"mandate/provider/clients"
	"mandate/provider/device"
	"mandate/provider/grant"
	"mandate/provider/limits"
	"mandate/provider/logout"
	"mandate/provider/oauth"
	"mandate/provider/oauth/oauthtest"
	"mandate/provider/password"
	"mandate/provider/people"
	"mandate/provider/policy"
	"mandate/provider/seal"
	"mandate/provider/tokens"
	"mandate/storage"
	"mandate/storage/storagetest"
)

const (
	goodPassword = "a few words in a row"
	callback     = "https://client.example/cb"
	verifier     = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk" // RFC 7636 appendix B
	challenge    = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
)

// fixture is a provider with its own database.
type fixture struct {
	*Provider
	t    testing.TB
	file string
	back *sql.DB

	logged *strings.Builder // the text of the log
}

func testConfig() Config {
	return Config{
		Issuer: "https://auth.example/o", ServerKey: bytes.Repeat([]byte{7}, 32),
		Settings: policy.Settings{
			Scopes: []policy.Scope{
				{Name: "read", Description: "Read"}, {Name: "write", Description: "Write"}, {Name: "groups", Description: "Groups"},
				{Name: "introspection", Description: "Introspect"},
			},
			OpenAccessTokenLifetime: time.Hour, OpenRefreshTokenLifetime: 30 * 24 * time.Hour,
			AccessTokenLifetime: 10 * time.Hour, AccessTokenMax: 365 * 24 * time.Hour, JWTAccessTokenMax: 365 * 24 * time.Hour,
			RefreshTokenLifetime: 30 * 24 * time.Hour, RefreshTokenMaxLifetime: 365 * 24 * time.Hour,
		},
		Authorize:    authorize.Config{CodeLifetime: time.Minute, PushedLifetime: 90 * time.Second, MaxPushed: 500},
		Device:       device.Config{Lifetime: 10 * time.Minute, Interval: 5 * time.Second, MaxPending: 500},
		Grant:        grant.Config{RotateRefreshTokens: true},
		Logout:       logout.Config{AcceptExpired: true, DeleteTokens: true},
		Open:         clients.OpenConfig{LocalhostLoopback: true},
		People:       people.Config{SessionLifetime: 14 * 24 * time.Hour, SessionIdle: 24 * time.Hour},
		Hashing:      limits.Config{Cost: password.Cost{MemoryKiB: 64, Iterations: 1}},
		MaxStaleness: 2 * time.Second,
	}
}

func begin(t testing.TB, changes ...func(*Config)) *fixture {
	t.Helper()
	store, file := storagetest.Open(t)
	config := testConfig()
	for _, change := range changes {
		change(&config)
	}
	log := &strings.Builder{}
	p, err := New(t.Context(), config, store, slog.New(slog.NewTextHandler(log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	return &fixture{p, t, file, nil, log}
}

// app registers a confidential application that may use every grant and scope, with these
// changes.
func (f *fixture) app(changes ...func(*clients.Registration)) *clients.Registered {
	f.t.Helper()
	r := clients.Registration{Name: "Client", ClientType: policy.Confidential,
		GrantTypes:   []string{policy.GrantCode, policy.GrantClient, policy.GrantPassword},
		RedirectURIs: []string{callback}, HashClientSecret: true}
	for _, change := range changes {
		change(&r)
	}
	made, err := f.Clients.Register(f.t.Context(), policy.Operator(), r)
	if err != nil {
		f.t.Fatal(err)
	}
	return made
}

func public(r *clients.Registration) {
	r.ClientType, r.GrantTypes = policy.Public, []string{policy.GrantCode, policy.GrantPassword}
}
func introspects(r *clients.Registration) { r.MayIntrospect = true }
func exempt(r *clients.Registration)      { r.PKCE = policy.PKCEIfSent }
func grants(types ...string) func(*clients.Registration) {
	return func(r *clients.Registration) { r.GrantTypes = types }
}

func (f *fixture) person(name string) storage.User {
	f.t.Helper()
	u, err := f.People.AddUser(f.t.Context(), policy.Operator(), people.Person{Username: name, Password: goodPassword})
	if err != nil {
		f.t.Fatal(err)
	}
	return u
}

// login signs a person in. It creates the person if there is none with this name.
func (f *fixture) login(name string) *storage.SignedIn {
	f.t.Helper()
	_, err := f.People.UserByName(f.t.Context(), name)
	if errors.Is(err, oauth.ErrNotFound) {
		f.person(name)
	}
	in, err := f.People.Login(f.t.Context(), name, goodPassword, people.Browser{Address: "192.0.2.1"})
	if err != nil {
		f.t.Fatal(err)
	}
	s, err := f.People.SignedIn(f.t.Context(), in.Session)
	if err != nil {
		f.t.Fatal(err)
	}
	return s
}

// values returns a form with these names and values. A later value replaces an earlier one,
// and "-" removes the name. The parameter resource may have several values.
func values(pairs ...string) url.Values {
	form := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i] == oauth.Resource {
			form.Add(pairs[i], pairs[i+1])
			continue
		}
		form.Set(pairs[i], pairs[i+1])
		if pairs[i+1] == "-" {
			form.Del(pairs[i])
		}
	}
	return form
}

func (f *fixture) query(app *clients.Registered, pairs ...string) url.Values {
	return values(append([]string{"client_id", app.Application.ClientID, "response_type", "code", "redirect_uri", callback,
		"code_challenge", challenge, "code_challenge_method", "S256"}, pairs...)...)
}

// authorize makes an authorization request, which must succeed.
func (f *fixture) authorize(app *clients.Registered, pairs ...string) *authorize.Authorization {
	f.t.Helper()
	a, err := f.Authorizations.Authorize(f.t.Context(), f.query(app, pairs...))
	if err != nil {
		f.t.Fatal(err)
	}
	if a.Refused != nil {
		f.t.Fatal(a.Refused)
	}
	return a
}

func (f *fixture) code(app *clients.Registered, s *storage.SignedIn, pairs ...string) string {
	f.t.Helper()
	location, err := f.Authorizations.Complete(f.t.Context(), f.authorize(app, pairs...), s)
	if err != nil {
		f.t.Fatal(err)
	}
	return queryOf(f.t, location.Location()).Get("code")
}

func queryOf(t testing.TB, location string) url.Values {
	t.Helper()
	u, err := url.Parse(location)
	if err != nil {
		t.Fatal(err)
	}
	return u.Query()
}

func post(form url.Values) *http.Request {
	return postBody(form.Encode())
}

func postBody(body string) *http.Request {
	r := httptest.NewRequest(http.MethodPost, "https://auth.example/o/token/", strings.NewReader(body))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return r
}

// by returns a request with the application's client authentication.
func by(app *clients.Registered, pairs ...string) *http.Request {
	if app.Application.ClientType == policy.Public {
		return post(values(append([]string{"client_id", app.Application.ClientID}, pairs...)...))
	}
	r := post(values(pairs...))
	r.SetBasicAuth(url.QueryEscape(app.Application.ClientID), url.QueryEscape(app.Secret))
	return r
}

func (f *fixture) token(app *clients.Registered, pairs ...string) (*tokens.TokenResponse, error) {
	answer, _, err := f.Grants.Token(f.t.Context(), by(app, pairs...), "192.0.2.1")
	return answer, err
}

func (f *fixture) exchange(app *clients.Registered, code string, pairs ...string) (*tokens.TokenResponse, error) {
	return f.token(app, append([]string{"grant_type", policy.GrantCode, "code", code, "redirect_uri", callback,
		"code_verifier", verifier}, pairs...)...)
}

func (f *fixture) refresh(app *clients.Registered, token string, pairs ...string) (*tokens.TokenResponse, error) {
	return f.token(app, append([]string{"grant_type", policy.GrantRefresh, "refresh_token", token}, pairs...)...)
}

// tokens runs the complete authorization code grant and returns the tokens.
func (f *fixture) tokens(app *clients.Registered, s *storage.SignedIn, pairs ...string) *tokens.TokenResponse {
	f.t.Helper()
	answer, err := f.exchange(app, f.code(app, s, pairs...))
	if err != nil {
		f.t.Fatal(err)
	}
	return answer
}

func (f *fixture) must(answer *tokens.TokenResponse, err error) *tokens.TokenResponse {
	f.t.Helper()
	if err != nil {
		f.t.Fatal(err)
	}
	return answer
}

// active reports whether the provider accepts the token as a valid one.
func (f *fixture) active(token string) bool {
	f.t.Helper()
	_, err := f.Tokens.LiveToken(f.t.Context(), token)
	if err != nil && !errors.Is(err, oauth.ErrNotFound) {
		f.t.Fatal(err)
	}
	return err == nil
}

func (f *fixture) wantActive(want bool, tokens ...string) {
	f.t.Helper()
	for i, token := range tokens {
		if got := f.active(token); got != want {
			f.t.Errorf("token %d (%.8s...) is active: %t, want %t", i, token, got, want)
		}
	}
}

// sql runs statements directly in the database, without the provider.
func (f *fixture) sql(statements ...string) {
	f.t.Helper()
	for _, statement := range statements {
		_, err := f.backDoor().ExecContext(context.Background(), statement)
		if err != nil {
			f.t.Fatal(statement, err)
		}
	}
	f.forgetCopies()
}

// forgetCopies removes all copies in memory. It is needed after direct changes of the database,
// because they send no notifications.
func (f *fixture) forgetCopies() { f.changed([]storage.Change{{Kind: storage.OfAll}}) }

func (f *fixture) backDoor() *sql.DB {
	f.t.Helper()
	if f.back == nil {
		db, err := sql.Open("sqlite", "file:"+f.file+"?_pragma=busy_timeout(10000)")
		if err != nil {
			f.t.Fatal(err)
		}
		f.t.Cleanup(func() { db.Close() })
		f.back = db
	}
	return f.back
}

func (f *fixture) count(table string) int {
	f.t.Helper()
	var n int
	err := f.backDoor().QueryRowContext(context.Background(), "SELECT COUNT(*) FROM "+table).Scan(&n)
	if err != nil {
		f.t.Fatal(err)
	}
	return n
}

// kind returns the status and the code of an error, such as "400 invalid_grant".
func kind(err error) string { return oauthtest.Kind(err) }

func wantError(t testing.TB, err error, want string) {
	t.Helper()
	oauthtest.Want(t, err, want)
}

func wantInvalid(t testing.TB, err error, field string) {
	t.Helper()
	found, ok := errors.AsType[*oauth.Invalid](err)
	if !ok || found.At(field) == "" {
		t.Errorf("got %v, want a mistake at %s", err, field)
	}
}

func TestProvider(t *testing.T) {
	t.Run("the server key has 32 bytes", func(t *testing.T) {
		f := begin(t)
		for _, n := range []int{0, 16, 31, 33, 64} {
			_, err := New(t.Context(), Config{ServerKey: make([]byte, n)}, f.store, f.log)
			if err == nil {
				t.Errorf("a key of %d bytes is accepted", n)
			}
		}
	})
	t.Run("another server key is noticed at the start", func(t *testing.T) {
		f := begin(t)
		config := testConfig()
		_, err := New(t.Context(), config, f.store, f.log)
		if err != nil {
			t.Error("the same key:", err)
		}
		config.ServerKey = bytes.Repeat([]byte{8}, 32)
		_, err = New(t.Context(), config, f.store, f.log)
		if err == nil {
			t.Error("another key is accepted")
		}
	})
	t.Run("what has expired is swept, and nothing else", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			f := begin(t, func(c *Config) { c.SweepInterval, c.SweepBatch = time.Minute, 2 })
			app, s := f.app(), f.login("alice")
			kept := f.tokens(app, s)
			for range 5 {
				f.code(app, s) // this code is never exchanged
			}
			ctx, stop := context.WithCancel(t.Context())
			done := make(chan struct{})
			go func() { f.Run(ctx); close(done) }()
			time.Sleep(3 * time.Minute)
			synctest.Wait()
			if n := f.count("grants"); n != 1 {
				t.Errorf("%d grants are left, want 1", n)
			}
			f.wantActive(true, kept.AccessToken, kept.RefreshToken)
			stop()
			<-done
		})
	})
}

func TestTheProviderKeepsItsPurposesApart(t *testing.T) {
	const text = "what nobody else may read or change"
	f := begin(t)
	sealers := map[string]seal.Sealer{"secrets": f.sealers.secrets, "tickets": f.sealers.tickets,
		"devices": f.sealers.devices, "flashes": f.sealers.flashes, "factors": f.sealers.factors,
		"sign-ins": f.sealers.signIns, "mails": f.sealers.mails}
	for a, from := range sealers {
		for b, to := range sealers {
			_, err := to.Open(from.Seal([]byte(text), "x"), "x")
			if (err == nil) != (a == b) {
				t.Errorf("sealed for %s, opened for %s: %v", a, b, err)
			}
		}
	}
}

// contains reports whether the files of the database contain a text.
func (f *fixture) contains(text string) bool {
	f.t.Helper()
	files, err := filepath.Glob(f.file + "*")
	if err != nil || len(files) == 0 {
		f.t.Fatal(files, err)
	}
	for _, name := range files {
		raw, err := os.ReadFile(name)
		if err != nil {
			f.t.Fatal(err)
		}
		if bytes.Contains(raw, []byte(text)) {
			return true
		}
	}
	return false
}
