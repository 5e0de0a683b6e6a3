package handlers

import (
	"errors"
	"net/http"
	"net/url"
	"time"

	"mandate/provider/authorize"
	"mandate/provider/oauth"
	"mandate/provider/people"
	"mandate/storage"
	"mandate/templates"
)

// showLogin renders the login page, with a request for a passkey.
func (s *server) showLogin(w http.ResponseWriter, r *http.Request, status int, page templates.Login) error {
	if !s.provider.Passkeys.Offered() {
		if r.Header.Get("Cookie") == "" { // a browser that does not send it back keeps no cookie
			s.setCookie(w, browserName, authorize.NewBrowserName(), authorize.TicketLife*time.Second)
		}
		return s.render(w, r, status, page)
	}
	browser := s.cookie(r, browserName)
	if browser == "" {
		browser = authorize.NewBrowserName()
	}
	asked, err := s.provider.Passkeys.AskForPasskey(browser)
	if err != nil {
		return err
	}
	s.setCookie(w, browserName, browser, authorize.TicketLife*time.Second)
	again := url.Values{"next": {page.Next}}
	if page.Again.Reason != "" {
		again.Set("reason", page.Again.Reason)
	}
	page.Passkey = &templates.Ceremony{
		Action:  s.path("/login/passkey/"),
		Options: asked.Options,
		Ticket:  asked.Ticket,
		Again:   s.path("/login/") + "?" + again.Encode(),
	}
	return s.render(w, r, status, page)
}

// toLoginPage redirects to the login page. It serves GET at a path that only takes POST.
func (s *server) toLoginPage(w http.ResponseWriter, r *http.Request) error {
	seeOther(w, r, s.path("/login/"))
	return nil
}

// passkeySignIn checks a passkey and begins a session (WebAuthn-3 §7.2).
func (s *server) passkeySignIn(w http.ResponseWriter, r *http.Request) error {
	err := s.parseForm(r)
	if err != nil {
		return err
	}
	page, err := s.loginForm(r, r.PostForm)
	if err != nil {
		return err
	}
	in, err := s.provider.Passkeys.SignIn(r.Context(), authenticatorResponse(r), s.cookie(r, browserName), s.browser(r))
	if e, refused := oauth.Refused(err); refused {
		noteError(r, e)
		page.Error, _ = said(s.language(r), e)
		if r.Header.Get("Cookie") == "" { // the login page has set one
			page.Error = s.withoutCookies(r)
		}
		retryAfter(w, e)
		return s.showLogin(w, r, formStatus(e), page)
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
	who, err := s.person(r)
	if err != nil {
		return err
	}
	values, err := query(r)
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
		s.useLocalesOf(r, s.ownAddress(next))
	}
	page := templates.NewPasskey{
		Frame:     s.frame(r, ""),
		CancelURL: s.path("/account/"),
		Most:      people.MaxPasskeys,
		Error:     problem,
	}
	path := s.path(newPasskeyPath)
	if next != "" {
		page.Next, page.Required = s.ownAddress(next), true
		path += "?next=" + url.QueryEscape(asciiURL(page.Next))
	}
	asked, err := s.provider.Passkeys.NewPasskey(r.Context(), who)
	switch {
	case errors.Is(err, people.ErrTooManyPasskeys):
		return s.render(w, r, status, page)
	case err != nil:
		return err
	}
	page.Request = &templates.Ceremony{
		Action:  s.path(newPasskeyPath),
		Options: asked.Options,
		Ticket:  asked.Ticket,
		Again:   path,
	}
	return s.render(w, r, status, page)
}

// addPasskey stores a new passkey (WebAuthn-3 §7.1). Its first name is that of the browser, and the
// person can change it afterwards: nothing that a form asks for can fail after the authenticator has
// made the passkey.
func (s *server) addPasskey(w http.ResponseWriter, r *http.Request) error {
	who, err := s.person(r)
	if err != nil {
		return err
	}
	err = s.parseForm(r)
	if err != nil {
		return err
	}
	next := r.PostForm.Get("next")
	made, in, err := s.provider.Passkeys.Add(
		r.Context(), who, authenticatorResponse(r), deviceName(s.language(r), s.browser(r).UserAgent),
	)
	if errors.Is(err, people.ErrTooManyPasskeys) {
		return s.showNewPasskey(w, r, who, invalidForm, "", next)
	}
	if e, refused := oauth.Refused(err); refused {
		noteError(r, e)
		text, _ := said(s.language(r), e)
		return s.showNewPasskey(w, r, who, invalidForm, text, next)
	}
	if err != nil {
		return err
	}
	if next != "" {
		next = s.ownAddress(next)
		s.strengthen(w, r, in, stepping{who: who, next: next})
		seeOther(w, r, next)
		return nil
	}
	s.renew(w, in)
	s.setNotice(w, "passkey")
	seeOther(w, r, s.passkeyRow(r, made).URL)
	return nil
}
