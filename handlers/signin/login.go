package signin

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"mandate/handlers/request"
	"mandate/handlers/web"
	"mandate/provider/authorize"
	"mandate/provider/oauth"
	"mandate/provider/people"
	"mandate/templates"
	"mandate/templates/languages"
)

// loginPage asks for the username and the password. A person who has a session also
// sees it, because they may want to use another account.
func (s *server) loginPage(w http.ResponseWriter, r *http.Request) error {
	values, err := web.Query(r)
	if err != nil {
		return err
	}
	page, err := s.loginForm(r, values)
	if err != nil {
		return err
	}
	page.Name.Value = oauth.Clip(values.Get("login_hint"), 254)
	return s.showLogin(w, r, http.StatusOK, page)
}

// loginForm reads the parameters that the page and its form have in common.
func (s *server) loginForm(r *http.Request, values url.Values) (templates.Login, error) {
	next := s.OwnAddress(values.Get("next"))
	s.UseLocalesOf(r, next)
	page := templates.Login{
		Frame:     s.Frame(r, ""),
		Next:      next,
		Action:    s.Path("/login/"),
		ForgotURL: s.Path(forgotPath),
		ByAddress: s.Provider.People.SendsMail(),
		Servers:   s.serverButtons(),
	}
	page.SignUpURL = s.signUpAddress(next)
	// Another server may bring people who have no account here yet.
	page.Closed = page.SignUpURL == "" && page.Frame.Username == "" && len(page.Servers) == 0
	if page.Frame.Username != "" {
		page.Again = again(s.Language(r), values.Get("reason"))
		if sameAccount(page.Again.Reason) {
			page.SignUpURL = ""
		}
	}
	var err error
	page.Asker, err = s.loginAsker(r.Context(), s.Language(r), page.Next)
	return page, err
}

// loginAsker describes the application whose authorization request leads to the login, if it
// has a logo, a policy or terms (OIDC Registration §2). Whoever reads the page has not signed
// in, so it does not name the owner.
func (s *server) loginAsker(ctx context.Context, l *languages.Language, next string) (*templates.Asker, error) {
	asked := s.AuthorizationRequest(next)["client_id"]
	if len(asked) != 1 {
		return nil, nil
	}
	a, err := s.Provider.Clients.Known(ctx, asked[0])
	if errors.Is(err, oauth.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	shown := s.asker(l, a)
	shown.Owner = ""
	if shown.LogoURL == "" && shown.PolicyURL == "" && shown.TermsURL == "" {
		return nil, nil
	}
	return &shown, nil
}

// again returns the text for a person who has a session. An address selects a
// text and cannot contain one, so a link of a stranger cannot show its own. No
// text names an account: the page shows only the account of the session.
func again(l *languages.Language, reason string) templates.Again {
	switch authorize.Reason(reason) {
	case authorize.OtherAccount:
		return templates.Again{Reason: reason, Heading: l.T("Sign in with another account"),
			Text: l.T("The application asks for another account. Sign in with the account that you use for this application.")}
	case authorize.ChooseAccount:
		return templates.Again{Reason: reason, Heading: l.T("Sign in again"),
			Text: l.T("The application asks you to choose an account. Sign in with this account or with another one.")}
	case authorize.LoginRequest:
		return templates.Again{Reason: reason, Heading: l.T("Sign in again"),
			Text: l.T("The application requires that you sign in again. Enter the username and the password of this account.")}
	case authorize.LoginTooOld:
		return templates.Again{
			Reason:  reason,
			Heading: l.T("Sign in again"),
			Text: l.T("Your last sign-in is older than the application allows. Enter the username and the password of this " +
				"account."),
		}
	}
	if authorize.Reason(reason) == web.ConfirmLogin {
		return templates.Again{Reason: reason, Heading: l.T("Confirm that it is you"),
			Text: l.T("This needs a new sign-in, because somebody else could use this browser. Sign in again first.")}
	}
	return templates.Again{}
}

// sameAccount reports whether the person must sign in with the account that they are signed in to.
func sameAccount(reason string) bool {
	return slices.Contains(
		[]authorize.Reason{web.ConfirmLogin, authorize.LoginRequest, authorize.LoginTooOld}, authorize.Reason(reason),
	)
}

// login checks the password. It begins a session, or leads to the page of the second factor.
func (s *server) login(w http.ResponseWriter, r *http.Request) error {
	err := s.ParseForm(r)
	if err != nil {
		return err
	}
	page, err := s.loginForm(r, r.PostForm)
	if err != nil {
		return err
	}
	page.Name.Value = r.PostForm.Get("username")
	password := r.PostForm.Get("password")
	if page.Name.Value == "" {
		page.Name.Error = s.Language(r).T("Enter your username.")
		if page.ByAddress {
			page.Name.Error = s.Language(r).T("Enter your username or your email address.")
		}
	}
	if password == "" {
		page.PasswordError = s.Language(r).T("Enter your password.")
	}
	if page.Name.Error != "" || page.PasswordError != "" {
		return s.showLogin(w, r, web.InvalidForm, page)
	}
	in, err := s.Provider.People.Login(r.Context(), page.Name.Value, password, s.Browser(r))
	if e, refused := oauth.Refused(err); refused {
		request.Note(r.Context(), "error", e.Code)
		page.Error, _ = web.Said(s.Language(r), e)
		// This depends only on what was typed, so it says nothing about the accounts.
		if page.ByAddress && e.Code == "invalid_grant" && strings.ContainsRune(page.Name.Value, '@') {
			page.Error += " " + s.Language(r).T("An email address works here only after you have confirmed it. Until then, "+
				"enter your username.")
		}
		web.RetryAfter(w, e)
		return s.showLogin(w, r, web.FormStatus(e), page)
	}
	if err != nil {
		return err
	}
	return s.begin(w, r, in, page.Next)
}

// begin sets the cookies of a person who has signed in, and leads to next. A person who must show a
// second factor first is led to that page.
func (s *server) begin(w http.ResponseWriter, r *http.Request, in *people.SignIn, next string) error {
	request.Note(r.Context(), "subject", in.User.ID)
	if in.Session == "" {
		s.SetCookie(w, web.SignInCookie, in.Ticket, people.SignInLife)
		s.leadOn(w, r, s.FactorAddress(next, ""), next)
		return nil
	}
	s.SetCookie(w, web.SignInCookie, "", 0)
	s.SetCookie(w, "session", in.Session, in.MaxAge)
	s.SetCookie(w, "device", in.Device, people.KnownFor)
	if !in.Old { // an application that asks for a new login does not get an old one
		s.keepLoginProof(w, in, next)
	}
	s.leadOn(w, r, next, next)
	return nil
}

const cookiesPath = "/login/cookies/"

// leadOn redirects a person who has signed in to target. A browser that sent no cookie goes by a page that sees whether
// it keeps those of the sign-in: without them, the login page would come again, and nobody would know why.
func (s *server) leadOn(w http.ResponseWriter, r *http.Request, target, next string) {
	if r.Header.Get("Cookie") == "" {
		target = s.Path(cookiesPath) + "?next=" + url.QueryEscape(web.ASCIIURL(next))
	}
	web.SeeOther(w, r, target)
}

// cookiesPage leads on who has signed in, or says that the browser refuses cookies.
func (s *server) cookiesPage(w http.ResponseWriter, r *http.Request) error {
	values, err := web.Query(r)
	if err != nil {
		return err
	}
	next := s.OwnAddress(values.Get("next"))
	if s.LongCookie(r, web.SignInCookie, people.MostTicket) != "" {
		web.SeeOther(w, r, s.FactorAddress(next, ""))
		return nil
	}
	if r.Header.Get("Cookie") != "" {
		web.SeeOther(w, r, next)
		return nil
	}
	page, err := s.loginForm(r, values)
	if err != nil {
		return err
	}
	page.Error = s.withoutCookies(r)
	return s.showLogin(w, r, http.StatusBadRequest, page)
}

// withoutCookies returns what to do in a browser that keeps no cookie, and notes that for the log.
func (s *server) withoutCookies(r *http.Request) string {
	request.Note(
		r.Context(), "error",
		"the browser keeps no cookie: it refuses them, or a proxy removes them, or it is not at the base URL",
	)
	return s.Language(r).T("Your browser refuses the cookies of this site, and without them it cannot stay signed in. " +
		"Allow cookies for this site in the settings of the browser, then sign in again.")
}
