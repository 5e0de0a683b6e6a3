package mandate

import (
	"net/http"
	"strings"
	"testing"
)

// A third-party relying party. It reads the discovery document, and checks the ID token
// with the published keys and its registered algorithm.
func TestOIDCCore3OpenIDClient(t *testing.T) {
	onADatabase(t, func(t *testing.T, db database) {
		s := openidServer(t, db)
		alice := s.somebody(t, "alice")
		for _, algorithm := range []string{"RS256", "ES256", "PS256", "EdDSA", "HS256"} {
			app := s.relyingParty(t, "--algorithm", algorithm, "--no-hash-client-secret")
			input := func(more map[string]any) map[string]any {
				more["oidc"], more["metadata"] = true, map[string]any{"id_token_signed_response_alg": algorithm}
				return more
			}
			begun := s.openidClient(t, app, "authorize",
				input(map[string]any{"redirect_uri": app.RedirectURI, "scope": "openid email",
					"parameters": map[string]any{"nonce": "n-1"}}))
			back := s.browser(t).authorize(t, begun["url"].(string), alice, "approve")
			got := s.openidClient(t, app, "callback",
				input(map[string]any{"url": back.String(), "code_verifier": begun["code_verifier"], "state": begun["state"],
					"nonce": "n-1"}))
			text, _ := got["id_token"].(string)
			if text == "" {
				t.Fatalf("%s: %v", algorithm, got)
			}
			subject := s.verified(t, app, algorithm, text)["sub"]
			info := s.openidClient(t, app, "userinfo", input(map[string]any{"token": got["access_token"], "subject": subject}))
			if info["email"] != "alice@example.org" {
				t.Errorf("%s: UserInfo says %v", algorithm, info)
			}
			next := s.openidClient(t, app, "refresh", input(map[string]any{"refresh_token": got["refresh_token"]}))
			if next["id_token"] == nil {
				t.Errorf("%s: the refresh gives %v", algorithm, next)
			}
		}
	})
}

// OIDC Core §3.1: with the password grant there was no login at this server, so there
// is no ID token.
func TestOIDCCore3PasswordGrant(t *testing.T) {
	onADatabase(t, func(t *testing.T, db database) {
		s := openidServer(t, db)
		alice := s.somebody(t, "alice")
		app := s.application(t, "--name", "old", "--grant", "password")
		got := s.mustToken(t, app.auth(), params("grant_type", "password", "username", alice.Name, "password", alice.Password,
			"scope", "openid email"))
		next := s.mustToken(t, app.auth(), params("grant_type", "refresh_token", "refresh_token", got.RefreshToken))
		if got.IDToken != "" || next.IDToken != "" {
			t.Error("there is an ID token")
		}
		if info := s.userInfo(t, next.AccessToken); info["email"] != "alice@example.org" {
			t.Errorf("UserInfo says %v", info)
		}
	})
}

// The pages for the algorithm of an application and the claims of a person.
func TestOIDCRegistrationPages(t *testing.T) {
	onADatabase(t, func(t *testing.T, db database) {
		s := openidServer(t, db)
		root := s.person(t, "root", "--admin", "--email", "root@example.org")
		b := s.signIn(t, root, "/o/applications/register/")
		fields := params("name", "shop", "client_type", "confidential", "grant_type", "authorization_code", "redirect_uris",
			"https://shop.example/cb", "algorithm", "HS256")
		b.submit(t, "", fields)
		if b.Status != http.StatusUnprocessableEntity ||
			!strings.Contains(b.Body, "so the server cannot keep only a hash of it.") {
			t.Fatalf("HS256 with a hash: %d\n%s", b.Status, b.Body)
		}
		fields["hash_client_secret"] = nil
		app := b.registers(t, fields)
		claims := s.verified(t, app, "HS256", b.signsIn(t, app, root).IDToken)
		b.open(t, "/o/applications/"+app.ID+"/update/")
		b.submit(t, "", params("hash_client_secret", "on"))
		if b.Status != http.StatusUnprocessableEntity || !strings.Contains(b.Body, "Choose another algorithm first.") {
			t.Errorf("hashing under HS256: %d\n%s", b.Status, b.Body)
		}
		b.open(t, "/admin/users/"+claims["sub"].(string)+"/")
		b.submit(t, "", params("birthdate", "1.1.1970", "phone_number", "044"))
		if b.Status != http.StatusUnprocessableEntity || !strings.Contains(b.Body, "Write it as 1970-12-31") {
			t.Errorf("a wrong birthdate: %d\n%s", b.Status, b.Body)
		}
		b.submit(t, "", params("birthdate", "1970-01-01", "phone_number", "+41443334455", "phone_number_verified", "on",
			"locale", "de-CH", "address", "A\nB", "country", "CH"))
		got := s.userInfo(t, b.signsIn(t, app, root, "scope", "openid profile phone address").AccessToken)
		checkEqual(t, "address", got["address"], map[string]any{"formatted": "A\nB", "country": "CH"})
		checkEqual(t, "the others", []any{got["birthdate"], got["phone_number_verified"], got["locale"]},
			[]any{"1970-01-01", true, "de-CH"})
		b.open(t, "/account/")
		if !strings.Contains(b.Body, "41443334455") {
			t.Errorf("the account page says nothing of the phone number:\n%s", b.Body)
		}
	})
}
