package mandate

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// wantAside checks that a logout request was answered with a page that continues only
// when the person presses a button.
func (b *browser) wantAside(t testing.TB, what, host string) {
	t.Helper()
	if b.Status != http.StatusOK || b.Away != nil || !strings.Contains(b.Body, "You are signed out") ||
		!strings.Contains(b.Body, host) {
		t.Errorf("%s: %d, sent to %v\n%s", what, b.Status, b.Away, b.Body)
	}
}

// RFC 9700 §4.11.2: the owner of an application has an ID token for it. With that ID
// token they cannot redirect another person's browser.
func TestAttackLogoutHintIsNoOpenRedirector(t *testing.T) {
	t.Parallel()
	attack(t, "open redirect", "")
	s := logoutServer(t, newSQLite(t))
	alice, mallory := s.person(t, "alice"), s.person(t, "mallory")
	const away = "https://evil.example/bye"
	evil := s.relyingParty(t, "--name", "evil", "--post-logout-redirect-uri", away)
	forged := s.relyingParty(t, "--name", "forged", "--post-logout-redirect-uri", away, "--algorithm", "HS256",
		"--no-hash-client-secret")
	attacker := s.browser(t)
	hint := attacker.signsIn(t, evil, mallory).IDToken
	signed := attacker.signsIn(t, forged, mallory).IDToken
	requests := map[string][]string{
		"a session elsewhere":        {"id_token_hint", hint, "post_logout_redirect_uri", away, "state", "s"},
		"a session elsewhere, named": {"id_token_hint", hint, "client_id", evil.ClientID, "post_logout_redirect_uri", away},
		"a hint of its own making": {"id_token_hint",
			signHS256(t, signed, []byte(forged.ClientSecret), jwt.MapClaims{"sid": "invented"}),
			"post_logout_redirect_uri", away},
		"a hint without sid": {"id_token_hint",
			signHS256(t, signed, []byte(forged.ClientSecret), jwt.MapClaims{"sid": ""}), "post_logout_redirect_uri", away},
	}
	try := func(when string, b *browser) {
		t.Helper()
		for what, request := range requests {
			b.open(t, s.endSession(request...))
			b.wantAside(t, when+", "+what, "evil.example")
			b.fromElsewhere(t, "/o/logout/", params(request...))
			b.wantAside(t, when+", "+what+", by POST", "evil.example")
		}
	}
	victim := s.browser(t)
	try("nobody was ever signed in", victim)
	b := s.browser(t)
	b.signsIn(t, s.relyingParty(t), alice)
	b.open(t, "/logout/")
	b.submit(t, "Sign out", nil)
	try("somebody else was signed in", b)
	attacker.open(t, "/logout/")
	attacker.submit(t, "Sign out", nil)
	try("the session elsewhere has ended", victim)
	// The person decides by a click.
	victim.open(t, s.endSession(requests["a session elsewhere"]...))
	victim.submit(t, "Go on", nil)
	if victim.Away == nil || victim.Away.String() != away+"?state=s" {
		t.Errorf("after the click: sent to %v", victim.Away)
	}
}

// OIDC RP-Logout §4: an invalid hint proves nothing, and the browser is not redirected.
func TestAttackInvalidLogoutHintRedirectsNobody(t *testing.T) {
	t.Parallel()
	attack(t, "open redirect", "")
	s := logoutServer(t, newSQLite(t))
	alice, app := s.person(t, "alice"), s.relyingParty(t, "--post-logout-redirect-uri", bye)
	b, stranger := s.browser(t), s.browser(t)
	parts := strings.Split(b.signsIn(t, app, alice).IDToken, ".")
	for what, hint := range map[string]string{
		"no JWT":                 "x",
		"another signature":      parts[0] + "." + parts[1] + "." + strings.Repeat("A", len(parts[2])),
		"no signature":           parts[0] + "." + parts[1] + ".",
		"a logout token's shape": parts[0] + ".e30." + parts[2],
	} {
		for who, b := range map[string]*browser{"signed in": b, "signed out": stranger} {
			b.open(t, s.endSession("id_token_hint", hint, "client_id", app.ClientID, "post_logout_redirect_uri", bye,
				"state", "s"))
			if b.Status != http.StatusBadRequest || b.Away != nil || strings.Contains(b.Body, "Go on") {
				t.Errorf("%s, %s: %d, sent to %v\n%s", what, who, b.Status, b.Away, b.Body)
			}
		}
	}
	if b.signedOut(t) {
		t.Error("logged out")
	}
}

// OIDC RP-Logout §2: an application requests logout after another one has. The session
// was in this browser, so no confirmation is needed.
func TestRPLogout_2_after_another_application(t *testing.T) {
	onADatabase(t, func(t *testing.T, db database) {
		s := logoutServer(t, db)
		alice := s.person(t, "alice")
		for name, args := range map[string][]string{"public subjects": nil, "pairwise subjects": {"--pairwise"}} {
			args = append(args, "--post-logout-redirect-uri", bye)
			one, two := s.relyingParty(t, args...), s.relyingParty(t, args...)
			b := s.browser(t)
			for _, app := range []application{one, two} {
				hint := b.signsIn(t, app, alice).IDToken
				defer func() { // the last application first, then the others of the same session
					b.open(t, s.endSession("id_token_hint", hint, "post_logout_redirect_uri", bye))
					if b.Away == nil || b.Away.String() != bye {
						t.Errorf("%s: %d, sent to %v\n%s", name, b.Status, b.Away, b.Body)
					}
				}()
			}
		}
	})
}

// RFC 7519 §4.1.4: exp is a number. A client that knows the secret for HS256 can put
// any value there.
func TestAttackOddDatesInLogoutHint(t *testing.T) {
	attack(t, "crash by foreign input", "")
	s := logoutServer(t, newSQLite(t), "OIDC_RP_INITIATED_LOGOUT_ACCEPT_EXPIRED_TOKENS: false")
	alice := s.person(t, "alice")
	app := s.relyingParty(t, "--algorithm", "HS256", "--no-hash-client-secret", "--post-logout-redirect-uri", bye)
	b := s.browser(t)
	hint := b.signsIn(t, app, alice).IDToken
	for _, exp := range []string{"0", "-0.0", "0.5", "-1", "-1e300", "1e300", "9223372036854775808",
		`"` + strconv.FormatInt(time.Now().Unix()+60, 10) + `"`, `""`, "null", "true", "[]", "{}", "1"} {
		b.open(t, s.endSession("id_token_hint",
			signHS256(t, hint, []byte(app.ClientSecret), jwt.MapClaims{"exp": json.RawMessage(exp)}),
			"post_logout_redirect_uri", bye))
		if b.Status != http.StatusBadRequest || b.Away != nil {
			t.Errorf("exp: %s: %d, sent to %v", exp, b.Status, b.Away)
		}
	}
	if b.signedOut(t) {
		t.Fatal("logged out")
	}
	soon := json.RawMessage(strconv.FormatInt(time.Now().Unix()+60, 10) + ".5")
	b.open(t, s.endSession("id_token_hint", signHS256(t, hint, []byte(app.ClientSecret), jwt.MapClaims{"exp": soon}),
		"post_logout_redirect_uri", bye))
	if b.Away == nil || b.Away.String() != bye {
		t.Errorf("a fraction of a second: %d, sent to %v", b.Status, b.Away)
	}
}
