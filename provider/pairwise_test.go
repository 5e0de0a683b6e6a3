package provider

import (
	"testing"

	"mandate/provider/clients"
	"mandate/provider/policy"
	"mandate/provider/tokens"
)

func TestSectors(t *testing.T) {
	registration := func(pairwise bool, uris ...string) clients.Registration {
		return clients.Registration{Pairwise: pairwise, RedirectURIs: uris}
	}
	for _, test := range []struct {
		rule string
		r    clients.Registration
		was  string
		want string
	}{
		{"none", registration(false, callback), "", ""},
		{"none any more", registration(false, "http://localhost/cb"), "localhost", ""},
		{"a host", registration(true, "https://A.example/cb"), "", "a.example"},
		{"one host", registration(true, "https://a.example/cb", "https://a.example:8443/x"), "", "a.example"},
		{"two hosts", registration(true, "https://a.example/cb", "https://b.example/cb"), "", ""},
		{"another host", registration(true, "https://b.example/cb"), "a.example", "b.example"},
		{"this computer, by name", registration(true, "http://LOCALHOST/cb"), "", "loopback own"},
		{"this computer, by https", registration(true, "https://localhost/cb"), "", "loopback own"},
		{"this computer, IPv4", registration(true, "http://127.0.0.1:8080/cb"), "", "loopback own"},
		{"this computer, IPv6", registration(true, "http://[::1]/cb"), "", "loopback own"},
		{"this computer, by another name", registration(true, "http://[::1]/cb"), "localhost", "loopback own"},
		{"moved to this computer", registration(true, "http://localhost/cb"), "a.example", "loopback own"},
		{"it has one of its own", registration(true, "http://localhost/cb"), "loopback own", "loopback own"},
		{"one from before is kept", registration(true, "http://localhost/cb"), "localhost", "localhost"},
	} {
		if got := clients.SectorOf(test.r, Application{ClientID: "own", Sector: test.was}); got != test.want {
			t.Errorf("%s: %q, want %q", test.rule, got, test.want)
		}
	}
}

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
		theirs := f.Subject(pairwise.Application.Sector, s.User.ID)
		for _, test := range []struct {
			rule, token, subject string
			app                  *clients.Registered
		}{
			{"the password", byPassword.AccessToken, theirs, pairwise},
			{"a refresh", f.must(f.refresh(pairwise, byPassword.RefreshToken)).AccessToken, theirs, pairwise},
			{"the password, pairwise since", of.AccessToken, theirs, public},
			{"OIDCCore/8.1 an approval keeps the subject that it gave", byCode.AccessToken, s.User.ID, public},
		} {
			found, _, err := f.Introspect(t.Context(), by(test.app, "token", test.token), "192.0.2.1")
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
