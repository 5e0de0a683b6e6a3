package provider

import (
	"slices"
	"testing"

	"mandate/provider/events"
	"mandate/provider/people"
	"mandate/provider/policy"
)

// A command reads a person, changes a field and writes all of them: it must not restore what somebody else has replaced
// meanwhile.
func TestChangeOfOneFieldKeepsWhatSomebodyElseChangedMeanwhile(t *testing.T) {
	f := begin(t)
	for _, name := range []string{"staff", "night"} {
		wantError(t, f.People.AddGroup(t.Context(), name), "no error")
	}
	u, err := f.People.AddUser(t.Context(), policy.Operator(), people.Person{
		Username:  "ann",
		Password:  goodPassword,
		FirstName: "Ann",
	})
	wantError(t, err, "no error")
	first := true
	changed, err := f.People.ChangeUser(t.Context(), policy.Operator(), u.ID, func(person *people.Person) {
		person.Groups = append(person.Groups, "staff")
		if first {
			first = false
			wantError(t, f.People.UpdateUser(t.Context(), policy.Operator(), u.ID, people.Person{
				Username:  "anna",
				FirstName: "Anna",
				Groups:    []string{"night"},
			}), "no error")
		}
	})
	wantError(t, err, "no error")
	groups, err := f.People.GroupsOf(t.Context(), u.ID)
	wantError(t, err, "no error")
	if changed.Username != "anna" || changed.FirstName != "Anna" || !slices.Equal(groups, []string{"night", "staff"}) {
		t.Errorf("%s %s is in %q", changed.Username, changed.FirstName, groups)
	}
}

// Whoever changes nothing stores nothing, and tells nobody.
func TestChangeOfNothingStoresNoEvent(t *testing.T) {
	f := begin(t)
	u, err := f.People.AddUser(t.Context(), policy.Operator(), people.Person{Username: "ann", Password: goodPassword})
	wantError(t, err, "no error")
	same, err := f.People.ChangeUser(t.Context(), policy.Operator(), u.ID, func(*people.Person) {})
	wantError(t, err, "no error")
	if same != u {
		t.Errorf("the person was %v and is %v", u, same)
	}
	_, err = f.People.ChangeUser(
		t.Context(), policy.Operator(), u.ID, func(person *people.Person) { person.LastName = "Lee" },
	)
	wantError(t, err, "no error")
	found, err := f.Events.List(t.Context(), policy.Operator(), events.Filter{Kind: "person.changed"}, 10)
	wantError(t, err, "no error")
	if len(found) != 1 || found[0].Detail != "last_name" {
		t.Errorf("the events are %v", found)
	}
}
