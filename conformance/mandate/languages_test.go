package mandate

import (
	"cmp"
	"encoding/json"
	"html"
	"net/http"
	"regexp"
	"strings"
	"testing"
)

// speaking sends requests as a browser whose person reads these languages.
type speaking struct {
	http.RoundTripper
	languages string
}

func (s speaking) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Accept-Language", s.languages)
	return cmp.Or[http.RoundTripper](s.RoundTripper, http.DefaultTransport).RoundTrip(r)
}

// reading returns a browser whose person reads these languages.
func (s *server) reading(t *testing.T, languages string) *browser {
	t.Helper()
	b := s.browser(t)
	b.client.Transport = speaking{b.client.Transport, languages}
	return b
}

// is checks the language of the page, and that it contains the texts.
func (b *browser) is(t *testing.T, language string, texts ...string) {
	t.Helper()
	if !strings.Contains(b.Body, `<html lang="`+language+`">`) || b.Header.Get("Content-Language") != language ||
		b.Header.Get("Vary") != "Accept-Language" {
		t.Errorf("%s: want the language %s: Content-Language %q, Vary %q\n%.300s", b.URL, language,
			b.Header.Get("Content-Language"), b.Header.Get("Vary"), b.Body)
	}
	for _, text := range texts {
		if !strings.Contains(html.UnescapeString(b.Body), text) {
			t.Errorf("%s: no text %q in\n%s", b.URL, text, b.Body)
		}
	}
}

// RFC 9110 §12.5.4: the browser says which languages its person reads.
func TestLanguageOfTheBrowser(t *testing.T) {
	t.Parallel()
	v := newFixture(t, options{database: newSQLite(t)})
	for header, want := range map[string]string{
		"de-CH,de;q=0.9,en;q=0.8": "de", "fr": "fr", "es-419;q=0.9, it": "es", "en-GB": "en", "it, ja;q=0.5": "en", "*": "en",
		"en;q=0.1, de;q=0.9": "de", "de;q=0": "en", "pt, es;q=0.1": "es",
		"de; q=<script>": "en", strings.Repeat("de,", 2000): "en", "\xffde": "en", "de, \xff": "en", "../../etc/passwd": "en",
	} {
		b := v.reading(t, header)
		b.open(t, "/login/")
		b.is(t, want, map[string]string{"en": "Username", "de": "Benutzername", "fr": "Nom d’utilisateur",
			"es": "Nombre de usuario"}[want])
	}
	b := v.browser(t)
	b.open(t, "/login/")
	b.is(t, "en")
	// Two fields of the header are one list (RFC 9110 §5.3).
	request, err := http.NewRequest("GET", v.URL+"/login/", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header["Accept-Language"] = []string{"it", "fr;q=0.3"}
	b.follow(t, request)
	b.is(t, "fr")
}

// What goes wrong is said in the language of the person. Programs get English.
func TestErrorsInTheLanguageOfThePerson(t *testing.T) {
	t.Parallel()
	v := newFixture(t, options{database: newSQLite(t)})
	b := v.reading(t, "de")
	b.open(t, "/login/")
	b.submit(t, "", params("username", "", "password", ""))
	b.is(t, "de", "Geben Sie Ihren Benutzernamen ein.", "Geben Sie Ihr Passwort ein.", "<title>Fehler: Anmelden")
	b.submit(t, "", params("username", "alice", "password", "wrong"))
	b.is(t, "de", "Der Benutzername oder das Passwort ist falsch.")
	b.logIn(t, v.alice)
	b.is(t, "de", "<h1>Guten Tag, ")
	b.open(t, "/account/")
	b.submit(t, "Passwort ändern", params("current_password", "wrong", "new_password", "short"))
	b.is(t, "de", "Aktuelles Passwort: Das ist nicht Ihr aktuelles Passwort.",
		"Neues Passwort: Verwenden Sie mindestens 15 Zeichen.")
	if !regexp.MustCompile(
		`Angemeldet am \d+\. (Januar|Februar|März|April|Mai|Juni|Juli|August|September|Oktober|November|Dezember) \d{4}, \d\d:\d\d UTC`).MatchString(b.Body) {
		t.Errorf("no date in German:\n%s", b.Body)
	}
	b.open(t, "/device/")
	b.submit(t, "Weiter", params("user_code", "BCDF-GHJA"))
	b.is(t, "de", "Ein Code hat acht Buchstaben, etwa BCDF-GHJK.")
	b.open(t, "/nowhere/")
	b.is(t, "de", "Seite nicht gefunden", "Unter dieser Adresse gibt es nichts.")
	b.open(t, "/admin/users/")
	b.is(t, "de", "Diese Seite ist der Administration vorbehalten.")
	// The developer of the application reads English: the person reads that.
	b.open(t, "/o/authorize/?response_type=code&client_id=nobody")
	b.is(
		t,
		"de",
		"Diese Anfrage ist ungültig",
		"Client-ID, die dieser Server nicht kennt.",
		`<p lang="en">No application with this client_id`,
	)
	address, _ := v.authorizeURL(v.casual, "redirect_uri", "https://casual.example/other")
	b.open(t, address)
	b.is(t, "de", "Die Redirect-URI der Anwendung ist nicht registriert")
	b.open(t, "/account/")
	b.submit(t, "Abmelden", nil)
	b.is(t, "de", "Sie sind abgemeldet.")
	// A page for administrators has its frame in the language of the person, and its content in English.
	b.open(t, "/login/?next=%2Fadmin%2Fusers%2F")
	b.logIn(t, v.admin)
	b.is(t, "de", ">Konto</a>", `<main id="main" tabindex="-1" lang="en">`, `<title lang="en">People`)
	b.open(t, "/admin/groups/")
	b.submit(t, "", params("name", "staff"))
	b.is(t, "de", `<p class="note good" role="status" lang="de">Die Gruppe ist hinzugefügt.</p>`)
	// The protocol.
	request, err := http.NewRequest("POST", v.URL+"/o/token/", strings.NewReader("grant_type=nonsense"))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Accept-Language", "de")
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	answer, err := v.do(request)
	if err != nil {
		t.Fatal(err)
	}
	if strings.ContainsFunc(string(answer.Body), func(r rune) bool { return r > '~' }) ||
		answer.Header.Get("Content-Language") != "" || strings.Contains(strings.Join(answer.Header.Values("Vary"), ","),
		"Language") {
		t.Errorf("an answer to a program: %v %s", answer.Header, answer.Body)
	}
}

// OIDC Core §3.1.2.1: ui_locales takes precedence on the pages of an authorization request, whether it comes in the
// query, in a pushed request or in a request object.
func TestLanguageOfTheRequest(t *testing.T) {
	onADatabase(t, func(t *testing.T, db database) {
		v := newFixture(t, options{database: db, provider: []string{"OIDC_ENABLED: true"}})
		plain, _ := v.authorizeURL(v.casual, "scope", "openid", "prompt", "consent", "ui_locales", "it fr-CA de")
		pushed, _ := v.pushed(t, v.casual, "scope", "openid", "prompt", "consent", "ui_locales", "fr")
		signer := v.objectSigner(t, "signer")
		form, _ := v.requestFor(t, signer.application, "scope", "openid", "ui_locales", "fr")
		object := v.sending(signer.application, v.object(t, signer, form, nil, nil), openIDOutside...)
		for name, address := range map[string]string{"query": plain, "pushed": pushed, "object": object} {
			t.Run(name, func(t *testing.T) {
				b := v.reading(t, "es")
				b.open(t, address)
				checkEqual(t, "path", b.URL.Path, "/login/")
				b.is(t, "fr", "Se connecter")
				b.submit(t, "", params("username", "alice", "password", "wrong"))
				b.is(t, "fr", "Le nom d’utilisateur ou le mot de passe est incorrect.")
				b.logIn(t, v.alice)
				if name == "object" { // it skips the consent page
					checkEqual(t, "code", b.Away != nil && b.Away.Query().Get("code") != "", true)
					return
				}
				b.is(t, "fr", "Autoriser l’accès à votre compte", "Où va votre réponse")
				b.submit(t, "Autoriser", nil)
				checkEqual(t, "code", b.Away != nil && b.Away.Query().Get("code") != "", true)
				// The other pages have the language of the browser.
				b.open(t, "/account/")
				b.is(t, "es")
			})
		}
		// A language that no page has is ignored, and so is every other text.
		for _, tags := range []string{"it", "it qaa-Latn-x-conformance", "<script>alert(1)</script>",
			strings.Repeat("fr ", 1000)} {
			address, _ := v.authorizeURL(v.casual, "scope", "openid", "ui_locales", tags)
			b := v.reading(t, "es")
			b.open(t, address)
			b.is(t, "es")
			if strings.Contains(b.Body, "<script>alert") {
				t.Errorf("the parameter is in the page: %s", b.Body)
			}
		}
		// The second factor, and an error of the client.
		app, _ := v.withApp(t, v.bob)
		b := v.reading(t, "es")
		b.open(t, plain)
		b.logIn(t, v.bob)
		b.is(t, "fr", "Les six chiffres que votre application d’authentification affiche")
		b.submit(t, "Continuer", params("code", "000000"))
		b.is(t, "fr", "Ce code est incorrect ou a déjà été utilisé.")
		b.submit(t, "Continuer", params("code", app.code(1)))
		b.is(t, "fr", "Autoriser l’accès à votre compte")
		b.open(t, "/o/authorize/?client_id=nobody&ui_locales=fr")
		b.is(t, "fr", "Cette demande n’est pas valable")
		// OIDC RP-Logout §2: the same parameter.
		b.open(t, "/o/logout/?ui_locales=de-AT")
		b.is(t, "de", "Abmelden?")
		b.submit(t, "Abmelden", nil)
		metadata := v.get(t, "/.well-known/openid-configuration", nobody).JSON(t)
		checkEqual(t, "languages", metadata["ui_locales_supported"], []any{"en", "de", "fr", "es"})
		checkEqual(t, "languages of claims", metadata["claims_locales_supported"], nil)
	})
}

// A message is in the language of the person, whoever causes it: the claim locale, or else the language of the browser
// in which the person last signed in. Of somebody who has never signed in, only the browser is known that asks for a
// new password.
func TestMailInTheLanguageOfThePerson(t *testing.T) {
	onADatabase(t, func(t *testing.T, db database) {
		m := startMailing(t, db)
		carol := m.person(t, "carol", "--email", "carol@example.com")
		m.person(t, "dave", "--email", "dave@example.com")
		erin := m.person(t, "erin", "--email", "erin@example.com", "--locale", "es-MX")
		signIn := func(p person, languages string) *browser {
			b := m.reading(t, languages)
			b.client.Transport = calledBy{b.client.Transport, "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 " +
				"Firefox/140.0"}
			b.open(t, "/login/")
			b.logIn(t, p)
			checkEqual(t, "path", b.URL.Path, "/")
			return b
		}
		signIn(carol, "de-CH, en;q=0.5")
		message := m.waitTo(t, "carol@example.com", "Neue Anmeldung bei Ihrem Konto", 1)
		for _, text := range []string{"Jemand hat sich beim Konto carol mit einem Browser angemeldet",
			"\nBrowser: Firefox unter Linux\nNetzwerkadresse: 127.0.0.1\n", " UTC\n"} {
			if !strings.Contains(message.Text, text) {
				t.Errorf("no %q in\n%s", text, message.Text)
			}
		}
		if !strings.Contains(message.HTML, `<html lang="de">`) || !strings.Contains(message.HTML, "Konto öffnen") {
			t.Errorf("%s", message.HTML)
		}
		forgets := func(name, languages string) {
			b := m.reading(t, languages)
			b.open(t, "/password/forgot/")
			b.submit(t, "", params("username", name))
		}
		forgets("carol", "fr")
		m.linkIn(t, m.waitTo(t, "carol@example.com", "Neues Passwort festlegen", 1))
		forgets("dave", "fr")
		m.linkIn(t, m.waitTo(t, "dave@example.com", "Définir un nouveau mot de passe", 1))
		// A browser that names no language changes nothing, and one that names another one does.
		m.signedIn(t, carol)
		m.waitTo(t, "carol@example.com", "Neue Anmeldung bei Ihrem Konto", 2)
		m.mustCLI(t, "", "user", "reset-factors", "carol")
		m.waitTo(t, "carol@example.com", "Ihr zweiter Faktor wurde von der Administration entfernt", 1)
		signIn(carol, "en-GB")
		m.waitTo(t, "carol@example.com", signInSubject, 1)
		// The claim takes precedence.
		signIn(erin, "de")
		m.waitTo(t, "erin@example.com", "Nuevo inicio de sesión en su cuenta", 1)
		forgets("erin@example.com", "fr")
		m.linkIn(t, m.waitTo(t, "erin@example.com", "Establecer una contraseña nueva", 1))
	})
}

// An invitation is in the language that the inviter chooses, at first that of the page. A new link is in the same one.
func TestInvitationInALanguage(t *testing.T) {
	t.Parallel()
	m := startMailing(t, newSQLite(t))
	b := m.reading(t, "fr")
	b.open(t, "/login/?next=%2Fadmin%2Finvitations%2Fnew%2F")
	b.logIn(t, m.admin)
	b.is(t, "fr", "Language of the message", "Français")
	b.submit(t, "Invite", params("recipient", "ann@example.com"))
	m.linkIn(t, m.waitTo(t, "ann@example.com", "Votre invitation chez Mandate", 1))
	for path, language := range map[string]string{"/admin/invitations/new/": "es", "/admin/invitations/list/": "de"} {
		b.open(t, path)
		field := map[bool]string{true: "recipient", false: "list"}[language == "es"]
		b.submit(t, "Invite", params(field, language+"@example.com", "language", language))
	}
	m.linkIn(t, m.waitTo(t, "es@example.com", "Su invitación a Mandate", 1))
	message := m.waitTo(t, "de@example.com", "Ihre Einladung zu Mandate", 1)
	if !strings.Contains(message.Text, "root lädt Sie ein, ein Konto bei Mandate zu erstellen.") {
		t.Errorf("%s", message.Text)
	}
	b.open(t, "/admin/invitations/new/")
	b.submit(t, "Invite", params("recipient", "tlh@example.com", "language", "tlh"))
	if b.Status != http.StatusUnprocessableEntity ||
		!strings.Contains(html.UnescapeString(b.Body), `There are no messages in the language "tlh"`) {
		t.Errorf("%d %s", b.Status, b.Body)
	}
	var list []struct{ ID, Email string }
	if err := json.Unmarshal([]byte(m.mustCLI(t, "", "invitation", "list", "--json")), &list); err != nil {
		t.Fatal(err)
	}
	for _, one := range list {
		if one.Email == "de@example.com" {
			m.mustCLI(t, "", "invitation", "renew", one.ID)
		}
	}
	m.linkIn(t, m.waitTo(t, "de@example.com", "Ihre Einladung zu Mandate", 2))
}
