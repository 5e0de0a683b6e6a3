package account

import (
	"errors"
	"net/http"
	"strings"

	"mandate/handlers/web"
	"mandate/provider/oauth"
	"mandate/provider/people"
	"mandate/templates"
)

const emailPath = "/account/email/"

// emailPage asks for the address that a person wants to have. The person must have signed in a moment ago.
func (s *server) emailPage(w http.ResponseWriter, r *http.Request) error {
	who, err := s.Person(r)
	if err == nil {
		err = s.Provider.People.MayChangeAddress(r.Context(), who)
	}
	if err != nil {
		return err
	}
	form, err := s.KeptForm(w, r, who)
	if err != nil {
		return err
	}
	return s.Render(w, r, http.StatusOK, s.emailForm(r, who.User.Email, templates.Field{Value: form.Get("email")}))
}

func (s *server) emailForm(r *http.Request, present string, email templates.Field) templates.NewEmail {
	return templates.NewEmail{Frame: s.Frame(r, ""), Action: s.Path(emailPath), CancelURL: s.Path("/account/"),
		Present: present, Email: email}
}

// askEmail sends a link to the new address. The response does not depend on whether another account has it.
func (s *server) askEmail(w http.ResponseWriter, r *http.Request) error {
	who, err := s.Person(r)
	if err != nil {
		return err
	}
	err = s.ParseForm(r)
	if err != nil {
		return err
	}
	email := strings.TrimSpace(r.PostForm.Get("email"))
	err = s.Provider.People.AskNewAddress(r.Context(), who, email, s.Browser(r))
	if err == nil {
		s.SetNotice(w, "email-asked")
		web.SeeOther(w, r, s.Path("/account/"))
		return nil
	}
	why, err := s.Refused(w, r, err)
	if err != nil {
		return err
	}
	field := templates.Field{Value: oauth.Clip(email, 300), Error: why.At("email")}
	page := s.emailForm(r, who.User.Email, field)
	page.Error = why.Limit
	return s.Render(w, r, why.Status, page)
}

// newEmailPage asks for the confirmation behind a link. It changes nothing.
func (s *server) newEmailPage(w http.ResponseWriter, r *http.Request) error {
	web.OwnReferrer(w)
	who, err := s.Person(r)
	if err != nil {
		return err
	}
	link, err := web.Variable(r, "link")
	if err != nil {
		return err
	}
	email, err := s.Provider.People.NewAddressLink(r.Context(), who, link)
	if err != nil {
		return s.deadEmailLink(w, r, err)
	}
	l := s.Language(r)
	return s.Render(w, r, http.StatusOK, templates.Ask{
		Frame:     s.Frame(r, ""),
		Heading:   l.T("Use this email address?"),
		Message:   l.T("Your account %[1]s gets the address %[2]s.", who.User.Username, email),
		Details:   []string{l.T("Messages about your account go there from now on.")},
		Action:    r.URL.EscapedPath(),
		Button:    l.T("Confirm the address"),
		CancelURL: s.Path("/account/"),
	})
}

// confirmEmail uses the link.
func (s *server) confirmEmail(w http.ResponseWriter, r *http.Request) error {
	web.OwnReferrer(w)
	who, err := s.Person(r)
	if err != nil {
		return err
	}
	link, err := web.Variable(r, "link")
	var in *people.SignIn
	if err == nil {
		in, err = s.Provider.People.ConfirmNewAddress(r.Context(), who, link)
	}
	if err != nil {
		return s.deadEmailLink(w, r, err)
	}
	s.Renew(w, in)
	s.SetNotice(w, "email-changed")
	web.SeeOther(w, r, s.Path("/account/"))
	return nil
}

// deadEmailLink shows that a link does not work. Other errors it returns.
func (s *server) deadEmailLink(w http.ResponseWriter, r *http.Request, err error) error {
	if !errors.Is(err, oauth.ErrNotFound) {
		return err
	}
	l := s.Language(r)
	return s.ShowDeadLink(
		w, r,
		l.T("It was already used, or it has expired, or it was asked for in another browser, or another account has the "+
			"address by now. Ask for a new link on your account page."),
		templates.Link{URL: s.Path("/account/"), Label: l.T("Go to your account")},
	)
}

// formerEmailPage asks whether a former address shall be that of its account again. It changes nothing.
func (s *server) formerEmailPage(w http.ResponseWriter, r *http.Request) error {
	web.OwnReferrer(w)
	link, err := web.Variable(r, "link")
	if err != nil {
		return err
	}
	u, email, err := s.Provider.People.FormerAddressLink(r.Context(), link)
	if err != nil {
		return s.deadWayBack(w, r, err)
	}
	l := s.Language(r)
	return s.Render(w, r, http.StatusOK, templates.Ask{
		Frame:     s.Frame(r, ""),
		Heading:   l.T("Take the address back?"),
		Message:   l.T("The account %[1]s gets the address %[2]s again.", u.Username, email),
		Details:   []string{l.T("Everybody who uses the account is signed out, and applications lose their access.")},
		Action:    r.URL.EscapedPath(),
		Button:    l.T("Take the address back"),
		CancelURL: s.Path("/"),
		Danger:    true,
	})
}

// returnEmail uses the link, and leads to the form for another password.
func (s *server) returnEmail(w http.ResponseWriter, r *http.Request) error {
	web.OwnReferrer(w)
	link, err := web.Variable(r, "link")
	if err == nil {
		err = s.Provider.People.ReturnAddress(r.Context(), link)
	}
	if err != nil {
		return s.deadWayBack(w, r, err)
	}
	s.SetNotice(w, "email-back")
	web.SeeOther(w, r, s.Path("/password/forgot/"))
	return nil
}

// deadWayBack is deadEmailLink for the way back to a former address.
func (s *server) deadWayBack(w http.ResponseWriter, r *http.Request, err error) error {
	if !errors.Is(err, oauth.ErrNotFound) {
		return err
	}
	l := s.Language(r)
	return s.ShowDeadLink(
		w, r,
		l.T("It was already used, or it has expired, or another account has the address by now. Ask an administrator."),
		templates.Link{URL: s.Path("/"), Label: l.T("Go to the start page")},
	)
}
