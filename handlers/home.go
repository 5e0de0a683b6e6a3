package handlers

import (
	"net/http"

	"mandate/templates"
)

// home shows the start page. A person who is neither an administrator nor has registered an application has the account
// page in its place: nothing else here is for them.
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
	if page.Applications == 0 && !who.User.Administrator {
		seeOther(w, r, s.path("/account/"))
		return nil
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

// elsewhere returns the server at which a person who has just signed out here can sign out too.
func (s *server) elsewhere(r *http.Request) *templates.ServerButton {
	other, err := s.provider.Identities.Server(s.cookie(r, leftCookie))
	if err != nil || !other.Logout {
		return nil
	}
	return &templates.ServerButton{Label: other.Label, Action: s.path("/logout/with/" + other.Name + "/")}
}
