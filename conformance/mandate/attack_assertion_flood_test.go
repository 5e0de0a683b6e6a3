package mandate

import (
	"encoding/json"
	"net/http"
	"testing"
)

// Anybody can make a key and register it. Each assertion is a row until it expires, so one network
// cannot store any number of them.
func TestAttackFloodOfAssertions(t *testing.T) {
	attack(t, "resources without a bound", "")
	onADatabase(t, func(t *testing.T, db database) {
		h := newDocumentHost(t)
		s := startServer(t, h.options(options{database: db}))
		keys := newStatementIssuer(t, "agent")
		registered := textOf(s.registers(t, nobody,
			member{"redirect_uris": []string{agentURI}, "token_endpoint_auth_method": "private_key_jwt",
				"jwks": json.RawMessage(keys.keySet(t))}), "client_id")
		statuses := map[int]int{}
		for range 400 {
			a := s.post(t, "/o/revoke_token/", asserting(keys.sign(t, s.assertionClaims(registered, nil), nil)),
				params("token", "x"))
			statuses[a.Status]++
		}
		if statuses[http.StatusOK] < 300 || statuses[http.StatusTooManyRequests] == 0 || len(statuses) != 2 {
			t.Errorf("statuses: %v", statuses)
		}
		if n := rows(t, db, "seen"); n != statuses[http.StatusOK] {
			t.Errorf("%d rows, and %d requests that were answered", n, statuses[http.StatusOK])
		}
	})
}
