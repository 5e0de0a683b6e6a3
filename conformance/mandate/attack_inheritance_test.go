package mandate

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// The next owner of an application does not inherit what it had under the previous
// owner.

// userID returns the id of a person.
func (s *server) userID(t testing.TB, name string) string {
	t.Helper()
	var id string
	behind(t, s.database, "SELECT id FROM users WHERE username = '"+name+"'", &id)
	return id
}

// TestAttackPrivilegesComeBack: an owner changes the redirect URI while they are no
// administrator, and waits until an administrator becomes the owner.
func TestAttackPrivilegesComeBack(t *testing.T) {
	t.Parallel()
	attack(t, "rights that outlive who had them", "")
	s := startServer(t, options{})
	root, victim := s.signedIn(t, s.person(t, "root", "--admin")), s.person(t, "victim")
	s.person(t, "heir")
	token := s.mustToken(t, s.application(t, "--name", "Other", "--grant", "client_credentials").auth(),
		params("grant_type", "client_credentials")).AccessToken
	for way, next := range map[string]func(id string, app application){
		"deleted": func(id string, _ application) {
			root.open(t, "/admin/users/"+id+"/delete/")
			root.submit(t, "Delete the person", params("applications", "take-over"))
		},
		"taken over": func(_ string, app application) {
			root.open(t, "/o/applications/"+app.ID+"/owner/")
			root.submit(t, "Take it over", nil)
		},
		"given back": func(id string, _ application) {
			root.send(t, "/admin/users/"+id+"/", params("username", "x"+id, "active", "on", "administrator", "on"))
		},
		"taken over by hand": func(_ string, app application) { s.mustCLI(t, "", "application", "take-over", app.ClientID) },
	} {
		name := strings.ReplaceAll(way, " ", "-")
		nina := s.person(t, name, "--admin")
		b := s.signedIn(t, nina)
		app := b.registered(t, "may_introspect", "on", "skip_consent", "on", "pkce", "if-sent", "grant_type",
			"authorization_code", "redirect_uris", "https://own.example/cb")
		id := s.userID(t, name)
		root.send(t, "/admin/users/"+id+"/", params("username", name, "active", "on"))
		b.open(t, "/o/applications/"+app.ID+"/update/")
		b.submit(t, "Save changes", url.Values{"redirect_uris": {"https://evil.example/cb"}})
		if b.Status != http.StatusOK || !strings.Contains(b.Body, "evil.example") {
			t.Fatal(way, b.Status, b.Body)
		}
		next(id, app)
		app.RedirectURI = "https://evil.example/cb"
		v := s.signedIn(t, victim)
		address, _ := s.authorizeURL(app, "code_challenge", "", "code_challenge_method", "")
		v.open(t, address)
		if v.Away != nil && v.Away.Query().Has("code") {
			t.Errorf("%s: a code without consent and PKCE goes to %s", way, v.Away)
		}
		waitFor(t, way+": the application cannot introspect", func() bool {
			return s.post(t, "/o/introspect/", app.auth(), params("token", token)).Status == http.StatusForbidden
		})
	}
}

func TestAttackConsentGoesToAnotherOwner(t *testing.T) {
	attack(t, "consent bypass", "")
	onADatabase(t, func(t *testing.T, db database) {
		s := startServer(t, options{database: db})
		root, victim := s.signedIn(t, s.person(t, "root", "--admin")), s.person(t, "victim")
		kurt := s.signedIn(t, s.person(t, "kurt"))
		s.person(t, "mallory")
		app := kurt.registered(t, "grant_type", "authorization_code", "redirect_uris", "https://own.example/cb")
		v := s.signedIn(t, victim)
		asked := func() bool {
			t.Helper()
			address, _ := s.authorizeURL(app)
			v.open(t, address)
			if v.Away != nil {
				return false
			}
			v.decide(t, "approve")
			return true
		}
		if first, second := asked(), asked(); !first || second {
			t.Fatalf("asked at first %t, and again %t", first, second)
		}
		root.open(t, "/o/applications/"+app.ID+"/owner/")
		root.submit(t, "Assign", params("owner", "mallory"))
		if !asked() {
			t.Error("what was allowed to one owner is allowed to the next")
		}
	})
}

// TestAttackPagesThatWereOpen: if an administrator saves an old page, it does not undo
// changes that were made after the page was loaded.
func TestAttackPagesThatWereOpen(t *testing.T) {
	t.Parallel()
	attack(t, "lost update of a right", "")
	s := startServer(t, options{})
	root := s.signedIn(t, s.person(t, "root", "--admin"))
	eve := s.signedIn(t, s.person(t, "eve"))
	app, id := eve.registered(t), s.userID(t, "eve")
	root.open(t, "/admin/users/"+id+"/")
	s.mustCLI(t, "", "user", "disable", "eve")
	root.submit(t, "Save changes", url.Values{"first_name": {"Eve"}})
	if root.Status != http.StatusUnprocessableEntity || !strings.Contains(root.Body, "after the page was opened") {
		t.Errorf("a page from before brings her back: %d", root.Status)
	}
	s.wantOwn(t, "disabled", app, http.StatusUnauthorized, "invalid_client")
	// The page with the error shows the current account.
	root.submit(t, "Save changes", url.Values{"active": nil, "first_name": {"Eve"}})
	if root.Status != http.StatusOK {
		t.Errorf("saving again: %d %s", root.Status, root.Body)
	}

	otto := s.signedIn(t, s.person(t, "otto"))
	known, id := otto.registered(t), s.userID(t, "otto")
	root.open(t, "/admin/users/"+id+"/delete/")
	late := otto.registered(t)
	root.submit(t, "Delete the person", params("applications", "take-over"))
	if root.Status != http.StatusUnprocessableEntity || !strings.Contains(root.Body, late.ClientID) {
		t.Errorf("an application that nobody saw is taken over: %d", root.Status)
	}
	root.submit(t, "Delete the person", params("applications", "take-over"))
	s.wantOwn(t, "taken over", known, http.StatusOK, "")
	s.wantOwn(t, "taken over too, once it was shown", late, http.StatusOK, "")
}
