package mandate

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// A client that registers itself with a private key gets no secret, and must use the key.
func TestAssertionRegistration(t *testing.T) {
	t.Parallel()
	s := startServer(t, options{provider: openClients})
	alice, keys := s.person(t, "alice"), newStatementIssuer(t, "tool")
	var set member
	err := json.Unmarshal([]byte(keys.keySet(t)), &set)
	if err != nil {
		t.Fatal(err)
	}
	uri := "https://tool.example/cb"
	asked := func(more member) member {
		all := member{"client_name": "Tool", "redirect_uris": []string{uri}, "token_endpoint_auth_method": "private_key_jwt"}
		for name, value := range more {
			all[name] = value
		}
		return all
	}
	made := s.registration(t, nobody, asked(member{"jwks": set, "token_endpoint_auth_signing_alg": "ES256"}))
	got := made.JSON(t)
	if made.Status != http.StatusCreated || textOf(got, "token_endpoint_auth_method") != "private_key_jwt" ||
		textOf(got, "token_endpoint_auth_signing_alg") != "ES256" || got["jwks"] == nil || got["client_secret"] != nil {
		t.Fatalf("%d %s", made.Status, made.Body)
	}
	app := application{ClientID: textOf(got, "client_id"), RedirectURI: uri}
	b := s.browser(t)
	address, verifier := s.authorizeURL(app)
	code := params("grant_type", "authorization_code", "code", b.code(t, address, alice), "redirect_uri", uri,
		"code_verifier", verifier)
	refused, answer := s.token(t, nobody, with(code, "client_id", app.ClientID))
	if answer.Status != http.StatusUnauthorized || refused.Error != "invalid_client" {
		t.Errorf("without an assertion: %d %s", answer.Status, answer.Body)
	}
	pair := s.mustToken(t, asserting(keys.sign(t, s.assertionClaims(app.ClientID, nil), nil)), code)
	s.mustToken(t, asserting(keys.sign(t, s.assertionClaims(app.ClientID, nil), nil)),
		params("grant_type", "refresh_token", "refresh_token", pair.RefreshToken))

	key := func(change func(member)) member {
		var one member
		text, _ := json.Marshal(set["keys"].([]any)[0])
		_ = json.Unmarshal(text, &one)
		change(one)
		return member{"keys": []member{one}}
	}
	for what, more := range map[string]member{
		"no keys":   {},
		"both":      {"jwks": set, "jwks_uri": "https://tool.example/keys"},
		"private":   {"jwks": key(func(k member) { k["d"] = "AAAA" })},
		"symmetric": {"jwks": member{"keys": []member{{"kty": "oct", "k": strings.Repeat("A", 43)}}}},
		"weak": {
			"jwks": member{"keys": []member{{"kty": "RSA", "n": strings.Repeat("A", 10) + strings.Repeat("z", 150),
				"e": "AQAB"}}}},
		"the same kid":    {"jwks": member{"keys": append(set["keys"].([]any), set["keys"].([]any)[0])}},
		"for encryption":  {"jwks": key(func(k member) { k["use"] = "enc" })},
		"another curve":   {"jwks": member{"keys": []member{{"kty": "EC", "crv": "P-384", "x": "AA", "y": "AA"}}}},
		"http":            {"jwks_uri": "http://tool.example/keys"},
		"this machine":    {"jwks_uri": "https://127.0.0.1/keys"},
		"HS256":           {"jwks": set, "token_endpoint_auth_signing_alg": "HS256"},
		"none":            {"jwks": set, "token_endpoint_auth_signing_alg": "none"},
		"unknown methods": {"jwks": set, "token_endpoint_auth_method": "tls_client_auth"},
	} {
		if err := s.registration(t, nobody, asked(more)).refused(400, "invalid_client_metadata"); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// CIMD-02 §8.2: a client whose document has private_key_jwt must use it.
func TestAssertionDocument(t *testing.T) {
	t.Parallel()
	h := newDocumentHost(t)
	s := startServer(t, h.options(options{}))
	alice, keys := s.person(t, "alice"), newStatementIssuer(t, "agent")
	app := h.client("/keys", agentURI,
		map[string]any{"token_endpoint_auth_method": "private_key_jwt", "jwks": json.RawMessage(keys.keySet(t))})
	address, verifier := s.authorizeURL(app)
	// RFC 9126 §2: nobody pushes in the name of a client that authenticates.
	push := params("client_id", app.ClientID, "response_type", "code", "redirect_uri", app.RedirectURI, "code_challenge",
		strings.Repeat("A", 43), "code_challenge_method", "S256")
	if err := s.post(t, "/o/par/", nobody, push).refused(http.StatusUnauthorized, "invalid_client"); err != nil {
		t.Errorf("a push without an assertion: %v", err)
	}
	code := params("grant_type", "authorization_code", "code", s.browser(t).code(t, address, alice), "redirect_uri",
		app.RedirectURI, "code_verifier", verifier)
	refused, answer := s.token(t, nobody, with(code, "client_id", app.ClientID))
	if answer.Status != http.StatusUnauthorized || refused.Error != "invalid_client" {
		t.Errorf("without an assertion: %d %s", answer.Status, answer.Body)
	}
	s.mustToken(t, asserting(keys.sign(t, s.assertionClaims(app.ClientID, nil), nil)), code)
}

// The page of an application changes its method and its keys, and shows a mistake at its field.
func TestAssertionPage(t *testing.T) {
	t.Parallel()
	s := startServer(t, options{})
	root, keys := s.person(t, "root", "--admin"), newStatementIssuer(t, "page")
	app := s.application(t, "--name", "robot", "--client-id", "robot", "--grant", "client_credentials")
	b := s.signIn(t, root, "/o/applications/")
	b.click(t, "robot")
	at := b.URL.Path
	for _, c := range []struct {
		field, begins string
		wrong         url.Values
	}{
		{"hash_client_secret", "HS256 signs with the client secret", params("auth_method", "client_secret_jwt")},
		{"auth_method", "The method ", params("auth_method", "secret_handshake")},
		{"auth_method", "A confidential application authenticates", params("auth_method", "none")},
		{"auth_algorithm", "The algorithm ",
			params("auth_method", "private_key_jwt", "auth_algorithm", "HS256", "jwks", keys.keySet(t))},
		{"jwks", "private_key_jwt needs the public keys", params("auth_method", "private_key_jwt")},
		{"jwks", "This is a private key",
			params("auth_method", "private_key_jwt", "jwks", `{"keys":[{"kty":"oct","k":"AAAA"}]}`)},
		{"jwks_uri", "The address must begin with https://",
			params("auth_method", "private_key_jwt", "jwks_uri", "http://keys.example/")},
	} {
		b.open(t, at+"update/")
		b.submit(t, "Save changes", c.wrong)
		b.wantMistake(t, c.field, c.begins)
	}
	b.open(t, at+"update/")
	b.submit(t, "Save changes", params("auth_method", "private_key_jwt", "jwks", keys.keySet(t)))
	if b.Status != http.StatusOK || !strings.Contains(b.Body, "private_key_jwt") ||
		!strings.Contains(b.Body, ">EdDSA</code>") {
		t.Errorf("the page: %d %s", b.Status, b.Body)
	}
	s.mustToken(t, asserting(keys.sign(t, s.assertionClaims(app.ClientID, nil), nil)), forItself)
	s.refusedAssertion(t, "the old secret", app.auth())
	// Another change leaves the keys as they are.
	b.open(t, at+"update/")
	b.submit(t, "Save changes", params("name", "robot 2"))
	s.mustToken(t, asserting(keys.sign(t, s.assertionClaims(app.ClientID, nil), nil)), forItself)
}

// RFC 7517 §4.2, §4.3: use and key_ops are optional, so a key without them verifies assertions.
func TestAssertionKeysWithoutUse(t *testing.T) {
	t.Parallel()
	s := startServer(t, options{})
	keys := newStatementIssuer(t, "plain")
	for what, more := range map[string]member{"neither": nil, "key_ops": {"key_ops": []string{"verify"}}} {
		var set struct {
			Keys []member `json:"keys"`
		}
		err := json.Unmarshal([]byte(keys.keySet(t)), &set)
		if err != nil {
			t.Fatal(err)
		}
		for _, key := range set.Keys {
			delete(key, "use")
			maps.Copy(key, more)
		}
		a := s.application(t, "--name", what, "--grant", "client_credentials", "--auth-method", "private_key_jwt", "--jwks",
			keysFile(t, setOf(t, set.Keys...)))
		for _, kid := range []string{"ES256", "PS256"} {
			s.mustToken(t, asserting(keys.sign(t, s.assertionClaims(a.ClientID, nil), member{"alg": kid, "kid": kid})),
				forItself)
		}
	}
}
