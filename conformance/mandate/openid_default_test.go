package mandate

import (
	"net/http"
	"strings"
	"testing"
)

// identityScopes are the scopes that exist without configuration.
const identityScopes = "openid profile email groups phone address offline_access"

// Without any setting the server is an OpenID Provider, and a request without scope still gets the scopes that it
// got before (RFC 6749 §3.3).
func TestOpenIDNeedsNoConfiguration(t *testing.T) {
	onADatabase(t, func(t *testing.T, db database) {
		s := startServer(t, options{database: db})
		alice := s.somebody(t, "alice")
		m := s.get(t, discoveryPaths[0], nobody).JSON(t)
		checkEqual(t, "the issuer", m["issuer"], any(s.Issuer))
		checkEqual(t, "the scopes", listOf(m, "scopes_supported"), "read write "+identityScopes)
		app := s.relyingParty(t)
		b := s.browser(t)
		got := b.signsIn(t, app, alice, "scope", identityScopes, "nonce", "n")
		checkEqual(t, "the granted scopes", got.Scope, identityScopes)
		claims := s.verified(t, app, "RS256", got.IDToken)
		checkEqual(t, "the nonce", claims["nonce"], any("n"))
		checkEqual(t, "the email address", s.userInfo(t, got.AccessToken)["email"], any("alice@example.org"))
		plain := b.signsIn(t, app, alice, "scope", "")
		checkEqual(t, "the default scopes", plain.Scope, "read write")
		checkEqual(t, "an ID token that nobody requested", plain.IDToken, "")
		robot := s.application(t, "--name", "robot", "--grant", "client_credentials", "--grant", "password")
		for what, form := range map[string][]string{"client credentials": {"grant_type", "client_credentials"},
			"password": {"grant_type", "password", "username", alice.Name, "password", alice.Password}} {
			checkEqual(t, what, s.mustToken(t, robot.auth(), params(form...)).Scope, "read write")
		}
	})
}

// The page that registers a website shows the settings of OpenID Connect, and the page of the application has the
// issuer, which is what most programs ask for.
func TestPagesShowTheIssuerByDefault(t *testing.T) {
	t.Parallel()
	s := startServer(t, options{})
	b := s.signIn(t, s.person(t, "root", "--admin"), "/o/applications/")
	b.open(t, "/o/applications/register/?kind=website")
	if !b.shows("algorithm") || !b.shows("backchannel_logout_uri") {
		t.Error("the page that registers a website has no settings of OpenID Connect")
	}
	if !strings.Contains(b.Body, "data-copy>"+s.Issuer+"</code>") {
		t.Error("the page that registers a website does not show the issuer")
	}
	b.submit(t, "Register application", params("name", "Shop", "redirect_uris", "https://shop.example/cb"))
	checkEqual(t, "the page of the application", b.fact(t, "Issuer (OpenID Connect)"), s.Issuer)
	clientID := b.fact(t, "Client ID")
	if !strings.Contains(s.mustCLI(t, "", "application", "show", clientID), s.Issuer+"\n") {
		t.Error("the command does not show the issuer")
	}
}

// An operator turns OpenID Connect off and on again. What applications have registered stays, and plain OAuth goes on
// all the time. No access to claims remains while it is off.
func TestOpenIDOffAndOnAgain(t *testing.T) {
	onADatabase(t, func(t *testing.T, db database) {
		s := startServer(t, options{database: db})
		alice, root := s.somebody(t, "alice"), s.person(t, "root", "--admin")
		api := s.introspector(t)
		shop := s.relyingParty(t, "--algorithm", "ES256", "--pairwise", "--post-logout-redirect-uri",
			"https://shop.example/out",
			"--backchannel-logout-uri", "https://shop.example/logout", "--claims-in-id-token", "on", "--scope", "read",
			"--scope", "openid", "--scope", "email")
		b := s.browser(t)
		login := b.signsIn(t, shop, alice, "scope", "openid email read")
		identity := b.signsIn(t, shop, alice, "scope", "openid email")
		subject := s.verified(t, shop, "ES256", login.IDToken)["sub"]
		keys := s.get(t, "/o/.well-known/jwks.json", nobody).Body

		s.turnOpenID(t, "off")
		for _, path := range []string{discoveryPaths[0], "/o/userinfo/", "/o/logout/"} {
			if a := s.get(t, path, bearer(login.AccessToken)); a.Status != http.StatusNotFound {
				t.Errorf("%s answers %d", path, a.Status)
			}
		}
		checkEqual(t, "the scopes of the access token", s.introspect(t, api.auth(), login.AccessToken)["scope"], any("read"))
		if s.active(t, api.auth(), identity.AccessToken) {
			t.Error("a token without any scope is active")
		}
		if err := s.refresh(t, shop.auth(), identity.RefreshToken).refused(http.StatusBadRequest,
			"invalid_grant"); err != nil {
			t.Error("a refresh for claims alone:", err)
		}
		login = s.mustToken(t, shop.auth(), refreshForm(login.RefreshToken))
		checkEqual(t, "the scopes after a refresh", login.Scope, "read")
		checkEqual(t, "the ID token after a refresh", login.IDToken, "")
		// The page of an administrator changes another field. What it does not show stays.
		admin := s.signIn(t, root, "/o/applications/")
		admin.click(t, "shop")
		admin.open(t, admin.URL.Path+"update/")
		admin.submit(t, "Save changes", params("name", "Shop"))
		checkEqual(t, "the change on a page", admin.Status, http.StatusOK)
		s.mustCLI(t, "", "application", "update", shop.ClientID, "--name", "Shops")

		s.turnOpenID(t, "on")
		checkEqual(t, "the keys", s.get(t, "/o/.well-known/jwks.json", nobody).Body, keys)
		login = s.mustToken(t, shop.auth(), refreshForm(login.RefreshToken))
		checkEqual(t, "the scopes after the way back", login.Scope, "openid email read")
		claims := s.verified(t, shop, "ES256", login.IDToken)
		checkEqual(t, "the subject", claims["sub"], subject)
		checkEqual(t, "the claim in the ID token", claims["email"], any("alice@example.org"))
		shown := s.mustCLI(t, "", "application", "show", shop.ClientID)
		for _, kept := range []string{"https://shop.example/out", "https://shop.example/logout", "ES256", "shop.example"} {
			if !strings.Contains(shown, kept) {
				t.Errorf("the application has lost %s:\n%s", kept, shown)
			}
		}
	})
}

// A server of an earlier release has OpenID Connect after the upgrade. Its tokens and refresh tokens go on as they
// were: an ID token and claims come only for those who request openid, and people are asked for it first.
func TestOpenIDComesToAServerWithoutIt(t *testing.T) {
	onADatabase(t, func(t *testing.T, db database) {
		s := startServer(t, options{database: db, provider: []string{openIDOff}})
		alice, api := s.somebody(t, "alice"), s.introspector(t)
		app := s.relyingParty(t)
		b := s.browser(t)
		old := b.signsIn(t, app, alice, "scope", "")
		if r := s.cli(t, "", "keys", "list"); r.code == 0 {
			t.Errorf("there are keys: %s", r.stdout)
		}
		s.turnOpenID(t, "on")
		checkEqual(t, "the scopes of the old token", s.introspect(t, api.auth(), old.AccessToken)["scope"], any("read write"))
		if a := s.get(t, "/o/userinfo/", bearer(old.AccessToken)); a.Status != http.StatusForbidden {
			t.Errorf("UserInfo for a token without openid: %d", a.Status)
		}
		next := s.mustToken(t, app.auth(), refreshForm(old.RefreshToken))
		checkEqual(t, "the scopes after a refresh", next.Scope, "read write")
		checkEqual(t, "the ID token after a refresh", next.IDToken, "")
		// The session of the browser goes on too. It approved read and write.
		address, _ := s.authorizeURL(app, "scope", "read openid", "prompt", "none", "state", "s&1")
		b.open(t, address)
		b.sentBack(t, "without a question", "consent_required")
		got := b.signsIn(t, app, alice)
		s.verified(t, app, "RS256", got.IDToken)
	})
}

// turnOpenID restarts the server with OpenID Connect on or off, as an operator does it: by one line.
func (s *server) turnOpenID(t testing.TB, to string) {
	t.Helper()
	s.stop(t)
	s.options.env = map[string][]string{"on": {"MANDATE_OIDC_ENABLED=true"}, "off": {"MANDATE_OIDC_ENABLED=false"}}[to]
	s.start(t)
}
