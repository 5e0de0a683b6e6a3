package provider

import (
	"strings"
	"testing"

	"mandate/provider/clients"
	"mandate/provider/policy"
	"mandate/provider/resources"
)

// The scopes of one API are no key to another. Class: confused deputy at a second audience, as in
// CVE-2026-67332 (scopes that are not checked against the resource).
func TestAttackScopeOfAnotherResource(t *testing.T) {
	f := begin(t, openID)
	f.resource(files, scoped("read", "write"))
	f.resource(mailbox, scoped("read", "groups"))
	s := f.login("alice")
	both := []string{"resource", files, "resource", mailbox}
	apps := map[string]*clients.Registered{
		"opaque": f.app(), "signed": f.app(func(r *clients.Registration) { r.AccessTokenFormat = policy.FormatJWT })}
	for format, app := range apps {
		t.Run(format, func(t *testing.T) {
			for _, scope := range []string{"groups", "write", "read groups", "write groups"} {
				_, err := f.token(app, append(both, "grant_type", policy.GrantClient, "scope", scope)...)
				wantError(t, err, "400 invalid_scope")
				_, err = f.token(app, append(
					both, "grant_type", policy.GrantPassword, "username", "alice", "password", goodPassword, "scope", scope,
				)...)
				wantError(t, err, "400 invalid_scope")
				// The person approves both. Each token is for one of them, or for what both have.
				_, err = f.exchange(app, f.code(app, s, append(both, "scope", scope)...))
				wantError(t, err, "400 invalid_scope")
				if err == nil || !strings.Contains(err.Error(), "one token for each resource") {
					t.Errorf("the error does not say what to do: %v", err)
				}
			}
			first := f.must(f.exchange(app, f.code(app, s, append(both, "scope", "read write groups")...), "resource", files))
			if first.Scope != "read write" {
				t.Errorf("the token for %s has the scope %q", files, first.Scope)
			}
			_, err := f.refresh(app, first.RefreshToken)
			wantError(t, err, "400 invalid_scope")
			shared := f.must(f.refresh(app, first.RefreshToken, "scope", "read"))
			if got := f.aud(shared.AccessToken) + " " + shared.Scope; got != files+" "+mailbox+" read" {
				t.Error(got)
			}
		})
	}
	t.Run("default scopes", func(t *testing.T) {
		if got := f.must(f.token(apps["opaque"], append(both, "grant_type", policy.GrantClient)...)).Scope; got != "read" {
			t.Errorf("got %q", got)
		}
	})
}

// An API learns about its own scopes alone, also from a token that has more: one that an older
// release issued, or one from before a resource lost a scope.
func TestAttackIntrospectionShowsForeignScopes(t *testing.T) {
	f := begin(t, openID)
	ofFiles, ofMail, ofBoth := f.app(), f.app(), f.app()
	f.resource(files, scoped("read", "write"), known(ofFiles, ofBoth))
	f.resource(mailbox, scoped("read", "groups"), known(ofMail, ofBoth))
	app := f.app()
	token := f.must(f.token(
		app, "grant_type", policy.GrantClient, "resource", files, "resource", mailbox, "scope", "read",
	)).AccessToken
	f.sql(`UPDATE tokens SET scope = 'read write groups'`)
	f.forgetCopies()
	for caller, want := range map[*clients.Registered]string{
		ofFiles: "read write",
		ofMail:  "read groups",
		ofBoth:  "read write groups",
	} {
		if got := f.shown(caller, token); got.Scope != want {
			t.Errorf("got %q, want %q", got.Scope, want)
		}
	}
	f.sql(`UPDATE tokens SET scope = 'write'`)
	f.forgetCopies()
	if got := f.shown(ofMail, token); got.Active {
		t.Errorf("a token without a scope of the resource is active: %+v", got)
	}
}

// A deleted resource ends all that was issued for it, also if another one gets its URI: its API may
// be another one. Class: a name that is given anew while old grants still name it, as a domain that expires.
func TestAttackResourceIsAddedAnew(t *testing.T) {
	f := begin(t, openID)
	of, s := f.app(), f.login("alice")
	add := func() { f.resource(files, scoped("read"), known(of)) }
	add()
	opaque, signed := f.app(), f.app(func(r *clients.Registration) { r.AccessTokenFormat = policy.FormatJWT })
	code := f.code(opaque, s, "resource", files, "scope", "read")
	one, two := f.tokens(
		opaque, s, "resource", files, "scope", "read",
	), f.tokens(signed, s, "resource", files, "scope", "read")
	both := f.tokens(opaque, s, "resource", files, "resource", server, "scope", "read")
	f.approve(t, opaque, s, "scope", "read", "resource", files)
	err := f.Resources.Delete(t.Context(), policy.Operator(), files)
	if err != nil {
		t.Fatal(err)
	}
	add()
	f.sql(`UPDATE resources SET created_at = created_at + 5`) // the tokens are of the same second
	f.forgetCopies()
	for name, token := range map[string]string{
		"an opaque token": one.AccessToken,
		"a signed token":  two.AccessToken,
		"a token for two": both.AccessToken,
	} {
		if got := f.shown(of, token); got.Active {
			t.Errorf("%s of the deleted resource is active: %+v", name, got)
		}
	}
	for name, refused := range map[string]func() error{
		"a refresh token":                  func() error { _, err := f.refresh(opaque, one.RefreshToken); return err },
		"a refresh token of signed tokens": func() error { _, err := f.refresh(signed, two.RefreshToken); return err },
		"a code":                           func() error { _, err := f.exchange(opaque, code); return err },
		"a refresh token for two": func() error {
			_, err := f.refresh(
				opaque, both.RefreshToken, "resource", files,
			)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) { wantError(t, refused(), "400 invalid_target") })
	}
	asked := f.ask(t, opaque, s, "scope", "read", "resource", files)
	if len(asked.ApprovedFor) > 0 {
		t.Errorf("the page says that %q was approved before", asked.ApprovedFor)
	}
	next := f.tokens(opaque, s, "resource", files, "scope", "read")
	if !f.shown(of, next.AccessToken).Active || f.shown(of, next.AccessToken).Audience != any(files) {
		t.Error("a new token is inactive, or has another aud")
	}
}

// What was issued before resources had a generation stays valid.
func TestResourceOfAnOlderRelease(t *testing.T) {
	f := begin(t, openID)
	of, app, s := f.app(), f.app(), f.login("alice")
	f.resource(files, scoped("read"), known(of))
	f.sql(`UPDATE resources SET generation = ''`)
	f.forgetCopies()
	pair := f.tokens(app, s, "resource", files, "scope", "read")
	var stored string
	err := f.backDoor().QueryRow(`SELECT resource FROM tokens WHERE refresh`).Scan(&stored)
	if err != nil || stored != files {
		t.Errorf("the refresh token is for %q, %v", stored, err)
	}
	if !f.shown(of, pair.AccessToken).Active {
		t.Error("inactive")
	}
	was, err := f.Resources.Resource(t.Context(), policy.Operator(), files)
	if err != nil {
		t.Fatal(err)
	}
	err = f.Resources.Change(t.Context(), policy.Operator(), was, resources.Registration{
		Name:          "Files",
		Scopes:        []string{"read", "write"},
		Introspectors: []string{of.Application.ClientID},
	})
	if err != nil {
		t.Fatal(err)
	}
	if !f.shown(of, pair.AccessToken).Active {
		t.Error("inactive after a change of the resource")
	}
}
