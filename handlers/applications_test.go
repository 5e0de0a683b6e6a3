package handlers

import (
	"encoding/json"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"mandate/handlers/web"
	"mandate/provider/clients"
	"mandate/provider/policy"
)

var secretShown = regexp.MustCompile(`id="client_secret" type="text" readonly value="([A-Za-z0-9_-]{43})"`)

// registered makes an application and gives its path.
func registered(t *testing.T, v *visitor, pairs ...string) (path, secret string) {
	t.Helper()
	pairs = append([]string{"name", "Ledger", "client_type", "confidential", "grant_type", "authorization_code",
		"redirect_uris", "https://app.example.com/cb",
		"scope", "read", "hash_client_secret", "on"}, pairs...)
	got := v.post(t, "/o/applications/register/", pairs...)
	got.wants(t, 303)
	page := v.follow(t, got)
	page.wants(t, 200, "Ledger")
	if m := secretShown.FindStringSubmatch(page.body); m != nil {
		secret = m[1]
	}
	return strings.TrimPrefix(page.Request.URL.Path, mustPath(t, v.site.base)), secret
}

func mustPath(t *testing.T, base string) string {
	t.Helper()
	u, err := url.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	return u.Path
}

func TestRegistration(t *testing.T) {
	s := newSite(t, "/auth")
	v := s.as(t, "alice")
	v.get(t, "/o/applications/register/").wants(t, 200, `name="scope" type="checkbox" value="read" checked`)
	got := v.post(t, "/o/applications/register/", "name", "Ledger", "client_type", "confidential", "grant_type",
		"authorization_code", "grant_type", "client_credentials",
		"redirect_uris", "https://app.example.com/cb\r\n\r\nhttp://127.0.0.1/cb ", "scope", "read", "scope", "write",
		"hash_client_secret", "on", "access_token_lifetime", "600")
	got.wants(t, 303)
	cookie := got.cookies()["mandate_secret"]
	if cookie == nil || !cookie.HttpOnly || cookie.MaxAge != 120 || cookie.Path+"/" != got.Header.Get("Location") {
		t.Fatalf("cookie %v, Location %s", cookie, got.Header.Get("Location"))
	}
	page := v.follow(t, got)
	page.wants(t, 200, "Ledger", "The application is registered.", "https://app.example.com/cb", "http://127.0.0.1/cb",
		"600 seconds (10 minutes)")
	m := secretShown.FindStringSubmatch(page.body)
	if m == nil {
		t.Fatalf("no secret in\n%s", page.body)
	}
	path := strings.TrimPrefix(page.Request.URL.Path, "/auth")

	// Never again, not even for who kept the cookie.
	if again := v.get(t, path); strings.Contains(again.body, m[1]) {
		t.Error("the secret is shown twice")
	}
	// Sealed for this session and this page.
	other, _ := registered(t, v)
	thief := s.as(t, "root")
	for _, at := range []string{path, other} {
		r := thief.request(t, get, at, "")
		r.AddCookie(cookie)
		if stolen := thief.do(t, r); strings.Contains(stolen.body, m[1]) {
			t.Errorf("%s shows the secret to somebody else", at)
		}
	}
	if strings.Contains(s.log.String(), m[1]) {
		t.Error("the secret is in the log")
	}

	// It works.
	client, err := s.provider.Clients.Application(t.Context(), policy.Operator(), strings.Split(path, "/")[3])
	if err != nil {
		t.Fatal(err)
	}
	if client.Scopes != "" {
		t.Errorf("every scope is %q", client.Scopes)
	}
	r := v.request(t, post, "/o/token/", "grant_type=client_credentials")
	r.SetBasicAuth(client.ClientID, m[1])
	v.do(t, r).wants(t, 200, "access_token")
}

// Refresh tokens come with the grants in which a person takes part.
func TestApplicationPageShowsRefreshTokens(t *testing.T) {
	s := newSite(t, "")
	v := s.as(t, "alice")
	for grant, refresh := range map[string]bool{policy.GrantCode: true, policy.GrantPassword: true,
		policy.GrantClient: false} {
		page := v.follow(t, v.post(t, "/o/applications/register/", "name", "App", "client_type", "confidential",
			"grant_type", grant,
			"redirect_uris", "https://app.example.com/cb", "scope", "read", "hash_client_secret", "on"))
		page.wants(t, 200, "<li><code>"+grant+"</code></li>")
		if strings.Contains(page.body, "Refresh token lifetime") != refresh ||
			strings.Contains(page.body, "<code>"+policy.GrantRefresh+"</code>") != refresh {
			t.Errorf("%s: refresh tokens on the page: %v\n%s", grant, !refresh, page.body)
		}
	}
}

func TestRegistrationLosesNothing(t *testing.T) {
	s := newSite(t, "")
	v := s.as(t, "alice")
	got := v.post(t, "/o/applications/register/", "name", "My <app>", "client_type", "public", "grant_type",
		"client_credentials", "grant_type", "authorization_code",
		"redirect_uris", "http://evil.example.com/cb\nhttps://good.example.com/cb", "scope", "write", "access_token_lifetime",
		"soon", "refresh_token_lifetime", "7")
	got.wants(t, 422, html.EscapeString("My <app>"), "http://evil.example.com/cb\nhttps://good.example.com/cb",
		`value="soon"`, `value="7"`,
		`value="public" checked`, `value="client_credentials" checked`, `value="authorization_code" checked`,
		`value="write" checked`,
		`href="#redirect_uris"`, `href="#access_token_lifetime"`, `href="#grant_type"`)
	for _, not := range []string{`value="read" checked`, `value="confidential" checked`,
		`id="hash_client_secret" name="hash_client_secret" type="checkbox" value="on" checked`} {
		if strings.Contains(got.body, not) {
			t.Errorf("%s", not)
		}
	}
	v.post(t, "/o/applications/register/", "name", "a", "client_type", "public", "grant_type", "password").wants(t, 422,
		"Choose at least one.")
	// A scope that is missing hides no other mistake.
	v.post(t, "/o/applications/register/", "name", "", "client_type", "public", "grant_type", "password").wants(t, 422,
		`href="#scope"`, `href="#name"`)
}

func TestOthersApplicationsAreNotThere(t *testing.T) {
	s := newSite(t, "")
	path, _ := registered(t, s.as(t, "root"))
	alice := s.as(t, "alice")
	for _, rest := range []string{"", "update/", "rotate/", "delete/"} {
		alice.get(t, path+rest).wants(t, 404, "Page not found")
		if rest != "" {
			alice.post(t, path+rest, "name", "x").wants(t, 404)
		}
	}
	own, _ := registered(t, alice)
	s.as(t, "root").get(t, own).wants(t, 200, "alice")
	if list := alice.get(t, "/o/applications/"); strings.Contains(list.body, path) || !strings.Contains(list.body, own) {
		t.Errorf("%s", list.body)
	}
	s.as(t, "root").get(t, "/o/applications/?q=ledger").wants(t, 200, path, own, "alice")
}

// version returns the version of the application that its owner page shows.
func (v *visitor) version(t *testing.T, path string) string {
	t.Helper()
	found := regexp.MustCompile(`name="version" value="(\d+)"`).FindStringSubmatch(v.get(t, path+"owner/").body)
	if found == nil {
		t.Fatal("the page has no version")
	}
	return found[1]
}

// save sends the form of an application with the version that its page shows.
func (v *visitor) save(t *testing.T, path string, pairs ...string) answer {
	t.Helper()
	found := regexp.MustCompile(`name="version" value="(\d+)"`).FindStringSubmatch(v.get(t, path+"update/").body)
	if found == nil {
		t.Fatal("the page has no version")
	}
	return v.post(t, path+"update/", append(pairs, "version", found[1])...)
}

func TestUpdate(t *testing.T) {
	s := newSite(t, "")
	v := s.as(t, "alice")
	path, _ := registered(t, v)
	v.get(t, path+"update/").wants(t, 200, `value="read" checked`, "https://app.example.com/cb")
	got := v.save(t, path, "name", "Ledger 2", "client_type", "confidential", "grant_type", "authorization_code",
		"redirect_uris", "https://app.example.com/cb2", "scope", "write")
	v.follow(t, got).wants(t, 200, "Ledger 2", "https://app.example.com/cb2", "as a hash: replace the secret")
	v.save(t, path, "name", "", "client_type", "confidential", "grant_type", "authorization_code", "redirect_uris",
		"https://app.example.com/cb3", "scope", "write").
		wants(t, 422, "https://app.example.com/cb3", `href="#name"`)
	// What only administrators may set stays for others, and cannot be sent by them.
	fields := []string{"name", "Ledger", "client_type", "confidential", "grant_type", "client_credentials", "scope",
		"read", "hash_client_secret", "on"}
	v.save(t, path, append(fields, "may_introspect", "on")...).wants(t, 422, "Only an administrator")
	root := s.as(t, "root")
	root.get(t, path+"update/").wants(t, 200, "Take it over")
	root.save(t, path, append(fields, "may_introspect", "on")...).wants(t, 422, "take it over first")
	v.get(t, path+"owner/").wants(t, 403)
	v.post(t, path+"owner/", "take_over", "on").wants(t, 403)
	root.follow(t, root.post(t, path+"owner/", "version", root.version(t, path), "take_over", "on")).wants(t, 200,
		"You are now responsible for the application")
	v.get(t, path).wants(t, 404)
	root.save(t, path, append(fields, "may_introspect", "on")...).wants(t, 303)
	root.get(t, path).wants(t, 200, "May introspect tokens")
	// Whoever is no administrator answers for less, and nothing of it comes back by itself.
	root.post(t, path+"owner/", "version", root.version(t, path), "owner", "nobody").wants(t, 422,
		"There is no person with that username")
	root.post(t, path+"owner/", "version", root.version(t, path), "owner", "alice").wants(t, 303)
	if got := v.get(t, path); got.StatusCode != 200 || strings.Contains(got.body, "May introspect tokens") {
		t.Errorf("%s %s", got.Status, got.body)
	}
	v.save(t, path, fields...).wants(t, 303)
	root.post(t, path+"owner/", "version", root.version(t, path), "take_over", "on").wants(t, 303)
	if got := root.get(t, path); strings.Contains(got.body, "May introspect tokens") {
		t.Error("a privilege that an administrator gave under another owner is active again")
	}
	root.save(t, path, append(fields, "may_introspect", "on")...).wants(t, 303)
	root.save(t, path, fields...).wants(t, 303)
	if got := root.get(t, path); strings.Contains(got.body, "May introspect tokens") {
		t.Error("an administrator cannot remove the privilege")
	}
	root.post(t, path+"owner/", "version", root.version(t, path), "owner", "alice").wants(t, 303)
	// A public application that becomes confidential gets a secret.
	_, secret := registered(t, v, "hash_client_secret_", "")
	if secret == "" {
		t.Error("no secret")
	}
	got = v.post(t, "/o/applications/register/", "name", "P", "client_type", "public", "grant_type", "authorization_code",
		"redirect_uris", "https://p.example.com/", "scope", "read")
	page := v.follow(t, got)
	if secretShown.MatchString(page.body) {
		t.Error("a public application has a secret")
	}
	path = page.Request.URL.Path
	got = v.save(t, path, "name", "P", "client_type", "confidential", "grant_type", "authorization_code", "redirect_uris",
		"https://p.example.com/", "scope", "read")
	if page = v.follow(t, got); !secretShown.MatchString(page.body) {
		t.Error("no secret for an application that became confidential")
	}
}

func TestRotate(t *testing.T) {
	s := newSite(t, "")
	v := s.as(t, "alice")
	path, first := registered(t, v, "grant_type", "client_credentials")
	client, err := s.provider.Clients.Application(t.Context(), policy.Operator(), strings.Split(path, "/")[3])
	if err != nil {
		t.Fatal(err)
	}
	works := func(secret string, status int) {
		t.Helper()
		r := v.request(t, post, "/o/token/", "grant_type=client_credentials")
		r.SetBasicAuth(client.ClientID, secret)
		v.do(t, r).wants(t, status)
	}
	v.get(t, path+"rotate/").wants(t, 200, "In a day")
	for _, overlap := range []string{"", "soon", "-1", "99999999999", "8640000"} {
		v.post(t, path+"rotate/", "overlap", overlap).wants(t, 422)
	}
	page := v.follow(t, v.post(t, path+"rotate/", "overlap", "3600"))
	page.wants(t, 200, "The secret was replaced.", "still works until")
	second := secretShown.FindStringSubmatch(page.body)
	if second == nil {
		t.Fatal("no secret")
	}
	works(first, 200)
	works(second[1], 200)
	page = v.follow(t, v.post(t, path+"rotate/", "overlap", "0"))
	third := secretShown.FindStringSubmatch(page.body)
	works(first, 401)
	works(second[1], 401)
	works(third[1], 200)
}

func TestDeleteApplication(t *testing.T) {
	s := newSite(t, "")
	v := s.as(t, "alice")
	path, _ := registered(t, v)
	v.get(t, path+"delete/").wants(t, 200, "Delete “Ledger”?")
	v.follow(t, v.post(t, path+"delete/")).wants(t, 200, "The application is deleted.")
	v.get(t, path).wants(t, 404)
	v.post(t, path+"delete/").wants(t, 404)
}

func TestPager(t *testing.T) {
	s := newSite(t, "")
	v := s.as(t, "alice")
	u, err := s.provider.People.UserByName(t.Context(), "alice")
	if err != nil {
		t.Fatal(err)
	}
	for range web.PageSize + 1 {
		_, err := s.provider.Clients.Register(t.Context(), policy.By(u),
			clients.Registration{Name: "Ledger & co", ClientType: policy.Confidential, GrantTypes: []string{policy.GrantClient}})
		if err != nil {
			t.Fatal(err)
		}
	}
	v.get(t, "/o/applications/?q=ledger+%26").wants(t, 200, `href="?page=2&amp;q=ledger&#43;%26"`,
		"Page 1 of 2, 26 in all")
	v.get(t, "/o/applications/?page=2").wants(t, 200, `href="?page=1"`)
	v.get(t, "/o/applications/?page=3").wants(t, 404)
	v.get(t, "/").wants(t, 200, "26")
}

// The class is text of a stranger in a page that its reader trusts (CWE-451, misrepresentation of critical
// information).
func TestAttackUserAgentSpeaksToTheReader(t *testing.T) {
	const message = "Your account was stolen: call +1 555 0100"
	s := newSite(t, "/auth")
	app, err := s.provider.Clients.Register(t.Context(), policy.Operator(),
		clients.Registration{Name: "TV", ClientType: policy.Public, GrantTypes: []string{policy.GrantDevice}})
	if err != nil {
		t.Fatal(err)
	}
	v := s.visitor(t)
	send := func(path string, form url.Values) answer {
		r := v.request(t, post, path, form.Encode())
		r.Header.Set("User-Agent", message)
		return v.do(t, r)
	}
	send("/login/", url.Values{"username": {"root"}, "password": {"wrong"}}).wants(t, 422)
	send("/login/", url.Values{"username": {"root"}, "password": {goodPassword}}).wants(t, 303)
	asked := send("/o/device_authorization/", url.Values{"client_id": {app.Application.ClientID}, "scope": {"read"}})
	asked.wants(t, 200)
	var codes struct {
		UserCode string `json:"user_code"`
	}
	err = json.Unmarshal([]byte(asked.body), &codes)
	if err != nil {
		t.Fatal(err)
	}
	for page, is := range map[string]struct {
		answer answer
		shown  string
	}{
		"account": {v.get(t, "/account/"), "Unknown browser"}, "events": {v.get(t, "/admin/events/"), "Unknown browser"},
		"device": {send("/device/", url.Values{"user_code": {codes.UserCode}}), "<bdi>Your</bdi>"},
	} {
		is.answer.wants(t, 200, is.shown)
		if strings.Contains(is.answer.body, "stolen") {
			t.Errorf("the page of the %s shows what a browser says of itself:\n%s", page, is.answer.body)
		}
	}
}

func TestAuthorizationPages(t *testing.T) {
	s := newSite(t, "/auth")
	v := s.as(t, "alice")
	path, _ := registered(t, v)
	client, err := s.provider.Clients.Application(t.Context(), policy.Operator(), strings.Split(path, "/")[3])
	if err != nil {
		t.Fatal(err)
	}
	query := url.Values{"response_type": {"code"}, "client_id": {client.ClientID},
		"redirect_uri": {"https://app.example.com/cb"}, "state": {`a b\ü`},
		"code_challenge": {"E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"}, "code_challenge_method": {"S256"}}
	address := "/o/authorize/?" + query.Encode()
	got := s.visitor(t).get(t, address)
	got.wants(t, 303)
	login, err := got.Location()
	if err != nil {
		t.Fatal(err)
	}
	if next := login.Query().Get("next"); next != "/auth"+address {
		t.Errorf("the login returns to %s, not %s", next, address)
	}
	page := v.get(t, address)
	page.wants(t, 200, "Ledger", "app.example.com")
	if csp := page.Header.Get("Content-Security-Policy"); !strings.Contains(csp, "script-src 'self'") ||
		strings.Contains(csp, "form-action") {
		t.Errorf("policy %q", csp)
	}
	ticket := regexp.MustCompile(`name="ticket" value="([^"]+)"`).FindStringSubmatch(page.body)
	got = v.post(t, "/o/consent/", "ticket", ticket[1], "decision", "approve")
	got.wants(t, 303)
	to, err := got.Location()
	if err != nil || to.Host != "app.example.com" || to.Query().Get("code") == "" || to.Query().Get("state") != `a b\ü` {
		t.Errorf("%v, %v", to, err)
	}
	account := v.get(t, "/account/")
	account.wants(t, 200, "Ledger", "This browser")
	revoke := regexp.MustCompile(`action="/auth(/account/applications/[^"]+)"`).FindStringSubmatch(account.body)
	v.get(t, revoke[1]).wants(t, http.StatusSeeOther)
	v.follow(t, v.post(t, revoke[1])).wants(t, 200, "may no longer act")
	v.post(t, revoke[1]).wants(t, 404)
}

// RFC 9700 §4.15.1: an identifier that its owner chose could be a person's.
func TestClientIDIsNotChosen(t *testing.T) {
	const chosen = "chosen-by-its-owner"
	v := newSite(t, "").as(t, "alice")
	form := []string{"name", "Ledger", "client_type", "confidential", "grant_type", "client_credentials", "scope", "read",
		"hash_client_secret", "on",
		"client_id", chosen, "id", chosen, "sub", chosen}
	got := v.post(t, "/o/applications/register/", form...)
	got.wants(t, 303)
	path := got.Header.Get("Location")
	v.save(t, path, form...).wants(t, 303)
	a, err := v.site.provider.Clients.Application(t.Context(), policy.Operator(), strings.Split(path, "/")[3])
	if err != nil {
		t.Fatal(err)
	}
	if a.ClientID == chosen || a.ID == chosen {
		t.Error("the application has the identifier that its owner chose")
	}
}

// RFC 9110 §9.2.1, §9.3.2: HEAD is safe, and shows nothing: what is shown once is still there for the GET after it.
func TestHeadSpendsNothingThatIsShownOnce(t *testing.T) {
	s := newSite(t, "/auth")
	v := s.as(t, "alice")
	form := []string{"name", "Ledger", "client_type", "confidential", "grant_type", "client_credentials", "scope", "read",
		"hash_client_secret", "on"}
	path := ""
	for _, test := range []struct {
		notice string
		send   func() answer
	}{
		{"The application is registered.", func() answer { return v.post(t, "/o/applications/register/", form...) }},
		{"The secret was replaced.", func() answer { return v.post(t, path+"rotate/", "overlap", "0") }},
	} {
		made := test.send()
		made.wants(t, 303)
		path = strings.TrimPrefix(made.Header.Get("Location"), "/auth")
		for _, at := range []string{path, strings.TrimSuffix(path, "/"), "/account/"} {
			head := v.do(t, v.request(t, http.MethodHead, at, ""))
			head.wants(t, 200)
			if len(head.cookies()) > 0 {
				t.Errorf("HEAD %s changes cookies: %v", at, head.cookies())
			}
		}
		page := v.get(t, path)
		page.wants(t, 200, test.notice)
		if !secretShown.MatchString(page.body) {
			t.Errorf("%s HEAD deleted the secret", test.notice)
		}
		page = v.get(t, path)
		if secretShown.MatchString(page.body) || strings.Contains(page.body, test.notice) {
			t.Errorf("%s It is shown twice", test.notice)
		}
	}
}
