package mandate

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
)

// The FAPI profiles of an application: what they switch on, and what they refuse.

// fapiClient returns the flags of an application with a key that can have a profile.
func fapiClient(t testing.TB, keys *statementIssuer, more ...string) []string {
	t.Helper()
	return append([]string{"--name", "Bank", "--grant", "authorization_code", "--grant", "client_credentials",
		"--redirect-uri", "https://bank.example/back",
		"--auth-method", "private_key_jwt", "--jwks", keysFile(t, keys.keySet(t))}, more...)
}

func TestProfile(t *testing.T) {
	onADatabase(t, func(t *testing.T, db database) {
		s := startServer(t, options{database: db,
			provider: []string{"OIDC_ENABLED: true", "REGISTRATION_WITH_TOKEN: true", "AUTHORIZATION_CODE_EXPIRE_SECONDS: 120",
				openidScopes}})
		keys := newStatementIssuer(t, "bank")
		show := func(id string) map[string]any {
			t.Helper()
			var shown map[string]any
			err := json.Unmarshal([]byte(s.mustCLI(t, "", "application", "show", id, "--json")), &shown)
			if err != nil {
				t.Fatal(err)
			}
			return shown
		}
		for profile, want := range map[string]member{
			"fapi2": {"require_pushed_requests": true, "sender_constraint": "dpop", "algorithm": "PS256",
				"require_signed_request_object": false},
			"fapi2-message-signing": {"require_pushed_requests": true, "sender_constraint": "dpop", "algorithm": "PS256",
				"require_signed_request_object": true, "response_algorithm": "PS256"},
		} {
			app := s.application(t, fapiClient(t, keys, "--profile", profile)...)
			got := show(app.ClientID)
			for name, value := range want {
				checkEqual(t, profile+" "+name, got[name], value)
			}
			// An application that exists gets it by one property.
			later := s.application(t, fapiClient(t, keys)...)
			s.mustCLI(t, "", "application", "update", later.ClientID, "--profile", profile)
			checkEqual(t, "the profile of a later change", show(later.ClientID)["profile"], any(profile))
			checkEqual(t, "it requires pushed requests", show(later.ClientID)["require_pushed_requests"], any(true))
		}
		t.Run("contradictions", func(t *testing.T) {
			for field, args := range map[string][]string{
				"auth_method":                  {"--auth-method", "client_secret_basic"},
				"auth_algorithm":               {"--auth-algorithm", "RS256"},
				"jwks":                         {"--jwks", keysFile(t, keys.keySetFor(t, "RS256"))},
				"client_type":                  {"--client-type", "public"},
				"grant_type":                   {"--grant", "password"},
				"grant_type ":                  {"--grant", deviceGrant},
				"assertion_audience_endpoints": {"--assertion-audience-endpoints"},
				"redirect_uris":                {"--redirect-uri", "http://bank.example/back"},
				"userinfo_algorithm":           {"--userinfo-algorithm", "RS256"},
				"introspection_algorithm":      {"--introspection-algorithm", "RS256"},
				"object_algorithm":             {"--request-object-algorithm", "RS256"},
				"response_algorithm":           {"--response-algorithm", "RS256"},
				"response_modes":               {"--response-mode", "query"},
				"response_modes ":              {"--response-mode", "__all__"},
				"algorithm":                    {"--algorithm", "RS256"},
				"require_pushed":               {"--require-pushed-requests=false"},
				"require_signed":               {"--require-signed-request-object=false"},
				"sender_constraint":            {"--sender-constraint", ""},
				"profile":                      {"--profile", "fapi3"},
			} {
				r := s.cli(t, "", append([]string{"application", "add"},
					fapiClient(t, keys, append([]string{"--profile", "fapi2-message-signing"}, args...)...)...)...)
				if r.code == 0 || !strings.Contains(r.stderr, "mandate: "+strings.TrimSuffix(args[0], "=false")+":") {
					t.Errorf("%s: %d %s", field, r.code, r.stderr)
				}
			}
		})
		t.Run("members", func(t *testing.T) { s.contradictingMembers(t, keys) })
		t.Run("requests", func(t *testing.T) { s.fapiRequests(t) })
	})
}

// contradictingMembers checks that a registration cannot send a member that contradicts its profile.
func (s *server) contradictingMembers(t *testing.T, keys *statementIssuer) {
	initial := s.initialToken(t, "--uses", "50", "--may", "authorization_code")
	for name, value := range (member{"require_pushed_authorization_requests": false, "dpop_bound_access_tokens": false,
		"require_signed_request_object": false,
		"id_token_signed_response_alg":  "RS256", "authorization_signed_response_alg": "RS256",
		"introspection_signed_response_alg": "RS256",
		"response_modes":                    []string{"query"}, "tls_client_certificate_bound_access_tokens": false}) {
		metadata := member{"redirect_uris": []string{"https://bank.example/back"}, "profile": "fapi2-message-signing",
			"token_endpoint_auth_method": "private_key_jwt", "jwks": json.RawMessage(keys.keySet(t)), name: value}
		a := s.send(t, http.MethodPost, s.Issuer+"/register/", bearer(initial), metadata)
		if name == "tls_client_certificate_bound_access_tokens" { // the tokens are bound to a key
			if a.Status != http.StatusCreated {
				t.Errorf("%s: %d %s", name, a.Status, a.Body)
			}
			continue
		}
		err := a.refused(http.StatusBadRequest, "invalid_client_metadata")
		if err != nil || !strings.Contains(textOf(a.JSON(t), "error_description"), name+" is wrong") {
			t.Errorf("%s: %v %s", name, err, a.Body)
		}
	}
}

// fapiRequests checks what the server requires of the requests of an application with a profile.
func (s *server) fapiRequests(t *testing.T) {
	keys := newStatementIssuer(t, "bank")
	a := keyHolder{s.application(t, fapiClient(t, keys, "--profile", "fapi2")...), keys}
	h := newHolder(t)
	as := func(claims, header member) auth { return h.proving(t, asserting(s.assert(t, a, claims, header))) }
	good, _ := s.token(t, as(nil, nil), forItself)
	checkEqual(t, "client credentials", good.TokenType, "DPoP")
	for what, one := range map[string][2]member{
		"audience in a list":   {{"aud": []string{s.Issuer}}, nil},
		"the token endpoint":   {{"aud": s.Issuer + "/token/"}, nil},
		"RS256":                {nil, {"alg": "RS256", "kid": "RS256"}},
		"iat 70 seconds ahead": {{"iat": s.assertionClaims("", nil)["iat"].(int64) + 70}, nil},
	} {
		_, answer := s.token(t, as(one[0], one[1]), forItself)
		if err := answer.refused(http.StatusUnauthorized, "invalid_client"); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	_, answer := s.token(t, asserting(s.assert(t, a, nil, nil)), forItself)
	if err := answer.refused(http.StatusBadRequest, "invalid_dpop_proof"); err != nil {
		t.Errorf("no proof: %v", err)
	}
	form, verifier := s.requestFor(t, a.application, "scope", "openid read")
	for what, wrong := range map[string]string{"redirect_uri": "", "code_challenge": ""} {
		answer := s.post(t, "/o/par/", as(nil, nil), with(form, what, wrong))
		if err := answer.refused(http.StatusBadRequest, "invalid_request"); err != nil {
			t.Errorf("a pushed request without %s: %v", what, err)
		}
	}
	answer = s.post(t, "/o/par/", as(nil, nil), form)
	if answer.Status != http.StatusCreated {
		t.Fatalf("push: %d %s", answer.Status, answer.Body)
	}
	alice := s.somebody(t, "alice")
	b := s.browser(t)
	code := b.code(t, s.opening(a.application, answer.JSON(t)["request_uri"].(string)), alice)
	got := s.mustToken(t, as(nil, nil), grantForm(a.application, code, verifier))
	checkEqual(t, "algorithm of the ID token", s.verified(t, a.application, "PS256", got.IDToken)["iss"], any(s.Issuer))
	// FAPI 2.0 Security Profile §5.3.2.1: refresh tokens are not rotated, and need a proof.
	next := s.mustToken(t, as(nil, nil), refreshForm(got.RefreshToken))
	checkEqual(t, "the refresh token", next.RefreshToken, got.RefreshToken)
	_, answer = s.token(t, asserting(s.assert(t, a, nil, nil)), refreshForm(got.RefreshToken))
	if err := answer.refused(http.StatusBadRequest, "invalid_dpop_proof"); err != nil {
		t.Errorf("refresh without a proof: %v", err)
	}
	// A request that was not pushed gets its error at the redirect URI.
	address, _ := s.authorizeURL(a.application)
	b.open(t, address)
	if b.Away == nil || b.Away.Query().Get("error") != "invalid_request" {
		t.Errorf("without a push: %d, sent to %v: %.1500s", b.Status, b.Away, b.Body)
	}
}

// FAPI 2.0 Security Profile §5.3.2.1: only sender-constrained tokens. Those from before the profile
// was switched on are not.
func TestProfileEndsOlderTokens(t *testing.T) {
	onADatabase(t, func(t *testing.T, db database) {
		s := startServer(t, options{database: db})
		a, asker := s.keyHolder(t, "robot"), s.introspector(t)
		old := s.mustToken(t, asserting(s.assert(t, a, nil, nil)), forItself).AccessToken
		s.mustCLI(t, "", "application", "update", a.ClientID, "--profile", "fapi2")
		waitFor(t, "the token from before has ended", func() bool {
			return s.introspect(t, asker.auth(), old)["active"] == false
		})
		h := newHolder(t)
		bound := s.mustToken(t, h.proving(t, asserting(s.assert(t, a, nil, nil))), forItself).AccessToken
		s.mustCLI(t, "", "application", "update", a.ClientID, "--profile", "fapi2", "--auth-algorithm", "ES256")
		if s.introspect(t, asker.auth(), bound)["active"] != true {
			t.Error("a later change ends the tokens")
		}
	})
}
