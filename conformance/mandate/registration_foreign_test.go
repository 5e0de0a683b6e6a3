package mandate

import (
	"testing"
)

// TestRegistrationNode registers clients with openid-client of npm, and uses them.
func TestRegistrationNode(t *testing.T) {
	ownProcesses(t)
	onADatabase(t, func(t *testing.T, db database) {
		s := startServer(t, options{database: db,
			provider: append([]string{"SCOPES: {read: Read, write: Write, openid: Sign in, introspection: Introspect}",
				"DEFAULT_SCOPES: [read, write]",
				"OIDC_ENABLED: true", "OPEN_ACCESS_TOKEN_EXPIRE_SECONDS: 36000"}, openClients...)})
		alice, web := s.person(t, "alice"), s.whole(t, "web")
		b := s.signIn(t, alice, "/account/")
		register := func(t *testing.T, metadata member, token string) application {
			t.Helper()
			input := map[string]any{"register": metadata, "oidc": true}
			if token != "" {
				input["initial_access_token"] = token
			}
			got, _ := s.openidClient(t, web, "register", input)["client"].(map[string]any)
			uri, _ := metadata["redirect_uris"].([]string)
			app := asApplication(got, uri[0])
			if app.ClientID == "" {
				t.Fatalf("openid-client did not register: %v", got)
			}
			s.secret(app.ClientSecret)
			s.secret(textOf(got, "registration_access_token"))
			return app
		}
		t.Run("public", func(t *testing.T) {
			app := register(t, member{"client_name": "Node", "redirect_uris": []string{"https://node.example/cb"},
				"token_endpoint_auth_method": "none"}, "")
			_, refresh := s.foreignFlow(t, s.openidClient, b, app, alice, "none")
			s.granted(t, s.openidClient(t, app, "refresh", map[string]any{"auth": "none", "refresh_token": refresh}),
				"read", true)
		})
		t.Run("confidential", func(t *testing.T) {
			token := s.initialToken(t, "--may", "authorization_code,client_credentials")
			app := register(t, member{"client_name": "Node server", "redirect_uris": []string{"https://server.example/cb"},
				"token_endpoint_auth_method": "client_secret_post",
				"grant_types":                []string{"authorization_code", "client_credentials"}}, token)
			s.foreignFlow(t, s.openidClient, b, app, alice, "post")
			s.granted(t, s.openidClient(t, app, "client_credentials", map[string]any{"auth": "post"}), "read write", false)
			wantError(t, s.openidClient(t, web, "register",
				map[string]any{"register": member{"redirect_uris": []string{"https://server.example/2"}},
					"initial_access_token": token}), "invalid_token", "OAUTH_WWW_AUTHENTICATE_CHALLENGE")
		})
	})
}
