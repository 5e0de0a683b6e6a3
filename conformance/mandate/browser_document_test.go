package mandate

import (
	"net/url"
	"strings"
	"testing"
)

// What people see of a client with a metadata document.
func TestBrowserDocument(t *testing.T) {
	browser := chromium(t)
	h := newDocumentHost(t)
	s := startServer(t, h.options(
		options{provider: []string{"SCOPES: {read: Read what is yours, write: Change what is yours}",
			"DEFAULT_SCOPES: [read, write]"}}))
	admin, alice := s.person(t, "root", "--admin"), s.person(t, "alice")
	client := newSite(t, "https", "agent.example")
	web := h.client("/oauth/web.json", client.URL+"/back",
		map[string]any{"client_name": "Web agent", "logo_uri": h.logo("/logo.png", "image/png", logoPNG(t, 300, 300, teal)),
			"policy_uri": h.URL + "/policy"})
	local := h.client("/oauth/local.json", "http://localhost/callback", map[string]any{"client_name": "Local agent"})
	local.RedirectURI = "http://localhost:1/callback"
	unnamed := h.client("/oauth/unnamed.json", client.URL+"/back", map[string]any{"client_name": nil})
	at, err := url.Parse(h.URL)
	if err != nil {
		t.Fatal(err)
	}
	b, root := s.window(t, browser, client.Host), s.window(t, browser)

	t.Run("the page shows the host of the document and of the redirect URI", func(t *testing.T) {
		b := b.in(t)
		address, verifier := s.authorizeURL(web, "scope", "read write")
		b.open(address)
		b.logIn(alice)
		b.expect(200, "Allow access to your account?")
		b.says("It calls itself", "Web agent", "Its description is at", at.Host, web.ClientID,
			"Nobody has checked this application: it chose its name itself, and the logo if you see one.", "the address above",
			client.Host, client.URL+"/back")
		b.look("consent-document", strings.TrimPrefix(address, s.URL))
		b.press("Allow")
		b.expect(200, "Back at the client")
		s.redeem(t, web, b.URL().Query().Get("code"), verifier)
		// The browser sends no request to the host: the window would report it.
		if logos, policies := h.fetches("/logo.png"), h.fetches("/policy"); logos != 1 || policies != 0 {
			t.Errorf("%d requests for the logo, want that of the server alone, and %d for the policy", logos, policies)
		}
	})
	t.Run("a client on the person's own device is marked", func(t *testing.T) {
		b := b.in(t)
		address, _ := s.authorizeURL(local, "scope", "read")
		b.look("consent-document-local", strings.TrimPrefix(address, s.URL))
		b.says("Local agent", at.Host, "It runs on the device that you are using, where any program can use its name and "+
			"its address.", "a program on this computer", local.RedirectURI)
	})
	t.Run("a client without a name is shown by its host", func(t *testing.T) {
		b := b.in(t)
		address, _ := s.authorizeURL(unnamed, "scope", "read")
		b.look("consent-document-unnamed", strings.TrimPrefix(address, s.URL))
		b.says("An application without a name asks to act for you.", at.Host, unnamed.ClientID)
	})
	t.Run("a document that cannot be used is explained", func(t *testing.T) {
		b := b.in(t)
		address, _ := s.authorizeURL(application{ClientID: h.URL + "/missing", RedirectURI: client.URL + "/back"})
		b.look("document-missing", strings.TrimPrefix(address, s.URL))
		b.says("has the status 404", "invalid_client")
	})
	t.Run("the account page shows the document", func(t *testing.T) {
		b := b.in(t)
		b.look("account-document", "/account/")
		b.says("Web agent", web.ClientID, "Revoke")
	})
	t.Run("an administrator sees who describes the application, and takes it over", func(t *testing.T) {
		b := root.in(t)
		b.open("/login/")
		b.logIn(admin)
		b.open("/o/applications/")
		b.says("Web agent", web.ClientID)
		b.follow("Web agent")
		page := b.URL().Path
		b.says("3600 seconds (1 hour), the longest that its standing allows", "The metadata document at its client ID.",
			"Nobody: it came with a metadata document")
		if strings.Contains(b.text(), "Change") {
			t.Error("the page offers to change what the document decides")
		}
		b.look("application-document", page)
		b.open(page + "owner/")
		b.press("Take it over")
		b.open(page)
		b.says("no longer read, because somebody is responsible", "Change")
	})
}
