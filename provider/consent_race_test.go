package provider

import (
	"strings"
	"sync"
	"testing"

	"mandate/provider/clients"
	"mandate/provider/redirect"
)

// Class: lost update, CWE-362. An approval that began before the person revoked the consent must not store the revoked
// scopes again.
func TestAttackRevokedConsentComesBack(t *testing.T) {
	f := withResources(t)
	s := f.login("alice")
	for range 50 {
		app := f.app()
		f.approve(t, app, s, "scope", "read write", "resource", files)
		a, err := f.Authorizations.Resume(t.Context(), f.ask(t, app, s, "scope", "groups").Ticket, s)
		if err != nil {
			t.Fatal(err)
		}
		var both sync.WaitGroup
		var response redirect.Response
		both.Go(func() {
			var err error
			response, err = f.Authorizations.Approve(t.Context(), a, s)
			if err != nil && kind(err) != "400 access_denied" { // the new consent was revoked too
				t.Error(err)
			}
		})
		both.Go(func() {
			err := f.People.Revoke(t.Context(), s.User.ID, app.Application.ID)
			if err != nil {
				t.Error(err)
			}
		})
		both.Wait()
		before := f.ask(t, app, s, "scope", "email")
		if was := strings.Join(before.Approved, " "); was != "" && was != "groups" {
			t.Fatalf("after the revocation, the consent has %q", was)
		}
		if got := f.silently(app, s, "scope", "read", "resource", files); got != mustAsk {
			t.Fatal(got)
		}
		if code := queryOf(t, response.Location()).Get("code"); len(before.Approved) == 0 && code != "" {
			_, err := f.exchange(app, code)
			wantError(t, err, "400 invalid_grant")
		}
	}
}

// Class: check, then use, CWE-367. The person revokes a wide consent, on which a request relies, and approves less
// before its code is stored. What somebody approves beside it takes nothing away, and the request gets its code.
func TestAttackCodeByAConsentThatHasChanged(t *testing.T) {
	for name, test := range map[string]struct {
		revoked bool
		then    string
		want    string // the scope of the token, or the error
	}{
		"revoked, and less approved":      {true, "read", "400 access_denied"},
		"revoked, and the same approved":  {true, "read write", "read write"},
		"revoked, and as much elsewhere":  {true, "read groups", "400 access_denied"},
		"more approved at the same time":  {false, "groups", "read write"},
		"less approved at the same time":  {false, "read", "read write"},
		"revoked with all of its holding": {true, "", "400 access_denied"},
	} {
		t.Run(name, func(t *testing.T) {
			f := begin(t)
			app, s := f.app(), f.login("alice")
			f.approve(t, app, s, "scope", "read write")
			a := f.authorize(app, "scope", "read write")
			asked, err := f.Authorizations.RequiredInteraction(t.Context(), a, s)
			if err != nil || asked != nil {
				t.Fatal(err, asked)
			}
			if test.revoked {
				err = f.People.Revoke(t.Context(), s.User.ID, app.Application.ID)
			}
			if err == nil && test.then != "" {
				_, err = f.Authorizations.Approve(t.Context(), f.authorize(app, "scope", test.then), s)
			}
			if err != nil {
				t.Fatal(err)
			}
			response, err := f.Authorizations.Complete(t.Context(), a, s)
			got := kind(err)
			if err == nil {
				answer, err := f.exchange(app, queryOf(t, response.Location()).Get("code"))
				if err != nil {
					t.Fatal(err)
				}
				got = answer.Scope
			}
			if got != test.want {
				t.Errorf("%s, want %s", got, test.want)
			}
		})
	}
}

// Class: check, then use, CWE-367. A request relies on a consent; what is revoked before its code is stored gives none.
func TestAttackCodeOfARevokedConsent(t *testing.T) {
	for name, skips := range map[string]bool{"asked": false, "without a consent page": true} {
		t.Run(name, func(t *testing.T) {
			f := begin(t)
			app, s := f.app(func(r *clients.Registration) { r.SkipConsent = skips }), f.login("alice")
			a := f.authorize(app, "scope", "read")
			_, err := f.Authorizations.Approve(t.Context(), a, s)
			if err != nil {
				t.Fatal(err)
			}
			a = f.authorize(app, "scope", "read")
			asked, err := f.Authorizations.RequiredInteraction(t.Context(), a, s)
			if err == nil && asked == nil {
				err = f.People.Revoke(t.Context(), s.User.ID, app.Application.ID)
			}
			if err != nil || asked != nil {
				t.Fatal(err, asked)
			}
			response, err := f.Authorizations.Complete(t.Context(), a, s)
			if skips {
				wantError(t, err, "no error")
				return
			}
			wantError(t, err, "400 access_denied")
			if response.Location() != "" {
				t.Error(response.Location())
			}
			rows, err := f.People.Authorized(t.Context(), s.User.ID)
			if err != nil || len(rows) != 0 || f.count("grants") != 0 {
				t.Errorf("the revoked application has access: %v, %d grants, %v", rows, f.count("grants"), err)
			}
		})
	}
}
