package signin

import (
	"errors"
	"net/http"
	"net/url"
	"slices"

	"mandate/handlers/request"
	"mandate/handlers/web"
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
	for _, other := range s.Provider.Identities.Servers() {
		buttons = append(buttons, templates.ServerButton{Label: other.Label, Action: s.Path(withPath + other.Name + "/")})
	}
	return buttons
}

// leave sends the person to another server.
func (s *server) leave(w http.ResponseWriter, r *http.Request) error {
	name, err := web.Variable(r, "name")
	if err != nil {
		return err
	}
	err = s.ParseForm(r)
	if err != nil {
		return err
	}
	l := people.Leaving{Next: s.OwnAddress(r.PostForm.Get("next"))}
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
	case authorize.LoginRequest, authorize.LoginTooOld, web.ConfirmLogin:
		fresh = true
	}
	asked := s.AuthorizationRequest(next)
	return fresh || asked.Has("max_age") || slices.Contains(asked["prompt"], "login"), choose
}

func (s *server) leaveFor(w http.ResponseWriter, r *http.Request, name string, l people.Leaving) error {
	address, ticket, err := s.Provider.Identities.Leave(r.Context(), name, l)
	if e, ok := errors.AsType[*oauth.Error](err); ok {
		return s.notSignedIn(w, r, e, l.Next, l.Adding != nil)
	}
	if err != nil {
		return err
	}
	s.SetCookie(w, leavingCookie, ticket, people.LeaveLife)
	web.SeeOther(w, r, address)
	return nil
}

// arrive takes the response of another server (OIDC Core §3.1.2.5).
func (s *server) arrive(w http.ResponseWriter, r *http.Request) error {
	name, err := web.Variable(r, "name")
	if err != nil {
		return err
	}
	response, err := web.Query(r)
	if err != nil {
		return err
	}
	who, err := s.SignedIn(r)
	if err != nil {
		return err
	}
	// RFC 9110 §9.3.2: HEAD is safe, so it uses nothing.
	if r.Method == http.MethodHead {
		w.WriteHeader(http.StatusOK)
		return nil
	}
	ticket := s.LongCookie(r, leavingCookie, people.MostTicket)
	arrived, err := s.Provider.Identities.Arrive(r.Context(), name, ticket, response, who, s.Browser(r))
	// The address where the person goes on is read again: the rules for it are those of this release.
	next := s.OwnAddress(arrived.Next)
	if arrived.Next != "" { // the cookie belongs to this response, and the response is used
		s.SetCookie(w, leavingCookie, "", 0)
	}
	if errors.Is(err, people.ErrConfirm) {
		return s.ToLogin(w, r, s.Path("/account/"), who.User.Username, web.ConfirmLogin)
	}
	if e, ok := errors.AsType[*oauth.Error](err); ok {
		return s.notSignedIn(w, r, e, next, arrived.Adding)
	}
	if err != nil {
		return err
	}
	if arrived.Adding {
		if arrived.SignIn != nil { // else the person has the account already
			s.Renew(w, arrived.SignIn)
		}
		s.SetNotice(w, "identity")
		return s.ToAccount(w, r)
	}
	return s.begin(w, r, arrived.SignIn, next)
}

// notSignedIn shows why another server did not sign the person in. A failure of this server is shown as
// every other one.
func (s *server) notSignedIn(w http.ResponseWriter, r *http.Request, e *oauth.Error, next string, adding bool) error {
	web.NoteError(r, e)
	web.RetryAfter(w, e)
	s.UseLocalesOf(r, next)
	l := s.Language(r)
	text, _ := web.Said(l, e)
	page := templates.ErrorPage{Frame: s.Frame(r, ""), Status: web.StatusOf(e), Heading: l.T("You could not be signed in"),
		Message: text, Code: e.Code, RequestID: request.ID(r),
		BackURL:   s.Path("/login/") + "?next=" + url.QueryEscape(web.ASCIIURL(next)),
		BackLabel: l.T("Back to the sign-in page")}
	if adding {
		page.Heading, page.BackURL, page.BackLabel = l.T("The account could not be added"), s.Path("/account/"),
			l.T("Back to your account")
	}
	return s.Render(w, r, page.Status, page)
}

// newIdentityPage says what adding an account of another server means. The person must have signed in a
// moment ago.
func (s *server) newIdentityPage(w http.ResponseWriter, r *http.Request) error {
	who, other, err := s.addable(r)
	if err == nil {
		err = s.Provider.People.Confirmed(r.Context(), who)
	}
	if err != nil {
		return err
	}
	l := s.Language(r)
	return s.Render(w, r, http.StatusOK,
		templates.Ask{Frame: s.Frame(r, ""), Heading: l.T("Sign in with %s from now on?", other.Label),
			Message: l.T("You sign in there once now. From then on, whoever can sign in as you there can also sign in as you " +
				"here."),
			Action: s.Path(web.IdentitiesPath + "new/" + other.Name + "/"), Button: l.T("Continue to %s", other.Label),
			CancelURL: s.Path("/account/"), LeadsAway: true})
}

// addIdentity sends a person who is signed in to another server, to add their account there.
func (s *server) addIdentity(w http.ResponseWriter, r *http.Request) error {
	who, other, err := s.addable(r)
	if err == nil {
		err = s.ParseForm(r)
	}
	if err != nil {
		return err
	}
	return s.leaveFor(w, r, other.Name, people.Leaving{Next: s.Path("/account/"), Adding: who})
}

func (s *server) addable(r *http.Request) (*storage.SignedIn, people.Server, error) {
	who, err := s.Person(r)
	if err != nil {
		return nil, people.Server{}, err
	}
	name, err := web.Variable(r, "name")
	if err != nil {
		return nil, people.Server{}, err
	}
	other, err := s.Provider.Identities.Server(name)
	return who, other, err
}

// leaveSignedOut leads a person who has signed out here to the sign-out at another server. It has no
// effect here, so any site may send a browser to it.
func (s *server) leaveSignedOut(w http.ResponseWriter, r *http.Request) error {
	name, err := web.Variable(r, "name")
	if err != nil {
		return err
	}
	address, err := s.Provider.Identities.EndSessionURL(r.Context(), name, s.Absolute("/"))
	if err == nil && address == "" {
		err = oauth.ErrNotFound
	}
	if err != nil {
		return err
	}
	web.SeeOther(w, r, address)
	return nil
}
