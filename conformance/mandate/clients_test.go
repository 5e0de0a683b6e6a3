package mandate

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"
)

// Third-party clients, used as their users use them.

// phone registers a public client.
func (s *server) phone(t testing.TB) application {
	t.Helper()
	return s.application(t, "--name", "phone", "--client-type", "public", "--grant", "authorization_code", "--grant",
		"password", "--redirect-uri", callback)
}

// goToken checks the content of a token of golang.org/x/oauth2 and records it as a
// secret.
func (s *server) goToken(t testing.TB, token *oauth2.Token, err error, scope string, refresh bool) *oauth2.Token {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	s.secret(token.AccessToken)
	s.secret(token.RefreshToken)
	left := time.Until(token.Expiry)
	if !token.Valid() || token.Type() != "Bearer" || left < (lifetime-60)*time.Second || left > lifetime*time.Second {
		t.Errorf("a token of type %s that is valid %v for %v", token.Type(), token.Valid(), left)
	}
	if token.Extra("scope") != scope || (token.RefreshToken != "") != refresh {
		t.Errorf("scope %v, want %s; refresh token %v, want %v", token.Extra("scope"), scope,
			token.RefreshToken != "", refresh)
	}
	return token
}

// goRefused checks how golang.org/x/oauth2 reports an error response.
func goRefused(t testing.TB, err error, status int, code string) {
	t.Helper()
	var refused *oauth2.RetrieveError
	if !errors.As(err, &refused) {
		t.Fatalf("error %v, want a refusal", err)
	}
	if refused.Response.StatusCode != status || refused.ErrorCode != code || refused.ErrorDescription == "" {
		t.Errorf("refused with %d %s %q, want %d %s", refused.Response.StatusCode, refused.ErrorCode,
			refused.ErrorDescription, status, code)
	}
}

// TestClientsGo uses golang.org/x/oauth2.
func TestClientsGo(t *testing.T) {
	ownProcesses(t)
	onADatabase(t, func(t *testing.T, db database) {
		s := startServer(t, options{database: db, settings: []string{"SAMPLE_API: true"},
			provider: []string{"REFRESH_TOKEN_GRACE_PERIOD_SECONDS: 0"}})
		alice, web, phone := s.person(t, "alice"), s.whole(t, "web"), s.phone(t)
		b := s.signIn(t, alice, "/account/")
		for _, c := range []struct {
			name  string
			app   application
			style oauth2.AuthStyle
		}{
			{"confidential, Basic", web, oauth2.AuthStyleInHeader},
			{"confidential, body", web, oauth2.AuthStyleInParams},
			{"confidential, finding out", web, oauth2.AuthStyleAutoDetect},
			{"public, body", phone, oauth2.AuthStyleInParams},
			{"public, finding out", phone, oauth2.AuthStyleAutoDetect},
		} {
			t.Run(c.name, func(t *testing.T) {
				s.goFlow(t, b, c.app, alice, c.style)
				if c.app.ClientSecret != "" {
					s.goRobot(t, c.app, c.style)
				}
			})
		}
	})
}

// goFlow runs the flow from the authorization URL to a refreshed token.
func (s *server) goFlow(t *testing.T, b *browser, app application, alice person, style oauth2.AuthStyle) {
	t.Helper()
	ctx := context.WithValue(context.Background(), oauth2.HTTPClient, s.client)
	config := &oauth2.Config{ClientID: app.ClientID, ClientSecret: app.ClientSecret, RedirectURL: app.RedirectURI,
		Scopes:   []string{"read"},
		Endpoint: oauth2.Endpoint{AuthURL: s.URL + "/o/authorize/", TokenURL: s.URL + "/o/token/", AuthStyle: style}}
	verifier := oauth2.GenerateVerifier()
	back := b.authorize(t, config.AuthCodeURL("a state", oauth2.S256ChallengeOption(verifier)), alice, "approve").Query()
	if back.Get("state") != "a state" || back.Get("iss") != s.Issuer {
		t.Errorf("sent back with state %q and issuer %q", back.Get("state"), back.Get("iss"))
	}
	_, err := config.Exchange(ctx, back.Get("code"), oauth2.VerifierOption(oauth2.GenerateVerifier()))
	goRefused(t, err, http.StatusBadRequest, "invalid_grant")
	token, err := config.Exchange(ctx, back.Get("code"), oauth2.VerifierOption(verifier))
	first := s.goToken(t, token, err, "read", true)

	answer, err := config.Client(ctx, first).Get(s.URL + "/resource")
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		t.Errorf("/resource answers %d", answer.StatusCode)
	}

	// The client itself refreshes a token that it considers expired.
	old := &oauth2.Token{AccessToken: first.AccessToken, RefreshToken: first.RefreshToken,
		Expiry: time.Now().Add(-time.Hour)}
	token, err = config.TokenSource(ctx, old).Token()
	second := s.goToken(t, token, err, "read", true)
	if second.AccessToken == first.AccessToken || second.RefreshToken == first.RefreshToken {
		t.Error("an old token came back")
	}
	_, err = config.TokenSource(ctx, old).Token()
	goRefused(t, err, http.StatusBadRequest, "invalid_grant")

	token, err = config.PasswordCredentialsToken(ctx, alice.Name, alice.Password)
	s.goToken(t, token, err, "read", true)
	_, err = config.PasswordCredentialsToken(ctx, alice.Name, "not her password")
	goRefused(t, err, http.StatusBadRequest, "invalid_grant")
}

// goRobot runs the grants that need no person.
func (s *server) goRobot(t *testing.T, app application, style oauth2.AuthStyle) {
	t.Helper()
	ctx := context.WithValue(context.Background(), oauth2.HTTPClient, s.client)
	config := clientcredentials.Config{ClientID: app.ClientID, ClientSecret: app.ClientSecret,
		TokenURL: s.URL + "/o/token/", AuthStyle: style}
	token, err := config.Token(ctx)
	s.goToken(t, token, err, "read write", false)
	config.Scopes = []string{"write"}
	token, err = config.Token(ctx)
	s.goToken(t, token, err, "write", false)
	config.Scopes = []string{"admin"}
	_, err = config.Token(ctx)
	goRefused(t, err, http.StatusBadRequest, "invalid_scope")
	wrong := clientcredentials.Config{ClientID: app.ClientID, ClientSecret: "wrong", TokenURL: s.URL + "/o/token/",
		AuthStyle: style}
	_, err = wrong.Token(ctx)
	goRefused(t, err, http.StatusUnauthorized, "invalid_client")
}

// foreignClient runs a step of a client in another language. If the client is not
// installed, it skips the given test, which must be the running one.
type foreignClient func(t testing.TB, app application, step string, input map[string]any) map[string]any

// granted checks the token response that such a client returns.
func (s *server) granted(t testing.TB, got map[string]any, scope string, refresh bool) (string, string) {
	t.Helper()
	access, _ := got["access_token"].(string)
	next, _ := got["refresh_token"].(string)
	kind, _ := got["token_type"].(string)
	granted, ok := got["scope"].(string)
	if parts, many := got["scope"].([]any); many { // as the Python client returns it
		granted, ok = strings.Trim(fmt.Sprint(parts), "[]"), true
	}
	if access == "" || !strings.EqualFold(kind, "Bearer") || got["expires_in"] != float64(lifetime) || !ok ||
		granted != scope || (next != "") != refresh {
		t.Fatalf("token response %v, want the scope %q", got, scope)
	}
	return access, next
}

func wantError(t testing.TB, got map[string]any, codes ...string) {
	t.Helper()
	code, _ := got["error"].(string)
	if !slices.Contains(codes, code) {
		t.Errorf("got %v, want the error %v", got, codes)
	}
}

// TestClientsNode uses openid-client of npm. The client reads the server's metadata and
// checks each answer against it.
func TestClientsNode(t *testing.T) {
	ownProcesses(t)
	onADatabase(t, func(t *testing.T, db database) {
		s := startServer(t, options{database: db})
		alice, web, phone, asker := s.person(t, "alice"), s.whole(t, "web"), s.phone(t), s.introspector(t)
		run := s.openidClient
		b := s.signIn(t, alice, "/account/")
		for _, c := range []struct {
			name string
			app  application
			auth string
		}{{"basic", web, "basic"}, {"post", web, "post"}, {"public", phone, "none"}} {
			t.Run(c.name, func(t *testing.T) {
				_, refresh := s.foreignFlow(t, run, b, c.app, alice, c.auth)
				got := run(t, c.app, "refresh", map[string]any{"auth": c.auth, "refresh_token": refresh})
				access, next := s.granted(t, got, "read", true)
				info := run(t, asker, "introspect", map[string]any{"token": access})
				if info["active"] != true || info["username"] != "alice" || info["client_id"] != c.app.ClientID {
					t.Errorf("introspection gives %v", info)
				}
				if got := run(t, c.app, "revoke", map[string]any{"auth": c.auth, "token": next}); len(got) != 0 {
					t.Errorf("revocation gives %v", got)
				}
				s.checkInactive(t, asker.auth(), access)
				wantError(t, run(t, c.app, "refresh", map[string]any{"auth": c.auth, "refresh_token": next}), "invalid_grant")
				if c.app.ClientSecret != "" {
					s.granted(t, run(t, c.app, "client_credentials", map[string]any{"auth": c.auth}), "read write", false)
					s.granted(t, run(t, c.app, "client_credentials", map[string]any{"auth": c.auth, "scope": "write"}), "write", false)
					wantError(t, run(t, c.app, "client_credentials", map[string]any{"auth": c.auth, "scope": "admin"}),
						"invalid_scope")
				}
			})
		}
		t.Run("the answer must be from this issuer and for this request", func(t *testing.T) {
			s.foreignAnswers(t, run, b, web, alice)
		})
	})
}

// foreignFlow runs the flow from the authorization URL to the tokens.
func (s *server) foreignFlow(t *testing.T, run foreignClient, b *browser, app application, alice person,
	auth string) (string, string) {
	t.Helper()
	begun := run(t, app, "authorize", map[string]any{"auth": auth, "redirect_uri": app.RedirectURI, "scope": "read"})
	address, _ := begun["url"].(string)
	back := b.authorize(t, address, alice, "approve")
	got := run(t, app, "callback", map[string]any{"auth": auth, "redirect_uri": app.RedirectURI, "scope": "read",
		"url": back.String(), "code_verifier": begun["code_verifier"], "state": begun["state"]})
	return s.granted(t, got, "read", true)
}

// foreignAnswers changes an authorization response. The client must detect it, because
// the metadata says that the issuer is always present (RFC 9207 §2.4).
func (s *server) foreignAnswers(t *testing.T, run foreignClient, b *browser, app application, alice person) {
	t.Helper()
	for name, change := range map[string]func(url.Values){
		"another issuer": func(q url.Values) { q.Set("iss", "https://attacker.example/o") },
		"no issuer":      func(q url.Values) { q.Del("iss") },
		"another state":  func(q url.Values) { q.Set("state", "forged") },
		"no state":       func(q url.Values) { q.Del("state") },
	} {
		begun := run(t, app, "authorize", map[string]any{"redirect_uri": app.RedirectURI, "scope": "read"})
		address, _ := begun["url"].(string)
		back := *b.authorize(t, address, alice, "approve")
		query := back.Query()
		change(query)
		back.RawQuery = query.Encode()
		got := run(t, app, "callback", map[string]any{"url": back.String(), "code_verifier": begun["code_verifier"],
			"state": begun["state"]})
		if got["error"] == nil || got["access_token"] != nil {
			t.Errorf("%s: the client took the answer: %v", name, got)
		}
	}
	begun := run(t, app, "authorize", map[string]any{"redirect_uri": app.RedirectURI, "scope": "admin"})
	address, _ := begun["url"].(string)
	b.open(t, address)
	got := run(t, app, "callback", map[string]any{"url": b.Away.String(), "code_verifier": begun["code_verifier"],
		"state": begun["state"]})
	wantError(t, got, "invalid_scope")
}

// TestClientsPython uses requests-oauthlib of Debian.
func TestClientsPython(t *testing.T) {
	ownProcesses(t)
	onADatabase(t, func(t *testing.T, db database) {
		s := startServer(t, options{database: db, settings: []string{"SAMPLE_API: true"},
			provider: []string{"REFRESH_TOKEN_GRACE_PERIOD_SECONDS: 0"}})
		alice, web, phone := s.person(t, "alice"), s.whole(t, "web"), s.phone(t)
		run := s.requestsOAuthlib
		b := s.signIn(t, alice, "/account/")
		for _, c := range []struct {
			name string
			app  application
			auth string
		}{{"basic", web, "basic"}, {"post", web, "post"}, {"public", phone, "none"}} {
			t.Run(c.name, func(t *testing.T) {
				access, refresh := s.foreignFlow(t, run, b, c.app, alice, c.auth)
				if got := run(t, c.app, "get",
					map[string]any{"url": s.URL + "/users/", "access_token": access}); got["status"] != float64(http.StatusOK) {
					t.Errorf("/users/ answers %v", got)
				}
				got := run(t, c.app, "refresh", map[string]any{"auth": c.auth, "refresh_token": refresh})
				access, _ = s.granted(t, got, "read", true)
				wantError(t, run(t, c.app, "refresh", map[string]any{"auth": c.auth, "refresh_token": refresh}), "invalid_grant")
				s.checkInactive(t, s.introspector(t).auth(), access)
				s.granted(t, run(t, c.app, "password",
					map[string]any{"auth": c.auth, "username": alice.Name, "password": alice.Password, "scope": "write"}),
					"write", true)
				wantError(t, run(t, c.app, "password",
					map[string]any{"auth": c.auth, "username": alice.Name, "password": "not her password"}), "invalid_grant")
				if c.app.ClientSecret != "" {
					s.granted(t, run(t, c.app, "client_credentials", map[string]any{"auth": c.auth}), "read write", false)
					wantError(t, run(t, c.app, "client_credentials", map[string]any{"auth": c.auth, "scope": "admin"}),
						"invalid_scope")
				}
			})
		}
	})
}
