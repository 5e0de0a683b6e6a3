package handlers

import (
	"errors"
	"net/http"
	"strings"
	"time"

	"mandate/handlers/request"
	"mandate/provider/oauth"
	"mandate/provider/people"
	"mandate/storage"
	"mandate/templates"
)

const forgotPath = "/password/forgot/"

func (s *server) forgotForm(r *http.Request) templates.Forgot {
	return templates.Forgot{Frame: s.frame(r, ""), Action: s.path(forgotPath), LoginURL: s.path("/login/"), NoMail: !s.provider.People.SendsMail()}
}

// forgotPage asks for the account whose password is forgotten.
func (s *server) forgotPage(w http.ResponseWriter, r *http.Request) error {
	return s.render(w, r, http.StatusOK, s.forgotForm(r))
}

// forgot notes the request. The response does not depend on whether the account exists.
func (s *server) forgot(w http.ResponseWriter, r *http.Request) error {
	err := s.parseForm(r)
	if err != nil {
		return err
	}
	name := strings.TrimSpace(r.PostForm.Get("username"))
	err = s.provider.People.AskReset(r.Context(), name, s.browser(r))
	if err == nil {
		s.setNotice(w, "reset-asked")
		seeOther(w, r, s.path("/login/"))
		return nil
	}
	why, err := s.refused(w, r, err)
	if err != nil {
		return err
	}
	page := s.forgotForm(r)
	page.Name = templates.Field{Value: oauth.Clip(name, 600), Error: why.at("username")}
	page.Error = why.limit
	return s.render(w, r, why.status, page)
}

// ownReferrer keeps the path of a page out of the Referer of its own style sheet, because the path
// contains a secret. The value is not no-referrer: see pageHeaders.
func ownReferrer(w http.ResponseWriter) {
	w.Header().Set("Referrer-Policy", "strict-origin")
}

// secretLink returns the secret of the path.
func secretLink(w http.ResponseWriter, r *http.Request) (string, error) {
	ownReferrer(w)
	return variable(r, "link")
}

// sentLink is secretLink for a form that was sent.
func (s *server) sentLink(w http.ResponseWriter, r *http.Request) (string, error) {
	link, err := secretLink(w, r)
	if err == nil {
		err = s.parseForm(r)
	}
	return link, err
}

// resetPage shows the form behind a link. It changes nothing: mail scanners open links too.
func (s *server) resetPage(w http.ResponseWriter, r *http.Request) error {
	link, err := secretLink(w, r)
	if err != nil {
		return err
	}
	u, err := s.provider.People.ResetLink(r.Context(), link)
	if errors.Is(err, oauth.ErrNotFound) {
		return s.deadLink(w, r)
	}
	if err != nil {
		return err
	}
	return s.render(w, r, http.StatusOK, templates.Reset{Frame: s.frame(r, ""), Action: r.URL.EscapedPath(), Account: u.Username, PasswordHint: s.passwordHint(s.language(r))})
}

// deadLink shows that a link does not work.
func (s *server) deadLink(w http.ResponseWriter, r *http.Request) error {
	l := s.language(r)
	return s.showDeadLink(w, r, l.T("It was already used, or it has expired, or the account was changed after it was sent. Ask for a new link."),
		templates.Link{URL: s.path(forgotPath), Label: l.T("Ask for a new link")})
}

// showDeadLink shows that a link does not work, and where to go on.
func (s *server) showDeadLink(w http.ResponseWriter, r *http.Request, text string, ways ...templates.Link) error {
	const status, code = http.StatusNotFound, "not_found"
	request.Note(r.Context(), "error", "the link was already used, has ended, or is not valid")
	request.Outcome(r.Context(), code)
	return s.render(w, r, status, templates.ErrorPage{Frame: s.frame(r, ""), Status: status, Heading: s.language(r).T("This link does not work any more"),
		Message: text, Code: code, RequestID: request.ID(r), BackURL: ways[0].URL, BackLabel: ways[0].Label, More: ways[1:]})
}

// reset sets the password. It does not sign the person in: whoever reads the mail must also pass
// the other steps of the sign-in.
func (s *server) reset(w http.ResponseWriter, r *http.Request) error {
	link, err := s.sentLink(w, r)
	if err != nil {
		return err
	}
	err = s.provider.People.ResetByLink(r.Context(), link, r.PostForm.Get("new_password"))
	if err == nil {
		s.setNotice(w, "reset")
		seeOther(w, r, s.path("/login/"))
		return nil
	}
	if errors.Is(err, oauth.ErrNotFound) {
		return s.deadLink(w, r)
	}
	why, err := s.refused(w, r, err)
	if err != nil {
		return err
	}
	u, err := s.provider.People.ResetLink(r.Context(), link)
	if errors.Is(err, oauth.ErrNotFound) {
		return s.deadLink(w, r)
	}
	if err != nil {
		return err
	}
	page := templates.Reset{Frame: s.frame(r, ""), Action: r.URL.EscapedPath(), Account: u.Username, PasswordHint: s.passwordHint(s.language(r)), Error: why.limit}
	page.Password.Error = why.at("new_password")
	return s.render(w, r, why.status, page)
}

// makeResetLink makes a link for a person, which the administrator passes on. The person's page
// shows it once.
func (s *server) makeResetLink(w http.ResponseWriter, r *http.Request) error {
	who, u, err := s.namedUser(r)
	if err != nil {
		return err
	}
	actor, err := s.acting(r, who)
	if err != nil {
		return err
	}
	link, _, err := s.provider.People.MakeResetLink(r.Context(), actor, u.ID)
	if invalid, ok := errors.AsType[*oauth.Invalid](err); ok {
		noteInvalid(r, invalid)
		form, err := s.storedUser(r, u)
		if err != nil {
			return err
		}
		page, err := s.userForm(r, who, &u, form, invalid)
		if err != nil {
			return err
		}
		return s.render(w, r, invalidForm, page)
	}
	if err != nil {
		return err
	}
	s.keepText(w, who, personPath(u.ID), resetLinkOf(u), link)
	seeOther(w, r, s.userPath(u.ID))
	return nil
}

// toResetLink leads back to the page with the button, for an administrator who had to sign in again.
func (s *server) toResetLink(w http.ResponseWriter, r *http.Request) error {
	who, u, err := s.namedUser(r)
	if err != nil {
		return err
	}
	err = s.sayOnceMore(w, r, who)
	if err != nil {
		return err
	}
	seeOther(w, r, s.userPath(u.ID)) // not to the button: the message is at the top
	return nil
}

// resetLinkOf names the text that carries a link to the page of a person.
func resetLinkOf(u storage.User) string { return "reset link of " + u.ID }

// resetMinutes is how long a link works.
const resetMinutes = int(people.ResetLife / time.Minute)
