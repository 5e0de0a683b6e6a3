package protocol

import (
	"net/http"

	"mandate/handlers/request"
	"mandate/handlers/web"
)

// pushRequest is the pushed authorization request endpoint (RFC 9126 §2).
func (s *server) pushRequest(w http.ResponseWriter, r *http.Request) error {
	pushed, application, err := s.Provider.Authorizations.Push(r.Context(), r, s.Requests.Address(r))
	if application != nil {
		request.Note(r.Context(), "client", application.ClientID)
	}
	if err != nil {
		return err
	}
	request.Note(r.Context(), web.LeftOut, pushed.LeftOut.String())
	request.Outcome(r.Context(), "ok")
	// RFC 9126 §2.2: 201, and no cache keeps the response.
	w.Header().Set("Cache-Control", "no-cache, no-store")
	return web.WriteJSON(w, http.StatusCreated, pushed)
}
