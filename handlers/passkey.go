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

const newPasskeyPath = "/account/passkeys/new/"

// offered returns ErrNotFound if browsers offer no passkeys at the address of this server.
func (s *server) offered(h handle) handle {
	return func(w http.ResponseWriter, r *http.Request) error {
		if !s.provider.Passkeys.Offered() {
			return oauth.ErrNotFound
		}
		return h(w, r)
	}
}

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

// passkeyList lists the passkeys of a person for the account page. It is nil if there can be none.
func (s *server) passkeyList(r *http.Request, u storage.User) (*templates.PasskeyList, error) {
	if !s.provider.Passkeys.Offered() {
		return nil, nil
	}
	stored, err := s.provider.Passkeys.Of(r.Context(), u.ID)
	list := &templates.PasskeyList{AddURL: s.path(newPasskeyPath), Full: len(stored) >= people.MaxPasskeys}
	for _, k := range stored {
		list.Rows = append(list.Rows, s.passkeyRow(r, k))
	}
	return list, err
}

func (s *server) passkeyRow(r *http.Request, k storage.Passkey) templates.PasskeyRow {
	l := s.language(r)
	row := templates.PasskeyRow{
		Name:           k.Name,
		Added:          l.Day(k.CreatedAt),
		BackupEligible: k.BackupEligible,
		BackedUp:       k.BackedUp,
		URL:            s.path("/account/passkeys/" + k.ID + "/"),
		RemoveURL:      s.path("/account/passkeys/" + k.ID + "/remove/"),
	}
	if k.LastUsedAt > 0 {
		row.LastUsed = l.Moment(k.LastUsedAt)
	}
	return row
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

// passkey returns the passkey of the path, which belongs to the person who is signed in.
func (s *server) passkey(r *http.Request) (*storage.SignedIn, storage.Passkey, error) {
	who, err := s.person(r)
	if err != nil {
		return nil, storage.Passkey{}, err
	}
	id, err := variable(r, "id")
	if err != nil {
		return nil, storage.Passkey{}, err
	}
	k, err := s.provider.Passkeys.One(r.Context(), who.User.ID, id)
	return who, k, err
}

// passkeyPage shows a passkey, with a form for its name.
func (s *server) passkeyPage(w http.ResponseWriter, r *http.Request) error {
	_, k, err := s.passkey(r)
	if err != nil {
		return err
	}
	return s.render(w, r, http.StatusOK, s.namePasskey(r, k, templates.Field{Value: k.Name}))
}

func (s *server) namePasskey(r *http.Request, k storage.Passkey, name templates.Field) templates.Passkey {
	row := s.passkeyRow(r, k)
	return templates.Passkey{
		Frame:     s.frame(r, ""),
		Passkey:   row,
		Action:    row.URL,
		CancelURL: s.path("/account/"),
		NameField: name,
	}
}

// renamePasskey changes the name of a passkey.
func (s *server) renamePasskey(w http.ResponseWriter, r *http.Request) error {
	who, k, err := s.passkey(r)
	if err != nil {
		return err
	}
	err = s.parseForm(r)
	if err != nil {
		return err
	}
	name := r.PostForm.Get("name")
	err = s.provider.Passkeys.Rename(r.Context(), who.User.ID, k.ID, name)
	if invalid, ok := errors.AsType[*oauth.Invalid](err); ok {
		noteInvalid(r, invalid)
		return s.render(w, r, invalidForm, s.namePasskey(r, k, templates.Field{
			Value: name,
			Error: problem(s.language(r), invalid, "name"),
		}))
	}
	if err != nil {
		return err
	}
	s.setNotice(w, "saved")
	seeOther(w, r, s.path("/account/"))
	return nil
}

// removePasskeyPage asks before a passkey is removed. The person must have signed in a moment ago.
func (s *server) removePasskeyPage(w http.ResponseWriter, r *http.Request) error {
	who, k, err := s.passkey(r)
	if err != nil {
		return err
	}
	err = s.provider.People.Confirmed(r.Context(), who)
	if err != nil {
		return err
	}
	l := s.language(r)
	return s.render(w, r, http.StatusOK, templates.Ask{
		Frame:     s.frame(r, ""),
		Heading:   l.T("Remove the passkey “%s”?", k.Name),
		Message:   l.T("It no longer signs you in. Browsers in which it has signed you in stay signed in: you can sign them out on your account page."),
		Action:    s.passkeyRow(r, k).RemoveURL,
		Button:    l.T("Remove the passkey"),
		CancelURL: s.path("/account/"),
		Danger:    true,
	})
}

// removePasskey removes a passkey.
func (s *server) removePasskey(w http.ResponseWriter, r *http.Request) error {
	who, k, err := s.passkey(r)
	if err != nil {
		return err
	}
	in, err := s.provider.Passkeys.Remove(r.Context(), who, k.ID)
	if err != nil {
		return err
	}
	s.renew(w, in)
	s.setNotice(w, "passkey-gone")
	seeOther(w, r, s.path("/account/"))
	return nil
}
