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
			return f.must(f.token(app, "grant_type", policy.GrantPassword, "username", "alice", "password", goodPassword,
				"scope", "openid"))
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

// An owner names the host of somebody else's website in a redirect URI, and learns the subjects that the people have
// there by a grant that needs no redirect URI.
//
// CWE-346: who has a host is proven by what goes there (OIDC Core §8.1).
func TestAttackSectorOfAnotherWebsite(t *testing.T) {
	f := begin(t, openID)
	owner := policy.By(f.person("mallory"))
	theirs := f.app(func(r *clients.Registration) {
		r.Pairwise, r.RedirectURIs = true, []string{"https://clinic.example/cb"}
	})
	begins := clients.Registration{Name: "Game", ClientType: policy.Confidential, GrantTypes: []string{policy.GrantCode},
		RedirectURIs: []string{"https://clinic.example/cb"}, HashClientSecret: true, Pairwise: true}
	for _, grant := range []string{policy.GrantDevice, policy.GrantPassword} {
		r := begins
		r.GrantTypes = []string{policy.GrantCode, grant}
		_, err := f.Clients.Register(t.Context(), owner, r)
		wantInvalid(t, err, "pairwise")

		made, err := f.Clients.Register(t.Context(), owner, begins)
		wantError(t, err, "no error")
		_, err = f.Clients.Update(t.Context(), owner, made.Application.ID, made.Application.Version, r)
		wantInvalid(t, err, "pairwise")

		r.RedirectURIs = []string{"http://127.0.0.1/cb"}
		made, err = f.Clients.Register(t.Context(), owner, r)
		wantError(t, err, "no error")
		if made.Application.Sector == theirs.Application.Sector {
			t.Error("a program on the device has the sector of a website")
		}
		r.RedirectURIs = begins.RedirectURIs
		_, err = f.Clients.Update(t.Context(), owner, made.Application.ID, made.Application.Version, r)
		wantInvalid(t, err, "pairwise")

		// What was registered before stays as it is, and an administrator answers for what they register.
		f.sql("UPDATE applications SET sector = 'clinic.example', redirect_uris = 'https://clinic.example/cb' WHERE id = '" +
			made.Application.ID + "'")
		f.forgetCopies()
		r.Name = "Play"
		_, err = f.Clients.Update(t.Context(), owner, made.Application.ID, made.Application.Version, r)
		wantError(t, err, "no error")
		f.app(func(registered *clients.Registration) { *registered = r })
	}
}
