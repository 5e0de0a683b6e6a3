package mandate

import (
	"fmt"
	"net/url"
	"testing"
)

// RFC 8252 §8.6: any program can use the client ID of a public client, so an earlier approval gives
// nobody a code without the consent page.
func TestAttackPublicClientIsSilent(t *testing.T) {
	attack(t, "a public client gets a code without the person", "CVE-2023-34246 (doorkeeper)")
	onADatabase(t, func(t *testing.T, db database) {
		s := startServer(t, options{database: db, provider: []string{"OIDC_ENABLED: true", openidScopes}})
		alice := s.person(t, "alice")
		b := s.signedIn(t, alice)
		for _, uri := range []string{"http://127.0.0.1:50111/back", "com.example.app:/back"} {
			public := []string{"--name", "App", "--client-type", "public", "--grant", "authorization_code",
				"--redirect-uri", uri}
			if r := s.cli(t, "", append([]string{"application", "add", "--skip-consent"}, public...)...); r.code != 1 {
				t.Errorf("%s: a public client may skip the consent page", uri)
			}
			app := s.application(t, public...)
			b.family(t, app, alice, "scope", "openid read")
			for _, more := range [][]string{{"scope", "openid read"}, {"scope", "openid"},
				{"scope", "openid read", "max_age", "10000"}, {"scope", "openid read", "prompt", "consent"}} {
				address, _ := s.authorizeURL(app, more...)
				b.open(t, address)
				if b.Away != nil || !b.shows("decision") {
					t.Errorf("%s, %v: %d, sent to %v", uri, more, b.Status, b.Away)
				}
			}
			address, _ := s.authorizeURL(app, "scope", "openid read", "prompt", "none", "state", "s&1")
			b.open(t, address)
			b.sentBack(t, uri+", prompt=none", "consent_required")
		}
	})
}

// What applications learn after a refresh, or with tokens that they have, is what is true now.
func TestAttackFormerMemberOfAGroup(t *testing.T) {
	ownProcesses(t)
	attack(t, "rights that outlive who had them", "CVE-2026-43983 (Pocket ID): refresh ignores that the group was taken "+
		"away")
	forEachDatabase(t, func(t *testing.T, db database) {
		v := newFixture(t, options{database: db, provider: []string{"OIDC_ENABLED: true"}})
		other := v.node(t)
		for _, name := range []string{"board", "staff"} {
			v.mustCLI(t, "", "group", "add", name)
		}
		root := v.signedIn(t, v.admin)
		page := "/admin/users/" + v.userID(t, "alice") + "/"
		in := func(groups ...string) {
			t.Helper()
			root.open(t, page)
			root.submit(t, "Save changes", url.Values{"group": groups})
		}
		in("board", "staff")
		held := v.signedIn(t, v.alice).family(t, v.web, v.alice, "scope", "openid groups")
		learns := func(what, token, want string) {
			t.Helper()
			checkEqual(t, what, fmt.Sprint(other.userInfo(t, token)["groups"]), want)
		}
		learns("at first", held.AccessToken, "[board staff]")
		in("staff")
		learns("with the token of before", held.AccessToken, "[staff]")
		held = v.mustToken(t, v.web.auth(), refreshForm(held.RefreshToken))
		learns("after a refresh", held.AccessToken, "[staff]")
		root.open(t, "/admin/groups/staff/delete/")
		root.submit(t, "Delete the group", nil)
		held = v.mustToken(t, v.web.auth(), refreshForm(held.RefreshToken))
		learns("after the group was deleted", held.AccessToken, "[]")
	})
}
