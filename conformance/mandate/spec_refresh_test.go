package mandate

import (
	"net/http"
	"strings"
	"testing"
	"time"
)

// Refresh tokens, token families, lifetimes, and stored consents.

func TestSpecRefresh(t *testing.T) {
	onADatabase(t, func(t *testing.T, db database) {
		s := startServer(t, options{database: db, provider: []string{sampleScopes, "REFRESH_TOKEN_GRACE_PERIOD_SECONDS: 0"}})
		alice, app, other, asker := s.person(t, "alice"), s.whole(t, "all grants"), s.whole(t, "another"), s.introspector(t)
		t.Run("a refresh token works only for its client", func(t *testing.T) {
			pair := s.pair(t, app, alice)
			checkRefused(t, s.refresh(t, other.auth(), pair.RefreshToken), http.StatusBadRequest, "invalid_grant")
			s.checkGranted(t, s.refresh(t, app.auth(), pair.RefreshToken), "read write groups", true)
		})
		t.Run("a narrower scope is for the access token alone", func(t *testing.T) {
			pair := s.pair(t, app, alice)
			narrow := s.checkGranted(t, s.refresh(t, app.auth(), pair.RefreshToken, "scope", "read"), "read", true)
			s.checkGranted(t, s.refresh(t, app.auth(), narrow.RefreshToken), "read write groups", true)
		})
		t.Run("a scope that was not granted is refused, and burns nothing", func(t *testing.T) {
			pair := s.pair(t, app, alice, "scope", "read")
			checkRefused(t, s.refresh(t, app.auth(), pair.RefreshToken, "scope", "read write"), http.StatusBadRequest,
				"invalid_scope")
			s.checkGranted(t, s.refresh(t, app.auth(), pair.RefreshToken), "read", true)
		})
		t.Run("an access token refreshes nothing", func(t *testing.T) {
			pair := s.pair(t, app, alice)
			checkRefused(t, s.refresh(t, app.auth(), pair.AccessToken), http.StatusBadRequest, "invalid_grant")
		})
		t.Run("a spent refresh token ends its family", func(t *testing.T) {
			first := s.pair(t, app, alice)
			second := s.checkGranted(t, s.refresh(t, app.auth(), first.RefreshToken), "read write groups", true)
			bystander := s.pair(t, app, alice)
			checkRefused(t, s.refresh(t, app.auth(), first.RefreshToken), http.StatusBadRequest, "invalid_grant")
			for _, token := range []string{first.AccessToken, first.RefreshToken, second.AccessToken, second.RefreshToken} {
				s.checkInactive(t, asker.auth(), token)
			}
			checkRefused(t, s.refresh(t, app.auth(), second.RefreshToken), http.StatusBadRequest, "invalid_grant")
			if !s.active(t, asker.auth(), bystander.AccessToken) {
				t.Error("another family ended with it")
			}
		})
	})
}

func TestSpecRefreshGrace(t *testing.T) {
	ownProcesses(t)
	forEachDatabase(t, func(t *testing.T, db database) {
		s := startServer(t, options{database: db, provider: []string{"REFRESH_TOKEN_GRACE_PERIOD_SECONDS: 60"}})
		alice, app, asker := s.person(t, "alice"), s.whole(t, "all grants"), s.introspector(t)
		first := s.pair(t, app, alice)
		second := s.checkGranted(t, s.refresh(t, app.auth(), first.RefreshToken), "read write", true)
		a := s.node(t).refresh(t, app.auth(), first.RefreshToken)
		again := s.tokens(t, a)
		if a.Status != http.StatusOK || again.AccessToken != second.AccessToken || again.RefreshToken != second.RefreshToken {
			t.Errorf("within the grace: %d, want the same successor", a.Status)
		}
		// A request with another scope is another request, and does not use up the token.
		other := s.post(t, "/o/token/", app.auth(),
			params("grant_type", "refresh_token", "refresh_token", first.RefreshToken, "scope", "read"))
		checkRefused(t, other, http.StatusBadRequest, "invalid_scope")
		third := s.checkGranted(t, s.refresh(t, app.auth(), second.RefreshToken), "read write", true)
		// The successor has been used, so another holder of the first token is an
		// attacker.
		checkRefused(t, s.refresh(t, app.auth(), first.RefreshToken), http.StatusBadRequest, "invalid_grant")
		s.checkInactive(t, asker.auth(), third.AccessToken)
	})
}

// A token family ends at its time limit, regardless of the number of refreshes.
func TestSpecFamilyLifetime(t *testing.T) {
	onADatabase(t, func(t *testing.T, db database) {
		s := startServer(t, options{database: db,
			provider: []string{"REFRESH_TOKEN_ABSOLUTE_EXPIRE_SECONDS: 3600", "ACCESS_TOKEN_EXPIRE_SECONDS: 60"}})
		alice, app, asker := s.person(t, "alice"), s.whole(t, "all grants"), s.introspector(t)
		first := s.pair(t, app, alice)
		begin := s.introspect(t, asker.auth(), first.RefreshToken)
		issued, end := begin["iat"].(float64), begin["exp"].(float64)
		if end-issued != 3600 {
			t.Errorf("a refresh token of %v seconds, want what is configured", end-issued)
		}
		waitFor(t, "the clock has moved on", func() bool { return float64(time.Now().Unix()) > issued })
		a := s.refresh(t, app.auth(), first.RefreshToken)
		next := s.introspect(t, asker.auth(), s.tokens(t, a).RefreshToken)
		if next["active"] != true || next["exp"] != end {
			t.Errorf("the next refresh token is %v, want it to end at %v too", next, end)
		}
		access := s.introspect(t, asker.auth(), s.tokens(t, a).AccessToken)
		if access["exp"].(float64)-access["iat"].(float64) != 60 {
			t.Errorf("the access token is %v, want it to live 60 seconds", access)
		}
	})
}

// The default lifetimes.
func TestSpecLifetimes(t *testing.T) {
	s := startServer(t, options{})
	printed := s.mustCLI(t, "", "config", "print")
	for _, want := range []string{"AUTHORIZATION_CODE_EXPIRE_SECONDS: 60 ", "ACCESS_TOKEN_EXPIRE_SECONDS: 36000 ",
		"REFRESH_TOKEN_EXPIRE_SECONDS: 2592000 ", "REFRESH_TOKEN_GRACE_PERIOD_SECONDS: 10 ",
		"OPEN_REFRESH_TOKEN_GRACE_PERIOD_SECONDS: 30 ", "REFRESH_TOKEN_ABSOLUTE_EXPIRE_SECONDS: 31536000 "} {
		if !strings.Contains(printed, " "+want) {
			t.Errorf("config print does not show %q:\n%s", want, printed)
		}
	}
}

// PKCE is optional for confidential clients. Public clients always need it.
func TestSpecPKCEOptional(t *testing.T) {
	onADatabase(t, func(t *testing.T, db database) {
		s := startServer(t, options{database: db})
		alice, app := s.person(t, "alice"), s.whole(t, "all grants")
		public := s.application(t, "--name", "phone", "--client-type", "public", "--grant", "authorization_code",
			"--redirect-uri", "http://127.0.0.1/back")
		without := []string{"code_challenge", "", "code_challenge_method", "", "state", "xyz"}
		b := s.browser(t)
		address, verifier := s.authorizeURL(app, without...)
		code := b.code(t, address, alice)
		// RFC 9700 §2.1.1: a verifier without a challenge shows that an attacker removed
		// the challenge.
		checkRefused(t, s.exchange(t, app, code, app.RedirectURI, verifier), http.StatusBadRequest, "invalid_grant")
		s.checkGranted(t, s.exchange(t, app, b.code(t, address, alice), app.RedirectURI, ""), "read write", true)
		address, verifier = s.authorizeURL(app)
		code = b.code(t, address, alice)
		checkRefused(t, s.exchange(t, app, code, app.RedirectURI, ""), http.StatusBadRequest, "invalid_grant")
		s.checkGranted(t, s.exchange(t, app, code, app.RedirectURI, verifier), "read write", true)
		address, _ = s.authorizeURL(public, without...)
		b.authorize(t, address, alice, "approve")
		s.checkReturn(t, b, public, "invalid_request", "xyz")
	})
}

func TestSpecPublicClient(t *testing.T) {
	onADatabase(t, func(t *testing.T, db database) {
		s := startServer(t, options{database: db})
		alice, asker := s.person(t, "alice"), s.introspector(t)
		app := s.application(t, "--name", "phone", "--client-type", "public", "--grant", "authorization_code",
			"--redirect-uri", "http://127.0.0.1/back")
		if app.ClientSecret != "" {
			t.Fatal("a public client has a secret")
		}
		// RFC 8252 §7.3: the port of a loopback address is unknown until the program
		// runs.
		app.RedirectURI = "http://127.0.0.1:49152/back"
		address, verifier := s.authorizeURL(app)
		code := s.browser(t).code(t, address, alice)
		checkRefused(t, s.exchange(t, app, code, app.RedirectURI, ""), http.StatusBadRequest, "invalid_grant")
		pair := s.checkGranted(t, s.exchange(t, app, code, app.RedirectURI, verifier), "read write", true)
		next := s.checkGranted(t, s.refresh(t, app.auth(), pair.RefreshToken), "read write", true)
		checkRefused(t, s.refresh(t, body(app.ClientID, "a secret"), next.RefreshToken), http.StatusUnauthorized,
			"invalid_client")
		s.revoke(t, app.auth(), next.RefreshToken)
		s.checkInactive(t, asker.auth(), next.AccessToken)
		r := s.cli(t, "", "application", "add", "--name", "robot", "--client-type", "public", "--grant", "client_credentials")
		if r.code != 1 {
			t.Errorf("a public client with client credentials: exit code %d", r.code)
		}
	})
}

// The password grant works only where it is registered, and each use logs a warning.
func TestSpecPasswordGrant(t *testing.T) {
	onADatabase(t, func(t *testing.T, db database) {
		s := startServer(t, options{database: db})
		alice, asker := s.person(t, "alice"), s.introspector(t)
		app := s.application(t, "--name", "old", "--grant", "password")
		without := s.application(t, "--name", "new", "--grant", "authorization_code", "--redirect-uri",
			"https://new.example/back")
		checkRefused(t, s.password(t, without.auth(), alice), http.StatusBadRequest, "unauthorized_client")
		if strings.Contains(s.log.String(), "deprecate") {
			t.Error("the log warns of a grant that nobody used")
		}
		pair := s.checkGranted(t, s.password(t, app.auth(), alice), "read write", true)
		waitFor(t, "the log says that RFC 9700 deprecates the grant which "+app.ClientID+" uses", func() bool {
			log := s.log.String()
			return strings.Contains(log, "deprecate") && strings.Contains(log, "RFC 9700") && strings.Contains(log, app.ClientID)
		})
		s.mustCLI(t, "", "user", "disable", alice.Name)
		checkRefused(t, s.password(t, app.auth(), alice), http.StatusBadRequest, "invalid_grant")
		checkRefused(t, s.refresh(t, app.auth(), pair.RefreshToken), http.StatusBadRequest, "invalid_grant")
		s.checkInactive(t, asker.auth(), pair.AccessToken)
	})
}

// A person is asked once for the same scopes. For a client that anyone could imitate,
// the person is always asked.
func TestSpecConsent(t *testing.T) {
	onADatabase(t, func(t *testing.T, db database) {
		s := startServer(t, options{database: db})
		alice, app := s.person(t, "alice"), s.whole(t, "all grants")
		public := s.application(t, "--name", "phone", "--client-type", "public", "--grant", "authorization_code",
			"--redirect-uri", "com.example.app:/back")
		b := s.signIn(t, alice, "/account/")
		asks := func(app application, scope, decision string) bool {
			t.Helper()
			address, _ := s.authorizeURL(app, "scope", scope)
			b.open(t, address)
			if b.Away != nil {
				return false
			}
			b.decide(t, decision)
			return true
		}
		for _, c := range []struct {
			app             application
			scope, decision string
			want            bool
			why             string
		}{
			{app, "read", "deny", true, "the first time"},
			{app, "read", "approve", true, "a denial is not remembered"},
			{app, "read", "approve", false, "an approval is remembered"},
			{app, "read write", "approve", true, "more scopes are asked for"},
			{app, "write", "approve", false, "each was approved"},
			{public, "read", "approve", true, "a public client"},
			{public, "read", "approve", true, "a public client again"},
		} {
			if got := asks(c.app, c.scope, c.decision); got != c.want {
				t.Errorf("%s: asked %v, want %v", c.why, got, c.want)
			}
		}
	})
}

func TestSpecConsentForced(t *testing.T) {
	onADatabase(t, func(t *testing.T, db database) {
		s := startServer(t, options{database: db, provider: []string{"REQUEST_APPROVAL_PROMPT: force"}})
		alice, app := s.person(t, "alice"), s.whole(t, "all grants")
		b := s.signIn(t, alice, "/account/")
		for range 2 {
			address, _ := s.authorizeURL(app)
			b.open(t, address)
			if b.Away != nil || !b.shows("decision") {
				t.Fatalf("not asked, sent to %v", b.Away)
			}
			b.decide(t, "approve")
		}
	})
}
