package handlers

import "net/http"

// introspect is the introspection endpoint (RFC 7662 §2).
func (s *server) introspect(w http.ResponseWriter, r *http.Request) error {
	answer, caller, err := s.provider.Introspect(r.Context(), r, s.address(r))
	note(r.Context(), "client", caller)
	if err != nil {
		return err
	}
	if answer.Active {
		ended(r.Context(), "active")
	} else {
		ended(r.Context(), "inactive")
	}
	return writeJSON(w, http.StatusOK, answer)
}
