package mandate

import (
	"net/http"
	"strings"
	"testing"
)

// OIDC Core §3.1.2.4: the person agrees only to what the page shows, not to a later
// meaning of the request.
func TestAttackClaimsGrowBehindTheConsentPage(t *testing.T) {
	attack(t, "consent bypass", "")
	onADatabase(t, func(t *testing.T, db database) {
		s := openidServer(t, db)
		alice, mallory := s.somebody(t, "alice"), s.person(t, "mallory")
		claims := `{"userinfo":{"email":null,"phone_number":null},"id_token":{"email":null}}`
		for what, change := range map[string]map[string][]string{
			"more scopes":  {"scope": {"openid", "email", "phone"}},
			"another name": {"name": {"Your Bank"}},
		} {
			owner := s.signedIn(t, mallory)
			app := owner.registered(t, "grant_type", "authorization_code", "redirect_uris", "https://rp.example/cb",
				"scope", "openid")
			owner.open(t, "/o/applications/"+app.ID+"/update/")
			b := s.signIn(t, alice, "/account/")
			address, verifier := s.authorizeURL(app, "scope", "openid", "claims", claims)
			b.open(t, address)
			if strings.Contains(b.Body, "Email") || !b.shows("decision") {
				t.Fatalf("%s: the page asks for too much:\n%s", what, b.Body)
			}
			owner.submit(t, "Save changes", change)
			if strings.HasSuffix(owner.URL.Path, "update/") {
				t.Fatalf("%s: not saved:\n%s", what, owner.Body)
			}
			b.decide(t, "approve")
			if b.Away != nil && b.Away.Query().Has("code") {
				t.Errorf("%s: the answer was taken", what)
				got := s.redeem(t, app, b.Away.Query().Get("code"), verifier)
				t.Errorf("%s: the application is told %v", what, s.userInfo(t, got.AccessToken))
			} else if b.Status != http.StatusBadRequest || !strings.Contains(b.Body, "no longer valid") {
				t.Errorf("%s: %d, sent to %v\n%s", what, b.Status, b.Away, b.Body)
			}
			// The page with the error is a consent page that can be answered.
			b.open(t, address)
			if what == "more scopes" && !strings.Contains(b.Body, "Email") {
				t.Errorf("the page does not show what is asked for now:\n%s", b.Body)
			}
			b.decide(t, "approve")
			if b.Away == nil || !b.Away.Query().Has("code") {
				t.Errorf("%s: %d, sent to %v", what, b.Status, b.Away)
			}
		}
	})
}
