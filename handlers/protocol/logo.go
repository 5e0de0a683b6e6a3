package protocol

import (
	"net/http"
	"strconv"

	"github.com/gorilla/mux"
)

// logo answers with the logo of an application that one of our pages shows. The page does not
// wait for it, and a browser shows nothing if there is none: the picture has no alternative
// text, and the style gives it no size.
func (s *server) logo(w http.ResponseWriter, r *http.Request) error {
	picture, err := s.Provider.Clients.Logo(r.Context(), mux.Vars(r)["name"], s.Requests.Address(r))
	if err != nil {
		return err
	}
	h := w.Header()
	h.Set("Content-Type", "image/png")
	h.Set("Content-Length", strconv.Itoa(len(picture)))
	// No other site can find out which logos this browser has.
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "private, max-age=3600")
	h.Del("Pragma")
	_, _ = w.Write(picture) // an error here means that the client has disconnected
	return nil
}
