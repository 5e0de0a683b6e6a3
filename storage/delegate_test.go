package storage

import (
	"errors"
	"slices"
	"testing"
)

// delegate makes a person administer exactly these groups.
func (w world) delegate(t *testing.T, u User, groups ...string) {
	t.Helper()
	was, err := w.Administered(t.Context(), u.ID)
	must(t, err)
	must(t, w.UpdateUser(t.Context(), u, nil, nil, Beside{Administers: &Administering{Was: was, Is: groups}}))
}

// A membership that has expired and was not removed yet makes nobody a member, for whoever administers the group, and
// nobody a member of a stronger group.
func TestHolderHasOnlyMembershipsInForce(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		for _, name := range []string{"choir", "band"} {
			must(t, w.AddGroup(t.Context(), name, at))
		}
		bob := w.person(t, "bob")
		must(t, w.SetMembership(t.Context(), bob.ID, "choir", 0, at))
		must(t, w.SetMembership(t.Context(), bob.ID, "band", at+10, at))
		for now, want := range map[int64][]string{at + 9: {"band", "choir"}, at + 10: {"choir"}} {
			h, err := w.HolderOf(t.Context(), bob.ID, now)
			if err != nil || !slices.Equal(h.Groups, want) {
				t.Errorf("at %d: %q, %v", now, h.Groups, err)
			}
			inForce := len(want) == 2
			found, total, err := w.MemberList(t.Context(), "band", now, 10, 0)
			if err != nil || (len(found) == 1) != inForce || (total == 1) != inForce {
				t.Errorf("at %d: %d of %d members, %v", now, len(found), total, err)
			}
			refused := errors.New("refused")
			err = w.Delegate(t.Context(), Delegated{By: bob.ID, Of: bob.ID, At: now, May: func(_, of Holder) error {
				if !slices.Equal(of.Groups, want) {
					t.Errorf("at %d the rule is asked about %q", now, of.Groups)
				}
				return refused
			}})
			is(t, "Delegate", err, refused)
		}
	})
}

// What the administrator of a group has invited to ends with the group: another one may get its name.
func TestDeletedGroupEndsInvitationsOfItsAdministrators(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		for _, name := range []string{"choir", "band"} {
			must(t, w.AddGroup(t.Context(), name, at))
		}
		ann := w.person(t, "ann")
		w.delegate(t, ann, "choir", "band")
		var list []NewInvitation
		for _, address := range []string{"x@example.com", "y@example.com", "z@example.com"} {
			list = append(list, newInvitation(address))
		}
		list[0].Groups, list[1].Groups, list[2].Groups = "choir", "band", "choir"
		list[0].InviterID, list[1].InviterID = &ann.ID, &ann.ID
		must(t, w.AddInvitations(t.Context(), &ann.ID, list[:2], 10))
		must(t, w.AddInvitations(t.Context(), nil, list[2:], 10))
		must(t, w.DeleteGroup(t.Context(), "choir"))
		for i, want := range []error{ErrNotFound, nil, nil} {
			_, err := w.Invitation(t.Context(), list[i].ID)
			is(t, list[i].Email, err, want)
		}
		groups, err := w.Administered(t.Context(), ann.ID)
		if err != nil || !slices.Equal(groups, []string{"band"}) {
			t.Errorf("ann administers %q, %v", groups, err)
		}
	})
}

// Whoever gets rights is signed out everywhere: a session from before may be weaker than these rights need.
func TestWhoGetsRightsIsSignedOut(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		must(t, w.AddGroup(t.Context(), "choir", at))
		bob := w.person(t, "bob")
		for name, change := range map[string]func(){
			"an auditor": func() {
				auditor := bob
				auditor.Auditor = true
				must(t, w.UpdateUser(t.Context(), auditor, nil, nil, Beside{}))
			},
			"an administrator of a group": func() { w.delegate(t, bob, "choir") },
		} {
			n := w.session(t, bob.ID)
			_, err := w.SessionByDigest(t.Context(), n.Digest, at, 0)
			must(t, err)
			change()
			_, err = w.SessionByDigest(t.Context(), n.Digest, at, 0)
			is(t, name, err, ErrNotFound)
		}
	})
}
