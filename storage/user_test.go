package storage

import (
	"crypto/rand"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestUserIsReadByIDKeyAndNumber(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		u := newUser("Alice")
		u.Administrator = true
		must(t, w.AddUser(t.Context(), u, nil))
		u.Number, u.PasswordChangedAt, u.UpdatedAt = 1, at, at
		byID, err := w.UserByID(t.Context(), u.ID)
		must(t, err)
		byKey, err := w.UserByKey(t.Context(), "alice")
		must(t, err)
		byNumber, err := w.UserByNumber(t.Context(), 1)
		must(t, err)
		for _, got := range []User{byID, byKey, byNumber} {
			if diff := cmp.Diff(u, got); diff != "" {
				t.Error(diff)
			}
		}
	})
}

func TestUserWhoIsNotThereIsNotFound(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		w.person(t, "Alice")
		_, err := w.UserByID(t.Context(), "alice")
		is(t, "UserByID", err, ErrNotFound)
		_, err = w.UserByKey(t.Context(), "Alice")
		is(t, "UserByKey with the name as written", err, ErrNotFound)
		_, err = w.UserByNumber(t.Context(), 2)
		is(t, "UserByNumber", err, ErrNotFound)
		is(t, "UpdateUser", w.UpdateUser(t.Context(), newUser("bob"), nil, nil, Beside{}), ErrNotFound)
		is(t, "SetPassword", w.SetPassword(t.Context(), "nobody", "hash", at), ErrNotFound)
		is(t, "DisableUser", w.DisableUser(t.Context(), "nobody", at), ErrNotFound)
		is(t, "DeleteUser", w.DeleteUser(t.Context(), "nobody", at, Handover{Responsible: ByOperator}), ErrNotFound)
		is(t, "Rehash", w.Rehash(t.Context(), "nobody", "old", "new"), nil)
	})
}

func TestUserNameIsTakenOnceHoweverItIsWritten(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		alice, bob := w.person(t, "Alice"), w.person(t, "Bob")
		is(t, "AddUser", w.AddUser(t.Context(), newUser("ALICE"), nil), ErrConflict)
		bob.Username, bob.UsernameKey = "aLICE", "alice"
		is(t, "UpdateUser", w.UpdateUser(t.Context(), bob, nil, nil, Beside{}), ErrConflict)
		again := newUser("Carol")
		again.ID = alice.ID
		is(t, "AddUser with a subject that is taken", w.AddUser(t.Context(), again, nil), ErrConflict)
		if n := count(t, w.Store, `SELECT COUNT(*) FROM users`); n != 2 {
			t.Errorf("%d people, want 2", n)
		}
	})
}

func TestUserNameIsTakenOnceInARace(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		stores := w.pair(t)
		won := 0
		for _, err := range race(64, func(i int) error { return stores[i%2].AddUser(t.Context(), newUser("Alice"), nil) }) {
			if err == nil {
				won++
				continue
			}
			is(t, "AddUser", err, ErrConflict)
		}
		if n := count(t, w.Store, `SELECT COUNT(*) FROM users`); won != 1 || n != 1 {
			t.Errorf("%d won and %d are stored", won, n)
		}
	})
}

func TestUsersWhoArriveTogetherGetNumbersOfTheirOwn(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		stores := w.pair(t)
		for i, err := range race(64,
			func(i int) error { return stores[i%2].AddUser(t.Context(), newUser(fmt.Sprint("user", i)), nil) }) {
			if err != nil {
				t.Errorf("user%d was lost: %v", i, err)
			}
		}
		users, total, err := w.Users(t.Context(), "", 100, 0)
		must(t, err)
		if total != 64 {
			t.Errorf("%d people, want 64", total)
		}
		for i, u := range users {
			if u.Number != int64(i+1) {
				t.Fatalf("number %d stands at place %d", u.Number, i+1)
			}
		}
	})
}

func TestUserNumberIsNeverGivenAgain(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		w.person(t, "alice")
		bob := w.person(t, "bob")
		must(t, w.DeleteUser(t.Context(), bob.ID, at, Handover{Responsible: ByOperator}))
		if carol := w.person(t, "carol"); carol.Number == bob.Number {
			t.Errorf("carol got bob's number %d", carol.Number)
		}
	})
}

func TestFirstUserIsAddedOnce(t *testing.T) {
	eachIsolation(t, func(t *testing.T, w world) {
		stores := w.pair(t)
		people := make([]User, 64)
		for i := range people {
			people[i] = newUser(fmt.Sprint("user", i))
		}
		winner := oneWins(t, race(64, func(i int) error { return stores[i%2].AddFirstUser(t.Context(), people[i]) }))
		users, total, err := w.Users(t.Context(), "", 100, 0)
		must(t, err)
		if total != 1 || users[0].ID != people[winner].ID || users[0].Number != 1 {
			t.Errorf("%d winner %s is not the one person: %+v", winner, people[winner].ID, users)
		}
		is(t, "AddFirstUser afterwards", w.AddFirstUser(t.Context(), newUser("late")), ErrSpent)
		w.person(t, "second")
	})
}

func TestFirstUserAndAnotherNeverBothComeFirst(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		errs := race(32, func(i int) error {
			if i%2 == 0 {
				return w.AddFirstUser(t.Context(), newUser(fmt.Sprint("first", i)))
			}
			return w.AddUser(t.Context(), newUser(fmt.Sprint("user", i)), nil)
		})
		first := 0
		for i, err := range errs {
			switch {
			case i%2 == 1:
				must(t, err)
			case err == nil:
				first++
			default:
				is(t, "AddFirstUser", err, ErrSpent)
			}
		}
		_, n, err := w.Users(t.Context(), "", 1, 0)
		must(t, err)
		if first > 1 || n != 16+first {
			t.Errorf("%d first users, %d people", first, n)
		}
	})
}

func TestFirstUserMayBeAddedAgainWhereEverybodyWasDeleted(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		must(t, w.DeleteUser(t.Context(), w.person(t, "alice").ID, at, Handover{Responsible: ByOperator}))
		is(t, "AddFirstUser", w.AddFirstUser(t.Context(), newUser("bob")), nil)
	})
}

func TestUserSearch(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		for _, u := range []User{
			{Username: "Alice", Email: "A@Example.com", FirstName: "Alice", LastName: "Young"},
			{Username: "per%cent", Email: "b@example.org", FirstName: "50%", LastName: "Off"},
			{Username: "under_score", Email: "c@example.org", FirstName: "Snake_", LastName: "Case"},
			{Username: "bang!", Email: "d@example.org", FirstName: "Wow!", LastName: "!_%"},
			{Username: `back\slash`, Email: "e@example.org", FirstName: "O'Brien", LastName: "Ärger"},
		} {
			u.ID, u.UsernameKey, u.Active = rand.Text(), foldASCII(u.Username), true
			must(t, w.AddUser(t.Context(), u, nil))
		}
		for search, want := range map[string][]string{
			"":             {"Alice", "per%cent", "under_score", "bang!", `back\slash`},
			"ALICE":        {"Alice"},
			"a@EXAMPLE":    {"Alice"},
			"ice you":      {"Alice"}, // matches across first and last name
			"%":            {"per%cent", "bang!"},
			"_":            {"under_score", "bang!"},
			"!":            {"bang!"},
			"!_%":          {"bang!"},
			"r%c":          {"per%cent"},
			"a%e":          nil,
			`\`:            {`back\slash`},
			"'":            {`back\slash`},
			"Ärger":        {`back\slash`}, // in the stored spelling
			"'; DROP --":   nil,
			"example.org":  {"per%cent", "under_score", "bang!", `back\slash`},
			"nobody there": nil,
		} {
			users, total, err := w.Users(t.Context(), search, 10, 0)
			must(t, err)
			if got := names(users); !slices.Equal(got, want) || total != len(want) {
				t.Errorf("search %q: got %q, %d in all; want %q", search, got, total, want)
			}
		}
	})
}

func TestUserPages(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		for i := range 5 {
			w.person(t, fmt.Sprint("user", i))
		}
		w.person(t, "other")
		for _, c := range []struct {
			limit, offset int
			want          []string
		}{
			{2, 0, []string{"user0", "user1"}},
			{2, 4, []string{"user4"}},
			{2, 5, nil},
			{0, 0, nil},
			{10, 3, []string{"user3", "user4"}},
		} {
			users, total, err := w.Users(t.Context(), "user", c.limit, c.offset)
			must(t, err)
			if got := names(users); !slices.Equal(got, c.want) || total != 5 {
				t.Errorf("limit %d offset %d: got %q of %d, want %q of 5", c.limit, c.offset, got, total, c.want)
			}
		}
	})
}

func names(users []User) []string {
	var list []string
	for _, u := range users {
		list = append(list, u.Username)
	}
	return list
}

func foldASCII(name string) string { return newUser(name).UsernameKey }

// All people of a list are stored, or none.
func TestPeopleAreAddedTogether(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		w.person(t, "alice")
		must(t, w.AddGroup(t.Context(), "staff", at))
		before := counts(t, w.Store)
		ann, bob := newUser("ann"), newUser("bob")
		is(t, "a username that somebody has", w.AddUsers(t.Context(), []NewUser{{ann, nil}, {newUser("ALICE"), nil}}),
			ErrConflict)
		is(t, "a group that does not exist", w.AddUsers(t.Context(), []NewUser{{ann, nil}, {bob, []string{"nobody"}}}),
			ErrNotFound)
		if diff := cmp.Diff(before, counts(t, w.Store)); diff != "" {
			t.Error(diff)
		}
		must(t, w.AddUsers(t.Context(), []NewUser{{ann, []string{"staff"}}, {bob, nil}}))
		for name, want := range map[string]int64{"ann": 2, "bob": 3} {
			u, err := w.UserByKey(t.Context(), name)
			must(t, err)
			if u.Number != want {
				t.Errorf("%s has the number %d", name, u.Number)
			}
		}
	})
}
