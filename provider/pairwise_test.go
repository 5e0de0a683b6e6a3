package provider

import (
	"testing"

	"mandate/provider/clients"
	"mandate/provider/policy"
	"mandate/provider/tokens"
)

// OIDC Core §8.1: a password grant that was stored before grants had a sector does not show the global subject, either.
func TestOldPasswordGrantOfPairwiseApplication(t *testing.T) {
	f := begin(t, openID)
	s := f.login("alice")
	for _, format := range []string{policy.FormatOpaque, policy.FormatJWT} {
		pairwise := f.app(introspects, func(r *clients.Registration) { r.Pairwise, r.AccessTokenFormat = true, format })
		public := f.app(introspects, func(r *clients.Registration) { r.AccessTokenFormat = format })
		password := func(app *clients.Registered) *tokens.TokenResponse {
			return f.must(f.token(app, "grant_type", policy.GrantPassword, "username", "alice", "password", goodPassword, "scope", "openid"))
		}
		byPassword, of, byCode := password(pairwise), password(public), f.tokens(public, s, "scope", "openid")
		f.sql("UPDATE grants SET sector = ''")
		err := f.change(public, func(r *clients.Registration) { r.Pairwise, r.AccessTokenFormat = true, format })
		if err != nil {
			t.Fatal(err)
		}
		theirs := f.Tokens.Subject(pairwise.Application.Sector, s.User.ID)
		for _, test := range []struct {
			rule, token, subject string
			app                  *clients.Registered
		}{
			{"the password", byPassword.AccessToken, theirs, pairwise},
			{"a refresh", f.must(f.refresh(pairwise, byPassword.RefreshToken)).AccessToken, theirs, pairwise},
			{"the password, pairwise since", of.AccessToken, theirs, public},
			{"OIDCCore/8.1 an authorization grant keeps the subject that it gave", byCode.AccessToken, s.User.ID, public},
		} {
			found, _, err := f.Tokens.Introspect(t.Context(), by(test.app, "token", test.token), "192.0.2.1")
			if err != nil {
				t.Fatal(err)
			}
			// The username is shown together with the global subject, and never otherwise.
			if found.Subject != test.subject || (found.Username == "") != (test.subject == theirs) {
				t.Errorf("%s, %s: sub %q, username %q, want %q", format, test.rule, found.Subject, found.Username, test.subject)
			}
		}
	}
}
