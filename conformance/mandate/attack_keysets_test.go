package mandate

import (
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"testing"
)

// A person registers many applications whose keys are at addresses that never answer, and lets the
// server fetch all of them. The applications of the operator must still authenticate.
func TestAttackKeySetsThatNeverAnswer(t *testing.T) {
	attack(t, "resource exhaustion", "")
	h := newDocumentHost(t)
	s := startServer(t, h.options(options{}))
	keys := newStatementIssuer(t, "bank")
	bank := s.application(t, "--name", "Bank", "--client-id", "bank", "--grant", "client_credentials", "--auth-method",
		"private_key_jwt",
		"--jwks-uri", h.page("/bank", func(w http.ResponseWriter, _ *http.Request) {
			_ = json.NewEncoder(w).Encode(json.RawMessage(keys.keySet(t)))
		}))
	done, asked := make(chan struct{}), make(chan struct{}, 100)
	var waiting sync.WaitGroup
	defer waiting.Wait()
	defer close(done)
	b := s.signIn(t, s.person(t, "mallory"), "/o/applications/")
	const fetches, perHost = 32, 6 // at one moment, for one person from one host
	var sent [fetches]auth
	for i := range sent {
		uri := h.page(fmt.Sprint("/slow", i), func(http.ResponseWriter, *http.Request) { asked <- struct{}{}; <-done })
		b.send(t, "/o/applications/register/",
			params("name", "Slow", "client_type", "confidential", "grant_type", "authorization_code", "redirect_uris",
				"https://mallory.example/back",
				"scope", "read", "auth_method", "private_key_jwt", "jwks_uri", uri))
		sent[i] = asserting(keys.sign(t, s.assertionClaims(b.fact(t, "Client ID"), nil), nil))
	}
	for _, as := range sent {
		waiting.Go(func() { s.token(t, as, forItself) })
	}
	for range perHost {
		<-asked
	}
	got, answer := s.token(t, asserting(keys.sign(t, s.assertionClaims(bank.ClientID, nil), nil)), forItself)
	if got.AccessToken == "" {
		t.Errorf("the application of the operator: %d %s", answer.Status, answer.Body)
	}
}
