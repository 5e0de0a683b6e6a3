package signin

import (
	"encoding/base64"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"mandate/handlers/request"
	"mandate/handlers/web"
	"mandate/provider/oauth"
	"mandate/provider/people"
	"mandate/templates"
)

// The pages on which people make an account: with the link of an invitation, or with one that they asked for.

const (
	signUpPath      = "/sign-up/"
	askedSignUpPath = signUpPath + "asked/"
	// joiningCookie keeps where somebody goes on who asked for an account, until they come back with the link.
	joiningCookie = "joining"
	joiningLife   = time.Hour
	// mostJoining is the longest address that is kept. Proxies allow 8 KB for all cookies of a browser, and the
	// one of a person who is at another server has up to 3.6 KB.
	mostJoining = 1200
)

// signUpAddress returns the page for people without an account, or "" if they need an invitation.
func (s *server) signUpAddress(next string) string {
	if !s.Provider.Invitations.Open() {
		return ""
	}
	return s.withNext(signUpPath, next)
}

// withNext returns a page that leads to next.
func (s *server) withNext(page, next string) string {
	if next == s.Path("/") {
		return s.Path(page)
	}
	return s.Path(page) + "?next=" + url.QueryEscape(web.ASCIIURL(next))
}

func (s *server) askSignUpForm(r *http.Request, values url.Values) templates.AskSignUp {
	next := s.OwnAddress(values.Get("next"))
	s.UseLocalesOf(r, next)
	page := templates.AskSignUp{
		Frame:    s.Frame(r, ""),
		Action:   s.Path(signUpPath),
		LoginURL: s.withNext("/login/", next),
		Next:     next,
	}
	if only := s.Provider.Invitations.Domains(); len(only) > 0 {
		page.Domains = "@" + strings.Join(only, ", @")
	}
	return page
}

// askSignUpPage asks for the address of somebody who wants an account.
func (s *server) askSignUpPage(w http.ResponseWriter, r *http.Request) error {
	if !s.Provider.Invitations.Open() {
		return oauth.ErrNotFound
	}
	values, err := web.Query(r)
	if err != nil {
		return err
	}
	return s.Render(w, r, http.StatusOK, s.askSignUpForm(r, values))
}

// askSignUp notes the request. The response does not depend on whether there is an account with the address.
func (s *server) askSignUp(w http.ResponseWriter, r *http.Request) error {
	err := s.ParseForm(r)
	if err != nil {
		return err
	}
	page := s.askSignUpForm(r, r.PostForm)
	email := strings.TrimSpace(r.PostForm.Get("email"))
	err = s.Provider.Invitations.Ask(r.Context(), email, s.Browser(r))
	if err == nil {
		if page.Next != s.Path("/") && len(page.Next) <= mostJoining {
			s.SetCookie(w, joiningCookie, base64.RawURLEncoding.EncodeToString([]byte(page.Next)), joiningLife)
		}
		web.SeeOther(w, r, s.withNext(askedSignUpPath, page.Next))
		return nil
	}
	why, err := s.Refused(w, r, err)
	if err != nil {
		return err
	}
	page.Email = templates.Field{Value: oauth.Clip(email, 600), Error: why.At("email")}
	page.Error = why.Limit
	return s.Render(w, r, why.Status, page)
}

// askedSignUpPage says where to look for the link. It is the same for every address.
func (s *server) askedSignUpPage(w http.ResponseWriter, r *http.Request) error {
	if !s.Provider.Invitations.Open() {
		return oauth.ErrNotFound
	}
	values, err := web.Query(r)
	if err != nil {
		return err
	}
	next := s.OwnAddress(values.Get("next"))
	s.UseLocalesOf(r, next)
	return s.Render(w, r, http.StatusOK, templates.AskedSignUp{
		Frame:    s.Frame(r, ""),
		Hours:    int(people.SignUpLife / time.Hour),
		AgainURL: s.withNext(signUpPath, next),
		LoginURL: s.withNext("/login/", next),
	})
}

// joining returns where somebody goes on who has made an account in the browser in which they asked for it.
func (s *server) joining(r *http.Request) string {
	kept, err := base64.RawURLEncoding.DecodeString(s.LongCookie(r, joiningCookie, 4096))
	if err != nil {
		return s.Path("/")
	}
	return s.OwnAddress(string(kept))
}

// signUpForm returns the form behind a link. It changes nothing: mail scanners open links too.
func (s *server) signUpForm(r *http.Request, link string) (templates.SignUp, error) {
	i, err := s.Provider.Invitations.ByLink(r.Context(), link)
	s.UseLocalesOf(r, s.joining(r))
	page := templates.SignUp{
		Frame:         s.Frame(r, ""),
		PasswordHint:  s.PasswordHint(s.Language(r)),
		Action:        s.Path(signUpPath + url.PathEscape(link) + "/"),
		Email:         i.Email,
		Own:           s.Provider.Invitations.MakesAccounts(),
		UsernameField: templates.Field{Value: i.Email},
		Passkeys:      s.Provider.Passkeys.Offered(),
		Next:          s.joining(r),
	}
	if len(i.Email) > people.MaxUsername {
		page.UsernameField.Value = "" // it is too long for a username
	}
	if !i.Asked {
		for _, other := range s.Provider.Identities.Servers() {
			if other.NewPeople == people.NewPeopleInvited {
				page.Servers = append(page.Servers, templates.ServerButton{
					Label:  other.Label,
					Action: s.Path(withPath + other.Name + "/"),
				})
			}
		}
	}
	return page, err
}

// signUpPage shows the form behind a link.
func (s *server) signUpPage(w http.ResponseWriter, r *http.Request) error {
	link, err := secretLink(w, r)
	if err != nil {
		return err
	}
	page, err := s.signUpForm(r, link)
	if err != nil {
		return s.noSignUp(w, r, err)
	}
	return s.Render(w, r, http.StatusOK, page)
}

// noSignUp shows that a link makes no account. It returns every other error.
func (s *server) noSignUp(w http.ResponseWriter, r *http.Request, err error) error {
	l := s.Language(r)
	switch {
	case errors.Is(err, oauth.ErrNotFound):
		signIn := templates.Link{URL: s.Path("/login/"), Label: l.T("Sign in")}
		if s.Provider.Invitations.Open() {
			return s.ShowDeadLink(
				w, r,
				l.T("It was already used, or it has expired, or the invitation was withdrawn. If you have an account already, "+
					"sign in. Otherwise ask for a new link here. If you were invited, the person who invited you can also send you "+
					"a new invitation."),
				signIn, templates.Link{URL: s.withNext(signUpPath, s.joining(r)), Label: l.T("Ask for a new link")},
			)
		}
		return s.ShowDeadLink(
			w, r,
			l.T("It was already used, or it has expired, or the invitation was withdrawn. If you have an account already, "+
				"sign in. Otherwise ask the person who invited you for a new invitation."),
			signIn,
		)
	case errors.Is(err, people.ErrAddressTaken):
		const status, code = http.StatusConflict, "conflict"
		request.Note(r.Context(), "error", "somebody has the address of the link")
		request.Outcome(r.Context(), code)
		return s.Render(w, r, status, templates.ErrorPage{
			Frame:     s.Frame(r, ""),
			Status:    status,
			Heading:   l.T("There is an account with your address already"),
			Message:   l.T("Sign in with it. If it is not yours, tell an administrator of this server."),
			Code:      code,
			RequestID: request.ID(r),
			BackURL:   s.Path("/login/"),
			BackLabel: l.T("Sign in"),
		})
	}
	return err
}

// signUp makes an account with a password, or leads to the page that makes one with a passkey.
func (s *server) signUp(w http.ResponseWriter, r *http.Request) error {
	link, err := s.sentLink(w, r)
	if err != nil {
		return err
	}
	form := r.PostForm
	sent := people.NewAccount{
		Username:  strings.TrimSpace(form.Get("username")),
		FirstName: strings.TrimSpace(form.Get("first_name")),
		LastName:  strings.TrimSpace(form.Get("last_name")),
		Password:  form.Get("password"),
	}
	if form.Get("way") == "passkey" && s.Provider.Passkeys.Offered() {
		var asked people.Ceremony
		asked, err = s.Provider.Invitations.AskForPasskey(r.Context(), link, sent, s.Browser(r))
		if err == nil {
			here := s.Path(signUpPath + url.PathEscape(link) + "/")
			return s.Render(w, r, http.StatusOK, templates.SignUpPasskey{
				Frame:    s.Frame(r, ""),
				Username: sent.Username,
				BackURL:  here,
				Request:  templates.Ceremony{Action: here + "passkey/", Options: asked.Options, Ticket: asked.Ticket, Again: here},
			})
		}
	} else {
		var in *people.SignIn
		in, err = s.Provider.Invitations.WithPassword(r.Context(), link, sent, s.Browser(r))
		if err == nil {
			return s.joined(w, r, in)
		}
	}
	return s.correctSignUp(w, r, link, sent, err)
}

// signUpWithPasskey makes an account with a new passkey (WebAuthn-3 §7.1).
func (s *server) signUpWithPasskey(w http.ResponseWriter, r *http.Request) error {
	link, err := s.sentLink(w, r)
	if err != nil {
		return err
	}
	in, err := s.Provider.Invitations.WithPasskey(
		r.Context(), link, authenticatorResponse(r), web.DeviceName(s.Language(r), s.Browser(r).UserAgent), s.Browser(r),
	)
	if err != nil {
		return s.correctSignUp(w, r, link, people.NewAccount{}, err)
	}
	return s.joined(w, r, in)
}

// toSignUpPage redirects to the page of the link. It serves GET at the path that only takes POST.
func (s *server) toSignUpPage(w http.ResponseWriter, r *http.Request) error {
	link, err := secretLink(w, r)
	if err != nil {
		return err
	}
	web.SeeOther(w, r, s.Path(signUpPath+url.PathEscape(link)+"/"))
	return nil
}

// joined signs a person in who has made an account, and leads to where they were going.
func (s *server) joined(w http.ResponseWriter, r *http.Request, in *people.SignIn) error {
	next := s.joining(r)
	s.SetCookie(w, joiningCookie, "", 0)
	if in.Session != "" {
		s.SetNotice(w, "joined")
	}
	return s.begin(w, r, in, next)
}

// correctSignUp shows the form again, with what is wrong.
func (s *server) correctSignUp(
	w http.ResponseWriter,
	r *http.Request,
	link string,
	sent people.NewAccount,
	wrong error,
) error {
	if errors.Is(wrong, oauth.ErrNotFound) || errors.Is(wrong, people.ErrAddressTaken) {
		return s.noSignUp(w, r, wrong)
	}
	status, refusal := web.InvalidForm, ""
	invalid, ok := errors.AsType[*oauth.Invalid](wrong)
	if ok {
		web.NoteInvalid(r, invalid)
	} else if e, refused := oauth.Refused(wrong); refused {
		web.NoteError(r, e)
		web.RetryAfter(w, e)
		status = web.FormStatus(e)
		refusal, _ = web.Said(s.Language(r), e)
	} else {
		return wrong
	}
	page, err := s.signUpForm(r, link)
	if err != nil {
		return s.noSignUp(w, r, err)
	}
	if sent.Username != "" || invalid != nil {
		page.UsernameField.Value = sent.Username
	}
	at := func(field string) string { return web.Problem(s.Language(r), invalid, field) }
	page.UsernameField.Error, page.Error = at("username"), refusal
	page.FirstName = templates.Field{Value: sent.FirstName, Error: at("first_name")}
	page.LastName = templates.Field{Value: sent.LastName, Error: at("last_name")}
	page.Password.Error = at("password")
	return s.Render(w, r, status, page)
}
