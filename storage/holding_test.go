package storage

import (
	"fmt"
	"slices"
	"testing"
)

// stands checks whether each artefact of an application is valid.
func (w world) stands(t *testing.T, when string, want error, u User, a Application, f family, own string) {
	t.Helper()
	is(t, when+": an access token", second(w.TokenByDigest(t.Context(), f.access, at)), want)
	is(t, when+": a refresh token", second(w.TokenByDigest(t.Context(), f.refresh, at)), want)
	is(t, when+": a refresh token, to use it", second(w.RefreshTokenByDigest(t.Context(), f.refresh, at)), want)
	is(t, when+": a token of its own", second(w.TokenByDigest(t.Context(), own, at)), want)
	is(t, when+": a signed token of a grant", second(w.TokenOfGrant(t.Context(), f.ID, at)), want)
	is(t, when+": a signed token of its own",
		second(w.TokenOfApplication(t.Context(), a.ID, "never revoked", f.Generation)), want)
	is(t, when+": a consent", second(w.Consent(t.Context(), u.ID, a.ID)), want)
}

// generation stores a family, a token and a consent of the present generation.
func (w world) generation(t *testing.T, u User, a Application, own string) (Application, family) {
	t.Helper()
	a, err := w.Application(t.Context(), a.ID)
	must(t, err)
	g := newGrant(u.ID, a.ID)
	g.Generation = a.Generation
	pair := newPair(g.ID)
	w.addGrant(t, g)
	must(t, w.RedeemCode(t.Context(), g.ID, at, later, pair))
	must(t, w.AddToken(t.Context(), Token{Digest: own, ApplicationID: &a.ID, ExpiresAt: later, Generation: a.Generation}))
	w.keepConsent(t, Consent{u.ID, a.ID, "read", "", at, a.Generation})
	return a, family{g, pair[0].Digest, pair[1].Digest}
}

func TestEverythingThatAnApplicationHoldsIsRevoked(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		alice := w.person(t, "alice")
		a, other := w.application(t, "App"), w.application(t, "Other")
		_, first := w.generation(t, alice, a, "own")
		_, theirs := w.generation(t, alice, other, "theirs")
		w.stands(t, "before", nil, alice, a, first, "own")
		var told []Change
		w.OnChange(func(changes []Change) { told = append(told, changes...) })
		must(t, w.RevokeAllOf(t.Context(), a.ID))
		w.OnChange(nil)
		if len(told) != 1 || told[0] != (Change{OfApplication, a.ID}) {
			t.Errorf("other nodes receive %v", told)
		}
		w.stands(t, "after", ErrNotFound, alice, a, first, "own")
		w.stands(t, "another application", nil, alice, other, theirs, "theirs")
		listed, err := w.AuthorizedBy(t.Context(), alice.ID, at)
		must(t, err)
		for _, l := range listed {
			if l.ApplicationID != other.ID {
				t.Errorf("the person still sees %s", l.Name)
			}
		}
		if n, err := w.GrantsOf(t.Context(), alice.ID, a.ID, at, 10); err != nil || n != 0 {
			t.Errorf("%v: %d grants count against the person's part of the quota", err, n)
		}

		// What is stored for the earlier generation after the revocation is not valid, and
		// a new approval is.
		must(t, w.AddToken(t.Context(), Token{Digest: "late", ApplicationID: &a.ID, ExpiresAt: later}))
		w.keepConsent(t, Consent{alice.ID, a.ID, "read", "", at, 0})
		w.stands(t, "late", ErrNotFound, alice, a, first, "late")
		now, second := w.generation(t, alice, a, "new")
		w.stands(t, "anew", nil, alice, now, second, "new")

		// The clean-up deletes what was revoked, and keeps the revocation of a signed token.
		must(t, w.RevokeSigned(t.Context(),
			Token{Digest: "revoked", ApplicationID: &a.ID, ExpiresAt: later, Generation: now.Generation}, at))
		w.walk(t, 3)
		w.stands(t, "after the clean-up", nil, alice, now, second, "new")
		w.stands(t, "another application after the clean-up", nil, alice, other, theirs, "theirs")
		left := []string{second.access, second.refresh, "new", "revoked", theirs.access, theirs.refresh, "theirs"}
		slices.Sort(left)
		onlyTheseTokens(t, w.Store, left...)
		if n := count(t, w.Store, `SELECT COUNT(*) FROM grants WHERE application_id = '`+a.ID+`'`); n != 1 {
			t.Errorf("%d grants are left, want the new one", n)
		}
		is(t, "an application that does not exist", w.RevokeAllOf(t.Context(), "nothing"), ErrNotFound)
	})
}

// Whatever two nodes store while everything is revoked, nothing of it is valid.
func TestNothingSurvivesTheRevocationOfEverything(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		alice, stores := w.person(t, "alice"), w.pair(t)
		a := w.application(t, "App")
		var families [64]family
		for i := range families {
			families[i] = w.family(t, alice.ID, a.ID)
		}
		n := w.session(t, alice.ID)
		pairs := make([][]Token, len(families))
		for i, err := range race(2*len(families), func(i int) error {
			s, f := stores[i%2], families[i/2]
			switch {
			case i == len(families):
				return s.RevokeAllOf(t.Context(), a.ID)
			case i%2 == 0:
				pairs[i/2] = newPair(f.ID)
				return s.RotateRefresh(t.Context(), f.refresh, f.ID, "", at, later, pairs[i/2])
			case i%4 == 1:
				return s.AddToken(t.Context(), Token{Digest: fmt.Sprint("own", i), ApplicationID: &a.ID, ExpiresAt: later})
			}
			return s.KeepConsent(t.Context(), Consent{alice.ID, a.ID, "read", "", at, 0}, n.ID, replace)
		}) {
			if err != nil {
				t.Errorf("%d: %v", i, err)
			}
		}
		for i, f := range families {
			digests := []string{f.access, f.refresh, fmt.Sprint("own", 2*i+1)}
			for _, token := range pairs[i] {
				digests = append(digests, token.Digest)
			}
			for _, digest := range digests {
				is(t, "a token", second(w.TokenByDigest(t.Context(), digest, at)), ErrNotFound)
			}
			is(t, "a grant", second(w.TokenOfGrant(t.Context(), f.ID, at)), ErrNotFound)
		}
		is(t, "the consent", second(w.Consent(t.Context(), alice.ID, a.ID)), ErrNotFound)
	})
}

func TestHoldingCountsPeopleAndLiveTokens(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		alice, bob, carol := w.person(t, "alice"), w.person(t, "bob"), w.person(t, "carol")
		a, other := w.application(t, "App"), w.application(t, "Other")
		w.generation(t, alice, other, "theirs")
		w.generation(t, alice, a, "own")
		w.family(t, alice.ID, a.ID)
		w.family(t, bob.ID, a.ID)                                    // approved without a stored consent
		w.keepConsent(t, Consent{carol.ID, a.ID, "read", "", at, 0}) // has no tokens
		w.addGrant(t, newGrant(w.person(t, "dora").ID, a.ID))        // a code that nobody has exchanged
		must(t, w.AddToken(t.Context(), Token{Digest: "expired", ApplicationID: &a.ID, ExpiresAt: at}))
		must(t, w.RevokeSigned(t.Context(), Token{Digest: "jti", ApplicationID: &a.ID, ExpiresAt: later}, at))
		for _, c := range []struct {
			chargedTo      *string
			examined, most int
			want           Holding
		}{
			{nil, 100, 100, Holding{3, 7, false, false}},
			{nil, 100, 3, Holding{3, 3, false, true}},
			{nil, 100, 2, Holding{2, 2, true, true}},
			{new("nobody"), 100, 100, Holding{2, 0, false, false}},
		} {
			got, err := w.Holding(t.Context(), a, c.chargedTo, at, c.examined, c.most)
			must(t, err)
			if got != c.want {
				t.Errorf("of %v, %d rows, most %d: %+v, want %+v", c.chargedTo, c.examined, c.most, got, c.want)
			}
		}
		// The tables have more rows than are read.
		if got, err := w.Holding(t.Context(), a, nil, at, 5, 100); err != nil || !got.MorePeople || !got.MoreTokens ||
			got.Tokens > 5 {
			t.Errorf("of 5 rows: %v %+v", err, got)
		}
		for _, statement := range []string{`UPDATE tokens SET charged_to = 'x' WHERE grant_id IS NOT NULL`,
			`UPDATE grants SET charged_to = 'x'`} {
			_, err := w.write.ExecContext(t.Context(), statement)
			must(t, err)
		}
		if got, err := w.Holding(t.Context(), a, new("x"), at, 100, 100); err != nil || got != (Holding{3, 6, false, false}) {
			t.Errorf("with a quota: %v %+v", err, got)
		}
		must(t, w.RevokeAllOf(t.Context(), a.ID))
		a, err := w.Application(t.Context(), a.ID)
		must(t, err)
		if got, err := w.Holding(t.Context(), a, nil, at, 100, 100); err != nil || got != (Holding{}) {
			t.Errorf("after everything was revoked: %v %+v", err, got)
		}
	})
}

func TestApplicationsAreSelected(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		root := administrators(t, w, "root")[0]
		alice, gone := w.person(t, "alice"), w.person(t, "gone")
		add := func(name string, owner *string, responsible, origin string, used int64) {
			a := newApplication(name)
			a.OwnerID, a.Responsible, a.Origin = owner, responsible, origin
			must(t, w.AddApplication(t.Context(), a, 0))
			if used > 0 {
				must(t, w.NoteUses(t.Context(), map[string]int64{a.ID: used}))
			}
		}
		add("admin", &root.ID, ByOwner, FromPage, 0)
		add("by itself", nil, ByNobody, FromRegistration, at)
		add("document", nil, ByNobody, FromDocument, later)
		add("operator", nil, ByOperator, FromCommand, 0)
		add("person", &alice.ID, ByOwner, FromPage, at)
		add("suspended", &gone.ID, ByOwner, "", 0)
		add("vouched", &alice.ID, ByOperator, FromPage, later)
		must(t, w.DisableUser(t.Context(), gone.ID, at))
		for _, c := range []struct {
			of   Selection
			want string
		}{
			{Selection{}, "[admin by itself document operator person suspended vouched]"},
			{Selection{Standing: "administrator"}, "[admin operator vouched]"},
			{Selection{Standing: "person"}, "[person suspended]"},
			{Selection{Standing: "open"}, "[by itself document]"},
			{Selection{Standing: Suspended}, "[suspended]"},
			{Selection{Standing: "nonsense"}, "[]"},
			{Selection{Origin: FromPage}, "[admin person vouched]"},
			{Selection{Origin: FromRegistration}, "[by itself]"},
			{Selection{Origin: UnknownOrigin}, "[suspended]"},
			{Selection{UnusedSince: at + 1}, "[admin by itself operator person suspended]"},
			{Selection{UnusedSince: at}, "[]"}, // all were registered at this time
			{Selection{Origin: FromPage, Standing: "administrator", Search: "vouch", UnusedSince: later + 1}, "[vouched]"},
		} {
			found, total, err := w.Applications(t.Context(), c.of, 10, 0)
			must(t, err)
			got := []string{}
			for _, a := range found {
				got = append(got, a.Name)
			}
			if fmt.Sprint(got) != c.want || total != len(got) {
				t.Errorf("%+v: %v, want %s", c.of, got, c.want)
			}
		}
	})
}
