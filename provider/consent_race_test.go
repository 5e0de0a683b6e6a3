package provider

import (
	"strings"
	"sync"
	"testing"
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
		both.Go(func() {
			_, err := f.Authorizations.Approve(t.Context(), a, s)
			if err != nil {
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
	}
}
