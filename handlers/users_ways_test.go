package handlers

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/gorilla/mux"

	"mandate/handlers/web"
	"mandate/provider/clients"
	"mandate/provider/policy"
	"mandate/provider/seal"
	"mandate/storage"
	"mandate/templates"
)

// An account of another server, or a passkey, that somebody else has added must not stay because no page has a button
// for it.
func TestAdministratorEndsEachPartOfAPerson(t *testing.T) {
	s := newSite(t, "")
	ctx := t.Context()
	u, err := s.provider.People.UserByName(ctx, "alice")
	if err != nil {
		t.Fatal(err)
	}
	n := storage.Session{
		ID:        seal.Random(16),
		Digest:    seal.Random(32),
		UserID:    u.ID,
		AuthTime:  u.CreatedAt,
		SeenAt:    u.CreatedAt,
		ExpiresAt: u.CreatedAt + 3600,
		AMR:       "pwd",
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(s.store.AddSession(ctx, n, "", u.Password, 0))
	renew := func() storage.Renewal {
		r := storage.Renewal{ID: n.ID, Was: n.Digest, Session: n}
		r.Session.Digest = seal.Random(32)
		n = r.Session
		return r
	}
	id := base64.RawURLEncoding.EncodeToString([]byte("the passkey of a thief"))
	must(s.store.AddPasskey(ctx, storage.Passkey{
		ID:        id,
		UserID:    u.ID,
		PublicKey: "x",
		Name:      "Thief's phone",
		CreatedAt: u.CreatedAt,
	}, renew(), 20))
	must(s.store.AddIdentity(ctx, storage.Identity{
		Issuer:    "https://other.example",
		Subject:   "thief",
		UserID:    u.ID,
		CreatedAt: u.CreatedAt,
	}, renew(), 20))

	path := s.userPage(u)
	root, old := s.as(t, "root"), s.aged(t, "root", 301)
	shown := root.get(t, path)
	shown.wants(t, http.StatusOK, "https://other.example", "Applications that may act for them")
	buttons := regexp.MustCompile(`href="(`+path+`(?:passkeys|identities)/[^"]+/remove/)"`).FindAllStringSubmatch(
		shown.body, -1,
	)
	if len(buttons) != 1 {
		t.Fatalf("%d buttons\n%s", len(buttons), shown.body)
	}
	// At the address of this site browsers offer no passkeys, so the page lists none. One that was made elsewhere goes
	// too.
	buttons = append(buttons, []string{"", path + "passkeys/" + id + "/remove/"})
	for _, button := range buttons {
		s.as(t, "alice").post(t, button[1]).wants(t, http.StatusForbidden)
		got := old.post(t, button[1])
		got.wants(t, http.StatusSeeOther)
		if !strings.Contains(got.Header.Get("Location"), "reason=confirm") {
			t.Errorf("%s without a fresh sign-in: %s", button[1], got.Header.Get("Location"))
		}
		old.get(t, button[1]).wants(t, http.StatusSeeOther)
		root.get(t, button[1]).wants(t, http.StatusOK, "alice", "It no longer signs the person in")
		root.follow(t, root.post(t, button[1])).wants(t, http.StatusOK, "It no longer signs the person in.")
		root.post(t, button[1]).wants(t, http.StatusNotFound)
	}
	keys, err := s.store.PasskeysOf(ctx, u.ID)
	if err != nil || len(keys) != 0 {
		t.Error(keys, err)
	}
	accounts, err := s.store.IdentitiesOf(ctx, u.ID)
	if err != nil || len(accounts) != 0 {
		t.Error(accounts, err)
	}
	root.get(t, path+"applications/nothing/revoke/").wants(t, http.StatusNotFound)
	root.post(t, path+"applications/nothing/revoke/").wants(t, http.StatusNotFound)
}

// A server that names a person differently left no way back: the address links no account of a server of which the
// person had one.
func TestAdministratorLetsAnAccountReturn(t *testing.T) {
	s := newSite(t, "")
	ctx := t.Context()
	u, err := s.provider.People.UserByName(ctx, "alice")
	if err != nil {
		t.Fatal(err)
	}
	const issuer = "https://other.example"
	n := storage.Session{
		ID:        seal.Random(16),
		Digest:    seal.Random(32),
		UserID:    u.ID,
		AuthTime:  u.CreatedAt,
		SeenAt:    u.CreatedAt,
		ExpiresAt: u.CreatedAt + 3600,
		AMR:       "pwd",
	}
	err = s.store.AddSession(ctx, n, "", u.Password, 0)
	root := s.as(t, "root")
	for _, test := range []struct {
		choice string
		had    bool
	}{{"again", false}, {"", true}, {"other", true}, {"again", false}} {
		r := storage.Renewal{ID: n.ID, Was: n.Digest, Session: n}
		r.Session.Digest = seal.Random(32)
		n = r.Session
		if err == nil {
			err = s.store.AddIdentity(ctx, storage.Identity{
				Issuer:    issuer,
				Subject:   seal.Random(16),
				UserID:    u.ID,
				CreatedAt: u.CreatedAt,
			}, r, 20)
		}
		if err != nil {
			t.Fatal(err)
		}
		remove := regexp.MustCompile(`href="(/admin/users/[^"]+/identities/[^"]+/remove/)"`).FindStringSubmatch(root.get(
			t, s.userPage(u),
		).body)
		if remove == nil {
			t.Fatal("no button")
		}
		asked := root.get(t, remove[1])
		asked.wants(
			t, http.StatusOK, `type="checkbox" value="again"`, "Let the email address link an account of "+issuer+" again",
		)
		if strings.Contains(asked.body, " checked") {
			t.Error("the choice is made already")
		}
		root.follow(t, root.post(
			t, remove[1], "after", test.choice,
		)).wants(t, http.StatusOK, "It no longer signs the person in.")
		had, err := s.store.HadIdentity(ctx, u.ID, issuer)
		if err != nil || had != test.had {
			t.Errorf("after %q: remembered %t, %v", test.choice, had, err)
		}
	}
}

func (s *site) userPage(u storage.User) string { return "/admin/users/" + u.ID + "/" }

// Whoever becomes an administrator may have a session that somebody else has a copy of, and that is weaker than the
// policy demands of administrators.
func TestPromotionEndsSessions(t *testing.T) {
	s := newSite(t, "")
	u, err := s.provider.People.UserByName(t.Context(), "alice")
	if err != nil {
		t.Fatal(err)
	}
	before := s.as(t, "alice")
	before.get(t, "/account/").wants(t, http.StatusOK)
	s.as(t, "root").post(
		t, s.userPage(u), "username", "alice", "active", "on", "administrator", "on",
	).wants(t, http.StatusSeeOther)
	before.get(t, "/account/").wants(t, http.StatusSeeOther)
	before.get(t, "/admin/users/").wants(t, http.StatusSeeOther)
	s.as(t, "alice").get(t, "/admin/users/").wants(t, http.StatusOK)
}

// weak is a visitor with a session of the password alone, of an administrator who has a second factor by now.
func (s *site) weak(t *testing.T, username string) *visitor {
	t.Helper()
	u, err := s.provider.People.UserByName(t.Context(), username)
	if err != nil {
		t.Fatal(err)
	}
	v := s.as(t, username)
	n := storage.Session{
		ID:        seal.Random(16),
		Digest:    seal.Random(32),
		UserID:    u.ID,
		AuthTime:  u.CreatedAt,
		SeenAt:    u.CreatedAt,
		ExpiresAt: u.CreatedAt + 3600,
		AMR:       "pwd",
	}
	err = s.store.AddSession(t.Context(), n, "", u.Password, 0)
	r := storage.Renewal{ID: n.ID, Was: n.Digest, Session: n}
	r.Session.Digest = seal.Random(32)
	if err == nil {
		r.Session.Factor.New = &storage.TOTP{UserID: u.ID, Secret: "x", CreatedAt: u.CreatedAt}
		err = s.store.StrengthenSession(t.Context(), r)
	}
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// ownPages reports whether a page is about the person alone, or about nobody: the rights of an administrator change
// nothing there.
func ownPages(path string) bool {
	for _, own := range []string{
		"/",
		"/account",
		"/device",
		"/device/answer",
		"/o/consent",
		"/o/authorized_tokens",
		"/o/authorize",
		"/o/logout",
		"/logo/{name}",
	} {
		if path == own {
			return true
		}
	}
	for _, below := range []string{
		"/account/",
		"/.mandate/", // of the host of a site
		"/authz/",
		"/login",
		"/logout",
		"/password/",
		"/sign-up",
		"/setup/",
		"/static",
		"/errors",
		"/healthz",
		"/readyz",
		"/o/.well-known",
		"/o//.well-known",
		"/.well-known",
		"//.well-known",
		"/o/token",
		"/o/arrival",
		"/o/revoke",
		"/o/introspect",
		"/o/userinfo",
		"/o/par",
		"/o/device_authorization",
		"/o/device-authorization",
		"/o/register",
	} {
		if strings.HasPrefix(path, below) {
			return true
		}
	}
	return false
}

// CWE-306, missing authentication for a critical function: what protects one page is forgotten at the next one. A
// session that began before the person had a second factor is too weak for every page on which an administrator has
// more rights than others.
func TestAttackWeakSessionOfAnAdministrator(t *testing.T) {
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
	const registered = "app.example.com/known-to-few"
	// The application of somebody else stands for what the path names.
	alice, err := s.provider.People.UserByName(t.Context(), "alice")
	if err != nil {
		t.Fatal(err)
	}
	added, err := s.provider.Clients.Register(t.Context(), policy.By(alice), clients.Registration{
		Name:         "alices",
		ClientType:   policy.Confidential,
		GrantTypes:   []string{policy.GrantCode},
		RedirectURIs: []string{"https://" + registered},
	})
	if err != nil {
		t.Fatal(err)
	}
	weak, asked := s.weak(t, "root"), 0
	for _, path := range paths {
		plain := strings.TrimSuffix(path, "/")
		if path == plain || ownPages(cmp.Or(plain, "/")) {
			continue
		}
		at := strings.NewReplacer(
			"/o/applications/{id}", "/o/applications/"+added.Application.ID, "/admin/users/{id}", "/admin/users/"+alice.ID,
			"{", "", "}", "",
		).Replace(path)
		for _, got := range []answer{weak.get(t, at), weak.post(t, at, "field", "value")} {
			to := got.Header.Get("Location")
			if plain := strings.TrimPrefix(
				to, s.base,
			); got.StatusCode == http.StatusSeeOther && !ownPages(plain) { // to a page that asks
				to = weak.get(t, plain).Header.Get("Location")
			}
			switch {
			case got.StatusCode == http.StatusMethodNotAllowed:
			case got.StatusCode == http.StatusSeeOther && (strings.HasPrefix(
				to, "/login/factor/",
			) || strings.Contains(to, "reason=confirm")):
				asked++
			default:
				t.Errorf("%s %s: %d, Location %q: asks for no second factor", got.Request.Method, path, got.StatusCode, to)
			}
		}
	}
	if asked < 60 {
		t.Errorf("only %d pages and forms ask for it", asked)
	}
	weak.get(t, "/account/").wants(t, http.StatusOK)
	// The page of an error shows the registered URI to the owner, and to administrators with the step.
	mistaken := "/o/authorize/?response_type=code&client_id=" + added.Application.ClientID +
		"&redirect_uri=https%3A%2F%2Fapp.example.com%2Fother"
	readable := func(v *visitor) bool {
		got := v.get(t, mistaken)
		got.wants(t, http.StatusBadRequest)
		return strings.Contains(got.body, "known-to-few")
	}
	if readable(weak) || !readable(s.as(t, "alice")) {
		t.Error("the page of an error shows the registered URI without the second factor, or hides it from the owner")
	}
	// Whoever is no administrator has no such rights, and needs no second factor for their own.
	s.weak(t, "alice").get(t, "/o/applications/"+added.Application.ID+"/").wants(t, http.StatusOK)
}

var shownState = regexp.MustCompile(`name="shown" value="([^"]+)"`)

// Lost update (CWE-362) with the effect of a recycled address: the page that an administrator opened before another one
// replaced the address of a thief restored it, as a confirmed one. Whatever the form writes, and somebody else has
// changed since the page was shown, is a refusal that says what is stored now. Nothing is overwritten.
func TestAttackOldUserPageRestoresWhatWasReplaced(t *testing.T) {
	s := newSite(t, "", func(c *Config) { c.OpenID = true })
	root := s.as(t, "root")
	err := s.provider.People.AddGroup(t.Context(), "staff")
	if err != nil {
		t.Fatal(err)
	}
	u, err := s.provider.People.UserByName(t.Context(), "alice")
	if err != nil {
		t.Fatal(err)
	}
	page := s.userPage(u)
	old := map[string]string{"username": "alice", "active": "on", "email": "old@recycled.example", "email_verified": "on"}
	save := func(shown string, change ...string) answer {
		sent := maps.Clone(old)
		for i := 0; i < len(change); i += 2 {
			sent[change[i]] = change[i+1]
			if change[i+1] == "" {
				delete(sent, change[i])
			}
		}
		pairs := []string{"shown", shown}
		for name, value := range sent {
			pairs = append(pairs, name, value)
		}
		return root.post(t, page, pairs...)
	}
	shown := func() string { return shownState.FindStringSubmatch(root.get(t, page).body)[1] }
	stored := func() string {
		u, err := s.provider.People.User(t.Context(), u.ID)
		groups, more := s.provider.People.GroupsOf(t.Context(), u.ID)
		if err != nil || more != nil {
			t.Fatal(err, more)
		}
		u.UpdatedAt = 0
		return fmt.Sprint(u, groups)
	}
	for name, c := range map[string]struct {
		change []string
		says   string
	}{
		"the address":              {[]string{"email", "new@company.example"}, "Stored now: new@company.example."},
		"the address, unconfirmed": {[]string{"email_verified", ""}, "Stored now: not ticked."},
		"the username":             {[]string{"username", "alice2"}, "Stored now: alice2."},
		"the first name":           {[]string{"first_name", "Alice"}, "Stored now: Alice."},
		"the last name":            {[]string{"last_name", "Anders"}, "Stored now: Anders."},
		"a phone number": {[]string{
			"phone_number",
			"+41443334455",
			"phone_number_verified",
			"on",
		}, "Stored now: &#43;41443334455."},
		"another claim":             {[]string{"nickname", "Al"}, "Stored now: Al."},
		"the groups":                {[]string{"group", "staff"}, "Stored now: staff."},
		"the account was disabled":  {[]string{"active", ""}, "Stored now: not ticked."},
		"the rights":                {[]string{"administrator", "on"}, "Stored now: ticked."},
		"what the old page changes": {[]string{"last_name", "Old Page"}, "Review the form, then save again."},
	} {
		save("").wants(t, 303)
		seen := shown()
		save(seen, c.change...).wants(t, 303) // by another administrator
		now := stored()
		again := save(seen, "last_name", "Old Page")
		again.wants(t, 422, "Somebody changed this account after the page was opened.", c.says)
		if stored() != now {
			t.Errorf("%s: the old page has written %s, and before it was %s", name, stored(), now)
		}
		// Who has seen what is stored now decides.
		next := shownState.FindStringSubmatch(again.body)
		if next == nil || next[1] == seen {
			t.Fatalf("%s: the page shows no other state", name)
		}
		save(next[1], "last_name", "Old Page").wants(t, 303)
	}
	save("enabled").wants(t, 422) // of a page that an earlier release has shown
}
