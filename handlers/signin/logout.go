package signin

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"mandate/handlers/request"
	"mandate/handlers/web"
	"mandate/provider/clientauth"
	"mandate/provider/logout"
	"mandate/provider/oauth"
	"mandate/storage"
	"mandate/templates"
)

// logoutPage asks for a confirmation, because any site can send a browser here.
func (s *flows) logoutPage(w http.ResponseWriter, r *http.Request) error {
	who, err := s.SignedIn(r)
	if err != nil {
		return err
	}
	if who == nil {
		web.SeeOther(w, r, s.Path("/"))
		return nil
	}
	return s.Render(w, r, http.StatusOK, templates.Logout{
		Frame:  s.Frame(r, ""),
		Action: s.Path("/logout/"),
		OpenID: s.Config.OpenID,
	})
}

// logout ends the session in this browser after the person has confirmed it. The
// confirmation may belong to the logout request of an application.
func (s *flows) logout(w http.ResponseWriter, r *http.Request) error {
	err := s.ParseForm(r)
	if err != nil {
		return err
	}
	who, err := s.SignedIn(r)
	if err != nil {
		return err
	}
	ticket := r.PostForm.Get("ticket")
	if ticket == "" {
		return s.end(w, r, &logout.Request{}, who, s.Provider.Logouts.Logout)
	}
	l, err := s.Provider.Logouts.Resume(r.Context(), ticket)
	if err != nil {
		return s.cannotLogOut(w, r, err)
	}
	s.UseLocales(r, l.UILocales)
	return s.logoutFor(w, r, l, who)
}

// logoutRequest is the end session endpoint (OIDC RP-Logout §2). The server of an application gets no page.
func (s *flows) logoutRequest(w http.ResponseWriter, r *http.Request) error {
	if r.Method == http.MethodPost && !(isProgram(r) && r.Header.Get("Authorization") != "") {
		err := s.ParseForm(r)
		if err != nil {
			return s.cannotLogOut(w, r, err)
		}
	}
	if comesFromServer(r) {
		s.Protocol(s.logoutByServer).ServeHTTP(w, r)
		return nil
	}
	l, err := s.readLogout(r)
	if err != nil {
		return s.cannotLogOut(w, r, err)
	}
	s.UseLocales(r, l.UILocales)
	if l.Application != nil {
		request.Note(r.Context(), "client", l.Application.ClientID)
	}
	ticket, err := s.Provider.Logouts.Ticket(l)
	if err != nil {
		return err
	}
	if r.Method == http.MethodPost {
		// A browser does not send the session's cookie with a POST from another
		// site. It sends the cookie with the GET.
		web.SeeOther(w, r, s.Path("/o/logout/")+"?"+url.Values{resumed: {ticket}}.Encode())
		return nil
	}
	who, err := s.SignedIn(r)
	if err != nil {
		return err
	}
	// RFC 9700 §4.11.2: a link of another site must not use this server to redirect
	// anywhere.
	askFirst := who == nil && l.RedirectURI != "" && !s.Provider.Logouts.EndedInThisBrowser(l, s.Cookie(r, "ended"))
	if !askFirst && (who == nil || !s.Provider.Logouts.MustConfirm(l, who)) {
		// RFC 9110 §9.2.1: HEAD is safe, so it ends no session and changes no cookie.
		if r.Method == http.MethodHead {
			w.WriteHeader(http.StatusOK)
			return nil
		}
		return s.logoutFor(w, r, l, who)
	}
	page := templates.Logout{Frame: s.Frame(r, ""), Action: s.Path("/logout/"), Ticket: ticket, OpenID: true}
	page.Aside = askFirst
	if l.RedirectURI != "" {
		page.Then = s.target(r, l.RedirectURI)
	}
	if l.Application != nil {
		page.Application = l.Application.Name
	}
	return s.Render(w, r, http.StatusOK, page)
}

// comesFromServer reports whether a logout request comes from the server of an application: it authenticates as the
// application, or it only names a session and wants no page.
func comesFromServer(r *http.Request) bool {
	form := r.URL.Query()
	if r.Method == http.MethodPost {
		form = r.PostForm
	}
	page := strings.Contains(
		strings.Join(r.Header.Values("Accept"), ","), "text/html",
	) || form.Has("post_logout_redirect_uri")
	return isProgram(r) && (clientauth.SendsCredentials(r, form) || form.Has("id_token_hint") && !page)
}

// isProgram reports whether a request has nothing that browsers send.
func isProgram(r *http.Request) bool {
	return len(r.Cookies()) == 0 && r.Header.Get("Sec-Fetch-Site") == ""
}

// logoutByServer ends a session for the server of an application. Some programs take no other status than 200 for
// success.
func (s *flows) logoutByServer(w http.ResponseWriter, r *http.Request) error {
	if r.Method == http.MethodHead {
		return nil // RFC 9110 §9.2.1: HEAD is safe, so it ends no session
	}
	client, err := s.Provider.Logouts.ByServer(r.Context(), r, s.Requests.Address(r))
	request.Note(r.Context(), "client", client)
	if err != nil {
		return err
	}
	request.Outcome(r.Context(), "ok")
	w.WriteHeader(http.StatusOK)
	return nil
}

// resumed is a parameter of this server only. It carries a posted logout request
// through the redirect.
const resumed = "mandate_logout"

func (s *flows) readLogout(r *http.Request) (*logout.Request, error) {
	if r.Method == http.MethodPost {
		if r.URL.RawQuery != "" {
			return nil, web.BadRequest("Send the parameters either in the query or in the body.")
		}
		return s.Provider.Logouts.Read(r.Context(), r.PostForm)
	}
	if len(r.URL.RawQuery) > maxQuery {
		return nil, tooLong(http.StatusRequestURITooLong)
	}
	parameters, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, web.BadRequest("The query of this address is not form-encoded: check its percent-encoding.")
	}
	if ticket := parameters.Get(resumed); ticket != "" {
		return s.Provider.Logouts.Resume(r.Context(), ticket)
	}
	return s.Provider.Logouts.Read(r.Context(), parameters)
}

// logoutFor ends the session, if there is one, and redirects to where the
// application wants the browser.
func (s *flows) logoutFor(w http.ResponseWriter, r *http.Request, l *logout.Request, who *storage.SignedIn) error {
	return s.end(w, r, l, who, func(ctx context.Context, who *storage.SignedIn) error {
		return s.Provider.Logouts.LogoutByApplication(ctx, l, who)
	})
}

// end ends the session with logout, if there is one, and answers.
func (s *flows) end(
	w http.ResponseWriter,
	r *http.Request,
	l *logout.Request,
	who *storage.SignedIn,
	logout func(context.Context, *storage.SignedIn) error,
) error {
	var err error
	if cookie := s.Cookie(r, "session"); who == nil && cookie != "" {
		who, err = s.Provider.People.StillSignedIn(r.Context(), cookie)
	}
	if who != nil {
		err = logout(r.Context(), who)
	}
	if err != nil && !errors.Is(err, oauth.ErrNotFound) {
		return err
	}
	return s.loggedOut(w, r, l, who)
}

// loggedOut redirects after the session has ended, if there was one. A cookie keeps
// which session that was: other applications may send the browser here because of
// the same session.
func (s *flows) loggedOut(w http.ResponseWriter, r *http.Request, l *logout.Request, who *storage.SignedIn) error {
	if who != nil {
		kept, err := s.Provider.Logouts.EndedCookie(who)
		if err != nil {
			return err
		}
		s.SetCookie(w, "ended", kept, logout.EndedLife)
	}
	s.SetCookie(w, "session", "", 0)
	if l.RedirectURI != "" {
		web.SeeOther(w, r, l.After().Location())
		return nil
	}
	// The person can sign out at the other server too, with which this session began. The start page
	// offers it: a form of this server must not lead to another one (Content-Security-Policy).
	if who != nil {
		s.SetCookie(w, web.LeftCookie, s.Provider.Identities.LogoutOf(who), 2*time.Minute)
	}
	s.SetNotice(w, web.SignedOut)
	web.SeeOther(w, r, s.Path("/"))
	return nil
}

// cannotLogOut shows what is wrong with the logout request of an application. The
// page offers a logout at this server.
func (s *flows) cannotLogOut(w http.ResponseWriter, r *http.Request, err error) error {
	e, refused := oauth.Refused(err)
	if !refused {
		return err
	}
	web.NoteError(r, e)
	l := s.Language(r)
	page := templates.ErrorPage{Frame: s.Frame(r, ""), Status: web.StatusOf(e), Code: e.Code,
		Heading: l.T("The application’s logout request is not valid"), Message: l.T("Nobody was signed out."),
		RequestID: request.ID(r), BackURL: s.Path("/logout/"), BackLabel: l.T("Sign out here")}
	if text, known := web.Said(l, e); known {
		page.Message = text + " " + page.Message
	} else {
		page.Description = text
	}
	if e.Mismatch != nil {
		page.Diff, err = s.difference(r, "post-logout redirect URI", e.Mismatch)
		if err != nil {
			return err
		}
	}
	return s.Render(w, r, page.Status, page)
}

// endSessions ends all sessions of the person, including this one.
func (s *flows) endSessions(w http.ResponseWriter, r *http.Request) error {
	who, err := s.Person(r)
	if err != nil {
		return err
	}
	_, err = s.Provider.People.EndSessions(r.Context(), who.User.ID)
	if err != nil {
		return err
	}
	return s.loggedOut(w, r, &logout.Request{}, who)
}
