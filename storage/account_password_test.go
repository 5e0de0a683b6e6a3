package storage

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestNewPasswordEndsWhatWasAllowedInOtherSessions(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		for _, keep := range []bool{false, true} {
			alice, a := w.person(t, fmt.Sprint("alice ", keep)), w.application(t, "App")
			here, there, gone := w.session(t, alice.ID), w.session(t, alice.ID), w.session(t, alice.ID)
			tokens, codes := map[string]string{}, map[string]string{}
			for name, n := range map[string]Session{"here": here, "elsewhere": there, "in a session that has ended": gone} {
				g, code := newGrant(alice.ID, a.ID), newGrant(alice.ID, a.ID)
				g.SessionID, code.SessionID = n.ID, n.ID
				pair := newPair(g.ID)
				must(t, w.AddGrant(t.Context(), g, "", ""))
				must(t, w.RedeemCode(t.Context(), g.ID, at, later, pair))
				must(t, w.AddGrant(t.Context(), code, "", ""))
				tokens[name], codes[name] = pair[0].Digest, *code.CodeDigest
			}
			must(t, w.EndSession(t.Context(), alice.ID, gone.ID, at, true))
			must(t, w.ChangePassword(t.Context(), alice.Password, "new", later, renewal(here), keep))
			want := map[string]bool{"here": keep, "elsewhere": keep, "in a session that has ended": keep}
			if diff := cmp.Diff(want, live(t, w.Store, tokens)); diff != "" {
				t.Errorf("tokens, keep %t: %s", keep, diff)
			}
			found := map[string]bool{}
			for name, code := range codes {
				_, err := w.GrantByCode(t.Context(), code, at)
				found[name] = err == nil
			}
			if diff := cmp.Diff(want, found); diff != "" {
				t.Errorf("codes, keep %t: %s", keep, diff)
			}
		}
	})
}

// If a grant is stored while the password changes, it either ends with the old
// password or is not stored.
func TestApprovalInARaceWithANewPasswordLeavesNothing(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		alice, a, stores := w.person(t, "alice"), w.application(t, "App"), w.pair(t)
		here, there := w.session(t, alice.ID), w.session(t, alice.ID)
		for i, err := range race(24, func(i int) error {
			switch s := stores[i%2]; {
			case i == 12:
				return s.ChangePassword(t.Context(), alice.Password, "new", later, renewal(here), false)
			case i%4 < 2:
				return s.KeepConsent(t.Context(), Consent{alice.ID, a.ID, "read", "", at, 0}, there.ID, replace)
			default:
				return s.AddGrant(t.Context(), inSession(newGrant(alice.ID, a.ID), there), "", "")
			}
		}) {
			if err != nil && (i == 12 || !errors.Is(err, ErrSpent)) {
				t.Errorf("%d: %v", i, err)
			}
		}
		want := map[string]int{"memberships": 0, "sessions": 1, "consents": 0, "grants": 0}
		if diff := cmp.Diff(want, rowsOf(t, w.Store, alice.ID)); diff != "" {
			t.Error(diff)
		}
	})
}
