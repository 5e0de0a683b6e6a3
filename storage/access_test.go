package storage

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

// restrict sets the lists of an application.
func (w world) restrict(t *testing.T, a Application, allowed, denied []string) Application {
	t.Helper()
	was, err := w.Application(t.Context(), a.ID)
	must(t, err)
	now := was
	now.AllowedGroups, now.DeniedGroups = strings.Join(allowed, "\n"), strings.Join(denied, "\n")
	must(t, w.UpdateApplication(t.Context(), now, was))
	now, err = w.Application(t.Context(), a.ID)
	must(t, err)
	return now
}

// usable returns what each way to use an application says: its tokens, its code, a new grant, and the lists.
func (w world) usable(t *testing.T, f family, u User, a Application, now int64) []bool {
	t.Helper()
	found := func(err error) bool {
		t.Helper()
		if err != nil && !errors.Is(err, ErrNotFound) {
			t.Fatal(err)
		}
		return err == nil
	}
	access, err := w.TokenByDigest(t.Context(), f.access, now)
	byAccess := found(err)
	_, err = w.RefreshTokenByDigest(t.Context(), f.refresh, now)
	byRefresh := found(err)
	_, err = w.TokenOfGrant(t.Context(), f.ID, now)
	bySigned := found(err)
	grant, err := w.GrantByCode(t.Context(), *f.CodeDigest, now)
	byCode := found(err) && grant.UserMay
	n := w.session(t, u.ID)
	g := inSession(newGrant(u.ID, a.ID), n)
	g.CreatedAt = now
	err = w.AddGrant(t.Context(), g, "", "")
	if err != nil && !errors.Is(err, ErrExcluded) {
		t.Fatal(err)
	}
	site, siteErr := w.siteSession(t, a, n, now)
	if siteErr != nil && !errors.Is(siteErr, ErrNotFound) {
		t.Fatal(siteErr)
	}
	if siteErr == nil && site.UserID != u.ID {
		t.Errorf("the session of the site is of %s", site.UserID)
	}
	applications, listErr := w.UsableBy(t.Context(), u.ID, "", now, 100, 0)
	must(t, listErr)
	people, listErr := w.UsersOf(t.Context(), a.ID, "", now, 0, 100)
	must(t, listErr)
	_ = access
	return []bool{byAccess, byRefresh, bySigned, byCode, err == nil, siteErr == nil,
		slices.ContainsFunc(applications, func(one Application) bool { return one.ID == a.ID }),
		slices.ContainsFunc(people, func(one User) bool { return one.ID == u.ID })}
}

// siteSession reads a session of a person at a host that belongs to an application.
func (w world) siteSession(t *testing.T, a Application, n Session, now int64) (SiteSession, error) {
	t.Helper()
	insert := func(statement string, values ...any) {
		t.Helper()
		_, err := w.exec(t.Context(), statement, values...)
		must(t, err)
	}
	insert(`INSERT INTO sites (application_id, public_paths, assertion) VALUES ($1, '', FALSE)
		ON CONFLICT DO NOTHING`, a.ID)
	insert(`INSERT INTO site_hosts (host, application_id) VALUES ($1, $1) ON CONFLICT DO NOTHING`, a.ID)
	insert(`INSERT INTO site_sessions (digest, session_id, host, application_id, generation, created_at, expires_at)
		VALUES ($1, $1, $2, $2, $3, $4, $5)`, n.ID, a.ID, a.Generation, now, now+1000)
	return w.SiteSession(t.Context(), n.ID, a.ID, now, 0)
}

func (w world) wantUsable(t *testing.T, what string, f family, u User, a Application, now int64, want bool) {
	t.Helper()
	if got := w.usable(t, f, u, a, now); !slices.Equal(got, slices.Repeat([]bool{want}, len(got))) {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

func TestGroupsDecideWhoUsesAnApplication(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		alice, a, f := w.scene(t, "alice")
		for _, name := range []string{"staff", "staff 2", "taff", "b.*d", "banned"} {
			must(t, allow(ErrConflict, w.AddGroup(t.Context(), name, at)))
		}
		must(t, w.SetMembership(t.Context(), alice.ID, "taff", 0, at))
		w.wantUsable(t, "no lists", f, alice, a, at, true)
		for _, test := range []struct {
			allowed, denied []string
			want            bool
		}{
			{[]string{"taff"}, nil, true},
			{[]string{"staff"}, nil, false}, // a part of the name
			{[]string{"staff 2"}, nil, false},
			{[]string{"staff", "taff", "banned"}, nil, true},
			{[]string{"taff"}, []string{"taff"}, false}, // the denied one counts more
			{[]string{"taff"}, []string{"banned"}, true},
			{nil, []string{"staff", "banned"}, true},
			{nil, []string{"staff", "taff"}, false},
			{[]string{"b.*d"}, nil, false},
			{nil, nil, true},
		} {
			w.restrict(t, a, test.allowed, test.denied)
			w.wantUsable(t, strings.Join(append(test.allowed, test.denied...), ","), f, alice, a, at, test.want)
		}
	})
}

func TestListNamesOnlyGroupsThatExist(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		_, a, _ := w.scene(t, "alice")
		must(t, w.AddGroup(t.Context(), "staff", at))
		must(t, w.AddGroup(t.Context(), "other", at))
		was, err := w.Application(t.Context(), a.ID)
		must(t, err)
		now := was
		now.DeniedGroups = "staff\nnothing"
		is(t, "a group that does not exist", w.UpdateApplication(t.Context(), now, was), ErrNotFound)
		a = w.restrict(t, a, []string{"staff"}, []string{"other"})
		for _, name := range []string{"staff", "other"} {
			var used *GroupInUse
			err = w.DeleteGroup(t.Context(), name)
			if !errors.As(err, &used) || !slices.Equal(used.Applications, []string{a.Name}) {
				t.Errorf("DeleteGroup of %s: %v", name, err)
			}
		}
		must(t, w.RenameGroup(t.Context(), "staff", "crew", nil))
		now, err = w.Application(t.Context(), a.ID)
		if err != nil || now.AllowedGroups != "crew" || now.DeniedGroups != "other" || now.Version == a.Version {
			t.Errorf("after the renaming: %q, %q, version %d, %v", now.AllowedGroups, now.DeniedGroups, now.Version, err)
		}
		w.restrict(t, a, nil, nil)
		must(t, w.DeleteGroup(t.Context(), "crew"))
	})
}

// held counts what an application has of a person, and the logout notifications that are due.
func (w world) held(t *testing.T, u User, a Application) (held, due int) {
	t.Helper()
	must(t, w.get(t.Context(), &held, `SELECT (SELECT COUNT(*) FROM consents WHERE user_id = $1 AND application_id = $2) +
		(SELECT COUNT(*) FROM grants WHERE user_id = $1 AND application_id = $2)`, u.ID, a.ID))
	must(t, w.get(t.Context(), &due, `SELECT COUNT(*) FROM logins WHERE user_id = $1 AND application_id = $2
		AND due_at > 0`, u.ID, a.ID))
	return held, due
}

// signedInto gives an application a consent, a family and a login of a person.
func (w world) signedInto(t *testing.T, u User, a Application) {
	t.Helper()
	n := w.session(t, u.ID)
	must(t, w.KeepConsent(t.Context(), Consent{u.ID, a.ID, "read", "", at, 0}, n.ID, replace))
	must(t, w.AddGrant(t.Context(), consented(inSession(newGrant(u.ID, a.ID), n)), "owner", ""))
}

func TestWhoLosesAGroupLosesItsApplications(t *testing.T) {
	for name, lose := range map[string]func(*testing.T, world, User) error{
		"UpdateUser": func(t *testing.T, w world, u User) error {
			return w.UpdateUser(t.Context(), u, []string{"other"}, nil, Beside{})
		},
		"SetMappedGroups": func(t *testing.T, w world, u User) error {
			_, err := w.SetMappedGroups(t.Context(), u.ID, []string{"staff"}, nil, at)
			return err
		},
		"Delegate": func(t *testing.T, w world, u User) error {
			may := func(Holder, Holder) error { return nil }
			return w.Delegate(t.Context(), Delegated{By: u.ID, Of: u.ID, Group: "staff", Act: ActRemove, At: at, May: may})
		},
		"SetMembership of a denied one": func(t *testing.T, w world, u User) error {
			return w.SetMembership(t.Context(), u.ID, "banned", 0, at)
		},
		"EndMemberships": func(t *testing.T, w world, u User) error {
			err := w.SetMembership(t.Context(), u.ID, "staff", at+10, at)
			if err == nil {
				_, err = w.EndMemberships(t.Context(), at+10, 10, newEvent("membership.ended", u))
			}
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			each(t, func(t *testing.T, w world) {
				alice, a, _ := w.scene(t, "alice")
				bob, open, _ := w.scene(t, "bob")
				for _, group := range []string{"staff", "other", "banned"} {
					must(t, w.AddGroup(t.Context(), group, at))
				}
				for _, u := range []User{alice, bob} {
					must(t, w.SetMembership(t.Context(), u.ID, "staff", 0, at))
				}
				a = w.restrict(t, a, []string{"staff"}, []string{"banned"})
				for _, u := range []User{alice, bob} {
					w.signedInto(t, u, a)
					w.signedInto(t, u, open)
				}
				must(t, lose(t, w, alice))
				if held, due := w.held(t, alice, a); held != 0 || due != 1 {
					t.Errorf("the application has %d, and %d notifications are due", held, due)
				}
				if held, due := w.held(t, alice, open); held == 0 || due != 0 {
					t.Errorf("an application for everybody has %d, and %d notifications are due", held, due)
				}
				if held, due := w.held(t, bob, a); held == 0 || due != 0 {
					t.Errorf("the application has %d of another person, and %d notifications are due", held, due)
				}
			})
		})
	}
}

func TestNarrowedApplicationLosesItsPeopleBatchByBatch(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		alice, a, _ := w.scene(t, "alice")
		bob, _, _ := w.scene(t, "bob")
		carol, _, _ := w.scene(t, "carol")
		must(t, w.AddGroup(t.Context(), "staff", at))
		must(t, w.SetMembership(t.Context(), bob.ID, "staff", 0, at))
		for _, u := range []User{alice, bob, carol} {
			w.signedInto(t, u, a)
		}
		w.restrict(t, a, []string{"staff"}, nil)
		steps := 0
		for n := int64(1); n > 0; steps++ {
			var err error
			n, err = w.SweepExcluded(t.Context(), at, 1)
			must(t, err)
		}
		if steps < 4 {
			t.Errorf("%d steps for three people", steps)
		}
		for _, u := range []User{alice, carol} {
			if held, due := w.held(t, u, a); held != 0 || due != 1 {
				t.Errorf("%s: the application has %d, and %d notifications are due", u.Username, held, due)
			}
		}
		if held, due := w.held(t, bob, a); held == 0 || due != 0 {
			t.Errorf("bob: the application has %d, and %d notifications are due", held, due)
		}
	})
}

// Lists that change again while the clean-up is on its way are applied to the people whom it has looked at already.
func TestNarrowedAgainBeginsAnew(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		alice, a, _ := w.scene(t, "alice")
		must(t, w.AddGroup(t.Context(), "staff", at))
		must(t, w.AddGroup(t.Context(), "other", at))
		must(t, w.SetMembership(t.Context(), alice.ID, "staff", 0, at))
		w.signedInto(t, alice, a)
		w.restrict(t, a, []string{"staff"}, nil)
		_, err := w.SweepExcluded(t.Context(), at, 1000)
		must(t, err)
		if held, _ := w.held(t, alice, a); held == 0 {
			t.Fatal("a member has lost the application")
		}
		w.restrict(t, a, []string{"other"}, nil)
		for n := int64(1); n > 0; {
			n, err = w.SweepExcluded(t.Context(), at, 1000)
			must(t, err)
		}
		if held, due := w.held(t, alice, a); held != 0 || due != 1 {
			t.Errorf("the application has %d, and %d notifications are due", held, due)
		}
	})
}

func TestTemporaryMembershipEndsByItself(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		alice, a, f := w.scene(t, "alice")
		must(t, w.AddGroup(t.Context(), "staff", at))
		must(t, w.AddGroup(t.Context(), "other", at))
		must(t, w.SetMembership(t.Context(), alice.ID, "staff", at+20, at))
		a = w.restrict(t, a, []string{"staff"}, nil)
		token, err := w.TokenByDigest(t.Context(), f.access, at)
		if err != nil || token.ChangesAt != at+20 {
			t.Errorf("a copy of the token may be used until %d, %v", token.ChangesAt, err)
		}
		// Another change of the person keeps the end.
		must(t, w.UpdateUser(t.Context(), alice, []string{"staff", "other"}, nil, Beside{}))
		open, err := w.siteSession(t, a, w.session(t, alice.ID), at)
		if err != nil || open.ChangesAt != at+20 || !slices.Equal(open.Groups, []string{"other", "staff"}) {
			t.Errorf("a copy of a session of the site may be used until %d, groups %v, %v", open.ChangesAt, open.Groups, err)
		}
		left, err := w.TemporaryMemberships(t.Context(), "", alice.ID, at)
		if err != nil || len(left) != 1 || left[0].ExpiresAt != at+20 || left[0].Group != "staff" {
			t.Errorf("memberships with an end: %v, %v", left, err)
		}
		w.wantUsable(t, "before the end", f, alice, a, at+19, true)
		w.wantUsable(t, "at the end, before the clean-up", f, alice, a, at+20, false)
		groups, err := w.GroupsOf(t.Context(), alice.ID, at+20)
		if err != nil || !slices.Equal(groups, []string{"other"}) {
			t.Errorf("groups: %v, %v", groups, err)
		}
		n, err := w.EndMemberships(t.Context(), at+20, 10, newEvent("membership.ended", alice))
		if err != nil || n != 1 {
			t.Errorf("EndMemberships: %d, %v", n, err)
		}
		// Whoever gets the group again begins anew.
		must(t, w.SetMembership(t.Context(), alice.ID, "staff", 0, at+21))
		if held, _ := w.held(t, alice, a); held != 0 {
			t.Errorf("%d rows are back", held)
		}
	})
}

func TestNobodyNew(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		alice, a, _ := w.scene(t, "alice")
		bob, _, _ := w.scene(t, "bob")
		was, err := w.Application(t.Context(), a.ID)
		must(t, err)
		now := was
		now.NobodyNew = true
		must(t, w.UpdateApplication(t.Context(), now, was))
		must(t, w.AddGrant(t.Context(), inSession(newGrant(alice.ID, a.ID), w.session(t, alice.ID)), "", ""))
		is(t, "somebody new", w.AddGrant(t.Context(), inSession(newGrant(bob.ID, a.ID), w.session(t, bob.ID)), "", ""),
			ErrExcluded)
		for u, want := range map[User]bool{alice: true, bob: false} {
			has, err := w.HasUsed(t.Context(), u.ID, a.ID, at)
			if err != nil || has != want {
				t.Errorf("%s has used it: %v, %v", u.Username, has, err)
			}
		}
	})
}
