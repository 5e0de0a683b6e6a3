package handlers

import (
	"net/http"

	"mandate/handlers/request"
)

// revoke is the revocation endpoint (RFC 7009 §2).
func (s *server) revoke(w http.ResponseWriter, r *http.Request) error {
	client, err := s.provider.Tokens.Revoke(r.Context(), r, s.requests.Address(r))
	request.Note(r.Context(), "client", client)
	if err != nil {
		return err
	}
	// RFC 7009 §2.2: the status is 200 and the body is empty.
	w.WriteHeader(http.StatusOK)
	return nil
}
