package web

import (
	"errors"
	"net/http"
	"net/url"
	"strings"

	"mandate/handlers/request"
	"mandate/provider/authorize"
	"mandate/provider/oauth"
	"mandate/provider/origin"
	"mandate/provider/people"
	"mandate/provider/policy"
	"mandate/storage"
)

// ErrSignIn is returned by a handler that needs a session if there is none.
var ErrSignIn = errors.New("nobody is signed in")

// lookup is the result of looking the session up.
type lookup struct {
	who *storage.SignedIn
	err error
}

// SignedIn returns the session of this browser. It returns nil and no error if
// nobody is signed in.
func (s *Site) SignedIn(r *http.Request) (*storage.SignedIn, error) {
	rec := request.RecordOf(r.Context())
	known, ok := rec.Session.(lookup)
	if !ok {
		known = s.lookUp(r)
		rec.Session = known
	}
	return known.who, known.err
}

func (s *Site) lookUp(r *http.Request) lookup {
	value := s.Cookie(r, "session")
	if value == "" {
		return lookup{}
	}
	who, err := s.Provider.People.SignedIn(r.Context(), value)
	if errors.Is(err, oauth.ErrNotFound) {
		return lookup{}
	}
	if who != nil {
		request.Note(r.Context(), "subject", who.User.ID)
		origin.Of(r.Context()).SignedIn(who.User.ID, who.User.Username)
	}
	return lookup{who, err}
}

// Person returns the session like SignedIn, but returns ErrSignIn if nobody is
// signed in.
func (s *Site) Person(r *http.Request) (*storage.SignedIn, error) {
	who, err := s.SignedIn(r)
	if err == nil && who == nil {
		err = ErrSignIn
	}
	return who, err
}

// ErrStep is returned by a handler if the session of an administrator is too weak for one.
var ErrStep = errors.New("the session needs a second factor")

// Entitled returns the session like person, for a page on which an administrator, an auditor or the administrator of a
// group has more rights than others. It returns ErrStep for a session of one of them without the second factor that a
// sign-in would need now: it began before the person had one, or got these rights.
func (s *Site) Entitled(r *http.Request) (*storage.SignedIn, error) {
	who, err := s.Person(r)
	if err != nil || !(who.User.Administrator || who.User.Auditor || who.User.Delegate) {
		return who, err
	}
	missing, err := s.Provider.People.StepMissing(r.Context(), who)
	if err == nil && missing {
		err = ErrStep
	}
	return who, err
}

// Administrator returns the session like entitled, but refuses anybody who is not an administrator. An auditor is not
// refused where a route says Audited.
func (s *Site) Administrator(r *http.Request) (*storage.SignedIn, error) {
	who, err := s.Entitled(r)
	if err == nil && !who.User.Administrator && !(who.User.Auditor && audited(r)) {
		err = oauth.ForPerson(http.StatusForbidden, "access_denied", "", "This page is for administrators.")
	}
	return who, err
}

// Delegate returns the session like entitled, but refuses anybody who administers no group. The provider decides about
// the group of the path.
func (s *Site) Delegate(r *http.Request) (*storage.SignedIn, error) {
	who, err := s.Entitled(r)
	if err == nil && !who.User.Delegate {
		err = oauth.ForPerson(http.StatusForbidden, "access_denied", "", "This page is for administrators of groups.")
	}
	return who, err
}

// Acting returns the person of a session as the actor, for what may need a fresh sign-in.
func (s *Site) Acting(r *http.Request, who *storage.SignedIn) (policy.Actor, error) {
	return s.Provider.People.Actor(r.Context(), who)
}

// Administers returns the administrator, and the ID in the path of what the page is about.
func (s *Site) Administers(r *http.Request) (*storage.SignedIn, string, error) {
	who, err := s.Administrator(r)
	if err != nil {
		return nil, "", err
	}
	id, err := Variable(r, "id")
	return who, id, err
}

// Browser describes the client to the provider.
func (s *Site) Browser(r *http.Request) people.Browser {
	// A header may contain any bytes. The database accepts only valid text.
	agent := oauth.Clip(strings.ToValidUTF8(r.UserAgent(), ""), 256)
	language := ""
	if accepted := s.accepted(r); accepted != nil {
		language = accepted.Tag()
	}
	return people.Browser{
		Address:   s.Requests.Address(r),
		UserAgent: agent,
		Language:  language,
		Session:   s.Cookie(r, "session"),
		Device:    s.Cookie(r, "device"),
	}
}

// backHere returns the address to which a person returns after the login. If the
// request was a POST, its form is lost, and the person returns to its page.
func backHere(r *http.Request) string {
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		return r.URL.RequestURI()
	}
	return r.URL.EscapedPath()
}

// ToLogin redirects to the login page, which leads back to next: a path of this
// server as it appears in the URL, with its query. The built-in login page also
// learns why the person has to sign in again.
func (s *Site) ToLogin(w http.ResponseWriter, r *http.Request, next, hint string, why authorize.Reason) error {
	target := s.Config.LoginURL
	if target == "" {
		target = s.Path("/login/")
	}
	if !strings.HasPrefix(target, "/") {
		next = s.Origin + next
	}
	separator := "?"
	if strings.Contains(target, "?") {
		separator = "&"
	}
	// The form that carries the address would not preserve bytes beyond ASCII.
	target += separator + "next=" + url.QueryEscape(ASCIIURL(next))
	if hint != "" {
		target += "&login_hint=" + url.QueryEscape(hint)
	}
	if why != "" && s.Config.LoginURL == "" {
		target += "&reason=" + url.QueryEscape(string(why))
	}
	SeeOther(w, r, target)
	return nil
}

// Renew sets the new cookie of a session whose person has changed how they sign in.
func (s cookies) Renew(w http.ResponseWriter, in *people.SignIn) {
	s.SetCookie(w, "session", in.Session, in.MaxAge)
	if in.Device != "" {
		s.SetCookie(w, "device", in.Device, people.KnownFor)
	}
}
