package storage

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestGroups(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		none, err := w.Groups(t.Context(), at)
		must(t, err)
		if len(none) != 0 {
			t.Errorf("an empty database has groups %v", none)
		}
		for _, name := range []string{"staff", "admins", "empty"} {
			must(t, w.AddGroup(t.Context(), name, at))
		}
		is(t, "AddGroup twice", w.AddGroup(t.Context(), "staff", at), ErrConflict)
		alice := w.person(t, "alice", "staff", "admins")
		w.person(t, "bob", "staff")
		groups, err := w.Groups(t.Context(), at)
		must(t, err)
		if diff := cmp.Diff([]Group{{"admins", 1}, {"empty", 0}, {"staff", 2}}, groups); diff != "" {
			t.Error(diff)
		}
		memberOf(t, w, alice, "admins", "staff")
	})
}

func memberOf(t *testing.T, w world, u User, want ...string) {
	t.Helper()
	got, err := w.GroupsOf(t.Context(), u.ID, at)
	must(t, err)
	if !slices.Equal(got, want) {
		t.Errorf("%s is in %q, want %q", u.Username, got, want)
	}
}

func TestUserIsInExactlyTheGroupsThatWereNamed(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		for _, name := range []string{"a", "b", "c"} {
			must(t, w.AddGroup(t.Context(), name, at))
		}
		alice, bob := w.person(t, "alice", "a", "b"), w.person(t, "bob", "a")
		must(t, w.UpdateUser(t.Context(), alice, []string{"c", "b"}, nil, Beside{}))
		memberOf(t, w, alice, "b", "c")
		must(t, w.UpdateUser(t.Context(), alice, []string{"b", "c", "b"}, nil, Beside{}))
		memberOf(t, w, alice, "b", "c")
		must(t, w.UpdateUser(t.Context(), alice, nil, nil, Beside{}))
		memberOf(t, w, alice)
		memberOf(t, w, bob, "a")
		memberOf(t, w, w.person(t, "carol", "c", "c"), "c")
	})
}

func TestUnknownGroupLeavesThePersonAsTheyWere(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		must(t, w.AddGroup(t.Context(), "a", at))
		alice := w.person(t, "alice", "a")
		change := alice
		change.Email, change.Active = "new@example.com", false
		is(t, "UpdateUser", w.UpdateUser(t.Context(), change, []string{"a", "nowhere"}, nil, Beside{}), ErrNotFound)
		got, err := w.UserByID(t.Context(), alice.ID)
		must(t, err)
		if diff := cmp.Diff(alice, got); diff != "" {
			t.Error(diff)
		}
		memberOf(t, w, alice, "a")
		is(t, "AddUser", w.AddUser(t.Context(), newUser("bob"), []string{"a", "nowhere"}), ErrNotFound)
		_, err = w.UserByKey(t.Context(), "bob")
		is(t, "the person who was not added", err, ErrNotFound)
	})
}

func TestDeletedGroupLeavesItsPeople(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		must(t, w.AddGroup(t.Context(), "a", at))
		must(t, w.AddGroup(t.Context(), "b", at))
		alice := w.person(t, "alice", "a", "b")
		must(t, w.DeleteGroup(t.Context(), "a"))
		memberOf(t, w, alice, "b")
		_, err := w.UserByID(t.Context(), alice.ID)
		is(t, "the member", err, nil)
		is(t, "DeleteGroup twice", w.DeleteGroup(t.Context(), "a"), ErrNotFound)
		must(t, w.AddGroup(t.Context(), "a", at))
		memberOf(t, w, alice, "b")
	})
}

func TestRenamedGroupKeepsItsMembersAndInvitations(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		for _, name := range []string{"staff", "staff 2", "other"} {
			must(t, w.AddGroup(t.Context(), name, at))
		}
		alice, bob := w.person(t, "alice", "staff", "other"), w.person(t, "bob", "other")
		one := newInvitation("x@example.com")
		one.Groups = "other\nstaff\nstaff 2"
		must(t, w.AddInvitations(t.Context(), nil, []NewInvitation{one}, 1))

		is(t, "a group that does not exist", w.RenameGroup(t.Context(), "nothing", "new", nil), ErrNotFound)
		is(t, "a name that is taken", w.RenameGroup(t.Context(), "staff", "other", nil), ErrConflict)
		is(t, "its own name", w.RenameGroup(t.Context(), "staff", "staff", nil), ErrConflict)
		memberOf(t, w, alice, "other", "staff")
		app := w.application(t, "Shop")
		ruled := app
		ruled.Claims = "staff"
		must(t, w.UpdateApplication(t.Context(), ruled, app))
		must(t, w.RenameGroup(t.Context(), "staff", "crew", func(rules string) (string, error) {
			return strings.ReplaceAll(rules, "staff", "crew"), nil
		}))
		now, err := w.Application(t.Context(), app.ID)
		must(t, err)
		if now.Claims != "crew" || now.Version != app.Version+2 {
			t.Errorf("the claims are %q, and the version is %d", now.Claims, now.Version)
		}
		memberOf(t, w, alice, "crew", "other")
		memberOf(t, w, bob, "other")
		found, err := w.Invitation(t.Context(), one.ID)
		must(t, err)
		if found.Groups != "other\ncrew\nstaff 2" {
			t.Errorf("the invitation leads to %q", found.Groups)
		}
		members, err := w.MembersOf(t.Context(), "other", at)
		must(t, err)
		if !slices.Equal(members, []string{"alice", "bob"}) {
			t.Errorf("the members are %q", members)
		}
		groups, err := w.Groups(t.Context(), at)
		must(t, err)
		if diff := cmp.Diff([]Group{{"crew", 1}, {"other", 2}, {"staff 2", 0}}, groups); diff != "" {
			t.Error(diff)
		}
	})
}
