package provider

import (
	"net/url"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"mandate/provider/authorize"
	"mandate/provider/clients"
	"mandate/provider/people"
	"mandate/storage"
)

// OIDC Core §3.1.2.1, §3.1.2.2: id_token_hint.
func TestReadHint(t *testing.T) {
	f := begin(t, openID)
	s, app, other, pairwise := f.login("alice"), f.app(), f.app(),
		f.app(func(r *clients.Registration) { r.Pairwise = true })
	mine, elsewhere := f.tokens(app, s, "scope", "openid").IDToken, f.tokens(other, s, "scope", "openid").IDToken
	theirs := f.tokens(pairwise, s, "scope", "openid").IDToken
	for _, test := range []struct {
		rule     string
		app      *clients.Registered
		sent     []string
		subjects []string
		err      string
	}{
		{"none", app, nil, nil, "no error"},
		{"its own", app, []string{"id_token_hint", mine}, []string{s.User.ID}, "no error"},
		{"a pairwise one", pairwise, []string{"id_token_hint", theirs},
			[]string{f.Tokens.Subject(pairwise.Application.Sector, s.User.ID)}, "no error"},
		{"another client's", app, []string{"id_token_hint", elsewhere}, nil, "400 invalid_request"},
		{"no JWT", app, []string{"id_token_hint", "x"}, nil, "400 invalid_request"},
		{"about one of those that claims asks for", app,
			[]string{"id_token_hint", mine, "claims", `{"id_token":{"sub":{"values":["x","` + s.User.ID + `"]}}}`},
			[]string{s.User.ID}, "no error"},
		{"about none of those", app, []string{"id_token_hint", mine, "claims", `{"id_token":{"sub":{"values":["x","y"]}}}`},
			[]string{"x", "y"}, "400 invalid_request"},
	} {
		a, err := f.Authorizations.Authorize(t.Context(), f.query(test.app, append(test.sent, "scope", "openid")...))
		if err != nil {
			t.Fatal(err)
		}
		var refused error
		if a.Refused != nil {
			refused = a.Refused
		}
		if kind(refused) != test.err {
			t.Errorf("%s: %v, want %s", test.rule, refused, test.err)
		}
		if d := cmp.Diff(test.subjects, a.OpenID.Subjects); d != "" {
			t.Errorf("%s:\n%s", test.rule, d)
		}
	}
}

// mustLogin reports whether the person must sign in again before the request can be completed.
func (f *fixture) mustLogin(a *authorize.Authorization, s *storage.SignedIn) bool {
	f.t.Helper()
	asked, err := f.Authorizations.RequiredInteraction(f.t.Context(), a, s)
	switch kind(err) {
	case "no error":
		return asked != nil && asked.Login
	case "400 login_required":
		return true
	case "400 consent_required":
		return false
	}
	f.t.Fatal(err)
	return false
}

// OIDC Core §3.1.2.1, §3.1.2.3: when the person must sign in again.
func TestMustLogin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := begin(t, openID)
		app, s := f.app(), f.login("alice")
		time.Sleep(100 * time.Second)
		for _, test := range []struct {
			sent []string
			want bool
		}{
			{nil, false},
			{[]string{"prompt", "login"}, true},
			{[]string{"prompt", "select_account"}, true},
			{[]string{"prompt", "consent login"}, true},
			{[]string{"prompt", "consent"}, false},
			{[]string{"prompt", "none"}, false},
			{[]string{"max_age", "101"}, false},
			{[]string{"max_age", "100"}, false},
			{[]string{"max_age", "99"}, true},
			{[]string{"max_age", "0"}, true},
			{[]string{"max_age", "101", "prompt", "login"}, true},
			{[]string{"claims", `{"id_token":{"sub":{"value":"` + s.User.ID + `"}}}`}, false},
			{[]string{"claims", `{"id_token":{"sub":{"value":"bob"}}}`}, true},
			// A parameter in the URL proves no login.
			{[]string{"prompt", "login", "mandate_login",
				f.Authorizations.LoginProof(&people.SignIn{Session: "x"}, url.Values{})}, true},
		} {
			a := f.authorize(app, append(test.sent, "scope", "openid")...)
			if got := f.mustLogin(a, s); got != test.want {
				t.Errorf("%v: %t", test.sent, got)
			}
		}
		if !f.mustLogin(f.authorize(app, "scope", "openid", "max_age", "0"), f.login("alice")) {
			t.Error("max_age=0 in the second of the login")
		}
	})
}

// OIDC Core §3.1.2.1: a login counts only for the request that needed it, in the same browser, and for a short time.
func TestLoginProof(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := begin(t, openID)
		app, other := f.app(), f.app()
		f.person("alice")
		in := func() (*people.SignIn, *storage.SignedIn) {
			in, err := f.People.Login(t.Context(), "alice", goodPassword, people.Browser{})
			if err != nil {
				t.Fatal(err)
			}
			s, err := f.People.SignedIn(t.Context(), in.Session)
			if err != nil {
				t.Fatal(err)
			}
			return in, s
		}
		before, old := in()
		login, s := in()
		_, elsewhere := in()
		request := func(app *clients.Registered, pairs ...string) url.Values {
			return f.query(app, append([]string{"scope", "openid", "prompt", "login", "state", "1"}, pairs...)...)
		}
		asks := func(sent url.Values, loginProof string, s *storage.SignedIn) bool {
			a, err := f.Authorizations.Authorize(t.Context(), sent)
			if err != nil || a.Refused != nil {
				t.Fatal(err, a.Refused)
			}
			a.SetLoginProof(loginProof)
			return f.mustLogin(a, s)
		}
		kept := f.Authorizations.LoginProof(login, request(app))
		subject := request(app, "claims", `{"id_token":{"sub":{"value":"bob"}}}`)
		for _, test := range []struct {
			rule       string
			sent       url.Values
			loginProof string
			s          *storage.SignedIn
			want       bool
		}{
			{"the way back", request(app), kept, s, false},
			{"by max_age", request(app, "prompt", "-", "max_age", "0"),
				f.Authorizations.LoginProof(login, request(app, "prompt", "-", "max_age", "0")), s, false},
			{"by select_account", request(app, "prompt", "select_account"),
				f.Authorizations.LoginProof(login, request(app, "prompt", "select_account")), s, false},
			{"nothing kept", request(app), "", s, true},
			{"nobody has signed in since", request(app), f.Authorizations.LoginProof(before, request(app)), s, true},
			{"somebody has signed in elsewhere", request(app), kept, elsewhere, true},
			{"it was a later login", request(app), kept, old, true},
			{"another application", request(other), kept, s, true},
			{"another state", request(app, "state", "2"), kept, s, true},
			{"another parameter beside", request(app, "max_age", "0"), kept, s, true},
			{"another seal", request(app), f.sealers.tickets.Seal([]byte("99999999999"), "consent"), s, true},
			{"somebody else is asked for", subject, f.Authorizations.LoginProof(login, subject), s, true},
		} {
			if got := asks(test.sent, test.loginProof, test.s); got != test.want {
				t.Errorf("%s: asks %t", test.rule, got)
			}
		}
		time.Sleep(authorize.LoginProofLife)
		if asks(request(app), kept, s) {
			t.Error("not after a minute")
		}
		time.Sleep(time.Second)
		if !asks(request(app), kept, s) {
			t.Error("long after the login")
		}
	})
}

// OIDC Core §3.1.2.6: the errors for prompt=none.
func TestSilentRequests(t *testing.T) {
	f := begin(t, openID)
	s, known, unknown := f.login("alice"), f.app(), f.app()
	f.approve(t, known, s, "scope", "openid email")
	about := func(subject string) string { return `{"id_token":{"sub":{"value":"` + subject + `"}}}` }
	for _, test := range []struct {
		rule string
		app  *clients.Registered
		sent []string
		want string
	}{
		{"what was approved", known, []string{"scope", "openid"}, "no error"},
		{"about this person", known, []string{"scope", "openid", "claims", about(s.User.ID)}, "no error"},
		{"about somebody else", known, []string{"scope", "openid", "claims", about("bob")}, "400 login_required"},
		{"a new login", known, []string{"scope", "openid", "max_age", "0"}, "400 login_required"},
		{"a new login, and more than was approved", known, []string{"scope", "openid read", "max_age", "0"},
			"400 login_required"},
		{"more than was approved", known, []string{"scope", "openid read"}, "400 consent_required"},
		{"more than was approved, by claims", known, []string{"scope", "openid", "claims", `{"userinfo":{"name":null}}`},
			"400 consent_required"},
		{"somebody else, and more than was approved", known, []string{"scope", "openid read", "claims", about("bob")},
			"400 login_required"},
		{"an old login, and nobody let it in", unknown, []string{"scope", "openid", "max_age", "0"}, "400 login_required"},
		{"nobody let it in", unknown, []string{"scope", "openid"}, "400 consent_required"},
		{"nobody let it in, and it asks who is there", unknown, []string{"scope", "openid", "claims", about("bob")},
			"400 login_required"},
		{"nobody let it in, and it knows who is there", unknown, []string{"scope", "openid", "claims", about(s.User.ID)},
			"400 login_required"},
	} {
		a := f.authorize(test.app, append(test.sent, "prompt", "none")...)
		asked, err := f.Authorizations.RequiredInteraction(t.Context(), a, s)
		if !a.Silent() || asked != nil || kind(err) != test.want {
			t.Errorf("%s: %+v %v, want %s", test.rule, asked, err, test.want)
		}
	}
	if f.authorize(known, "scope", "openid", "prompt", "consent").Silent() {
		t.Error("prompt=consent is silent")
	}
}
