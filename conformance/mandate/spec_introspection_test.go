package mandate

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/html"
)

// The introspection endpoint: who may send requests, and the answers.

func TestSpecIntrospectionResult(t *testing.T) {
	onADatabase(t, func(t *testing.T, db database) {
		s := startServer(t, options{database: db, provider: []string{
			"SCOPES: {read: Read scope, write: Write scope, introspection: Introspect token scope}"}})
		alice, app, asker := s.person(t, "alice"), s.whole(t, "all grants"), s.introspector(t)
		before := time.Now()
		pair := s.pair(t, app, alice, "scope", "read")
		robot := s.mustToken(t, app.auth(), params("grant_type", "client_credentials"))
		key := s.mustToken(t, asker.auth(), params("grant_type", "client_credentials", "scope", "introspection"))
		after := time.Now()

		accept := func(r *http.Request, f url.Values) {
			bearer(key.AccessToken)(r, f)
			r.Header.Set("Accept", "application/json")
		}
		// result checks the members whose values are not known in advance, and removes
		// them.
		result := func(t *testing.T, token string, life time.Duration) map[string]any {
			t.Helper()
			a := s.post(t, "/o/introspect/", accept, params("token", token, "token_type_hint", "refresh_token"))
			if a.Status != http.StatusOK {
				t.Fatalf("status %d: %s", a.Status, a.Body)
			}
			checkUncached(t, a)
			got := object(t, a)
			if !within(got["exp"], before.Add(life), after.Add(life)) {
				t.Errorf("exp %v, want an integer %v from now", got["exp"], life)
			}
			for _, name := range []string{"iat", "nbf"} {
				if !within(got[name], before, after) {
					t.Errorf("%s %v, want an integer, now", name, got[name])
				}
			}
			for _, name := range []string{"sub", "jti"} {
				if text, _ := got[name].(string); text == "" || strings.Contains(token, text) {
					t.Errorf("%s %v, want a name that does not give the token away", name, got[name])
				}
			}
			for _, name := range []string{"exp", "iat", "nbf", "sub", "jti"} {
				if got[name] == nil {
					t.Errorf("no member %s: %s", name, a.Body)
				}
				delete(got, name)
			}
			return got
		}
		t.Run("a token of a person", func(t *testing.T) {
			want := map[string]any{"active": true, "client_id": app.ClientID, "username": "alice", "scope": "read",
				"iss": s.Issuer, "token_type": "Bearer"}
			if diff := cmp.Diff(want, result(t, pair.AccessToken, lifetime*time.Second)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
		t.Run("a token of an application has no username", func(t *testing.T) {
			want := map[string]any{"active": true, "client_id": app.ClientID, "scope": "read write", "iss": s.Issuer,
				"token_type": "Bearer"}
			if diff := cmp.Diff(want, result(t, robot.AccessToken, lifetime*time.Second)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
		t.Run("a refresh token is alive for 30 days, and no bearer token", func(t *testing.T) {
			want := map[string]any{"active": true, "client_id": app.ClientID, "username": "alice", "scope": "read",
				"iss": s.Issuer}
			got := result(t, pair.RefreshToken, 30*24*time.Hour)
			// Without the hint refresh_token an API gets the answer for an inactive token.
			a := s.post(t, "/o/introspect/", accept, params("token", pair.RefreshToken))
			if a.Status != http.StatusOK || strings.TrimSpace(a.Body) != `{"active":false}` {
				t.Errorf("without a hint: %d %s", a.Status, a.Body)
			}
			if got["token_type"] == "Bearer" {
				t.Error("the type is Bearer")
			}
			delete(got, "token_type")
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
		t.Run("a hint changes nothing", func(t *testing.T) {
			// RFC 7662 §2.1: the token is found in spite of a wrong hint.
			for _, hint := range []string{"access_token", "refresh_token", "something"} {
				a := s.post(t, "/o/introspect/", accept, params("token", pair.AccessToken, "token_type_hint", hint))
				if a.Status != http.StatusOK || object(t, a)["active"] != true {
					t.Errorf("with %s: %d %s", hint, a.Status, a.Body)
				}
			}
		})
		t.Run("a token may ask about itself", func(t *testing.T) {
			if !s.active(t, bearer(key.AccessToken), key.AccessToken) {
				t.Error("inactive")
			}
		})
	})
}

func TestSpecIntrospectionCaller(t *testing.T) {
	onADatabase(t, func(t *testing.T, db database) {
		s := startServer(t, options{database: db, provider: []string{
			"SCOPES: {read: Read scope, write: Write scope, introspection: Introspect token scope}"}})
		alice, app, asker := s.person(t, "alice"), s.whole(t, "all grants"), s.introspector(t)
		public := s.application(t, "--name", "phone", "--client-type", "public", "--grant", "password")
		pair := s.pair(t, app, alice)
		key := s.mustToken(t, asker.auth(), params("grant_type", "client_credentials", "scope", "introspection"))
		ended := s.mustToken(t, asker.auth(), params("grant_type", "client_credentials", "scope", "introspection"))
		s.revoke(t, asker.auth(), ended.AccessToken)
		plain := s.mustToken(t, asker.auth(), params("grant_type", "client_credentials"))

		for name, as := range map[string]auth{
			"a bearer token with introspection": bearer(key.AccessToken),
			"Basic":                             asker.auth(),
			"credentials in the body":           body(asker.ClientID, asker.ClientSecret),
		} {
			t.Run("may ask by "+name, func(t *testing.T) {
				if !s.active(t, as, pair.AccessToken) {
					t.Error("inactive")
				}
			})
		}
		for _, c := range []struct {
			name      string
			as        auth
			status    int
			code      string
			challenge []string
		}{
			{"nothing", nobody, 401, "invalid_client", []string{"Basic ", "Bearer "}},
			{"a wrong secret", basic(asker.ClientID, "wrong"), 401, "invalid_client", []string{"Basic "}},
			{"an unknown token", bearer("mat_unknown"), 401, "invalid_token", []string{`Bearer `, `error="invalid_token"`}},
			{"a revoked token", bearer(ended.AccessToken), 401, "invalid_token", []string{`Bearer `, `error="invalid_token"`}},
			{"a refresh token", bearer(pair.RefreshToken), 401, "invalid_token", []string{`Bearer `, `error="invalid_token"`}},
			{"a token without introspection", bearer(plain.AccessToken), 403, "insufficient_scope",
				[]string{`Bearer `, `error="insufficient_scope"`, `scope="introspection"`}},
			{"the token in question", bearer(pair.AccessToken), 403, "insufficient_scope",
				[]string{`Bearer `, `error="insufficient_scope"`}},
			{"an application that may not", app.auth(), 403, "unauthorized_client", nil},
			{"a public application", public.auth(), 403, "unauthorized_client", nil},
		} {
			t.Run("may not ask by "+c.name, func(t *testing.T) {
				a := s.post(t, "/o/introspect/", c.as, params("token", pair.AccessToken))
				checkRefused(t, a, c.status, c.code)
				all := strings.Join(a.Header.Values("WWW-Authenticate"), ", ")
				for _, part := range c.challenge {
					if !strings.Contains(all, part) {
						t.Errorf("WWW-Authenticate %q, want %s in it", all, part)
					}
				}
			})
		}
		t.Run("token is required", func(t *testing.T) {
			checkRefused(t, s.post(t, "/o/introspect/", asker.auth(), params("token_type_hint", "access_token")), 400,
				"invalid_request")
		})
		t.Run("the method is POST", func(t *testing.T) {
			a := s.get(t, "/o/introspect/?token=abc", asker.auth())
			if a.Status != http.StatusMethodNotAllowed || !strings.Contains(a.Header.Get("Allow"), "POST") {
				t.Errorf("status %d, Allow %q", a.Status, a.Header.Get("Allow"))
			}
		})
		t.Run("the last slash may be left out", func(t *testing.T) {
			a := s.post(t, "/o/introspect", asker.auth(), params("token", pair.AccessToken))
			if a.Status != http.StatusOK || object(t, a)["active"] != true {
				t.Errorf("%d %s", a.Status, a.Body)
			}
		})
	})
}

// Each way to end a token works at once, and on all other nodes a moment later. The
// answer for the token is always the same.
func TestSpecInactiveToken(t *testing.T) {
	ownProcesses(t)
	forEachDatabase(t, func(t *testing.T, db database) {
		s := startServer(t, options{database: db})
		second, asker := s.node(t), s.introspector(t)
		for name, text := range map[string]string{
			"unknown": "mat_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", "malformed": "\x01 ä %00 '\"--", "short": "x",
			"long": strings.Repeat("a", 40_000),
		} {
			t.Run(name, func(t *testing.T) { s.checkInactive(t, asker.auth(), text) })
		}
		for i, c := range []struct {
			name string
			end  func(t *testing.T, app application, p person, pair tokens)
		}{
			{"revoked access token", func(t *testing.T, app application, p person, pair tokens) {
				s.revoke(t, app.auth(), pair.AccessToken)
			}},
			{"revoked refresh token", func(t *testing.T, app application, p person, pair tokens) {
				s.revoke(t, app.auth(), pair.RefreshToken)
			}},
			{"token revoked by the operator", func(t *testing.T, app application, p person, pair tokens) {
				s.mustCLI(t, pair.RefreshToken+"\n", "token", "revoke")
			}},
			{"disabled account", func(t *testing.T, app application, p person, pair tokens) {
				s.mustCLI(t, "", "user", "disable", p.Name)
			}},
			{"deleted application", func(t *testing.T, app application, p person, pair tokens) {
				s.mustCLI(t, "", "application", "delete", app.ClientID)
			}},
			{"revoked consent", s.takeBack},
		} {
			t.Run(c.name, func(t *testing.T) {
				p, app := s.person(t, fmt.Sprintf("person%d", i)), s.whole(t, fmt.Sprintf("application %d", i))
				address, verifier := s.authorizeURL(app)
				pair := s.redeem(t, app, s.browser(t).code(t, address, p), verifier)
				for _, token := range []string{pair.AccessToken, pair.RefreshToken} {
					if !second.active(t, asker.auth(), token) {
						t.Fatal("inactive from the start")
					}
				}
				c.end(t, app, p, pair)
				s.checkInactive(t, asker.auth(), pair.AccessToken)
				s.checkInactive(t, asker.auth(), pair.RefreshToken)
				waitFor(t, "the other node knows it", func() bool { return !second.active(t, asker.auth(), pair.AccessToken) })
				second.checkInactive(t, asker.auth(), pair.AccessToken)
				second.checkInactive(t, asker.auth(), pair.RefreshToken)
			})
		}
	})
}

// takeBack revokes, on the account page, the access of the one application that is
// listed.
func (s *server) takeBack(t *testing.T, _ application, p person, _ tokens) {
	t.Helper()
	b := s.signIn(t, p, "/account/")
	button := b.element(func(n *html.Node) bool { return n.Data == "button" && strings.HasPrefix(text(n), "Revoke") })
	if button == nil {
		t.Fatalf("the account page lists no application:\n%s", b.Body)
	}
	b.submit(t, text(button), nil)
	if b.Status != http.StatusOK {
		t.Fatalf("taking it back gave %d:\n%s", b.Status, b.Body)
	}
}

// An access token expires. A code that was issued before it with the same lifetime has
// also expired.
func TestSpecExpiry(t *testing.T) {
	onADatabase(t, func(t *testing.T, db database) {
		s := startServer(t, options{database: db,
			provider: []string{"ACCESS_TOKEN_EXPIRE_SECONDS: 1", "AUTHORIZATION_CODE_EXPIRE_SECONDS: 1"}})
		alice, app, asker := s.person(t, "alice"), s.whole(t, "all grants", "--skip-consent"), s.introspector(t)
		b := s.browser(t)
		b.open(t, "/login/")
		b.logIn(t, alice)
		address, verifier := s.authorizeURL(app)
		code := b.code(t, address, alice)
		token := s.mustToken(t, app.auth(), params("grant_type", "client_credentials"))
		if token.ExpiresIn != 1 {
			t.Errorf("expires_in %d, want what is configured", token.ExpiresIn)
		}
		waitFor(t, "the token is inactive", func() bool { return !s.active(t, asker.auth(), token.AccessToken) })
		s.checkInactive(t, asker.auth(), token.AccessToken)
		checkRefused(t, s.exchange(t, app, code, app.RedirectURI, verifier), http.StatusBadRequest, "invalid_grant")
	})
}
