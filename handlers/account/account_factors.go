package account

import (
	"errors"
	"net/http"
	"net/url"
	"strings"

	"mandate/handlers/request"
	"mandate/handlers/web"
	"mandate/provider/oauth"
	"mandate/provider/people"
	"mandate/storage"
	"mandate/templates"
)

// The pages on which people change how they sign in. Each needs a fresh sign-in: the adapter of pages
// leads a person to the login page for people.ErrConfirm, and back.

// totpPage shows how to add an authenticator app.
func (s *server) totpPage(w http.ResponseWriter, r *http.Request) error {
	who, err := s.Person(r)
	if err != nil {
		return err
	}
	return s.showTOTPPage(w, r, http.StatusOK, who, "", url.Values{})
}

func (s *server) showTOTPPage(
	w http.ResponseWriter,
	r *http.Request,
	status int,
	who *storage.SignedIn,
	message string,
	form url.Values,
) error {
	c, err := s.Provider.People.StepUp(r.Context(), who)
	if err != nil {
		return err
	}
	if c.Factors.TOTPSince > 0 {
		return s.ToAccount(w, r) // there is one already
	}
	page, err := s.NewTOTPPage(r, c, form.Get("secret"), message)
	if err != nil {
		return err
	}
	page.Action, page.Account, page.CancelURL = s.Path(web.TotpPath), who.User.Username, s.Path("/account/")
	return s.Render(w, r, status, page)
}

// addTOTP adds an authenticator app that has shown its first code.
func (s *server) addTOTP(w http.ResponseWriter, r *http.Request) error {
	who, err := s.Person(r)
	if err != nil {
		return err
	}
	err = s.ParseForm(r)
	if err != nil {
		return err
	}
	c, err := s.Provider.People.StepUp(r.Context(), who)
	if err != nil {
		return err
	}
	answer := web.AnswerIn(r.PostForm)
	answer.By = people.ByNewTOTP
	in, err := s.Provider.People.Answer(r.Context(), c, answer, s.Browser(r))
	if e, refused := oauth.Refused(err); refused {
		request.Note(r.Context(), "error", e.Code)
		web.RetryAfter(w, e)
		text, _ := web.Said(s.Language(r), e)
		return s.showTOTPPage(w, r, web.FormStatus(e), who, text, r.PostForm)
	}
	if errors.Is(err, oauth.ErrNotFound) {
		return web.ErrSignIn // the session has ended meanwhile
	}
	if err != nil {
		return err
	}
	s.Renew(w, in)
	s.SetNotice(w, "totp-added")
	web.SeeOther(w, r, s.Path(web.CodesPath))
	return nil
}

// removeTOTPPage asks whether the authenticator app shall be removed.
func (s *server) removeTOTPPage(w http.ResponseWriter, r *http.Request) error {
	who, err := s.Person(r)
	if err == nil {
		err = s.Provider.People.Confirmed(r.Context(), who)
	}
	if err != nil {
		return err
	}
	l := s.Language(r)
	page := templates.Ask{
		Frame:   s.Frame(r, ""),
		Heading: l.T("Remove your authenticator app?"),
		Message: l.T("Without another second factor, your password alone then suffices for signing in, and your recovery " +
			"codes stop working."),
		Action:    s.Path(web.TotpPath + "remove/"),
		Button:    l.T("Remove the app"),
		CancelURL: s.Path("/account/"),
		Danger:    true,
	}
	if s.Provider.People.Demands(who.User) {
		page.Message = l.T("This server requires a second factor: without another one, you add a new one at once, or when " +
			"you sign in the next time, and your recovery codes stop working.")
	}
	return s.Render(w, r, http.StatusOK, page)
}

// removeTOTP removes the authenticator app.
func (s *server) removeTOTP(w http.ResponseWriter, r *http.Request) error {
	who, err := s.Person(r)
	if err != nil {
		return err
	}
	in, err := s.Provider.People.RemoveTOTP(r.Context(), who)
	if errors.Is(err, oauth.ErrNotFound) {
		return s.ToAccount(w, r)
	}
	if err != nil {
		return err
	}
	s.Renew(w, in)
	s.SetNotice(w, "totp-gone")
	return s.ToAccount(w, r)
}

// codesPage shows new recovery codes once, and otherwise offers to make some.
func (s *server) codesPage(w http.ResponseWriter, r *http.Request) error {
	who, err := s.Person(r)
	if err == nil {
		err = s.Provider.People.Confirmed(r.Context(), who)
	}
	if err != nil {
		return err
	}
	f, err := s.Provider.People.Factors(r.Context(), who.User.ID)
	if err != nil {
		return err
	}
	if f.TOTPSince == 0 && f.Passkeys == 0 {
		return s.ToAccount(w, r)
	}
	return s.Render(w, r, http.StatusOK, templates.RecoveryCodes{
		Frame:      s.Frame(r, ""),
		Codes:      strings.Fields(s.TakeText(w, r, who, web.CodesPath, "recovery codes")),
		Left:       f.RecoveryCodes,
		Action:     s.Path(web.CodesPath),
		AccountURL: s.Path("/account/"),
	})
}

// newCodes makes recovery codes.
func (s *server) newCodes(w http.ResponseWriter, r *http.Request) error {
	who, err := s.Person(r)
	if err != nil {
		return err
	}
	codes, in, err := s.Provider.People.NewRecoveryCodes(r.Context(), who)
	if errors.Is(err, oauth.ErrNotFound) {
		return s.ToAccount(w, r)
	}
	if err != nil {
		return err
	}
	s.Renew(w, in)
	s.KeepText(w, who, web.CodesPath, "recovery codes", strings.Join(codes, " "))
	web.SeeOther(w, r, s.Path(web.CodesPath))
	return nil
}
