package signin

import (
	"errors"
	"net/http"
	"strings"

	"mandate/handlers/web"
	"mandate/provider/oauth"
	"mandate/templates"
)

const forgotPath = "/password/forgot/"

func (s *server) forgotForm(r *http.Request) templates.Forgot {
	return templates.Forgot{Frame: s.Frame(r, ""), Action: s.Path(forgotPath), LoginURL: s.Path("/login/"),
		NoMail: !s.Provider.People.SendsMail()}
}

// forgotPage asks for the account whose password is forgotten.
func (s *server) forgotPage(w http.ResponseWriter, r *http.Request) error {
	return s.Render(w, r, http.StatusOK, s.forgotForm(r))
}

// forgot notes the request. The response does not depend on whether the account exists.
func (s *server) forgot(w http.ResponseWriter, r *http.Request) error {
	err := s.ParseForm(r)
	if err != nil {
		return err
	}
	name := strings.TrimSpace(r.PostForm.Get("username"))
	err = s.Provider.People.AskReset(r.Context(), name, s.Browser(r))
	if err == nil {
		s.SetNotice(w, "reset-asked")
		web.SeeOther(w, r, s.Path("/login/"))
		return nil
	}
	why, err := s.Refused(w, r, err)
	if err != nil {
		return err
	}
	page := s.forgotForm(r)
	page.Name = templates.Field{Value: oauth.Clip(name, 600), Error: why.At("username")}
	page.Error = why.Limit
	return s.Render(w, r, why.Status, page)
}

// secretLink returns the secret of the path.
func secretLink(w http.ResponseWriter, r *http.Request) (string, error) {
	web.OwnReferrer(w)
	return web.Variable(r, "link")
}

// sentLink is secretLink for a form that was sent.
func (s *server) sentLink(w http.ResponseWriter, r *http.Request) (string, error) {
	link, err := secretLink(w, r)
	if err == nil {
		err = s.ParseForm(r)
	}
	return link, err
}

// resetPage shows the form behind a link. It changes nothing: mail scanners open links too.
func (s *server) resetPage(w http.ResponseWriter, r *http.Request) error {
	link, err := secretLink(w, r)
	if err != nil {
		return err
	}
	u, err := s.Provider.People.ResetLink(r.Context(), link)
	if errors.Is(err, oauth.ErrNotFound) {
		return s.deadLink(w, r)
	}
	if err != nil {
		return err
	}
	return s.Render(w, r, http.StatusOK,
		templates.Reset{Frame: s.Frame(r, ""), Action: r.URL.EscapedPath(), Account: u.Username,
			PasswordHint: s.PasswordHint(s.Language(r))})
}

// deadLink shows that a link does not work.
func (s *server) deadLink(w http.ResponseWriter, r *http.Request) error {
	l := s.Language(r)
	return s.ShowDeadLink(w, r,
		l.T("It was already used, or it has expired, or the account was changed after it was sent. Ask for a new link."),
		templates.Link{URL: s.Path(forgotPath), Label: l.T("Ask for a new link")})
}

// reset sets the password. It does not sign the person in: whoever reads the mail must also pass
// the other steps of the sign-in.
func (s *server) reset(w http.ResponseWriter, r *http.Request) error {
	link, err := s.sentLink(w, r)
	if err != nil {
		return err
	}
	err = s.Provider.People.ResetByLink(r.Context(), link, r.PostForm.Get("new_password"))
	if err == nil {
		s.SetNotice(w, "reset")
		web.SeeOther(w, r, s.Path("/login/"))
		return nil
	}
	if errors.Is(err, oauth.ErrNotFound) {
		return s.deadLink(w, r)
	}
	why, err := s.Refused(w, r, err)
	if err != nil {
		return err
	}
	u, err := s.Provider.People.ResetLink(r.Context(), link)
	if errors.Is(err, oauth.ErrNotFound) {
		return s.deadLink(w, r)
	}
	if err != nil {
		return err
	}
	page := templates.Reset{Frame: s.Frame(r, ""), Action: r.URL.EscapedPath(), Account: u.Username,
		PasswordHint: s.PasswordHint(s.Language(r)), Error: why.Limit}
	page.Password.Error = why.At("new_password")
	return s.Render(w, r, why.Status, page)
}
