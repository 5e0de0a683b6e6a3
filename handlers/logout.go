package handlers

import (
	"net/http"

	"mandate/templates"
)

// logoutPage asks first: any site can send a browser here.
func (s *server) logoutPage(w http.ResponseWriter, r *http.Request) error {
	who, err := s.signedIn(r)
	if err != nil {
		return err
	}
	if who == nil {
		redirect(w, r, s.path("/"))
		return nil
	}
	return s.render(w, r, http.StatusOK, templates.Logout{Frame: s.frame(r, ""), Action: s.path("/logout/")})
}

// logout ends the session in this browser.
func (s *server) logout(w http.ResponseWriter, r *http.Request) error {
	who, err := s.signedIn(r)
	if err != nil {
		return err
	}
	if who != nil {
		err = s.provider.Logout(r.Context(), who)
		if err != nil {
			return err
		}
	}
	s.setCookie(w, "session", "", 0)
	s.say(w, "signed-out")
	redirect(w, r, s.path("/"))
	return nil
}
