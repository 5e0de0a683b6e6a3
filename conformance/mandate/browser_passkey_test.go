package mandate

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/webauthn"
	"github.com/chromedp/chromedp"
)

// device is the authenticator of the computer on which a browser runs.
type device struct {
	b     *tab
	id    webauthn.AuthenticatorID
	quiet page.ScriptIdentifier
}

// authenticator adds one to the browser. It verifies its person, and the person is always there.
func (b *tab) authenticator() *device {
	b.Helper()
	call(b, webauthn.Enable, webauthn.EnableParams{})
	version := webauthn.Ctap2version("ctap2_1")
	added := call(b, webauthn.AddVirtualAuthenticator,
		webauthn.AddVirtualAuthenticatorParams{Options: &webauthn.VirtualAuthenticatorOptions{
			Protocol: webauthn.AuthenticatorProtocolCtap2, Ctap2version: version,
			Transport:      webauthn.AuthenticatorTransportInternal,
			HasResidentKey: true, HasUserVerification: true, IsUserVerified: true, AutomaticPresenceSimulation: true,
		}})
	a := &device{b: b, id: added.AuthenticatorID}
	a.suggests(false)
	return a
}

// suggests says whether the browser lists passkeys in the username field. If it does, the authenticator
// of a test chooses one by itself as soon as the page asks.
func (a *device) suggests(is bool) {
	a.b.Helper()
	if is {
		call(a.b, page.RemoveScriptToEvaluateOnNewDocument,
			page.RemoveScriptToEvaluateOnNewDocumentParams{Identifier: a.quiet})
		return
	}
	a.quiet = call(a.b, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{
		Source: "if (window.PublicKeyCredential) PublicKeyCredential.isConditionalMediationAvailable = async () => false"}).
		Identifier
}

func (a *device) keys() []*webauthn.Credential {
	a.b.Helper()
	return call(a.b, webauthn.GetCredentials, webauthn.GetCredentialsParams{AuthenticatorID: a.id}).Credentials
}

// put adds a passkey that was not made by this authenticator. The command of cdproto always sends
// members that Chromium accepts only for another kind of authenticator.
func (a *device) put(key *webauthn.Credential) {
	a.b.Helper()
	command := cdp.Command[map[string]any, cdp.Empty]{Method: webauthn.CommandAddCredential}
	call(a.b, command, map[string]any{"authenticatorId": a.id, "credential": map[string]any{
		"credentialId": key.CredentialID, "isResidentCredential": true, "rpId": key.RpID, "privateKey": key.PrivateKey,
		"userHandle": key.UserHandle, "signCount": key.SignCount,
	}})
}

func (a *device) clear() {
	a.b.Helper()
	call(a.b, webauthn.ClearCredentials, webauthn.ClearCredentialsParams{AuthenticatorID: a.id})
}

// signOut ends the session by the button of the page.
func (b *tab) signOut() {
	b.Helper()
	b.open("/account/")
	b.press("Sign out")
}

// byPasskey presses the button of the login page.
func (b *tab) byPasskey(address string) {
	b.Helper()
	b.open(address)
	b.press("Sign in with a passkey")
}

// Passkeys with the authenticator of a real browser.
func TestBrowserPasskey(t *testing.T) {
	browser := chromium(t)
	s := startServer(t, options{host: "localhost"})
	alice, bob := s.person(t, "alice"), s.person(t, "bob")
	client := newSite(t, "http", "127.0.0.1")
	app := s.application(t, "--name", "Holiday Planner", "--owner", bob.Name, "--grant", "authorization_code",
		"--redirect-uri", client.URL+"/back")
	b := s.window(t, browser, client.Host)
	a := b.authenticator()
	b.open("/login/")
	b.logIn(alice)

	t.Run("a passkey is added on the account page", func(t *testing.T) {
		b := b.in(t)
		b.open("/account/")
		b.says("Passkeys", "None. With a passkey")
		b.follow("Add a passkey")
		b.expect(200, "Add a passkey")
		b.press("Add a passkey")
		b.expect(200, "Passkey")
		b.says("The passkey is added.", "On one device only", "Never")
		b.fill("Name", "Laptop of work")
		b.press("Save")
		b.expect(200, "Account")
		b.says("Laptop of work", "Never used")
		keys := a.keys()
		if len(keys) != 1 || !keys[0].IsResidentCredential || keys[0].RpID != "localhost" ||
			strings.Contains(string(keys[0].UserHandle), "alice") {
			t.Errorf("the authenticator has %+v", keys)
		}
	})

	t.Run("the same device is not added twice", func(t *testing.T) {
		b := b.in(t)
		b.open("/account/passkeys/new/")
		b.do(b.click(b.find("button", "Add a passkey")))
		b.until(`document.querySelector("#passkey-said").innerText == "This device has a passkey for your account already."`)
	})

	t.Run("it signs in alone, at the request of an application", func(t *testing.T) {
		b := b.in(t)
		b.signOut()
		address, verifier := s.authorizeURL(app, "scope", "read", "state", "xyz")
		b.byPasskey(address)
		b.expect(200, "Allow access to your account?")
		b.says("alice")
		b.press("Allow")
		b.expect(200, "Back at the client")
		got := b.URL().Query()
		if got.Get("state") != "xyz" {
			t.Errorf("the client got %v", got)
		}
		s.redeem(t, app, got.Get("code"), verifier)
		b.open("/account/")
		b.says("Laptop of work", "Last used")
	})

	t.Run("the username field offers it", func(t *testing.T) {
		b := b.in(t)
		b.signOut()
		b.open("/login/?next=/account/")
		offered := evaluate[string](b, `document.querySelector("#username").autocomplete`)
		if offered != "username webauthn" {
			t.Errorf("autocomplete is %q", offered)
		}
		a.suggests(true)
		evaluate[chromedp.Void](b, "void setTimeout(() => location.reload())")
		b.until(`location.pathname == "/account/"`)
		a.suggests(false)
		b.says("Laptop of work")
		b.complaints() // Chromium notes that nobody has clicked
	})

	t.Run("a passkey of another host is of no use here", func(t *testing.T) {
		b := b.in(t)
		b.signOut()
		mine := a.keys()[0]
		a.clear()
		a.put(foreign(t, "accounts.example", mine))
		b.open("/login/")
		b.do(b.click(b.find("button", "Sign in with a passkey")))
		b.until(`document.querySelector("#passkey-said").innerText.startsWith("No passkey was used.")`)
		a.clear()
		a.put(mine)
	})

	// A page of another host could ask its own visitors for a passkey and send the response here.
	t.Run("a response that was made for another host is refused", func(t *testing.T) {
		b := b.in(t)
		b.open("/login/")
		evaluate[chromedp.Void](b, `(() => {
			const form = document.querySelector("form[data-passkey]");
			const submit = form.submit.bind(form);
			form.submit = () => {
				const sent = JSON.parse(form.elements.response.value), data = sent.response;
				data.clientDataJSON = btoa(atob(data.clientDataJSON.replaceAll("-", "+").replaceAll("_", "/")).replace(location.origin, "https://accounts.example")).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
				form.elements.response.value = JSON.stringify(sent);
				submit();
			};
		})()`)
		b.press("Sign in with a passkey")
		b.expect(422, "Sign in")
		b.says("This passkey was not accepted.")
	})

	t.Run("a person who is not verified does not get in", func(t *testing.T) {
		b := b.in(t)
		b.open("/login/")
		call(b, webauthn.SetUserVerified, webauthn.SetUserVerifiedParams{AuthenticatorID: a.id, IsUserVerified: false})
		b.do(b.click(b.find("button", "Sign in with a passkey")))
		b.until(`document.querySelector("#passkey-said").innerText.startsWith("No passkey was used.")`)
		call(b, webauthn.SetUserVerified, webauthn.SetUserVerifiedParams{AuthenticatorID: a.id, IsUserVerified: true})
	})

	t.Run("two passkeys, and removing one", func(t *testing.T) {
		b := b.in(t)
		b.byPasskey("/login/?next=/account/")
		first := a.keys()[0]
		a.clear() // as with another device
		b.follow("Add a passkey")
		b.press("Add a passkey")
		b.fill("Name", "Phone")
		b.press("Save")
		b.says("Laptop of work", "Phone")
		second := a.keys()[0]
		for _, key := range []**webauthn.Credential{&first, &second} {
			b.signOut()
			a.clear()
			a.put(*key)
			b.byPasskey("/login/?next=/account/")
			b.expect(200, "Account")
			*key = a.keys()[0] // its counter has grown
		}
		b.follow("Remove Laptop of work")
		b.expect(200, "Remove the passkey “Laptop of work”?")
		b.press("Remove the passkey")
		b.says("The passkey is removed", "Phone")
		if strings.Contains(b.section("passkeys"), "Laptop of work") {
			t.Error("the passkey is still listed")
		}
		b.signOut()
		a.clear()
		a.put(first)
		b.byPasskey("/login/?next=/account/")
		b.expect(422, "Sign in")
		b.says("This passkey was not accepted.")
		// The page that shows the error has a request of its own.
		a.clear()
		a.put(second)
		b.press("Sign in with a passkey")
		b.expect(200, "Account")
	})

	t.Run("after a while, the person signs in again before a change", func(t *testing.T) {
		b := b.in(t)
		db := s.database.open(t)
		_, err := db.Exec(`UPDATE sessions SET auth_time = auth_time - 301`)
		if err != nil {
			t.Fatal(err)
		}
		for _, way := range []struct{ link, leads string }{{"Add a passkey", "Add a passkey"},
			{"Remove Phone", "Remove the passkey “Phone”?"}} {
			b.open("/account/")
			b.follow(way.link)
			b.expect(200, "Confirm that it is you")
			b.says("alice", "This needs a new sign-in")
			b.fill("Password", alice.Password)
			b.press("Sign in")
			b.expect(200, "Second step")
			b.press("Use your passkey")
			b.expect(200, way.leads)
			_, err = db.Exec(`UPDATE sessions SET auth_time = auth_time - 301`)
			if err != nil {
				t.Fatal(err)
			}
		}
		b.press("Remove the passkey")
		b.expect(200, "Confirm that it is you")
	})

	t.Run("without a script, the pages say nothing about passkeys", func(t *testing.T) {
		b := s.window(t, browser)
		call(b, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
		b.open("/login/")
		if text := b.text(); strings.Contains(text, "passkey") {
			t.Errorf("the login page says %q", text)
		}
		b.logIn(bob)
		b.open("/account/")
		if text := b.text(); strings.Contains(strings.ToLower(text), "passkey") {
			t.Errorf("the account page says %q", text)
		}
		b.open("/account/passkeys/new/")
		b.says("This browser cannot add a passkey")
		if len(b.all("button", "Add a passkey")) != 0 {
			t.Error("there is a button")
		}
	})

	// A page that was open for longer than the server waits is replaced before it asks.
	t.Run("a page that was open for too long begins anew", func(t *testing.T) {
		b := b.in(t)
		b.open("/login/?next=/account/")
		before := evaluate[string](b, `document.querySelector("[data-passkey]").elements.ticket.value`)
		evaluate[chromedp.Void](b, "void (Date.now = ((now) => () => now() + 280_000)(Date.now.bind(Date)))")
		b.do(b.click(b.find("button", "Sign in with a passkey")))
		b.until(`location.pathname == "/account/"`)
		b.complaints() // as above
		if len(before) == 0 {
			t.Error("the page has no ticket")
		}
	})
}

// foreign returns the passkey of an account at another host.
func foreign(t *testing.T, host string, like *webauthn.Credential) *webauthn.Credential {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return &webauthn.Credential{CredentialID: []byte("another passkey, of another host"), IsResidentCredential: true,
		RpID: host, PrivateKey: private, UserHandle: slices.Clone(like.UserHandle), SignCount: 1}
}

// The pages with passkeys fit each screen, also with long names.
func TestBrowserPasskeyPagesFit(t *testing.T) {
	browser := chromium(t)
	s := startServer(t, options{host: "localhost"})
	alice := s.person(t, "alice", "--first-name", "Alice", "--last-name", "Liddell")
	b := s.window(t, browser)
	b.authenticator()
	b.look("login-passkey", "/login/")
	b.look("login-passkey-wrong", "/login/", func() {
		b.fill("Username", "alice")
		b.fill("Password", "x")
		b.press("Sign in")
	})
	b.look("login-passkey-none", "/login/", func() {
		b.do(b.click(b.find("button", "Sign in with a passkey")))
		b.until(`document.querySelector("#passkey-said").innerText != ""`)
	})
	b.open("/login/")
	b.logIn(alice)
	b.look("account-no-passkeys", "/account/")
	b.look("passkey-new", "/account/passkeys/new/")
	b.follow("Cancel")
	b.follow("Add a passkey")
	b.press("Add a passkey")
	b.look("passkey", b.URL().Path)
	b.look("passkey-wrong", b.URL().Path, func() {
		b.fill("Name", "")
		b.press("Save")
	})
	b.fill("Name", strings.Repeat("Extraordinarily", 6)+strings.Repeat(" long name", 6))
	b.press("Save")
	b.look("account-passkeys", "/account/")
	remove := evaluate[string](b, `document.querySelector('a[href$="/remove/"]').getAttribute("href")`)
	b.look("passkey-remove", remove)
	_, err := s.database.open(t).Exec(`INSERT INTO passkeys SELECT 'p' || u.n, p.user_id, '',
		CASE WHEN u.n = 2 THEN 'مفتاح' ELSE 'Security key ' || u.n END, 0, u.n % 2 = 0, u.n % 4 = 0, '', '', p.created_at,
			u.n % 3 * p.created_at
		FROM passkeys p, (SELECT number AS n FROM users UNION SELECT 2 UNION SELECT 3 UNION SELECT 4 UNION SELECT 5 UNION
			SELECT 6 UNION SELECT 7 UNION SELECT 8 UNION SELECT 9 UNION SELECT 10 UNION SELECT 11 UNION SELECT 12
		UNION SELECT 13 UNION SELECT 14 UNION SELECT 15 UNION SELECT 16 UNION SELECT 17 UNION SELECT 18 UNION SELECT 19) u`)
	if err != nil {
		t.Fatal(err)
	}
	b.look("account-all-passkeys", "/account/")
	b.look("passkey-new-full", "/account/passkeys/new/")
	_, err = s.database.open(t).Exec(`UPDATE sessions SET auth_time = auth_time - 301`)
	if err != nil {
		t.Fatal(err)
	}
	b.look("login-confirm", "/account/passkeys/new/")
}
