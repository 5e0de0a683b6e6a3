package handlers

import (
	"errors"
	"net/http"
	"net/url"

	"mandate/provider"
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
	return s.render(w, r, http.StatusOK, templates.Logout{Frame: s.frame(r, ""), Action: s.path("/logout/"), OpenID: s.config.OpenID})
}

// logout ends the session in this browser: the person said so, by themselves or
// when they were asked for an application.
func (s *server) logout(w http.ResponseWriter, r *http.Request) error {
	err := s.parseForm(r)
	if err != nil {
		return err
	}
	who, err := s.signedIn(r)
	if err != nil {
		return err
	}
	ticket := r.PostForm.Get("ticket")
	if ticket == "" {
		if who != nil {
			err = s.provider.Logout(r.Context(), who)
		}
		if err != nil {
			return err
		}
		return s.loggedOut(w, r, &provider.LogoutRequest{}, who)
	}
	l, err := s.provider.ResumeLogout(r.Context(), ticket)
	if err != nil {
		return s.cannotLogOut(w, r, err)
	}
	return s.logoutFor(w, r, l, who)
}

// logoutRequest is the end session endpoint (OIDC RP-Logout §2).
func (s *server) logoutRequest(w http.ResponseWriter, r *http.Request) error {
	l, err := s.readLogout(r)
	if err != nil {
		return s.cannotLogOut(w, r, err)
	}
	if l.Application != nil {
		note(r.Context(), "client", l.Application.ClientID)
	}
	ticket, err := s.provider.LogoutTicket(l)
	if err != nil {
		return err
	}
	if r.Method == http.MethodPost {
		// A post of another site comes without the session's cookie; as a GET it
		// comes with it.
		redirect(w, r, s.path("/o/logout/")+"?"+url.Values{resumed: {ticket}}.Encode())
		return nil
	}
	who, err := s.signedIn(r)
	if err != nil {
		return err
	}
	// RFC 9700 §4.11.2: a link of a stranger's must not lead on to wherever they
	// like by way of this server.
	aside := who == nil && l.RedirectURI != "" && !s.provider.FollowsEnd(l, s.cookie(r, "ended"))
	if !aside && (who == nil || !s.provider.MustConfirm(l, who)) {
		return s.logoutFor(w, r, l, who)
	}
	page := templates.Logout{Frame: s.frame(r, ""), Action: s.path("/logout/"), Ticket: ticket, OpenID: true}
	if aside {
		page.GoesTo, _ = destination(l.RedirectURI)
	}
	if l.Application != nil {
		page.Application = l.Application.Name
	}
	return s.render(w, r, http.StatusOK, page)
}

// resumed is our own parameter: a request that was posted, on its way back.
const resumed = "mandate_logout"

func (s *server) readLogout(r *http.Request) (*provider.LogoutRequest, error) {
	if r.Method == http.MethodPost {
		err := s.parseForm(r)
		if err != nil {
			return nil, err
		}
		if r.URL.RawQuery != "" {
			return nil, badRequest("Send the parameters either in the query or in the body.")
		}
		return s.provider.ReadLogout(r.Context(), r.PostForm)
	}
	if len(r.URL.RawQuery) > maxQuery {
		return nil, tooLong(http.StatusRequestURITooLong)
	}
	parameters, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, badRequest("The query of this address is not form-encoded: check its percent-encoding.")
	}
	if ticket := parameters.Get(resumed); ticket != "" {
		return s.provider.ResumeLogout(r.Context(), ticket)
	}
	return s.provider.ReadLogout(r.Context(), parameters)
}

// logoutFor ends the session of who, if there is somebody, and goes where the
// application wants the browser.
func (s *server) logoutFor(w http.ResponseWriter, r *http.Request, l *provider.LogoutRequest, who *provider.SignedIn) error {
	if who != nil {
		err := s.provider.LogoutFor(r.Context(), who)
		if err != nil {
			return err
		}
	}
	return s.loggedOut(w, r, l, who)
}

// loggedOut is where the browser goes when the session of who, if there was
// somebody, has ended. It keeps which one that was: other applications may send it
// here because of the same session.
func (s *server) loggedOut(w http.ResponseWriter, r *http.Request, l *provider.LogoutRequest, who *provider.SignedIn) error {
	if who != nil {
		kept, err := s.provider.Ended(who)
		if err != nil {
			return err
		}
		s.setCookie(w, "ended", kept, provider.EndedLife)
	}
	s.setCookie(w, "session", "", 0)
	if l.RedirectURI != "" {
		redirect(w, r, l.After().Location())
		return nil
	}
	s.say(w, signedOut)
	redirect(w, r, s.path("/"))
	return nil
}

// cannotLogOut says what is wrong with an application's request, and lets the
// person log out all the same.
func (s *server) cannotLogOut(w http.ResponseWriter, r *http.Request, err error) error {
	e, ok := errors.AsType[*provider.Error](err)
	if !ok || e.Status >= http.StatusInternalServerError {
		return err
	}
	note(r.Context(), "error", e.Error())
	page := templates.ErrorPage{Frame: s.frame(r, ""), Status: statusOf(e), Code: e.Code,
		Heading: "The application’s logout request is wrong", Message: e.Description + " Nobody was logged out.",
		RequestID: requestID(r), BackURL: s.path("/logout/"), BackLabel: "Log out here"}
	if e.Mismatch != nil {
		who, err := s.signedIn(r)
		if err != nil {
			return err
		}
		page.Diff = difference("post-logout redirect URI", e.Mismatch, who)
	}
	return s.render(w, r, page.Status, page)
}
