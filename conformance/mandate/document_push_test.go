package mandate

import (
	"encoding/json"
	"net/http"
	"testing"
)

// CIMD-02 §8.2, RFC 9126 §2: a client whose document has a key pushes its first request too, before
// anybody has approved it. Its document may require pushed requests, so it cannot come otherwise.
func TestDocumentPushesItsFirstRequest(t *testing.T) {
	onADatabase(t, func(t *testing.T, db database) {
		h := newDocumentHost(t)
		s := startServer(t, h.options(options{database: db}))
		keys, others := newStatementIssuer(t, "agent"), newStatementIssuer(t, "agent")
		document := map[string]any{"token_endpoint_auth_method": "private_key_jwt", "jwks": json.RawMessage(keys.keySet(t)),
			"require_pushed_authorization_requests": true}
		app, other := h.client("/one", agentURI, document), h.client("/other", agentURI, document)
		form, verifier := s.requestFor(t, app)
		claims := s.assertionClaims(app.ClientID, nil)
		for what, as := range map[string]auth{
			"no assertion":       nobody,
			"the key of another": asserting(others.sign(t, claims, nil)),
			"no such document":   asserting(keys.sign(t, s.assertionClaims(h.URL+"/none", nil), nil)),
		} {
			sent := form
			if what == "no such document" {
				sent = with(form, "client_id", h.URL+"/none")
			}
			if err := s.post(t, "/o/par/", as, sent).refused(http.StatusUnauthorized, "invalid_client"); err != nil {
				t.Errorf("%s: %v", what, err)
			}
		}
		// RFC 7523 §3: a jti works once, also after the approval. That of one client says nothing
		// about that of another.
		assertion := keys.sign(t, claims, nil)
		pushed := s.post(t, "/o/par/", asserting(assertion), form)
		if pushed.Status != http.StatusCreated {
			t.Fatalf("%d %s", pushed.Status, pushed.Body)
		}
		claims["iss"], claims["sub"] = other.ClientID, other.ClientID
		second, _ := s.requestFor(t, other)
		if a := s.post(t, "/o/par/", asserting(keys.sign(t, claims, nil)), second); a.Status != http.StatusCreated {
			t.Errorf("the same jti of another client: %d %s", a.Status, a.Body)
		}
		code := s.browser(t).code(t, s.opening(app, pushed.JSON(t)["request_uri"].(string)), s.somebody(t, "alice"))
		redeem := grantForm(app, code, verifier)
		if err := s.post(t, "/o/token/", asserting(assertion), redeem).refused(http.StatusUnauthorized,
			"invalid_client"); err != nil {
			t.Errorf("the assertion again: %v", err)
		}
		s.mustToken(t, asserting(keys.sign(t, s.assertionClaims(app.ClientID, nil), nil)), redeem)
	})
}

// A document is for every server, so it may name algorithms and modes that this one does not have. A
// name that a database cannot store must not make the approval fail.
func TestDocumentWithNamesThatCannotBeStored(t *testing.T) {
	onADatabase(t, func(t *testing.T, db database) {
		h := newDocumentHost(t)
		s := startServer(t, h.options(options{database: db}))
		alice := s.somebody(t, "alice")
		for member, value := range map[string]any{
			"request_object_signing_alg":        "ES256\x00",
			"authorization_signed_response_alg": "ES256\x00",
			"response_modes":                    []string{"query", "a\x00"},
		} {
			app := h.client("/"+member, agentURI, map[string]any{member: value})
			address, verifier := s.authorizeURL(app, "scope", "read")
			s.mustToken(t, app.auth(), grantForm(app, s.browser(t).code(t, address, alice), verifier))
		}
	})
}

// CIMD-02 §8.2: the document says how its client authenticates. A client that replaces a key, perhaps
// because it was stolen, pushes its next request with the new one. From then on the old one does
// nothing, at the token endpoint too.
func TestDocumentReplacesItsKey(t *testing.T) {
	onADatabase(t, func(t *testing.T, db database) {
		h := newDocumentHost(t)
		s := startServer(t, h.options(options{database: db}))
		alice, stolen, fresh := s.somebody(t, "alice"), newStatementIssuer(t, "agent"), newStatementIssuer(t, "agent")
		publish := func(keys *statementIssuer) application {
			return h.client("/one", agentURI,
				map[string]any{"token_endpoint_auth_method": "private_key_jwt", "jwks": json.RawMessage(keys.keySet(t)),
					"require_pushed_authorization_requests": true})
		}
		app := publish(stolen)
		signed := func(keys *statementIssuer) auth {
			return asserting(keys.sign(t, s.assertionClaims(app.ClientID, nil), nil))
		}
		pushes := func(keys *statementIssuer) tokens {
			t.Helper()
			form, verifier := s.requestFor(t, app)
			pushed := s.post(t, "/o/par/", signed(keys), form)
			if pushed.Status != http.StatusCreated {
				t.Fatalf("%d %s", pushed.Status, pushed.Body)
			}
			code := s.browser(t).code(t, s.opening(app, pushed.JSON(t)["request_uri"].(string)), alice)
			return s.mustToken(t, signed(keys), grantForm(app, code, verifier))
		}
		refresh := pushes(stolen).RefreshToken
		publish(fresh)
		s.stop(t) // this server keeps documents for five minutes
		s.start(t)
		form, _ := s.requestFor(t, app)
		if err := s.post(t, "/o/par/", signed(stolen), form).refused(http.StatusUnauthorized, "invalid_client"); err != nil {
			t.Errorf("a pushed request with the old key: %v", err)
		}
		if err := s.post(t, "/o/token/", signed(stolen), refreshForm(refresh)).refused(http.StatusUnauthorized,
			"invalid_client"); err != nil {
			t.Errorf("a refresh with the old key: %v", err)
		}
		s.mustToken(t, signed(fresh), refreshForm(refresh))
		pushes(fresh)
	})
}
