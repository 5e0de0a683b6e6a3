package wire

import (
	"encoding/base64"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"mandate/testkit"
)

// brief are secrets that are too short to be masked in any position. Random texts contain no tilde.
var brief = map[string]string{"password": "p~1", "client": "s~2", "access": "a~3", "refresh": "r~4", "id": "i~5",
	"code": "c~6", "cookie": "k~7"}

// wantHidden asserts that a text contains no secret.
func wantHidden(t *testing.T, where, text string) {
	t.Helper()
	for name, secret := range brief {
		for _, form := range []string{secret, url.QueryEscape(secret),
			base64.StdEncoding.EncodeToString([]byte("code:" + secret))} {
			if at := strings.Index(text, form); at >= 0 {
				t.Errorf("%s shows the %s: …%s…", where, name, text[max(0, at-200):min(len(text), at+40)])
			}
		}
	}
}

// A secret of any length is masked beside its name, if the target contains it or the server has issued it.
func TestMaskByName(t *testing.T) {
	header := func(pairs ...string) http.Header {
		h := http.Header{}
		for i := 0; i < len(pairs); i += 2 {
			h.Add(pairs[i], pairs[i+1])
		}
		return h
	}
	basic := "Basic " + base64.StdEncoding.EncodeToString([]byte("code:s~2"))
	for name, a := range map[string]*Answer{
		"a form":           {SentForm: "grant_type=authorization_code&code=c~6&client_secret=s%7E2&refresh_token=r~4"},
		"a password field": {SentForm: "login=alice&login%5Bpw%5D=p~1"},
		"Basic":            {SentHeader: header("Authorization", basic)},
		"Basic, lower":     {SentHeader: header("Authorization", "basic"+basic[5:])},
		"Bearer":           {SentHeader: header("Authorization", "Bearer a~3")},
		"another scheme":   {SentHeader: header("Authorization", "DPoP a~3")},
		"no scheme":        {SentHeader: header("Authorization", "a~3")},
		"a cookie": {SentHeader: header("Cookie", "sid=k~7; other=k~7"),
			Header: header("Set-Cookie", "sid=k~7; Path=/; HttpOnly")},
		"a redirect": {Header: header("Location", "https://client.example/code?x=1&code=c~6&state=z", "Refresh",
			"0; url=https://client.example/#access_token=a~3&id_token=i~5")},
		"an answer": {
			Body: []byte(
				`{"access_token": "a~3", "refresh_token":"r~4", "id_token" : "i\u007e5", "more": {"client_secret": "s~2"}}`)},
		"a page": {Body: []byte(
			`<form><input type="hidden" name="code" value="c~6"><INPUT value='i~5' name=id_token><input type=password name=x value=p~1>` +
				`<a href="https://client.example/?a=b&amp;code=c~6">go</a>`)},
	} {
		m := NewMask()
		m.Typed("login[pw]")
		m.Add("code_secret", "s~2")
		m.Add("password", "p~1")
		m.Learn(&Answer{URL: &url.URL{},
			Body: []byte(`{"access_token": "a~3", "refresh_token": "r~4", "id_token": "i~5", "code": "c~6"}`)})
		a.Method, a.URL = http.MethodPost,
			&url.URL{Scheme: "https", Host: "server.example", Path: "/", RawQuery: "code=c~6&code_challenge=x"}
		e := m.Exchange(a)
		wantHidden(t, name, e.Sent+e.Got+e.Repeat)
		if !strings.Contains(e.Sent, "code=$CODE&code_challenge=x") ||
			!strings.Contains(e.Repeat, `?code='"$CODE"'&code_challenge=x'`) {
			t.Errorf("%s: what is no secret is gone, or the secret has no name:\n%s\n%s", name, e.Sent, e.Repeat)
		}
		m.Learn(a) // it learns nothing new
		if again := m.Exchange(a); again != e {
			t.Errorf("%s: the second time it is\n%+v\nand was\n%+v", name, again, e)
		}
	}
}

// A word that equals a short secret stays where it is no secret. A long secret is masked in every position.
func TestMaskMangles(t *testing.T) {
	m := NewMask()
	m.Add("password", "code")
	m.Add("access_token", "a long secret & <more>")
	for text, want := range map[string]string{
		"grant_type=authorization_code&password=code":       "grant_type=authorization_code&password=$PASSWORD",
		"the code was refused":                              "the code was refused",
		"it says a long secret & <more>, twice":             "it says $ACCESS_TOKEN, twice",
		"a+long+secret+%26+%3Cmore%3E":                      "$ACCESS_TOKEN",
		"/login?back=https://x/?password=code&x=code":       "/login?back=https://x/?password=$PASSWORD&x=code",
		`{"a": "b\u0026password=code", "password" :"code"}`: `{"a": "b\u0026password=$PASSWORD", "password" :"$PASSWORD"}`,
		"<b>a long secret &amp; &lt;more&gt;</b>":           "<b>$ACCESS_TOKEN</b>",
		`{"error": "invalid_code", "code_verifier": 1}`:     `{"error": "invalid_code", "code_verifier": 1}`,
	} {
		if got := m.Hide(text); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	long := &Answer{Method: "GET", URL: &url.URL{Host: "h"},
		Body: []byte(strings.Repeat("x", shownBody-5) + "a long secret & <more>")}
	if got := m.got(long, shownBody); strings.Contains(got, "a lon") {
		t.Errorf("half a secret is left: %s", got[len(got)-60:])
	}
	if got := named(quote(
		m.hide("a $HOME of $PASSWORD, a long secret & <more>"))); got != `'a $HOME of $PASSWORD, '"$ACCESS_TOKEN"` {
		t.Errorf("a shell would take %s otherwise", got)
	}
}

// A value that a check has made up is shown, so that the curl command sends it. A value made of a secret is a secret.
func TestMaskShowsWhatTheCheckChose(t *testing.T) {
	const token = "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJhbGljZSJ9.c2lnbmF0dXJlLW9mLXRoZS1zZXJ2ZXI"
	m := NewMask()
	m.Add("password", "password")
	m.Show("openid profile email")
	m.Learn(&Answer{URL: &url.URL{}, Body: []byte(`{"access_token": "` + token + `"}`),
		Header: http.Header{"Set-Cookie": {"scope=openid profile email"}}})
	invented := &Answer{Method: "POST",
		URL:        &url.URL{Scheme: "https", Host: "server.example", RawQuery: "state=a-state-of-the-check"},
		SentHeader: http.Header{"Authorization": {"Bearer an-invented-token"}, "User-Agent": {"mandate-conformance"}},
		SentForm:   "grant_type=password&password=password&code=an-invented-code&scope=openid+profile+email&client_secret=wrong-secret",
		Body: []byte(
			`<input type="hidden" name="x" value="openid profile email"><input type="hidden" name="state" value="a-state-of-the-check">{"code":"an-invented-code"}`)}
	m.Learn(invented)
	e := m.Exchange(invented)
	for _, shown := range []string{"Bearer an-invented-token", "code=an-invented-code", "client_secret=wrong-secret",
		"grant_type=password&password=$PASSWORD",
		"scope=openid+profile+email", "state=a-state-of-the-check", "mandate-conformance"} {
		if !strings.Contains(e.Sent, shown) {
			t.Errorf("%s is hidden in\n%s", shown, e.Sent)
		}
	}
	for _, shown := range []string{`value="openid profile email"`, `value="a-state-of-the-check"`,
		`{"code":"an-invented-code"}`} {
		if !strings.Contains(e.Got, shown) {
			t.Errorf("%s is hidden in\n%s", shown, e.Got)
		}
	}
	parts := strings.Split(token, ".")
	for _, altered := range []string{token[:len(token)-1], token + "x", testkit.Changed(token, 0),
		"e30." + parts[1] + "."} {
		a := &Answer{Method: "GET", URL: &url.URL{}, SentHeader: http.Header{"Authorization": {"Bearer " + altered}},
			SentForm: "token=" + altered}
		m.Learn(a)
		if e := m.Exchange(a); strings.Contains(e.Sent+e.Repeat, parts[1]) || strings.Contains(e.Sent+e.Repeat, altered) {
			t.Errorf("a token made of a secret is shown: %s", e.Sent)
		}
	}
}

// Where a browser was sent is described without values.
func TestPlace(t *testing.T) {
	for address, want := range map[string]string{
		"https://client.example/code":                "https://client.example/code",
		"https://client.example/code?state=x&code=y": "https://client.example/code with code, state",
		"https://client.example/a%20b?x=1#access_token=z&error=": "https://client.example/a%20b with x, #access_token, " +
			"#error",
		"%zz": "%zz",
	} {
		if got := Place(address); got != want {
			t.Errorf("%s: %q, want %q", address, got, want)
		}
	}
}

// The curl command sends the whole form, also where a report shows only its beginning.
func TestRepeatSendsTheWholeForm(t *testing.T) {
	form := "grant_type=password&scope=" + strings.Repeat("x", 2*shownBody) + "&client_id=c"
	e := NewMask().Exchange(&Answer{Method: "POST", URL: &url.URL{Scheme: "https", Host: "as.example"}, SentForm: form})
	want := "curl -i https://as.example -d " + strings.ReplaceAll(form, "&", " -d ")
	if e.Repeat != want || len(e.Sent) > 2*shownBody {
		t.Errorf("%q after %d bytes", e.Repeat, len(e.Sent))
	}
}

// Parameters that carry a session have no place in a report.
func TestMaskSessions(t *testing.T) {
	for _, name := range []string{"login_verifier", "consent_verifier", "login_challenge", "session_code", "request_uri",
		"user_code", "ticket", "SAMLResponse", "secret", "accessToken"} {
		m := NewMask()
		a := &Answer{Method: "GET", URL: &url.URL{},
			Header: http.Header{"Location": {"https://as.example/x?" + name + "=v~1"}}, Body: []byte(`{"` + name + `":"v~2"}`)}
		if e := m.Exchange(a); strings.Contains(e.Got, "v~") {
			t.Errorf("the %s is shown:\n%s", name, e.Got)
		}
	}
}

// An address is masked before it is clipped.
func TestClipAddresses(t *testing.T) {
	secret := "a-token-in-a-path-" + strings.Repeat("0123456789", 30)
	m := NewMask()
	m.Add("access_token", secret)
	m.Add("code", "a-code-of-the-server")
	long := "https://as.example/" + strings.Repeat("x", 178) + "/"
	for text, want := range map[string]string{
		"the browser was sent to " + Place("https://as.example/"+secret+"/x?code=1"): "the browser was sent to " +
			"https://as.example/$ACCESS_TOKEN/x with code",
		"it was sent to " + long + "a-code-of-the-server/x/x, not here": "it was sent to " + long +
			"$C… (207 bytes in all), not here",
	} {
		if got := ClipAddresses(m.Hide(text)); got != want {
			t.Errorf("it is %s, want %s", got, want)
		}
	}
	for text, want := range map[string]string{"a title": "a title",
		"a long title with a-code-of-the-server": "a long title with… (38 bytes in all)",
		strings.Repeat("x", 40):                  "… (40 bytes in all)"} {
		if got := ClipWords(text, 25); got != want {
			t.Errorf("it is %s, want %s", got, want)
		}
	}
}

// The code of an error can be in a member named code, and is no authorization code.
func TestMaskShowsErrorCodes(t *testing.T) {
	for body, shown := range map[string]bool{`{"code":"invalid_request"}`: true, `{"code": "INVALID_CLIENT"}`: true,
		`{"code":"InvalidClient"}`: true,
		`{"code":"c~6"}`:           false, `{"code":"SplxlOBeZQQYbYS6WxSbIA"}`: false, `{"code":"abcdefgh"}`: false,
		`{"access_token":"invalid_request"}`: false} {
		m := NewMask()
		a := &Answer{Method: http.MethodPost, URL: &url.URL{Scheme: "https", Host: "server.example", Path: "/"},
			Status: http.StatusBadRequest, Body: []byte(body)}
		if got := m.Exchange(a).Got; strings.Contains(got, body) != shown {
			t.Errorf("%s is shown as %s", body, got)
		}
	}
}

// An endpoint for programs that redirects to a login page wants something else than it got.
func TestFailureNamesTheLoginPage(t *testing.T) {
	for location, want := range map[string]string{
		"/login?next=1": "302 Found, a redirect to the login page https://server.example/login, as if the " +
			"request came from a person and not from a client",
		"https://sso.example/Sign-In": "302 Found, a redirect to the login page https://sso.example/Sign-In, as if the " +
			"request came from a person and not from a client",
		"/elsewhere": "302 Found, a redirect to https://server.example/elsewhere",
		"":           "302 Found",
	} {
		a := &Answer{URL: &url.URL{Scheme: "https", Host: "server.example", Path: "/par"}, Status: http.StatusFound,
			Header: http.Header{"Location": {location}}}
		if got := a.Failure(); got != want {
			t.Errorf("%q: %s", location, got)
		}
	}
}
