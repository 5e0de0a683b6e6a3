package handlers

import (
	"errors"
	"net/http"
	"net/url"
	"strings"

	"mandate/handlers/request"
	"mandate/provider/oauth"
	"mandate/provider/people"
	"mandate/storage"
	"mandate/templates"
)

// The pages on which people change how they sign in. Each needs a fresh sign-in: the adapter of pages
// leads a person to the login page for people.ErrConfirm, and back.

// totpPage shows how to add an authenticator app.
func (s *server) totpPage(w http.ResponseWriter, r *http.Request) error {
	who, err := s.person(r)
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
	c, err := s.provider.People.StepUp(r.Context(), who)
	if err != nil {
		return err
	}
	if c.Factors.TOTPSince > 0 {
		return s.toAccount(w, r) // there is one already
	}
	page, err := s.newTOTPPage(r, c, form.Get("secret"), message)
	if err != nil {
		return err
	}
	page.Action, page.Account, page.CancelURL = s.path(totpPath), who.User.Username, s.path("/account/")
	return s.render(w, r, status, page)
}

// addTOTP adds an authenticator app that has shown its first code.
func (s *server) addTOTP(w http.ResponseWriter, r *http.Request) error {
	who, err := s.person(r)
	if err != nil {
		return err
	}
	err = s.parseForm(r)
	if err != nil {
		return err
	}
	c, err := s.provider.People.StepUp(r.Context(), who)
	if err != nil {
		return err
	}
	answer := answerIn(r.PostForm)
	answer.By = people.ByNewTOTP
	in, err := s.provider.People.Answer(r.Context(), c, answer, s.browser(r))
	if e, refused := oauth.Refused(err); refused {
		request.Note(r.Context(), "error", e.Code)
		retryAfter(w, e)
		text, _ := said(s.language(r), e)
		return s.showTOTPPage(w, r, formStatus(e), who, text, r.PostForm)
	}
	if errors.Is(err, oauth.ErrNotFound) {
		return errSignIn // the session has ended meanwhile
	}
	if err != nil {
		return err
	}
	s.renew(w, in)
	s.setNotice(w, "totp-added")
	seeOther(w, r, s.path(codesPath))
	return nil
}

// removeTOTPPage asks whether the authenticator app shall be removed.
func (s *server) removeTOTPPage(w http.ResponseWriter, r *http.Request) error {
	who, err := s.person(r)
	if err == nil {
		err = s.provider.People.Confirmed(r.Context(), who)
	}
	if err != nil {
		return err
	}
	l := s.language(r)
	page := templates.Ask{
		Frame:     s.frame(r, ""),
		Heading:   l.T("Remove your authenticator app?"),
		Message:   l.T("Without another second factor, your password alone then suffices for signing in, and your recovery codes stop working."),
		Action:    s.path(totpPath + "remove/"),
		Button:    l.T("Remove the app"),
		CancelURL: s.path("/account/"),
		Danger:    true,
	}
	if s.provider.People.Demands(who.User) {
		page.Message = l.T("This server requires a second factor: without another one, you add a new one at once, or when you sign in the next time, and your recovery codes stop working.")
	}
	return s.render(w, r, http.StatusOK, page)
}

// removeTOTP removes the authenticator app.
func (s *server) removeTOTP(w http.ResponseWriter, r *http.Request) error {
	who, err := s.person(r)
	if err != nil {
		return err
	}
	in, err := s.provider.People.RemoveTOTP(r.Context(), who)
	if errors.Is(err, oauth.ErrNotFound) {
		return s.toAccount(w, r)
	}
	if err != nil {
		return err
	}
	s.renew(w, in)
	s.setNotice(w, "totp-gone")
	return s.toAccount(w, r)
}

// codesPage shows new recovery codes once, and otherwise offers to make some.
func (s *server) codesPage(w http.ResponseWriter, r *http.Request) error {
	who, err := s.person(r)
	if err == nil {
		err = s.provider.People.Confirmed(r.Context(), who)
	}
	if err != nil {
		return err
	}
	f, err := s.provider.People.Factors(r.Context(), who.User.ID)
	if err != nil {
		return err
	}
	if f.TOTPSince == 0 && f.Passkeys == 0 {
		return s.toAccount(w, r)
	}
	return s.render(w, r, http.StatusOK, templates.RecoveryCodes{
		Frame:      s.frame(r, ""),
		Codes:      strings.Fields(s.takeText(w, r, who, codesPath, "recovery codes")),
		Left:       f.RecoveryCodes,
		Action:     s.path(codesPath),
		AccountURL: s.path("/account/"),
	})
}

// newCodes makes recovery codes.
func (s *server) newCodes(w http.ResponseWriter, r *http.Request) error {
	who, err := s.person(r)
	if err != nil {
		return err
	}
	codes, in, err := s.provider.People.NewRecoveryCodes(r.Context(), who)
	if errors.Is(err, oauth.ErrNotFound) {
		return s.toAccount(w, r)
	}
	if err != nil {
		return err
	}
	s.renew(w, in)
	s.keepText(w, who, codesPath, "recovery codes", strings.Join(codes, " "))
	seeOther(w, r, s.path(codesPath))
	return nil
}
