package mandate

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
)

// The challenge of the authorization request alone decides what the token request must
// prove. No combination of the two lets a client prove less.

// challenge is what an authorization request sends. RFC 9700 §2.1.1 allows only S256.
type challenge struct{ name, value, method string }

func challenges() []challenge {
	verifier, s256 := newPKCE()
	return []challenge{
		{"S256", s256, "S256"},
		{"none", "", ""},
		// RFC 7636 §4.3: no method means plain.
		{"without_a_method", s256, ""},
		{"plain", verifier, "plain"},
		{"S256_called_plain", s256, "plain"},
		{"a_method_alone", "", "S256"},
		{"an_unknown_method", s256, "S512"},
		{"the_method_in_lower_case", s256, "s256"},
		{"padded", s256 + "=", "S256"},
		{"too_short", s256[:42], "S256"},
		{"too_long", s256 + "A", "S256"},
		{"a_character_that_base64url_lacks", "+" + s256[1:], "S256"},
		{"bits_that_no_digest_has", s256[:42] + "B", "S256"},
		{"spaces_around_it", " " + s256 + " ", "S256"},
		{"a_line_break_in_it", s256[:20] + "\n" + s256[20:], "S256"},
		{"very_long", strings.Repeat("A", 5000), "S256"},
	}
}

func TestPKCE(t *testing.T) {
	onADatabase(t, func(t *testing.T, db database) {
		v := newFixture(t, options{database: db})
		exempt := v.exempted(t)
		v.mustCLI(t, "", "application", "update", v.casual.ClientID, "--pkce", "required")
		o := v.options
		o.provider = append(slices.Clone(o.provider), "PKCE_REQUIRED: true")
		required := newServer(t, o, v.BaseURL, v.key, v.secrets)
		required.start(t)
		for _, c := range []struct {
			name string
			s    *server
			app  application
			none bool // may the challenge be left out?
		}{
			{"usual/confidential", v.server, v.web, true},
			{"usual/strict", v.server, v.casual, false},
			{"usual/public", v.server, v.phone, false},
			{"required/confidential", required, v.web, false},
			{"required/public", required, v.phone, false},
			{"required/exempt", required, exempt, true},
		} {
			b := c.s.signedIn(t, v.alice)
			for _, ch := range challenges() {
				t.Run(c.name+"/challenge_"+ch.name, func(t *testing.T) {
					switch {
					case ch.name == "S256":
						b.bindsVerifier(t, c.app, v.alice)
					case ch.name == "none" && c.none:
						b.takesNoVerifier(t, c.app, v.alice)
					default:
						b.refusesChallenge(t, c.app, ch)
					}
				})
			}
		}
	})
}

// exempted registers an application that an administrator exempts from PKCE. Nobody
// else can do this, and a public client cannot be exempted.
func (v *fixture) exempted(t testing.TB) application {
	t.Helper()
	app := v.application(t, "--name", "Old", "--owner", v.bob.Name, "--skip-consent", "--grant", "authorization_code",
		"--redirect-uri", "https://old.example/back")
	page := func(app application) string { return "/o/applications/" + app.ID + "/update/" }
	exempt := url.Values{"pkce": {"if-sent"}}
	bob := v.signedIn(t, v.bob)
	bob.open(t, page(app))
	if !bob.shows("pkce") || strings.Contains(bob.Body, "if-sent") {
		t.Error("the form of a person without rights offers the exemption")
	}
	bob.send(t, page(app),
		url.Values{"name": {"Old"}, "client_type": {"confidential"}, "grant_type": {"authorization_code"},
			"redirect_uris": {app.RedirectURI}, "scope": {"read"}, "skip_consent": {"on"}, "pkce": {"if-sent"}})
	if bob.Status != http.StatusUnprocessableEntity {
		t.Errorf("a person without rights exempts an application: %d", bob.Status)
	}
	root := v.signedIn(t, v.admin)
	root.open(t, page(v.phone))
	root.submit(t, "Save changes", exempt)
	if root.Status != http.StatusUnprocessableEntity {
		t.Errorf("a public application is exempted: %d", root.Status)
	}
	root.open(t, page(app))
	root.submit(t, "Save changes", exempt)
	if root.Status != http.StatusOK || !strings.Contains(root.Body, "<dd>Used if it is sent</dd>") {
		t.Fatalf("the administrator cannot exempt an application: %d %s\n%s", root.Status, root.URL, root.Body)
	}
	return app
}

// RFC 7636 §4.4.1, RFC 9700 §2.1.1: a challenge that is not S256 gets no code, and the
// error is sent to the client's redirect URI.
func (b *browser) refusesChallenge(t *testing.T, app application, ch challenge) {
	address, _ := b.server.authorizeURL(app, "state", "kept", "code_challenge", ch.value,
		"code_challenge_method", ch.method)
	b.open(t, address)
	if b.Away == nil {
		t.Fatalf("the client is told nothing: %d %s", b.Status, b.URL)
	}
	got := b.Away.Query()
	if got.Get("error") != "invalid_request" || got.Has("code") || got.Get("state") != "kept" ||
		got.Get("iss") != b.server.Issuer {
		t.Errorf("the client gets %s", b.Away)
	}
	if !strings.Contains(got.Get("error_description"), "code_challenge") {
		t.Errorf("error_description %q does not say what to change", got.Get("error_description"))
	}
}

// RFC 7636 §4.6: a code with a challenge needs its verifier; a code without one needs
// none. A wrong verifier uses up neither the code nor its challenge (fosite issue: the
// challenge was deleted at the first attempt).
func (b *browser) bindsVerifier(t *testing.T, app application, p person) {
	other, otherChallenge := newPKCE()
	for _, wrong := range []struct{ name, verifier, code string }{
		{"none", "", "invalid_grant"},
		{"another", other, "invalid_grant"},
		{"a challenge", otherChallenge, "invalid_grant"},
		{"too short", other[:42], "invalid_grant"},
		{"too long", strings.Repeat("a", 129), "invalid_grant"},
		{"with a space", other[:42] + " ", "invalid_grant"},
		{"with a slash", other[:42] + "/", "invalid_grant"},
		{"beyond ASCII", other[:42] + "ä", "invalid_grant"},
	} {
		form := b.issue(t, app, p)
		for range 2 {
			err := b.server.post(t, "/o/token/", app.auth(), with(form, "code_verifier", wrong.verifier)).refused(400,
				wrong.code)
			if err != nil {
				t.Errorf("verifier %s: %v", wrong.name, err)
			}
		}
		err := b.server.post(t, "/o/token/", app.auth(), with(form, "code_verifier", "")).refused(400, "invalid_grant")
		if err != nil {
			t.Errorf("none after %s: %v", wrong.name, err)
		}
		b.server.mustToken(t, app.auth(), form)
	}
	for _, length := range []int{43, 128} {
		verifier := strings.Repeat("~._-0aZ", 20)[:length]
		form := with(b.issue(t, app, p, "code_challenge", digestOf(verifier)), "code_verifier", verifier)
		b.server.mustToken(t, app.auth(), form)
	}
}

// RFC 9700 §2.1.1: a verifier without a challenge shows that an attacker removed the
// challenge.
func (b *browser) takesNoVerifier(t *testing.T, app application, p person) {
	form := with(b.issue(t, app, p, "code_challenge", "", "code_challenge_method", ""), "code_verifier", "")
	right, s256 := newPKCE()
	for _, verifier := range []string{right, s256, "short", strings.Repeat("a", 129)} {
		err := b.server.post(t, "/o/token/", app.auth(), with(form, "code_verifier", verifier)).refused(400, "invalid_grant")
		if err != nil {
			t.Errorf("verifier %q: %v", verifier, err)
		}
	}
	// RFC 6749 §4.1.3: only the redirect URI binds such a code.
	err := b.server.post(t, "/o/token/", app.auth(), with(form, "redirect_uri", "")).refused(400, "invalid_request")
	if err != nil {
		t.Errorf("without redirect_uri: %v", err)
	}
	b.server.mustToken(t, app.auth(), form)
}
