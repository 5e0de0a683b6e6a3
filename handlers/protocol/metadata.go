package protocol

import (
	"net/http"

	"mandate/handlers/web"
)

// metadata returns the authorization server metadata (RFC 8414 §3). It is the same
// for everybody, so clients may cache it.
func (s *server) metadata(w http.ResponseWriter, r *http.Request) error {
	m, err := s.Provider.Metadata(r.Context())
	if err != nil {
		return err
	}
	w.Header().Del("Pragma")
	w.Header().Set("Cache-Control", "public, max-age=300")
	return web.WriteJSON(w, http.StatusOK, m)
}
