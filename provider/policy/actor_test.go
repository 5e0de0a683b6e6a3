package policy

import (
	"testing"

	"mandate/provider/oauth"
	"mandate/storage"
)

func TestActors(t *testing.T) {
	for _, test := range []struct {
		name                                   string
		actor                                  Actor
		nobody, operator, administers, isAlice bool
		owner, responsible                     string
	}{
		{"nobody", Actor{}, true, false, false, false, "", storage.ByOwner},
		// A record that was not found has no id.
		{"an empty administrator", By(storage.User{Administrator: true, Active: true}), true, false, false, false, "",
			storage.ByOwner},
		{"the operator", Operator(), false, true, true, false, "", storage.ByOperator},
		{"alice", By(storage.User{ID: "alice"}), false, false, false, true, "alice", storage.ByOwner},
		{"root", By(storage.User{ID: "root", Administrator: true}), false, false, true, false, "root", storage.ByOwner},
	} {
		a := test.actor
		owner, responsible := a.Takes()
		if a.Nobody() != test.nobody || a.IsOperator() != test.operator || a.Administers() != test.administers ||
			a.Is("alice") != test.isAlice || a.Is("") ||
			oauth.Deref(owner) != test.owner || responsible != test.responsible {
			t.Errorf("%s: nobody %v, operator %v, administers %v, is alice %v, takes %q %s", test.name, a.Nobody(),
				a.IsOperator(), a.Administers(), a.Is("alice"), oauth.Deref(owner), responsible)
		}
	}
	owner, responsible := Actor{}.Takes()
	if !Suspended(storage.Application{OwnerID: owner, Responsible: responsible}) {
		t.Error("an application of nobody works")
	}
}
