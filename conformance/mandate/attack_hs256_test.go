package mandate

import (
	"net/http"
	"strings"
	"testing"

	"github.com/golang-jwt/jwt/v5"
)

// RFC 7518 §3.2: a key for HS256 has 32 bytes. With one ID token, an attacker could
// find a shorter key offline.
func TestAttackShortSecretSignsNothing(t *testing.T) {
	t.Parallel()
	attack(t, "weak key", "")
	s := logoutServer(t, newSQLite(t))
	alice, root := s.person(t, "alice"), s.person(t, "root", "--admin")
	short := s.secret("16 bytes of text")
	made := s.cli(t, short+"\n", "application", "add", "--name", "shop", "--grant", "authorization_code", "--redirect-uri",
		"https://shop.example/cb",
		"--client-id", "shop", "--client-secret-stdin", "--no-hash-client-secret", "--post-logout-redirect-uri", bye)
	checkEqual(t, "exit code", made.code, 0)
	old := application{ClientID: "shop", ClientSecret: short, RedirectURI: "https://shop.example/cb"}
	fresh := old
	fresh.ClientSecret = s.secret(
		between(t, s.mustCLI(t, "", "application", "rotate-secret", "shop", "--overlap", "1h", "--json"),
			`"client_secret": "`, `"`))
	admin := s.signIn(t, root, "/o/applications/")
	admin.click(t, "shop")
	admin.open(t, admin.URL.Path+"update/")
	admin.submit(t, "Save changes", params("algorithm", "HS256"))
	if admin.Status != http.StatusOK || strings.HasSuffix(admin.URL.Path, "update/") {
		t.Fatalf("%d %s\n%s", admin.Status, admin.URL, admin.Body)
	}
	b := s.browser(t)
	good := b.signsIn(t, fresh, alice)
	s.verified(t, fresh, "HS256", good.IDToken)

	address, verifier := s.authorizeURL(old, "scope", "openid")
	code := params("grant_type", "authorization_code", "code", b.code(t, address, alice), "redirect_uri", old.RedirectURI,
		"code_verifier", verifier)
	got, answer := s.token(t, old.auth(), code)
	if got.IDToken != "" || answer.Status != http.StatusUnauthorized || got.Error != "invalid_client" ||
		!strings.Contains(got.ErrorDescription, "32 bytes") {
		t.Errorf("with the short secret: %d %s", answer.Status, answer.Body)
	}
	// The refused requests used no code or token, and the new secret works.
	s.verified(t, fresh, "HS256", s.mustToken(t, fresh.auth(), code).IDToken)
	// A refresh signs an ID token too.
	got, answer = s.token(t, old.auth(), params("grant_type", "refresh_token", "refresh_token", good.RefreshToken))
	if got.IDToken != "" || answer.Status != http.StatusUnauthorized {
		t.Errorf("refresh with the short secret: %d %s", answer.Status, answer.Body)
	}
	s.verified(t, fresh, "HS256",
		s.mustToken(t, fresh.auth(), params("grant_type", "refresh_token", "refresh_token", good.RefreshToken)).IDToken)

	forged := signHS256(t, good.IDToken, []byte(short), jwt.MapClaims{})
	b.open(t, s.mustAuthorize(old, "scope", "openid", "state", "s&1", "prompt", "none", "id_token_hint", forged))
	b.sentBack(t, "a hint by the short secret", "invalid_request")
	b.open(t, s.endSession("id_token_hint", forged, "post_logout_redirect_uri", bye))
	checkEqual(t, "logout by such a hint", b.Status, http.StatusBadRequest)
}
