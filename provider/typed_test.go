package provider

import (
	"crypto/pbkdf2"
	"crypto/sha256"
	"encoding/base64"
	"testing"

	"mandate/provider/clients"
	"mandate/provider/people"
	"mandate/provider/policy"
	"mandate/storage"
)

// One text as two keyboards type it: with composed letters, and with a mark after each letter.
const (
	composed   = "Zürich bléu für Ännchen"
	decomposed = "Zu\u0308rich ble\u0301u fu\u0308r A\u0308nnchen"
	otherText  = "Zurich bleu fur Annchen"
)

// A password has one form, whatever way it is set in and typed again: somebody who sets it on a Mac signs in with a
// phone.
func TestPasswordOfAnotherKeyboard(t *testing.T) {
	f := begin(t)
	app := f.app(grants(policy.GrantPassword))
	set := map[string]func(t *testing.T, name, password string) string{
		"added": func(t *testing.T, name, password string) string {
			second(f.People.AddUser(t.Context(), policy.Operator(), people.Person{Username: name, Password: password}))
			return name
		},
		"reset by the operator": func(t *testing.T, name, password string) string {
			f.person(name)
			wantError(t, f.People.ResetPassword(t.Context(), name, password), "no error")
			return name
		},
		"reset by a link": func(t *testing.T, name, password string) string {
			wantError(t, f.People.ResetByLink(t.Context(), f.made(f.person(name)), password), "no error")
			return name
		},
		"changed": func(t *testing.T, name, password string) string {
			s := f.login(name)
			wantError(t, second(f.People.ChangePassword(t.Context(), s, people.Passwords{
				Current: goodPassword,
				Next:    password,
			})), "no error")
			return name
		},
		"changed by an administrator": func(t *testing.T, name, password string) string {
			u := f.person(name)
			wantError(t, f.People.UpdateUser(t.Context(), policy.Operator(), u.ID, people.Person{
				Username: name,
				Password: password,
			}), "no error")
			return name
		},
	}
	n := 0
	for way, do := range set {
		for _, forms := range [][2]string{{composed, decomposed}, {decomposed, composed}, {composed, composed}} {
			n++
			t.Run(way, func(t *testing.T) {
				name := do(t, "person"+string(rune('a'+n)), forms[0])
				_, err := f.People.Login(t.Context(), name, forms[1], people.Browser{})
				wantError(t, err, "no error")
				_, err = f.token(app, "grant_type", policy.GrantPassword, "username", name, "password", forms[1])
				wantError(t, err, "no error")
				_, err = f.People.Login(t.Context(), name, otherText, people.Browser{})
				wantError(t, err, "400 invalid_grant")
			})
		}
	}
}

// rawHash is the hash of a password as another program has made it, without normalization.
func rawHash(t testing.TB, password string) string {
	t.Helper()
	sum, err := pbkdf2.Key(sha256.New, password, []byte("salt"), 1000, 32)
	if err != nil {
		t.Fatal(err)
	}
	return "pbkdf2_sha256$1000$salt$" + base64.StdEncoding.EncodeToString(sum)
}

// The hash of another program, or of an older version, may be of a form that is not the normalized one. It works as it
// was typed there, and from then on in both forms.
func TestImportedPasswordIsNormalizedWhenItIsUsed(t *testing.T) {
	f := begin(t)
	_, err := f.People.Import(t.Context(), []people.Newcomer{{
		Person: people.Person{Username: "alice"},
		Hash:   rawHash(t, decomposed),
	}}, false)
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct{ password, want string }{
		{otherText, "400 invalid_grant"},
		{decomposed, "no error"},
		{composed, "no error"},
		{decomposed, "no error"},
	} {
		_, err := f.People.Login(t.Context(), "alice", step.password, people.Browser{})
		wantError(t, err, step.want)
	}
	u, err := f.store.UserByKey(t.Context(), "alice")
	if err != nil || len(u.Password) < 20 || u.Password[:9] != "$argon2id" {
		t.Errorf("stored is %q, %v", u.Password, err)
	}
}

// A new password is long enough only if it is so in each form: one sign can stand for eighteen.
func TestShortPasswordOfLongSigns(t *testing.T) {
	f := begin(t)
	_, err := f.People.AddUser(t.Context(), policy.Operator(), people.Person{Username: "alice", Password: "\ufdfa\ufdfa"})
	wantInvalid(t, err, "password")
	_, err = f.People.AddUser(t.Context(), policy.Operator(), people.Person{
		Username: "alice",
		Password: "ｐａｓｓｗｏｒｄ１２３４５６７",
	})
	wantInvalid(t, err, "password")
	s := f.login("bob")
	wantError(t, second(f.People.ChangePassword(t.Context(), s, people.Passwords{
		Current: goodPassword,
		Next:    composed,
	})), "no error")
	u, err := f.store.UserByKey(t.Context(), "bob")
	if err != nil {
		t.Fatal(err)
	}
	wantInvalid(t, second(f.People.ChangePassword(t.Context(), &storage.SignedIn{
		User:    u,
		Session: s.Session,
	}, people.Passwords{Current: composed, Next: decomposed})), "new_password")
}

// A secret that a person chose is no different.
func TestClientSecretOfAnotherKeyboard(t *testing.T) {
	f := begin(t)
	for name, hash := range map[string]bool{"hashed": true, "readable": false} {
		for _, forms := range [][2]string{{composed, decomposed}, {decomposed, composed}, {decomposed, decomposed}} {
			app := f.app(func(r *clients.Registration) { r.ClientSecret, r.HashClientSecret = forms[0], hash })
			for secret, want := range map[string]string{forms[1]: "no error", otherText: "401 invalid_client"} {
				_, err := f.token(&clients.Registered{
					Application: app.Application,
					Secret:      secret,
				}, "grant_type", policy.GrantClient)
				if kind(err) != want {
					t.Errorf("%s: %q: %v", name, secret, err)
				}
			}
		}
	}
}
