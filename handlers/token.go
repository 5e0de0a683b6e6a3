package handlers

import "net/http"

// token is the token endpoint (RFC 6749 §3.2).
func (s *server) token(w http.ResponseWriter, r *http.Request) error {
	answer, application, err := s.provider.Token(r.Context(), r, s.address(r))
	recordOf(r.Context()).grant = grantOf(r)
	if application != nil {
		note(r.Context(), "client", application.ClientID)
	}
	if err != nil {
		return err
	}
	ended(r.Context(), "ok")
	return writeJSON(w, http.StatusOK, answer)
}
