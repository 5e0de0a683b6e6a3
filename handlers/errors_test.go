package handlers

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"mandate/provider/clients"
	"mandate/provider/errorcode"
	"mandate/provider/policy"
)

// RFC 6749 §4.1.2.1, §5.2: each error leads to a page that explains it. The page has the anchor of the case.
func TestErrorURILeadsToAPageThatExplains(t *testing.T) {
	s := newSite(t, "/auth", func(c *Config) { c.Registration = true })
	app, err := s.provider.Clients.Register(t.Context(), policy.Operator(), clients.Registration{
		Name:         "Shop",
		Owner:        "alice",
		ClientType:   policy.Confidential,
		GrantTypes:   []string{policy.GrantCode},
		RedirectURIs: []string{"https://shop.example/back"},
		PKCE:         policy.PKCERequired,
	})
	if err != nil {
		t.Fatal(err)
	}
	id, v := app.Application.ClientID, s.visitor(t)
	for path, want := range map[string]string{
		"/o/token/":                "invalid_client/#secret-wrong",
		"/o/revoke/":               "invalid_client/#secret-wrong",
		"/o/revoke_token/":         "invalid_client/#secret-wrong",
		"/o/introspect/":           "invalid_client/#secret-wrong",
		"/o/par/":                  "invalid_client/#secret-wrong",
		"/o/device_authorization/": "invalid_client/#secret-wrong",
		"/o/device-authorization/": "invalid_client/#secret-wrong",
	} {
		got := v.post(
			t, path, "client_id", id, "client_secret", "wrong", "grant_type", "authorization_code", "token", "x", "code", "x",
		)
		uri := errorURIOf(t, got)
		if uri != s.base+"/errors/"+want {
			t.Errorf("%s: error_uri %q: %s", path, uri, got.body)
			continue
		}
		v.explains(t, uri)
	}
	// A method that is not allowed has the same form.
	if uri := errorURIOf(t, v.get(t, "/o/token/")); uri != s.base+"/errors/invalid_request/" {
		t.Errorf("error_uri %q", uri)
	}
	// RFC 7591 §3.2.2 and RFC 6750 §3.1 define none for the body, and other answers are of no such document.
	for _, got := range []answer{v.post(t, "/o/register/", "x", "y"), v.post(t, "/o/.well-known/jwks.json")} {
		if uri := errorURIOf(t, got); uri != "" {
			t.Errorf("%s: error_uri %q", got.Request.URL, uri)
		}
	}
	alice := s.as(t, "alice")
	got := alice.get(t, "/o/authorize/?"+url.Values{
		"client_id":     {id},
		"response_type": {"code"},
		"redirect_uri":  {"https://shop.example/back"},
		"state":         {"s"},
	}.Encode())
	got.wants(t, 303)
	to, err := got.Location()
	if err != nil {
		t.Fatal(err)
	}
	if to.Query().Get("state") != "s" || to.Query().Get("error_uri") != s.base+"/errors/invalid_request/#pkce-missing" {
		t.Errorf("%s", to)
	}
	v.explains(t, to.Query().Get("error_uri"))
}

func errorURIOf(t *testing.T, got answer) string {
	t.Helper()
	body := map[string]string{}
	err := json.Unmarshal([]byte(got.body), &body)
	if err != nil || got.StatusCode < 400 || body["error"] == "" {
		t.Fatalf("%s: status %d: %s", got.Request.URL, got.StatusCode, got.body)
	}
	return body["error_uri"]
}

// explains checks that an address leads to a page with its anchor.
func (v *visitor) explains(t *testing.T, uri string) {
	t.Helper()
	to, anchor, _ := strings.Cut(strings.TrimPrefix(uri, v.site.base), "#")
	v.get(t, to).wants(t, 200, `id="`+anchor+`"`)
}

// The pages are the same for everybody, so that a cache may keep them: they have no person, no notice and no cookie.
func TestErrorPagesAreTheSameForEverybody(t *testing.T) {
	s := newSite(t, "/auth")
	root, stranger := s.as(t, "root"), s.visitor(t)
	for _, path := range []string{"/errors/", "/errors/invalid_grant/", "/errors/invalid_grant"} {
		r := root.request(t, get, path, "")
		r.AddCookie(&http.Cookie{Name: "notice", Value: "saved"})
		got, plain := root.do(t, r), stranger.get(t, path)
		got.wants(t, 200)
		if got.body != plain.body || len(got.cookies()) > 0 {
			t.Errorf("%s: the page has something of the person: %v\n%s", path, got.cookies(), got.body)
		}
		for name, want := range map[string]string{
			"Cache-Control":    "public, max-age=300",
			"Vary":             "Accept-Language",
			"Content-Language": "en",
			"X-Frame-Options":  "DENY",
		} {
			if got.Header.Get(name) != want {
				t.Errorf("%s: %s is %q", path, name, got.Header.Get(name))
			}
		}
	}
	for _, c := range errorcode.All() {
		stranger.get(t, errorcode.Path+c.Name+"/").wants(t, 200, "<h1><code>"+c.Name+"</code></h1>", c.Source)
		stranger.get(t, errorcode.Path).wants(t, 200, `href="/auth/errors/`+c.Name+`/"`)
	}
	stranger.get(
		t,
		errorcode.Path,
	).wants(
		t,
		200,
		"What programs say",
		`<dt>oauth2-proxy: <code>email ... isn&#39;t verified</code></dt>`,
		"the lines for Spring (docs/protect-an-api.md#spring)",
		"<code>mandate application update CLIENT_ID --pkce if-sent</code>",
	)
	german := stranger.request(t, get, "/errors/invalid_grant/", "")
	german.Header.Set("Accept-Language", "de")
	stranger.do(t, german).wants(
		t, 200, "Was zu tun ist", "Ein Code funktioniert nur einmal", `lang="en"><code>code_verifier`,
	)
}

// A page on the host of the login that shows what its address says would lend the name of this server to everybody's
// words.
func TestAttackTextsOnErrorPages(t *testing.T) {
	s := newSite(t, "")
	v := s.visitor(t)
	for _, path := range []string{
		"/errors/call_0800_mandate/",
		"/errors/%3Cscript%3E/",
		"/errors/invalid_grant%2F..%2Fcall_0800_mandate/",
		"/errors/invalid_grant/call_0800_mandate/",
		"/errors/Invalid_Grant/",
		"/errors/invalid_grant%00/",
	} {
		got := v.get(t, path)
		if got.StatusCode != 404 || strings.Contains(
			got.body, "0800",
		) || strings.Contains(got.body, "<script>") || got.Header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s: %d, %s\n%s", path, got.StatusCode, got.Header.Get("Cache-Control"), got.body)
		}
	}
	plain := v.get(t, "/errors/invalid_grant/")
	for _, query := range []string{
		"?error_description=call_0800_mandate",
		"?lang=%3Cscript%3E",
		"?ui_locales=de&state=0800",
	} {
		got := v.get(t, "/errors/invalid_grant/"+query)
		if got.StatusCode != 200 || got.body != plain.body {
			t.Errorf("%s changes the page:\n%s", query, got.body)
		}
	}
	v.post(t, "/errors/").wants(t, 405)
}
