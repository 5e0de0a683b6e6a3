package protocol

import (
	"net/http"

	"mandate/handlers/request"
)

// revoke is the revocation endpoint (RFC 7009 §2).
func (s *server) revoke(w http.ResponseWriter, r *http.Request) error {
	revoked, err := s.Provider.Tokens.Revoke(r.Context(), r, s.Requests.Address(r))
	request.Note(r.Context(), "client", revoked.Client)
	if err != nil {
		return err
	}
	if revoked.Unknown {
		request.Inactive(r.Context())
	}
	// RFC 7009 §2.2: the status is 200 and the body is empty.
	w.WriteHeader(http.StatusOK)
	return nil
}
