package mandate

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// The authorization code grant: its start in the browser, and the values to which a
// code is bound.

// exchange exchanges a code and returns the complete answer. An empty value removes a
// parameter.
func (s *server) exchange(t testing.TB, app application, code, redirectURI, verifier string) answer {
	t.Helper()
	form := params("grant_type", "authorization_code", "code", code, "redirect_uri", redirectURI,
		"code_verifier", verifier)
	for name := range form {
		if form.Get(name) == "" {
			form.Del(name)
		}
	}
	return s.post(t, "/o/token/", app.auth(), form)
}

// RFC 7636 §4.1: a verifier has 43 to 128 unreserved characters.
func TestSpecVerifier(t *testing.T) {
	onADatabase(t, func(t *testing.T, db database) {
		s := startServer(t, options{database: db})
		alice, app := s.person(t, "alice"), s.whole(t, "all grants")
		b := s.browser(t)
		challenge := func(verifier string) string {
			digest := sha256.Sum256([]byte(verifier))
			return base64.RawURLEncoding.EncodeToString(digest[:])
		}
		const unreserved = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"
		long := strings.Repeat(unreserved, 2)
		for _, c := range []struct {
			verifier string
			good     bool
		}{
			{long[:1], false}, {long[:42], false}, {long[:43], true}, {long[:66], true}, {long[:128], true}, {long[:129], false},
			// The sample in django-oauth-toolkit's documentation has 80 characters and
			// this end.
			{long[:78] + "==", false}, {long[:50] + " " + long[:20], false},
		} {
			t.Run(fmt.Sprintf("a verifier of %d characters, good: %v", len(c.verifier), c.good), func(t *testing.T) {
				address, _ := s.authorizeURL(app, "code_challenge", challenge(c.verifier))
				a := s.exchange(t, app, b.code(t, address, alice), app.RedirectURI, c.verifier)
				if c.good {
					s.checkGranted(t, a, "read write", true)
					return
				}
				checkRefused(t, a, http.StatusBadRequest, "invalid_grant")
			})
		}
		t.Run("a wrong verifier and none are refused, and burn nothing", func(t *testing.T) {
			address, verifier := s.authorizeURL(app)
			code := b.code(t, address, alice)
			other, _ := newPKCE()
			checkRefused(t, s.exchange(t, app, code, app.RedirectURI, other), http.StatusBadRequest, "invalid_grant")
			checkRefused(t, s.exchange(t, app, code, app.RedirectURI, ""), http.StatusBadRequest, "invalid_grant")
			s.checkGranted(t, s.exchange(t, app, code, app.RedirectURI, verifier), "read write", true)
		})
	})
}

func TestSpecCode(t *testing.T) {
	onADatabase(t, func(t *testing.T, db database) {
		s := startServer(t, options{database: db})
		alice, asker := s.person(t, "alice"), s.introspector(t)
		app := s.whole(t, "all grants", "--redirect-uri", "http://127.0.0.1:8000/other")
		other := s.whole(t, "another")
		b := s.browser(t)
		address, verifier := s.authorizeURL(app)
		code := b.code(t, address, alice)
		t.Run("a code works only for its client", func(t *testing.T) {
			checkRefused(t, s.exchange(t, other, code, app.RedirectURI, verifier), http.StatusBadRequest, "invalid_grant")
		})
		t.Run("a code works only for its redirect URI", func(t *testing.T) {
			checkRefused(t, s.exchange(t, app, code, "http://127.0.0.1:8000/other", verifier), http.StatusBadRequest,
				"invalid_grant")
			checkRefused(t, s.exchange(t, app, code, "", ""), http.StatusBadRequest, "invalid_grant")
		})
		t.Run("the verifier replaces the redirect URI", func(t *testing.T) {
			// OAuth 2.1 (draft -16) §10.2: the challenge binds the code to its client.
			address, verifier := s.authorizeURL(app)
			s.checkGranted(t, s.exchange(t, app, b.code(t, address, alice), "", verifier), "read write", true)
		})
		t.Run("the redirect URI may be left out where there is one", func(t *testing.T) {
			// RFC 6749 §3.1.2.3, §4.1.3: then the token request omits it too.
			address, verifier := s.authorizeURL(other, "redirect_uri", "")
			code := b.code(t, address, alice)
			if !strings.HasPrefix(b.Away.String(), other.RedirectURI+"?") {
				t.Errorf("sent to %s", b.Away)
			}
			s.checkGranted(t, s.exchange(t, other, code, "", verifier), "read write", true)
		})
		t.Run("a code works once, and a second use ends what the first gave", func(t *testing.T) {
			got := s.checkGranted(t, s.exchange(t, app, code, app.RedirectURI, verifier), "read write", true)
			if !s.active(t, asker.auth(), got.AccessToken) {
				t.Error("the token is not active")
			}
			checkRefused(t, s.exchange(t, app, code, app.RedirectURI, verifier), http.StatusBadRequest, "invalid_grant")
			s.checkInactive(t, asker.auth(), got.AccessToken)
			s.checkInactive(t, asker.auth(), got.RefreshToken)
		})
	})
}

// Errors in the client id or the redirect URI are shown on a page. The browser is not
// redirected.
func TestSpecUnprovenRequest(t *testing.T) {
	onADatabase(t, func(t *testing.T, db database) {
		s := startServer(t, options{database: db})
		alice := s.person(t, "alice")
		app := s.whole(t, "all grants", "--redirect-uri", "https://client.example/callback")
		for name, more := range map[string][]string{
			"no client_id":                         {"client_id", ""},
			"an unknown client_id":                 {"client_id", "nobody"},
			"a redirect URI that is no registered": {"redirect_uri", app.RedirectURI + "/more"},
			"another host":                         {"redirect_uri", "https://client.example.net/callback"},
			"no redirect URI where there are two":  {"redirect_uri", ""},
			"a second redirect URI": {"redirect_uri", app.RedirectURI, "redirect_uri",
				"https://client.example/callback"},
		} {
			for _, signedIn := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s, signed in: %v", name, signedIn), func(t *testing.T) {
					b := s.browser(t)
					if signedIn {
						b.open(t, "/login/")
						b.logIn(t, alice)
					}
					address, _ := s.authorizeURL(app, more...)
					b.open(t, address)
					a := answer{b.Status, b.Header, b.Body}
					if len(b.Hops) != 0 || b.Status != http.StatusBadRequest {
						t.Fatalf("status %d, redirects %v:\n%s", b.Status, b.Hops, b.Body)
					}
					checkType(t, a, "text/html")
					checkUncached(t, a)
				})
			}
		}
	})
}

// All other errors go to the client with error, description, state and issuer, after
// the person has signed in.
func TestSpecAuthorizationError(t *testing.T) {
	onADatabase(t, func(t *testing.T, db database) {
		s := startServer(t, options{database: db})
		alice, app := s.person(t, "alice"), s.whole(t, "all grants")
		public := s.application(t, "--name", "phone", "--client-type", "public", "--grant", "authorization_code",
			"--redirect-uri", "com.example.app:/back")
		strict := s.whole(t, "strict", "--pkce", "required")
		robot := s.application(t, "--name", "robot", "--grant", "password", "--redirect-uri", "https://robot.example/back")
		b := s.browser(t)
		b.open(t, "/login/")
		b.logIn(t, alice)
		for _, c := range []struct {
			name, code string
			app        application
			more       []string
		}{
			{"response_type is required", "invalid_request", app, []string{"response_type", ""}},
			{"response_type is code", "unsupported_response_type", app, []string{"response_type", "token"}},
			{"the application must be registered for it", "unauthorized_client", robot, nil},
			{"code_challenge is required where the application says so", "invalid_request", strict,
				[]string{"code_challenge", "", "code_challenge_method", ""}},
			{"code_challenge is required of a public client", "invalid_request", public,
				[]string{"code_challenge", "", "code_challenge_method", ""}},
			{"code_challenge_method plain is refused", "invalid_request", app, []string{"code_challenge_method", "plain"}},
			{"no code_challenge_method means plain", "invalid_request", app, []string{"code_challenge_method", ""}},
			{"code_challenge has no padding", "invalid_request", app,
				[]string{"code_challenge", base64.URLEncoding.EncodeToString(make([]byte, sha256.Size))}},
			{"code_challenge is the digest", "invalid_request", app, []string{"code_challenge", "abc"}},
			{"an unknown scope alone is refused", "invalid_scope", app, []string{"scope", "admin"}},
			{"introspection is refused where it was not allowed", "invalid_scope", app, []string{"scope", "introspection"}},
		} {
			t.Run(c.name, func(t *testing.T) {
				address, _ := s.authorizeURL(c.app, append([]string{"state", "a b+c%2F&"}, c.more...)...)
				b.open(t, address)
				s.checkReturn(t, b, c.app, c.code, "a b+c%2F&")
			})
		}
		t.Run("the person denies", func(t *testing.T) {
			address, _ := s.authorizeURL(app, "state", "xyz")
			b.authorize(t, address, alice, "deny")
			s.checkReturn(t, b, app, "access_denied", "xyz")
		})
		t.Run("nobody is signed in: the login comes before the error", func(t *testing.T) {
			stranger := s.browser(t)
			address, _ := s.authorizeURL(app, "response_type", "")
			stranger.open(t, address)
			if stranger.Away != nil || !stranger.shows("password") {
				t.Errorf("a stranger was sent to %v", stranger.Away)
			}
		})
	})
}

// checkReturn checks that the browser was redirected to the client with an error.
func (s *server) checkReturn(t testing.TB, b *browser, app application, code, state string) {
	t.Helper()
	if b.Away == nil || !strings.HasPrefix(b.Away.String(), app.RedirectURI+"?") {
		t.Fatalf("sent to %v, want %s; the page shows %d:\n%s", b.Away, app.RedirectURI, b.Status, b.Body)
	}
	query := b.Away.Query()
	if len(query.Get("error_description")) < 10 {
		t.Errorf("error_description %q", query.Get("error_description"))
	}
	// It leads to the page of the error, at this server.
	if uri := query.Get("error_uri"); !strings.HasPrefix(uri, strings.TrimSuffix(s.Issuer, "/o")+"/errors/"+code+"/") {
		t.Errorf("error_uri %q", uri)
	}
	query.Del("error_description")
	query.Del("error_uri")
	if got, want := query.Encode(), params("error", code, "state", state, "iss", s.Issuer).Encode(); got != want {
		t.Errorf("sent back with %s, want %s", got, want)
	}
}

// state is returned byte by byte, and is absent if the request had none.
func TestSpecState(t *testing.T) {
	onADatabase(t, func(t *testing.T, db database) {
		s := startServer(t, options{database: db})
		alice, app := s.person(t, "alice"), s.whole(t, "all grants", "--skip-consent")
		b := s.browser(t)
		for _, state := range []string{"", "x", "1234567", "%2F%252F+ &=#?;:@\"'<script>\\", "gruß 你好\t\r\n",
			strings.Repeat("s", 4096)} {
			t.Run(fmt.Sprintf("state of %d bytes", len(state)), func(t *testing.T) {
				address, _ := s.authorizeURL(app, "state", state)
				back := b.authorize(t, address, alice, "approve").Query()
				want := url.Values{"code": back["code"], "iss": {s.Issuer}}
				if state != "" {
					want.Set("state", state)
				}
				if back.Get("code") == "" || back.Encode() != want.Encode() {
					t.Errorf("sent back with %q, want %q", back, want)
				}
			})
		}
		t.Run("state of more than 4096 bytes is refused", func(t *testing.T) {
			address, _ := s.authorizeURL(app, "state", strings.Repeat("s", 4097))
			if got := b.authorize(t, address, alice, "approve").Query().Get("error"); got != "invalid_request" {
				t.Errorf("error %q", got)
			}
		})
	})
}

// A person who is not signed in is redirected to the configured login page, and from
// there back to exactly this request.
func TestSpecLoginLocation(t *testing.T) {
	onADatabase(t, func(t *testing.T, db database) {
		s := startServer(t, options{database: db, settings: []string{"LOGIN_URL: https://login.example/sign-in?lang=en"}})
		app := s.whole(t, "all grants")
		address, _ := s.authorizeURL(app, "state", "a b%+&")
		for _, path := range []string{strings.TrimPrefix(address, s.URL), "/o/applications/register/", "/o/applications/"} {
			b := s.browser(t)
			b.open(t, path)
			if b.Away == nil || b.Away.Host != "login.example" || b.Away.Path != "/sign-in" {
				t.Fatalf("%s leads to %v, want the login location", path, b.Away)
			}
			if want := params("lang", "en", "next", s.BaseURL+path); b.Away.Query().Encode() != want.Encode() {
				t.Errorf("sent to the login with %q, want %q", b.Away.Query(), want)
			}
		}
	})
}
