package clients

import (
	"net/http"

	"mandate/handlers/web"
	"mandate/storage"
)

// server is this area of the site.
type server struct{ *web.Site }

// registrant returns the session of a person who may register applications.
func (s *server) registrant(r *http.Request) (*storage.SignedIn, error) {
	who, err := s.Entitled(r)
	if err == nil {
		err = s.Provider.People.MustRegister(r.Context(), who.User)
	}
	return who, err
}
