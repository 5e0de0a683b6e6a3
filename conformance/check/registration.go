package check

import (
	"encoding/json"
	"net/http"

	"mandate/conformance/need"
	"mandate/conformance/wire"
)

// Register sends a registration request (RFC 7591 §3.1) that the server should refuse. If the server registers a client,
// it is deleted at once.
func (t *T) Register(metadata map[string]any) *wire.Answer {
	body, err := json.Marshal(metadata)
	if err != nil {
		t.Blockedf("the client metadata cannot be written: %v", err)
	}
	var as []wire.Auth
	if token := t.server.Target.InitialAccessToken; token != "" {
		as = append(as, wire.Bearer(token))
	}
	a := t.Send(http.MethodPost, t.Endpoint(need.Registration), string(body), "application/json", as...)
	if address := a.Text("registration_client_uri"); a.Status/100 == 2 && address != "" {
		if deleted := t.Send(http.MethodDelete, address, "", "", wire.Bearer(a.Text("registration_access_token"))); deleted.Status/100 != 2 {
			t.Blockedf("the client %s, which the check registered, cannot be deleted: %s", a.Text("client_id"), deleted.Failure())
		}
	}
	t.At(a)
	return a
}
