package wire

import (
	"net/http"
	"net/url"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	somePayload = "eyJzdWIiOiJhbGljZSJ9"
	someToken   = "eyJhbGciOiJSUzI1NiJ9." + somePayload + ".c2lnbmF0dXJlLW9mLXRoZS1zZXJ2ZXI"
)

// sentTo returns the answer to a request of a browser, or of a client if site is empty.
func sentTo(method, address, site, form string, header http.Header, body string) *Answer {
	a := &Answer{Method: method, URL: ParseURL(address), SentHeader: http.Header{}, SentForm: form,
		contentType: FormEncoded, Header: header, Body: []byte(body)}
	if site != "" {
		a.SentHeader.Set("Sec-Fetch-Site", site)
	}
	return a
}

// A script has the requests that get what the last one needs from the server, each once, and nothing that it does not
// need.
func TestRepeat(t *testing.T) {
	const authorize, token = "https://as.example/authorize", "https://as.example/token"
	begin := sentTo("GET", authorize+"?client_id=code", "none", "",
		http.Header{"Set-Cookie": {"sid=the-first-cookie; Path=/"}}, "")
	posted := sentTo("POST", "https://as.example/login", "same-origin", "password=the-password",
		http.Header{"Location": {"https://client.example/?code=the-first-code"}}, "")
	posted.SentHeader.Set("Cookie", "sid=the-first-cookie")
	redeemed := sentTo("POST", token, "", "code=the-first-code&code_verifier=made-up", nil,
		`{"access_token":"`+someToken+`","refresh_token":"not-needed-here"}`)
	unrelated := sentTo("POST", token, "", "grant_type=client_credentials", nil,
		`{"access_token":"another-token-of-the-server"}`)
	resource := sentTo("GET", "https://as.example/me", "", "", nil, "")
	resource.SentHeader.Set("Authorization", "Bearer "+someToken)
	altered := sentTo("POST", "https://as.example/introspect", "", "token="+strings.Replace(someToken, ".c2l", ".A2l", 1),
		nil, "")
	again := sentTo("GET", authorize+"?id_token_hint="+someToken, "none", "", nil, "")
	again.SentHeader.Set("Cookie", "sid=the-first-cookie")
	page := sentTo("GET", "https://as.example/interaction/the-first-cookie", "none", "", nil, "")
	page.SentHeader.Set("Cookie", "sid=the-first-cookie")
	resumed := sentTo("GET", "https://as.example/resume/the-first-cookie", "same-origin", "", nil, "")
	resumed.SentHeader.Set("Cookie", "sid=the-first-cookie")
	all := []*Answer{begin, page, posted, resumed, redeemed, unrelated, resource, altered, again}
	m := NewMask()
	m.Add("password", "the-password")
	for _, a := range all {
		m.Learn(a)
	}
	visit := Visit{Person: "alice", Begins: func(a *Answer) *Answer {
		switch a {
		case begin, page, posted, resumed:
			return begin
		case again:
			return again
		}
		return nil
	}, Redirected: func(a *Answer) bool { return a == page }}
	open := "# Open this in a new private window of a browser, sign in as alice if you are asked, and approve:\n#   " +
		"https://as.example/authorize?client_id=code\n"
	code := open + "CODE= # in the address to which the browser is sent at last\n"
	tokens := code + "curl -i https://as.example/token -d code=\"$CODE\" -d code_verifier=made-up\nACCESS_TOKEN= # " +
		"access_token in the answer\n"
	for name, row := range map[string]struct {
		last *Answer
		want string
	}{
		"nothing is needed": {unrelated, "curl -i https://as.example/token -d grant_type=client_credentials"},
		"a code":            {redeemed, code + `curl -i https://as.example/token -d code="$CODE" -d code_verifier=made-up`},
		"a token":           {resource, tokens + `curl -i https://as.example/me -H 'Authorization: Bearer '"$ACCESS_TOKEN"`},
		"a token made of another": {altered,
			tokens +
				`TOKEN=$(echo "$ACCESS_TOKEN" | cut -d. -f1).$(echo "$ACCESS_TOKEN" | cut -d. -f2).A$(echo "$ACCESS_TOKEN" | cut -d. -f3 | cut -c2-)` +
				"\ncurl -i https://as.example/introspect -d token=\"$TOKEN\""},
		"the first page": {begin, `curl -i 'https://as.example/authorize?client_id=code' -H 'Sec-Fetch-Site: none'`},
		"a page after redirects": {page,
			`curl -i -L -b '' 'https://as.example/authorize?client_id=code' -H 'Sec-Fetch-Site: none'`},
		"a form": {posted, open + "# The browser has sent this request then. COOKIES is its header Cookie:\n" +
			`curl -i https://as.example/login -H "Cookie: $COOKIES" -H 'Sec-Fetch-Site: same-origin' -d password="$PASSWORD"`},
		"a page after a form": {resumed, open + "# The browser has sent this request then. COOKIES is its header Cookie:\n" +
			"# COOKIE is a part of its address. The developer tools of the browser show both.\n" +
			`curl -i https://as.example/resume/"$COOKIE" -H "Cookie: $COOKIES" -H 'Sec-Fetch-Site: same-origin'`},
		"another page": {again, tokens + "# Open what this prints in the same window, sign in as alice if you are asked, " +
			"and approve:\n" +
			`echo 'https://as.example/authorize?id_token_hint='"$ACCESS_TOKEN"` + "\n# Or send it by curl. COOKIES is the " +
			"header Cookie of that window:\n" +
			`curl -i 'https://as.example/authorize?id_token_hint='"$ACCESS_TOKEN" -H "Cookie: $COOKIES" -H 'Sec-Fetch-Site: none'`},
	} {
		if diff := cmp.Diff(row.want, m.Repeat(row.last, visit)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// A shell makes the value that the check made of a secret.
func TestRepeatMakesTheValue(t *testing.T) {
	parts := strings.Split(someToken, ".")
	for _, made := range []string{
		someToken[:len(someToken)-1], someToken + "x", parts[0] + "." + parts[1] + ".", "eyJhbGciOiJub25lIn0." +
			parts[1] + ".",
		parts[0] + "." + parts[1] + ".A" + parts[2][1:], parts[0] + ".eyJzdWIiOiJib2IifQ." + parts[2],
	} {
		m := NewMask()
		m.Learn(&Answer{URL: &url.URL{}, Body: []byte(`{"access_token":"` + someToken + `"}`)})
		m.Learn(&Answer{URL: &url.URL{}, SentForm: "token=" + made})
		base, word := m.madeOf(made)
		shell := exec.CommandContext(t.Context(), "sh", "-c", "ACCESS_TOKEN="+someToken+"\nprintf %s "+word)
		out, err := shell.Output()
		if err != nil || base != "$ACCESS_TOKEN" || string(out) != made || strings.Contains(word, parts[2]) {
			t.Errorf("%s of %s makes %q, want %q (%v)", word, base, out, made, err)
		}
	}
}

// A name that the server chose, or a name of a person, cannot end a comment of the script. Of several members with the
// value, each run names the same one.
func TestRepeatComments(t *testing.T) {
	for body, want := range map[string]string{
		`{"a\ntouch marker; :":"a-long-token-of-the-server"}`:                   "ACCESS_TOKEN= # in the answer\n",
		`{"` + strings.Repeat("a", 65) + `":"a-long-token-of-the-server"}`:      "ACCESS_TOKEN= # in the answer\n",
		`{"c\u001b[2J":"a-long-token-of-the-server"}`:                           "ACCESS_TOKEN= # in the answer\n",
		`{"b":"a-long-token-of-the-server","a":"a-long-token-of-the-server"}`:   "ACCESS_TOKEN= # a in the answer\n",
		`{"b":"a-long-token-of-the-server","a b":"a-long-token-of-the-server"}`: "ACCESS_TOKEN= # b in the answer\n",
	} {
		m := NewMask()
		issued := sentTo("POST", "https://as.example/token", "", "", nil,
			strings.TrimSuffix(body, "}")+`,"access_token":"a-long-token-of-the-server"}`)
		if !strings.Contains(want, " a in") {
			issued.Body = []byte(body)
			m.Add("access_token", "a-long-token-of-the-server")
			m.issuer["a-long-token-of-the-server"] = issued
		}
		m.Learn(issued)
		used := sentTo("GET", "https://as.example/me", "", "", nil, "")
		used.SentHeader.Set("Authorization", "Bearer a-long-token-of-the-server")
		if got := m.Repeat(used, Visit{Begins: func(*Answer) *Answer { return nil }}); !strings.Contains(got, "\n"+want) {
			t.Errorf("%s: the script is\n%s", body, got)
		}
	}
	opened := sentTo("GET", "https://as.example/authorize", "none", "", nil, "")
	opened.SentHeader.Set("Cookie", "sid=1")
	script := NewMask().Repeat(opened, Visit{Person: "alice\ntouch marker", Begins: func(a *Answer) *Answer { return a }})
	if strings.Contains(script, "\ntouch") || !strings.Contains(script, "sign in as alice?touch marker") {
		t.Errorf("the script has another command:\n%s", script)
	}
}
