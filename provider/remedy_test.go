package provider

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"mandate/provider/clients"
	"mandate/provider/people"
	"mandate/provider/policy"
	"mandate/provider/tokens"
	"mandate/storage"
)

// robbed is a person whose account somebody else may have used, with everything that a thief can leave there.
type robbed struct {
	storage.User
	here, there      *storage.SignedIn
	login, other, by *tokens.TokenResponse
	passkey          string
	link             string
}

// rob adds a robbed person. here is a session of the person, and there one of somebody else.
func (f *fixture) rob(t *testing.T, app *clients.Registered, name string) *robbed {
	t.Helper()
	r := &robbed{User: f.person(name)}
	r.by = f.must(f.token(app, "grant_type", policy.GrantPassword, "username", name, "password", goodPassword))
	r.there, r.here = f.login(name), f.login(name)
	f.approve(t, app, r.there, "scope", "openid read")
	r.login, r.other = f.tokens(app, r.there, "scope", "openid read"), f.tokens(app, r.there, "scope", "read")
	_, r.here = f.enrol(r.here)
	_, key := f.passkey(r.here)
	_, in, err := f.People.NewRecoveryCodes(t.Context(), r.here)
	r.here, r.passkey = f.signedIn(in, err), key.ID
	f.sql(fmt.Sprintf(
		`INSERT INTO identities (issuer, subject, user_id, created_at, last_used_at) VALUES ('https://other.example',
			'thief of %s', '%s', 0, 0)`,
		name,
		r.ID,
	))
	r.link = f.made(r.User)
	r.User, err = f.People.User(t.Context(), r.ID)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// left returns what is left of each column of the table. here is the session after the remedy.
func (f *fixture) left(t *testing.T, r *robbed, here *people.SignIn) map[string]string {
	t.Helper()
	says := func(stays bool) string {
		if stays {
			return "stay"
		}
		return "end"
	}
	rows := func(table string) string { return says(f.count(table+" WHERE user_id = '"+r.ID+"'") > 0) }
	digests := func(s *storage.SignedIn) string {
		return says(f.count("sessions WHERE digest = '"+s.Session.Digest+"'") > 0)
	}
	this := map[string]string{"stay": "stays", "end": "ends"}[digests(r.here)]
	if here != nil {
		_, err := f.People.SignedIn(t.Context(), here.Session)
		if err != nil || this != "ends" {
			t.Errorf("the cookie was not replaced: %v", err)
		}
		this = "same, new cookie"
	}
	u, err := f.People.User(t.Context(), r.ID)
	return map[string]string{
		"This session":                 this,
		"Other sessions":               digests(r.there),
		"Consents":                     rows("consents"),
		"Tokens of a login":            says(f.active(r.login.AccessToken) && f.active(r.login.RefreshToken)),
		"Other tokens":                 says(f.active(r.other.AccessToken) && f.active(r.other.RefreshToken)),
		"Tokens of the password grant": says(f.active(r.by.AccessToken)),
		"Passkeys":                     rows("passkeys"),
		"Authenticator app":            rows("totps"),
		"Recovery codes":               rows("recovery_codes"),
		"Accounts of other servers":    rows("identities"),
		"Known browsers":               says(err == nil && u.Generation == r.Generation),
		"Waiting links":                rows("links"),
	}
}

// remedies reads the table of docs/security-model.md.
func remedies(t *testing.T) map[string]map[string]string {
	t.Helper()
	text, err := os.ReadFile("../docs/security-model.md")
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(text), "### What each remedy ends\n")
	table, _, _ := strings.Cut(after, "\n## ")
	var head []string
	rows, last := map[string]map[string]string{}, ""
	for line := range strings.Lines(table) {
		cells := strings.Split(strings.TrimSpace(line), "|")
		if len(cells) < 4 || strings.HasPrefix(cells[1], "-") {
			continue
		}
		cells = cells[1 : len(cells)-1]
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		if head == nil {
			head = cells
			continue
		}
		name := cells[0]
		if strings.HasPrefix(name, "The same") {
			name = last + "/" + name
		} else {
			last = name
		}
		rows[name] = map[string]string{}
		for i, column := range head[1:] {
			rows[name][column] = cells[1+i]
		}
	}
	return rows
}

// Whoever has lost an account and got it back relies on what the page says that each remedy ends.
func TestRemediesEndWhatThePageSays(t *testing.T) {
	const next = "another few words"
	plain := func(err error) (*people.SignIn, error) { return nil, err }
	type remedy func(f *fixture, app *clients.Registered, r *robbed, admin *storage.SignedIn) (*people.SignIn, error)
	identity := func(f *fixture, r *robbed) string {
		own, err := f.Identities.Of(f.t.Context(), r.ID)
		if err != nil || len(own) != 1 {
			f.t.Fatal(own, err)
		}
		return own[0].ID
	}
	set := map[string]remedy{
		"The person changes the password": func(
			f *fixture, _ *clients.Registered, r *robbed, _ *storage.SignedIn,
		) (*people.SignIn, error) {
			return f.People.ChangePassword(f.t.Context(), r.here, people.Passwords{Current: goodPassword, Next: next})
		},
		"The person changes the password/The same, without *Also end the access that applications were given*": func(
			f *fixture, _ *clients.Registered, r *robbed, _ *storage.SignedIn,
		) (*people.SignIn, error) {
			return f.People.ChangePassword(f.t.Context(), r.here, people.Passwords{
				Current:       goodPassword,
				Next:          next,
				KeepApprovals: true,
			})
		},
		"A link sets a password": func(
			f *fixture, _ *clients.Registered, r *robbed, _ *storage.SignedIn,
		) (*people.SignIn, error) {
			return plain(f.People.ResetByLink(f.t.Context(), r.link, next))
		},
		"`mandate user passwd`, or an administrator sets the password": func(
			f *fixture, _ *clients.Registered, r *robbed, _ *storage.SignedIn,
		) (*people.SignIn, error) {
			return plain(f.People.ResetPassword(f.t.Context(), r.Username, next))
		},
		"`mandate user reset-factors`, or *Remove the second factor*; the person has a password": func(
			f *fixture, _ *clients.Registered, r *robbed, _ *storage.SignedIn,
		) (*people.SignIn, error) {
			return plain(f.People.ResetFactors(f.t.Context(), r.Username))
		},
		"`mandate user reset-factors`, or *Remove the second factor*; the person has a password/The same; the person has no password": func(
			f *fixture, _ *clients.Registered, r *robbed, admin *storage.SignedIn,
		) (*people.SignIn, error) {
			f.sql("UPDATE users SET password = '' WHERE id = '" + r.ID + "'")
			return plain(f.People.ResetFactorsOf(f.t.Context(), admin, r.ID))
		},
		"`mandate user logout`, or *Sign out everywhere*": func(
			f *fixture, _ *clients.Registered, r *robbed, _ *storage.SignedIn,
		) (*people.SignIn, error) {
			return plain(second(f.People.EndSessions(f.t.Context(), r.ID)))
		},
		"*Sign out* of one other browser": func(
			f *fixture, _ *clients.Registered, r *robbed, _ *storage.SignedIn,
		) (*people.SignIn, error) {
			return plain(f.People.EndSession(f.t.Context(), r.ID, r.there.Session.ID))
		},
		"The person removes the authenticator app": func(
			f *fixture, _ *clients.Registered, r *robbed, _ *storage.SignedIn,
		) (*people.SignIn, error) {
			return f.People.RemoveTOTP(f.t.Context(), r.here)
		},
		"The person removes a passkey": func(
			f *fixture, _ *clients.Registered, r *robbed, _ *storage.SignedIn,
		) (*people.SignIn, error) {
			return f.Passkeys.Remove(f.t.Context(), r.here, r.passkey)
		},
		"The person removes an account of another server": func(
			f *fixture, _ *clients.Registered, r *robbed, _ *storage.SignedIn,
		) (*people.SignIn, error) {
			return f.Identities.Remove(f.t.Context(), r.here, identity(f, r))
		},
		"An administrator removes a passkey": func(
			f *fixture, _ *clients.Registered, r *robbed, admin *storage.SignedIn,
		) (*people.SignIn, error) {
			return plain(f.Passkeys.RemoveOf(f.t.Context(), policy.ByConfirmed(admin.User), r.ID, r.passkey))
		},
		"An administrator removes an account of another server": func(
			f *fixture, _ *clients.Registered, r *robbed, admin *storage.SignedIn,
		) (*people.SignIn, error) {
			return plain(f.Identities.RemoveOf(f.t.Context(), policy.ByConfirmed(admin.User), r.ID, identity(f, r), false))
		},
		"The access of one application is revoked": func(
			f *fixture, app *clients.Registered, r *robbed, _ *storage.SignedIn,
		) (*people.SignIn, error) {
			return plain(f.People.Revoke(f.t.Context(), r.ID, app.Application.ID))
		},
		"`mandate user disable`, or an administrator disables the account": func(
			f *fixture, _ *clients.Registered, r *robbed, _ *storage.SignedIn,
		) (*people.SignIn, error) {
			return plain(f.People.DisableUser(f.t.Context(), r.Username))
		},
		"`mandate user delete`, or an administrator deletes the account": func(
			f *fixture, _ *clients.Registered, r *robbed, _ *storage.SignedIn,
		) (*people.SignIn, error) {
			return plain(f.People.DeleteUser(f.t.Context(), policy.Operator(), r.ID, ""))
		},
	}
	page := remedies(t)
	for name := range page {
		if set[name] == nil {
			t.Errorf("the page has a remedy that is not tried: %s", name)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		f := begin(t, withOpenID)
		app := f.app()
		root, err := f.People.AddUser(t.Context(), policy.Operator(), people.Person{
			Username:      "root",
			Password:      goodPassword,
			Administrator: true,
		})
		if err != nil {
			t.Fatal(err)
		}
		names := make([]string, 0, len(set))
		for name := range set {
			names = append(names, name)
		}
		slices.Sort(names)
		for n, name := range names {
			r := f.rob(t, app, fmt.Sprint("person", n))
			for column, stays := range f.left(t, r, nil) {
				if !strings.HasPrefix(stays, "stay") {
					t.Fatalf("%s: %s %s before the remedy", name, column, stays)
				}
			}
			in, err := set[name](f, app, r, f.login(root.Username))
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			if d := cmp.Diff(page[name], f.left(t, r, in)); d != "" {
				t.Errorf("%s: - the page, + the server\n%s", name, d)
			}
		}
	})
}
