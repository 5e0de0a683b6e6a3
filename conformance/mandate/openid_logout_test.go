package mandate

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// OpenID Connect RP-Initiated Logout 1.0 and Back-Channel Logout 1.0, clause by clause.

const (
	bye       = "https://shop.example/bye?x=1"
	thisHost  = "OUTBOUND_ALLOWED_NETWORKS: [127.0.0.0/8]"
	eventName = "http://schemas.openid.net/event/backchannel-logout"
)

// logoutServer starts an OpenID Provider that may send requests to this computer.
func logoutServer(t testing.TB, db database, more ...string) *server {
	t.Helper()
	return startServer(t,
		options{database: db, settings: []string{thisHost}, provider: append([]string{"OIDC_ENABLED: true",
			"SCOPES: {read: Read, openid: Sign in, offline_access: Stay signed in}"}, more...)})
}

// listener is an application's back-channel logout endpoint.
type listener struct {
	*httptest.Server
	heard chan heard
}

type heard struct {
	header http.Header
	form   url.Values
	query  string
}

// listen answers each notification with a status.
func listen(t testing.TB, status int) *listener {
	t.Helper()
	l := &listener{heard: make(chan heard, 100)}
	l.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = r.ParseForm() // what is wrong with it shows in the form
		l.heard <- heard{r.Header, r.PostForm, r.URL.RawQuery}
		w.Header().Set("Location", "http://127.0.0.1:1/elsewhere")
		w.WriteHeader(status)
	}))
	t.Cleanup(l.Close)
	return l
}

func (l *listener) next(t testing.TB) heard {
	t.Helper()
	select {
	case h := <-l.heard:
		return h
	case <-time.After(20 * time.Second):
		t.Fatal("the application was not told")
	}
	return heard{}
}

// fromElsewhere sends a form in the same way as a page of another site.
func (b *browser) fromElsewhere(t testing.TB, path string, form url.Values) {
	t.Helper()
	request, err := http.NewRequest("POST", b.server.URL+path, strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	request.Header.Set("Origin", "https://shop.example")
	request.Header.Set("Sec-Fetch-Site", "cross-site")
	b.follow(t, request)
}

// button returns the complete text of the first button with this prefix.
func (b *browser) button(t testing.TB, beginning string) string {
	t.Helper()
	for _, f := range b.forms() {
		for _, control := range f.controls {
			if label := text(control); isButton(control) && strings.HasPrefix(label, beginning) {
				return label
			}
		}
	}
	t.Fatalf("no button %q at %s:\n%s", beginning, b.URL, b.Body)
	return ""
}

// silent checks that this listener got no notification. The caller has waited until
// another listener got one.
func (l *listener) silent(t testing.TB) {
	t.Helper()
	if len(l.heard) > 0 {
		t.Errorf("the application was told %v", <-l.heard)
	}
}

// endSession returns the address of an application's logout request.
func (s *server) endSession(pairs ...string) string {
	return s.URL + "/o/logout/?" + params(pairs...).Encode()
}

func (b *browser) signedOut(t testing.TB) bool {
	t.Helper()
	b.open(t, "/account/")
	return strings.Contains(b.URL.Path, "/login/")
}

func TestRPLogout_2_hint_of_this_very_session_logs_out_at_once(t *testing.T) {
	onADatabase(t, func(t *testing.T, db database) {
		s := logoutServer(t, db)
		alice := s.person(t, "alice")
		for _, algorithm := range []string{"RS256", "HS256"} {
			args := []string{"--post-logout-redirect-uri", "https://shop.example/other", "--post-logout-redirect-uri", bye,
				"--algorithm", algorithm}
			if algorithm == "HS256" {
				args = append(args, "--no-hash-client-secret")
			}
			app := s.relyingParty(t, args...)
			for _, method := range []string{"GET", "POST"} {
				b := s.browser(t)
				tokens := b.signsIn(t, app, alice)
				form := params("id_token_hint", tokens.IDToken, "client_id", app.ClientID, "post_logout_redirect_uri", bye, "state",
					"a b&c", "ui_locales", "de", "logout_hint", "alice")
				if method == "GET" {
					b.open(t, "/o/logout/?"+form.Encode())
				} else {
					b.fromElsewhere(t, "/o/logout/", form)
				}
				if b.Away == nil || b.Away.String() != bye+"&state=a%20b%26c" {
					t.Fatalf("%s %s: sent to %v (%d %s)", algorithm, method, b.Away, b.Status, b.Body)
				}
				for _, hop := range b.Hops[:len(b.Hops)-1] {
					// The parameter would stay in the browser's history.
					if method == "POST" && strings.Contains(hop.Location, tokens.IDToken) {
						t.Errorf("the ID token is in the address %s", hop.Location)
					}
				}
				if !b.signedOut(t) {
					t.Errorf("%s %s: still signed in", algorithm, method)
				}
				a := s.post(t, "/o/token/", app.auth(), params("grant_type", "refresh_token", "refresh_token", tokens.RefreshToken))
				checkEqual(t, "refresh after logout", a.JSON(t)["error"], any("invalid_grant"))
				if s.userInfoStatus(t, tokens.AccessToken) != http.StatusUnauthorized {
					t.Error("the access token still works")
				}
			}
		}
	})
}

// RFC 9110 §9.2.1: HEAD is safe. A program that only looks at a link ends no session.
func TestRPLogout_2_head_ends_no_session(t *testing.T) {
	t.Parallel()
	s := logoutServer(t, newSQLite(t))
	alice, app := s.person(t, "alice"), s.relyingParty(t, "--post-logout-redirect-uri", bye)
	b := s.browser(t)
	request := s.endSession("id_token_hint", b.signsIn(t, app, alice).IDToken, "post_logout_redirect_uri", bye)
	a, err := b.client.Head(request)
	if err != nil {
		t.Fatal(err)
	}
	a.Body.Close()
	if a.StatusCode != http.StatusOK || len(a.Cookies()) > 0 || b.signedOut(t) {
		t.Errorf("got %d, cookies %v", a.StatusCode, a.Cookies())
	}
	b.open(t, request)
	if b.Away == nil || !b.signedOut(t) {
		t.Errorf("after GET: sent to %v", b.Away)
	}
}

// userInfoStatus returns the status of the UserInfo endpoint's answer for a token.
func (s *server) userInfoStatus(t testing.TB, token string) int {
	t.Helper()
	return s.get(t, "/o/userinfo/", bearer(token)).Status
}

func TestRPLogout_2_person_is_asked_where_nothing_proves_the_request(t *testing.T) {
	t.Parallel()
	s := logoutServer(t, newSQLite(t))
	alice, bob := s.person(t, "alice"), s.person(t, "bob")
	app, other := s.relyingParty(t, "--post-logout-redirect-uri", bye),
		s.relyingParty(t, "--post-logout-redirect-uri", "https://other.example/bye")
	b, elsewhere, bobs := s.browser(t), s.browser(t), s.browser(t)
	b.signsIn(t, app, alice)
	fromElsewhere := elsewhere.signsIn(t, app, alice)
	ofBob := bobs.signsIn(t, app, bob)
	for name, c := range map[string]struct {
		request []string
		back    string
	}{
		"no parameters":   {nil, ""},
		"state alone":     {[]string{"state", "x"}, ""},
		"client_id alone": {[]string{"client_id", app.ClientID}, ""},
		"client_id with its URI": {[]string{"client_id", app.ClientID, "post_logout_redirect_uri", bye, "state",
			"s"}, bye + "&state=s"},
		"a hint of another session": {[]string{"id_token_hint", fromElsewhere.IDToken, "post_logout_redirect_uri", bye},
			bye},
		"a hint of somebody else": {[]string{"id_token_hint", ofBob.IDToken}, ""},
		"another client, which is unsaid": {[]string{"client_id", other.ClientID, "post_logout_redirect_uri",
			"https://other.example/bye"}, "https://other.example/bye"},
	} {
		b.open(t, s.endSession(c.request...))
		if b.Status != http.StatusOK || b.Away != nil || !strings.Contains(b.Body, "Sign out?") {
			t.Fatalf("%s: %d, sent to %v\n%s", name, b.Status, b.Away, b.Body)
		}
		if b.signedOut(t) {
			t.Fatalf("%s: logged out without being asked", name)
		}
		b.open(t, s.endSession(c.request...))
		b.submit(t, "Sign out", nil)
		if c.back != "" && (b.Away == nil || b.Away.String() != c.back) ||
			c.back == "" && (b.Away != nil || !strings.Contains(b.Body, "You are signed out.")) {
			t.Errorf("%s: sent to %v\n%s", name, b.Away, b.Body)
		}
		if !b.signedOut(t) {
			t.Errorf("%s: still signed in", name)
		}
		b.signsIn(t, app, alice)
	}
	if elsewhere.signedOut(t) || bobs.signedOut(t) {
		t.Error("another browser was logged out")
	}
}

func TestRPLogout_2_whoever_is_signed_out_is_sent_back_at_once(t *testing.T) {
	t.Parallel()
	s := logoutServer(t, newSQLite(t))
	alice, app := s.person(t, "alice"), s.relyingParty(t, "--post-logout-redirect-uri", bye)
	b := s.browser(t)
	tokens := b.signsIn(t, app, alice)
	request := s.endSession("id_token_hint", tokens.IDToken, "post_logout_redirect_uri", bye)
	for range 2 {
		b.open(t, request)
		if b.Away == nil || b.Away.String() != bye {
			t.Fatalf("sent to %v (%d)", b.Away, b.Status)
		}
	}
}

func TestRPLogout_4_nothing_is_redirected_on_an_error(t *testing.T) {
	t.Parallel()
	s := logoutServer(t, newSQLite(t))
	alice := s.person(t, "alice")
	app, other := s.relyingParty(t, "--post-logout-redirect-uri", bye), s.relyingParty(t)
	b := s.browser(t)
	hint := b.signsIn(t, app, alice).IDToken
	parts := strings.Split(hint, ".")
	claims := s.verified(t, app, "RS256", hint)
	unsigned, err := jwt.NewWithClaims(jwt.SigningMethodNone, claims).SignedString(jwt.UnsafeAllowNoneSignatureType)
	if err != nil {
		t.Fatal(err)
	}
	byStranger, err := jwt.NewWithClaims(jwt.SigningMethodHS256, claims).SignedString([]byte(app.ClientSecret))
	if err != nil {
		t.Fatal(err)
	}
	for name, request := range map[string][]string{
		"an unknown URI":           {"client_id", app.ClientID, "post_logout_redirect_uri", "https://evil.example/"},
		"a query added to the URI": {"client_id", app.ClientID, "post_logout_redirect_uri", bye + "&y=2"},
		"a URI in other letters": {"client_id", app.ClientID, "post_logout_redirect_uri",
			"https://SHOP.example/bye?x=1"},
		"its redirect URI":          {"client_id", app.ClientID, "post_logout_redirect_uri", app.RedirectURI},
		"the URI of another client": {"client_id", other.ClientID, "post_logout_redirect_uri", bye},
		"a URI without a client":    {"post_logout_redirect_uri", bye},
		"an unknown client":         {"client_id", "nobody", "post_logout_redirect_uri", bye},
		"a hint that is none":       {"id_token_hint", "x", "post_logout_redirect_uri", bye},
		"a hint with another signature": {"id_token_hint",
			parts[0] + "." + parts[1] + "." + strings.Repeat("A", len(parts[2])), "post_logout_redirect_uri", bye},
		"an unsigned hint":                 {"id_token_hint", unsigned, "post_logout_redirect_uri", bye},
		"a hint signed by somebody":        {"id_token_hint", byStranger, "post_logout_redirect_uri", bye},
		"a hint of another client":         {"id_token_hint", hint, "client_id", other.ClientID},
		"a state beyond all measure":       {"client_id", app.ClientID, "state", strings.Repeat("x", 4097)},
		"text that is none (client_id)":    {"client_id", "\x00"},
		"text that is none (the hint)":     {"id_token_hint", "\xff.\xff.\xff"},
		"a scheme that runs (of URI only)": {"client_id", app.ClientID, "post_logout_redirect_uri", "javascript:alert(1)"},
	} {
		b.open(t, s.endSession(request...))
		if b.Status != http.StatusBadRequest || b.Away != nil || !strings.Contains(b.Body, "Sign out here") {
			t.Errorf("%s: %d, sent to %v\n%s", name, b.Status, b.Away, b.Body)
		}
		if b.signedOut(t) {
			t.Fatalf("%s: logged out", name)
		}
	}
	b.open(t, s.URL+"/o/logout/?client_id="+app.ClientID+"&client_id="+other.ClientID)
	checkEqual(t, "a parameter sent twice", b.Status, http.StatusBadRequest)
	b.open(t, s.URL+"/o/logout/?mandate_logout=forged")
	checkEqual(t, "a forged ticket", b.Status, http.StatusBadRequest)
	b.open(t, s.URL+"/o/logout/?state="+strings.Repeat("x", 20<<10))
	checkEqual(t, "20 KB of it", b.Status, http.StatusRequestURITooLong)
}

// Errors in the registration are shown only to the application's owner. Errors in the
// request are shown to everyone.
func TestRPLogout_3_owner_sees_what_differs(t *testing.T) {
	t.Parallel()
	s := logoutServer(t, newSQLite(t))
	alice, bob := s.person(t, "alice"), s.person(t, "bob")
	app := s.relyingParty(t, "--post-logout-redirect-uri", "https://shop.example/secret-path/bye", "--owner", "alice")
	none := s.relyingParty(t)
	request := s.endSession("client_id", app.ClientID, "post_logout_redirect_uri",
		"https://shop.example:8443/secret-path/bye")
	for name, b := range map[string]*browser{"nobody": s.browser(t), "another person": s.signIn(t, bob, "/account/"),
		"the owner": s.signIn(t, alice, "/account/")} {
		b.open(t, request)
		seen := strings.Contains(b.Body, "<dt>Registered</dt>") && strings.Contains(b.Body, `</mark>/secret-path/bye`)
		if b.Status != http.StatusBadRequest || seen != (name == "the owner") ||
			!strings.Contains(b.Body, "<strong>port</strong> differs from the nearest post-logout redirect URI") {
			t.Errorf("%s: %d, %t\n%s", name, b.Status, seen, b.Body)
		}
		if name != "the owner" && !strings.Contains(b.Body, "https://shop.example:8443/secret-path/bye") {
			t.Errorf("%s is not told what was sent:\n%s", name, b.Body)
		}
	}
	b := s.browser(t)
	b.open(t, s.endSession("client_id", none.ClientID, "post_logout_redirect_uri", bye))
	if !strings.Contains(b.Body, "This application has no post-logout redirect URI registered.") {
		t.Errorf("of an application without any it says:\n%s", b.Body)
	}
}

func TestRPLogout_2_expired_hint_is_one(t *testing.T) {
	t.Parallel()
	for setting, taken := range map[string]bool{"true": true, "false": false} {
		s := logoutServer(t, newSQLite(t), "ID_TOKEN_EXPIRE_SECONDS: 3",
			"OIDC_RP_INITIATED_LOGOUT_ACCEPT_EXPIRED_TOKENS: "+setting)
		alice, app, b := s.person(t, "alice"), s.relyingParty(t, "--post-logout-redirect-uri", bye), s.browser(t)
		hint := b.signsIn(t, app, alice).IDToken
		end := number(t, s.verified(t, app, "RS256", hint), "exp")
		waitFor(t, "the end of the hint", func() bool { return time.Now().Unix() > end })
		b.open(t, s.endSession("id_token_hint", hint, "post_logout_redirect_uri", bye))
		if taken != (b.Away != nil && b.Away.String() == bye) || !taken && b.Status != http.StatusBadRequest {
			t.Errorf("ACCEPT_EXPIRED_TOKENS: %s: sent to %v: %d %s", setting, b.Away, b.Status, b.Body)
		}
	}
}

func TestRPLogout_settings(t *testing.T) {
	t.Parallel()
	t.Run("ENABLED: false", func(t *testing.T) {
		s := logoutServer(t, newSQLite(t), "OIDC_RP_INITIATED_LOGOUT_ENABLED: false")
		checkEqual(t, "end session endpoint", s.get(t, "/o/logout/", nobody).Status, http.StatusNotFound)
		_, advertised := s.get(t, "/o/.well-known/openid-configuration", nobody).JSON(t)["end_session_endpoint"]
		checkEqual(t, "advertised", advertised, false)
	})
	t.Run("ALWAYS_PROMPT: true, DELETE_TOKENS: false", func(t *testing.T) {
		s := logoutServer(t, newSQLite(t), "OIDC_RP_INITIATED_LOGOUT_ALWAYS_PROMPT: true",
			"OIDC_RP_INITIATED_LOGOUT_DELETE_TOKENS: false")
		alice, app, b := s.person(t, "alice"), s.relyingParty(t, "--post-logout-redirect-uri", bye), s.browser(t)
		tokens := b.signsIn(t, app, alice)
		b.open(t, s.endSession("id_token_hint", tokens.IDToken, "post_logout_redirect_uri", bye))
		b.submit(t, "Sign out", nil)
		if b.Away == nil || b.Away.String() != bye || !b.signedOut(t) {
			t.Errorf("sent to %v", b.Away)
		}
		checkEqual(t, "UserInfo with the token that was kept", s.userInfoStatus(t, tokens.AccessToken), http.StatusOK)
	})
	t.Run("STRICT_REDIRECT_URIS: true", func(t *testing.T) {
		s := logoutServer(t, newSQLite(t), "OIDC_RP_INITIATED_LOGOUT_STRICT_REDIRECT_URIS: true")
		add := []string{"application", "add", "--name", "x", "--grant", "authorization_code", "--redirect-uri",
			"https://a.example/", "--post-logout-redirect-uri", "http://127.0.0.1/bye"}
		checkEqual(t, "confidential", s.cli(t, "", add...).code, 0)
		checkEqual(t, "public", s.cli(t, "", append(add, "--client-type", "public")...).code, 1)
	})
}

func TestOIDCCore_11_offline_access(t *testing.T) {
	onADatabase(t, func(t *testing.T, db database) {
		s := startServer(t, options{database: db, settings: []string{"SESSION_COOKIE_AGE: 3600"},
			provider: []string{"OIDC_ENABLED: true",
				"SCOPES: {read: Read, openid: Sign in, offline_access: Stay signed in}"}})
		alice := s.person(t, "alice")
		app, own := s.relyingParty(t, "--may-introspect"), s.relyingParty(t, "--skip-consent")
		scope := func(got tokens) string { return got.Scope }
		b := s.browser(t)
		bound := b.signsIn(t, app, alice)
		if life := s.lifetime(t, app, bound.RefreshToken); life > 3600 {
			t.Errorf("the refresh token outlives its session: %d s", life)
		}
		address, _ := s.authorizeURL(app, "scope", "openid offline_access")
		b.open(t, address)
		if !strings.Contains(b.Body, "It keeps this access after you sign out") {
			t.Errorf("the page does not say what is agreed to:\n%s", b.Body)
		}
		for scope, lasts := range map[string]bool{"openid read": false, "read": true} {
			address, _ := s.authorizeURL(app, "scope", scope)
			b.open(t, address)
			if strings.Contains(b.Body, "It keeps this access after you sign out") != lasts {
				t.Errorf("%s: the page does not say how long the access lasts:\n%s", scope, b.Body)
			}
		}
		free := b.signsIn(t, app, alice, "scope", "openid offline_access")
		checkEqual(t, "asked for and agreed to", scope(free), "openid offline_access")
		if life := s.lifetime(t, app, free.RefreshToken); life < 7200 {
			t.Errorf("the refresh token ends with the session: %d s", life)
		}
		checkEqual(t, "without openid it is ignored", scope(b.signsIn(t, app, alice, "scope", "read offline_access")), "read")
		checkEqual(t, "nobody was asked", scope(b.signsIn(t, own, alice, "scope", "openid offline_access")), "openid")
		checkEqual(t, "somebody was asked",
			scope(b.signsIn(t, own, alice, "scope", "openid offline_access", "prompt", "consent")), "openid offline_access")
		checkEqual(t, "it is no default", scope(b.signsIn(t, app, alice, "scope", "")), "read")
		b.open(t, s.mustAuthorize(app, "scope", "offline_access"))
		checkEqual(t, "alone", b.Away.Query().Get("error"), "invalid_scope")
	})
}

// lifetime returns the remaining lifetime of a refresh token, in seconds.
func (s *server) lifetime(t testing.TB, app application, token string) int64 {
	t.Helper()
	a := s.post(t, "/o/introspect/", app.auth(), params("token", token, "token_type_hint", "refresh_token"))
	return int64(a.JSON(t)["exp"].(float64)) - time.Now().Unix()
}

func (s *server) mustAuthorize(app application, more ...string) string {
	address, _ := s.authorizeURL(app, more...)
	return address
}
