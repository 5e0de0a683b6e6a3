package mandate

import (
	"slices"
	"testing"
)

// An application that runs in a browser, on a site of its own, knows only the URL of an
// API. It finds everything else with fetch: the metadata of the API (RFC 9728), and of the
// server (RFC 8414). It gets tokens, uses, refreshes and revokes them (RFC 10017 §6.3).
// What people see, and what only servers call, it cannot read.
func TestBrowserApplication(t *testing.T) {
	browser := chromium(t)
	s := openidServer(t, newSQLite(t))
	alice := s.person(t, "alice")
	client := newSite(t, "https", "spa.example")
	app := s.application(t, "--name", "SPA", "--client-type", "public", "--grant", "authorization_code", "--redirect-uri",
		client.URL+"/back")
	orders, _ := upstream(t)
	asker := s.application(t, "--name", "Orders", "--grant", "client_credentials")
	g := s.guard(t, orders.URL,
		[]string{"{PATH: /orders, METHODS: [GET], SCOPES: [read]}", "{PATH: /orders, METHODS: [PUT], SCOPES: [read, write]}"},
		"RESOURCE_SERVER_INTROSPECTION_URL: "+quote(s.URL+"/o/introspect/"), "RESOURCE_SERVER_INTROSPECTION_CREDENTIALS: ["+
			quote(asker.ClientID)+", "+quote(asker.ClientSecret)+"]",
		"RESOURCE_SERVER_ISSUER: "+quote(s.Issuer), "RESOURCE_SERVER_AUDIENCE: "+ownURL+"/orders",
		"RESOURCE_SERVER_ALLOWED_ORIGINS: ["+quote(client.URL)+"]")
	api := g.URL + "/orders"
	s.mustCLI(t, "", "resource", "add", api, "--name", "Orders API", "--scope", "read", "--scope", "write",
		"--introspector", asker.ClientID)

	b := s.window(t, browser, client.Host, g.URL[len("http://"):])
	b.open(client.URL + "/back")
	type found struct {
		Status                      int
		Resource, Scope, Authorizer string
	}
	got := evaluate[found](b, `(async () => {
		const version = {headers: {"MCP-Protocol-Version": "2026-07-28"}};
		const refused = await fetch(`+quote(api)+
		`, {method: "PUT", headers: {"Mcp-Method": "tools/list", "Mcp-Session-Id": "1"}});
		const challenge = refused.headers.get("WWW-Authenticate");
		const about = await (await fetch(challenge.match(/resource_metadata="([^"]+)"/)[1], version)).json();
		const issuer = new URL(about.authorization_servers[0]);
		const server = await (await fetch(issuer.origin + "/.well-known/oauth-authorization-server" + issuer.pathname, version)).json();
		return {Status: refused.status, Resource: about.resource, Scope: challenge.match(/scope="([^"]+)"/)[1], Authorizer: server.authorization_endpoint};
	})()`)
	if want := (found{401, api, "read write", s.URL + "/o/authorize/"}); got != want {
		t.Fatalf("discovery gives %+v, want %+v", got, want)
	}
	b.complaints() // the browser reports the 401

	address, verifier := s.authorizeURL(app, "scope", "openid "+got.Scope, "resource", api)
	b.open(address + "&resource=" + s.URL)
	b.logIn(alice)
	b.leave(b.click(b.find("button", "Allow")))
	statuses := evaluate[[]int](b, `(async () => {
		const statuses = [];
		const call = async (address, init) => { const r = await fetch(address, init); statuses.push(r.status); return r; };
		const form = (members) => ({method: "POST", body: new URLSearchParams({client_id: `+quote(app.ClientID)+
		`, ...members})});
		const bearer = (token) => ({Authorization: "Bearer " + token});
		const first = await (await call("`+s.URL+
		`/o/token/", form({grant_type: "authorization_code", code: new URL(location).searchParams.get("code"),
			redirect_uri: `+quote(app.RedirectURI)+`, code_verifier: `+quote(verifier)+`, resource: `+quote(api)+`}))).json();
		await call(`+quote(api)+
		`, {method: "PUT", headers: {...bearer(first.access_token), "Mcp-Session-Id": "1"}, body: "{}"});
		const next = await (await call("`+s.URL+
		`/o/token/", form({grant_type: "refresh_token", refresh_token: first.refresh_token, resource: "`+s.URL+`"}))).json();
		await call("`+s.URL+`/o/userinfo/", {headers: bearer(next.access_token)});
		await call(`+quote(api)+`, {headers: bearer(next.access_token)});
		await call("`+s.URL+`/o/.well-known/jwks.json");
		await call("`+s.URL+`/o/revoke_token/", form({token: next.refresh_token}));
		await call("`+s.URL+`/o/token/", form({grant_type: "refresh_token", refresh_token: next.refresh_token}));
		return statuses;
	})()`)
	if want := []int{200, 200, 200, 200, 401, 200, 200, 400}; !slices.Equal(statuses, want) {
		t.Errorf("the responses have the status %v, want %v", statuses, want)
	}
	// Nothing else can be read, and nothing of the API by an origin that is not allowed.
	other := newSite(t, "https", "other.example")
	b.complaints()
	unreadable := `(async (addresses) => {
		const read = [];
		for (const [address, init] of addresses) {
			try { await fetch(address, init); read.push(address); } catch { /* the browser hides the response */ }
		}
		return read;
	})`
	for at, script := range map[string]string{
		client.URL + "/back": `([["` + s.URL + `/o/introspect/", {method: "POST", body: "token=x"}], ["` + address +
			`"], ["` + s.URL + `/login/"], ["` + s.URL + `/account/", {credentials: "include"}],
			["` + s.URL + `/o/userinfo/", {credentials: "include"}], ["` + s.URL + `/o/logout/"]])`,
		other.URL + "/back": `([["` + api + `"], ["` + api + `", {method: "PUT"}]])`,
	} {
		window := s.window(t, browser, client.Host, other.Host, g.URL[len("http://"):])
		window.open(at)
		window.provokes = true // some errors arrive after the result of the script
		if read := evaluate[[]string](window, unreadable+script); len(read) > 0 {
			t.Errorf("a script at %s reads %q", at, read)
		}
	}
}
