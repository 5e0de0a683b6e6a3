package signin

import (
	"errors"
	"net/http"
	"net/url"
	"time"

	"mandate/handlers/web"
	"mandate/provider/authorize"
	"mandate/provider/oauth"
	"mandate/provider/people"
	"mandate/storage"
	"mandate/templates"
)

// showLogin renders the login page, with a request for a passkey.
func (s *server) showLogin(w http.ResponseWriter, r *http.Request, status int, page templates.Login) error {
	if !s.Provider.Passkeys.Offered() {
		if r.Header.Get("Cookie") == "" { // a browser that does not send it back keeps no cookie
			s.SetCookie(w, web.BrowserCookie, authorize.NewBrowserName(), authorize.TicketLife*time.Second)
		}
		return s.Render(w, r, status, page)
	}
	browser := s.Cookie(r, web.BrowserCookie)
	if browser == "" {
		browser = authorize.NewBrowserName()
	}
	asked, err := s.Provider.Passkeys.AskForPasskey(browser)
	if err != nil {
		return err
	}
	s.SetCookie(w, web.BrowserCookie, browser, authorize.TicketLife*time.Second)
	again := url.Values{"next": {page.Next}}
	if page.Again.Reason != "" {
		again.Set("reason", page.Again.Reason)
	}
	page.Passkey = &templates.Ceremony{
		Action:  s.Path("/login/passkey/"),
		Options: asked.Options,
		Ticket:  asked.Ticket,
		Again:   s.Path("/login/") + "?" + again.Encode(),
	}
	return s.Render(w, r, status, page)
}

// toLoginPage redirects to the login page. It serves GET at a path that only takes POST.
func (s *server) toLoginPage(w http.ResponseWriter, r *http.Request) error {
	web.SeeOther(w, r, s.Path("/login/"))
	return nil
}

// passkeySignIn checks a passkey and begins a session (WebAuthn-3 §7.2).
func (s *server) passkeySignIn(w http.ResponseWriter, r *http.Request) error {
	err := s.ParseForm(r)
	if err != nil {
		return err
	}
	page, err := s.loginForm(r, r.PostForm)
	if err != nil {
		return err
	}
	in, err := s.Provider.Passkeys.SignIn(r.Context(), authenticatorResponse(r), s.Cookie(r, web.BrowserCookie),
		s.Browser(r))
	if e, refused := oauth.Refused(err); refused {
		web.NoteError(r, e)
		page.Error, _ = web.Said(s.Language(r), e)
		if r.Header.Get("Cookie") == "" { // the login page has set one
			page.Error = s.withoutCookies(r)
		}
		web.RetryAfter(w, e)
		return s.showLogin(w, r, web.FormStatus(e), page)
	}
	if err != nil {
		return err
	}
	return s.begin(w, r, in, page.Next)
}

// authenticatorResponse reads what the script sends after an authenticator has answered.
func authenticatorResponse(r *http.Request) people.Response {
	return people.Response{Ticket: r.PostForm.Get("ticket"), JSON: r.PostForm.Get("response")}
}

// newPasskeyPage asks the browser for a new passkey. The person must have signed in a moment ago. An
// authorization request that requires a passkey leads here, and goes on afterwards.
func (s *server) newPasskeyPage(w http.ResponseWriter, r *http.Request) error {
	who, err := s.Person(r)
	if err != nil {
		return err
	}
	values, err := web.Query(r)
	if err != nil {
		return err
	}
	return s.showNewPasskey(w, r, who, http.StatusOK, "", values.Get("next"))
}

func (s *server) showNewPasskey(
	w http.ResponseWriter,
	r *http.Request,
	who *storage.SignedIn,
	status int,
	problem, next string,
) error {
	if next != "" {
		s.UseLocalesOf(r, s.OwnAddress(next))
	}
	page := templates.NewPasskey{
		Frame:     s.Frame(r, ""),
		CancelURL: s.Path("/account/"),
		Most:      people.MaxPasskeys,
		Error:     problem,
	}
	path := s.Path(web.NewPasskeyPath)
	if next != "" {
		page.Next, page.Required = s.OwnAddress(next), true
		path += "?next=" + url.QueryEscape(web.ASCIIURL(page.Next))
	}
	asked, err := s.Provider.Passkeys.NewPasskey(r.Context(), who)
	switch {
	case errors.Is(err, people.ErrTooManyPasskeys):
		return s.Render(w, r, status, page)
	case err != nil:
		return err
	}
	page.Request = &templates.Ceremony{
		Action:  s.Path(web.NewPasskeyPath),
		Options: asked.Options,
		Ticket:  asked.Ticket,
		Again:   path,
	}
	return s.Render(w, r, status, page)
}

// addPasskey stores a new passkey (WebAuthn-3 §7.1). Its first name is that of the browser, and the
// person can change it afterwards: nothing that a form asks for can fail after the authenticator has
// made the passkey.
func (s *server) addPasskey(w http.ResponseWriter, r *http.Request) error {
	who, err := s.Person(r)
	if err != nil {
		return err
	}
	err = s.ParseForm(r)
	if err != nil {
		return err
	}
	next := r.PostForm.Get("next")
	made, in, err := s.Provider.Passkeys.Add(
		r.Context(), who, authenticatorResponse(r), web.DeviceName(s.Language(r), s.Browser(r).UserAgent),
	)
	if errors.Is(err, people.ErrTooManyPasskeys) {
		return s.showNewPasskey(w, r, who, web.InvalidForm, "", next)
	}
	if e, refused := oauth.Refused(err); refused {
		web.NoteError(r, e)
		text, _ := web.Said(s.Language(r), e)
		return s.showNewPasskey(w, r, who, web.InvalidForm, text, next)
	}
	if err != nil {
		return err
	}
	if next != "" {
		next = s.OwnAddress(next)
		s.strengthen(w, r, in, stepping{who: who, next: next})
		web.SeeOther(w, r, next)
		return nil
	}
	s.Renew(w, in)
	s.SetNotice(w, "passkey")
	web.SeeOther(w, r, s.PasskeyPath(made.ID))
	return nil
}
