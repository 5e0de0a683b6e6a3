package provider

import (
	"testing"

	"mandate/provider/people"
	"mandate/provider/policy"
)

// An address has one form, whatever way it comes in: otherwise two people have the same one, and mail goes astray.
func TestAddressOnEveryWayIn(t *testing.T) {
	const typed, form, unread = "Ann@BÜCHER.example", "Ann@xn--bcher-kva.example", "=?utf-8?q?ann?=@company.example"
	open := func(c *Config) { inviting(c); c.People.SignUpDomains = nil }
	ways := map[string]func(f *fixture, address string) (string, error){
		"added": func(f *fixture, address string) (string, error) {
			u, err := f.People.AddUser(f.t.Context(), policy.Operator(), people.Person{
				Username: "ann",
				Password: goodPassword,
				Email:    address,
			})
			return u.Email, err
		},
		"changed": func(f *fixture, address string) (string, error) {
			u := f.person("ann")
			err := f.People.UpdateUser(f.t.Context(), policy.Operator(), u.ID, people.Person{Username: "ann", Email: address})
			u, _ = f.People.UserByName(f.t.Context(), "ann")
			return u.Email, err
		},
		"imported": func(f *fixture, address string) (string, error) {
			_, err := f.People.Import(f.t.Context(), []people.Newcomer{{
				Person: people.Person{Username: "ann", Email: address},
				Line:   2,
			}}, false)
			u, _ := f.People.UserByName(f.t.Context(), "ann")
			return u.Email, err
		},
		"invited": func(f *fixture, address string) (string, error) {
			made, err := f.Invitations.Invite(
				f.t.Context(), policy.Operator(), []people.Invite{{Email: address}}, people.Inviting{ByHand: true},
			)
			if err != nil {
				return "", err
			}
			found, err := f.Invitations.Named(f.t.Context(), address)
			if err != nil || found.ID != made[0].ID {
				f.t.Errorf("the invitation is not found by %q: %v", address, err)
			}
			return made[0].Email, nil
		},
		"first": func(f *fixture, address string) (string, error) {
			link, err := f.People.SetupLink(f.t.Context())
			if err == nil {
				err = f.People.Setup(f.t.Context(), link, people.Person{Username: "ann", Password: goodPassword, Email: address})
			}
			u, _ := f.People.UserByName(f.t.Context(), "ann")
			return u.Email, err
		},
	}
	for way, do := range ways {
		t.Run(way, func(t *testing.T) {
			got, err := do(begin(t, open), typed)
			if got != form || err != nil {
				t.Errorf("%q, %v", got, err)
			}
			got, err = do(begin(t, open), unread)
			if err == nil {
				t.Errorf("%q is accepted", got)
			}
		})
	}
	t.Run("asked", func(t *testing.T) {
		f := begin(t, open)
		wantInvalid(t, f.Invitations.Ask(t.Context(), unread, people.Browser{Address: "192.0.2.1"}), "email")
		secrets := f.asksToJoin(t, form, people.Browser{Address: "192.0.2.1"})
		if len(secrets) != 1 {
			t.Fatal(secrets)
		}
		in, err := f.Invitations.WithPassword(t.Context(), secrets[0], people.NewAccount{
			Username: form,
			Password: goodPassword,
		}, people.Browser{})
		if err != nil || in.User.Email != form {
			t.Errorf("%+v, %v", in, err)
		}
		// They sign in by the address as they write it, and ask for a new password by it.
		_, err = f.People.Login(t.Context(), typed, goodPassword, people.Browser{})
		wantError(t, err, "no error")
	})
	// An address that is older than a rule stays until it is changed.
	t.Run("kept", func(t *testing.T) {
		f := begin(t)
		u := f.person("ann")
		f.sql("UPDATE users SET email = 'änn@company.example'")
		f.forgetCopies()
		err := f.People.UpdateUser(t.Context(), policy.Operator(), u.ID, people.Person{
			Username:  "ann",
			FirstName: "Ann",
			Email:     "änn@company.example",
		})
		wantError(t, err, "no error")
		u, err = f.People.UserByName(t.Context(), "ann")
		if err != nil || u.Email != "änn@company.example" || u.FirstName != "Ann" {
			t.Errorf("%+v, %v", u, err)
		}
		wantInvalid(t, f.People.UpdateUser(t.Context(), policy.Operator(), u.ID, people.Person{
			Username: "ann",
			Email:    "ünn@company.example",
		}), "email")
	})
}

// What the page fills in can be sent, and a name that is hard to tell from another cannot.
func TestUsernameAtSignUp(t *testing.T) {
	f := begin(t, inviting)
	for n, email := range []string{"o'neil@example.com", "a&b@example.com"} {
		one := f.invited(t, people.Inviting{ByHand: true}, email)
		secret := secretOf(t, one)
		for field, a := range map[string]people.NewAccount{
			"username":   {Username: "pa\u0335ul", Password: goodPassword},
			"first_name": {Username: email, FirstName: "i\u0307an", Password: goodPassword},
			"last_name":  {Username: email, LastName: "O\u0338", Password: goodPassword},
		} {
			_, err := f.Invitations.WithPassword(t.Context(), secret, a, people.Browser{})
			wantInvalid(t, err, field)
		}
		in, err := f.Invitations.WithPassword(t.Context(), secret, people.NewAccount{
			Username: email,
			Password: goodPassword,
		}, people.Browser{})
		if err != nil || in.User.Username != email {
			t.Errorf("%d: %+v, %v", n, in, err)
		}
	}
}
