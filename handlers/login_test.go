package handlers

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"mandate/handlers/web"
	"mandate/provider/authorize"
)

func TestLogin(t *testing.T) {
	s := newSite(t, "/auth")
	v := s.visitor(t)
	v.get(t, "/login/?next="+url.QueryEscape("/auth/account/")).wants(t, 200, `name="next" value="/auth/account/"`)
	v.get(t, "/login/?next=%2F%2Fevil.com").wants(t, 200, `name="next" value="/auth/"`)

	got := v.post(t, "/login/", "username", "alice", "password", "wrong", "next", "/auth/account/")
	got.wants(t, 422, "alice", "is wrong", `value="/auth/account/"`)
	if strings.Contains(got.body, `value="wrong"`) || len(got.cookies()) != 0 {
		t.Errorf("cookies %v\n%s", got.cookies(), got.body)
	}
	v.post(t, "/login/", "username", "", "password", "").wants(t, 422, "Enter your username", "Enter your password")

	got = v.post(t, "/login/", "username", "Alice", "password", goodPassword, "next", "/auth/account/?x=y")
	got.wants(t, 303)
	if to := got.Header.Get("Location"); to != "/auth/account/?x=y" {
		t.Errorf("sent to %s", to)
	}
	session, device := got.cookies()["mandate_session"], got.cookies()["mandate_device"]
	for _, c := range []*http.Cookie{session, device} {
		if c == nil || !c.HttpOnly || c.SameSite != http.SameSiteLaxMode || c.Path != "/" || c.Domain != "" || c.Secure {
			t.Fatalf("cookie %v", c)
		}
	}
	if session.MaxAge != 3600 || device.MaxAge != 180*24*3600 {
		t.Errorf("ages %d and %d", session.MaxAge, device.MaxAge)
	}
	v.get(t, "/account/").wants(t, 200, "alice")

	// The id is another one after each login, and the one before is worth nothing.
	got = v.post(t, "/login/", "username", "alice", "password", goodPassword)
	if got.cookies()["mandate_session"].Value == session.Value {
		t.Error("the session identifier did not change")
	}
	r := v.request(t, get, "/account/", "")
	r.AddCookie(session)
	s.visitor(t).do(t, r).wants(t, 303)
}

// A person who is signed in sees that they are, and can go on. The form stays, because they may want to use another
// account.
func TestLoginPageOfSomebodyWhoIsSignedIn(t *testing.T) {
	s := newSite(t, "/auth")
	v := s.as(t, "alice")
	const heading = "Use another account</h2>"
	for path, next := range map[string]string{
		"/login/": "/auth/",
		"/login/?next=%2Fauth%2Faccount%2F%3Fx%3Dy": "/auth/account/?x=y",
		"/login/?next=%2F%2Fevil.com":               "/auth/",
		"/login/?reason=unknown":                    "/auth/",
	} {
		v.get(t, path).wants(
			t, 200, "You are signed in as <strong>", "alice", `href="`+next+`">Continue</a>`, heading, `name="password"`,
		)
	}
	v.post(t, "/login/", "username", "bob", "password", "wrong", "next", "/auth/account/").wants(
		t, 422, "is wrong", `href="/auth/account/">Continue</a>`, heading,
	)
	// Whoever must sign in again is offered no way around.
	for _, reason := range []authorize.Reason{
		authorize.LoginRequest,
		authorize.LoginTooOld,
		authorize.ChooseAccount,
		authorize.OtherAccount,
		web.ConfirmLogin,
	} {
		query := "next=%2Fauth%2Faccount%2F&reason=" + string(reason)
		got := v.get(t, "/login/?"+query)
		failed := v.post(
			t, "/login/", "username", "alice", "password", "wrong", "next", "/auth/account/", "reason", string(reason),
		)
		got.wants(t, 200, "You are signed in as <strong>", `name="password"`)
		failed.wants(t, 422, "You are signed in as <strong>", `name="password"`)
		if page := got.body + failed.body; strings.Contains(page, ">Continue<") || strings.Contains(page, heading) {
			t.Errorf("%s: the page leads on", reason)
		}
	}
	if page := s.visitor(t).get(
		t, "/login/",
	).body; strings.Contains(
		page, "You are signed in",
	) || strings.Contains(page, ">Continue<") || strings.Contains(page, heading) {
		t.Error("somebody who is not signed in is led on")
	}
}

func TestCookiesOverHTTPS(t *testing.T) {
	base, err := url.Parse("https://id.example.com")
	if err != nil {
		t.Fatal(err)
	}
	s := newSite(t, "", func(c *Config) { c.BaseURL = base })
	got := s.visitor(t).post(t, "/login/", "username", "alice", "password", goodPassword)
	got.wants(t, 303)
	for _, name := range []string{"__Host-mandate_session", "__Host-mandate_device"} {
		c := got.cookies()[name]
		if c == nil || !c.Secure || !c.HttpOnly || c.Path != "/" || c.Domain != "" {
			t.Errorf("%s: %v in %v", name, c, got.cookies())
		}
	}
	for host, want := range map[string]bool{
		"id.example.com":        true,
		"localhost":             false,
		"LOCALHOST:8443":        false,
		"id.localhost":          false,
		"localhost.example.com": true,
		"notlocalhost":          true,
	} {
		s := newSite(t, "", func(c *Config) { c.BaseURL = &url.URL{Scheme: "https", Host: host} })
		if got := s.visitor(t).get(t, "/login/").Header.Get("Strict-Transport-Security"); (got != "") != want {
			t.Errorf("%s: Strict-Transport-Security is %q", host, got)
		}
	}
}

func TestLoginIsThrottled(t *testing.T) {
	s := newSite(t, "")
	v := s.visitor(t)
	for range 30 {
		got := v.post(t, "/login/", "username", "alice", "password", "wrong")
		if got.StatusCode == 429 {
			got.wants(t, 429, "Wait a little", "alice")
			if got.Header.Get("Retry-After") == "" {
				t.Error("no Retry-After")
			}
			return
		}
		got.wants(t, 422)
	}
	t.Fatal("attempts are not limited")
}

func TestAnonymousIsSentToLogin(t *testing.T) {
	for _, test := range []struct{ login, expect string }{
		{"", "/auth/login/?next=%2Fauth%2Fo%2Fapplications%2F%3Fq%3Da%2520b"},
		{"/sso/?x=1", "/sso/?x=1&next=%2Fauth%2Fo%2Fapplications%2F%3Fq%3Da%2520b"},
		{"https://login.example.com/in", "https://login.example.com/in?next={base}%2Fo%2Fapplications%2F%3Fq%3Da%2520b"},
	} {
		s := newSite(t, "/auth", func(c *Config) { c.LoginURL = test.login })
		got := s.visitor(t).get(t, "/o/applications/?q=a%20b")
		got.wants(t, 303)
		expect := strings.ReplaceAll(test.expect, "{base}", url.QueryEscape(s.base))
		if to := got.Header.Get("Location"); to != expect {
			t.Errorf("sent to %s, expected %s", to, expect)
		}
	}
}

func TestCrossOriginForms(t *testing.T) {
	s := newSite(t, "", func(c *Config) { c.LoginURL = "https://login.example.com/in" })
	in := url.Values{"username": {"alice"}, "password": {goodPassword}}.Encode()
	for _, test := range []struct {
		path, body, origin, site string
		expect                   int
	}{
		{"/login/", in, "", "same-origin", 303},
		{"/login/", in, s.base, "", 303},
		{"/login/", in, "https://login.example.com", "cross-site", 303},
		{"/login/", in, "https://evil.example.com", "cross-site", 403},
		{"/login/", in, "https://login.example.com.evil.com", "", 403},
		{"/login/", in, "null", "cross-site", 403},
		{"/logout/", "", "https://login.example.com", "cross-site", 403},
		{"/logout/", "", "https://evil.example.com", "", 403},
		{"/logout/", "", "", "same-site", 403},
		{"/logout/", "", s.base, "same-origin", 303},
		{"/o/consent/", "", "https://evil.example.com", "cross-site", 403},
		{"/account/password/", "", "https://login.example.com", "cross-site", 403},
		// Other sites send these on purpose.
		{"/o/authorize/", "client_id=x", "https://app.example.com", "cross-site", 303},
		{"/o/token/", "grant_type=x", "https://app.example.com", "cross-site", 400},
	} {
		v := s.visitor(t)
		r := v.request(t, post, test.path, test.body)
		if test.origin != "" {
			r.Header.Set("Origin", test.origin)
		}
		if test.site != "" {
			r.Header.Set("Sec-Fetch-Site", test.site)
		}
		if got := v.do(t, r); got.StatusCode != test.expect {
			t.Errorf("POST %s from %q, %q: %d, expected %d", test.path, test.origin, test.site, got.StatusCode, test.expect)
		}
	}
}

func TestLogout(t *testing.T) {
	s := newSite(t, "")
	v := s.as(t, "alice")
	v.get(t, "/logout/").wants(t, 200, "Sign out?")
	v.get(t, "/account/").wants(t, 200)
	got := v.post(t, "/logout/")
	if c := got.cookies()["mandate_session"]; c == nil || c.MaxAge >= 0 {
		t.Errorf("cookie %v", c)
	}
	v.follow(t, got).wants(t, 200, "You are signed out.")
	// Said once.
	if again := v.get(t, "/"); strings.Contains(again.body, "You are signed out.") {
		t.Error("the notice is shown twice")
	}
	v.get(t, "/account/").wants(t, 303)
	v.get(t, "/logout/").wants(t, 303)
	v.post(t, "/logout/").wants(t, 303)
}

// RFC 9110 §9.2.1: HEAD is safe.
func TestHeadOfALogoutRequestChangesNothing(t *testing.T) {
	v := newSite(t, "", func(c *Config) { c.OpenID, c.RPLogout = true, true }).visitor(t)
	head := v.do(t, v.request(t, http.MethodHead, "/o/logout/", ""))
	head.wants(t, 200)
	if len(head.cookies()) > 0 {
		t.Errorf("HEAD changes cookies: %v", head.cookies())
	}
	v.get(t, "/o/logout/").wants(t, 303)
}

// A browser that refuses cookies showed the login page again after a sign-in, without a word.
func TestSignInWithoutCookiesSaysSo(t *testing.T) {
	s := newSite(t, "/auth")
	const next, said = "/auth/account/?x=y", "Your browser refuses the cookies of this site"
	in := []string{"username", "alice", "password", goodPassword, "next", next}
	blocked := s.visitor(t)
	blocked.Jar = nil
	got := blocked.follow(t, blocked.post(t, "/login/", in...))
	got.wants(t, 400, said, `value="`+next+`"`, `name="password"`)
	if !strings.Contains(s.log.String(), "the browser keeps no cookie") {
		t.Error("the log does not say why")
	}

	// A browser that keeps them goes on, and one that had one before goes on at once.
	fresh := s.visitor(t)
	got = fresh.post(t, "/login/", in...)
	got.wants(t, 303)
	got = fresh.follow(t, got)
	if to := got.Header.Get("Location"); to != next {
		t.Errorf("sent to %q", to)
	}
	got = fresh.post(t, "/login/", in...)
	if to := got.Header.Get("Location"); to != next {
		t.Errorf("sent to %q at once", to)
	}
	for _, elsewhere := range []string{"https://evil.example.com/", "//evil.example.com", "/\\evil.example.com"} {
		got = fresh.get(t, "/login/cookies/?next="+url.QueryEscape(elsewhere))
		if to := got.Header.Get("Location"); to != "/auth/" {
			t.Errorf("%s: sent to %q", elsewhere, to)
		}
	}
	// The second step goes on at its page.
	r := s.visitor(t).request(t, get, "/login/cookies/?next="+url.QueryEscape(next), "")
	r.AddCookie(&http.Cookie{Name: "mandate_signin", Value: "x"})
	if to := s.visitor(t).do(t, r).Header.Get("Location"); to != "/auth/login/factor/?next="+url.QueryEscape(next) {
		t.Errorf("sent to %q", to)
	}
}
