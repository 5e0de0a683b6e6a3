package mandate

import (
	"encoding/json"
	"net/http"
	"testing"
)

// TestAttackPushFlood: a stranger registers an application with a key, and pushes as many requests
// as the server keeps for all applications that came by themselves.
func TestAttackPushFlood(t *testing.T) {
	attack(t, "denial of service by pushed requests", "")
	forEachDatabase(t, func(t *testing.T, db database) {
		const most = 20
		s := startServer(t, options{database: db, settings: []string{ours}, provider: append([]string{"PUSHED_REQUEST_MAX_PENDING: 20"}, openClients...)})
		keys := newStatementIssuer(t, "flood")
		var set member
		err := json.Unmarshal([]byte(keys.keySet(t)), &set)
		if err != nil {
			t.Fatal(err)
		}
		made := s.registers(t, nobody, member{"redirect_uris": []string{"https://evil.example/"}, "token_endpoint_auth_method": "private_key_jwt", "jwks": set})
		stranger := keyHolder{application{ClientID: textOf(made, "client_id"), RedirectURI: "https://evil.example/"}, keys}
		victim := asApplication(s.registers(t, nobody, member{"redirect_uris": []string{"https://good.example/"}}), "https://good.example/")
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
