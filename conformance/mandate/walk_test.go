package mandate

import (
	"encoding/base64"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// The steps of django-oauth-toolkit's documentation, in its order and with its results,
// as one of its users would repeat them. A comment says where and why a step differs
// here.

// callback is the address to which the documentation sends codes. No server runs there;
// the reader copies the code.
const callback = "http://127.0.0.1:8000/noexist/callback"

// uncached adds the header that the documentation's curl commands send besides the
// form.
func uncached(r *http.Request, _ url.Values) { r.Header.Set("Cache-Control", "no-cache") }

// Getting started.
func TestWalkGettingStarted(t *testing.T) {
	ownProcesses(t)
	onADatabase(t, func(t *testing.T, db database) {
		s := startServer(t, options{database: db, settings: []string{"SAMPLE_API: true"}})
		alice := s.person(t, "alice")

		// Point your browser to /o/applications/register/ and log in. The documentation's LOGIN_URL is Django's
		// /admin/login/; here it is the built-in page.
		b := s.signIn(t, alice, "/o/applications/register/")

		// Fill in the form: confidential, authorization code, redirect URI. Note the client id and the secret. They
		// stand on the page before the form is sent there, and the secret afterwards as its hash, which people paste;
		// here they stand on the page after it.
		app := b.registers(t, params("name", "web app", "client_type", "confidential", "grant_type", "authorization_code",
			"redirect_uris", callback))
		if app.ClientID == "" || app.ClientSecret == "" {
			t.Fatalf("the page shows client id %q and a secret of %d characters", app.ClientID, len(app.ClientSecret))
		}

		// Generate a code verifier and its challenge. The documentation's sample has 80 characters and ends in "==",
		// which RFC 7636 §4.1 does not allow, and it is not the one of its sample challenge.
		verifier, challenge := newPKCE()

		// Go to the authorization URL, which has no state and no scope; log in and authorize.
		other := s.browser(t)
		other.open(t, "/o/authorize/?response_type=code&code_challenge="+challenge+"&code_challenge_method=S256&client_id="+
			app.ClientID+"&redirect_uri="+callback)
		other.logIn(t, alice)
		for _, part := range []string{"web app", "Read scope", "Write scope", callback} {
			if !strings.Contains(other.Body, part) {
				t.Errorf("the consent page does not show %q:\n%s", part, other.Body)
			}
		}
		other.decide(t, "approve")

		// You are redirected to http://127.0.0.1:8000/noexist/callback?code=..., which is not found.
		if other.Away == nil || !strings.HasPrefix(other.Away.String(), callback+"?code=") {
			t.Fatalf("sent to %v", other.Away)
		}
		query := other.Away.Query()
		code := query.Get("code")
		if query.Del("code"); query.Encode() != params("iss", s.Issuer).Encode() {
			t.Errorf("sent back with %v beside the code, want the issuer alone", query)
		}
		// RFC 9700 §4.12 wants 303 where django-oauth-toolkit sends 302.
		if last := other.Hops[len(other.Hops)-1]; last.Status != http.StatusSeeOther {
			t.Errorf("the redirect is %d, want 303", last.Status)
		}

		// Exchange the code with curl: everything in the body.
		answer := s.post(t, "/o/token/", uncached,
			params("client_id", app.ClientID, "client_secret", app.ClientSecret, "code", code,
				"code_verifier", verifier, "redirect_uri", callback, "grant_type", "authorization_code"))
		pair := s.checkGranted(t, answer, "read write", true)

		// To access the user resources we just use the access_token.
		if a := s.get(t, "/resource", bearer(pair.AccessToken)); a.Status != http.StatusOK {
			t.Errorf("/resource answers %d: %s", a.Status, a.Body)
		}

		// Register another application, with client credentials.
		b.open(t, "/o/applications/register/")
		robot := b.registers(t, params("name", "robot", "client_type", "confidential", "grant_type", "client_credentials"))

		// Encode id and secret for HTTP Basic.
		credential := base64.StdEncoding.EncodeToString([]byte(robot.ClientID + ":" + robot.ClientSecret))
		answer = s.post(t, "/o/token/", func(r *http.Request, form url.Values) {
			uncached(r, form)
			r.Header.Set("Authorization", "Basic "+credential)
		}, params("grant_type", "client_credentials"))
		token := s.checkGranted(t, answer, "read write", false)
		if a := s.get(t, "/resource", bearer(token.AccessToken)); a.Status != http.StatusOK {
			t.Errorf("/resource answers %d: %s", a.Status, a.Body)
		}
	})
}

// REST framework: getting started.
func TestWalkRESTFramework(t *testing.T) {
	ownProcesses(t)
	onADatabase(t, func(t *testing.T, db database) {
		s := startServer(t, options{database: db,
			// The walk makes a user with the password "bar".
			settings: []string{"SAMPLE_API: true", "PASSWORD_MIN_LENGTH: 3"},
			provider: []string{"SCOPES: {read: Read scope, write: Write scope, groups: Access to your groups}"}})
		s.mustCLI(t, "", "group", "add", "staff")
		alice := s.person(t, "alice", "--email", "alice@example.org", "--first-name", "Alice", "--group", "staff", "--admin")

		// Register an application at /o/applications/register/: confidential, resource owner password-based.
		b := s.signIn(t, alice, "/o/applications/register/")
		app := b.registers(t, params("name", "service", "client_type", "confidential", "grant_type", "password"))

		// curl -X POST -d "grant_type=password&username=<user_name>&password=<password>" -u"<client_id>:<client_secret>"
		// /o/token/
		curl := func(r *http.Request, _ url.Values) { r.SetBasicAuth(app.ClientID, app.ClientSecret) }
		pair := s.checkGranted(t, s.password(t, curl, alice), "read write groups", true)

		// Retrieve users, the user of key 1, groups.
		first := sampleUser("alice", "alice@example.org", "Alice", "")
		s.walkUsers(t, pair, first)

		// Insert a new user: curl -X POST -d"username=foo&password=bar&scope=write" /users/
		foo := person{"foo", "bar"}
		a := s.post(t, "/users/", bearer(pair.AccessToken),
			params("username", foo.Name, "password", foo.Password, "scope", "write"))
		checkSame(t, a, http.StatusCreated, sampleUser("foo", "", "", ""))
		// The documentation's serializer forgets the password. Here it works, at the token endpoint and in a browser.
		s.checkGranted(t, s.password(t, curl, foo), "read write groups", true)
		s.signIn(t, foo, "/account/")

		// Get a new token: curl -X POST -d "grant_type=refresh_token&refresh_token=...&client_id=...&client_secret=..."
		// /o/token/
		next := s.checkGranted(t, s.refresh(t, body(app.ClientID, app.ClientSecret), pair.RefreshToken),
			"read write groups", true)
		if next.AccessToken == pair.AccessToken || next.RefreshToken == pair.RefreshToken {
			t.Error("refreshing gave an old token again")
		}

		// Ask for a token that is restricted: curl -X POST -d "grant_type=password&...&scope=read" ...
		read := s.checkGranted(t, s.password(t, curl, alice, "scope", "read"), "read", true)
		if got := list(t, s.get(t, "/users/", bearer(read.AccessToken))); len(got) != 2 {
			t.Errorf("%d users, want 2", len(got))
		}
		// The rest is refused with: You do not have permission to perform this action.
		checkPermission(t, s.get(t, "/groups/", bearer(read.AccessToken)), "groups")
		checkPermission(t, s.post(t, "/users/", bearer(read.AccessToken), params("username", "foo2", "password", "bar")),
			"write")
	})
}

func (s *server) walkUsers(t *testing.T, pair tokens, first map[string]any) {
	t.Helper()
	checkSame(t, s.get(t, "/users/", bearer(pair.AccessToken)), http.StatusOK, []any{first})
	checkSame(t, s.get(t, "/users/1/", bearer(pair.AccessToken)), http.StatusOK, first)
	checkSame(t, s.get(t, "/groups/", bearer(pair.AccessToken)), http.StatusOK, []any{map[string]any{"name": "staff"}})
}
