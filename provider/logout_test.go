package provider

import (
	"testing"
	"testing/synctest"
	"time"

	"mandate/provider/clients"
	"mandate/provider/logout"
	"mandate/storage"
)

const byeURI = "https://client.example/bye"

func leaves(r *clients.Registration) { r.PostLogoutURIs = []string{byeURI} }

// leave sends an application's logout request to the provider.
func (f *fixture) leave(hint string) *logout.Request {
	f.t.Helper()
	l, err := f.Logouts.Read(f.t.Context(), values("id_token_hint", hint, "post_logout_redirect_uri", byeURI))
	if err != nil {
		f.t.Fatal(err)
	}
	return l
}

// RFC 9700 §4.11.2, OIDC RP-Logout §3: if nobody is signed in, the hint must belong to the session that ended in this
// browser.
func TestLogoutFollowsTheEndOfItsSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := begin(t, openID)
		app, pairwise, hmac := f.app(leaves), f.app(leaves, func(r *clients.Registration) { r.Pairwise = true }),
			f.app(leaves, signsHS256)
		s, elsewhere, bob := f.login("alice"), f.login("alice"), f.login("bob")
		kept := map[string]string{}
		for name, of := range map[string]*storage.SignedIn{"this": s, "another session": elsewhere, "another person": bob} {
			text, err := f.Logouts.EndedCookie(of)
			if err != nil {
				t.Fatal(err)
			}
			kept[name] = text
		}
		hint := func(app *clients.Registered, of *storage.SignedIn) string {
			return f.tokens(app, of, "scope", "openid").IDToken
		}
		offline := f.must(f.refresh(app, f.tokens(app, s, "scope", "openid offline_access").RefreshToken)).IDToken
		signed := hint(hmac, s)
		for _, test := range []struct {
			rule, hint, kept string
			want             bool
		}{
			{"the session", hint(app, s), kept["this"], true},
			{"the session, by its pairwise names", hint(pairwise, s), kept["this"], true},
			{"another session of the person", hint(app, elsewhere), kept["this"], false},
			{"the session, and another was here", hint(app, s), kept["another session"], false},
			{"another person's", hint(app, bob), kept["this"], false},
			{"the session, and another person was here", hint(app, s), kept["another person"], false},
			{"the session, and nobody was here", hint(app, s), "", false},
			{"an ID token without sid", offline, kept["this"], false},
			{"the name of the session alone", forge(t, signed, hmac.Secret, map[string]any{"sub": bob.User.ID}),
				kept["this"], false},
			{"what was sealed for something else", hint(app, s), f.sealers.tickets.Seal([]byte(`{"At":99999999999}`), "logout"),
				false},
		} {
			if got := f.Logouts.EndedInThisBrowser(f.leave(test.hint), test.kept); got != test.want {
				t.Errorf("%s: %t, want %t", test.rule, got, test.want)
			}
		}
		l := f.leave(hint(app, s))
		time.Sleep(logout.EndedLife)
		if !f.Logouts.EndedInThisBrowser(l, kept["this"]) {
			t.Error("not after a day")
		}
		time.Sleep(time.Second)
		if f.Logouts.EndedInThisBrowser(l, kept["this"]) {
			t.Error("for ever")
		}
		for _, pairs := range [][]string{{}, {"client_id", app.Application.ClientID, "post_logout_redirect_uri", byeURI}} {
			l, err := f.Logouts.Read(t.Context(), values(pairs...))
			if err != nil {
				t.Fatal(err)
			}
			text, err := f.Logouts.EndedCookie(s)
			if err != nil || f.Logouts.EndedInThisBrowser(l, text) {
				t.Errorf("%v: without a hint, %v", pairs, err)
			}
		}
	})
}
