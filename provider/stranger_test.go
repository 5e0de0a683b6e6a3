package provider

import (
	"testing"

	"mandate/provider/clients"
)

// strange makes an application one for which nobody is responsible.
func (f *fixture) strange(app *clients.Registered) {
	f.t.Helper()
	f.sql("UPDATE applications SET responsible = 'nobody', owner_id = NULL, origin = 'registration' WHERE id = '" +
		app.Application.ID + "'")
}

// A stranger who registered a command for an application on the device, before such redirect URIs were
// refused, has no use of it.
func TestAttackCommandOfAnOlderRegistration(t *testing.T) {
	const command = "com.example.app:/mcp/install?name=x"
	f := begin(t, func(c *Config) { c.Open.Clients = []string{clients.OpenRegistration} })
	for _, sent := range []string{command, "-"} {
		app := f.app(public, func(r *clients.Registration) { r.RedirectURIs = []string{command} })
		query := f.query(app, "redirect_uri", sent)
		a, err := f.Authorizations.Authorize(t.Context(), query)
		if err != nil || a.RedirectURI != command {
			t.Errorf("an administrator is responsible: %v", err)
		}
		f.strange(app)
		_, err = f.Authorizations.Authorize(t.Context(), query)
		wantKind(t, "redirect_uri "+sent, err, "400 invalid_request")
	}
}

// A stranger must not take a browser to any address by a link to the logout, even with the ID token of
// the person.
//
// RFC 9700 §4.11.2, CWE-601. Resembles the open redirect of django-oauth-toolkit before 3.4.0.
func TestAttackLogoutLeadsToAStranger(t *testing.T) {
	f := begin(t, openID, func(c *Config) { c.Open.Clients = []string{clients.OpenRegistration} })
	app, s := f.app(leaves), f.login("alice")
	hint := f.tokens(app, s, "scope", "openid").IDToken
	kept, err := f.Logouts.EndedCookie(s)
	if err != nil {
		t.Fatal(err)
	}
	check := func(who string, ask bool) {
		t.Helper()
		l := f.leave(hint)
		if got := f.Logouts.MustConfirm(l, s); got != ask {
			t.Errorf("%s: the person is asked: %v", who, got)
		}
		if got := f.Logouts.EndedInThisBrowser(l, kept); got == ask {
			t.Errorf("%s: the browser goes on by itself after the session: %v", who, got)
		}
	}
	check("an administrator is responsible", false)
	f.strange(app)
	check("nobody is responsible", true)
	l, err := f.Logouts.Read(t.Context(), values("id_token_hint", hint))
	if err != nil || f.Logouts.MustConfirm(l, s) {
		t.Errorf("without an address there is nothing to ask: %v", err)
	}
}
