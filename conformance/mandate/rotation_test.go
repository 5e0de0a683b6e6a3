package mandate

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"
)

// rotating is a client whose refresh tokens are rotated or not, and what it sends.
type rotating struct {
	name  string
	flags []string
	proof bool // it sends DPoP proofs
	// want is for unset, on and off with ROTATE_REFRESH_TOKEN on, and the same with it off. y: rotated,
	// n: kept, x: refused at registration.
	want string
}

// Refresh tokens are rotated as the kind of the client, the application and the server say, in this
// order.
//
// RFC 9700 §2.2.2: those of a public client are rotated, or bound to its key. FAPI 2.0 Security
// Profile §5.3.2.1: no rotation.
func TestRefreshRotation(t *testing.T) {
	public := []string{"--client-type", "public", "--grant", "authorization_code", "--redirect-uri", phoneURI}
	confidential := []string{"--grant", "authorization_code", "--redirect-uri", phoneURI}
	for i, setting := range []string{"true", "false"} {
		t.Run(setting, func(t *testing.T) {
			onADatabase(t, func(t *testing.T, db database) {
				s := startServer(t, options{database: db,
					provider: []string{"ROTATE_REFRESH_TOKEN: " + setting, "REFRESH_TOKEN_GRACE_PERIOD_SECONDS: 0",
						"OIDC_ENABLED: true", openidScopes}})
				alice := s.person(t, "alice")
				b, keys := s.signedIn(t, alice), newStatementIssuer(t, "bank")
				for _, kind := range []rotating{
					{"public", public, false, "yyy yyy"},
					{"public, bound", public, true, "nyn nyn"},
					{"confidential", confidential, false, "yyn nyn"},
					{"confidential, bound", confidential, true, "yyn nyn"},
					{"fapi2", fapiClient(t, keys, "--profile", "fapi2"), true, "nxn nxn"},
					{"fapi2-message-signing", fapiClient(t, keys, "--profile", "fapi2-message-signing"), true, "nxn nxn"},
				} {
					got := ""
					for _, own := range []string{"", "on", "off"} {
						flags := append([]string{"--name", kind.name}, kind.flags...)
						if own != "" {
							flags = append(flags, "--refresh-rotation", own)
						}
						got += s.rotation(t, b, alice, keys, flags, kind.proof)
					}
					if want := strings.Fields(kind.want)[i]; got != want {
						t.Errorf("%s: %s, want %s", kind.name, got, want)
					}
				}
			})
		})
	}
}

// rotation registers an application and refreshes its tokens. It returns y if the refresh token was
// replaced, n if it was kept, and x if the registration was refused at the field.
func (s *server) rotation(t *testing.T, b *browser, alice person, keys *statementIssuer, flags []string,
	proof bool) string {
	t.Helper()
	if r := s.cli(t, "", append([]string{"application", "add"}, flags...)...); r.code != 0 {
		if !strings.HasPrefix(r.stderr, "mandate: --refresh-rotation: ") {
			t.Fatalf("%v: %s", flags, r.stderr)
		}
		return "x"
	}
	app, h := s.application(t, flags...), newHolder(t)
	by := keyHolder{app, keys}
	as := func() auth {
		this := app.auth()
		if strings.Contains(strings.Join(flags, " "), "private_key_jwt") {
			this = asserting(s.assert(t, by, nil, nil))
		}
		if proof {
			this = h.proving(t, this)
		}
		return this
	}
	first := s.mustToken(t, as(), s.codeFor(t, b, alice, by, as, flags))
	next := s.mustToken(t, as(), refreshForm(first.RefreshToken))
	_, again := s.token(t, as(), refreshForm(first.RefreshToken))
	rotated, status := "n", http.StatusOK
	if next.RefreshToken != first.RefreshToken {
		rotated, status = "y", http.StatusBadRequest
	}
	checkEqual(t, "the first refresh token, used again", again.Status, status)
	// RFC 9700 §4.14.2: the family has ended, because two parties had the token.
	_, last := s.token(t, as(), refreshForm(next.RefreshToken))
	checkEqual(t, "the next refresh token", last.Status, status)
	return rotated
}

// codeFor gets a code for an application, and returns the form that exchanges it. An application
// with a profile pushes and, for message signing, signs its request.
func (s *server) codeFor(t *testing.T, b *browser, alice person, by keyHolder, as func() auth,
	flags []string) (form map[string][]string) {
	t.Helper()
	if !strings.Contains(strings.Join(flags, " "), "--profile") {
		return b.issue(t, by.application, alice)
	}
	asked, verifier := s.requestFor(t, by.application, "scope", "openid read")
	if strings.Contains(strings.Join(flags, " "), "message-signing") {
		asked.Set("response_mode", "jwt")
		asked = params("request", s.object(t, by, asked, nil, nil))
	}
	pushed := s.post(t, "/o/par/", as(), asked)
	if pushed.Status != http.StatusCreated {
		t.Fatalf("push: %d %s", pushed.Status, pushed.Body)
	}
	back := b.authorize(t, s.opening(by.application, pushed.JSON(t)["request_uri"].(string)), alice, "approve").Query()
	if back.Has("response") {
		back = s.response(t, by.application, "PS256", back)
	}
	return grantForm(by.application, back.Get("code"), verifier)
}

// An application is changed while its tokens are in use. Who may switch the rotation off: only an
// administrator, because a copied refresh token is then found out by nobody.
func TestRefreshRotationIsChanged(t *testing.T) {
	onADatabase(t, func(t *testing.T, db database) {
		s := startServer(t, options{database: db})
		alice, root := s.person(t, "alice"), s.person(t, "root", "--admin")
		app := s.application(t, "--name", "Shop", "--owner", "alice", "--grant", "authorization_code", "--redirect-uri",
			phoneURI, "--refresh-rotation", "on")
		tokens := s.signedIn(t, alice).family(t, app, alice)
		rotated := func() bool {
			before := tokens.RefreshToken
			tokens = s.mustToken(t, app.auth(), refreshForm(before))
			return tokens.RefreshToken != before
		}
		shown := func() string {
			var one member
			if err := json.Unmarshal([]byte(s.mustCLI(t, "", "application", "show", app.ClientID, "--json")), &one); err != nil {
				t.Fatal(err)
			}
			return textOf(one, "refresh_rotation")
		}
		if !rotated() {
			t.Error("on: the token is kept")
		}
		s.mustCLI(t, "", "application", "update", app.ClientID, "--refresh-rotation", "off")
		checkEqual(t, "after the command", shown(), "off")
		waitFor(t, "the token is kept", func() bool { return !rotated() })
		if out := s.mustCLI(t, "", "application", "show", app.ClientID); !strings.Contains(out,
			"rotation of refresh tokens") {
			t.Errorf("application show: %s", out)
		}
		own := s.signIn(t, alice, "/o/applications/")
		own.click(t, "Shop")
		at := own.URL.Path
		change := func(b *browser, value string) *browser {
			t.Helper()
			b.open(t, at+"update/")
			b.submit(t, "Save changes", params("refresh_rotation", value))
			return b
		}
		refused := func(b *browser, value string) {
			t.Helper()
			if a := change(b, value); a.Status != http.StatusUnprocessableEntity ||
				!strings.Contains(a.Body, `id="refresh_rotation-error"`) {
				t.Errorf("%q: %d %.300s", value, a.Status, a.Body)
			}
		}
		// The owner may only narrow what an administrator has decided.
		if a := change(own, "on"); a.Status != http.StatusOK || !strings.Contains(a.Body, "Replaced at each use") {
			t.Errorf("the owner: %d %s", a.Status, a.Body)
		}
		waitFor(t, "the token is rotated", rotated)
		refused(own, "")
		refused(own, "never")
		refused(own, "off")
		checkEqual(t, "after the owner", shown(), "on")
		if a := change(s.signIn(t, root, "/o/applications/"), "off"); a.Status != http.StatusOK ||
			!strings.Contains(a.Body, "Kept") {
			t.Errorf("an administrator: %d %s", a.Status, a.Body)
		}
		// A person becomes responsible: what only an administrator may decide ends.
		s.mustCLI(t, "", "application", "assign", app.ClientID, "alice")
		checkEqual(t, "after it was assigned", shown(), "")
		waitFor(t, "the token is rotated again", rotated)
	})
}

// A refresh token that was copied is found out in the grace period too.
//
// RFC 9700 §4.14.2: who of the two parties is the thief, the server cannot know.
func TestAttackRefreshInTheGracePeriod(t *testing.T) {
	attack(t, "a stolen refresh token that nobody finds out", "")
	forEachDatabase(t, func(t *testing.T, db database) {
		s := startServer(t, options{database: db, provider: []string{"REFRESH_TOKEN_GRACE_PERIOD_SECONDS: 60"}})
		alice := s.person(t, "alice")
		b := s.signedIn(t, alice)
		ended := func(what string, app application, token string) {
			if _, got := s.token(t, app.auth(), refreshForm(token)); got.refused(http.StatusBadRequest, "invalid_grant") != nil {
				t.Errorf("%s: %d %s", what, got.Status, got.Body)
			}
		}

		phone := s.application(t, "--name", "phone", "--client-type", "public", "--grant", "authorization_code",
			"--redirect-uri", phoneURI)
		thief := newHolder(t)
		first := b.family(t, phone, alice)
		stolen := s.mustToken(t, thief.proving(t, phone.auth()), refreshForm(first.RefreshToken))
		ended("the person's own refresh", phone, first.RefreshToken)
		if _, got := s.token(t, thief.proving(t, phone.auth()),
			refreshForm(stolen.RefreshToken)); got.refused(http.StatusBadRequest, "invalid_grant") != nil {
			t.Errorf("the token that the thief bound to a key: %d %s", got.Status, got.Body)
		}

		shop := s.application(t, "--name", "shop", "--grant", "authorization_code", "--redirect-uri", phoneURI)
		first = b.family(t, shop, alice)
		next := s.mustToken(t, shop.auth(), refreshForm(first.RefreshToken))
		s.mustCLI(t, "", "application", "update", shop.ClientID, "--refresh-rotation", "off")
		rotated := time.Now().Unix()
		waitFor(t, "the next second", func() bool { return time.Now().Unix() > rotated }) // times are stored in seconds
		checkEqual(t, "a token that is kept", s.mustToken(t, shop.auth(), refreshForm(next.RefreshToken)).RefreshToken,
			next.RefreshToken)
		ended("the token before one that was used", shop, first.RefreshToken)
		ended("the token after it", shop, next.RefreshToken)
	})
}
