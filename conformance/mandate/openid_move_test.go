package mandate

import (
	"strings"
	"testing"

	"github.com/golang-jwt/jwt/v5"
)

// An operator who moves from django-oauth-toolkit keeps the key, the clients and the
// subjects. A relying party sees no difference.
func TestMovedProviderLooksTheSame(t *testing.T) {
	onADatabase(t, func(t *testing.T, db database) {
		key := newOwnKey(t)
		s := openidServer(t, db, "OIDC_RSA_PRIVATE_KEY_FILE: "+quote(key.file))
		alice := s.person(t, "alice", "--subject", "42")
		app := application{ClientID: "brought-along", ClientSecret: s.secret(strings.Repeat("brought too ", 4)),
			RedirectURI: "https://shop.example/cb"}
		s.mustCLI(t, app.ClientSecret+"\n", "application", "add", "--name", "shop", "--grant", "authorization_code",
			"--redirect-uri", app.RedirectURI,
			"--client-id", app.ClientID, "--client-secret-stdin")
		got := s.browser(t).signsIn(t, app, alice)
		claims := s.verified(t, app, "RS256", got.IDToken)
		checkEqual(t, "iss", claims["iss"], any(s.BaseURL+"/o"))
		checkEqual(t, "sub", claims["sub"], any("42"))
		checkEqual(t, "sub at UserInfo", s.userInfo(t, got.AccessToken)["sub"], any("42"))
		token, _, err := jwt.NewParser().ParseUnverified(got.IDToken, jwt.MapClaims{})
		if err != nil || token.Header["kid"] != key.kid {
			t.Errorf("kid is %v, want the thumbprint of the key that was brought, %s (%v)", token.Header["kid"], key.kid, err)
		}
	})
}
