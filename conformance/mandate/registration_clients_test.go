package mandate

import (
	"strings"
	"testing"
)

// What common clients send when they register, and what they need in the answer. Each
// then gets tokens with what it sends.
var commonClients = []struct {
	name     string
	metadata string
	redirect string // in its authorization request
	resource string // in its authorization and token requests
	want     map[string]string
}{
	// It puts the URL of the resource through a library that adds a slash.
	{"Claude Code",
		`{"client_name":"Claude Code","redirect_uris":["http://localhost:53127/callback"],"grant_types":["authorization_code","refresh_token"],
		"response_types":["code"],"token_endpoint_auth_method":"none","client_uri":"","logo_uri":""}`,
		"http://localhost:61999/callback", toolsAPI + "/",
		map[string]string{"redirect_uris": "http://localhost:53127/callback",
			"grant_types": "authorization_code refresh_token", "token_endpoint_auth_method": "none",
			"application_type": "native"}},
	{"claude.ai",
		`{"client_name":"Claude","redirect_uris":["https://claude.ai/api/mcp/auth_callback"],"grant_types":["authorization_code","refresh_token"],
		"response_types":["code"],"token_endpoint_auth_method":"client_secret_post","scope":"read write offline_access claudeai"}`,
		"https://claude.ai/api/mcp/auth_callback", toolsAPI,
		map[string]string{"redirect_uris": "https://claude.ai/api/mcp/auth_callback", "token_endpoint_auth_method": "none",
			"scope": "read write openid offline_access", "application_type": "web"}},
	{"ChatGPT",
		`{"client_name":"ChatGPT","redirect_uris":["https://chatgpt.com/connector/oauth/AbC123"],"token_endpoint_auth_method":"none",
		"grant_types":["authorization_code","refresh_token"],"response_types":["code"]}`,
		"https://chatgpt.com/connector/oauth/AbC123", toolsAPI,
		map[string]string{"token_endpoint_auth_method": "none"}},
	{"VS Code",
		`{"client_name":"Visual Studio Code","client_uri":"https://code.visualstudio.com","grant_types":["authorization_code","refresh_token","urn:ietf:params:oauth:grant-type:device_code"],
		"response_types":["code"],"redirect_uris":["https://insiders.vscode.dev/redirect","https://vscode.dev/redirect","http://127.0.0.1/","http://127.0.0.1:33418/"],
		"token_endpoint_auth_method":"none","application_type":"native"}`,
		"http://127.0.0.1:49152/", toolsAPI,
		map[string]string{"redirect_uris": "https://insiders.vscode.dev/redirect https://vscode.dev/redirect " +
			"http://127.0.0.1/ http://127.0.0.1:33418/", "client_uri": "https://code.visualstudio.com",
			"application_type": "web"}},
	{"Cursor",
		`{"client_name":"Cursor","redirect_uris":["cursor://anysphere.cursor-mcp/oauth/callback","https://www.cursor.com/agents/mcp/oauth/callback","http://localhost:8787/callback"],
		"grant_types":["authorization_code","refresh_token"],"response_types":["code"],"token_endpoint_auth_method":"none"}`,
		"cursor://anysphere.cursor-mcp/oauth/callback", toolsAPI,
		map[string]string{"redirect_uris": "cursor://anysphere.cursor-mcp/oauth/callback " +
			"https://www.cursor.com/agents/mcp/oauth/callback http://localhost:8787/callback"}},
	{"Codex",
		`{"client_name":"Codex","redirect_uris":["http://127.0.0.1:1455/auth/callback"],"grant_types":["authorization_code","refresh_token"],"response_types":["code"],"token_endpoint_auth_method":"none"}`,
		"http://127.0.0.1:1456/auth/callback", "",
		map[string]string{"application_type": "native"}},
	{"Gemini CLI",
		`{"client_name":"Gemini CLI MCP Client","redirect_uris":["http://localhost:7777/oauth/callback"],"grant_types":["authorization_code","refresh_token"],
		"response_types":["code"],"token_endpoint_auth_method":"none","code_challenge_method":["S256"],"scope":""}`,
		"http://localhost:7777/oauth/callback", toolsAPI,
		map[string]string{"scope": "read write openid offline_access"}},
	{"one bad redirect URI among good ones",
		`{"redirect_uris":["http://evil.example/cb","https://good.example/cb","unknown-scheme://x"]}`,
		"https://good.example/cb", "",
		map[string]string{"redirect_uris": "https://good.example/cb", "client_name": "An application at good.example",
			"token_endpoint_auth_method": "none"}},
}

const toolsAPI = "https://tool.example/mcp"

func TestRegistrationOfCommonClients(t *testing.T) {
	onADatabase(t, func(t *testing.T, db database) {
		s := startServer(t, options{database: db,
			provider: append([]string{"SCOPES: {read: Read, write: Write, admin: Administer, introspection: Introspect}",
				"DEFAULT_SCOPES: [read, write]"}, openClients...)})
		asker := s.application(t, "--name", "Tools", "--grant", "client_credentials", "--may-introspect")
		s.mustCLI(t, "", "resource", "add", toolsAPI, "--name", "Tools", "--introspector", asker.ClientID)
		alice := s.person(t, "alice")
		b := s.signIn(t, alice, "/account/")
		for _, c := range commonClients {
			t.Run(c.name, func(t *testing.T) {
				got := s.registers(t, nobody, c.metadata)
				for name, want := range c.want {
					if text := textOf(got, name) + listOf(got, name); text != want {
						t.Errorf("%s is %q, want %q", name, text, want)
					}
				}
				// Some clients fail without these, or with an empty string.
				if textOf(got, "registration_client_uri") == "" ||
					!strings.HasPrefix(textOf(got, "registration_access_token"), "mrg_") || got["client_id_issued_at"] == nil {
					t.Errorf("the answer is not complete: %v", got)
				}
				for name, value := range got {
					if value == "" || value == nil {
						t.Errorf("%s is empty", name)
					}
				}
				if got["client_secret"] != nil || got["client_secret_expires_at"] != nil {
					t.Error("a public client got a secret")
				}
				app := asApplication(got, c.redirect)
				var aimed []string
				var want any // a token that names no resource has no audience
				if c.resource != "" {
					aimed, want = []string{"resource", c.resource}, toolsAPI
				}
				address, verifier := s.authorizeURL(app, aimed...)
				form := params("grant_type", "authorization_code", "code", b.code(t, address, alice), "redirect_uri",
					app.RedirectURI, "code_verifier", verifier)
				issued := s.mustToken(t, app.auth(), with(form, aimed...))
				next := s.mustToken(t, app.auth(), with(refreshForm(issued.RefreshToken), aimed...))
				if issued.Scope != "read write" {
					t.Errorf("scope %q", issued.Scope)
				}
				if aud := s.introspect(t, asker.auth(), next.AccessToken)["aud"]; aud != want {
					t.Errorf("aud %v, want %v", aud, want)
				}
				// It is asked for each time: any program can have this client id.
				again, _ := s.authorizeURL(app)
				b.open(t, again)
				if !b.shows("decision") {
					t.Error("the person is not asked again")
				}
			})
		}
	})
}
