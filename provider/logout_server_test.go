package provider

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"mandate/provider/clients"
	"mandate/provider/policy"
	"mandate/storage"
	"mandate/testkit"
)

// ends sends a logout request of the server of an application, and reports whether the session of s lives on.
func (f *fixture) ends(r *http.Request, s *storage.SignedIn) (alive bool, err error) {
	f.t.Helper()
	_, err = f.Logouts.ByServer(f.t.Context(), r, "192.0.2.1")
	sessions, wrong := f.store.SessionsOf(f.t.Context(), s.User.ID, time.Now().Unix(), 0)
	if wrong != nil {
		f.t.Fatal(wrong)
	}
	for _, one := range sessions {
		alive = alive || one.ID == s.Session.ID
	}
	return alive, err
}

// OIDC RP-Logout §2, §6: the server of an application ends the session that an ID token of this application names, and
// no other one.
func TestLogoutByServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := begin(t, openID)
		for name, app := range map[string]*clients.Registered{
			"public subjects":   f.app(),
			"pairwise subjects": f.app(func(r *clients.Registration) { r.Pairwise = true }),
			"HS256":             f.app(signsHS256),
		} {
			for _, method := range []string{http.MethodPost, http.MethodGet} {
				s, other := f.login("alice"), f.login("alice")
				tokens := f.tokens(app, s, "scope", "openid")
				kept := f.tokens(app, other, "scope", "openid")
				time.Sleep(2 * time.Hour) // the ID token has expired
				for range 2 {             // it is safe to repeat
					r := by(app, "id_token_hint", tokens.IDToken)
					if method == http.MethodGet {
						r = httptest.NewRequest(method, "https://auth.example/o/logout/?id_token_hint="+tokens.IDToken, nil)
						r.SetBasicAuth(app.Application.ClientID, app.Secret)
					}
					if alive, err := f.ends(r, s); alive || err != nil {
						t.Errorf("%s, %s: the session lives: %t, %v", name, method, alive, err)
					}
				}
				f.wantActive(false, tokens.AccessToken)
				f.wantActive(true, kept.AccessToken)
			}
		}
	})
}

// A logout request without a browser needs proof of who sends it: somebody who has seen an ID token, a stranger, a
// public application or another one signs nobody out.
//
// Logout CSRF is the class (OIDC RP-Logout §6; RFC 9700 §4.11.2 for what a browser is made to send).
func TestAttackForgedLogoutByServer(t *testing.T) {
	f := begin(t, openID)
	app, other, hmac := f.app(), f.app(), f.app(signsHS256)
	phone := f.app(public)
	s, bob := f.login("alice"), f.login("bob")
	hint := f.tokens(app, s, "scope", "openid").IDToken
	offline := f.must(f.refresh(app, f.tokens(app, s, "scope", "openid offline_access").RefreshToken)).IDToken
	signed := f.tokens(hmac, s, "scope", "openid").IDToken
	get := func(query string) *http.Request {
		return httptest.NewRequest(http.MethodGet, "https://auth.example/o/logout/?"+query, nil)
	}
	wrong := &clients.Registered{Application: app.Application, Secret: "wrong"}
	for name, test := range map[string]struct {
		r    *http.Request
		want string
	}{
		"nobody":         {post(values("id_token_hint", hint)), "401 invalid_client"},
		"nobody, by GET": {get("id_token_hint=" + hint), "401 invalid_client"},
		"the client id alone": {post(values(
			"id_token_hint", hint, "client_id", app.Application.ClientID,
		)), "401 invalid_client"},
		"a wrong secret":      {by(wrong, "id_token_hint", hint), "401 invalid_client"},
		"another application": {by(other, "id_token_hint", hint), "400 invalid_request"},
		"a public application": {post(values(
			"id_token_hint", f.tokens(phone, s, "scope", "openid").IDToken, "client_id", phone.Application.ClientID,
		)), "401 invalid_client"},
		"the secret in the query": {
			get("id_token_hint=" + hint + "&client_id=" + app.Application.ClientID + "&client_secret=" + app.Secret),
			"400 invalid_request",
		},
		"an assertion in the query": {get("id_token_hint=" + hint + "&client_assertion=x"), "400 invalid_request"},
		"no hint":                   {by(app), "400 invalid_request"},
		"no ID token":               {by(app, "id_token_hint", "x"), "400 invalid_request"},
		"two hints": {post(map[string][]string{
			"id_token_hint": {hint, hint},
			"client_id":     {app.Application.ClientID},
			"client_secret": {app.Secret},
		}), "400 invalid_request"},
		"no session": {by(app, "id_token_hint", offline), "400 invalid_request"},
		"its own ID token of other people": {by(hmac, "id_token_hint", forge(
			t, signed, hmac.Secret, map[string]any{"sub": bob.User.ID},
		)), "400 invalid_request"},
		"its own ID token of no session": {by(hmac, "id_token_hint", forge(
			t, signed, hmac.Secret, map[string]any{"sid": "x"},
		)), "no error"},
	} {
		alive, err := f.ends(test.r, s)
		wantError(t, err, test.want)
		if !alive {
			t.Fatalf("%s: signed out", name)
		}
	}
	f.sql("UPDATE applications SET responsible = 'nobody' WHERE id = '" + other.Application.ID + "'")
	alive, err := f.ends(by(other, "id_token_hint", f.tokens(app, s, "scope", "openid").IDToken), s)
	if err == nil || !alive {
		t.Errorf("an application of nobody: %v, alive %t", err, alive)
	}
	// An application that is suspended or deleted has no say.
	alice := f.person("carol")
	owned, err := f.Clients.Register(t.Context(), policy.By(alice), clients.Registration{
		Name:             "Own",
		ClientType:       policy.Confidential,
		GrantTypes:       []string{policy.GrantCode},
		RedirectURIs:     []string{callback},
		HashClientSecret: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	hint = f.tokens(owned, s, "scope", "openid").IDToken
	if err := f.People.DisableUser(t.Context(), "carol"); err != nil {
		t.Fatal(err)
	}
	alive, err = f.ends(by(owned, "id_token_hint", hint), s)
	wantError(t, err, "401 invalid_client")
	if err := f.Clients.Delete(t.Context(), policy.Operator(), owned.Application.ID); err != nil || !alive {
		t.Fatal(err, alive)
	}
	alive, err = f.ends(by(owned, "id_token_hint", hint), s)
	wantError(t, err, "401 invalid_client")
	if !alive {
		t.Error("signed out")
	}
}

// An operator who lets people be asked each time has no sign-out without them.
func TestLogoutByServerIsNotWithoutTheQuestion(t *testing.T) {
	f := begin(t, openID, func(c *Config) { c.Logout.AlwaysPrompt = true })
	app, s := f.app(), f.login("alice")
	alive, err := f.ends(by(app, "id_token_hint", f.tokens(app, s, "scope", "openid").IDToken), s)
	wantError(t, err, "400 unauthorized_client")
	if !alive {
		t.Error("signed out")
	}
}

// Guesses at the secret are limited as at the token endpoint.
func TestAttackLogoutByServerGuesses(t *testing.T) {
	f := begin(t, openID)
	app := f.app()
	wrong := &clients.Registered{Application: app.Application, Secret: "wrong"}
	for range 1000 {
		_, err := f.Logouts.ByServer(t.Context(), by(wrong, "id_token_hint", "x"), "192.0.2.1")
		if kind(err) == "429 temporarily_unavailable" {
			return
		}
		wantError(t, err, "401 invalid_client")
	}
	t.Error("a thousand guesses are answered")
}

// OIDC Core §8.1: two sectors cannot compare their names of a session, and only this server reads them.
func TestPairwiseSessionIsRead(t *testing.T) {
	f := begin(t, openID)
	s := f.login("alice")
	one, two := f.Tokens.SID("one.example", s.Session.ID), f.Tokens.SID("two.example", s.Session.ID)
	if one == two || one[:8] == two[:8] || one != f.Tokens.SID("one.example", s.Session.ID) {
		t.Errorf("%s and %s", one, two)
	}
	if got := f.Tokens.SessionOf("one.example", one); got != s.Session.ID {
		t.Errorf("%q", got)
	}
	altered := []string{testkit.Changed(one, 0), testkit.Changed(one, len(one)-2)}
	for _, text := range append(altered, "", "x", one[:22], one+"A", two) {
		if got := f.Tokens.SessionOf("one.example", text); got != "" {
			t.Errorf("%s is %s", text, got)
		}
	}
}
