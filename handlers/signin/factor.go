package signin

import (
	"errors"
	"net/http"
	"net/url"
	"slices"

	"mandate/handlers/request"
	"mandate/handlers/web"
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
	found := stepping{next: s.OwnAddress(values.Get("next")), wanted: values.Get("acr")}
	s.UseLocalesOf(r, found.next)
	if ticket := s.LongCookie(r, web.SignInCookie, people.MostTicket); ticket != "" {
		c, err := s.Provider.People.SecondStep(r.Context(), ticket)
		if err == nil {
			request.Note(r.Context(), "subject", c.User.ID)
			found.challenge = c
			return found, nil
		}
		if !errors.Is(err, oauth.ErrNotFound) {
			return found, err
		}
	}
	who, err := s.SignedIn(r)
	if err != nil || who == nil {
		return found, err
	}
	found.who = who
	found.challenge, err = s.Provider.People.StepUp(r.Context(), who)
	return found, err
}

// again leads to the login page, and from there back to the same step.
func (s *server) stepAgain(w http.ResponseWriter, r *http.Request, at stepping, why authorize.Reason) error {
	next := at.next
	if at.who != nil {
		next = s.FactorAddress(at.next, at.wanted)
	}
	return s.ToLogin(w, r, next, "", why)
}

// factorPage asks for a second factor, or shows how to add one.
func (s *server) factorPage(w http.ResponseWriter, r *http.Request) error {
	values, err := web.Query(r)
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
		web.SeeOther(w, r, at.next)
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
		message, _ = web.Said(s.Language(r), wrong)
	}
	ways := at.challenge.Ways(at.wanted)
	if slices.Contains(ways, people.ByNewPasskey) {
		web.SeeOther(w, r, s.Path(web.NewPasskeyPath)+"?next="+url.QueryEscape(web.ASCIIURL(at.next)))
		return nil
	}
	if slices.Contains(ways, people.ByNewTOTP) {
		page, err := s.NewTOTPPage(r, at.challenge, form.Get("secret"), message)
		if errors.Is(err, people.ErrConfirm) {
			return s.stepAgain(w, r, at, web.ConfirmLogin)
		}
		if err != nil {
			return err
		}
		page.Action, page.Next, page.Wanted, page.Required = s.Path("/login/factor/"), at.next, at.wanted, true
		page.Account, page.SwitchURL = at.challenge.User.Username, s.switchURL(at.next)
		return s.Render(w, r, status, page)
	}
	page := templates.Factor{
		Frame:     s.Frame(r, ""),
		Action:    s.Path("/login/factor/"),
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
		asked, err := s.Provider.Passkeys.AskForStep(r.Context(), at.challenge)
		if err != nil {
			return err
		}
		page.Passkey = &templates.Ceremony{
			Action:  page.Action,
			Options: asked.Options,
			Ticket:  asked.Ticket,
			Again:   s.FactorAddress(at.next, at.wanted),
		}
	}
	return s.Render(w, r, status, page)
}

// answerStep checks the second factor that a form has sent.
func (s *server) answerStep(r *http.Request, c *people.Challenge) (*people.SignIn, error) {
	if r.PostForm.Get("by") == people.ByPasskey && s.Provider.Passkeys.Offered() {
		return s.Provider.Passkeys.Answer(r.Context(), c, authenticatorResponse(r), s.Browser(r))
	}
	return s.Provider.People.Answer(r.Context(), c, web.AnswerIn(r.PostForm), s.Browser(r))
}

// factor checks the second factor. It begins the session, or makes it stronger.
func (s *server) factor(w http.ResponseWriter, r *http.Request) error {
	err := s.ParseForm(r)
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
		web.RetryAfter(w, e)
		return s.showStep(w, r, web.FormStatus(e), at, e, r.PostForm)
	}
	switch {
	case errors.Is(err, people.ErrConfirm):
		return s.stepAgain(w, r, at, web.ConfirmLogin)
	case errors.Is(err, oauth.ErrNotFound):
		// The password was changed, or the session has ended.
		s.SetCookie(w, web.SignInCookie, "", 0)
		return s.stepAgain(w, r, at, "")
	case err != nil:
		return err
	}
	if at.who == nil {
		return s.begin(w, r, in, at.next)
	}
	s.strengthen(w, r, in, at)
	web.SeeOther(w, r, at.next)
	return nil
}

// strengthen sets the cookies of a session that has become stronger. A person who has signed in for
// the same authorization request a moment ago need not sign in for it again.
func (s *server) strengthen(w http.ResponseWriter, r *http.Request, in *people.SignIn, at stepping) {
	s.SetCookie(w, "session", in.Session, in.MaxAge)
	asked, kept := s.AuthorizationRequest(at.next), s.Cookie(r, loginProof)
	if asked == nil || kept == "" {
		return
	}
	if proof := s.Provider.Authorizations.RenewLoginProof(kept, at.who, in, asked); proof != "" {
		s.SetCookie(w, loginProof, proof, authorize.LoginProofLife)
	}
}
