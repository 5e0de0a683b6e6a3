package storage

import (
	"errors"
	"strings"
	"testing"
)

// Addresses that were stored with a domain beyond ASCII were not found any more: they are looked up by its A-labels.
func TestStoredAddressesAreFoundByTheirALabels(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		store := func(name, email string) User {
			u := newUser(name)
			u.Email = email
			must(t, w.AddUser(t.Context(), u, nil))
			return u
		}
		ann, upper, holder, latter := store("ann", "ann@bücher.example"), store("upper", "Dan@BÜCHER.example"),
			store("holder", "bob@xn--bcher-kva.example"), store("second", "bob@bücher.example")
		twice := []User{store("one", "eve@bücher.example"), store("two", "EVE@bücher.example")}
		local, plain := store("local", "änn@bücher.example"), store("plain", "carol@company.example")
		link := newLink(ann, LinkReset)
		must(t, w.AddLink(t.Context(), link))
		invited := newInvitation("new@bücher.example")
		must(t, w.AddInvitations(t.Context(), nil, []NewInvitation{invited}, 100))
		_, err := w.exec(t.Context(), `UPDATE schema_version SET version = 35`)
		must(t, err)
		done, err := w.migrateOne(t.Context())
		must(t, err)
		if done.Version != 36 {
			t.Fatalf("did %s", steps([]Migration{done}))
		}
		for _, is := range []struct {
			of   User
			want string
		}{{ann, "ann@xn--bcher-kva.example"}, {upper, "Dan@xn--bcher-kva.example"}, {holder, "bob@xn--bcher-kva.example"},
			{latter, "bob@bücher.example"}, {local, "änn@bücher.example"}, {plain, "carol@company.example"}} {
			u, err := w.UserByID(t.Context(), is.of.ID)
			if err != nil || u.Email != is.want {
				t.Errorf("%s: %q, %v", is.of.Username, u.Email, err)
			}
		}
		// Two people never get the same address, and the operator learns of the one that stays.
		same, err := w.UsersByAddress(t.Context(), "eve@xn--bcher-kva.example")
		if err != nil || len(same) != 1 || same[0].ID != min(twice[0].ID, twice[1].ID) {
			t.Errorf("%d people have the address, %v", len(same), err)
		}
		notes := strings.Join(done.Notes, "\n")
		if len(done.Notes) != 2 || !strings.Contains(notes, "bob@bücher.example") ||
			!strings.Contains(strings.ToLower(notes), "eve@bücher.example") {
			t.Errorf("notes: %s", notes)
		}
		is(t, "a link that was sent before", second(w.LinkByDigest(t.Context(), link.Digest, LinkReset, at)), nil)
		found, err := w.InvitationTo(t.Context(), "NEW@xn--bcher-kva.example")
		if err != nil || found.ID != invited.ID {
			t.Errorf("the invitation: %+v, %v", found, err)
		}
	})
}

// A stranger asked for a link to the address of somebody who was invited, and the invitation was not found any more. A
// link that somebody asked for takes no address, and no address is taken from it.
func TestAskedLinksTakeNoAddress(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		invited, second := newInvitation("new@bücher.example"), newInvitation("two@xn--bcher-kva.example")
		stays, holder := newInvitation("three@bücher.example"), newInvitation("three@xn--bcher-kva.example")
		must(t, w.AddInvitations(t.Context(), nil, []NewInvitation{invited, second, stays, holder}, 100))
		asked, behind := newInvitation("new@xn--bcher-kva.example"), newInvitation("two@bücher.example")
		asked.Asked, behind.Asked = true, true
		must(t, w.atomically(t.Context(),
			func(x tx) error { return errors.Join(x.addInvitation(asked), x.addInvitation(behind)) }))
		_, err := w.exec(t.Context(), `UPDATE schema_version SET version = 35`)
		must(t, err)
		done, err := w.migrateOne(t.Context())
		must(t, err)
		if len(done.Notes) != 1 || !strings.Contains(done.Notes[0], stays.ID) {
			t.Errorf("notes: %v", done.Notes)
		}
		for _, one := range []NewInvitation{invited, asked, second, behind} {
			name, _, _ := strings.Cut(one.Email, "@")
			i, err := w.InvitationByDigest(t.Context(), one.Digest, at)
			if err != nil || i.Email != name+"@xn--bcher-kva.example" || i.Asked != one.Asked {
				t.Errorf("%s (asked: %t): %q, %v", one.Email, one.Asked, i.Email, err)
			}
		}
		found, err := w.InvitationTo(t.Context(), "new@xn--bcher-kva.example")
		if err != nil || found.ID != invited.ID {
			t.Errorf("the invitation: %+v, %v", found, err)
		}
	})
}
