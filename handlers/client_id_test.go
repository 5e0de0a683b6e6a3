package handlers

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"mandate/provider/clients"
	"mandate/provider/policy"
)

// RFC 6749 appendix A.1: a client id can have spaces, colons and any other printable character. It works at each
// endpoint and on each page, and no part of it is the id of somebody.
func TestClientIDWithSpaces(t *testing.T) {
	const id, callback = `urn:my client, 100% "<b>"+&`, "https://app.example.com/cb"
	s := newSite(t, "/auth")
	v := s.as(t, "root")
	register := func(id string) *clients.Registered {
		t.Helper()
		app, err := s.provider.Clients.Register(t.Context(), policy.Operator(), clients.Registration{
			Name: "Ledger", ClientID: id, ClientType: policy.Confidential, HashClientSecret: true,
			GrantTypes: []string{policy.GrantCode, policy.GrantClient}, RedirectURIs: []string{callback}})
		if err != nil {
			t.Fatal(id, err)
		}
		return app
	}
	app, part := register(id), register("client,")
	for _, ends := range []string{" x", "x ", "x\ty", "x\ny"} {
		_, err := s.provider.Clients.Register(t.Context(), policy.Operator(), clients.Registration{
			Name: "x", ClientID: ends, ClientType: policy.Confidential, GrantTypes: []string{policy.GrantClient}})
		if err == nil {
			t.Errorf("the client id %q is accepted", ends)
		}
	}
	// ask sends a form with the credentials of an application by HTTP Basic, form-encoded (RFC 6749 §2.3.1).
	ask := func(by *clients.Registered, path string, form url.Values) answer {
		t.Helper()
		r := v.request(t, post, path, form.Encode())
		r.SetBasicAuth(url.QueryEscape(by.Application.ClientID), url.QueryEscape(by.Secret))
		return v.do(t, r)
	}
	client := url.Values{"grant_type": {"client_credentials"}}
	ask(app, "/o/token/", client).wants(t, 200, "access_token")
	client.Set("client_id", id)
	client.Set("client_secret", app.Secret)
	v.do(t, v.request(t, post, "/o/token/", client.Encode())).wants(t, 200, "access_token")

	shown := strings.NewReplacer("%", "%", `"`, "&#34;", "<", "&lt;", ">", "&gt;", "+", "&#43;", "&", "&amp;").Replace(id)
	v.get(t, "/o/applications/"+app.Application.ID+"/").wants(t, 200, shown)
	v.get(t, "/o/applications/").wants(t, 200, shown)

	v.follow(t, v.post(t, "/admin/resources/new/", "name", "Mail", "uri", mailURI, "scopes", "read",
		"token_format", "opaque", "introspectors", "\r\n"+id+"\r\n"))
	page := v.get(t, at("change", mailURI))
	page.wants(t, 200, shown+"</textarea>")
	v.follow(t, v.post(t, at("change", mailURI), "name", "Mail", "scopes", "read", "token_format", "opaque",
		"introspectors", id, "version", versionIn(t, page)))
	mail := s.resource(t, mailURI)
	if got := slices.Collect(mail.IntrospectorIDs()); !slices.Equal(got, []string{id}) {
		t.Errorf("introspectors are %q", got)
	}

	page = v.get(t, "/o/authorize/?"+url.Values{"response_type": {"code"}, "client_id": {id}, "redirect_uri": {callback},
		"scope": {"read"}, "resource": {mailURI}, "code_challenge_method": {"S256"},
		"code_challenge": {"E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"}}.Encode())
	page.wants(t, 200, "Ledger")
	if strings.Contains(page.body, "after you sign out") { // there are no logins without OpenID Connect
		t.Error(page.body)
	}
	ticket := regexp.MustCompile(`name="ticket" value="([^"]+)"`).FindStringSubmatch(page.body)
	got := v.post(t, "/o/consent/", "ticket", ticket[1], "decision", "approve")
	got.wants(t, 303)
	to, err := got.Location()
	if err != nil {
		t.Fatal(err)
	}
	got = ask(app, "/o/token/", url.Values{"grant_type": {policy.GrantCode}, "code": {to.Query().Get("code")},
		"redirect_uri": {callback}, "code_verifier": {"dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"}}) // RFC 7636 appendix B
	got.wants(t, 200, "access_token")
	token := regexp.MustCompile(`"access_token":"([^"]+)"`).FindStringSubmatch(got.body)[1]
	got = ask(app, "/o/introspect/", url.Values{"token": {token}})
	got.wants(t, 200, `"active":true`, `"client_id":"urn:my client, 100% `)
	ask(part, "/o/introspect/", url.Values{"token": {token}}).wants(t, 403, "unauthorized_client")
	v.get(t, "/account/").wants(t, 200, "Ledger")

	v.post(t, "/o/applications/"+app.Application.ID+"/delete/").wants(t, 303)
	if got := s.resource(t, mailURI).Introspectors; strings.Contains(got, "client") {
		t.Errorf("the deleted application still introspects: %q", got)
	}
}
