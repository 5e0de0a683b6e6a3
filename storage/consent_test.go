package storage

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestConsentIsRememberedAndReplaced(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		alice, a := w.person(t, "alice"), w.application(t, "App")
		_, err := w.Consent(t.Context(), alice.ID, a.ID)
		is(t, "Consent before", err, ErrNotFound)
		w.keepConsent(t, Consent{alice.ID, a.ID, "read", "", at, 0})
		const pairs = " read\nhttps://a.example/#1 write\nhttps://b.example/ " // a space at the end counts
		w.keepConsent(t, Consent{alice.ID, a.ID, "read write", pairs, later, 0})
		got, err := w.Consent(t.Context(), alice.ID, a.ID)
		must(t, err)
		if diff := cmp.Diff(Consent{alice.ID, a.ID, "read write", pairs, at, 0}, got); diff != "" {
			t.Error(diff)
		}
		_, err = w.Consent(t.Context(), a.ID, alice.ID)
		is(t, "Consent with the person and the application exchanged", err, ErrNotFound)
	})
}

// added adds the scopes that are approved now to what was approved before.
func added(before, now Consent) Consent {
	now.Scope = strings.TrimSpace(before.Scope + " " + now.Scope)
	return now
}

func TestConsentIsAddedToWhatIsStored(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		alice, a := w.person(t, "alice"), w.application(t, "App")
		n := w.session(t, alice.ID)
		keeps := func(scope string, generation int64, want Consent) {
			t.Helper()
			err := w.KeepConsent(t.Context(), Consent{alice.ID, a.ID, scope, "of " + scope, later, generation}, n.ID,
				func(before, now Consent) Consent {
					if diff := cmp.Diff(want, before); diff != "" {
						t.Error(scope, diff)
					}
					return added(before, now)
				})
			must(t, err)
		}
		w.keepConsent(t, Consent{alice.ID, a.ID, "read", "of read", at, 0})
		keeps("write", 0, Consent{alice.ID, a.ID, "read", "of read", at, 0})
		keeps("groups", 0, Consent{alice.ID, a.ID, "read write", "of write", at, 0})
		keeps("email", 1, Consent{}) // everything that the application held was revoked
		keeps("address", 1, Consent{alice.ID, a.ID, "email", "of email", at, 1})
		must(t, w.RevokeConsent(t.Context(), alice.ID, a.ID))
		keeps("phone", 0, Consent{UserID: alice.ID, ApplicationID: a.ID, CreatedAt: later})
		got, err := w.Consent(t.Context(), alice.ID, a.ID)
		must(t, err)
		if diff := cmp.Diff(Consent{alice.ID, a.ID, "phone", "of phone", later, 0}, got); diff != "" {
			t.Error(diff)
		}
	})
}

// Class: lost update, CWE-362. What was revoked is not stored again, and of two approvals at once both count.
func TestAttackConsentIsRevokedWhileAnotherIsAdded(t *testing.T) {
	eachIsolation(t, func(t *testing.T, w world) {
		alice, a, stores := w.person(t, "alice"), w.application(t, "App"), w.pair(t)
		n := w.session(t, alice.ID)
		for range 30 {
			w.keepConsent(t, Consent{alice.ID, a.ID, "old", "", at, 0})
			for _, err := range race(3, func(i int) error {
				if i == 0 {
					return stores[0].RevokeConsent(t.Context(), alice.ID, a.ID)
				}
				return stores[i-1].KeepConsent(t.Context(), Consent{alice.ID, a.ID, fmt.Sprint(i), "", later, 0}, n.ID, added)
			}) {
				must(t, err)
			}
			got, err := w.Consent(t.Context(), alice.ID, a.ID)
			if err != nil {
				is(t, "the consent", err, ErrNotFound)
			}
			if strings.Contains(got.Scope, "old") {
				t.Fatalf("after the revocation, the consent has %q", got.Scope)
			}
			for _, err := range race(2, func(i int) error {
				return stores[i].KeepConsent(t.Context(), Consent{alice.ID, a.ID, fmt.Sprint("both", i), "", later, 0}, n.ID, added)
			}) {
				must(t, err)
			}
			got, err = w.Consent(t.Context(), alice.ID, a.ID)
			must(t, err)
			if !strings.Contains(got.Scope, "both0") || !strings.Contains(got.Scope, "both1") {
				t.Fatalf("of two consents, %q is left", got.Scope)
			}
			must(t, w.RevokeConsent(t.Context(), alice.ID, a.ID))
		}
	})
}

// consented returns a grant that relies on the consent of its person for reading.
func consented(g Grant) Grant {
	g.Consent = &Consent{Scope: "read"}
	return g
}

// A code that relies on a consent is stored before the revocation, which deletes it, or not at all.
func TestAttackGrantInARaceWithTheRevocationOfItsConsent(t *testing.T) {
	eachIsolation(t, func(t *testing.T, w world) {
		alice, a, stores := w.person(t, "alice"), w.application(t, "App"), w.pair(t)
		n := w.session(t, alice.ID)
		for range 20 {
			w.keepConsent(t, Consent{alice.ID, a.ID, "read", "", at, 0})
			for i, err := range race(6, func(i int) error {
				if i == 3 {
					return stores[0].RevokeConsent(t.Context(), alice.ID, a.ID)
				}
				return stores[i%2].AddGrant(t.Context(), consented(inSession(newGrant(alice.ID, a.ID), n)), "", "")
			}) {
				if err != nil && (i == 3 || !errors.Is(err, ErrRevoked)) {
					t.Errorf("%d: %v", i, err)
				}
			}
			if got := rowsOf(t, w.Store, alice.ID)["grants"]; got != 0 {
				t.Fatalf("%d grants outlive the revocation", got)
			}
		}
		w.keepConsent(t, Consent{w.person(t, "bob").ID, a.ID, "read", "", at, 0})
		w.keepConsent(t, Consent{alice.ID, w.application(t, "Other").ID, "read", "", at, 0})
		g := inSession(newGrant(alice.ID, a.ID), n)
		must(t, w.AddGrant(t.Context(), g, "", "")) // it relies on none
		g = consented(inSession(newGrant(alice.ID, a.ID), n))
		is(t, "with consents of others", w.AddGrant(t.Context(), g, "", ""), ErrRevoked)
		w.keepConsent(t, Consent{alice.ID, a.ID, "read", "", at, 0})
		must(t, w.AddGrant(t.Context(), g, "", ""))
	})
}

// Class: check, then use, CWE-367. A grant relies on what its consent allowed when it was checked: by another consent,
// such as a narrower one after a revocation, it is not stored.
func TestAttackGrantByAConsentThatHasChanged(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		alice, a := w.person(t, "alice"), w.application(t, "App")
		n := w.session(t, alice.ID)
		wide := Consent{alice.ID, a.ID, "read write", "urn:a read write", at, 0}
		add := func(g Grant, generation int64) error {
			g = inSession(g, n)
			g.Consent, g.Generation = &wide, generation
			return w.AddGrant(t.Context(), g, "", "")
		}
		for what, stored := range map[string]Consent{
			"fewer scopes":       {alice.ID, a.ID, "read", wide.Resource, at, 0},
			"less at a resource": {alice.ID, a.ID, wide.Scope, "urn:a read", at, 0},
		} {
			w.keepConsent(t, stored)
			is(t, what, add(newGrant(alice.ID, a.ID), 0), ErrRevoked)
		}
		w.keepConsent(t, Consent{alice.ID, a.ID, wide.Scope, wide.Resource, at, 1})
		is(t, "what the application held then", add(newGrant(alice.ID, a.ID), 0), ErrRevoked)
		must(t, add(newGrant(alice.ID, a.ID), 1))
		w.keepConsent(t, wide)
		must(t, add(newGrant(alice.ID, a.ID), 0))
		if n := counts(t, w.Store)["grants"]; n != 2 {
			t.Errorf("%d grants", n)
		}
	})
}

func TestConsentOfOneWhoIsGoneIsNotKept(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		alice, a := w.person(t, "alice"), w.application(t, "App")
		n, others := w.session(t, alice.ID), w.session(t, w.person(t, "bob").ID)
		is(t, "no such application", w.KeepConsent(t.Context(), Consent{alice.ID, "nothing", "read", "", at, 0}, n.ID,
			replace), ErrNotFound)
		is(t, "no such person", w.KeepConsent(t.Context(), Consent{"nobody", a.ID, "read", "", at, 0}, n.ID, replace),
			ErrSpent)
		is(t, "another person's session", w.KeepConsent(t.Context(), Consent{alice.ID, a.ID, "read", "", at, 0}, others.ID,
			replace), ErrSpent)
		must(t, w.EndSession(t.Context(), alice.ID, n.ID, at, false))
		is(t, "a session that has ended", w.KeepConsent(t.Context(), Consent{alice.ID, a.ID, "read", "", at, 0}, n.ID,
			replace), ErrSpent)
		if n := counts(t, w.Store)["consents"]; n != 0 {
			t.Errorf("%d consents were stored", n)
		}
	})
}

func TestAuthorizedByListsConsentsAndLiveFamilies(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		alice, bob := w.person(t, "alice"), w.person(t, "bob")
		kept, lives, waits, expired, foreign := newApplication("b kept"), w.application(t, "A lives"),
			w.application(t, "waits"), w.application(t, "expired"), w.application(t, "foreign")
		kept.OwnerID, kept.Responsible, kept.Origin = &bob.ID, ByOwner, FromDocument
		must(t, w.AddApplication(t.Context(), kept, 0))
		must(t, w.NoteUses(t.Context(), map[string]int64{kept.ID: later}))
		w.keepConsent(t, Consent{alice.ID, kept.ID, "read", "https://a.example/", at - 5, 0})
		w.family(t, alice.ID, lives.ID)
		w.family(t, bob.ID, foreign.ID)
		w.addGrant(t, newGrant(alice.ID, waits.ID)) // its code is not exchanged yet
		old := newGrant(alice.ID, expired.ID)
		old.CodeDigest, old.ExpiresAt = nil, at
		must(t, w.AddGrantWithTokens(t.Context(), old, newPair(old.ID), proof(w.Store, old.UserID)))
		direct := newGrant(alice.ID, kept.ID)
		direct.CodeDigest, direct.Scope, direct.Resource, direct.CreatedAt = nil, "write",
			"https://b.example/\nhttps://c.example/", at+1
		must(t, w.AddGrantWithTokens(t.Context(), direct, newPair(direct.ID), proof(w.Store, direct.UserID)))

		got, err := w.AuthorizedBy(t.Context(), alice.ID, at)
		must(t, err)
		want := []Authorized{
			{ApplicationID: lives.ID, Name: "A lives", ClientID: lives.ClientID, Scope: "read write", Since: at,
				Responsible: lives.Responsible},
			{ApplicationID: kept.ID, Name: "b kept", ClientID: kept.ClientID, Owner: &bob.Username, Scope: "read",
				Resource: "https://a.example/", Since: at - 5},
			{ApplicationID: kept.ID, Name: "b kept", ClientID: kept.ClientID, Owner: &bob.Username, Scope: "write",
				Resource: "https://b.example/\nhttps://c.example/", Since: at + 1},
		}
		for i := range want[1:] {
			kept := &want[1+i]
			kept.Origin, kept.Responsible, kept.LastUsedAt, kept.OwnerActive, kept.OwnerAdministrator = FromDocument, ByOwner,
				later, &bob.Active, &bob.Administrator
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		got, err = w.AuthorizedBy(t.Context(), "nobody", at)
		must(t, err)
		if len(got) != 0 {
			t.Errorf("nobody authorized %+v", got)
		}
	})
}

func TestRevokedConsentEndsEveryFamilyBetweenTheTwo(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		alice, a, first := w.scene(t, "alice")
		second := w.family(t, alice.ID, a.ID)
		waiting := newGrant(alice.ID, a.ID)
		w.addGrant(t, waiting)
		bob, b := w.person(t, "bob"), w.application(t, "Other")
		bobs, others := w.family(t, bob.ID, a.ID), w.family(t, alice.ID, b.ID)
		for _, c := range []Consent{{alice.ID, a.ID, "read", "", at, 0}, {bob.ID, a.ID, "read", "", at, 0},
			{alice.ID, b.ID, "read", "", at, 0}} {
			w.keepConsent(t, c)
		}
		session := w.session(t, alice.ID)
		must(t, w.AddToken(t.Context(), Token{Digest: "the application's own", ApplicationID: &a.ID, ExpiresAt: later}))

		must(t, w.RevokeConsent(t.Context(), alice.ID, a.ID))
		got := live(t, w.Store, map[string]string{"first": first.access, "second": second.refresh, "bob's": bobs.access,
			"other": others.refresh, "own": "the application's own"})
		want := map[string]bool{"first": false, "second": false, "bob's": true, "other": true, "own": true}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		_, err := w.Consent(t.Context(), alice.ID, a.ID)
		is(t, "the consent", err, ErrNotFound)
		is(t, "the code that waited", w.RedeemCode(t.Context(), waiting.ID, at, later, newPair(waiting.ID)), ErrSpent)
		for _, c := range [][2]string{{bob.ID, a.ID}, {alice.ID, b.ID}} {
			_, err := w.Consent(t.Context(), c[0], c[1])
			is(t, "another consent", err, nil)
		}
		_, err = w.SessionByDigest(t.Context(), session.Digest, at, 0)
		is(t, "the session", err, nil)
		is(t, "RevokeConsent twice", w.RevokeConsent(t.Context(), alice.ID, a.ID), ErrNotFound)
	})
}

func TestRevokeConsentNeedsOnlyOneOfConsentAndFamily(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		alice, a, f := w.scene(t, "alice")
		is(t, "family only", w.RevokeConsent(t.Context(), alice.ID, a.ID), nil)
		_, err := w.TokenByDigest(t.Context(), f.access, at)
		is(t, "the token", err, ErrNotFound)
		w.keepConsent(t, Consent{alice.ID, a.ID, "read", "", at, 0})
		is(t, "consent only", w.RevokeConsent(t.Context(), alice.ID, a.ID), nil)
	})
}
