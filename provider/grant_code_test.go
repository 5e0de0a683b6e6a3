package provider

import (
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"mandate/provider/clients"
	"mandate/provider/oauth"
	"mandate/provider/people"
	"mandate/provider/policy"
	"mandate/provider/tokens"
	"mandate/storage"
)

const elsewhere = "https://client.example/cb2"

func twoURIs(r *clients.Registration) { r.RedirectURIs = []string{callback, elsewhere} }

// Each test case breaks one binding of a code. A refused request does not invalidate the code:
// the right request still works afterwards.
func TestCodeBinding(t *testing.T) {
	f := begin(t)
	app, other, open, open2 := f.app(twoURIs), f.app(), f.app(public), f.app(public)
	s := f.login("alice")
	for _, test := range []struct {
		rule string
		to   *clients.Registered
		by   *clients.Registered
		form []string
		want string
	}{
		{"RFC6749/4.1.3 a code is bound to its client", app, other, nil, "400 invalid_grant"},
		{"RFC6749/4.1.3 a confidential client's code is not for a public one", app, open, nil, "400 invalid_grant"},
		{"RFC6749/4.1.3 a public client's code is bound to it", open, open2, nil, "400 invalid_grant"},
		{"RFC6749/4.1.3 a public client's code is not for a confidential one", open, app, nil, "400 invalid_grant"},
		{
			"RFC6749/4.1.3 the redirect URI is another registered one",
			app,
			app,
			[]string{"redirect_uri", elsewhere},
			"400 invalid_grant",
		},
		{
			"RFC6749/4.1.3 the redirect URI is a foreign one",
			app,
			app,
			[]string{"redirect_uri", "https://evil.example/"},
			"400 invalid_grant",
		},
		{
			"RFC6749/4.1.3 the redirect URI is nearly right",
			app,
			app,
			[]string{"redirect_uri", callback + "/"},
			"400 invalid_grant",
		},
		{
			"RFC6749/4.1.3 the redirect URI and the verifier are missing",
			app,
			app,
			[]string{"redirect_uri", "-", "code_verifier", "-"},
			"400 invalid_grant",
		},
		{
			"RFC7636/4.6 the verifier is another",
			app,
			app,
			[]string{"code_verifier", strings.Repeat("x", 43)},
			"400 invalid_grant",
		},
		{"RFC7636/4.6 the verifier is missing", app, app, []string{"code_verifier", "-"}, "400 invalid_grant"},
		{
			"RFC7636/4.6 the verifier of a public client is missing",
			open,
			open,
			[]string{"code_verifier", "-"},
			"400 invalid_grant",
		},
	} {
		t.Run(test.rule, func(t *testing.T) {
			code := f.code(test.to, s)
			_, err := f.exchange(test.by, code, test.form...)
			wantError(t, err, test.want)
			_, err = f.exchange(test.to, code)
			wantError(t, err, "no error")
		})
	}
	t.Run("RFC6749/4.1.3 OAuth 2.1 §10.2 a code needs its redirect URI, unless a challenge binds it", func(t *testing.T) {
		unbound := []string{"code_challenge", "-", "code_challenge_method", "-"}
		old := f.app()
		for _, test := range []struct {
			app  *clients.Registered
			sent []string
			form []string
			want string
		}{
			{app, nil, []string{"redirect_uri", "-"}, "no error"},
			{app, nil, []string{"redirect_uri", ""}, "no error"},
			{open, nil, []string{"redirect_uri", "-"}, "no error"},
			{old, nil, []string{"redirect_uri", "-"}, "no error"},
			{old, unbound, []string{"redirect_uri", "-", "code_verifier", "-"}, "400 invalid_request"},
			{old, unbound, []string{"redirect_uri", "", "code_verifier", "-"}, "400 invalid_request"},
			{old, unbound, []string{"code_verifier", "-"}, "no error"},
		} {
			_, err := f.exchange(test.app, f.code(test.app, s, test.sent...), test.form...)
			wantError(t, err, test.want)
		}
	})
	t.Run("RFC6749/4.1.3 without a redirect URI at first it may be left out, or be the one it was", func(t *testing.T) {
		single := f.app()
		for uri, want := range map[string]string{"-": "no error", callback: "no error", elsewhere: "400 invalid_grant"} {
			_, err := f.exchange(single, f.code(single, s, "redirect_uri", "-"), "redirect_uri", uri)
			wantError(t, err, want)
		}
	})
	t.Run("RFC8252/7.3 the port of the request is the port of the exchange", func(t *testing.T) {
		native := f.app(public, func(r *clients.Registration) { r.RedirectURIs = []string{"http://127.0.0.1/cb"} })
		code := f.code(native, s, "redirect_uri", "http://127.0.0.1:1/cb")
		for _, uri := range []string{"http://127.0.0.1:2/cb", "http://127.0.0.1/cb"} {
			_, err := f.exchange(native, code, "redirect_uri", uri)
			wantError(t, err, "400 invalid_grant")
		}
		_, err := f.exchange(native, code, "redirect_uri", "http://127.0.0.1:1/cb")
		wantError(t, err, "no error")
	})
	t.Run("RFC6749/4.1.3 a token is no code", func(t *testing.T) {
		answer := f.tokens(app, s)
		for _, token := range []string{answer.AccessToken, answer.RefreshToken} {
			_, err := f.exchange(app, token)
			wantError(t, err, "400 invalid_grant")
		}
		_, err := f.refresh(app, f.code(app, s))
		wantError(t, err, "400 invalid_grant")
	})
}

// Changes between the consent and the exchange of the code.
func TestCodeMeanwhile(t *testing.T) {
	for _, test := range []struct {
		rule   string
		change func(*testing.T, *fixture, *clients.Registered, *storage.SignedIn) error
		want   string
	}{
		{"the account is disabled", func(t *testing.T, f *fixture, _ *clients.Registered, s *storage.SignedIn) error {
			return f.People.DisableUser(t.Context(), s.User.Username)
		}, "400 invalid_grant"},
		{
			"the account is disabled behind our back",
			func(_ *testing.T, f *fixture, _ *clients.Registered, _ *storage.SignedIn) error {
				f.sql("UPDATE users SET active = FALSE")
				return nil
			},
			"400 invalid_grant",
		},
		{
			"the account is disabled and enabled again",
			func(t *testing.T, f *fixture, _ *clients.Registered, s *storage.SignedIn) error {
				_ = f.People.DisableUser(t.Context(), s.User.Username)
				return f.People.UpdateUser(t.Context(), policy.Operator(), s.User.ID, people.Person{Username: s.User.Username})
			},
			"400 invalid_grant",
		},
		{"the person is deleted", func(t *testing.T, f *fixture, _ *clients.Registered, s *storage.SignedIn) error {
			return f.People.DeleteUser(t.Context(), policy.Operator(), s.User.ID, "")
		}, "400 invalid_grant"},
		{"the application is deleted", func(t *testing.T, f *fixture, app *clients.Registered, _ *storage.SignedIn) error {
			return f.Clients.Delete(t.Context(), policy.Operator(), app.Application.ID)
		}, "401 invalid_client"},
		{"the consent is revoked", func(t *testing.T, f *fixture, app *clients.Registered, s *storage.SignedIn) error {
			return f.People.Revoke(t.Context(), s.User.ID, app.Application.ID)
		}, "400 invalid_grant"},
		{"the grant type is taken away", func(t *testing.T, f *fixture, app *clients.Registered, _ *storage.SignedIn) error {
			return f.change(app, grants(policy.GrantClient))
		}, "400 unauthorized_client"},
		{"all its scopes are taken away", func(t *testing.T, f *fixture, app *clients.Registered, _ *storage.SignedIn) error {
			return f.change(app, func(r *clients.Registration) { r.Scopes = []string{"groups"} })
		}, "400 invalid_grant"},
		{"the person signs out", func(t *testing.T, f *fixture, _ *clients.Registered, s *storage.SignedIn) error {
			return f.Logouts.Logout(t.Context(), s)
		}, "no error"},
		{
			"the redirect URI is taken away",
			func(t *testing.T, f *fixture, app *clients.Registered, _ *storage.SignedIn) error {
				return f.change(app, func(r *clients.Registration) { r.RedirectURIs = []string{elsewhere} })
			},
			"no error",
		},
	} {
		t.Run(test.rule, func(t *testing.T) {
			f := begin(t)
			app, s := f.app(), f.login("alice")
			code := f.code(app, s, "scope", "read write")
			err := test.change(t, f, app, s)
			if err != nil {
				t.Fatal(err)
			}
			_, err = f.exchange(app, code)
			wantError(t, err, test.want)
		})
	}
	t.Run("a scope that is taken away is not in the token", func(t *testing.T) {
		f := begin(t)
		app := f.app()
		code := f.code(app, f.login("alice"), "scope", "read write")
		err := f.change(app, func(r *clients.Registration) { r.Scopes = []string{"write", "groups"} })
		if err != nil {
			t.Fatal(err)
		}
		answer := f.must(f.exchange(app, code))
		if d := cmp.Diff("write", answer.Scope); d != "" {
			t.Error(d)
		}
	})
	t.Run("RFC6749/4.1.2 a code ends", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			f := begin(t)
			app, s := f.app(), f.login("alice")
			first, second := f.code(app, s), f.code(app, s)
			time.Sleep(time.Minute - time.Second)
			_, err := f.exchange(app, first)
			wantError(t, err, "no error")
			time.Sleep(time.Second)
			_, err = f.exchange(app, second)
			wantError(t, err, "400 invalid_grant")
		})
	})
}

// change updates the application to the fixture's defaults with these changes.
func (f *fixture) change(app *clients.Registered, changes ...func(*clients.Registration)) error {
	r := clients.Registration{
		Name:             "Client",
		ClientType:       app.Application.ClientType,
		GrantTypes:       strings.Fields(app.Application.GrantTypes),
		RedirectURIs:     oauth.Lines(app.Application.RedirectURIs),
		HashClientSecret: true,
		MayIntrospect:    app.Application.MayIntrospect,
	}
	for _, change := range changes {
		change(&r)
	}
	_, err := f.Clients.Update(f.t.Context(), policy.Operator(), app.Application.ID, f.version(app.Application.ID), r)
	return err
}

func TestCodeReplay(t *testing.T) {
	f := begin(t)
	app, other, s := f.app(), f.app(), f.login("alice")
	t.Run("RFC6749/4.1.2 a second use ends what the first gave", func(t *testing.T) {
		bystander := f.tokens(app, s)
		code := f.code(app, s)
		first := f.must(f.exchange(app, code))
		second := f.must(f.refresh(app, first.RefreshToken))
		f.wantActive(true, first.AccessToken, second.AccessToken, second.RefreshToken)
		_, err := f.exchange(app, code)
		wantError(t, err, "400 invalid_grant")
		f.wantActive(false, first.AccessToken, first.RefreshToken, second.AccessToken, second.RefreshToken)
		f.wantActive(true, bystander.AccessToken, bystander.RefreshToken)
		_, err = f.exchange(app, code)
		wantError(t, err, "400 invalid_grant")
	})
	t.Run("RFC6749/4.1.2 a second use long after the code ended does so too", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			f := begin(t)
			app := f.app()
			code := f.code(app, f.login("alice"))
			first := f.must(f.exchange(app, code))
			time.Sleep(time.Hour)
			_, err := f.store.Sweep(t.Context(), oauth.Now(), 1000)
			if err != nil {
				t.Fatal(err)
			}
			_, err = f.exchange(app, code)
			wantError(t, err, "400 invalid_grant")
			f.wantActive(false, first.AccessToken, first.RefreshToken)
		})
	})
	t.Run("who cannot use a code cannot end its tokens either", func(t *testing.T) {
		code := f.code(app, s)
		first := f.must(f.exchange(app, code))
		for _, form := range [][]string{
			{"code_verifier", strings.Repeat("x", 43)},
			{"code_verifier", "-"},
			{"redirect_uri", elsewhere},
		} {
			_, err := f.exchange(app, code, form...)
			if err == nil {
				t.Fatal(form)
			}
		}
		_, err := f.exchange(other, code)
		wantError(t, err, "400 invalid_grant")
		f.wantActive(true, first.AccessToken, first.RefreshToken)
	})
	t.Run("RFC6749/4.1.2 of many at once at most one wins", func(t *testing.T) {
		for range 5 {
			code := f.code(app, s)
			start := make(chan struct{})
			var wg sync.WaitGroup
			var mu sync.Mutex
			var won []*tokens.TokenResponse
			for range 8 {
				wg.Go(func() {
					<-start
					answer, err := f.exchange(app, code)
					mu.Lock()
					defer mu.Unlock()
					if err == nil {
						won = append(won, answer)
					} else if kind(err) != "400 invalid_grant" {
						t.Error(err)
					}
				})
			}
			close(start)
			wg.Wait()
			if len(won) != 1 {
				t.Fatal(len(won), "exchanges of one code")
			}
			// The other requests proved that two parties have the code, so its tokens are revoked.
			f.wantActive(false, won[0].AccessToken, won[0].RefreshToken)
		}
	})
}
