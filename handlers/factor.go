package handlers

import (
	"errors"
	"net/http"
	"net/url"
	"slices"

	"mandate/handlers/request"
	"mandate/provider/acr"
	"mandate/provider/authorize"
	"mandate/provider/oauth"
	"mandate/provider/people"
	"mandate/storage"
	"mandate/templates"
)

// stepping is what the page of the second factor is about.
type stepping struct {
	challenge *people.Challenge
	who       *storage.SignedIn // nil: the person is signing in
	next      string
	wanted    string
}

// challenged returns the challenge of this browser: that of a sign-in, or else that of its session.
// The challenge is nil if there is neither.
func (s *server) challenged(r *http.Request, values url.Values) (stepping, error) {
	found := stepping{next: s.ownAddress(values.Get("next")), wanted: values.Get("acr")}
	s.useLocalesOf(r, found.next)
	if ticket := s.longCookie(r, signInCookie, people.MostTicket); ticket != "" {
		c, err := s.provider.People.SecondStep(r.Context(), ticket)
		if err == nil {
			request.Note(r.Context(), "subject", c.User.ID)
			found.challenge = c
			return found, nil
		}
		if !errors.Is(err, oauth.ErrNotFound) {
			return found, err
		}
	}
	who, err := s.signedIn(r)
	if err != nil || who == nil {
		return found, err
	}
	found.who = who
	found.challenge, err = s.provider.People.StepUp(r.Context(), who)
	return found, err
}

// again leads to the login page, and from there back to the same step.
func (s *server) stepAgain(w http.ResponseWriter, r *http.Request, at stepping, why authorize.Reason) error {
	next := at.next
	if at.who != nil {
		next = s.factorAddress(at.next, at.wanted)
	}
	return s.toLogin(w, r, next, "", why)
}

// factorPage asks for a second factor, or shows how to add one.
func (s *server) factorPage(w http.ResponseWriter, r *http.Request) error {
	values, err := query(r)
	if err != nil {
		return err
	}
	at, err := s.challenged(r, values)
	switch {
	case err != nil:
		return err
	case at.challenge == nil:
		return s.stepAgain(w, r, at, "")
	case at.who != nil && (at.wanted == "" || acr.Satisfies(at.who.Session.AMR, at.wanted)):
		// Nothing is missing: the person came back to a page of before.
		seeOther(w, r, at.next)
		return nil
	}
	return s.showStep(w, r, http.StatusOK, at, nil, url.Values{})
}

// showStep shows the page of the second factor, with the error of an answer.
func (s *server) showStep(
	w http.ResponseWriter,
	r *http.Request,
	status int,
	at stepping,
	wrong *oauth.Error,
	form url.Values,
) error {
	message, by := "", form.Get("by")
	if wrong != nil {
		message, _ = said(s.language(r), wrong)
	}
	ways := at.challenge.Ways(at.wanted)
	if slices.Contains(ways, people.ByNewPasskey) {
		seeOther(w, r, s.path(newPasskeyPath)+"?next="+url.QueryEscape(asciiURL(at.next)))
		return nil
	}
	if slices.Contains(ways, people.ByNewTOTP) {
		page, err := s.newTOTPPage(r, at.challenge, form.Get("secret"), message)
		if errors.Is(err, people.ErrConfirm) {
			return s.stepAgain(w, r, at, confirmLogin)
		}
		if err != nil {
			return err
		}
		page.Action, page.Next, page.Wanted, page.Required = s.path("/login/factor/"), at.next, at.wanted, true
		page.Account, page.SwitchURL = at.challenge.User.Username, s.switchURL(at.next)
		return s.render(w, r, status, page)
	}
	page := templates.Factor{
		Frame:     s.frame(r, ""),
		Action:    s.path("/login/factor/"),
		Next:      at.next,
		Wanted:    at.wanted,
		StepUp:    at.who != nil,
		Account:   at.challenge.User.Username,
		SwitchURL: s.switchURL(at.next),
		Code:      slices.Contains(ways, people.ByTOTP),
		Recovery:  slices.Contains(ways, people.ByRecovery),
	}
	switch by {
	case people.ByRecovery:
		page.RecoveryError = message
	case people.ByPasskey:
		page.PasskeyError = message
	default:
		page.CodeError = message
	}
	if slices.Contains(ways, people.ByPasskey) {
		asked, err := s.provider.Passkeys.AskForStep(r.Context(), at.challenge)
		if err != nil {
			return err
		}
		page.Passkey = &templates.Ceremony{
			Action:  page.Action,
			Options: asked.Options,
			Ticket:  asked.Ticket,
			Again:   s.factorAddress(at.next, at.wanted),
		}
	}
	return s.render(w, r, status, page)
}

// answerStep checks the second factor that a form has sent.
func (s *server) answerStep(r *http.Request, c *people.Challenge) (*people.SignIn, error) {
	if r.PostForm.Get("by") == people.ByPasskey && s.provider.Passkeys.Offered() {
		return s.provider.Passkeys.Answer(r.Context(), c, authenticatorResponse(r), s.browser(r))
	}
	return s.provider.People.Answer(r.Context(), c, answerIn(r.PostForm), s.browser(r))
}

// factor checks the second factor. It begins the session, or makes it stronger.
func (s *server) factor(w http.ResponseWriter, r *http.Request) error {
	err := s.parseForm(r)
	if err != nil {
		return err
	}
	at, err := s.challenged(r, r.PostForm)
	if err != nil {
		return err
	}
	if at.challenge == nil {
		return s.stepAgain(w, r, at, "")
	}
	in, err := s.answerStep(r, at.challenge)
	if e, refused := oauth.Refused(err); refused {
		request.Note(r.Context(), "error", e.Code)
		retryAfter(w, e)
		return s.showStep(w, r, formStatus(e), at, e, r.PostForm)
	}
	switch {
	case errors.Is(err, people.ErrConfirm):
		return s.stepAgain(w, r, at, confirmLogin)
	case errors.Is(err, oauth.ErrNotFound):
		// The password was changed, or the session has ended.
		s.setCookie(w, signInCookie, "", 0)
		return s.stepAgain(w, r, at, "")
	case err != nil:
		return err
	}
	if at.who == nil {
		return s.begin(w, r, in, at.next)
	}
	s.strengthen(w, r, in, at)
	seeOther(w, r, at.next)
	return nil
}

// strengthen sets the cookies of a session that has become stronger. A person who has signed in for
// the same authorization request a moment ago need not sign in for it again.
func (s *server) strengthen(w http.ResponseWriter, r *http.Request, in *people.SignIn, at stepping) {
	s.setCookie(w, "session", in.Session, in.MaxAge)
	asked, kept := s.authorizationRequest(at.next), s.cookie(r, loginProof)
	if asked == nil || kept == "" {
		return
	}
	if proof := s.provider.Authorizations.RenewLoginProof(kept, at.who, in, asked); proof != "" {
		s.setCookie(w, loginProof, proof, authorize.LoginProofLife)
	}
}
