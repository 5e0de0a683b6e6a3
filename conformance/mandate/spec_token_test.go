package mandate

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
)

// The token endpoint: its answers, scopes, client authentication, and proofs for codes.

func TestSpecTokenResponse(t *testing.T) {
	onADatabase(t, func(t *testing.T, db database) {
		s := startServer(t, options{database: db})
		alice, app := s.person(t, "alice"), s.whole(t, "all grants")
		for name, as := range map[string]auth{"Basic": basic(app.ClientID, app.ClientSecret),
			"body": body(app.ClientID, app.ClientSecret)} {
			t.Run("client_credentials by "+name+" gives no refresh token", func(t *testing.T) {
				s.checkGranted(t, s.post(t, "/o/token/", as, params("grant_type", "client_credentials")), "read write", false)
			})
			t.Run("password by "+name+" gives a refresh token", func(t *testing.T) {
				s.checkGranted(t, s.password(t, as, alice), "read write", true)
			})
			t.Run("authorization_code by "+name+" gives a refresh token", func(t *testing.T) {
				address, verifier := s.authorizeURL(app)
				back := s.browser(t).authorize(t, address, alice, "approve").Query()
				if len(back["code"]) != 1 {
					t.Fatalf("the code comes as %q", back["code"])
				}
				s.checkGranted(t, s.post(t, "/o/token/", as, params("grant_type", "authorization_code", "code", back.Get("code"),
					"redirect_uri", app.RedirectURI, "code_verifier", verifier)), "read write", true)
			})
			t.Run("refresh_token by "+name+" gives new tokens of both kinds", func(t *testing.T) {
				first := s.pair(t, app, alice)
				next := s.checkGranted(t, s.refresh(t, as, first.RefreshToken), "read write", true)
				if next.AccessToken == first.AccessToken || next.RefreshToken == first.RefreshToken {
					t.Error("a token came back instead of a new one")
				}
			})
		}
		t.Run("tokens are opaque", func(t *testing.T) {
			pair := s.pair(t, app, alice)
			for _, token := range []string{pair.AccessToken, pair.RefreshToken} {
				// The token is a prefix and 256 bits in base64url. A JWT would contain
				// dots.
				_, random, _ := strings.Cut(token, "_")
				raw, err := base64.RawURLEncoding.DecodeString(random)
				if err != nil || len(raw) != 32 || !slices.Contains([]string{"mat", "mrt"}, token[:3]) {
					t.Errorf("token of %d characters with %d random bytes, %v", len(token), len(raw), err)
				}
			}
		})
	})
}

func TestSpecScope(t *testing.T) {
	onADatabase(t, func(t *testing.T, db database) {
		s := startServer(t, options{database: db, provider: []string{
			`SCOPES: {read: Read scope, write: Write scope, groups: Access to your groups, introspection: Introspect token scope}`}})
		alice, app, asker := s.person(t, "alice"), s.whole(t, "all grants"), s.introspector(t)
		writer := s.whole(t, "writer", "--scope", "write")
		robot := func(app application, scope ...string) answer {
			return s.post(t, "/o/token/", app.auth(), url.Values{"grant_type": {"client_credentials"}, "scope": scope})
		}
		for _, c := range []struct {
			name  string
			app   application
			asked []string
			want  string
		}{
			{"no scope gives the default scopes, without introspection", app, nil, "read write groups"},
			{"an empty scope counts as none", app, []string{""}, "read write groups"}, // RFC 6749 §3.2
			{"scope=read gives read", app, []string{"read"}, "read"},
			{"two scopes give two", app, []string{"groups read"}, "groups read"},
			{"default scopes are cut to what the application may have", writer, nil, "write"},
			{"introspection is no default even where it is allowed", asker, nil, "read write groups"},
			{"introspection is given where it is allowed and asked for", asker, []string{"introspection"}, "introspection"},
			{"an unknown scope is left out", app, []string{"read admin"}, "read"}, // RFC 6749 §3.3
			{"a scope that the application may not have is left out", writer, []string{"read write"}, "write"},
			{"further spaces have no meaning", app, []string{" read  write "}, "read write"},
		} {
			t.Run(c.name, func(t *testing.T) {
				s.checkGranted(t, robot(c.app, c.asked...), c.want, false)
			})
		}
		for _, c := range []struct {
			name  string
			app   application
			asked string
		}{
			{"an unknown scope alone is refused", app, "admin"},
			{"a scope in another case is another scope", app, "Read"},
			{"a scope that the application may not have is refused alone", writer, "read"},
			{"introspection is refused where it was not allowed", app, "introspection"},
			{"scopes are separated by spaces", app, "read\twrite"}, // RFC 6749 §3.3
		} {
			t.Run(c.name, func(t *testing.T) {
				checkRefused(t, robot(c.app, c.asked), http.StatusBadRequest, "invalid_scope")
			})
		}
		t.Run("scope restricts the password grant", func(t *testing.T) {
			s.checkGranted(t, s.password(t, app.auth(), alice, "scope", "read"), "read", true)
		})
		t.Run("scope restricts the authorization, which shows each scope with its description", func(t *testing.T) {
			b := s.browser(t)
			address, verifier := s.authorizeURL(app, "scope", "read groups")
			b.open(t, address)
			b.logIn(t, alice)
			for description, want := range map[string]bool{"Read scope": true, "Access to your groups": true,
				"Write scope": false, "Introspect token scope": false} {
				if strings.Contains(b.Body, description) != want {
					t.Errorf("the consent page shows %q: %v, want %v", description, !want, want)
				}
			}
			b.decide(t, "approve")
			if b.Away == nil {
				t.Fatalf("no way back from the consent page:\n%s", b.Body)
			}
			if got := s.redeem(t, app, b.Away.Query().Get("code"), verifier); got.Scope != "read groups" {
				t.Errorf("scope %q", got.Scope)
			}
		})
	})
}

func TestSpecDefaultScopes(t *testing.T) {
	const mixed = "SCOPES: {write: Write, openid: Sign in, introspection: Introspect, read: Read}"
	for _, c := range []struct {
		name     string
		settings []string
		want     string
	}{
		{"all, in the order of SCOPES", []string{mixed, "OIDC_ENABLED: true"}, "write read"},
		{"all, as django-oauth-toolkit spells it", []string{mixed, "OIDC_ENABLED: true", "DEFAULT_SCOPES: [__all__]"},
			"write read"},
		{"those of DEFAULT_SCOPES",
			[]string{"SCOPES: {read: Read, write: Write, groups: Groups}", "DEFAULT_SCOPES: [groups, read]"}, "groups read"},
	} {
		t.Run(c.name, func(t *testing.T) {
			onADatabase(t, func(t *testing.T, db database) {
				s := startServer(t, options{database: db, provider: c.settings})
				app := s.application(t, "--name", "robot", "--grant", "client_credentials")
				s.checkGranted(t, s.post(t, "/o/token/", app.auth(), params("grant_type", "client_credentials")), c.want, false)
			})
		})
	}
}

func TestSpecClientAuthentication(t *testing.T) {
	onADatabase(t, func(t *testing.T, db database) {
		s := startServer(t, options{database: db})
		// RFC 6749 §2.3.1: characters with a meaning in a form or in Basic credentials
		// must be encoded.
		odd := application{ClientID: "robot+1%/=&", ClientSecret: s.secret("p+q%3A: /=&\"long enough")}
		s.mustCLI(t, odd.ClientSecret+"\n", "application", "add", "--name", "odd", "--grant", "client_credentials",
			"--client-id", odd.ClientID, "--client-secret-stdin")
		app := s.application(t, "--name", "robot", "--grant", "client_credentials")
		grant := params("grant_type", "client_credentials")
		for name, as := range map[string]auth{
			"Basic": app.auth(), "the body": body(app.ClientID, app.ClientSecret),
			"Basic with odd characters": odd.auth(), "the body with odd characters": body(odd.ClientID, odd.ClientSecret),
		} {
			t.Run("a client proves itself by "+name, func(t *testing.T) {
				s.checkGranted(t, s.post(t, "/o/token/", as, grant), "read write", false)
			})
		}
		header := func(value string) auth {
			return func(r *http.Request, _ url.Values) { r.Header.Set("Authorization", value) }
		}
		for name, as := range map[string]auth{
			"nothing": nobody, "the id alone": func(_ *http.Request, f url.Values) { f.Set("client_id", app.ClientID) },
			"a wrong secret by Basic":    basic(app.ClientID, odd.ClientSecret),
			"a wrong secret in the body": body(app.ClientID, odd.ClientSecret),
			"an empty secret":            basic(app.ClientID, ""), "an unknown id": basic("nobody", app.ClientSecret),
			"another scheme": header("Bearer abc"), "no Base64": header("Basic ???"),
			"no colon": header("Basic " + base64.StdEncoding.EncodeToString([]byte(app.ClientID))),
		} {
			t.Run("a client does not prove itself by "+name, func(t *testing.T) {
				a := s.post(t, "/o/token/", as, grant)
				checkRefused(t, a, http.StatusUnauthorized, "invalid_client")
				if challenge := a.Header.Get("WWW-Authenticate"); !strings.HasPrefix(challenge, "Basic ") {
					t.Errorf("WWW-Authenticate %q, want Basic", challenge)
				}
			})
		}
		t.Run("a client proves itself in one way only", func(t *testing.T) {
			both := func(r *http.Request, f url.Values) { app.auth()(r, f); body(app.ClientID, app.ClientSecret)(r, f) }
			checkRefused(t, s.post(t, "/o/token/", both, grant), http.StatusBadRequest, "invalid_request")
		})
	})
}

func TestSpecTokenRequest(t *testing.T) {
	onADatabase(t, func(t *testing.T, db database) {
		s := startServer(t, options{database: db})
		alice, app := s.person(t, "alice"), s.whole(t, "all grants")
		robot := s.application(t, "--name", "robot", "--grant", "client_credentials")
		for _, c := range []struct {
			name, code string
			app        application
			form       url.Values
		}{
			{"grant_type is required", "invalid_request", app, params("scope", "read")},
			{"grant_type is one of four", "unsupported_grant_type", app, params("grant_type", "implicit")},
			{"an application uses the grants it is registered for", "unauthorized_client", robot,
				params("grant_type", "password", "username", "alice", "password", alice.Password)},
			{"username is required", "invalid_request", app, params("grant_type", "password", "password", alice.Password)},
			{"password is required", "invalid_request", app, params("grant_type", "password", "username", "alice")},
			{"the password must be right", "invalid_grant", app,
				params("grant_type", "password", "username", "alice", "password", "not her password")},
			{"code is required", "invalid_request", app,
				params("grant_type", "authorization_code", "redirect_uri", app.RedirectURI)},
			{"the code must be known", "invalid_grant", app,
				params("grant_type", "authorization_code", "code", "mac_unknown", "redirect_uri", app.RedirectURI)},
			{"refresh_token is required", "invalid_request", app, params("grant_type", "refresh_token")},
			{"the refresh token must be known", "invalid_grant", app,
				params("grant_type", "refresh_token", "refresh_token", "mrt_unknown")},
			{"a parameter comes once", "invalid_request", app,
				params("grant_type", "client_credentials", "scope", "read", "scope", "read")},
		} {
			t.Run(c.name, func(t *testing.T) {
				checkRefused(t, s.post(t, "/o/token/", c.app.auth(), c.form), http.StatusBadRequest, c.code)
			})
		}
		send := func(method, path, kind, text string) answer {
			request, err := http.NewRequest(method, s.URL+path, strings.NewReader(text))
			if err != nil {
				t.Fatal(err)
			}
			request.Header.Set("Content-Type", kind)
			app.auth()(request, nil)
			a, err := s.do(request)
			if err != nil {
				t.Fatal(err)
			}
			return a
		}
		const form, text = "application/x-www-form-urlencoded", "grant_type=client_credentials"
		t.Run("the body is form-encoded", func(t *testing.T) {
			encoded, _ := json.Marshal(map[string]string{"grant_type": "client_credentials"})
			checkRefused(t, send("POST", "/o/token/", "application/json", string(encoded)), http.StatusBadRequest,
				"invalid_request")
		})
		t.Run("parameters stay out of the query", func(t *testing.T) {
			checkRefused(t, send("POST", "/o/token/?grant_type=client_credentials", form, text), http.StatusBadRequest,
				"invalid_request")
		})
		t.Run("the last slash may be left out", func(t *testing.T) {
			s.checkGranted(t, send("POST", "/o/token", form, text), "read write", false)
		})
		t.Run("the method is POST", func(t *testing.T) {
			a := send("GET", "/o/token/", "", "")
			if allow := a.Header.Get("Allow"); a.Status != http.StatusMethodNotAllowed || !strings.Contains(allow, "POST") {
				t.Errorf("status %d, Allow %q", a.Status, allow)
			}
		})
	})
}
