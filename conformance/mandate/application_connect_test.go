package mandate

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
)

// A client has one key without kid, and its JWTs have none. A second key would end that.
func TestKeyWithoutIDStaysAlone(t *testing.T) {
	t.Parallel()
	s := startServer(t, options{})
	root := s.signedIn(t, s.person(t, "root", "--admin"))
	keys := newStatementIssuer(t, "robot")
	var set struct {
		Keys []member `json:"keys"`
	}
	err := json.Unmarshal([]byte(keys.keySet(t)), &set)
	if err != nil {
		t.Fatal(err)
	}
	var own []member
	for _, key := range set.Keys {
		if key["kid"] == "ES256" {
			delete(key, "kid")
			own = append(own, key)
		}
	}
	text := func(keys ...member) string {
		raw, err := json.Marshal(member{"keys": keys})
		if err != nil {
			t.Fatal(err)
		}
		return keysFile(t, string(raw))
	}
	a := s.application(t, "--name", "robot", "--grant", "client_credentials", "--auth-method", "private_key_jwt", "--jwks",
		text(own...))
	asks := func() {
		t.Helper()
		s.mustToken(t, asserting(keys.sign(t, s.assertionClaims(a.ClientID, nil), member{"alg": "ES256", "kid": nil})),
			forItself)
	}
	asks()
	var id string
	behind(t, s.database, "SELECT id FROM applications WHERE client_id = '"+a.ClientID+"'", &id)
	root.send(t, "/o/applications/"+id+"/test-key/", params("algorithm", "ES256"))
	if root.Status != http.StatusUnprocessableEntity || !strings.Contains(root.Body, "has no kid") {
		t.Errorf("a second key: %d %s", root.Status, root.Body)
	}
	asks()
	other := newStatementIssuer(t, "other")
	var more struct {
		Keys []member `json:"keys"`
	}
	err = json.Unmarshal([]byte(other.keySet(t)), &more)
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range more.Keys {
		if key["kid"] == "ES256" {
			r := s.cli(t, "", "application", "update", a.ClientID, "--auth-method", "private_key_jwt", "--jwks",
				text(own[0], key))
			if r.code == 0 || !strings.Contains(r.stderr, "one of them has no kid") {
				t.Errorf("a set with both: %d %s", r.code, r.stderr)
			}
		}
	}
}

// The page of an application shows the addresses that work for it.
func TestPageOfAnApplicationWithACertificate(t *testing.T) {
	t.Parallel()
	ours := newIssuer(t)
	s, mutual := withCertificates(t, newSQLite(t), ours)
	root := s.signedIn(t, s.person(t, "root", "--admin"))
	shows := func(a application, wanted ...string) {
		t.Helper()
		var id string
		behind(t, s.database, "SELECT id FROM applications WHERE client_id = '"+a.ClientID+"'", &id)
		root.open(t, "/o/applications/"+id+"/")
		for _, text := range wanted {
			if !strings.Contains(root.Body, text) {
				t.Errorf("the page does not show %q", text)
			}
		}
	}
	certificate := s.application(t, "--name", "Bank", "--grant", "authorization_code", "--redirect-uri", phoneURI,
		"--certificate-subject", "san_dns=bank.example", "--require-pushed-requests")
	shows(certificate, mutual+"/o/token/", mutual+"/o/par/", ">san_dns=bank.example<")
	if strings.Contains(root.Body, "test-key") {
		t.Error("the page offers a key pair")
	}
	shows(s.keyHolder(t, "robot").application, s.URL+"/o/token/", "Audience of client assertions", ">"+s.Issuer+"<")
}
