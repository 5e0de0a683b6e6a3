package mandate

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
)

// TestAttackPushFlood: a stranger registers an application with a key, and pushes as many requests
// as the server keeps for all applications that came by themselves.
func TestAttackPushFlood(t *testing.T) {
	attack(t, "denial of service by pushed requests", "")
	onADatabase(t, func(t *testing.T, db database) {
		const most = 20
		s := startServer(t, options{database: db, settings: []string{ours},
			provider: append([]string{"PUSHED_REQUEST_MAX_PENDING: 20"}, openClients...)})
		keys := newStatementIssuer(t, "flood")
		var set member
		err := json.Unmarshal([]byte(keys.keySet(t)), &set)
		if err != nil {
			t.Fatal(err)
		}
		made := s.registers(t, nobody,
			member{"redirect_uris": []string{"https://evil.example/"}, "token_endpoint_auth_method": "private_key_jwt",
				"jwks": set})
		stranger := keyHolder{application{ClientID: textOf(made, "client_id"), RedirectURI: "https://evil.example/"}, keys}
		victim := asApplication(s.registers(t, nobody, member{"redirect_uris": []string{"https://good.example/"}}),
			"https://good.example/")
		kept := 0
		for range most + 5 {
			form, _ := s.requestFor(t, stranger.application)
			a := s.post(t, "/o/par/", asserting(s.assert(t, stranger, nil, nil)), form) // from one address
			switch a.Status {
			case http.StatusCreated:
				kept++
			case http.StatusTooManyRequests:
			default:
				t.Fatalf("%d %s", a.Status, a.Body)
			}
		}
		if kept == 0 || kept > most/10 {
			t.Errorf("one network has %d of the %d pushed requests of all applications that came by themselves", kept, most)
		}
		form, _ := s.requestFor(t, victim)
		a := s.post(t, "/o/par/", afar(nobody), with(form, "client_id", victim.ClientID))
		if a.Status != http.StatusCreated {
			t.Errorf("another application: %d %s", a.Status, a.Body)
		}
	})
}

// TestAttackPushedRequestsThatNobodyOpens: requests whose request URI has expired must not use up
// the quota of the application, because nobody can answer them any more. Those that a person has
// opened in time count, and work for as long as the person may take.
func TestAttackPushedRequestsThatNobodyOpens(t *testing.T) {
	attack(t, "denial of service by pushed requests", "")
	onADatabase(t, func(t *testing.T, db database) {
		v := newFixture(t, options{database: db, provider: []string{"PUSHED_REQUEST_MAX_PENDING: 5"}})
		address, verifier := v.pushed(t, v.casual, "prompt", "consent")
		b := v.browser(t)
		b.open(t, address)
		for range 4 {
			v.pushed(t, v.casual)
		}
		full := func() {
			t.Helper()
			form, _ := v.requestFor(t, v.casual)
			if a := v.push(t, v.casual, form); a.Status != http.StatusTooManyRequests {
				t.Errorf("a sixth request: %d %s", a.Status, a.Body)
			}
		}
		// pass lets the requests be older by this number of seconds.
		pass := func(seconds int) {
			t.Helper()
			behind(t, db, fmt.Sprintf("UPDATE requests SET opens_until = opens_until - %[1]d, expires_at = expires_at - %[1]d",
				seconds))
		}
		full()
		pass(90 + 61)
		late, _ := v.pushed(t, v.casual, "prompt", "consent")
		for range 3 {
			v.pushed(t, v.casual)
		}
		full() // the opened one counts
		pass(7000)
		v.pushed(t, v.casual)
		signedIn := v.signedIn(t, v.alice)
		signedIn.open(t, late)
		signedIn.wantPage(t, "a request that nobody has opened in time", "invalid_request_uri")
		b.logIn(t, v.alice)
		b.decide(t, "approve")
		if b.Away == nil {
			t.Fatalf("a person who has opened the request in time: %d %s", b.Status, b.Body)
		}
		v.redeem(t, v.casual, b.Away.Query().Get("code"), verifier)
	})
}
