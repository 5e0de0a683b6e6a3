package handlers

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/gorilla/mux"

	"mandate/handlers/web"
	"mandate/provider/limits"
	"mandate/provider/policy"
	"mandate/provider/resources"
	"mandate/provider/seal"
	"mandate/storage"
	"mandate/templates"
)

// withoutFreshSignIn lists the paths that accept a form although the last sign-in is long ago, with the reason.
func withoutFreshSignIn() map[string]string {
	list := map[string]string{
		"/account/password":          "asks for the present password",
		"/account/profile":           "changes how the person is shown, and not how they sign in",
		"/account/email/{link}":      "the link is from the new mailbox, and was asked for after a fresh sign-in",
		"/account/email/back/{link}": "the link is from the former mailbox, and no session is needed",
		"/account/address":           "sends a message to the stored address",
		"/account/address/{link}":    "the link is from the mailbox",
		"/account/passkeys/new":      "the ticket in the form is proof of a fresh sign-in",
		"/o/consent":                 "an application that needs a fresh login asks for it",
		"/device":                    "changes nothing",
		"/device/answer":             "as the consent page",
		"/admin/events/export":       "changes nothing",
	}
	for _, path := range []string{
		"/account/sessions/end",
		"/account/sessions/{id}/end",
		"/account/applications/{id}/revoke",
		"/admin/users/{id}/sessions/end",
		"/admin/users/{id}/sessions/{session}/end",
		"/logout",
	} {
		list[path] = "only ends access, and a thief gains nothing"
	}
	for _, path := range []string{
		"/login",
		"/login/passkey",
		"/login/with/{name}",
		"/password/forgot",
		"/password/reset/{link}",
		"/sign-up",
		"/sign-up/{link}",
		"/sign-up/{link}/passkey",
		"/setup/{link}",
	} {
		list[path] = "acts for whoever signs in, and not for the session"
	}
	for _, path := range []string{"/authz/forward", "/authz/request", "/authz/envoy", "/authz/envoy/{target:.*}"} {
		list[path] = "only a reverse proxy may ask, and it changes nothing"
	}
	list["/.mandate/sign-out"] = "only ends access, and a thief gains nothing"
	for _, path := range []string{
		"/o/token",
		"/o/revoke_token",
		"/o/revoke",
		"/o/device_authorization",
		"/o/device-authorization",
		"/o/par",
		"/o/introspect",
		"/o/register",
		"/o/authorize",
		"/o/logout",
		"/o/userinfo",
	} {
		list[path] = "is an endpoint of the protocol"
	}
	return list
}

// aged is a visitor with the session of a person who signed in so many seconds ago.
func (s *site) aged(t *testing.T, username string, seconds int64) *visitor {
	t.Helper()
	u, err := s.provider.People.UserByName(t.Context(), username)
	if err != nil {
		t.Fatal(err)
	}
	cookie, at := seal.Random(32), u.CreatedAt
	n := storage.Session{
		ID:        seal.Random(16),
		Digest:    seal.Digest(cookie),
		UserID:    u.ID,
		AuthTime:  at - seconds,
		SeenAt:    at,
		ExpiresAt: at + 3600,
		AMR:       "pwd",
	}
	err = s.store.AddSession(t.Context(), n, "", u.Password, 0)
	if err != nil {
		t.Fatal(err)
	}
	v := s.visitor(t)
	base, err := url.Parse(s.base)
	if err != nil {
		t.Fatal(err)
	}
	v.Jar.(*cookiejar.Jar).SetCookies(base, []*http.Cookie{{Name: "mandate_session", Value: cookie, Path: "/"}})
	return v
}

// A change that outlives the session needs a fresh sign-in: this finds a form that was forgotten.
func TestEveryLastingChangeNeedsAFreshSignIn(t *testing.T) {
	s := newSite(t, "", func(c *Config) { c.Registration, c.OpenID, c.RPLogout = true, true, true })
	pages, err := templates.New("", templates.Brand{})
	if err != nil {
		t.Fatal(err)
	}
	table, err := web.New(Config{
		BaseURL:      &url.URL{Scheme: "https", Host: "id.example.com"},
		Registration: true,
		OpenID:       true,
		RPLogout:     true,
	}, s.provider, pages)
	if err != nil {
		t.Fatal(err)
	}
	routes := routes(table).(*router)
	paths := slices.Collect(maps.Keys(routes.fixed))
	err = routes.Walk(func(route *mux.Route, _ *mux.Router, _ []*mux.Route) error {
		path, err := route.GetPathTemplate()
		paths = append(paths, path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	v, excepted := s.aged(t, "root", 301), withoutFreshSignIn()
	demanded := 0
	for _, path := range paths {
		plain := strings.TrimSuffix(path, "/")
		if plain == "" || path == plain || strings.HasPrefix(path, "/static/") {
			continue
		}
		got := v.post(t, strings.NewReplacer("{", "", "}", "").Replace(path), "field", "value")
		asks := got.StatusCode == http.StatusSeeOther && strings.Contains(got.Header.Get("Location"), "reason=confirm")
		_, without := excepted[plain]
		switch {
		case got.StatusCode == http.StatusMethodNotAllowed:
			if without {
				t.Errorf("%s takes no form any more: remove it from the list", plain)
			}
		case asks && without:
			t.Errorf("POST %s needs a fresh sign-in: remove it from the list", plain)
		case !asks && !without:
			t.Errorf(
				"POST %s without a fresh sign-in: %d, Location %q. Declare it as lasting in routes.go", plain, got.StatusCode,
				got.Header.Get("Location"),
			)
		case asks:
			demanded++
		}
		if plain == "/logout" || strings.HasSuffix(plain, "/sessions/end") {
			v = s.aged(t, "root", 301) // it has ended the session
		}
	}
	if demanded < 30 {
		t.Errorf("only %d forms need a fresh sign-in", demanded)
	}
}

// What a person has typed comes back after the sign-in, on the page from which it was sent and in this browser alone.
func TestLastingFormIsKept(t *testing.T) {
	s := newSite(t, "")
	ctx := t.Context()
	u, err := s.provider.People.UserByName(ctx, "root")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a", "b"} {
		_, err = s.provider.Resources.Add(ctx, policy.By(u), resources.Registration{
			URI:  "https://" + name + ".example/",
			Name: name,
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, one := range []struct{ path, field, elsewhere string }{
		{"/admin/groups/", "name", ""},
		{"/admin/resources/new/", "name", ""},
		{
			"/admin/resources/change/?uri=https%3A%2F%2Fa.example%2F",
			"name",
			"/admin/resources/change/?uri=https%3A%2F%2Fb.example%2F",
		},
		{"/admin/users/new/", "username", ""},
		{"/o/applications/register/", "name", ""},
	} {
		v := s.aged(t, "root", 301)
		got := v.post(t, one.path, one.field, "what was typed")
		got.wants(t, http.StatusSeeOther)
		if next := got.Header.Get("Location"); !strings.Contains(next, "next="+url.QueryEscape(one.path)) {
			t.Errorf("%s: the login leads to %s", one.path, next)
		}
		v.post(t, "/login/", "username", "root", "password", goodPassword).wants(t, http.StatusSeeOther)
		// Another browser with the same draft and the same person shows nothing.
		other := s.as(t, "root")
		base, err := url.Parse(s.base + one.path)
		if err != nil {
			t.Fatal(err)
		}
		for name, c := range got.cookies() {
			if name == "mandate_draft" {
				other.Jar.SetCookies(base, []*http.Cookie{c})
			}
		}
		for who, visitor := range map[string]*visitor{"another browser": other, "another page": v} {
			path := one.path
			if who == "another page" {
				path = one.elsewhere
			}
			if path != "" && strings.Contains(visitor.get(t, path).body, "what was typed") && who == "another browser" {
				t.Errorf("%s: %s shows the draft", one.path, who)
			}
		}
		if one.elsewhere == "" {
			v.get(t, one.path).wants(t, http.StatusOK, `value="what was typed"`, "Nothing is saved yet")
		}
	}
	v := s.aged(t, "root", 301)
	v.post(
		t, "/admin/resources/change/?uri=https%3A%2F%2Fa.example%2F", "name", "what was typed",
	).wants(t, http.StatusSeeOther)
	v.post(t, "/login/", "username", "root", "password", goodPassword).wants(t, http.StatusSeeOther)
	v.get(t, "/admin/resources/change/?uri=https%3A%2F%2Fa.example%2F").wants(t, http.StatusOK, `value="what was typed"`)
	// A form that is too long for a cookie comes back at once.
	v = s.aged(t, "root", 301)
	long := strings.Join(randoms(200), "\n")
	v.post(t, "/o/applications/register/", "redirect_uris", long, "password", "a secret").wants(
		t, http.StatusUnprocessableEntity, "too long to keep", `name="redirect_uris"`,
	)
}

func randoms(n int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = seal.Random(32)
	}
	return list
}

// CWE-645, an overly strict lockout: the thief of an old session, whose forms only lead to the sign-in, uses up nothing
// of what the person may send.
func TestAttackFormsThatAreNotObeyedUseUpTheLimit(t *testing.T) {
	s := newSite(t, "")
	thief := s.aged(t, "alice", 301)
	for range limits.Of(limits.OfOwnChange).Tries {
		thief.post(t, "/account/factors/codes/").wants(t, http.StatusSeeOther)
	}
	s.as(t, "alice").post(t, "/account/factors/totp/", "code", "123456").wants(t, http.StatusUnprocessableEntity)
}

// The clock was a day ahead when the session began, and was set right: nobody knows how old the session is.
func TestSessionOfTheFutureIsNotFresh(t *testing.T) {
	s := newSite(t, "")
	got := s.aged(t, "root", -24*3600).post(t, "/admin/groups/", "name", "accounting")
	if got.StatusCode != http.StatusSeeOther || !strings.Contains(got.Header.Get("Location"), "reason=confirm") {
		t.Errorf("%d %s", got.StatusCode, got.Header.Get("Location"))
	}
}

// CWE-770: a pushed request that was answered already gets an error after the approval is stored. So the form counts.
func TestAttackApprovalsOfAnAnsweredRequest(t *testing.T) {
	s := newSite(t, "")
	v := s.as(t, "alice")
	path, secret := registered(t, v)
	app, err := s.provider.Clients.Application(t.Context(), policy.Operator(), strings.Split(path, "/")[3])
	if err != nil {
		t.Fatal(err)
	}
	push := v.request(t, post, "/o/par/", url.Values{"response_type": {"code"}, "client_id": {app.ClientID},
		"redirect_uri": {"https://app.example.com/cb"}, "code_challenge_method": {"S256"},
		"code_challenge": {"E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"}}.Encode()) // RFC 7636 appendix B
	push.SetBasicAuth(app.ClientID, secret)
	var pushed struct {
		URI string `json:"request_uri"`
	}
	answer := v.do(t, push)
	err = json.Unmarshal([]byte(answer.body), &pushed)
	if err != nil {
		t.Fatal(answer.body, err)
	}
	page := v.get(t, "/o/authorize/?"+url.Values{"client_id": {app.ClientID}, "request_uri": {pushed.URI}}.Encode())
	page.wants(t, 200, "Ledger")
	ticket := regexp.MustCompile(`name="ticket" value="([^"]+)"`).FindStringSubmatch(page.body)
	most := limits.Of(limits.OfOwnChange).Tries
	statuses := map[int]int{}
	for range most + 100 {
		statuses[v.post(t, "/o/consent/", "ticket", ticket[1], "decision", "approve").StatusCode]++
	}
	if statuses[http.StatusTooManyRequests] < 80 { // a few come back meanwhile
		t.Errorf("%d approvals: %v", most+100, statuses)
	}
	v.post(t, "/account/sessions/end/").wants(t, http.StatusSeeOther)
}

// CWE-645: whoever has a copy of the session has sent as many forms as a session may. In the same browser, the person
// still signs in and out, ends what was allowed, and uses each link; the other forms say what to do.
func TestAttackCopiedSessionUsesUpTheForms(t *testing.T) {
	s := newSite(t, "")
	v := s.aged(t, "alice", 301)
	base, err := url.Parse(s.base)
	if err != nil {
		t.Fatal(err)
	}
	who, err := s.provider.People.SignedIn(t.Context(), v.Jar.Cookies(base)[0].Value)
	for err == nil {
		_, err = s.provider.People.MaySend(who)
	}
	for _, path := range []string{
		"/login/",
		"/login/factor/",
		"/login/passkey/",
		"/password/forgot/",
		"/password/reset/link/",
		"/setup/link/",
		"/sign-up/",
		"/sign-up/link/",
		"/sign-up/link/passkey/",
		"/account/address/link/",
		"/account/password/",
		"/account/applications/id/revoke/",
		"/account/sessions/id/end/",
	} {
		if got := v.post(t, path, "field", "value"); got.StatusCode == http.StatusTooManyRequests {
			t.Errorf("POST %s: 429", path)
		}
	}
	for _, path := range []string{"/o/consent/", "/device/", "/device/answer/", "/account/passkeys/new/",
		"/account/address/"} {
		v.post(t, path, "field", "value").wants(t, http.StatusTooManyRequests, "Sign out and sign in again")
	}
	v.post(t, "/login/", "username", "alice", "password", goodPassword).wants(t, http.StatusSeeOther)
	v.post(t, "/o/consent/").wants(t, http.StatusBadRequest) // there is no such page, and the limit is no obstacle
	v.post(t, "/account/sessions/end/").wants(t, http.StatusSeeOther)
}
