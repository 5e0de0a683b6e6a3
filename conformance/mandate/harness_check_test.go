package mandate

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
)

// Tests of the harness: the errors that it must detect, and that the binary can be
// started, killed and joined by a second node.

func TestHarnessFindsSecretsAndPanicsInTheLog(t *testing.T) {
	for _, c := range []struct {
		log  string
		want bool
	}{
		{"", false},
		{"token granted client=abc", false},
		{"panic: runtime error", true},
		{"WARNING: DATA RACE", true},
		{"secret=s3cr3t+/value", true},
		{"GET /?x=s3cr3t%2B%2Fvalue", true},
	} {
		s := &server{secrets: &vault{}}
		s.secret("s3cr3t+/value")
		s.secret("abc") // too short to tell
		fmt.Fprintln(&s.log, c.log)
		r := &recorder{TB: t}
		s.checkLog(r)
		if got := len(r.errors) > 0; got != c.want {
			t.Errorf("log %q: reported %q", c.log, r.errors)
		}
	}
}

func TestHarnessFindsSecretsInEvents(t *testing.T) {
	s := startServer(t, options{})
	s.person(t, "alice")
	r := &recorder{TB: t}
	s.checkEvents(r)
	if len(r.errors) > 0 {
		t.Error(r.errors)
	}
	behind(t, s.database, `UPDATE events SET detail = 'with s3cr3t-value in it' WHERE kind = 'person.added'`)
	other := &server{database: s.database, secrets: &vault{}}
	other.secret("s3cr3t-value")
	other.checkEvents(r)
	if len(r.errors) != 1 {
		t.Error(r.errors)
	}
}

// recorder records the errors that a test would have reported.
type recorder struct {
	testing.TB
	errors []string
}

func (r *recorder) Helper() {}
func (r *recorder) Errorf(format string, args ...any) {
	r.errors = append(r.errors, fmt.Sprintf(format, args...))
}

func TestHarnessBrowser(t *testing.T) {
	mux := http.NewServeMux()
	page := func(body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<!doctype html><title>x</title>", body) }
	}
	mux.HandleFunc("GET /o/authorize/", func(w http.ResponseWriter, r *http.Request) {
		_, err := r.Cookie("session")
		if err != nil {
			http.Redirect(w, r, "/login/?next="+url.QueryEscape(r.URL.String()), http.StatusFound)
			return
		}
		page(`<form method="post" action="/search"><input name="q"></form>
			<form method="post"><input type="hidden" name="state" value="a&amp;b">
			<input type="checkbox" name="remember" checked><input type="checkbox" name="all" value="1">
			<select name="colour"><option>red<option value="b" selected>blue</select><textarea name="note">
hello</textarea>
			<button name="decision" value="deny">Deny</button><button name="decision" value="approve">Approve</button></form>`)(
			w, r)
	})
	mux.HandleFunc("POST /o/authorize/", func(w http.ResponseWriter, r *http.Request) {
		_ = r.ParseForm()
		http.Redirect(w, r, "http://127.0.0.1:1/back?code=verysecretcode&got="+url.QueryEscape(r.PostForm.Encode()),
			http.StatusSeeOther)
	})
	mux.HandleFunc("GET /login/", func(w http.ResponseWriter, r *http.Request) {
		page(`<form method="post" action="/login/"><input name="username"><input type="password" name="password">
			<input type="hidden" name="next" value="`+r.FormValue("next")+`"><button>Log in</button></form>`)(w, r)
	})
	mux.HandleFunc("POST /login/", func(w http.ResponseWriter, r *http.Request) {
		if r.FormValue("username") != "alice" || r.FormValue("password") != "correct horse" ||
			r.Header.Get("Sec-Fetch-Site") != "same-origin" {
			http.Error(w, "no", http.StatusForbidden)
			return
		}
		http.SetCookie(w, &http.Cookie{Name: "session", Value: "1", Path: "/", HttpOnly: true})
		http.Redirect(w, r, r.FormValue("next"), http.StatusSeeOther)
	})
	fake := httptest.NewServer(mux)
	defer fake.Close()
	s := &server{URL: fake.URL, BaseURL: fake.URL, secrets: &vault{}, client: &http.Client{
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}

	address, verifier := s.authorizeURL(application{ClientID: "c", RedirectURI: "http://127.0.0.1:1/back"}, "state", "x y",
		"redirect_uri", "")
	if strings.Contains(address, "redirect_uri") || !strings.Contains(address, "state=x+y") || len(verifier) < 43 {
		t.Errorf("authorizeURL = %s, %s", address, verifier)
	}
	for _, decision := range []string{"approve", "deny"} {
		back := s.browser(t).authorize(t, address, person{"alice", "correct horse"}, decision)
		got := back.Query().Get("got")
		want := "colour=b&decision=" + decision + "&note=hello&remember=on&state=a%26b"
		if got != want {
			t.Errorf("the form sent %s, want %s", got, want)
		}
	}
	if log := strings.Join(s.secrets.all(), " "); !strings.Contains(log, "verysecretcode") ||
		!strings.Contains(log, "correct horse") {
		t.Errorf("code and password were not noted: %s", log)
	}
}

func TestHarnessServer(t *testing.T) {
	ownProcesses(t)
	forEachDatabase(t, func(t *testing.T, db database) {
		first := startServer(t, options{database: db})
		second := first.node(t)
		app := first.application(t, "--name", "robot", "--grant", "client_credentials")
		token := first.mustToken(t, app.auth(), params("grant_type", "client_credentials"))

		first.kill(t)
		again := second.mustToken(t, app.auth(), params("grant_type", "client_credentials"))
		if again.AccessToken == token.AccessToken {
			t.Error("two requests gave the same token")
		}
		first.start(t)
		first.mustToken(t, body(app.ClientID, app.ClientSecret), params("grant_type", "client_credentials"))
		second.stop(t)
	})
}
