package mandate

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
)

var discoveryPaths = []string{"/.well-known/openid-configuration", "/.well-known/openid-configuration/o",
	"/o/.well-known/openid-configuration",
	"/o/.well-known/openid-configuration/", "/.well-known/oauth-authorization-server/o",
	"/o/.well-known/oauth-authorization-server",
	"/o//.well-known/openid-configuration", "//.well-known/openid-configuration",
	"/o//.well-known/oauth-authorization-server", "//.well-known/oauth-authorization-server"}

// OIDC Discovery §4, RFC 8414 §3: each form of the path returns the same document, for
// scripts of any site.
func TestOIDCDiscovery4Paths(t *testing.T) {
	s := openidServer(t, newSQLite(t))
	for _, path := range discoveryPaths {
		a := s.get(t, path, nobody)
		if a.Status != http.StatusOK || a.JSON(t)["issuer"] != s.Issuer ||
			a.Header.Get("Access-Control-Allow-Origin") != "*" {
			t.Errorf("%s: %d, %v, %q", path, a.Status, a.JSONOrNil()["issuer"], a.Header.Get("Access-Control-Allow-Origin"))
		}
	}
	// Only programs that append the path to an issuer double the slash.
	for _, path := range []string{"/o//token/", "//o/token/", "/o//.well-known/jwks.json",
		"/o///.well-known/openid-configuration", "//o/.well-known/openid-configuration"} {
		if a := s.get(t, path, nobody); a.Status != http.StatusNotFound {
			t.Errorf("%s: %d", path, a.Status)
		}
	}
	a := s.get(t, "/o/.well-known/jwks.json", nobody)
	if a.Header.Get("Access-Control-Allow-Origin") != "*" || a.Header.Get("Cache-Control") != "public, max-age=3600" {
		t.Errorf("the keys come with %v", a.Header)
	}
}

// OIDC Discovery §3: the server supports what the document lists.
func TestOIDCDiscovery3Metadata(t *testing.T) {
	onADatabase(t, func(t *testing.T, db database) {
		s := openidServer(t, db)
		alice := s.somebody(t, "alice")
		m := s.get(t, discoveryPaths[0], nobody).JSON(t)
		for name, path := range map[string]string{"authorization_endpoint": "/o/authorize/", "token_endpoint": "/o/token/",
			"userinfo_endpoint": "/o/userinfo/",
			"jwks_uri":          "/o/.well-known/jwks.json", "introspection_endpoint": "/o/introspect/",
			"revocation_endpoint": "/o/revoke_token/"} {
			if m[name] != s.BaseURL+path || s.get(t, path, nobody).Status == http.StatusNotFound {
				t.Errorf("%s is %v", name, m[name])
			}
		}
		for name, want := range map[string]any{
			"subject_types_supported": []any{"public", "pairwise"}, "response_types_supported": []any{"code"},
			"response_modes_supported":   []any{"query", "form_post", "jwt", "query.jwt", "form_post.jwt"},
			"claims_parameter_supported": true, "request_parameter_supported": true, "request_uri_parameter_supported": false,
			"claim_types_supported": []any{"normal"}, "display_values_supported": []any{"page", "popup", "touch", "wap"},
			"prompt_values_supported": []any{"none", "login", "consent", "select_account"},
			"scopes_supported": []any{"read", "write", "openid", "profile", "email", "address", "phone", "groups",
				"introspection", "offline_access"},
		} {
			checkEqual(t, name, m[name], want)
		}
		checkEqual(t, "UserInfo algorithms", m["userinfo_signing_alg_values_supported"],
			m["id_token_signing_alg_values_supported"])
		app := s.relyingParty(t)
		got := s.browser(t).signsIn(t, app, alice, "scope", "openid profile email address phone groups", "nonce", "n")
		claims := s.verified(t, app, "RS256", got.IDToken)
		// Each listed claim is in one of the two answers, because this person has all
		// claims.
		told := slices.Collect(maps.Keys(s.userInfo(t, got.AccessToken)))
		told = append(told, slices.Collect(maps.Keys(claims))...)
		for _, name := range m["claims_supported"].([]any) {
			if !slices.Contains(told, name.(string)) {
				t.Errorf("claims_supported names %v, which nobody is told", name)
			}
		}
		for _, name := range told {
			if !slices.Contains(m["claims_supported"].([]any), any(name)) {
				t.Errorf("claims_supported lacks %s", name)
			}
		}
		if !slices.Contains(m["acr_values_supported"].([]any), claims["acr"]) {
			t.Errorf("acr is %v", claims["acr"])
		}
		for _, algorithm := range m["id_token_signing_alg_values_supported"].([]any) {
			app := s.relyingParty(t, "--algorithm", algorithm.(string), "--no-hash-client-secret")
			s.verified(t, app, algorithm.(string), s.browser(t).signsIn(t, app, alice).IDToken)
		}
	})
}

// If OpenID Connect is off, none of its endpoints exists.
func TestOIDCOff(t *testing.T) {
	onADatabase(t, func(t *testing.T, db database) {
		s := startServer(t, options{database: db, provider: []string{openIDOff}})
		for _, path := range []string{discoveryPaths[0], discoveryPaths[1], discoveryPaths[2], "/o/.well-known/jwks.json",
			"/o/userinfo/"} {
			if a := s.get(t, path, nobody); a.Status != http.StatusNotFound {
				t.Errorf("%s answers %d", path, a.Status)
			}
		}
		for name := range s.get(t, discoveryPaths[4], nobody).JSON(t) {
			for _, word := range []string{"userinfo", "jwks", "subject", "id_token", "claim", "display", "prompt"} {
				if strings.Contains(name, word) {
					t.Errorf("the metadata has %s", name)
				}
			}
		}
		alice := s.person(t, "alice", "--birthdate", "1970")
		app := s.application(t, "--name", "shop", "--grant", "authorization_code", "--redirect-uri",
			"https://shop.example/cb")
		b := s.browser(t)
		address, verifier := s.authorizeURL(app, "nonce", "n", "prompt", "none", "max_age", "0", "claims", "no JSON")
		if got := s.redeem(t, app, b.code(t, address, alice), verifier); got.IDToken != "" {
			t.Error("there is an ID token")
		}
		b.authorize(t, first(s.authorizeURL(app, "scope", "openid")), alice, "approve")
		if got := b.Away.Query().Get("error"); got != "invalid_scope" {
			t.Errorf("the scope openid gives %q", got)
		}
		for _, path := range []string{"/o/applications/register/", "/o/applications/register/?kind=website"} {
			b.open(t, path)
			if b.shows("algorithm") || b.shows("pairwise") || strings.Contains(b.Body, "OpenID") {
				t.Errorf("%s has settings of OpenID Connect", path)
			}
		}
	})
}
