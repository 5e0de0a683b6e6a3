package handlers

import (
	"net/http"

	"mandate/handlers/request"
)

// introspect is the introspection endpoint (RFC 7662 §2).
func (s *server) introspect(w http.ResponseWriter, r *http.Request) error {
	answer, caller, err := s.provider.Tokens.Introspect(r.Context(), r, s.requests.Address(r))
	request.Note(r.Context(), "client", caller)
	if err != nil {
		return err
	}
	if answer.Active {
		request.Outcome(r.Context(), "active")
	} else {
		request.Outcome(r.Context(), "inactive")
	}
	return writeJSON(w, http.StatusOK, answer)
}
