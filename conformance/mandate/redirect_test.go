package mandate

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// The addresses to which the server redirects a browser. It redirects to a client only
// at a registered redirect URI, compared byte by byte, and only after the person has
// signed in. All other redirects lead to the server itself.

const (
	httpsURI    = "https://app.example.com/cb?tenant=1"
	loopbackURI = "http://127.0.0.1:8123/cb"
	privateURI  = "com.example.app:/cb"
	ipv6URI     = "http://[::1]/cb"
	nameURI     = "http://localhost:8123/cb"
)

func TestRedirect(t *testing.T) {
	onADatabase(t, func(t *testing.T, db database) {
		v := newFixture(t, options{database: db})
		app := v.application(t, "--name", "Redirected", "--skip-consent", "--grant", "authorization_code",
			"--redirect-uri", httpsURI,
			"--redirect-uri", loopbackURI, "--redirect-uri", privateURI, "--redirect-uri", ipv6URI, "--redirect-uri", nameURI)
		t.Run("exact_match", func(t *testing.T) { v.redirectsExactly(t, app) })
		t.Run("classes_of_attacks", func(t *testing.T) { v.refusesAttacks(t, app) })
		t.Run("checked_again_at_the_end", v.checksAgain)
		t.Run("pollution", func(t *testing.T) { v.refusesPollution(t, app) })
		t.Run("no_redirect_before_login", v.logsInFirst)
		t.Run("state_and_iss", func(t *testing.T) { v.returnsState(t, app) })
		if db.name == "sqlite" { // the result does not depend on the database, and each attempt costs a password hash
			t.Run("next", v.staysHome)
		}
		t.Run("always_303", v.redirectsBy303)
	})
}

// loopbacks: RFC 8252 §7.3: only the port of a loopback address may vary
// (CVE-2020-15233).
var loopbacks = regexp.MustCompile(`^http://(?:127\.0\.0\.1|\[::1\])(?::([0-9]{1,5}))?/cb$`)

// registered is the test's own rule: it reports whether a redirect URI is allowed.
func registered(uri string) bool {
	if slices.Contains([]string{httpsURI, loopbackURI, privateURI, ipv6URI, nameURI}, uri) {
		return true
	}
	loopback := loopbacks.FindStringSubmatch(uri)
	if loopback == nil {
		return false
	}
	port, _ := strconv.Atoi(loopback[1])
	return port <= 65535
}

// mutations changes each byte of a URI: its case, other bits, one byte more, one byte
// less.
func mutations(uri string) []string {
	var all []string
	for at := range len(uri) {
		all = append(all, uri[:at]+uri[at+1:], uri[:at]+"%"+fmt.Sprintf("%02X", uri[at])+uri[at+1:])
		for _, more := range []string{".", "/", "@", "0", "a", "\\", " ", "*", "#"} {
			all = append(all, uri[:at]+more+uri[at:])
		}
		for bit := range 7 {
			changed := []byte(uri)
			changed[at] ^= 1 << bit
			all = append(all, string(changed))
		}
	}
	return all
}

// RFC 9700 §4.1.3: simple string comparison (CVE-2020-15234: case matters;
// CVE-2023-6291: no patterns).
func (v *fixture) redirectsExactly(t *testing.T, app application) {
	for _, uri := range []string{httpsURI, loopbackURI, privateURI, ipv6URI, nameURI} {
		for _, mutated := range append(mutations(uri), uri) {
			v.wantProven(t, app, mutated, registered(mutated))
		}
	}
	for _, uri := range []string{"http://127.0.0.1/cb", "http://127.0.0.1:1/cb", "http://127.0.0.1:65535/cb",
		"http://[::1]:8123/cb"} {
		v.wantProven(t, app, uri, true)
	}
}

// wantProven sends a request without a session. With a registered redirect URI the next
// page is the login. With any other, a page shows the error, and the browser is not
// redirected (RFC 9700 §4.11.2).
func (v *fixture) wantProven(t testing.TB, app application, uri string, want bool) {
	t.Helper()
	address, _ := v.authorizeURL(app, "redirect_uri", uri)
	a := v.get(t, strings.TrimPrefix(address, v.URL), nobody)
	location := a.Header.Get("Location")
	switch {
	case want && (a.Status != http.StatusSeeOther || !strings.HasPrefix(location, "/login/?next=")):
		t.Errorf("%q is registered: %d, Location %q", uri, a.Status, location)
	case !want && (a.Status != http.StatusBadRequest || location != "" || a.Header.Get("Refresh") != ""):
		t.Errorf("%q is not registered: %d, Location %q", uri, a.Status, location)
	case !want && !strings.HasPrefix(a.Header.Get("Content-Type"), "text/html"):
		t.Errorf("%q: the error is no page: %s", uri, a.Header.Get("Content-Type"))
	}
}

func (v *fixture) refusesAttacks(t *testing.T, app application) {
	for _, uri := range []string{
		"https://evil.example/cb", "//app.example.com/cb?tenant=1", "/cb", "cb", "https:app.example.com/cb",
		"https://app.example.com@evil.example/cb?tenant=1", "https://evil@app.example.com/cb?tenant=1",
		"https://app.example.com.evil.example/cb?tenant=1", "https://app.example.com:443/cb?tenant=1",
		"https://app.example.com./cb?tenant=1",
		"https://app.example.com/cb/../cb?tenant=1", "https://app.example.com/./cb?tenant=1",
		"https://app.example.com/cb?tenant=1&x=y",
		"https://app.example.com/cb?tenant=1#fragment", "https://app.example.com/cb;x?tenant=1",
		"https://app.example.com\\@evil.example/cb?tenant=1",
		"https://evil.example\\@app.example.com/cb?tenant=1", "https://evil.example#@app.example.com/cb?tenant=1",
		"https://аpp.example.com/cb?tenant=1",
		"http://app.example.com/cb?tenant=1", "HTTPS://app.example.com/cb?tenant=1", "https://APP.example.com/cb?tenant=1",
		// CVE-2020-15233 and the loopback exception: host, path, query, user and scheme stay.
		"http://127.0.0.1:8123/cb?x=y", "http://127.0.0.1:8123/cb#x", "http://127.0.0.1:8123/", "http://127.0.0.1:8123",
		"http://127.0.0.1:8123/cb/",
		"http://evil@127.0.0.1:8123/cb", "http://127.0.0.1:8123@evil.example/cb", "http://127.0.0.1.evil.example:8123/cb",
		"https://127.0.0.1:8123/cb",
		"http://127.0.0.1:/cb", "http://127.0.0.1:-1/cb", "http://127.0.0.1:123456/cb", "http://127.0.0.1:80a/cb",
		"http://127.0.0.1:٨/cb",
		"http://127.0.0.2:8123/cb", "http://127.1:8123/cb", "http://2130706433:8123/cb", "http://0177.0.0.1/cb",
		"http://0.0.0.0:8123/cb",
		"http://[::ffff:127.0.0.1]:8123/cb", "http://[0:0:0:0:0:0:0:1]/cb", "http://[::1%25lo]/cb",
		"http://localhost:8124/cb", "http://localhost/cb",
		"com.example.app://cb", "com.example.app:/cb/", "com.example.app.evil:/cb", "COM.example.app:/cb",
		"javascript:alert(1)", "data:text/html,x", "file:///etc/passwd", "about:blank", "https://*/cb",
		"https://app.example.com/*", "null", " ", "\x00",
		httpsURI + "\x00", httpsURI + "\r\nX-Injected: 1", httpsURI + "\xff", httpsURI + " https://evil.example/",
		httpsURI + "," + loopbackURI,
		strings.Repeat("https://app.example.com/cb?tenant=1", 100),
	} {
		v.wantProven(t, app, uri, false)
	}
	t.Run("unknown_client", func(t *testing.T) {
		for _, id := range []string{"nobody", "", app.ClientID + "x", strings.ToLower(app.ClientID + "X"), app.ClientID + " ",
			app.ClientID + "\x00", "<script>alert(1)</script>"} {
			for _, uri := range []string{httpsURI, "https://evil.example/", "javascript:alert(1)"} {
				query := params("client_id", id, "redirect_uri", uri, "response_type", "code")
				a := v.get(t, "/o/authorize/?"+query.Encode(), nobody)
				if a.Status != http.StatusBadRequest || a.Header.Get("Location") != "" {
					t.Errorf("client %q at %q: %d, Location %q", id, uri, a.Status, a.Header.Get("Location"))
				}
				if strings.Contains(a.Body, "<script>alert") || strings.Contains(a.Body, `href="javascript:`) ||
					strings.Contains(a.Body, `href="https://evil`) {
					t.Errorf("client %q at %q: the page has what the request said in it:\n%s", id, uri, a.Body)
				}
			}
		}
	})
	t.Run("signed_in", func(t *testing.T) {
		b := v.signedIn(t, v.alice)
		for _, uri := range []string{"https://evil.example/", "//evil.example", "javascript:alert(1)", loopbackURI + "x"} {
			for _, more := range [][]string{nil, {"scope", "nonsense"}, {"response_type", ""}, {"prompt", "none"},
				{"code_challenge", ""}} {
				address, _ := v.authorizeURL(app, append(more, "redirect_uri", uri)...)
				b.open(t, address)
				if b.Status != http.StatusBadRequest || b.Away != nil || len(b.Hops) != 0 {
					t.Errorf("%q with %q: %d, %v", uri, more, b.Status, b.Hops)
				}
			}
		}
	})
}

// CVE-2025-4143: a redirect URI that is removed while the consent page is open is not
// used.
func (v *fixture) checksAgain(t *testing.T) {
	app := v.application(t, "--name", "Moving", "--grant", "authorization_code", "--redirect-uri",
		"https://old.example/cb", "--redirect-uri", "https://new.example/cb")
	root, alice := v.signedIn(t, v.admin), v.signedIn(t, v.alice)
	ticket := alice.ticket(t, app)
	code := v.signedIn(t, v.bob).issue(t, app, v.bob)
	root.open(t, "/o/applications/"+app.ID+"/update/")
	root.submit(t, "Save changes", params("redirect_uris", "https://new.example/cb"))
	for _, decision := range []string{"approve", "deny"} {
		alice.send(t, "/o/consent/", params("ticket", ticket, "decision", decision))
		if alice.Status != http.StatusBadRequest || alice.Away != nil {
			t.Errorf("%s: %d, away %v", decision, alice.Status, alice.Away)
		}
	}
	// The code was sent already, and the client must still authenticate to use it.
	v.mustToken(t, app.auth(), code)
}

// RFC 6749 §3.1: no parameter appears twice (CVE-2026-9689).
func (v *fixture) refusesPollution(t *testing.T, app application) {
	address, _ := v.authorizeURL(app, "redirect_uri", httpsURI, "state", "kept", "scope", "read", "response_mode", "query",
		"unknown", "1")
	b := v.signedIn(t, v.alice)
	at, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	for name, values := range at.Query() {
		one, base := url.Values{name: values}.Encode(), v.URL+"/o/authorize/?"+with(at.Query(), name, "").Encode()
		evil, empty := url.Values{name: {"https://evil.example/"}}.Encode(), name+"="
		for _, pair := range []string{one + "&" + one, one + "&" + evil, evil + "&" + one, one + "&" + empty,
			empty + "&" + one} {
			b.open(t, base+"&"+pair)
			if name == "client_id" || name == "redirect_uri" {
				if b.Status != http.StatusBadRequest || b.Away != nil {
					t.Errorf("%s: %d, away %v", pair, b.Status, b.Away)
				}
				continue
			}
			if b.Away == nil || b.Away.Query().Get("error") != "invalid_request" || b.Away.Query().Has("code") ||
				b.Away.Host != "app.example.com" {
				t.Errorf("%s: %d, away %v", pair, b.Status, b.Away)
			}
		}
	}
}

// RFC 9700 §4.11.2: the person signs in before the browser is redirected to a client,
// even with an error. Otherwise any link to the server could redirect a browser
// elsewhere.
func (v *fixture) logsInFirst(t *testing.T) {
	for _, c := range []struct{ name, parameter, value, code string }{
		{"no response type", "response_type", "", "invalid_request"},
		{"another response type", "response_type", "token", "unsupported_response_type"},
		{"an unknown scope", "scope", "nonsense", "invalid_scope"},
		{"a malformed scope", "scope", "read\twrite", "invalid_scope"},
		{"a scope that it may not have", "scope", "introspection", "invalid_scope"},
		{"no challenge", "code_challenge", "", "invalid_request"},
		{"a request object", "request", "e30.e30.", "invalid_request_object"},
		{"a request URI", "request_uri", "https://evil.example/", "request_uri_not_supported"},
		{"a state that is too long", "state", strings.Repeat("x", 4097), "invalid_request"},
		{"text that is not UTF-8", "ui_locales", "\xff", "invalid_request"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := v.browser(t)
			address, _ := v.authorizeURL(v.web, c.parameter, c.value)
			b.open(t, address)
			if b.Away != nil || b.URL.Path != "/login/" || len(b.Hops) != 1 {
				t.Fatalf("without a session: %d %s, %v", b.Status, b.URL, b.Hops)
			}
			b.logIn(t, v.alice)
			if b.Away == nil || !strings.HasPrefix(b.Away.String(), webURI+"?") {
				t.Fatalf("after the login: %d %s, %v", b.Status, b.URL, b.Hops)
			}
			got := b.Away.Query()
			// RFC 9207 §2: errors contain iss too.
			if got.Get("error") != c.code || got.Get("iss") != v.Issuer || got.Has("code") ||
				strings.ContainsFunc(got.Get("error_description"), notNQSCHAR) {
				t.Errorf("the client gets %s", b.Away)
			}
		})
	}
	// OIDC Core §3.1.2.6: an unknown response mode gives no way to send the error to the
	// client.
	for _, b := range []*browser{v.browser(t), v.signIn(t, v.alice, "/account/")} {
		address, _ := v.authorizeURL(v.web, "response_mode", "fragment")
		b.open(t, address)
		if b.Away != nil || b.Status != http.StatusBadRequest {
			t.Errorf("another response mode: %d, sent to %v", b.Status, b.Away)
		}
	}
}

// RFC 6749 §4.1.2: state is returned unchanged, and is absent if the request had none.
// RFC 9207 §2: every response contains iss.
func (v *fixture) returnsState(t *testing.T, app application) {
	printable := ""
	for c := ' '; c <= '~'; c++ {
		printable += string(c)
	}
	b := v.signedIn(t, v.alice)
	for _, uri := range []string{httpsURI, privateURI, "http://127.0.0.1:9/cb"} {
		for _, state := range []string{"", "x", printable, "a b+c%20d%2Bé漢字\U0001f511", "%", "%zz",
			"&code=stolen&iss=https://evil.example", "#fragment",
			"a\r\nX-Injected: 1", "\t", strings.Repeat("%", 4096), strings.Repeat("漢", 1365),
			strings.Repeat(printable, 44)[:4096]} {
			address, _ := v.authorizeURL(app, "redirect_uri", uri, "state", state)
			for _, more := range []string{"", "&scope=nonsense"} {
				b.open(t, address+more)
				v.wantState(t, b, uri, state)
			}
		}
	}
	t.Run("through_the_login_and_the_consent", func(t *testing.T) {
		for _, state := range []string{strings.Repeat("%", 4096), strings.Repeat("漢", 1365), printable} {
			for _, decision := range []string{"approve", "deny"} {
				address, _ := v.authorizeURL(v.phone, "state", state)
				other := v.browser(t)
				back := other.authorize(t, address, v.bob, decision)
				v.wantState(t, other, phoneURI, state)
				if (decision == "deny") != (back.Query().Get("error") == "access_denied") {
					t.Errorf("%s: %s", decision, back)
				}
			}
		}
	})
}

func (v *fixture) wantState(t testing.TB, b *browser, uri, state string) {
	t.Helper()
	if b.Away == nil || len(b.Hops) == 0 {
		t.Fatalf("the client is told nothing: %d %s", b.Status, b.URL)
	}
	location := b.Hops[len(b.Hops)-1].Location
	// The registered redirect URI is kept unchanged, including its query.
	if !strings.HasPrefix(location, uri+"?") && !strings.HasPrefix(location, uri+"&") {
		t.Errorf("the answer for %s goes to %.120s", uri, location)
	}
	got, err := url.ParseQuery(b.Away.RawQuery)
	if err != nil {
		t.Errorf("%.120s: %v", location, err)
	}
	want := []string{state}
	if state == "" {
		want = nil
	}
	if !slices.Equal(got["state"], want) || !slices.Equal(got["iss"], []string{v.Issuer}) || len(got["code"])+
		len(got["error"]) != 1 {
		t.Errorf("state %.60q: the client gets %.200s", state, location)
	}
}

// staysHome: the parameter for the address after the login cannot redirect to another
// site (CVE-2019-3778 and similar).
func (v *fixture) staysHome(t *testing.T) {
	for _, next := range []string{
		"https://evil.example/", "//evil.example/", "///evil.example/", "////evil.example", "/\\evil.example/",
		"\\\\evil.example/", "\\/evil.example/",
		"/\t/evil.example/", "/\n/evil.example", "/\r\n/evil.example/", "\t//evil.example/", " //evil.example/",
		"\x00//evil.example/", "/%5cevil.example/", "/%2fevil.example/",
		"/%09/evil.example/", "/.//evil.example/", "/..//evil.example/", "/x/..//evil.example/", "/./\\evil.example",
		"/%2e%2e//evil.example/", "/x/%2e%2e//evil.example/",
		"javascript:alert(1)", "JavaScript:alert(1)", "data:text/html,x", "https:evil.example", "https:/evil.example",
		"http:///evil.example/",
		"evil.example", ".evil.example", "@evil.example", ":80", "?next=//evil.example", "#", "//", "/\u2028/evil.example/",
		"/\xff/evil.example/",
		v.BaseURL + "@evil.example/", v.BaseURL + ".evil.example/", v.BaseURL + "//evil.example/",
		v.BaseURL + "\\@evil.example", "http://user@" + strings.TrimPrefix(v.BaseURL, "http://") + "@evil.example/",
		"/account/\r\nSet-Cookie: mandate_session=planted", strings.Repeat("/", 9000) + "evil.example",
	} {
		page := v.get(t, "/login/?next="+url.QueryEscape(next), nobody)
		if page.Status >= 500 || page.Header.Get("Location") != "" || strings.Contains(page.Body, "javascript:") {
			t.Errorf("next %.60q: %d, Location %q", next, page.Status, page.Header.Get("Location"))
		}
		a := v.post(t, "/login/", sameSite, params("username", v.bob.Name, "password", v.bob.Password, "next", next))
		if a.Status != http.StatusSeeOther && a.Status != http.StatusBadRequest {
			t.Errorf("next %.60q: %d", next, a.Status)
		}
		if at := asBrowser(v.URL+"/login/", a.Header.Get("Location")); at.Host != strings.TrimPrefix(v.URL, "http://") ||
			at.Scheme != "http" {
			t.Errorf("next %.60q leads to %q", next, a.Header.Get("Location"))
		}
		for _, cookie := range a.Header.Values("Set-Cookie") {
			if strings.Contains(cookie, "planted") {
				t.Errorf("next %.60q sets a cookie: %s", next, cookie)
			}
		}
	}
	visitor := func(r *http.Request, form url.Values) { // the login page has set a cookie
		sameSite(r, form)
		withCookie("any", "cookie")(r, form)
	}
	for _, next := range []string{"/account/", "/o/applications/?page=1&q=%2F%2Fevil",
		"/o/authorize/?state=https%3A%2F%2Fevil.example%2F&x=//y"} {
		a := v.post(t, "/login/", visitor, params("username", v.bob.Name, "password", v.bob.Password, "next", next))
		if a.Header.Get("Location") != next {
			t.Errorf("next %q leads to %q", next, a.Header.Get("Location"))
		}
	}
}

// asBrowser resolves an address as browsers do (WHATWG URL): it drops tabs and line
// breaks, trims controls and spaces, and reads a backslash as a slash.
func asBrowser(base, location string) *url.URL {
	location = strings.NewReplacer("\t", "", "\r", "", "\n", "", "\\", "/").Replace(location)
	location = strings.TrimFunc(location, func(r rune) bool { return r <= ' ' })
	at, err := url.Parse(base)
	if err != nil {
		return &url.URL{}
	}
	target, err := at.Parse(location)
	if err != nil {
		return &url.URL{Host: "an address that no URL is"}
	}
	return target
}

// RFC 9700 §4.12: only 303 makes every browser drop the form and its password.
func (v *fixture) redirectsBy303(t *testing.T) {
	b := v.signedIn(t, v.alice)
	step := func(name string, do func()) {
		t.Helper()
		do()
		if len(b.Hops) == 0 {
			t.Errorf("%s: no redirect but %d %s", name, b.Status, b.URL)
		}
		for _, h := range b.Hops {
			if h.Status != http.StatusSeeOther {
				t.Errorf("%s: %d to %s", name, h.Status, h.Location)
			}
		}
	}
	address, _ := v.authorizeURL(v.phone)
	step("approve", func() { b.authorize(t, address, v.alice, "approve") })
	step("deny", func() { b.authorize(t, address, v.alice, "deny") })
	step("authorize by POST",
		func() { b.send(t, "/o/authorize/", params("client_id", v.web.ClientID, "redirect_uri", webURI)) })
	step("register", func() {
		b.send(t, "/o/applications/register/",
			url.Values{"name": {"Mine"}, "client_type": {"confidential"}, "grant_type": {"client_credentials"},
				"scope": {"read"}})
	})
	mine := b.URL.Path
	step("update", func() {
		b.open(t, mine+"update/")
		b.submit(t, "Save changes", params("name", "Still mine"))
	})
	step("rotate", func() { b.send(t, mine+"rotate/", params("overlap", "0")) })
	step("delete", func() { b.send(t, mine+"delete/", nil) })
	step("password", func() {
		v.alice.Password = v.alice.Password + "!"
		b.send(t, "/account/password/", params("current_password", strings.TrimSuffix(v.alice.Password, "!"), "new_password",
			v.alice.Password))
	})
	step("log out", func() { b.send(t, "/logout/", nil) })
	step("a page without a session", func() { b.open(t, "/account/") })
	step("log in", func() { b.logIn(t, v.alice) })
	// A path with or without a trailing slash is answered, and never redirected to the
	// other.
	for _, path := range []string{"/o/token", "/o/token/", "/o/introspect", "/o/revoke", "/o/revoke_token", "/o//token/",
		"/o/./token/", "/login", "//login/", "/o/TOKEN/"} {
		a := v.post(t, path, nobody, params("grant_type", "client_credentials"))
		if a.Status >= 300 && a.Status < 400 || a.Status >= 500 {
			t.Errorf("POST %s: %d to %q", path, a.Status, a.Header.Get("Location"))
		}
	}
}
