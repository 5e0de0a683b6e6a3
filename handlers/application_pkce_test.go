package handlers

import (
	"html"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"mandate/provider/policy"
)

// The page of an application says whether its requests need a code challenge, and when it last got a code without one.
func TestApplicationPageSaysWhoComesWithoutPKCE(t *testing.T) {
	s := newSite(t, "", func(c *Config) { c.OpenID = true })
	const said = "Last code without PKCE"
	shows := func(v *visitor, path, text string) {
		t.Helper()
		v.get(t, path).wants(t, 200, "<dt>PKCE</dt><dd>"+html.EscapeString(text)+"</dd>")
	}
	alice, root := s.as(t, "alice"), s.as(t, "root")
	hers, _ := registered(t, alice)
	shows(alice, hers, "Each authorization request needs a code challenge, or the scope openid and a nonce.")
	made := alice.post(t, "/o/applications/register/", "name", "Phone", "client_type", "public", "grant_type",
		"authorization_code", "redirect_uris", "https://app.example.com/cb", "scope", "read")
	made.wants(t, 303)
	shows(alice, made.Header.Get("Location"), "Each authorization request needs a code challenge.")
	path, _ := registered(t, root)
	shows(root, path, "A code challenge is used if the application sends one.")

	id := strings.Split(path, "/")[3]
	client, err := s.provider.Clients.Application(t.Context(), policy.Operator(), id)
	if err != nil {
		t.Fatal(err)
	}
	query := url.Values{"response_type": {"code"}, "client_id": {client.ClientID},
		"redirect_uri": {"https://app.example.com/cb"}}
	approve := func(more url.Values) string {
		t.Helper()
		for name, values := range query {
			more[name] = values
		}
		page := alice.get(t, "/o/authorize/?"+more.Encode())
		ticket := regexp.MustCompile(`name="ticket" value="([^"]+)"`).FindStringSubmatch(page.body)
		if ticket != nil {
			page = alice.post(t, "/o/consent/", "ticket", ticket[1], "decision", "approve")
		}
		page.wants(t, 303)
		if at := page.Header.Get("Location"); !strings.Contains(at, "?code=") {
			t.Fatal(at)
		}
		err := s.provider.Clients.StoreUses(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return root.get(t, path).body
	}
	if page := approve(url.Values{"code_challenge": {"E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"},
		"code_challenge_method": {"S256"}}); strings.Contains(page, said) {
		t.Error("after a code with PKCE:", page)
	}
	if page := approve(url.Values{}); !strings.Contains(page, said) ||
		!strings.Contains(page, "docs/register-applications.md") {
		t.Error("after a code without PKCE:", page)
	}
	root.save(t, path, "name", "Ledger", "client_type", "confidential", "grant_type", "authorization_code",
		"redirect_uris", "https://app.example.com/cb", "scope", "read", "pkce", "required").wants(t, 303)
	shows(root, path, "Required")
}
