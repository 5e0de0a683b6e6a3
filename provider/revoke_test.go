package provider

import (
	"errors"
	"testing"

	"mandate/provider/clients"
	"mandate/provider/oauth"
	"mandate/provider/policy"
)

func TestRevocation(t *testing.T) {
	f := begin(t)
	s := f.login("alice")
	app, other, open, open2 := f.app(), f.app(), f.app(public), f.app(public)
	revoke := func(app *clients.Registered, pairs ...string) error {
		revoked, err := f.Tokens.Revoke(t.Context(), by(app, pairs...), "")
		if revoked.Client != app.Application.ClientID {
			t.Errorf("the caller is %q", revoked.Client)
		}
		return err
	}
	bystander := f.tokens(app, s)
	for _, client := range []*clients.Registered{app, open} {
		for _, hint := range []string{"-", "access_token", "refresh_token", "unknown"} {
			t.Run("RFC7009/2.1 a refresh token takes its family with it, by the hint "+hint, func(t *testing.T) {
				first := f.tokens(client, s)
				second := f.must(f.refresh(client, first.RefreshToken))
				wantError(t, revoke(client, "token", second.RefreshToken, "token_type_hint", hint), "no error")
				f.wantActive(false, first.AccessToken, second.AccessToken, second.RefreshToken)
				_, err := f.refresh(client, second.RefreshToken)
				wantError(t, err, "400 invalid_grant")
			})
			t.Run("RFC7009/2.1 an access token takes its family with it, by the hint "+hint, func(t *testing.T) {
				answer := f.tokens(client, s)
				wantError(t, revoke(client, "token", answer.AccessToken, "token_type_hint", hint), "no error")
				f.wantActive(false, answer.AccessToken, answer.RefreshToken)
			})
		}
		t.Run("RFC7009/2.1 a refresh token that was rotated still names its family", func(t *testing.T) {
			first := f.tokens(client, s)
			second := f.must(f.refresh(client, first.RefreshToken))
			wantError(t, revoke(client, "token", first.RefreshToken), "no error")
			f.wantActive(false, first.AccessToken, second.AccessToken, second.RefreshToken)
		})
	}
	t.Run("RFC7009/2.1 an application's own token goes alone", func(t *testing.T) {
		first, second := f.must(f.token(app, "grant_type", policy.GrantClient)),
			f.must(f.token(app, "grant_type", policy.GrantClient))
		wantError(t, revoke(app, "token", first.AccessToken), "no error")
		f.wantActive(false, first.AccessToken)
		f.wantActive(true, second.AccessToken)
	})
	t.Run("RFC7009/2.2 a token that is not there is as good as revoked", func(t *testing.T) {
		answer := f.tokens(app, s)
		for _, token := range []string{"unknown", answer.AccessToken, answer.AccessToken, answer.RefreshToken, "\x01", "ü"} {
			wantError(t, revoke(app, "token", token), "no error")
		}
		for token, unknown := range map[string]bool{"unknown": true, answer.RefreshToken: true,
			f.tokens(app, s).AccessToken: false} {
			revoked, err := f.Tokens.Revoke(t.Context(), by(app, "token", token), "")
			if err != nil || revoked.Unknown != unknown {
				t.Errorf("%v, %v, want unknown: %t", revoked, err, unknown)
			}
		}
	})
	t.Run("RFC7009/2.1 a token of another client stays", func(t *testing.T) {
		answer, native, machine := f.tokens(app, s), f.tokens(open, s), f.must(f.token(app, "grant_type", policy.GrantClient))
		for _, test := range []struct {
			by    *clients.Registered
			token string
		}{{other, answer.AccessToken}, {other, answer.RefreshToken}, {open, answer.RefreshToken}, {other, native.AccessToken},
			{open2, native.RefreshToken}, {other, machine.AccessToken}} {
			wantError(t, revoke(test.by, "token", test.token), "400 invalid_grant")
		}
		f.wantActive(true, answer.AccessToken, answer.RefreshToken, native.AccessToken, native.RefreshToken,
			machine.AccessToken)
	})
	t.Run("RFC7009/2.1 who does not prove who it is revokes nothing", func(t *testing.T) {
		answer := f.tokens(app, s)
		for _, r := range []*clients.Registered{{Application: app.Application, Secret: "wrong"},
			{Application: app.Application, Secret: ""}} {
			_, err := f.Tokens.Revoke(t.Context(), by(r, "token", answer.AccessToken), "")
			wantError(t, err, "401 invalid_client")
		}
		_, err := f.Tokens.Revoke(t.Context(), post(values("token", answer.AccessToken)), "")
		wantError(t, err, "401 invalid_client")
		_, err = f.Tokens.Revoke(t.Context(), with(post(values("token", answer.AccessToken)), "Bearer "+answer.AccessToken),
			"")
		wantError(t, err, "401 invalid_client")
		f.wantActive(true, answer.AccessToken, answer.RefreshToken)
	})
	t.Run("RFC7009/2.1 no token", func(t *testing.T) {
		wantError(t, revoke(app), "400 invalid_request")
		wantError(t, revoke(app, "token", ""), "400 invalid_request")
	})
	t.Run("the operator ends a token of anybody", func(t *testing.T) {
		answer := f.tokens(open, s)
		err := f.Tokens.RevokeByOperator(t.Context(), answer.AccessToken)
		if err != nil {
			t.Fatal(err)
		}
		f.wantActive(false, answer.AccessToken, answer.RefreshToken)
		if err := f.Tokens.RevokeByOperator(t.Context(), answer.AccessToken); !errors.Is(err, oauth.ErrNotFound) {
			t.Error(err)
		}
	})
	f.wantActive(true, bystander.AccessToken, bystander.RefreshToken)
}

// Everything that an application holds is revoked at once: tokens of both formats, codes and
// consents. Then it gets new tokens, and people are asked again.
func TestRevokeAll(t *testing.T) {
	f := begin(t, shortJWT)
	alice, bob := f.login("alice"), f.person("bob")
	other := f.app(grants(policy.GrantCode, policy.GrantClient))
	for name, format := range map[string]func(*clients.Registration){policy.FormatOpaque: func(*clients.Registration) {},
		policy.FormatJWT: signed} {
		app := f.app(format, grants(policy.GrantCode, policy.GrantClient))
		held := func() []string {
			mine := f.tokens(app, alice)
			return []string{f.must(f.token(app, "grant_type", policy.GrantClient)).AccessToken, mine.AccessToken,
				mine.RefreshToken}
		}
		old, theirs := held(), f.tokens(other, alice)
		code := f.code(app, alice)
		request := f.authorize(app)
		if _, err := f.Authorizations.Approve(t.Context(), request, alice); err != nil {
			t.Fatal(err)
		}
		f.wantActive(true, old...)
		if err := f.Clients.RevokeAll(t.Context(), policy.By(bob), app.Application.ID); !errors.Is(err, oauth.ErrNotFound) {
			t.Errorf("another person: %v", err)
		}
		f.wantActive(true, old...)
		if err := f.Clients.RevokeAll(t.Context(), policy.Operator(), app.Application.ID); err != nil {
			t.Fatal(err)
		}
		f.wantActive(false, old...)
		f.wantActive(true, theirs.AccessToken)
		_, err := f.exchange(app, code)
		wantError(t, err, "400 invalid_grant")
		_, err = f.refresh(app, old[2])
		wantError(t, err, "400 invalid_grant")
		needed, err := f.Authorizations.RequiredInteraction(t.Context(), f.authorize(app), alice)
		if err != nil || needed == nil || len(needed.Approved) > 0 {
			t.Errorf("%s: %v: the person is not asked again: %+v", name, err, needed)
		}
		again := held()
		f.wantActive(true, again...)
		// A signed token that is revoked alone stays revoked.
		if err := f.Tokens.RevokeByOperator(t.Context(), again[0]); err != nil {
			t.Fatal(err)
		}
		f.wantActive(false, again[0])
		f.wantActive(true, again[1:]...)
		if err := f.Clients.RevokeAll(t.Context(), policy.Operator(), app.Application.ID); err != nil {
			t.Fatal(err)
		}
		f.wantActive(false, again...)
	}
	// A device whose approval was revoked gets nothing. One that nobody has approved yet waits on.
	television := f.television()
	approved, waiting := f.asks(television), f.asks(television)
	f.allow(approved, alice)
	if err := f.Clients.RevokeAll(t.Context(), policy.Operator(), television.Application.ID); err != nil {
		t.Fatal(err)
	}
	_, err := f.token(television, pollWith(approved)...)
	wantError(t, err, "400 invalid_grant")
	_, err = f.token(television, pollWith(waiting)...)
	wantError(t, err, "400 authorization_pending")
	f.allow(waiting, alice)
	f.wantActive(true, f.must(f.token(television, pollWith(waiting)...)).AccessToken)
}
