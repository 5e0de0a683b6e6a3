package mandate

import (
	"maps"
	"slices"
	"testing"
)

// TestSecuredNode uses openid-client and oauth4webapi of npm, with the security that profiles
// such as FAPI require.
func TestSecuredNode(t *testing.T) {
	onADatabase(t, func(t *testing.T, db database) {
		s := newSecuredServer(t, db)
		for name, run := range map[string]foreignClient{"openid-client": s.openidClient, "oauth4webapi": s.oauth4webapi} {
			t.Run(name, func(t *testing.T) {
				t.Run("DPoP", func(t *testing.T) { s.nodeDPoP(t, run, name) })
				t.Run("certificate", func(t *testing.T) { s.nodeCertificate(t, run, name) })
				t.Run("request object", func(t *testing.T) { s.nodeObject(t, run, name) })
				t.Run("FAPI", func(t *testing.T) {
					app, input := s.profiled(t, "fapi-"+name)
					s.boundFlow(t, run, app, input, map[string]any{"push": true, "object": true})
				})
				t.Run("signed response", func(t *testing.T) { s.nodeResponse(t, run, name) })
			})
		}
	})
}

// nodeDPoP pushes the request, authenticates by private_key_jwt, and has tokens that are bound to
// a key.
func (s *securedServer) nodeDPoP(t *testing.T, run foreignClient, name string) {
	app, input := s.keyed(t, "dpop-"+name, "--require-pushed-requests")
	proofs := s.boundFlow(t, run, app, input, map[string]any{"push": true})
	checkNonces(t, proofs, "POST /o/par/ 400", "POST /o/par/ 201", "POST /o/token/ 200", "POST /o/token/ 200",
		"GET /o/userinfo/ 200",
		// Both libraries keep one nonce for an origin. The sample API has nonces of its own, so the first
		// request after the change of endpoint is repeated.
		"GET /resource 401", "GET /resource 200")
	got := run(t, app, "client_credentials", input)
	// Now the client has the nonce of the API, and repeats a request for this server.
	if !slices.Equal(listed(got["requests"]), []any{"POST /o/token/ 400", "POST /o/token/ 200"}) ||
		got["token_type"] != "dpop" {
		t.Errorf("client credentials: %v", got)
	}
}

// nodeCertificate authenticates with a certificate at the endpoints of mtls_endpoint_aliases, and
// has tokens that are bound to it.
func (s *securedServer) nodeCertificate(t *testing.T, run foreignClient, name string) {
	app, input := s.certified(t, "tls-"+name)
	s.boundFlow(t, run, app, input, map[string]any{"push": true})
	s.boundFlow(t, run, app, input, nil)
	got := run(t, app, "client_credentials", input)
	access, _ := got["access_token"].(string)
	s.checkBoundTo(t, access, input)
	// Without the aliases, the client sends its certificate to a listener that does not ask for it.
	// These two libraries (6.8.9 and 3.8.8) name the error in the body of a response with
	// WWW-Authenticate only in the cause of theirs.
	plain := maps.Clone(input)
	delete(plain, "metadata")
	wantError(t, run(t, app, "client_credentials", plain), "OAUTH_WWW_AUTHENTICATE_CHALLENGE")
}

// nodeObject sends the request as a request object.
func (s *securedServer) nodeObject(t *testing.T, run foreignClient, name string) {
	app, input := s.keyed(t, "object-"+name)
	s.boundFlow(t, run, app, input, map[string]any{"object": true, "push": true})
	// OIDC Core §6.1: response_type and the scope openid can stand outside too. openid-client 6.8.9 puts
	// only client_id and request there (RFC 9101 §5).
	outside := map[string]any{"response_type": "code", "scope": "openid"}
	s.boundFlow(t, run, app, input, map[string]any{"object": true, "beside": outside})
	for _, scope := range []string{"openid read", "read"} {
		begun := run(t, app, "authorize", adding(input, "object", true, "redirect_uri", app.RedirectURI, "scope", scope))
		back := s.browser(t).authorize(t, begun["url"].(string), s.alice, "approve").Query()
		if back.Get("code") == "" {
			t.Errorf("scope %q, and nothing outside of the object: %v", scope, back)
		}
	}
}

// nodeResponse asks for a signed response to the authorization request (JARM), and takes no other.
func (s *securedServer) nodeResponse(t *testing.T, run foreignClient, name string) {
	for _, algorithm := range []string{"RS256", "ES256", "PS256"} {
		app, input := s.keyed(t, "response-"+algorithm+"-"+name, "--response-algorithm", algorithm)
		input["jarm"], input["metadata"] = true, map[string]any{"authorization_signed_response_alg": algorithm}
		s.boundFlow(t, run, app, input, map[string]any{"push": true, "object": true})
		begun := run(t, app, "authorize", adding(input, "redirect_uri", app.RedirectURI, "scope", "read"))
		back := s.browser(t).authorize(t, begun["url"].(string), s.alice, "approve")
		response := back.Query().Get("response")
		if response == "" || len(back.Query()) != 1 {
			t.Fatalf("%s: sent back with %v", algorithm, back)
		}
		claims := s.verified(t, app, algorithm, response)
		plain := *back
		plain.RawQuery = params("code", claims["code"].(string), "state", claims["state"].(string), "iss", s.Issuer).Encode()
		altered := *back
		altered.RawQuery = params("response", response[:len(response)-8]+"AAAAAAAA").Encode()
		for what, address := range map[string]string{"not signed": plain.String(), "altered": altered.String()} {
			got := run(t, app, "callback", adding(input, "url", address, "redirect_uri", app.RedirectURI, "code_verifier",
				begun["code_verifier"], "state", begun["state"]))
			if got["error"] == nil || got["access_token"] != nil {
				t.Errorf("%s, %s: the client took the response: %v", algorithm, what, got)
			}
		}
	}
}
