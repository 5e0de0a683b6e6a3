package provider

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"mandate/provider/people"
	"mandate/provider/policy"
)

// statements returns the SQL that work runs, in its order.
func (f *fixture) statements(work func()) string {
	f.t.Helper()
	var ran []string
	f.store.Trace(func(ctx context.Context, statement string) (context.Context, func(error)) {
		ran = append(ran, statement)
		return ctx, func(error) {}
	})
	defer f.store.Trace(nil)
	work()
	return strings.Join(ran, "\n")
}

// Accounts that show by the time of an answer (CWE-208; CVE-2018-15473 of OpenSSH is of this class): until the answer,
// a name that somebody has runs the very statements of a name that nobody has, at its first request, at its later ones,
// and from whatever network.
func TestAttackStatementsTellWhoHasAnAccount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := begin(t, mailsTo(nowhere), func(c *Config) { c.People.SignUp = people.SignUpOpen })
		verified := &people.Profile{EmailVerified: true}
		for _, one := range []people.Person{{Username: "alice", Email: "a@example.org", Profile: verified},
			{Username: "bob", Email: "typed@example.org"}, {Username: "name@example.org"},
			{Username: "gone", Email: "gone@example.org", Profile: verified}} {
			one.Password = goodPassword
			_, err := f.People.AddUser(t.Context(), policy.Operator(), one)
			if err != nil {
				t.Fatal(err)
			}
		}
		err := f.People.DisableUser(t.Context(), "gone")
		if err != nil {
			t.Fatal(err)
		}
		names := []string{"nobody", "alice", "bob", "gone"}
		addresses := []string{"nobody@example.org", "a@example.org", "typed@example.org", "name@example.org",
			"gone@example.org"}
		login := func(name string, from people.Browser) error {
			return second(f.People.Login(t.Context(), name, "wrong", from))
		}
		for _, door := range []struct {
			name, wants string
			names       []string
			send        func(name string, from people.Browser) error
		}{
			{"a username and a wrong password", "400 invalid_grant", names, login},
			{"an address and a wrong password", "400 invalid_grant", addresses, login},
			{"a forgotten password", "no error", slices.Concat(names, addresses), func(name string, from people.Browser) error {
				return f.People.AskReset(t.Context(), name, from)
			}},
			{"a request for an account", "no error", addresses, func(name string, from people.Browser) error {
				return f.Invitations.Ask(t.Context(), name, from)
			}},
		} {
			wants := ""
			for n, name := range slices.Concat(door.names, door.names) {
				from := people.Browser{Address: fmt.Sprintf("192.0.2.%d", n%3)}
				got := f.statements(func() {
					if got := kind(door.send(name, from)); got != door.wants {
						t.Errorf("%s, %s: %s", door.name, name, got)
					}
				})
				if n == 0 {
					wants = got
				}
				if got != wants || got == "" {
					t.Errorf("%s, %s (%d) runs\n%s\nand not, as a name that nobody has,\n%s", door.name, name, n, got, wants)
				}
			}
		}
	})
}
