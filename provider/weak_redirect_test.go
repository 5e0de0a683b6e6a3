package provider

import (
	"strings"
	"testing"

	"mandate/provider/clients"
	"mandate/provider/logout"
	"mandate/provider/oauth"
	"mandate/provider/policy"
)

// Somebody with administrator rights answers for a weak redirect URI. Nobody else registers one, and it has no effect
// while nobody with these rights is responsible.
func TestWeakRedirectURIByStanding(t *testing.T) {
	f := begin(t, openID)
	alice, root := f.person("alice"), f.person("root")
	f.sql("UPDATE users SET administrator = TRUE WHERE username = 'root'")
	root.Administrator = true
	const app, plain = "audiobookshelf://oauth", "http://grafana.lan:3000/cb"
	phone := clients.Registration{Name: "Phone", ClientType: policy.Public, GrantTypes: []string{policy.GrantCode},
		RedirectURIs: []string{app, callback}, PostLogoutURIs: []string{app}}
	site := clients.Registration{Name: "Site", ClientType: policy.Confidential, GrantTypes: []string{policy.GrantCode},
		RedirectURIs: []string{plain}, HashClientSecret: true}
	for _, r := range []clients.Registration{phone, site} {
		_, err := f.Clients.Register(t.Context(), policy.ByConfirmed(alice), r)
		wantInvalid(t, err, "redirect_uris")
		_, err = f.Clients.Register(t.Context(), policy.Operator(), r)
		wantError(t, err, "no error")
	}
	// OIDC Core §3.1.2.1: http only if the client is confidential.
	open := site
	open.ClientType, open.PostLogoutURIs = policy.Public, []string{plain}
	_, err := f.Clients.Register(t.Context(), policy.Operator(), open)
	wantInvalid(t, err, "redirect_uris")
	wantInvalid(t, err, "post_logout_redirect_uris")
	// FAPI 2.0 Security Profile §5.3.2.2: no http, whoever registers it.
	strict := site
	strict.Profile = policy.ProfileFAPI
	_, err = f.Clients.Register(t.Context(), policy.Operator(), strict)
	wantInvalid(t, err, "redirect_uris")
	made, err := f.Clients.Register(t.Context(), policy.ByConfirmed(root), phone)
	if err != nil {
		t.Fatal(err)
	}
	id := made.Application.ID
	works := func(want string) {
		t.Helper()
		_, err := f.Authorizations.Authorize(t.Context(), f.query(made, "redirect_uri", app))
		wantError(t, err, want)
		_, err = f.Authorizations.Authorize(t.Context(), f.query(made))
		wantError(t, err, "no error")
		a, err := f.Clients.Application(t.Context(), policy.Operator(), id)
		if err != nil {
			t.Fatal(err)
		}
		wantError(t, f.Logouts.CheckLogoutURI(&logout.Request{Application: &a, RedirectURI: app}), want)
		if a.RedirectURIs != app+"\n"+callback || a.PostLogoutURIs != app {
			t.Errorf("%q and %q are registered", a.RedirectURIs, a.PostLogoutURIs)
		}
		now, more := f.Rules.EffectiveRights(a)
		if more != (want != "no error") || strings.Contains(now.RedirectURIs, app) == more ||
			len(RedirectWarnings(now)) > 0 == more {
			t.Errorf("the page shows %q with the warnings %q, and more: %t", now.RedirectURIs, RedirectWarnings(now), more)
		}
	}
	works("no error")
	_, err = f.Clients.Assign(t.Context(), policy.ByConfirmed(root), id, f.version(id), "alice")
	wantError(t, err, "no error")
	works("400 invalid_request")
	// The owner changes something else, and can neither use it, nor replace it by another one.
	renamed := phone
	renamed.Name = "Telephone"
	_, err = f.Clients.Update(t.Context(), policy.ByConfirmed(alice), id, f.version(id), renamed)
	wantError(t, err, "no error")
	works("400 invalid_request")
	renamed.RedirectURIs = []string{"audiobookshelf://other", callback}
	_, err = f.Clients.Update(t.Context(), policy.ByConfirmed(alice), id, f.version(id), renamed)
	wantInvalid(t, err, "redirect_uris")
	// An administrator edits the application of somebody else, and does not answer for it.
	_, err = f.Clients.Update(t.Context(), policy.ByConfirmed(root), id, f.version(id), renamed)
	wantInvalid(t, err, "redirect_uris")
	_, err = f.Clients.TakeOver(t.Context(), policy.ByConfirmed(root), id, f.version(id))
	wantError(t, err, "no error")
	works("no error")
	// The rights of the owner end with those of the account.
	f.sql("UPDATE users SET administrator = FALSE WHERE username = 'root'")
	works("400 invalid_request")
}

// With the operator responsible, an owner without rights keeps a weak redirect URI, and cannot set one.
func TestAttackOwnerAddsWeakRedirectURI(t *testing.T) {
	f := begin(t)
	alice := f.person("alice")
	made := f.app(func(r *clients.Registration) { r.Owner, r.RedirectURIs = "alice", []string{"oc://ios.owncloud.com"} })
	id := made.Application.ID
	a, err := f.Clients.Application(t.Context(), policy.Operator(), id)
	if err != nil {
		t.Fatal(err)
	}
	r := clients.Registration{Name: "Renamed", ClientType: a.ClientType, GrantTypes: strings.Fields(a.GrantTypes),
		RedirectURIs: oauth.Lines(a.RedirectURIs), HashClientSecret: true, AccessTokenFormat: a.AccessTokenFormat}
	_, err = f.Clients.Update(t.Context(), policy.ByConfirmed(alice), id, f.version(id), r)
	wantError(t, err, "no error")
	r.RedirectURIs = []string{"oc://ios.owncloud.com", "oc://evil"}
	_, err = f.Clients.Update(t.Context(), policy.ByConfirmed(alice), id, f.version(id), r)
	wantInvalid(t, err, "redirect_uris")
}
