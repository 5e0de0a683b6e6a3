package handlers

import (
	"errors"
	"net/http"
	"net/url"
	"slices"

	"mandate/handlers/request"
	"mandate/provider/authorize"
	"mandate/provider/oauth"
	"mandate/provider/people"
	"mandate/storage"
	"mandate/templates"
)

// The pages on which people sign in with another server (OIDC Core §3.1).

const (
	// leavingCookie is the cookie of a browser whose person is at another server.
	leavingCookie = "leaving"

	withPath = "/login/with/"
)

// serverButtons returns the buttons of the login page. They carry where the person goes on.
func (s *server) serverButtons() []templates.ServerButton {
	var buttons []templates.ServerButton
	for _, other := range s.provider.Identities.Servers() {
		buttons = append(buttons, templates.ServerButton{Label: other.Label, Action: s.path(withPath + other.Name + "/")})
	}
	return buttons
}

// leave sends the person to another server.
func (s *server) leave(w http.ResponseWriter, r *http.Request) error {
	name, err := variable(r, "name")
	if err != nil {
		return err
	}
	err = s.parseForm(r)
	if err != nil {
		return err
	}
	l := people.Leaving{Next: s.ownAddress(r.PostForm.Get("next"))}
	l.Fresh, l.Choose = s.howToSignIn(l.Next, authorize.Reason(r.PostForm.Get("reason")))
	return s.leaveFor(w, r, name, l)
}

// howToSignIn reports whether the person must sign in anew at the other server, and whether they must
// choose an account there. What a form says can only require less than what is checked at the end: only a
// login that is new counts as one.
func (s *server) howToSignIn(next string, why authorize.Reason) (fresh, choose bool) {
	switch why {
	case authorize.OtherAccount, authorize.ChooseAccount:
		choose = true
	case authorize.LoginRequest, authorize.LoginTooOld, confirmLogin:
		fresh = true
	}
	asked := s.authorizationRequest(next)
	return fresh || asked.Has("max_age") || slices.Contains(asked["prompt"], "login"), choose
}

func (s *server) leaveFor(w http.ResponseWriter, r *http.Request, name string, l people.Leaving) error {
	address, ticket, err := s.provider.Identities.Leave(r.Context(), name, l)
	if e, ok := errors.AsType[*oauth.Error](err); ok {
		return s.notSignedIn(w, r, e, l.Next, l.Adding != nil)
	}
	if err != nil {
		return err
	}
	s.setCookie(w, leavingCookie, ticket, people.LeaveLife)
	seeOther(w, r, address)
	return nil
}

// arrive takes the response of another server (OIDC Core §3.1.2.5).
func (s *server) arrive(w http.ResponseWriter, r *http.Request) error {
	name, err := variable(r, "name")
	if err != nil {
		return err
	}
	response, err := query(r)
	if err != nil {
		return err
	}
	who, err := s.signedIn(r)
	if err != nil {
		return err
	}
	// RFC 9110 §9.3.2: HEAD is safe, so it uses nothing.
	if r.Method == http.MethodHead {
		w.WriteHeader(http.StatusOK)
		return nil
	}
	ticket := s.longCookie(r, leavingCookie, people.MostTicket)
	arrived, err := s.provider.Identities.Arrive(r.Context(), name, ticket, response, who, s.browser(r))
	// The address where the person goes on is read again: the rules for it are those of this release.
	next := s.ownAddress(arrived.Next)
	if arrived.Next != "" { // the cookie belongs to this response, and the response is used
		s.setCookie(w, leavingCookie, "", 0)
	}
	if errors.Is(err, people.ErrConfirm) {
		return s.toLogin(w, r, s.path("/account/"), who.User.Username, confirmLogin)
	}
	if e, ok := errors.AsType[*oauth.Error](err); ok {
		return s.notSignedIn(w, r, e, next, arrived.Adding)
	}
	if err != nil {
		return err
	}
	if arrived.Adding {
		if arrived.SignIn != nil { // else the person has the account already
			s.renew(w, arrived.SignIn)
		}
		s.setNotice(w, "identity")
		return s.toAccount(w, r)
	}
	return s.begin(w, r, arrived.SignIn, next)
}

// notSignedIn shows why another server did not sign the person in. A failure of this server is shown as
// every other one.
func (s *server) notSignedIn(w http.ResponseWriter, r *http.Request, e *oauth.Error, next string, adding bool) error {
	noteError(r, e)
	retryAfter(w, e)
	s.useLocalesOf(r, next)
	l := s.language(r)
	text, _ := said(l, e)
	page := templates.ErrorPage{Frame: s.frame(r, ""), Status: statusOf(e), Heading: l.T("You could not be signed in"), Message: text, Code: e.Code, RequestID: request.ID(r),
		BackURL: s.path("/login/") + "?next=" + url.QueryEscape(asciiURL(next)), BackLabel: l.T("Back to the sign-in page")}
	if adding {
		page.Heading, page.BackURL, page.BackLabel = l.T("The account could not be added"), s.path("/account/"), l.T("Back to your account")
	}
	return s.render(w, r, page.Status, page)
}

// newIdentityPage says what adding an account of another server means. The person must have signed in a
// moment ago.
func (s *server) newIdentityPage(w http.ResponseWriter, r *http.Request) error {
	who, other, err := s.addable(r)
	if err == nil {
		err = s.provider.People.Confirmed(r.Context(), who)
	}
	if err != nil {
		return err
	}
	l := s.language(r)
	return s.render(w, r, http.StatusOK, templates.Ask{Frame: s.frame(r, ""), Heading: l.T("Sign in with %s from now on?", other.Label),
		Message: l.T("You sign in there once now. From then on, whoever can sign in as you there can also sign in as you here."),
		Action:  s.path(identitiesPath + "new/" + other.Name + "/"), Button: l.T("Continue to %s", other.Label), CancelURL: s.path("/account/"), LeadsAway: true})
}

// addIdentity sends a person who is signed in to another server, to add their account there.
func (s *server) addIdentity(w http.ResponseWriter, r *http.Request) error {
	who, other, err := s.addable(r)
	if err == nil {
		err = s.parseForm(r)
	}
	if err != nil {
		return err
	}
	return s.leaveFor(w, r, other.Name, people.Leaving{Next: s.path("/account/"), Adding: who})
}

func (s *server) addable(r *http.Request) (*storage.SignedIn, people.Server, error) {
	who, err := s.person(r)
	if err != nil {
		return nil, people.Server{}, err
	}
	name, err := variable(r, "name")
	if err != nil {
		return nil, people.Server{}, err
	}
	other, err := s.provider.Identities.Server(name)
	return who, other, err
}

// leaveSignedOut leads a person who has signed out here to the sign-out at another server. It has no
// effect here, so any site may send a browser to it.
func (s *server) leaveSignedOut(w http.ResponseWriter, r *http.Request) error {
	name, err := variable(r, "name")
	if err != nil {
		return err
	}
	address, err := s.provider.Identities.EndSessionURL(r.Context(), name, s.absolute("/"))
	if err == nil && address == "" {
		err = oauth.ErrNotFound
	}
	if err != nil {
		return err
	}
	seeOther(w, r, address)
	return nil
}
