package provider

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mandate/provider/clients"
	"mandate/provider/policy"
	"mandate/provider/resources"
	"mandate/provider/tokens"
)

func TestResourceIntrospection(t *testing.T) {
	f := begin(t, openID)
	general, ofFiles, ofMail, ofBoth := f.app(introspects), f.app(), f.app(), f.app(introspects)
	f.resource(files, scoped("read", "write"), known(ofFiles, ofBoth, ofFiles))
	f.resource(mailbox, known(ofMail))
	s, app := f.login("alice"), f.app()
	whole := f.tokens(app, s, "resource", files, "resource", mailbox, "resource", server, "scope", "openid read")
	own := f.tokens(app, s, "scope", "openid read")
	alone := f.must(f.refresh(app, whole.RefreshToken, "resource", files))
	whole.RefreshToken = alone.RefreshToken
	for _, test := range []struct {
		rule   string
		caller *clients.Registered
		token  string
		hint   string
		active bool
	}{
		{"its own resource", ofFiles, alone.AccessToken, "", true},
		{"another resource", ofMail, alone.AccessToken, "", false},
		{"no resource", general, alone.AccessToken, "", false},
		{"one of several", ofMail, whole.AccessToken, "", true},
		{"the server, which is one of several", general, whole.AccessToken, "", true},
		{"the server", general, own.AccessToken, "", true},
		{"the server, by a resource", ofFiles, own.AccessToken, "", false},
		{"a resource and the server, a token for the resource", ofBoth, alone.AccessToken, "", true},
		{"a resource and the server, a token for the server", ofBoth, own.AccessToken, "", true},
		{"the client that has the token", app, alone.AccessToken, "", false},
		{"a refresh token, by a resource", ofFiles, whole.RefreshToken, "refresh_token", true},
		{"a refresh token of others, by a resource", ofFiles, own.RefreshToken, "refresh_token", false},
		{"a refresh token, by no resource", general, own.RefreshToken, "refresh_token", true},
	} {
		t.Run(test.rule, func(t *testing.T) {
			if test.caller == app {
				f := f.change(app, introspects)
				if f != nil {
					t.Fatal(f)
				}
			}
			got := f.shown(test.caller, test.token, "token_type_hint", test.hint)
			if got.Active != test.active {
				t.Errorf("active: %t", got.Active)
			}
			if !got.Active && !cmp.Equal(got, tokens.Introspection{}) {
				t.Errorf("RFC7662/2.2 %+v", got)
			}
		})
	}
	// RFC 8707 §2: nobody has restricted these to a resource.
	t.Run("no aud", func(t *testing.T) {
		for name, token := range map[string]string{"a token": own.AccessToken, "a refresh token": own.RefreshToken} {
			if got := f.shown(general, token, "token_type_hint", "refresh_token"); !got.Active || got.Audience != nil {
				t.Errorf("%s that was requested without resource: %+v", name, got)
			}
		}
		signed := f.tokens(
			f.app(func(r *clients.Registration) { r.AccessTokenFormat = policy.FormatJWT }), s, "scope", "read",
		)
		if got := f.shown(general, signed.AccessToken); got.Audience != server {
			t.Errorf("a signed token has the aud %v, and introspection says %v", server, got.Audience)
		}
	})
	t.Run("aud", func(t *testing.T) {
		for token, want := range map[string]string{
			alone.AccessToken: `"` + files + `"`,
			whole.AccessToken: `["` + files + `","` + mailbox + `","` + server + `"]`,
		} {
			got, err := json.Marshal(f.shown(ofFiles, token).Audience)
			if err != nil || string(got) != want {
				t.Errorf("%s, %v", got, err)
			}
		}
	})
	onlyRead := f.must(f.token(f.app(), "grant_type", policy.GrantClient, "resource", files, "scope", "read")).AccessToken
	t.Run("the scopes are those that the resource has now", func(t *testing.T) {
		if !f.shown(ofFiles, onlyRead).Active {
			t.Error("a token with the scope read is not active")
		}
		was, err := f.Resources.Resource(t.Context(), policy.Operator(), files)
		if err != nil {
			t.Fatal(err)
		}
		err = f.Resources.Change(t.Context(), policy.Operator(), was, resources.Registration{
			Name:          "Files",
			Scopes:        []string{"write"},
			Introspectors: []string{ofFiles.Application.ClientID},
		})
		if err != nil {
			t.Fatal(err)
		}
		if got := f.shown(ofFiles, alone.AccessToken).Scope; got != "openid" {
			t.Errorf("got %q", got)
		}
		if f.shown(ofFiles, onlyRead).Active {
			t.Error("a token whose last scope the resource has lost is active")
		}
	})
	// An administrator has named the application as it was. A new owner does not inherit that, nor an application with
	// the same client id.
	t.Run("an introspector with a new owner", func(t *testing.T) {
		bob := f.login("bob").User
		_, err := f.Clients.Assign(
			t.Context(), policy.Operator(), ofMail.Application.ID, f.version(ofMail.Application.ID), bob.Username,
		)
		if err != nil {
			t.Fatal(err)
		}
		_, _, err = f.Tokens.Introspect(t.Context(), by(ofMail, "token", whole.AccessToken), "")
		wantError(t, err, "403 unauthorized_client")
		_, err = f.Clients.TakeOver(t.Context(), policy.Operator(), ofMail.Application.ID, f.version(ofMail.Application.ID))
		if err != nil {
			t.Fatal(err)
		}
		_, _, err = f.Tokens.Introspect(t.Context(), by(ofMail, "token", whole.AccessToken), "")
		wantError(t, err, "403 unauthorized_client")
	})
	t.Run("an introspector that is deleted", func(t *testing.T) {
		err := f.Clients.Delete(t.Context(), policy.Operator(), ofFiles.Application.ID)
		if err != nil {
			t.Fatal(err)
		}
		was, err := f.Resources.Resource(t.Context(), policy.Operator(), files)
		if err != nil || strings.Contains(was.Introspectors, ofFiles.Application.ClientID) {
			t.Errorf("%q, %v", was.Introspectors, err)
		}
	})
	t.Run("the configuration names an application of a person", func(t *testing.T) {
		f := begin(t, func(c *Config) {
			c.Resources.Configured = []resources.Registration{{URI: files, Name: "Files", Introspectors: []string{"of-carol"}}}
		})
		carol := f.login("carol").User
		app, err := f.Clients.Register(t.Context(), policy.By(carol), clients.Registration{
			Name:             "x",
			ClientType:       policy.Confidential,
			GrantTypes:       []string{policy.GrantClient},
			HashClientSecret: true,
		})
		if err != nil {
			t.Fatal(err)
		}
		f.sql(`UPDATE applications SET client_id = 'of-carol' WHERE id = '` + app.Application.ID + `'`)
		app.Application.ClientID = "of-carol"
		f.forgetCopies()
		_, _, err = f.Tokens.Introspect(t.Context(), by(app, "token", "mat_x"), "")
		wantError(t, err, "403 unauthorized_client")
	})
}

// UserInfo and the introspection endpoint are the server itself.
func TestResourceOfTheServer(t *testing.T) {
	f := withResources(t)
	s, app, may := f.login("alice"), f.app(), f.app(introspects)
	whole := f.tokens(app, s, "resource", files, "resource", server, "scope", "openid read")
	foreign := f.must(f.refresh(app, whole.RefreshToken, "resource", files))
	info := func(token string) error {
		_, _, err := f.Tokens.UserInfo(t.Context(), with(post(nil), "Bearer "+token), home.Address)
		return err
	}
	wantError(t, info(whole.AccessToken), "no error")
	wantError(t, info(foreign.AccessToken), "401 invalid_token")
	_, err := f.exchange(may, f.code(may, s, "resource", mailbox, "resource", server, "scope", "introspection"))
	wantError(t, err, "400 invalid_scope")
	person := f.must(f.exchange(
		may, f.code(may, s, "resource", mailbox, "resource", server, "scope", "introspection"), "resource", server,
	))
	other := f.tokens(may, s, "resource", mailbox, "scope", "read")
	ask := func(token string) error {
		_, _, err := f.Tokens.Introspect(t.Context(), with(post(values("token", whole.AccessToken)), "Bearer "+token), "")
		return err
	}
	wantError(t, ask(person.AccessToken), "no error")
	wantError(t, ask(other.AccessToken), "401 invalid_token")
	wantError(t, ask(f.must(f.refresh(may, person.RefreshToken, "resource", server)).AccessToken), "no error")
}
