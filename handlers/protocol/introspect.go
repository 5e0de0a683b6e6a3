package protocol

import (
	"net/http"

	"mandate/handlers/request"
	"mandate/handlers/web"
	"mandate/provider/tokens"
)

// introspect is the introspection endpoint (RFC 7662 §2). The response is a JWT if the request
// asks for one (RFC 9701 §4).
func (s *server) introspect(w http.ResponseWriter, r *http.Request) error {
	answer, caller, err := s.Provider.Tokens.Introspect(r.Context(), r, s.Requests.Address(r))
	request.Note(r.Context(), "client", caller)
	if err != nil {
		return err
	}
	if answer.Active {
		request.Outcome(r.Context(), "active")
	} else {
		request.Inactive(r.Context())
	}
	if answer.Signed != "" {
		w.Header().Set("Content-Type", tokens.SignedIntrospection)
		_, _ = w.Write([]byte(answer.Signed)) // an error here means that the client has gone
		return nil
	}
	members, err := answer.Members()
	if err != nil {
		return err
	}
	return web.WriteJSON(w, http.StatusOK, members)
}
