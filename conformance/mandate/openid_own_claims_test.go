package mandate

import (
	"fmt"
	"testing"
)

// An application has a claim of its own in the ID token, at UserInfo, in its signed access token and at introspection,
// with one value, and with another one at a refresh after the person has left the group.
func TestSpecOwnClaims(t *testing.T) {
	onADatabase(t, func(t *testing.T, db database) {
		s := startServer(t, options{database: db, provider: []string{"OIDC_ENABLED: true", openidScopes},
			settings: []string{"SAMPLE_API: true", "ATTRIBUTES: [{NAME: quota, TYPE: number}]"}})
		s.mustCLI(t, "", "group", "add", "staff")
		alice := s.person(t, "alice", "--group", "staff")
		api := s.application(t, "--name", "api", "--grant", "client_credentials", "--may-introspect")
		app := s.application(t, "--name", "Shop", "--grant", "authorization_code", "--redirect-uri", phoneURI,
			"--access-token-format", "jwt", "--claim", `{"name":"role","from":"groups","map":{"staff":"editor"},"text":true,`+
				`"default":"viewer","in":["id_token","userinfo","access_token","introspection"]}`,
			"--claim", `{"name":"quota","from":"attribute.quota","in":["id_token","userinfo","access_token","introspection"]}`)
		b := s.signedIn(t, alice)
		check := func(what string, got tokens, role, quota string) {
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
				if claims["role"] != role || fmt.Sprint(claims["quota"]) != quota {
					t.Errorf("%s, %s: the role is %v, want %s; the quota is %v, want %v", what, place, claims["role"], role,
						claims["quota"], quota)
				}
			}
		}
		first := b.signsIn(t, app, alice, "scope", "openid")
		check("the first tokens", first, "editor", "<nil>")
		s.mustCLI(t, "", "group", "rename", "staff", "crew")
		next := s.mustToken(t, app.auth(), refreshForm(first.RefreshToken))
		check("after the group was renamed", next, "editor", "<nil>")
		s.mustCLI(t, "", "group", "remove-member", "crew", "alice")
		s.mustCLI(t, "", "user", "update", "alice", "--attribute", "quota=50")
		next = s.mustToken(t, app.auth(), refreshForm(next.RefreshToken))
		check("after the person left it, and got a quota", next, "viewer", "50")
	})
}
