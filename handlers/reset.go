package handlers

import (
	"errors"
	"net/http"
	"strings"

	"mandate/provider/oauth"
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
