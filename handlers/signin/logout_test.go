package signin

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
)

// What a browser sends gets a page, whatever a site has put into its form; a program that wants no page gets none.
func TestLogoutOfAProgramIsToldFromThatOfABrowser(t *testing.T) {
	for _, test := range []struct {
		rule, method, form string
		header             []string
		server             bool
	}{
		{"credentials", "GET", "id_token_hint=x", []string{"Authorization", "Basic x"}, true},
		{"credentials of a program that accepts anything", "POST", "id_token_hint=x",
			[]string{"Authorization", "Basic x", "Accept", "text/html, */*"}, true},
		{"a secret", "POST", "id_token_hint=x&client_id=c&client_secret=s", nil, true},
		{"an assertion", "POST", "id_token_hint=x&client_assertion=s", nil, true},
		{"credentials alone", "POST", "client_id=c&client_secret=s", nil, true},
		{"a hint alone", "GET", "id_token_hint=x", nil, true},
		{"a hint alone, of a library", "GET", "id_token_hint=x", []string{"Accept", "*/*"}, true},
		{"a link", "GET", "id_token_hint=x", []string{"Accept", "text/html,application/xhtml+xml"}, false},
		{"a link back to the application", "GET", "id_token_hint=x&post_logout_redirect_uri=y", nil, false},
		{"no hint", "GET", "client_id=c", nil, false},
		{"nothing", "GET", "", nil, false},
		{"a browser with a session", "GET", "id_token_hint=x", []string{"Cookie", "mandate_session=s"}, false},
		{"a form of another site", "POST", "id_token_hint=x&client_id=c&client_secret=s",
			[]string{"Sec-Fetch-Site", "cross-site"}, false},
		{"a browser behind a proxy with passwords", "GET", "id_token_hint=x",
			[]string{"Authorization", "Basic x", "Sec-Fetch-Site", "none"}, false},
	} {
		form, err := url.ParseQuery(test.form)
		if err != nil {
			t.Fatal(err)
		}
		r := httptest.NewRequest(test.method, "/o/logout/?"+test.form, nil)
		if test.method == http.MethodPost {
			r = httptest.NewRequest(test.method, "/o/logout/", strings.NewReader(test.form))
			r.PostForm = form
		}
		for i := 0; i < len(test.header); i += 2 {
			r.Header.Set(test.header[i], test.header[i+1])
		}
		if got := comesFromServer(r); got != test.server {
			t.Errorf("%s: %t", test.rule, got)
		}
	}
}
