package handlers

import (
	"net/http"

	"mandate/templates"
)

// home shows the start page.
func (s *server) home(w http.ResponseWriter, r *http.Request) error {
	who, err := s.signedIn(r)
	if err != nil {
		return err
	}
	page := templates.Home{Frame: s.frame(r, "")}
	if who == nil {
		// The heading replaces the notice, so the text appears once.
		page.SignedOut = s.cookie(r, "notice") == signedOut
		if page.SignedOut {
			page.Notice = ""
			page.Elsewhere = s.elsewhere(r)
		}
		page.NoAccount, err = s.provider.People.NoAccount(r.Context())
		if err != nil {
			return err
		}
		return s.render(w, r, http.StatusOK, page)
	}
	page.Applications, err = s.provider.OwnApplications(r.Context(), who.User)
	if err != nil {
		return err
	}
	authorized, err := s.provider.People.Authorized(r.Context(), who.User.ID)
	if err != nil {
		return err
	}
	sessions, err := s.provider.People.Sessions(r.Context(), who.User.ID)
	if err != nil {
		return err
	}
	page.AuthorizedApps, page.Sessions = len(authorized), len(sessions)
	return s.render(w, r, http.StatusOK, page)
}
