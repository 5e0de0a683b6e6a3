package provider

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"mandate/provider/authorize"
	"mandate/provider/clients"
	"mandate/provider/oauth"
	"mandate/provider/policy"
	"mandate/provider/seal"
	"mandate/storage"
)

// ask returns what the consent page must ask, and fails if no page must be shown.
func (f *fixture) ask(t *testing.T, app *clients.Registered, s *storage.SignedIn,
	pairs ...string) *authorize.Interaction {
	t.Helper()
	asked, err := f.Authorizations.RequiredInteraction(t.Context(), f.authorize(app, pairs...), s)
	if err != nil || asked == nil {
		t.Fatal("nobody is asked:", err)
	}
	return asked
}

// approve approves a request on the consent page.
func (f *fixture) approve(t *testing.T, app *clients.Registered, s *storage.SignedIn, pairs ...string) string {
	t.Helper()
	a, err := f.Authorizations.Resume(t.Context(), f.ask(t, app, s, pairs...).Ticket, s)
	if err != nil || a.Refused != nil {
		t.Fatal(err, a.Refused)
	}
	location, err := f.Authorizations.Approve(t.Context(), a, s)
	if err != nil {
		t.Fatal(err)
	}
	return location.Location()
}

func TestConsentIsRemembered(t *testing.T) {
	f := begin(t)
	alice, bob := f.login("alice"), f.login("bob")
	native := func(r *clients.Registration) { public(r); r.RedirectURIs = []string{"http://127.0.0.1/back"} }
	app, other, open, skips := f.app(), f.app(), f.app(native),
		f.app(func(r *clients.Registration) { r.SkipConsent = true })
	f.approve(t, app, alice, "scope", "read write")
	f.approve(t, open, alice, "scope", "read write", "redirect_uri", "-")
	asks := func(f *fixture, app *clients.Registered, s *storage.SignedIn, scope string) (bool, string) {
		asked, err := f.Authorizations.RequiredInteraction(t.Context(), f.authorize(app, "scope", scope, "redirect_uri", "-"),
			s)
		if err != nil {
			t.Fatal(err)
		}
		if asked == nil {
			return false, ""
		}
		return true, strings.Join(asked.Approved, " ")
	}
	for _, test := range []struct {
		rule  string
		app   *clients.Registered
		s     *storage.SignedIn
		scope string
		want  bool
		knows string
	}{
		{"what was agreed to is not asked again", app, alice, "read write", false, ""},
		{"nor a part of it", app, alice, "write", false, ""},
		{"more than that is", app, alice, "read groups", true, "read write"},
		{"another person is asked", app, bob, "read", true, ""},
		{"for another application the person is asked", other, alice, "read", true, ""},
		{"RFC8252/8.6 for a native application every time", open, alice, "read", true, "read write"},
		{"an administrator can let an application skip the consent page", skips, alice, "read", false, ""},
	} {
		t.Run(test.rule, func(t *testing.T) {
			got, knows := asks(f, test.app, test.s, test.scope)
			if got != test.want || knows != test.knows {
				t.Errorf("asks: %t, remembers %q", got, knows)
			}
		})
	}
	t.Run("answers add up", func(t *testing.T) {
		f.approve(t, app, alice, "scope", "groups")
		if got, _ := asks(f, app, alice, "groups read write"); got {
			t.Error("asked again")
		}
	})
	t.Run("what is revoked is asked again", func(t *testing.T) {
		err := f.People.Revoke(t.Context(), alice.User.ID, app.Application.ID)
		if err != nil {
			t.Fatal(err)
		}
		if got, knows := asks(f, app, alice, "read"); !got || knows != "" {
			t.Error(got, knows)
		}
	})
	t.Run("RFC8252/8.6 an application that became native is asked for again", func(t *testing.T) {
		f.approve(t, app, alice, "scope", "read")
		err := f.change(app, native)
		if err != nil {
			t.Fatal(err)
		}
		if got, _ := asks(f, app, alice, "read"); !got {
			t.Error("not asked")
		}
	})
	t.Run("denying is not remembered", func(t *testing.T) {
		a, err := f.Authorizations.Resume(t.Context(), f.ask(t, other, bob, "scope", "read").Ticket, bob)
		if err != nil {
			t.Fatal(err)
		}
		f.Authorizations.Deny(a)
		if got, _ := asks(f, other, bob, "read"); !got {
			t.Error("not asked")
		}
	})
	t.Run("the operator can have everybody asked always", func(t *testing.T) {
		f := begin(t, func(c *Config) { c.Authorize.ApprovalPrompt = "force" })
		s, app := f.login("alice"), f.app()
		f.approve(t, app, s, "scope", "read")
		if got, knows := asks(f, app, s, "read"); !got || knows != "read" {
			t.Error(got, knows)
		}
	})
}

func TestConsentTicket(t *testing.T) {
	f := begin(t)
	alice, elsewhere, bob := f.login("alice"), f.login("alice"), f.login("bob")
	app := f.app()
	ticket := f.ask(t, app, alice, "scope", "read", "state", "s & %").Ticket
	t.Run("it brings the request back as it was", func(t *testing.T) {
		a, err := f.Authorizations.Resume(t.Context(), ticket, alice)
		if err != nil || a.Refused != nil {
			t.Fatal(err)
		}
		location, err := f.Authorizations.Approve(t.Context(), a, alice)
		got := queryOf(t, location.Location())
		if err != nil || got.Get("state") != "s & %" {
			t.Error(location, err)
		}
		answer := f.must(f.exchange(app, got.Get("code")))
		if d := cmp.Diff("read", answer.Scope); d != "" {
			t.Error(d)
		}
	})
	refused := func(t *testing.T, ticket string, s *storage.SignedIn) {
		t.Helper()
		a, err := f.Authorizations.Resume(t.Context(), ticket, s)
		wantError(t, err, "400 invalid_request")
		if a != nil {
			t.Error("it resumes")
		}
	}
	t.Run("CVE-2022-39222 it is for the session that saw the page", func(t *testing.T) {
		refused(t, ticket, elsewhere)
		refused(t, ticket, bob)
	})
	t.Run("it cannot be altered", func(t *testing.T) {
		for i := range ticket {
			changed := []byte(ticket)
			changed[i] = map[bool]byte{true: 'B', false: 'A'}[changed[i] == 'A']
			if i == len(ticket)-1 {
				break // the last bits may be padding, which the decoder refuses
			}
			refused(t, string(changed), alice)
		}
		for _, text := range []string{"", "x", ticket[1:], ticket + "A", ticket + ticket} {
			refused(t, text, alice)
		}
	})
	t.Run("what is sealed for another purpose is no ticket", func(t *testing.T) {
		text, err := json.Marshal(map[string]any{"Session": alice.Session.ID, "At": oauth.Now(),
			"Parameters": f.query(app).Encode()})
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range []seal.Sealer{f.sealers.secrets, f.sealers.devices, f.sealers.flashes} {
			refused(t, s.Seal(text, "consent"), alice)
		}
		refused(t, f.sealers.tickets.Seal(text, "other"), alice)
		refused(t, f.sealers.tickets.Seal([]byte("{"), "consent"), alice)
		refused(t, f.sealers.tickets.Seal([]byte(`{"Session":"`+alice.Session.ID+`","At":99999999999,"Parameters":"%"}`),
			"consent"), alice)
	})
	t.Run("it ends after an hour", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			f := begin(t)
			s, app := f.login("alice"), f.app()
			ticket := f.ask(t, app, s).Ticket
			time.Sleep(authorize.TicketLife * time.Second)
			_, err := f.Authorizations.Resume(t.Context(), ticket, s)
			wantError(t, err, "no error")
			time.Sleep(time.Second)
			_, err = f.Authorizations.Resume(t.Context(), ticket, s)
			wantError(t, err, "400 invalid_request")
		})
	})
}

// CVE-2025-4143: the checks before the consent page are repeated after it.
func TestConsentMeanwhile(t *testing.T) {
	for _, test := range []struct {
		rule    string
		sent    []string
		change  func(*testing.T, *fixture, *clients.Registered) error
		err     string // shown on a page
		refused string // sent to the client
		scope   string
	}{
		{"nothing changes", nil, func(*testing.T, *fixture, *clients.Registered) error { return nil }, "no error", "no error",
			"read write groups"},
		{"the application is deleted", nil, func(t *testing.T, f *fixture, app *clients.Registered) error {
			return f.Clients.Delete(t.Context(), policy.Operator(), app.Application.ID)
		}, "400 invalid_client", "", ""},
		{"the redirect URI is taken away", nil, func(_ *testing.T, f *fixture, app *clients.Registered) error {
			return f.change(app, func(r *clients.Registration) { r.RedirectURIs = []string{elsewhere} })
		}, "400 invalid_request", "", ""},
		{"a redirect URI joins the one that was left out", []string{"redirect_uri", "-"},
			func(_ *testing.T, f *fixture, app *clients.Registered) error {
				return f.change(app, twoURIs)
			}, "400 invalid_request", "", ""},
		{"the redirect URI that was left out is another", []string{"redirect_uri", "-"},
			func(_ *testing.T, f *fixture, app *clients.Registered) error {
				return f.change(app, func(r *clients.Registration) { r.RedirectURIs = []string{elsewhere} })
			}, "400 invalid_request", "", ""},
		{"the grant type is taken away", nil, func(_ *testing.T, f *fixture, app *clients.Registered) error {
			return f.change(app, grants(policy.GrantClient))
		}, "no error", "400 unauthorized_client", ""},
		{"a scope is taken away", nil, func(_ *testing.T, f *fixture, app *clients.Registered) error {
			return f.change(app, func(r *clients.Registration) { r.Scopes = []string{"read", "groups"} })
		}, "400 invalid_request", "", ""},
		{"the exemption from PKCE is taken away", []string{"code_challenge", "-", "code_challenge_method", "-"},
			func(_ *testing.T, f *fixture, app *clients.Registered) error {
				return f.change(app)
			}, "no error", "400 invalid_request", ""},
	} {
		t.Run(test.rule, func(t *testing.T) {
			f := begin(t, func(c *Config) { c.PKCE = policy.PKCEForAll })
			app, s := f.app(exempt), f.login("alice")
			ticket := f.ask(t, app, s, test.sent...).Ticket
			err := test.change(t, f, app)
			if err != nil {
				t.Fatal(err)
			}
			a, err := f.Authorizations.Resume(t.Context(), ticket, s)
			wantError(t, err, test.err)
			if a == nil {
				return
			}
			var refused error
			if a.Refused != nil {
				refused = a.Refused
			}
			wantError(t, refused, test.refused)
			if d := cmp.Diff(test.scope, strings.Join(authorize.ScopeNames(a.Scopes), " ")); d != "" {
				t.Error(d)
			}
		})
	}
	t.Run("RFC6749/3.3 a default that grew is not granted: the person saw the smaller one", func(t *testing.T) {
		f := begin(t)
		app, s := f.app(func(r *clients.Registration) { r.Scopes = []string{"read"} }), f.login("alice")
		ticket := f.ask(t, app, s).Ticket
		err := f.change(app)
		if err != nil {
			t.Fatal(err)
		}
		a, err := f.Authorizations.Resume(t.Context(), ticket, s)
		if err != nil || a.Refused != nil {
			t.Fatal(err)
		}
		location, err := f.Authorizations.Approve(t.Context(), a, s)
		if err != nil {
			t.Fatal(err)
		}
		answer := f.must(f.exchange(app, queryOf(t, location.Location()).Get("code")))
		if d := cmp.Diff("read", answer.Scope); d != "" {
			t.Error(d)
		}
	})
	t.Run("RFC6749/4.1.3 whether the redirect URI was sent is remembered", func(t *testing.T) {
		// With a code challenge the redirect URI may be left out, so this client sends none.
		f := begin(t)
		app, s := f.app(), f.login("alice")
		plain, bare := []string{"code_challenge", "-", "code_challenge_method", "-"},
			[]string{"redirect_uri", "-", "code_verifier", "-"}
		_, err := f.exchange(app, queryOf(t, f.approve(t, app, s, append(plain, "redirect_uri", "-")...)).Get("code"),
			bare...)
		wantError(t, err, "no error")
		err = f.People.Revoke(t.Context(), s.User.ID, app.Application.ID)
		if err != nil {
			t.Fatal(err)
		}
		_, err = f.exchange(app, queryOf(t, f.approve(t, app, s, plain...)).Get("code"), bare...)
		wantError(t, err, "400 invalid_request")
	})
}

// OIDC Core §3.1.2.4: the person approves only what the page showed.
func TestConsentIsToWhatWasShown(t *testing.T) {
	f := begin(t, openID)
	s, owner := f.login("alice"), f.person("owner")
	claims := []string{"scope", "openid", "claims", `{"userinfo":{"email":null,"name":null,"unknown":null}}`}
	narrow := func(r *clients.Registration) { r.Scopes = []string{"openid", "email"} }
	for _, test := range []struct {
		rule   string
		change func(*clients.Registered) error
		want   string
	}{
		{"nothing changes", func(*clients.Registered) error { return nil }, "no error"},
		{"nothing that is shown", func(app *clients.Registered) error {
			return f.change(app, narrow, func(r *clients.Registration) { r.AccessTokenLifetime = 60 })
		}, "no error"},
		{"claims yields more", func(app *clients.Registered) error { return f.change(app) }, "400 invalid_request"},
		{"claims yields less", func(app *clients.Registered) error {
			return f.change(app, func(r *clients.Registration) { r.Scopes = []string{"openid"} })
		}, "400 invalid_request"},
		{"another name", func(app *clients.Registered) error {
			return f.change(app, narrow, func(r *clients.Registration) { r.Name = "Your Bank" })
		}, "400 invalid_request"},
		{"another owner", func(app *clients.Registered) error {
			f.sql("UPDATE applications SET owner_id = '" + owner.ID + "' WHERE id = '" + app.Application.ID + "'")
			return nil
		}, "400 invalid_request"},
		{"a scope has another description", func(*clients.Registered) error {
			i := slices.IndexFunc(f.Rules.Scopes, func(s policy.Scope) bool { return s.Name == "openid" })
			f.Rules.Scopes[i].Description += ", and more"
			return nil
		}, "400 invalid_request"},
	} {
		app := f.app(narrow)
		ticket := f.ask(t, app, s, claims...).Ticket
		err := test.change(app)
		if err != nil {
			t.Fatal(err)
		}
		a, err := f.Authorizations.Resume(t.Context(), ticket, s)
		if kind(err) != test.want || (a == nil) != (err != nil) || a != nil && a.Refused != nil {
			t.Errorf("%s: %v", test.rule, err)
		}
	}
}

// A consent counts the next time only if nobody else can receive the response: RFC 8252 §8.6.
func TestAttackConsentOfAnotherProgram(t *testing.T) {
	const web = "https://app.example/back"
	uris := map[string]bool{ // whether the host assures who receives the response
		web: true, "https://app.example:8443/back": true, "https://[2001:db8::1]/back": true,
		"http://127.0.0.1/back": false, "http://[::1]/back": false, "http://localhost:8080/back": false,
		"com.example.app:/back":  false,
		"https://127.0.0.1/back": false, "https://localhost/back": false, "https://[::1]/back": false,
	}
	f := begin(t, openID, func(c *Config) { c.Open.Clients = []string{clients.OpenRegistration} })
	s := f.login("alice")
	remembers := func(t *testing.T, app *clients.Registered, uri string) bool {
		t.Helper()
		query := []string{"scope", "openid read", "redirect_uri", uri}
		f.approve(t, app, s, query...)
		asked, err := f.Authorizations.RequiredInteraction(t.Context(), f.authorize(app, query...), s)
		if err != nil {
			t.Fatal(err)
		}
		_, err = f.Authorizations.RequiredInteraction(t.Context(), f.authorize(app, append(query, "prompt", "none")...), s)
		if silent := kind(err); asked == nil && silent != "no error" || asked != nil && silent != "400 consent_required" {
			t.Errorf("with prompt=none: %s", silent)
		}
		return asked == nil
	}
	for uri, assured := range uris {
		t.Run(uri, func(t *testing.T) {
			for _, of := range []struct {
				what, came string
				is         func(*clients.Registration)
				want       bool
			}{
				{"public, added by the operator", "", public, assured},
				{"public, registered with an administrator's token", "origin = 'registration'", public, assured},
				{"confidential, registered with an administrator's token", "origin = 'registration'",
					func(*clients.Registration) {}, assured},
				{"public, registered by itself", "origin = 'registration', responsible = 'nobody'", public, false},
				{"confidential, added by the operator", "", func(*clients.Registration) {}, true},
			} {
				app := f.app(of.is, func(r *clients.Registration) { r.RedirectURIs = []string{uri} })
				if of.came != "" {
					f.sql("UPDATE applications SET " + of.came + " WHERE id = '" + app.Application.ID + "'")
					f.forgetCopies()
				}
				if got := remembers(t, app, uri); got != of.want {
					t.Errorf("%s: remembered: %t", of.what, got)
				}
			}
		})
	}
	t.Run("a program beside the site", func(t *testing.T) {
		app := f.app(public, func(r *clients.Registration) { r.RedirectURIs = []string{web, "http://127.0.0.1/back"} })
		if !remembers(t, app, web) || remembers(t, app, "http://127.0.0.1:1024/back") {
			t.Error("the redirect URI of the request does not decide")
		}
	})
}

// An administrator lets a public application skip the consent page: RFC 8252 §8.6 allows it where only its host
// receives the response. Neither a later redirect URI elsewhere nor a stranger's registration gets by it.
func TestPublicApplicationSkipsConsent(t *testing.T) {
	const host, native = "https://app.example/back", "http://127.0.0.1/back"
	f := begin(t, openID, func(c *Config) { c.Open.Clients = []string{clients.OpenRegistration} })
	s := f.login("alice")
	spa := clients.Registration{Name: "Site", ClientType: policy.Public, GrantTypes: []string{policy.GrantCode},
		RedirectURIs: []string{host}, HashClientSecret: true, SkipConsent: true}
	asks := func(app *clients.Registered, uri string) string {
		t.Helper()
		got := ""
		for _, prompt := range []string{"-", "none", "consent"} {
			a := f.authorize(app, "scope", "openid read offline_access", "redirect_uri", uri, "prompt", prompt)
			asked, err := f.Authorizations.RequiredInteraction(t.Context(), a, s)
			lasts := slices.ContainsFunc(a.Scopes, func(of policy.Scope) bool { return of.Name == policy.OfflineAccess })
			switch {
			case err != nil:
				got += "e"
			case asked == nil:
				got += "n"
			default:
				got += "y"
			}
			// OIDC Core §11: the access outlives the login only if the person is asked.
			if lasts != (asked != nil || err != nil) {
				t.Errorf("prompt %s: asked: %t, offline_access: %t", prompt, asked != nil, lasts)
			}
		}
		return got
	}
	of := func(change func(*clients.Registration)) clients.Registration {
		r := spa
		change(&r)
		return r
	}
	wrong := map[string]clients.Registration{
		"a loopback address":     of(func(r *clients.Registration) { r.RedirectURIs = []string{native} }),
		"one of two":             of(func(r *clients.Registration) { r.RedirectURIs = []string{host, native} }),
		"a private-use scheme":   of(func(r *clients.Registration) { r.RedirectURIs = []string{"com.example.app:/back"} }),
		"https on this computer": of(func(r *clients.Registration) { r.RedirectURIs = []string{"https://localhost/back"} }),
		"no redirect URI, device": of(func(r *clients.Registration) {
			r.RedirectURIs, r.GrantTypes = nil,
				[]string{policy.GrantDevice}
		}),
	}
	for what, r := range wrong {
		_, err := f.Clients.Register(t.Context(), policy.Operator(), r)
		wantInvalid(t, err, "skip_consent")
		if len(r.RedirectURIs) > 0 && !strings.Contains(fmt.Sprint(err), r.RedirectURIs[len(r.RedirectURIs)-1]) {
			t.Errorf("%s: the reason does not name the redirect URI: %v", what, err)
		}
	}
	_, err := f.Clients.Register(t.Context(), policy.By(f.person("bob")), spa)
	wantInvalid(t, err, "skip_consent")
	app := f.app(func(r *clients.Registration) { *r = spa })
	if got := asks(app, host); got != "nny" {
		t.Errorf("an application of the operator, with prompt missing, none and consent: asked %s", got)
	}
	for what, r := range wrong {
		if r.RedirectURIs != nil &&
			f.change(app, func(was *clients.Registration) { was.RedirectURIs, was.SkipConsent = r.RedirectURIs, true }) == nil {
			t.Errorf("%s was added, and nobody is asked", what)
		}
	}
	if got := asks(app, host); got != "nny" {
		t.Errorf("after what was refused: asked %s", got)
	}
	err = f.change(app, func(r *clients.Registration) { r.RedirectURIs, r.SkipConsent = []string{host, native}, false })
	if err != nil {
		t.Fatal(err)
	}
	// Whatever the database says.
	for what, values := range map[string]string{"a redirect URI elsewhere": "skip_consent = TRUE",
		"by itself": "skip_consent = TRUE, redirect_uris = '" + host + "', origin = 'registration'",
		"nobody's":  "skip_consent = TRUE, redirect_uris = '" + host + "', origin = 'registration', responsible = 'nobody'"} {
		f.sql("UPDATE applications SET " + values)
		f.forgetCopies()
		if got := asks(app, host); got != "yey" {
			t.Errorf("%s: asked %s", what, got)
		}
	}
}

// OIDC Core §3.1.2.1: a request of OpenID Connect has redirect_uri. A request of OAuth may leave it out.
func TestOpenIDNeedsRedirectURI(t *testing.T) {
	f := begin(t, openID)
	app := f.app()
	_, err := f.Authorizations.Authorize(t.Context(), f.query(app, "scope", "read openid", "redirect_uri", "-"))
	wantError(t, err, "400 invalid_request")
	a, err := f.Authorizations.Authorize(t.Context(), f.query(app, "scope", "read", "redirect_uri", "-"))
	if err != nil || a.Refused != nil || a.RedirectURI != callback {
		t.Errorf("without openid: %+v, %v", a, err)
	}
}
