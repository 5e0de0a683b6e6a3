package conformance

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"mandate/conformance/browser"
	"mandate/conformance/check"
	"mandate/conformance/engine"
	"mandate/conformance/need"
	"mandate/conformance/target"
	"mandate/conformance/wire"
)

// pages is a server with pages that the browser was not written for. Each test has other pages.
type pages struct {
	login   string // asks for name and password
	second  string // asks for the password, if the first asks only for the name
	box     string // without this box the sign-in is not remembered
	consent string
	answer  func(w http.ResponseWriter, r *http.Request, callback string) // the response; nil means a redirect
}

// start serves the pages as an authorization server with the user alice, whose password is "open sesame".
func (p pages) start(t *testing.T) *engine.Runner {
	t.Helper()
	mux := http.NewServeMux()
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	page := func(w http.ResponseWriter, body string) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprint(w, "<!doctype html><title>x</title>", body)
	}
	mux.HandleFunc("GET /.well-known/oauth-authorization-server", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"issuer":%q,"authorization_endpoint":%q,"token_endpoint":%q}`, server.URL, server.URL+"/authorize",
			server.URL+"/token")
	})
	mux.HandleFunc("/authorize", func(w http.ResponseWriter, r *http.Request) {
		http.SetCookie(w, &http.Cookie{Name: "request", Value: url.QueryEscape(r.URL.RawQuery), Path: "/"})
		_, err := r.Cookie("session")
		if err != nil {
			page(w, p.login)
			return
		}
		page(w, p.consent)
	})
	mux.HandleFunc("POST /login", func(w http.ResponseWriter, r *http.Request) {
		_ = r.ParseForm()
		sent := r.PostForm.Encode()
		switch {
		case p.second != "" && strings.Contains(sent, "alice") && !strings.Contains(sent, "sesame"):
			page(w, p.second)
		case strings.Contains(sent, "open+sesame") && (p.second != "" || strings.Contains(sent, "alice")) &&
			!strings.Contains(sent, "newsletter"):
			if p.box == "" || r.PostForm.Has(p.box) {
				http.SetCookie(w, &http.Cookie{Name: "session", Value: "1", Path: "/"})
			}
			page(w, p.consent)
		default:
			page(w, p.login)
		}
	})
	mux.HandleFunc("/decide", func(w http.ResponseWriter, r *http.Request) {
		_ = r.ParseForm()
		cookie, err := r.Cookie("request")
		if err != nil {
			http.Error(w, "no request", http.StatusBadRequest)
			return
		}
		query, _ := url.QueryUnescape(cookie.Value)
		request, _ := url.ParseQuery(query)
		back := "error=access_denied"
		if r.Form.Get("say") == "yes" && r.Form.Get("ticket") == "a&b" {
			back = "code=verysecretcode&scopes=" + strings.Join(r.Form["scope"], "+")
		}
		if p.answer != nil {
			p.answer(w, r, request.Get("redirect_uri"))
			return
		}
		http.Redirect(w, r, request.Get("redirect_uri")+"?"+back, http.StatusSeeOther)
	})
	mux.HandleFunc("POST /token", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, secret, _ := r.BasicAuth()
		if secret != "secret" || r.FormValue("code") != "verysecretcode" {
			w.WriteHeader(http.StatusUnauthorized)
			fmt.Fprint(w, `{"error":"invalid_client","error_description":"wrong secret"}`)
			return
		}
		fmt.Fprint(w, `{"access_token":"opensaysme","token_type":"bearer"}`)
	})
	runner, err := NewRunner(t.Context(),
		&target.Target{Issuer: server.URL, User: target.User{Username: "alice", Password: "open sesame"},
			Clients: map[need.Need]*target.Client{need.Code: {ID: "c", Secret: "secret", Auth: need.SecretBasic,
				RedirectURIs: []string{"https://client.example/back"}}}}, wire.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return runner
}

// walk sends an authorization request in a check, and returns its outcome.
func walk(t *testing.T, runner *engine.Runner, approve bool) (*check.Response, check.Result) {
	t.Helper()
	var got *check.Response
	result := runner.Check(t.Context(),
		check.Rule{ID: "TEST/1/walk", Needs: []need.Need{need.Code, need.User, need.Authorization}, Check: func(t *check.T) {
			got = t.Walk(t.NewBrowser(), t.Request(t.Client(need.Code)), approve)
		}})
	return got, result
}

const (
	plainLogin   = `<form method=post action=/login><input name=u autocomplete=username><input type=password name=p><button>Go</button></form>`
	plainConsent = `<form method=post action=/decide><input type=hidden name=ticket value="a&amp;b"><button name=say value=no>Do not allow</button><button name=say value=yes>Allow</button></form>`
)

func TestBrowserFindsItsWay(t *testing.T) {
	for name, p := range map[string]pages{
		"plain": {login: plainLogin, consent: plainConsent},
		"a search form comes first, and a box that nobody ticked": {
			login: `<form action=/search><input name=q type=search><button>Search</button></form>
				<form method=post action=/login><input name=tenant value=x type=hidden><label>E-Mail <input type=email name=mail></label>
				<input type=password name=pw><input type=checkbox name=newsletter><input type=submit value="Log in"></form>`,
			consent: plainConsent},
		"name first, password on the next page": {
			login:   `<form method=post action=/login><input name=identifier><button>Next</button></form>`,
			second:  `<form method=post action=/login><input type=password name=secret><button>Sign in</button></form>`,
			consent: plainConsent},
		"a password that the page shows": {
			login:   `<form method=post action=/login><input name=user><input name=Password><button>Go</button></form>`,
			consent: plainConsent},
		"one form for yes, and a link for no": {login: plainLogin,
			consent: `<form method=post action=/decide><input type=hidden name=ticket value="a&amp;b"><input type=hidden name=say value=yes>
				<button type=submit autofocus>Continue</button></form><a href="/decide?say=no">[ Cancel ]</a>`},
		"two forms": {login: plainLogin,
			consent: `<form method=post action=/decide><input type=hidden name=say value=no><input type=submit value=Reject></form>
				<form method=post action=/decide id=f><input type=hidden name=ticket value="a&amp;b"></form><button form=f name=say value=yes>Authorise</button>`},
		"scopes to tick": {login: plainLogin,
			consent: `<form method=post action=/decide><input type=hidden name=ticket value="a&amp;b"><input type=checkbox name=scope value=read>
				<input type=checkbox name=remember><button name=say value=yes>Accept</button><button name=say value=no>Decline</button></form>`},
	} {
		t.Run(name, func(t *testing.T) {
			runner := p.start(t)
			yes, result := walk(t, runner, true)
			if result.Status != check.Pass || yes.Params.Get("code") != "verysecretcode" || !yes.Arrived() || !yes.Asked ||
				yes.Mode != "query" {
				t.Errorf("yes: %s %s, %s", result.Status, result.Reason, yes)
			}
			if name == "scopes to tick" && yes.Params.Get("scopes") != "read" {
				t.Errorf("ticked: %s", yes.Params.Get("scopes"))
			}
			no, result := walk(t, runner, false)
			if result.Status != check.Pass || no.ErrorCode() != "access_denied" {
				t.Errorf("no: %s %s, %s", result.Status, result.Reason, no)
			}
		})
	}
}

func TestBrowserReadsFormPost(t *testing.T) {
	p := pages{login: plainLogin, consent: plainConsent,
		answer: func(w http.ResponseWriter, _ *http.Request, callback string) {
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprintf(w,
				`<body onload="document.forms[0].submit()"><form method="post" action="%s"><input type="hidden" name="code" value="verysecretcode"><input type="hidden" name="state" value="a&amp;b"><noscript><button>Continue</button></noscript></form>`, callback)
		}}
	got, result := walk(t, p.start(t), true)
	if result.Status != check.Pass || got.Mode != "form_post" || got.Params.Get("code") != "verysecretcode" ||
		got.Params.Get("state") != "a&b" || !got.Arrived() {
		t.Errorf("%s %s: %s", result.Status, result.Reason, got)
	}
}

func TestBrowserSaysWhyItCannotGoOn(t *testing.T) {
	for name, c := range map[string]struct {
		pages pages
		want  string
	}{
		"a script": {pages{
			login: `<div id=root></div><script src=/app.js></script><noscript>Turn on JavaScript<form></form></noscript>`},
			"the checks cannot use the page at "},
		"wrong password": {pages{login: `<form method=post action=/nowhere><input type=password name=p></form>`}, ""},
		"again and again": {pages{login: plainLogin, consent: plainLogin},
			"the server asks for the password again: user.username or user.password of the target may be wrong"},
		"unknown words": {pages{login: plainLogin,
			consent: `<form method=post action=/decide><button>Jawohl</button></form>`}, "no known button to approve: name " +
			"the button in the target under forms"},
		"circles": {pages{login: plainLogin, consent: plainConsent,
			answer: func(w http.ResponseWriter, r *http.Request, _ string) {
				http.Redirect(w, r, r.URL.String(), http.StatusFound)
			}}, "the server redirects in circles: 20 times"},
		"elsewhere": {pages{login: plainLogin, consent: plainConsent,
			answer: func(w http.ResponseWriter, r *http.Request, _ string) {
				http.Redirect(w, r, "https://login.example/", http.StatusFound)
			}}, "the browser was sent to https://login.example/"},
		"a page with an error": {pages{login: plainLogin, consent: plainConsent,
			answer: func(w http.ResponseWriter, r *http.Request, _ string) {
				w.Header().Set("Content-Type", "text/html")
				w.WriteHeader(http.StatusBadRequest)
				fmt.Fprint(w, "<title>oops</title><p>error: invalid_client, client is invalid "+strings.Repeat("x", 300))
			}}, `the server shows a page: 400 Bad Request, "oops": error: invalid_client, client is invalid xxx`},
	} {
		t.Run(name, func(t *testing.T) {
			got, result := walk(t, c.pages.start(t), true)
			if result.Status != check.Pass || got.Params.Get("code") != "" || !strings.Contains(got.String(), c.want) {
				t.Errorf("%s %s: %s", result.Status, result.Reason, got)
			}
		})
	}
}

// If the words on a page do not suffice, the target can name the fields.
func TestBrowserTakesHints(t *testing.T) {
	runner := pages{
		login: `<form method=post action=/login><input name=x1><input name=x2><button>Los</button></form>`,
		consent: `<form method=post action=/decide><input type=hidden name=ticket value="a&amp;b">
			<button name=say value=yes>Jawohl</button><button name=say value=no>Mitnichten</button></form>`,
	}.start(t)
	runner.Target.Forms = browser.Hints{Username: "x1", Password: "x2", Approve: "jawohl", Deny: "mitnichten"}
	yes, result := walk(t, runner, true)
	if result.Status != check.Pass || yes.Params.Get("code") == "" {
		t.Errorf("%s %s: %s", result.Status, result.Reason, yes)
	}
	no, result := walk(t, runner, false)
	if result.Status != check.Pass || no.ErrorCode() != "access_denied" {
		t.Errorf("%s %s: %s", result.Status, result.Reason, no)
	}
}

// A check with a bug, or without its needs, is reported as such and does not affect others.
func TestCheckThatCannotBeTried(t *testing.T) {
	runner := pages{login: plainLogin, consent: plainConsent}.start(t)
	for want, try := range map[check.Status]func(*check.T){
		check.Broken:  func(*check.T) { panic("on purpose") },
		check.Skip:    func(t *check.T) { t.Client(need.Public) },
		check.Blocked: func(t *check.T) { t.Get("http://127.0.0.1:1/") },
		check.Fail:    func(t *check.T) { t.Errorf("one"); t.Blockedf("two") },
		check.Pass:    func(*check.T) {},
	} {
		result := runner.Check(t.Context(), check.Rule{ID: "TEST/1/check", Check: try})
		if result.Status != want {
			t.Errorf("%s, want %s: %s", result.Status, want, result.Reason)
		}
	}
}

// A wrong secret in the target is no violation: the reason names the member of the target. If the token endpoint has
// accepted the secret before, a refusal is one.
func TestCheckWithAWrongSecret(t *testing.T) {
	redeems := func(code string) check.Rule {
		return check.Rule{ID: "TEST/1/redeems-" + code, Level: check.Must, Check: func(t *check.T) {
			c := t.Client(need.Code)
			t.WantGranted(t.Redeem(&check.Code{Value: code, Request: t.Request(c)}))
		}}
	}
	runner := pages{login: plainLogin, consent: plainConsent}.start(t)
	runner.Target.Clients[need.Code].Role = need.Code
	result := runner.Check(t.Context(), redeems("unknown"))
	if want := "the server does not accept the client code: clients.code.secret or clients.code.auth of the target may " +
		"be wrong"; result.Status != check.Blocked || !strings.HasSuffix(result.Reason, want) {
		t.Errorf("never accepted: %s %s", result.Status, result.Reason)
	}
	result = runner.Check(t.Context(), redeems("verysecretcode"))
	if result.Status != check.Pass {
		t.Errorf("%s %s", result.Status, result.Reason)
	}
	result = runner.Check(t.Context(), redeems("unknown"))
	if result.Status != check.Fail || strings.Contains(result.Reason, "may be wrong") {
		t.Errorf("accepted before: %s %s", result.Status, result.Reason)
	}
}
