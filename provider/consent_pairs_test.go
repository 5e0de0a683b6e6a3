package provider

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mandate/provider/clients"
	"mandate/provider/policy"
	"mandate/provider/resources"
	"mandate/storage"
)

// silently returns the kind of the error of a request with prompt=none.
func (f *fixture) silently(app *clients.Registered, s *storage.SignedIn, pairs ...string) string {
	request := f.authorize(app, append(pairs, "prompt", "none")...)
	_, err := f.Authorizations.RequiredInteraction(f.t.Context(), request, s)
	return kind(err)
}

const (
	completes = "no error"
	mustAsk   = "400 consent_required"
)

// A scope means something at one resource (RFC 8707 §2). Class: permissions that are checked by their parts, as in
// confused-deputy advisories of servers that store the scopes and the audiences of a consent apart.
func TestAttackTwoConsentsMakeAThird(t *testing.T) {
	f := withResources(t)
	s := f.login("alice")
	for name, app := range map[string]*clients.Registered{"confidential": f.app(), "public": f.app(public)} {
		t.Run(name, func(t *testing.T) {
			f.approve(t, app, s, "scope", "read", "resource", files)
			f.approve(t, app, s, "scope", "openid write", "resource", mailbox)
			for _, test := range []struct {
				request []string
				want    string
			}{
				{[]string{"scope", "read", "resource", files}, completes},
				{[]string{"scope", "openid write", "resource", mailbox}, completes},
				{[]string{"scope", "openid read", "resource", files}, completes}, // openid is about the person
				{[]string{"scope", "openid"}, completes},
				{[]string{"scope", "openid", "resource", files}, completes},
				{[]string{"scope", "write", "resource", files}, mustAsk},
				{[]string{"scope", "read", "resource", mailbox}, mustAsk},
				{[]string{"scope", "read", "resource", files, "resource", mailbox}, mustAsk},
				{[]string{"scope", "read write", "resource", files, "resource", mailbox}, mustAsk},
				{[]string{"scope", "read"}, mustAsk}, // at the server itself
				{[]string{"scope", "write", "resource", server}, mustAsk},
				{[]string{"scope", "read", "resource", files, "resource", server}, mustAsk},
				{[]string{"scope", "openid", "resource", signedAPI}, mustAsk}, // an API that was never shown
				{[]string{"scope", "openid profile", "resource", files}, mustAsk},
			} {
				if got := f.silently(app, s, test.request...); got != test.want {
					t.Errorf("%q: %s, want %s", test.request, got, test.want)
				}
			}
		})
	}
	t.Run("the server itself is a resource like the others", func(t *testing.T) {
		app := f.app()
		f.approve(t, app, s, "scope", "read")
		f.approve(t, app, s, "scope", "groups", "resource", mailbox)
		for request, want := range map[string]string{"read": completes, "groups": mustAsk, "read groups": mustAsk} {
			if got := f.silently(app, s, "scope", request); got != want {
				t.Errorf("%s at the server: %s, want %s", request, got, want)
			}
		}
		f.approve(t, app, s, "scope", "groups", "resource", server, "resource", mailbox)
		if got := f.silently(app, s, "scope", "read groups"); got != completes {
			t.Errorf("both at the server: %s", got)
		}
		if got := f.silently(app, s, "scope", "read", "resource", mailbox); got != mustAsk {
			t.Errorf("read at %s: %s", mailbox, got)
		}
	})
}

// What the person approved for two resources counts for each, with the scopes that it has.
func TestConsentForResourcesWithDifferentScopes(t *testing.T) {
	f := withResources(t)
	app, s := f.app(), f.login("alice")
	f.approve(t, app, s, "scope", "read write", "resource", files, "resource", signedAPI)
	for _, test := range []struct {
		request []string
		want    string
	}{
		{[]string{"scope", "read write", "resource", files, "resource", signedAPI}, completes},
		{[]string{"scope", "read write", "resource", files}, completes},
		{[]string{"scope", "read", "resource", signedAPI}, completes},
		{[]string{"scope", "read", "resource", mailbox}, mustAsk},
	} {
		if got := f.silently(app, s, test.request...); got != test.want {
			t.Errorf("%q: %s, want %s", test.request, got, test.want)
		}
	}
	t.Run("a scope that a resource gets later is not approved for it", func(t *testing.T) {
		was, err := f.Resources.Resource(t.Context(), policy.Operator(), signedAPI)
		if err == nil {
			err = f.Resources.Change(t.Context(), policy.Operator(), was,
				resources.Registration{Name: "API", Scopes: []string{"read", "write"}, TokenFormat: "jwt"})
		}
		if err != nil {
			t.Fatal(err)
		}
		f.forgetCopies()
		if got := f.silently(app, s, "scope", "write", "resource", signedAPI); got != mustAsk {
			t.Error(got)
		}
	})
}

// OIDC Core §5.5: claims by name are about the person. UserInfo and ID tokens have them, whatever the resource is.
func TestAttackClaimsOfAnotherConsent(t *testing.T) {
	f := withResources(t)
	app, s := f.app(), f.login("alice")
	email := []string{"scope", "openid read", "resource", files, "claims", `{"userinfo":{"email":null}}`}
	f.approve(t, app, s, "scope", "openid read", "resource", files)
	if got := f.silently(app, s, email...); got != mustAsk {
		t.Errorf("before: %s", got)
	}
	f.approve(t, app, s, email...)
	if got := f.silently(app, s, email...); got != completes {
		t.Errorf("after: %s", got)
	}
}

// The consent page marks what was not approved there before.
func TestConsentPageMarksWhatIsNewAtAResource(t *testing.T) {
	f := withResources(t)
	app, s := f.app(), f.login("alice")
	if f.ask(t, app, s, "scope", "read").Before {
		t.Error("something was approved before anything was")
	}
	f.approve(t, app, s, "scope", "read", "resource", files)
	f.approve(t, app, s, "scope", "write", "resource", mailbox)
	for _, test := range []struct {
		request      []string
		scopes, uris string
	}{
		{[]string{"scope", "read write", "resource", files}, "read", files},
		{[]string{"scope", "read", "resource", signedAPI}, "read write", ""},
		{[]string{"scope", "read"}, "write", ""},
	} {
		asked := f.ask(t, app, s, test.request...)
		got := []string{strings.Join(asked.Approved, " "), strings.Join(asked.ApprovedFor, " ")}
		if d := cmp.Diff([]string{test.scopes, test.uris}, got); d != "" || !asked.Before {
			t.Errorf("%q: %s", test.request, d)
		}
	}
}

// A consent that an older release stored, or changed, counts where there is no doubt what was approved.
func TestConsentOfAnOlderRelease(t *testing.T) {
	f := withResources(t)
	s := f.login("alice")
	stored := func(uri string) string {
		r, err := f.Resources.Resource(t.Context(), policy.Operator(), uri)
		if err != nil {
			t.Fatal(err)
		}
		return uri + "#" + r.Generation
	}
	atFiles, atMail := stored(files), stored(mailbox)
	for _, test := range []struct {
		name, scope, resource string
		want                  map[string]string // what a request gets: "scope" or "scope@resource"
	}{
		{"for the server", "openid read write", "",
			map[string]string{"openid read": completes, "write": mustAsk, "read@" + files: mustAsk}},
		{"for the server, without a login", "read write", "",
			map[string]string{"read write": completes, "openid": mustAsk, "read@" + files: mustAsk}},
		{"for the server, for longer than the login", "openid offline_access read", "",
			map[string]string{"openid offline_access read": completes, "openid read": completes, "read": completes}},
		{"one scope at one resource", "read", atFiles,
			map[string]string{"read@" + files: completes, "read": mustAsk, "write@" + files: mustAsk}},
		// It may be "read" for the server and "write" for files.
		{"two scopes", "read write", atFiles,
			map[string]string{"read@" + files: mustAsk, "write@" + files: mustAsk, "read": mustAsk}},
		{"two resources", "read", atFiles + "\n" + atMail,
			map[string]string{"read@" + files: mustAsk, "read@" + mailbox: mustAsk}},
		{"an older release added to it", "read write", ` \read` + "\n" + atFiles + ` \read` + "\n" + atMail,
			map[string]string{"read": completes, "read@" + files: completes,
				"write@" + files: mustAsk, "write": mustAsk, "write@" + mailbox: mustAsk}},
	} {
		t.Run(test.name, func(t *testing.T) {
			app := f.app()
			f.approve(t, app, s, "scope", "email")
			f.sql(`UPDATE consents SET scope = '` + test.scope + `', resource = '` + test.resource +
				`' WHERE application_id = '` + app.Application.ID + `'`)
			request := func(text string) []string {
				scope, uri, at := strings.Cut(text, "@")
				if at {
					return []string{"scope", scope, "resource", uri}
				}
				return []string{"scope", scope}
			}
			for text, want := range test.want {
				if got := f.silently(app, s, request(text)...); got != want {
					t.Errorf("%s: %s, want %s", text, got, want)
				}
			}
			for text, want := range test.want {
				if want == mustAsk && f.silently(app, s, request(text)...) == mustAsk {
					f.approve(t, app, s, request(text)...)
				}
			}
			for text := range test.want {
				if got := f.silently(app, s, request(text)...); got != completes {
					t.Errorf("%s after the person was asked: %s", text, got)
				}
			}
		})
	}
}

// RFC 10027 §4.1.1: what a person approves for a device is no consent, at any resource.
func TestConsentIsNotThatOfADevice(t *testing.T) {
	f := withResources(t)
	app, s := f.app(grants(policy.GrantCode, policy.GrantDevice)), f.login("alice")
	f.approve(t, app, s, "scope", "read", "resource", files)
	f.allow(f.asks(app, "scope", "write", "resource", files), s)
	listed, err := f.People.Authorized(t.Context(), s.User.ID)
	if err != nil || len(listed) != 1 {
		t.Fatal(listed, err)
	}
	if d := cmp.Diff([]string{"read", "write"}, listed[0].Scopes); d != "" {
		t.Error(d)
	}
	if len(listed[0].Resources) != 1 || !strings.HasPrefix(listed[0].Resources[0], files+"#") {
		t.Errorf("the account page shows %q", listed[0].Resources)
	}
	if got := f.silently(app, s, "scope", "write", "resource", files); got != mustAsk {
		t.Error(got)
	}
}

// offline_access says how long the access to an API lasts. Approved for reading at one, it must not come with writing
// at another one, which the person has approved for as long as the session alone. A variant of
// TestAttackTwoConsentsMakeAThird (CWE-863).
func TestAttackOfflineAccessOfAnotherConsent(t *testing.T) {
	f := withResources(t)
	s, app := f.login("alice"), f.app()
	f.approve(t, app, s, "scope", "openid read offline_access", "resource", files)
	f.approve(t, app, s, "scope", "openid write", "resource", mailbox)
	if got := f.silently(app, s, "scope", "openid write offline_access", "resource", mailbox); got != mustAsk {
		t.Errorf("writing at the mailbox without the person: %s, want %s", got, mustAsk)
	}
}

// The person has approved access that ends with the session (OIDC Core §11). The application leaves openid out, which
// would give it the same access for longer, without a page.
func TestAttackAccessOutlivesWhatWasApproved(t *testing.T) {
	f := withResources(t)
	s, app := f.login("alice"), f.app()
	f.approve(t, app, s, "scope", "openid write", "resource", mailbox)
	bound := f.tokens(app, s, "scope", "openid write", "resource", mailbox)
	a := f.authorize(app, "scope", "write", "resource", mailbox)
	asked, err := f.Authorizations.RequiredInteraction(t.Context(), a, s)
	if err != nil || asked != nil {
		return // the person is asked
	}
	response, err := f.Authorizations.Complete(t.Context(), a, s)
	if err != nil {
		t.Fatal(err)
	}
	loose, err := f.exchange(app, queryOf(t, response.Location()).Get("code"))
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.People.EndSessions(t.Context(), s.User.ID)
	if err != nil {
		t.Fatal(err)
	}
	f.wantActive(false, bound.AccessToken)
	_, err = f.refresh(app, loose.RefreshToken)
	if err == nil {
		t.Error("after the person has signed out everywhere, the refresh token works")
	}
}
