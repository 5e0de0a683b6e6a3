package mandate

import (
	"testing"

	"github.com/golang-jwt/jwt/v5"
)

// OIDC Core §8.1: an application with pairwise subjects receives no identifier of a
// person that another sector knows.
func TestAttackPairwiseSubjectsStayApart(t *testing.T) {
	t.Parallel()
	attack(t, "information leak", "")
	s := openidServer(t, newSQLite(t))
	alice := s.somebody(t, "alice")
	api, open := s.application(t, "--name", "api", "--grant", "client_credentials", "--may-introspect"), s.relyingParty(t)
	global := s.verified(t, open, "RS256", s.browser(t).signsIn(t, open, alice).IDToken)["sub"]
	for _, format := range []string{"opaque", "jwt"} {
		app := s.relyingParty(t, "--grant", "password", "--pairwise", "--may-introspect", "--access-token-format", format)
		byCode := s.browser(t).signsIn(t, app, alice)
		byPassword := s.mustToken(t, app.auth(),
			params("grant_type", "password", "username", alice.Name, "password", alice.Password, "scope", "openid"))
		refreshed := s.mustToken(t, app.auth(),
			params("grant_type", "refresh_token", "refresh_token", byPassword.RefreshToken))
		pairwise := s.verified(t, app, "RS256", byCode.IDToken)["sub"]
		if pairwise == global || pairwise == nil {
			t.Fatalf("the subject is %v", pairwise)
		}
		for what, token := range map[string]string{"code": byCode.AccessToken, "password": byPassword.AccessToken,
			"refresh": refreshed.AccessToken, "refresh token": refreshed.RefreshToken} {
			what = format + ", " + what
			own, theirs := s.introspect(t, app.auth(), token), s.introspect(t, api.auth(), token)
			checkEqual(t, what+": sub for the application", own["sub"], pairwise)
			checkEqual(t, what+": sub for an API", theirs["sub"], pairwise)
			checkEqual(t, what+": username for the application", own["username"], nil)
			checkEqual(t, what+": username for an API", theirs["username"], any("alice"))
			if token[:4] != "mrt_" {
				checkEqual(t, what+": UserInfo", s.userInfo(t, token)["sub"], pairwise)
			}
			claims := jwt.MapClaims{}
			_, _, err := jwt.NewParser().ParseUnverified(token, claims)
			if err == nil {
				checkEqual(t, what+": sub in the token", claims["sub"], pairwise)
			}
		}
	}
	theirs := s.introspect(t, api.auth(), s.browser(t).signsIn(t, open, alice).AccessToken)
	checkEqual(t, "sub without a sector", theirs["sub"], global)
}

// OIDC Core §8.1: programs on people's own computers have the same host name, but are
// not one sector because of that.
func TestAttackLoopbackIsNoSector(t *testing.T) {
	t.Parallel()
	attack(t, "information leak", "")
	s := openidServer(t, newSQLite(t))
	alice := s.somebody(t, "alice")
	for _, uri := range []string{"http://127.0.0.1/cb", "http://[::1]/cb", "http://localhost/cb"} {
		seen := map[any]bool{}
		for range 2 {
			app := s.application(t, "--name", "native", "--grant", "authorization_code", "--redirect-uri", uri, "--pairwise")
			claims := s.verified(t, app, "RS256", s.browser(t).signsIn(t, app, alice).IDToken)
			seen[claims["sub"]], seen[claims["sid"]] = true, true
		}
		checkEqual(t, uri+": subjects and sessions", len(seen), 4)
	}
}
