package account

import (
	"net/http"

	"mandate/handlers/web"
	"mandate/templates"
)

// home shows the start page. A person who is neither an administrator nor has registered an application has the account
// page in its place: nothing else here is for them.
func (s *server) home(w http.ResponseWriter, r *http.Request) error {
	who, err := s.SignedIn(r)
	if err != nil {
		return err
	}
	page := templates.Home{Frame: s.Frame(r, "")}
	if who == nil {
		// The heading replaces the notice, so the text appears once.
		page.SignedOut = s.Cookie(r, "notice") == web.SignedOut
		if page.SignedOut {
			page.Notice = ""
			page.Elsewhere = s.elsewhere(r)
		}
		page.NoAccount, err = s.Provider.People.NoAccount(r.Context())
		if err != nil {
			return err
		}
		return s.Render(w, r, http.StatusOK, page)
	}
	page.Applications, err = s.Provider.OwnApplications(r.Context(), who.User)
	if err != nil {
		return err
	}
	if page.Applications == 0 && !who.User.Administrator {
		web.SeeOther(w, r, s.Path("/account/"))
		return nil
	}
	authorized, err := s.Provider.People.Authorized(r.Context(), who.User.ID)
	if err != nil {
		return err
	}
	sessions, err := s.Provider.People.Sessions(r.Context(), who.User.ID)
	if err != nil {
		return err
	}
	page.AuthorizedApps, page.Sessions = len(authorized), len(sessions)
	return s.Render(w, r, http.StatusOK, page)
}

// elsewhere returns the server at which a person who has just signed out here can sign out too.
func (s *server) elsewhere(r *http.Request) *templates.ServerButton {
	other, err := s.Provider.Identities.Server(s.Cookie(r, web.LeftCookie))
	if err != nil || !other.Logout {
		return nil
	}
	return &templates.ServerButton{Label: other.Label, Action: s.Path("/logout/with/" + other.Name + "/")}
}
