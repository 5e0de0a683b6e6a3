package mandate

import (
	"net/http"
	"strconv"
	"strings"
	"testing"
)

// Attacks by a person who registers applications and wants more access than they were
// given.

// OIDC Core §3.1.2.4, §5.5: the claims parameter cannot request more than a scope can,
// and the consent page shows it.
func TestClaimsParameterIsNoWayRoundConsent(t *testing.T) {
	onADatabase(t, func(t *testing.T, db database) {
		s := openidServer(t, db)
		alice := s.somebody(t, "alice")
		narrow, wide := s.relyingParty(t, "--scope", "openid"),
			s.relyingParty(t, "--scope", "openid", "--scope", "email", "--scope", "phone")
		asked :=
			`{"userinfo":{"email":null,"phone_number":null,"birthdate":null},"id_token":{"email":null,"address":null,"acr":null}}`
		b := s.browser(t)
		got := b.signsIn(t, narrow, alice, "claims", asked)
		for _, name := range []string{"email", "address"} {
			if value, told := s.verified(t, narrow, "RS256", got.IDToken)[name]; told {
				t.Errorf("the ID token of an application that may ask for openid alone has %s %v", name, value)
			}
		}
		checkEqual(t, "UserInfo of that application", len(s.userInfo(t, got.AccessToken)), 1)

		b.signsIn(t, wide, alice) // she approved only the sign-in
		b.open(t, s.mustAuthorize(wide, "scope", "openid", "claims", asked, "prompt", "none"))
		checkEqual(t, "in silence", b.Away.Query().Get("error"), "consent_required")
		b.open(t, s.mustAuthorize(wide, "scope", "openid", "claims", asked))
		if !strings.Contains(b.Body, "Email") || !strings.Contains(b.Body, "Phone") || strings.Contains(b.Body, "Profile") {
			t.Errorf("the page does not show what is asked for:\n%s", b.Body)
		}
		got = b.signsIn(t, wide, alice, "claims", asked)
		checkEqual(t, "email", s.verified(t, wide, "RS256", got.IDToken)["email"], any("alice@example.org"))
		info := s.userInfo(t, got.AccessToken)
		checkEqual(t, "phone number", info["phone_number"], any("+441865276150"))
		if _, told := info["birthdate"]; told {
			t.Error("a claim of a scope that the application may not ask for was told")
		}
		b.open(t, s.mustAuthorize(wide, "scope", "openid", "claims", asked, "prompt", "none"))
		if b.Away.Query().Get("code") == "" {
			t.Errorf("what was agreed to is asked again: %s", b.Away)
		}
	})
}

// OIDC Core §8.1, §12.2: an application keeps its subjects when its address changes.
func TestPairwiseSubjectStaysWithTheApproval(t *testing.T) {
	t.Parallel()
	s := openidServer(t, newSQLite(t))
	alice, mallory := s.somebody(t, "alice"), s.person(t, "mallory")
	victim := s.application(t, "--name", "victim", "--grant", "authorization_code", "--redirect-uri",
		"https://victim.example/cb", "--pairwise")
	app := s.relyingParty(t, "--pairwise", "--owner", "mallory")
	b := s.browser(t)
	theirs := s.verified(t, victim, "RS256", b.signsIn(t, victim, alice).IDToken)
	got := b.signsIn(t, app, alice)
	before := s.verified(t, app, "RS256", got.IDToken)
	owner := s.browser(t)
	owner.open(t, "/o/applications/"+app.ID+"/update/")
	owner.logIn(t, mallory)
	owner.submit(t, "Save changes", params("redirect_uris", "https://victim.example/any"))
	checkEqual(t, "sub at UserInfo", s.userInfo(t, got.AccessToken)["sub"], before["sub"])
	again := s.mustToken(t, app.auth(), params("grant_type", "refresh_token", "refresh_token", got.RefreshToken))
	after := s.verified(t, app, "RS256", again.IDToken)
	checkEqual(t, "sub after a refresh", after["sub"], before["sub"])
	checkEqual(t, "sid after a refresh", after["sid"], before["sid"])
	if after["sub"] == theirs["sub"] || after["sid"] == theirs["sid"] {
		t.Error("the application learned how the person is called elsewhere")
	}
}

// OIDC Core §10.1: while two client secrets work, an ID token is signed with the one
// that the client has.
func TestHS256WhileTwoSecretsWork(t *testing.T) {
	t.Parallel()
	s := openidServer(t, newSQLite(t))
	alice := s.somebody(t, "alice")
	app := s.relyingParty(t, "--algorithm", "HS256", "--no-hash-client-secret", "--post-logout-redirect-uri", bye)
	b := s.browser(t)
	b.signsIn(t, app, alice)
	fresh := app
	r := s.mustCLI(t, "", "application", "rotate-secret", app.ClientID, "--overlap", "1h", "--json")
	fresh.ClientSecret = s.secret(between(t, r, `"client_secret": "`, `"`))
	var hint string
	for name, who := range map[string]application{"old": app, "new": fresh} {
		got := b.signsIn(t, who, alice)
		s.verified(t, who, "HS256", got.IDToken)
		hint = got.IDToken
		b.open(t, s.mustAuthorize(app, "scope", "openid", "prompt", "none", "id_token_hint", hint))
		if b.Away.Query().Get("code") == "" {
			t.Errorf("a hint signed with the %s secret: %s", name, b.Away)
		}
	}
	b.open(t, s.endSession("id_token_hint", hint, "post_logout_redirect_uri", bye))
	if b.Away == nil {
		t.Errorf("%d %s", b.Status, b.Body)
	}
}

func between(t testing.TB, text, before, after string) string {
	t.Helper()
	_, rest, found := strings.Cut(text, before)
	value, _, closed := strings.Cut(rest, after)
	if !found || !closed {
		t.Fatalf("no %q in %s", before, text)
	}
	return value
}

// RFC 9700 §4.11.2: a link to this server does not redirect to another site without a
// person's action.
func TestLogoutIsNoOpenRedirector(t *testing.T) {
	t.Parallel()
	s := logoutServer(t, newSQLite(t))
	app := s.relyingParty(t, "--post-logout-redirect-uri", bye)
	b := s.browser(t)
	b.open(t, s.endSession("client_id", app.ClientID, "post_logout_redirect_uri", bye, "state", "s"))
	if b.Away != nil || b.Status != http.StatusOK || !strings.Contains(b.Body, "shop.example") {
		t.Fatalf("sent to %v: %d %s", b.Away, b.Status, b.Body)
	}
	b.submit(t, "Go on", nil)
	if b.Away == nil || b.Away.String() != bye+"&state=s" {
		t.Errorf("sent to %v", b.Away)
	}
}

// OIDC Core §11: the password and client credentials grants show no consent page.
func TestOfflineAccessWithoutAPerson(t *testing.T) {
	t.Parallel()
	s := logoutServer(t, newSQLite(t))
	alice := s.person(t, "alice")
	app := s.application(t, "--name", "x", "--grant", "password", "--grant", "client_credentials")
	got := s.mustToken(t, app.auth(), params("grant_type", "password", "username", alice.Name, "password", alice.Password,
		"scope", "openid offline_access"))
	checkEqual(t, "password grant", got.Scope, "openid")
	got = s.mustToken(t, app.auth(), params("grant_type", "client_credentials", "scope", "openid offline_access"))
	checkEqual(t, "client credentials", got.Scope, "openid")
}

// An application without consent cannot learn without interaction who uses the browser.
func TestSilentRequestTellsNobodyWhoIsThere(t *testing.T) {
	t.Parallel()
	s := openidServer(t, newSQLite(t))
	alice, bob, app, other := s.somebody(t, "alice"), s.somebody(t, "bob"), s.relyingParty(t), s.relyingParty(t)
	b := s.browser(t)
	subjects := []string{}
	for who, at := range map[person]*browser{alice: b, bob: s.browser(t)} {
		subjects = append(subjects, s.verified(t, other, "RS256", at.signsIn(t, other, who).IDToken)["sub"].(string))
	}
	for _, subject := range subjects {
		b.open(t, s.mustAuthorize(app, "scope", "openid", "prompt", "none", "claims",
			`{"id_token":{"sub":{"value":`+strconv.Quote(subject)+`}}}`))
		checkEqual(t, "answer", b.Away.Query().Get("error"), "login_required")
	}
}

// A token family that was kept after an application's logout ends when the person signs
// out everywhere.
func TestKeptTokensEndEverywhere(t *testing.T) {
	t.Parallel()
	s := logoutServer(t, newSQLite(t), "OIDC_RP_INITIATED_LOGOUT_DELETE_TOKENS: false")
	alice, app, b := s.person(t, "alice"), s.relyingParty(t), s.browser(t)
	tokens := b.signsIn(t, app, alice)
	b.open(t, s.endSession("id_token_hint", tokens.IDToken))
	checkEqual(t, "kept", s.userInfoStatus(t, tokens.AccessToken), http.StatusOK)
	s.mustCLI(t, "", "user", "logout", "alice")
	checkEqual(t, "ended", s.userInfoStatus(t, tokens.AccessToken), http.StatusUnauthorized)
}

// A request that the first check accepts is also small enough for the next ones.
func TestLongestRequestsComeThrough(t *testing.T) {
	t.Parallel()
	s := logoutServer(t, newSQLite(t))
	alice, app, b := s.person(t, "alice"), s.relyingParty(t, "--post-logout-redirect-uri", bye), s.browser(t)
	for _, letter := range []string{"<", "&", "\x01", "é"} {
		state := strings.Repeat(letter, 4096/len(letter))
		b.fromElsewhere(t, "/o/logout/", params("client_id", app.ClientID, "post_logout_redirect_uri", bye, "state", state))
		if b.Status != http.StatusOK {
			t.Errorf("4096 bytes of %q: %d at %s", letter, b.Status, b.URL.Path)
		}
	}
	address := s.mustAuthorize(app, "scope", "openid")
	query := address[strings.Index(address, "?")+1:]
	address += "&x=" + strings.Repeat("a", 16<<10-len(query)-3)
	if b.code(t, address, alice) == "" {
		t.Error("no code")
	}
	for name, args := range map[string][]string{
		"a person called as a client": {"user", "add", "x", "--subject", app.ClientID, "--password-stdin"},
		"a client called as a person": {"application", "add", "--name", "x", "--grant", "client_credentials", "--client-id",
			"subject-1"},
	} {
		s.cli(t, s.secret("a password of some length")+"\n", "user", "add", "one", "--subject", "subject-1",
			"--password-stdin")
		if r := s.cli(t, s.secret("a password of some length")+"\n", args...); r.code != 1 {
			t.Errorf("%s: %d %s%s", name, r.code, r.stdout, r.stderr)
		}
	}
}
