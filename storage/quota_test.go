package storage

import (
	"fmt"
	"testing"
)

func TestWhatCountsAgainstAQuotaIsCounted(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		alice, bob, a, u := "alice", "bob", w.application(t, "App"), w.person(t, "user")
		for i := range 5 {
			whose := []*string{&alice, &alice, &alice, &bob, nil}[i]
			must(t, w.AddToken(t.Context(),
				Token{Digest: fmt.Sprint(i), ApplicationID: &a.ID, ExpiresAt: at + int64(i), ChargedTo: whose}))
			g := newGrant(u.ID, a.ID)
			g.ExpiresAt, g.ChargedTo = at+int64(i), whose
			w.addGrant(t, g)
		}
		for _, test := range []struct {
			who  string
			at   int64
			most int
			want int
		}{{alice, at - 1, 10, 3}, {alice, at - 1, 2, 2}, {alice, at, 10, 2}, {alice, at + 2, 10, 0}, {bob, at, 10, 1},
			{"nobody", at, 10, 0}} {
			tokens, err := w.LiveTokens(t.Context(), test.who, test.at, test.most)
			must(t, err)
			grants, err := w.LiveGrants(t.Context(), test.who, test.at, test.most)
			must(t, err)
			if tokens != test.want || grants != test.want {
				t.Errorf("%s: %d tokens, %d grants, want %d of at most %d", test.who, tokens, grants, test.want, test.most)
			}
		}
	})
}

// All tokens of a token family count against the quota, refreshed ones included.
func TestTokensOfAFamilyCountAgainstAQuota(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		alice, a := w.person(t, "alice"), w.application(t, "App")
		charged := func(grantID string) []Token {
			pair := newPair(grantID)
			pair[0].ChargedTo, pair[1].ChargedTo = &alice.ID, &alice.ID
			return pair
		}
		g := newGrant(alice.ID, a.ID)
		g.ChargedTo = &alice.ID
		w.addGrant(t, g)
		pair := charged(g.ID)
		must(t, w.RedeemCode(t.Context(), g.ID, at, later, pair))
		next := charged(g.ID)
		must(t, w.RotateRefresh(t.Context(), pair[1].Digest, g.ID, "", at, later, next))
		must(t, w.KeepRefresh(t.Context(), next[1].Digest, g.ID, at, later, later, charged(g.ID)[0]))
		n, err := w.LiveTokens(t.Context(), alice.ID, at, 100)
		// The used refresh token no longer counts.
		if err != nil || n != 4 {
			t.Errorf("%d tokens, want 4 (%v)", n, err)
		}
		read, err := w.GrantByCode(t.Context(), *g.CodeDigest, at)
		if err != nil || read.ChargedTo == nil || *read.ChargedTo != alice.ID {
			t.Errorf("%v %v", err, read.ChargedTo)
		}
	})
}

func TestSessionsBeyondANumberEnd(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		alice, bob := w.person(t, "alice"), w.person(t, "bob")
		var mine []Session
		for i := range 5 {
			n := newSession(alice.ID)
			n.SeenAt = at + int64([]int{3, 1, 5, 2, 4}[i])
			must(t, w.AddSession(t.Context(), n, "", proof(w.Store, alice.ID), 0))
			mine = append(mine, n)
		}
		other := w.session(t, bob.ID)
		n, err := w.EndSessionsBeyond(t.Context(), alice.ID, mine[1].Digest, 3, at)
		if err != nil || n != 2 {
			t.Errorf("%d sessions ended, want 2 (%v)", n, err)
		}
		for i, lives := range []bool{false, true, true, false, true} {
			_, err := w.SessionByDigest(t.Context(), mine[i].Digest, at, 0)
			if (err == nil) != lives {
				t.Errorf("session %d is active: %t, want %t", i, err == nil, lives)
			}
		}
		if _, err := w.SessionByDigest(t.Context(), other.Digest, at, 0); err != nil {
			t.Error("somebody else's:", err)
		}
		n, err = w.EndSessionsBeyond(t.Context(), alice.ID, "", 3, at)
		if err != nil || n != 0 {
			t.Errorf("%d sessions ended, want none (%v)", n, err)
		}
	})
}
