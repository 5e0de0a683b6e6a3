package mandate

import (
	"testing"
)

// An application has a claim of its own in the ID token, at UserInfo, in its signed access token and at introspection,
// with one value, and with another one at a refresh after the person has left the group.
func TestSpecOwnClaims(t *testing.T) {
	onADatabase(t, func(t *testing.T, db database) {
		s := openidServer(t, db)
		s.mustCLI(t, "", "group", "add", "staff")
		alice := s.person(t, "alice", "--group", "staff")
		api := s.application(t, "--name", "api", "--grant", "client_credentials", "--may-introspect")
		app := s.application(t, "--name", "Shop", "--grant", "authorization_code", "--redirect-uri", phoneURI,
			"--access-token-format", "jwt", "--claim", `{"name":"role","from":"groups","map":{"staff":"editor"},"text":true,`+
				`"default":"viewer","in":["id_token","userinfo","access_token","introspection"]}`)
		b := s.signedIn(t, alice)
		roles := func(what string, got tokens, want string) {
			t.Helper()
			access, err := s.locally(t, got.AccessToken)
			if err != nil {
				t.Fatal(err)
			}
			for place, claims := range map[string]map[string]any{
				"the ID token":     s.verified(t, app, "RS256", got.IDToken),
				"UserInfo":         s.get(t, "/o/userinfo/", bearer(got.AccessToken)).JSON(t),
				"the access token": access,
				"introspection":    s.introspect(t, api.auth(), got.AccessToken),
			} {
				if claims["role"] != want {
					t.Errorf("%s, %s: the role is %v, want %s", what, place, claims["role"], want)
				}
			}
		}
		first := b.signsIn(t, app, alice, "scope", "openid")
		roles("the first tokens", first, "editor")
		s.mustCLI(t, "", "group", "rename", "staff", "crew")
		next := s.mustToken(t, app.auth(), refreshForm(first.RefreshToken))
		roles("after the group was renamed", next, "editor")
		s.mustCLI(t, "", "group", "remove-member", "crew", "alice")
		next = s.mustToken(t, app.auth(), refreshForm(next.RefreshToken))
		roles("after the person left it", next, "viewer")
	})
}
