package logout

import (
	"encoding/json"
	"log/slog"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mandate/provider/bell"
	"mandate/provider/copies"
	"mandate/provider/jose"
	"mandate/provider/oauth"
	"mandate/provider/oauth/oauthtest"
	"mandate/provider/policy"
	"mandate/provider/seal"
	"mandate/provider/tokens"
	"mandate/storage"
	"mandate/storage/storagetest"
)

// component returns the component, with a database that has two applications.
func component(t *testing.T, config Config) (p *Logouts, operated, open storage.Application) {
	t.Helper()
	store, _ := storagetest.Open(t)
	rules := policy.New(policy.Settings{})
	tickets, err := seal.New([]byte("a key of at least thirty-two characters"), "tickets")
	if err != nil {
		t.Fatal(err)
	}
	operated = storage.Application{ID: "a", ClientID: "client", Name: "A", ClientType: policy.Confidential,
		Responsible: storage.ByOperator, PostLogoutURIs: "https://app.example/out\nhttps://app.example/\u00e9"}
	open = operated
	open.ID, open.ClientID, open.Responsible = "b", "open", storage.ByNobody
	for _, one := range []storage.Application{operated, open} {
		err := store.AddApplication(t.Context(), one, 0)
		if err != nil {
			t.Fatal(err)
		}
	}
	names := tokens.New(tokens.Config{}, rules, store, nil, nil, nil, nil, nil, seal.Sealer{}, []byte("pairwise"),
		copies.NewChanges(time.Minute))
	return New(config, rules, store, nil, names, nil, nil, tickets, bell.New(), slog.New(slog.DiscardHandler)), operated,
		open
}

// wantError checks the kind of an error, and a word of its description.
func wantError(t *testing.T, name string, err error, kind, word string) {
	t.Helper()
	if got := oauthtest.Kind(err); got != kind || err != nil && !strings.Contains(err.Error(), word) {
		t.Errorf("%s: %v, want %s with %q", name, err, kind, word)
	}
}

var (
	alice    = storage.User{ID: "u", Username: "alice"}
	signedIn = &storage.SignedIn{User: alice, Session: storage.Session{ID: "s", UserID: "u"}}
)

// OIDC RP-Logout §2.
func TestRead(t *testing.T) {
	p, _, _ := component(t, Config{})
	for query, test := range map[string]struct{ kind, word string }{
		"":                                  {"no error", ""},
		"client_id=client":                  {"no error", ""},
		"client_id=unknown":                 {"400 invalid_client", "No application"},
		"client_id=client&client_id=client": {"400 invalid_request", "more than once"},
		"post_logout_redirect_uri=https://app.example/out":                   {"400 invalid_request", "requires"},
		"client_id=client&post_logout_redirect_uri=https://app.example/out":  {"no error", ""},
		"client_id=client&post_logout_redirect_uri=https://app.example/out/": {"400 invalid_request", "not registered"},
		"client_id=client&post_logout_redirect_uri=https://app.example/OUT":  {"400 invalid_request", "not registered"},
		"state=" + strings.Repeat("x", oauth.MaxState):                       {"no error", ""},
		"state=" + strings.Repeat("x", oauth.MaxState+1):                     {"400 invalid_request", "state is longer"},
	} {
		parameters, err := url.ParseQuery(query)
		if err != nil {
			t.Fatal(err)
		}
		_, err = p.Read(t.Context(), parameters)
		wantError(t, query[:min(len(query), 80)], err, test.kind, test.word)
	}
}

// An application of a person who is gone sends nobody anywhere.
func TestSuspended(t *testing.T) {
	p, a, _ := component(t, Config{})
	a.Responsible, a.OwnerActive = storage.ByOwner, new(false)
	l := &Request{Application: &a, RedirectURI: "https://app.example/out"}
	wantError(t, "to a redirect URI", p.CheckLogoutURI(l), "400 unauthorized_client", "")
	l.RedirectURI = ""
	wantError(t, "to nowhere", p.CheckLogoutURI(l), "no error", "")
}

func TestHint(t *testing.T) {
	const refused = "400 invalid_request"
	now := float64(time.Now().Unix())
	for name, test := range map[string]struct {
		accept     bool
		claims     jose.Claims
		client     string
		kind, word string
	}{
		"valid":                 {false, jose.Claims{"exp": now + 60, "aud": "client"}, "", "no error", ""},
		"expired":               {false, jose.Claims{"exp": now - 60, "aud": "client"}, "", refused, "expired"},
		"expired, and accepted": {true, jose.Claims{"exp": now - 60, "aud": "client"}, "", "no error", ""},
		"without an end":        {false, jose.Claims{"aud": "client"}, "", refused, "expired"},
		"of the named client":   {false, jose.Claims{"exp": now + 60, "aud": "client"}, "client", "no error", ""},
		"of another client":     {false, jose.Claims{"exp": now + 60, "aud": "other"}, "client", refused, "issued to"},
		"of nobody":             {false, jose.Claims{"exp": now + 60}, "", refused, "issued to"},
		"of several": {false, jose.Claims{"exp": now + 60, "aud": []any{"client", "other"}}, "client", refused,
			"issued to"},
	} {
		p, l := &Logouts{config: Config{AcceptExpired: test.accept}}, &Request{}
		test.claims["sub"], test.claims["sid"] = "u", "s"
		got, err := p.readLogoutHint(l, test.claims, test.client)
		wantError(t, name, err, test.kind, test.word)
		if err == nil && (got != "client" || l.subject != "u" || l.sid != "s") {
			t.Errorf("%s: %q, %q, %q", name, got, l.subject, l.sid)
		}
	}
}

// OIDC RP-Logout §2: without the ID token of this session, the person confirms the logout.
func TestMustConfirm(t *testing.T) {
	p, operated, open := component(t, Config{})
	pairwise := operated
	pairwise.Sector = "app.example"
	always, _, _ := component(t, Config{AlwaysPrompt: true})
	subject, sid := p.tokens.Subject("app.example", "u"), p.tokens.SID("app.example", "s")
	for name, test := range map[string]struct {
		p    *Logouts
		l    Request
		want bool
	}{
		"this session":             {p, Request{Application: &operated, subject: "u", sid: "s"}, false},
		"this session, pairwise":   {p, Request{Application: &pairwise, subject: subject, sid: sid}, false},
		"as another sector knows":  {p, Request{Application: &pairwise, subject: "u", sid: "s"}, true},
		"no ID token":              {p, Request{Application: &operated}, true},
		"another session":          {p, Request{Application: &operated, subject: "u", sid: "other"}, true},
		"another person":           {p, Request{Application: &operated, subject: "other", sid: "s"}, true},
		"always":                   {always, Request{Application: &operated, subject: "u", sid: "s"}, true},
		"of nobody, to nowhere":    {p, Request{Application: &open, subject: "u", sid: "s"}, false},
		"of nobody, to an address": {p, Request{Application: &open, subject: "u", sid: "s", RedirectURI: "https://x"}, true},
	} {
		if got := test.p.MustConfirm(&test.l, signedIn); got != test.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// A page that a person answers has its request for an hour, and for the application as it is then.
func TestTicket(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, a, _ := component(t, Config{})
		l := &Request{Application: &a, RedirectURI: "https://app.example/out", UILocales: "de", state: "\xff", subject: "u",
			sid: "s"}
		sealed, err := p.Ticket(l)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(pageLife * time.Second)
		got, err := p.Resume(t.Context(), sealed)
		if err != nil {
			t.Fatal(err)
		}
		if got.Application.ID != a.ID || got.RedirectURI != l.RedirectURI || got.UILocales != "de" || got.state != "\xff" ||
			got.subject != "u" || got.sid != "s" {
			t.Errorf("%+v", got)
		}
		kept, err := p.EndedCookie(signedIn)
		if err != nil {
			t.Fatal(err)
		}
		_, err = p.Resume(t.Context(), kept)
		wantError(t, "a cookie", err, "400 invalid_request", "no longer valid")
		time.Sleep(time.Second)
		_, err = p.Resume(t.Context(), sealed)
		wantError(t, "after an hour", err, "400 invalid_request", "no longer valid")

		fresh, err := p.Ticket(l)
		if err == nil {
			err = p.store.DeleteApplication(t.Context(), a.ID)
		}
		if err != nil {
			t.Fatal(err)
		}
		_, err = p.Resume(t.Context(), fresh)
		wantError(t, "of a deleted application", err, "400 invalid_request", "no longer valid")
	})
}

// RFC 9700 §4.11.2: only the ID token of a session that ended in this browser lets nobody go on to an address.
func TestEndedInThisBrowser(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, operated, open := component(t, Config{})
		kept, err := p.EndedCookie(signedIn)
		if err != nil {
			t.Fatal(err)
		}
		ticket, err := p.Ticket(&Request{Application: &operated, subject: "u", sid: "s"})
		if err != nil {
			t.Fatal(err)
		}
		check := func(name string, l Request, kept string, want bool) {
			t.Helper()
			if got := p.EndedInThisBrowser(&l, kept); got != want {
				t.Errorf("%s: %t", name, got)
			}
		}
		same := Request{Application: &operated, subject: "u", sid: "s"}
		time.Sleep(EndedLife)
		check("its ID token", same, kept, true)
		check("that of another session", Request{Application: &operated, subject: "u", sid: "other"}, kept, false)
		check("no application", Request{subject: "u", sid: "s"}, kept, false)
		check("to strangers", Request{Application: &open, subject: "u", sid: "s", RedirectURI: "https://x"}, kept, false)
		check("no cookie", same, "", false)
		check("another text of this server", same, ticket, false)
		time.Sleep(time.Second)
		check("a day later", same, kept, false)
	})
}

// Without a browser, the application must prove who it is, and somebody must be responsible for it.
func TestMayEnd(t *testing.T) {
	p, operated, open := component(t, Config{})
	public := operated
	public.ClientType = policy.Public
	wantError(t, "confidential", p.mayEnd(operated), "no error", "")
	wantError(t, "public", p.mayEnd(public), "401 invalid_client", "public")
	wantError(t, "of nobody", p.mayEnd(open), "400 unauthorized_client", "Nobody is responsible")
	p.config.AlwaysPrompt = true
	wantError(t, "each sign-out is confirmed", p.mayEnd(operated), "400 unauthorized_client", "ALWAYS_PROMPT")
}

// RFC 6749 §2.3.1: credentials are never in the query.
func TestServerForm(t *testing.T) {
	for target, test := range map[string]struct{ kind, word string }{
		"/logout?id_token_hint=x":                 {"no error", ""},
		"/logout?id_token_hint=x&client_secret=y": {"400 invalid_request", "logs keep the query"},
		"/logout?client_assertion=x":              {"400 invalid_request", "logs keep the query"},
		"/logout?id_token_hint=%zz":               {"400 invalid_request", "percent-encoding"},
		"/logout?id_token_hint=x&id_token_hint=y": {"400 invalid_request", "more than once"},
	} {
		_, err := serverForm(httptest.NewRequest("GET", target, nil))
		wantError(t, target, err, test.kind, test.word)
	}
	r := httptest.NewRequest("POST", "/logout", strings.NewReader("id_token_hint=x&client_secret=y"))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	form, err := serverForm(r)
	if err != nil || form.Get("client_secret") != "y" {
		t.Error(form, err)
	}
}

// A session that ended already is no error: two requests at the same moment both succeed.
func TestLogoutTwice(t *testing.T) {
	p, _, _ := component(t, Config{})
	for range 2 {
		err := p.Logout(t.Context(), signedIn)
		if err != nil {
			t.Fatal(err)
		}
		select {
		case <-p.ended:
		default:
			t.Error("nobody is notified")
		}
	}
}

func TestAfter(t *testing.T) {
	for state, want := range map[string]string{"": "null", "a b": `[{"Name":"state","Value":"a b"}]`} {
		r := (&Request{RedirectURI: "https://app.example/out", state: state}).After()
		got, err := json.Marshal(r.Parameters)
		if err != nil || string(got) != want || r.RedirectURI != "https://app.example/out" {
			t.Errorf("%q: %s, %s, %v", state, r.RedirectURI, got, err)
		}
	}
}
