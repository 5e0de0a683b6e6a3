package handlers

import "net/http"

// metadata is the authorization server's description (RFC 8414 §3). It says
// the same to everybody, so it may be kept for a while.
func (s *server) metadata(w http.ResponseWriter, r *http.Request) error {
	m, err := s.provider.Metadata(r.Context())
	if err != nil {
		return err
	}
	w.Header().Del("Pragma")
	w.Header().Set("Cache-Control", "public, max-age=300")
	return writeJSON(w, http.StatusOK, m)
}
