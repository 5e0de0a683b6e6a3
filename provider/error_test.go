package provider

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"mandate/provider/authorize"
	"mandate/provider/clients"
	"mandate/provider/oauth"
	"mandate/provider/people"
	"mandate/provider/policy"
	"mandate/provider/tokens"
	"mandate/storage"
)

func TestErrorText(t *testing.T) {
	t.Run("RFC6749/4.1.2.1 what a client sent does not leave that set", func(t *testing.T) {
		f := begin(t)
		app := f.app()
		for _, scope := range []string{`re"ad`, "\\", "ü", "<script>", "a\nb"} {
			a, err := f.Authorizations.Authorize(t.Context(), f.query(app, "scope", scope, "na\"me\\ü", "x"))
			if err != nil || a.Refused == nil {
				t.Fatal(scope, err)
			}
			text := queryOf(t, f.Authorizations.Refusal(a, a.Refused).Location()).Get("error_description")
			if text == "" || text != oauth.ASCII(text) {
				t.Errorf("%q", text)
			}
		}
	})
	t.Run("the log does not get what the client sent", func(t *testing.T) {
		f := begin(t)
		app, s := f.app(introspects), f.login("alice")
		const secret = "a-secret-in-the-wrong-place"
		var told []error
		for _, pairs := range [][]string{
			{"scope", secret},
			{"response_type", secret},
			{"response_mode", secret},
			{"state", strings.Repeat(secret, 100)},
			{"code_challenge", secret},
			{"code_challenge_method", secret},
			{"redirect_uri", "https://client.example/" + secret},
			{"prompt", secret},
			{"request", secret},
			{"request_uri", secret},
		} {
			a, err := f.Authorizations.Authorize(t.Context(), f.query(app, pairs...))
			if err == nil && a.Refused != nil {
				err = a.Refused
			}
			told = append(told, err)
		}
		twice := f.query(app)
		twice[secret] = []string{"1", "2"}
		a, err := f.Authorizations.Authorize(t.Context(), twice)
		if err != nil || a.Refused == nil {
			t.Fatal(err)
		}
		told = append(told, a.Refused)
		for _, pairs := range [][]string{
			{"grant_type", secret},
			{"grant_type", policy.GrantClient, "scope", secret},
			{"grant_type", policy.GrantCode, "code", secret, "code_verifier", verifier},
			{"grant_type", policy.GrantCode, "code", f.code(app, s), "redirect_uri", callback, "code_verifier", secret},
			{"grant_type", policy.GrantCode, "code", f.code(app, s), "redirect_uri", secret, "code_verifier", verifier},
			{"grant_type", policy.GrantRefresh, "refresh_token", secret},
			{"grant_type", policy.GrantPassword, "username", secret, "password", secret},
			{"grant_type", policy.GrantClient, secret, "\xff"},
		} {
			told = append(told, second(f.token(app, pairs...)))
		}
		shown := 0
		for i, err := range told {
			e, ok := errors.AsType[*oauth.Error](err)
			switch {
			case err == nil: // this server ignores the parameter
			case strings.Contains(err.Error(), secret):
				t.Errorf("%d: %v", i, err)
			case ok && strings.Contains(e.Description, secret):
				shown++
			}
		}
		if shown < 5 {
			t.Errorf("only %d of %d answers show the client's developer what was sent", shown, len(told))
		}
	})
}

// CVE-2020-15223 and similar defects: if the database fails, the status is 5xx. The error never
// says that a record does not exist.
func TestDatabaseFails(t *testing.T) {
	type world struct {
		*fixture
		app, open *clients.Registered
		s         *storage.SignedIn
		a         *authorize.Authorization
		asked     *authorize.Interaction
		code      string
		answer    *tokens.TokenResponse
		machine   *tokens.TokenResponse
		setup     string
		document  *clients.Registered      // a client with a metadata document that nobody has approved
		stranger  *authorize.Authorization // its request
	}
	site := newDocumentSite(t)
	prepare := func(t *testing.T) *world {
		w := &world{fixture: begin(t, site.reads, mailsTo(nowhere), func(c *Config) { c.RefreshGrace = 0 })}
		w.document = site.serves("/c", "")
		w.stranger = w.authorize(w.document)
		w.setup = linkOf(t, w.Provider)
		w.app, w.open, w.s = w.fixture.app(introspects), w.fixture.app(public), w.login("alice")
		w.a = w.authorize(w.app)
		var err error
		w.asked, err = w.Authorizations.RequiredInteraction(t.Context(), w.a, w.s)
		if err != nil {
			t.Fatal(err)
		}
		w.code, w.answer = w.fixture.code(w.app, w.s), w.tokens(w.app, w.s)
		w.machine = w.must(w.token(w.app, "grant_type", policy.GrantClient, "scope", "introspection read"))
		return w
	}
	bearer := func(w *world, pairs ...string) *http.Request {
		return with(post(values(pairs...)), "Bearer "+w.machine.AccessToken)
	}
	// Each call, and the tables that it needs.
	calls := []struct {
		name, tables string
		call         func(*testing.T, *world) error
	}{
		{"token: client credentials", "applications tokens", func(_ *testing.T, w *world) error {
			_, err := w.token(w.app, "grant_type", policy.GrantClient)
			return err
		}},
		{"token: code", "applications grants users tokens", func(_ *testing.T, w *world) error {
			_, err := w.exchange(w.app, w.code)
			return err
		}},
		{"token: refresh", "applications grants users tokens", func(_ *testing.T, w *world) error {
			_, err := w.fixture.refresh(w.app, w.answer.RefreshToken)
			return err
		}},
		{"token: password", "applications users grants tokens", func(_ *testing.T, w *world) error {
			_, err := w.token(w.app, "grant_type", policy.GrantPassword, "username", "alice", "password", goodPassword)
			return err
		}},
		{"token: password of nobody", "users", func(_ *testing.T, w *world) error {
			_, err := w.token(w.app, "grant_type", policy.GrantPassword, "username", "nobody", "password", goodPassword)
			return err
		}},
		{"token: a public client", "applications", func(_ *testing.T, w *world) error {
			_, err := w.exchange(w.open, w.code)
			return err
		}},
		{"introspect: by a client", "applications tokens grants users", func(t *testing.T, w *world) error {
			got, _, err := w.Tokens.Introspect(t.Context(), by(w.app, "token", w.answer.AccessToken), "")
			if got != nil {
				t.Errorf("an answer comes: %+v", got)
			}
			return err
		}},
		{"introspect: by a bearer token", "applications tokens grants users", func(t *testing.T, w *world) error {
			got, _, err := w.Tokens.Introspect(t.Context(), bearer(w, "token", w.answer.AccessToken), "")
			if got != nil {
				t.Errorf("an answer comes: %+v", got)
			}
			return err
		}},
		{"introspect: a token that nobody knows", "tokens", func(t *testing.T, w *world) error {
			got, _, err := w.Tokens.Introspect(t.Context(), by(w.app, "token", "unknown"), "")
			if got != nil {
				t.Errorf("an answer comes: %+v", got)
			}
			return err
		}},
		{"revoke: an access token", "applications tokens grants users", func(t *testing.T, w *world) error {
			_, err := w.Tokens.Revoke(t.Context(), by(w.app, "token", w.answer.AccessToken), "")
			return err
		}},
		{"revoke: a token that nobody knows", "tokens", func(t *testing.T, w *world) error {
			_, err := w.Tokens.Revoke(t.Context(), by(w.app, "token", "unknown"), "")
			return err
		}},
		{"authorize", "applications", func(t *testing.T, w *world) error {
			_, err := w.Authorizations.Authorize(t.Context(), w.query(w.app))
			return err
		}},
		{"authorize: push", "applications requests", func(t *testing.T, w *world) error {
			form := w.query(w.app)
			var pairs []string
			for name, values := range form {
				pairs = append(pairs, name, values[0])
			}
			_, _, err := w.Authorizations.Push(t.Context(), by(w.app, pairs...), "")
			return err
		}},
		{"authorize: a pushed request", "requests", func(t *testing.T, w *world) error {
			_, err := w.Authorizations.Authorize(t.Context(), values(
				"client_id", w.query(w.app).Get("client_id"), "request_uri", "urn:ietf:params:oauth:request_uri:x",
			))
			return err
		}},
		{"consent: next", "consents", func(t *testing.T, w *world) error {
			_, err := w.Authorizations.RequiredInteraction(t.Context(), w.a, w.s)
			return err
		}},
		{"consent: resume", "applications", func(t *testing.T, w *world) error {
			_, err := w.Authorizations.Resume(t.Context(), w.asked.Ticket, w.s)
			return err
		}},
		{"consent: approve", "consents grants", func(t *testing.T, w *world) error {
			_, err := w.Authorizations.Approve(t.Context(), w.a, w.s)
			return err
		}},
		{"authorize, with a metadata document", "applications", func(t *testing.T, w *world) error {
			_, err := w.Authorizations.Authorize(t.Context(), w.query(w.document))
			return err
		}},
		{"consent: approve, with a metadata document", "applications", func(t *testing.T, w *world) error {
			_, err := w.Authorizations.Approve(t.Context(), w.stranger, w.s)
			return err
		}},
		{"authorize: complete", "grants", func(t *testing.T, w *world) error {
			_, err := w.Authorizations.Complete(t.Context(), w.a, w.s)
			return err
		}},
		{"login", "users sessions", func(t *testing.T, w *world) error {
			_, err := w.People.Login(t.Context(), "alice", goodPassword, people.Browser{})
			return err
		}},
		{"login of nobody", "users", func(t *testing.T, w *world) error {
			_, err := w.People.Login(t.Context(), "nobody", goodPassword, people.Browser{})
			return err
		}},
		{"a session's cookie", "sessions users", func(t *testing.T, w *world) error {
			_, err := w.People.SignedIn(t.Context(), "any")
			return err
		}},
		{"logout", "sessions", func(t *testing.T, w *world) error { return w.Logouts.Logout(t.Context(), w.s) }},
		{"the sessions", "sessions", func(t *testing.T, w *world) error {
			_, err := w.People.Sessions(t.Context(), w.s.User.ID)
			return err
		}},
		{"end a session", "sessions", func(t *testing.T, w *world) error {
			return w.People.EndSession(t.Context(), w.s.User.ID, w.s.Session.ID)
		}},
		{"the consents", "consents grants applications", func(t *testing.T, w *world) error {
			_, err := w.People.Authorized(t.Context(), w.s.User.ID)
			return err
		}},
		{"revoke a consent", "consents grants", func(t *testing.T, w *world) error {
			return w.People.Revoke(t.Context(), w.s.User.ID, w.app.Application.ID)
		}},
		{"change the password", "users sessions grants", func(t *testing.T, w *world) error {
			return second(w.People.ChangePassword(t.Context(), w.s, people.Passwords{
				Current: goodPassword,
				Next:    "another few words",
			}))
		}},
		{"ask for a new password", "mails", func(t *testing.T, w *world) error {
			return w.People.AskReset(t.Context(), t.Name(), people.Browser{Address: "192.0.2.1"})
		}},
		{"make a link", "users links", func(t *testing.T, w *world) error {
			_, _, err := w.People.MakeResetLink(t.Context(), policy.Operator(), w.s.User.ID)
			return err
		}},
		{"read a link", "users links", func(t *testing.T, w *world) error {
			_, err := w.People.ResetLink(t.Context(), "x")
			return err
		}},
		{"reset by a link", "users links", func(t *testing.T, w *world) error {
			return w.People.ResetByLink(t.Context(), "x", "another few words")
		}},
		{"give an address back", "users links", func(t *testing.T, w *world) error {
			return w.People.ReturnAddress(t.Context(), "x")
		}},
		{"verify an address", "users links", func(t *testing.T, w *world) error {
			return second(w.People.VerifyAddress(t.Context(), w.s, "x"))
		}},
		{
			"the first administrator's link",
			"users",
			func(t *testing.T, w *world) error { return w.People.CheckSetup(t.Context(), w.setup) },
		},
		{
			"the first administrator",
			"users",
			func(t *testing.T, w *world) error { return w.People.Setup(t.Context(), w.setup, people.Person{}) },
		},
		{"register", "applications", func(t *testing.T, w *world) error {
			_, err := w.Clients.Register(t.Context(), policy.Operator(), clients.Registration{
				Name:       "x",
				ClientType: policy.Confidential,
				GrantTypes: []string{policy.GrantClient},
			})
			return err
		}},
		{"rotate a secret", "applications", func(t *testing.T, w *world) error {
			_, err := w.Clients.RotateSecret(t.Context(), policy.Operator(), w.app.Application.ID, 0)
			return err
		}},
		{"end a token", "tokens grants", func(t *testing.T, w *world) error {
			return w.Tokens.RevokeByOperator(t.Context(), w.answer.AccessToken)
		}},
	}
	closed := prepare(t)
	broken := prepare(t)
	closed.store.Close()
	for _, test := range calls {
		t.Run(test.name+", the database is gone", func(t *testing.T) {
			closed.forgetCopies()
			wantError(t, test.call(t, closed), "503 temporarily_unavailable")
		})
		for table := range strings.FieldsSeq(test.tables) {
			t.Run(test.name+", "+table+" cannot be read", func(t *testing.T) {
				broken.sql("ALTER TABLE " + table + " RENAME TO away")
				wantError(t, test.call(t, broken), "503 temporarily_unavailable")
				broken.sql("ALTER TABLE away RENAME TO " + table)
			})
		}
	}
	t.Run("what failed has spent nothing", func(t *testing.T) {
		broken.wantActive(true, broken.answer.AccessToken, broken.answer.RefreshToken, broken.machine.AccessToken)
		broken.must(broken.fixture.refresh(broken.app, broken.answer.RefreshToken))
		broken.must(broken.exchange(broken.app, broken.code))
	})
}
