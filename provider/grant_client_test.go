package provider

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"mandate/provider/clients"
	"mandate/provider/policy"
)

func TestClientCredentials(t *testing.T) {
	f := begin(t)
	app, may, few := f.app(grants(policy.GrantClient)), f.app(introspects),
		f.app(func(r *clients.Registration) { r.Scopes = []string{"read", "groups"} })
	for _, test := range []struct {
		rule  string
		app   *clients.Registered
		form  []string
		scope string
		err   string
	}{
		{"RFC6749/3.3 the default scopes", app, nil, "read write groups", "no error"},
		{"RFC6749/3.3 an empty scope counts as left out", app, []string{"scope", ""}, "read write groups", "no error"},
		{"RFC6749/3.3 the scopes asked for", app, []string{"scope", "write read write"}, "write read", "no error"},
		{"RFC6749/3.3 the default is cut to the application", few, nil, "read groups", "no error"},
		{"RFC6749/5.2 a scope of others", few, []string{"scope", "write"}, "", "400 invalid_scope"},
		{"RFC6749/5.2 an unknown scope", app, []string{"scope", "unknown"}, "", "400 invalid_scope"},
		{"RFC6749/3.3 a malformed scope", app, []string{"scope", "read\twrite"}, "", "400 invalid_scope"},
		{"RFC6749/3.3 further spaces have no meaning", app, []string{"scope", " read  write "}, "read write", "no error"},
		{"RFC6749/5.1 an unknown scope is left out, and the response says so", app, []string{"scope", "unknown write"},
			"write", "no error"},
		{"RFC6749/5.1 a scope of others is left out, and the response says so", few, []string{"scope", "groups write"},
			"groups", "no error"},
		{"introspection is not allowed", app, []string{"scope", "introspection"}, "", "400 invalid_scope"},
		{"introspection is allowed", may, []string{"scope", "introspection"}, "introspection", "no error"},
		{"introspection is no default", may, nil, "read write groups", "no error"},
		{"RFC6749/3.2 what is not known is ignored", app, []string{"audience", "https://api.example", "username", "alice"},
			"read write groups", "no error"},
	} {
		t.Run(test.rule, func(t *testing.T) {
			answer, err := f.token(test.app, append([]string{"grant_type", policy.GrantClient}, test.form...)...)
			wantError(t, err, test.err)
			if err != nil {
				return
			}
			token, err := f.Tokens.LiveToken(t.Context(), answer.AccessToken)
			if err != nil {
				t.Fatal(err)
			}
			want := []any{test.scope, test.scope, "", int64(36000), test.app.Application.ID, (*string)(nil)}
			if d := cmp.Diff(want, []any{answer.Scope, token.Scope, answer.RefreshToken, answer.ExpiresIn, token.Application,
				token.UserID}); d != "" {
				t.Error("RFC6749/4.4.3", d)
			}
		})
	}
	t.Run("a token ends with its time, its application, and its revocation", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			f := begin(t)
			app := f.app()
			first, second := f.must(f.token(app, "grant_type", policy.GrantClient)),
				f.must(f.token(app, "grant_type", policy.GrantClient))
			_, err := f.Tokens.Revoke(t.Context(), by(app, "token", first.AccessToken), "")
			wantError(t, err, "no error")
			f.wantActive(false, first.AccessToken)
			time.Sleep(10*time.Hour - time.Second)
			f.wantActive(true, second.AccessToken)
			time.Sleep(time.Second)
			f.wantActive(false, second.AccessToken)
			third := f.must(f.token(app, "grant_type", policy.GrantClient))
			err = f.Clients.Delete(t.Context(), policy.Operator(), app.Application.ID)
			if err != nil {
				t.Fatal(err)
			}
			f.wantActive(false, third.AccessToken)
		})
	})
}
