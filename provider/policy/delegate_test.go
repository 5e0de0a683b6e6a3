package policy

import (
	"testing"

	"mandate/storage"
)

func TestNotManaged(t *testing.T) {
	by := storage.Holder{User: storage.User{ID: "ann", Active: true}, Groups: []string{"choir"},
		Administers: []string{"choir", "band"}}
	member := func(change func(*storage.Holder)) storage.Holder {
		h := storage.Holder{User: storage.User{ID: "bob", Active: true}, Groups: []string{"choir"}}
		change(&h)
		return h
	}
	account := []string{storage.ActDisable, storage.ActEnable, storage.ActFactors, storage.ActLink}
	for _, test := range []struct {
		name    string
		change  func(*storage.Holder)
		removes bool // from the group
		acts    bool // on the account
	}{
		{"a member", func(*storage.Holder) {}, true, true},
		{"a member who is disabled", func(h *storage.Holder) { h.Active = false }, true, true},
		{"a member of two groups of hers", func(h *storage.Holder) { h.Groups = append(h.Groups, "band") }, true, true},
		{"a member of another group too", func(h *storage.Holder) { h.Groups = append(h.Groups, "board") }, true, false},
		{"whom an administrator has disabled", func(h *storage.Holder) { h.Active, h.Stopped = false, true }, true, false},
		{"who owns an application", func(h *storage.Holder) { h.Owns = true }, true, false},
		{"who administers a group of hers", func(h *storage.Holder) { h.Administers = []string{"band"} }, true, true},
		{"who administers another group", func(h *storage.Holder) { h.Administers = []string{"board"} }, false, false},
		{"an administrator", func(h *storage.Holder) { h.Administrator = true }, false, false},
		{"an auditor", func(h *storage.Holder) { h.Auditor = true }, false, false},
		{"herself", func(h *storage.Holder) { h.ID = "ann" }, false, false},
		{"somebody of her other group", func(h *storage.Holder) { h.Groups = []string{"band"} }, false, false},
		{"a stranger", func(h *storage.Holder) { h.Groups = nil }, false, false},
	} {
		of := member(test.change)
		if why := NotManaged(by, of, "choir", storage.ActRemove); (why == nil) != test.removes {
			t.Errorf("%s is removed: %v", test.name, why)
		}
		for _, act := range account {
			if why := NotManaged(by, of, "choir", act); (why == nil) != test.acts {
				t.Errorf("%s, %s: %v", test.name, act, why)
			}
		}
	}
	// Whoever does not administer the group any more, is disabled, or administers another one does nothing.
	for name, change := range map[string]func(*storage.Holder){
		"demoted":              func(h *storage.Holder) { h.Administers = nil },
		"disabled":             func(h *storage.Holder) { h.Active = false },
		"of another group":     func(h *storage.Holder) { h.Administers = []string{"band"} },
		"a member of the same": func(h *storage.Holder) { h.Administers, h.Groups = nil, []string{"choir"} },
	} {
		other := by
		change(&other)
		for _, act := range append(account, storage.ActRemove) {
			if NotManaged(other, member(func(*storage.Holder) {}), "choir", act) == nil {
				t.Errorf("%s: %s", name, act)
			}
		}
	}
}
