package handlers

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"mandate/handlers/request"
	"mandate/provider/authorize"
	"mandate/provider/oauth"
	"mandate/provider/origin"
	"mandate/provider/people"
	"mandate/provider/policy"
	"mandate/storage"
)

// errSignIn is returned by a handler that needs a session if there is none.
var errSignIn = errors.New("nobody is signed in")

// lookup is the result of looking the session up.
type lookup struct {
	who *storage.SignedIn
	err error
}

// signedIn returns the session of this browser. It returns nil and no error if
// nobody is signed in.
func (s *server) signedIn(r *http.Request) (*storage.SignedIn, error) {
	rec := request.RecordOf(r.Context())
	known, ok := rec.Session.(lookup)
	if !ok {
		known = s.lookUp(r)
		rec.Session = known
	}
	return known.who, known.err
}

func (s *server) lookUp(r *http.Request) lookup {
	value := s.cookie(r, "session")
	if value == "" {
		return lookup{}
	}
	who, err := s.provider.People.SignedIn(r.Context(), value)
	if errors.Is(err, oauth.ErrNotFound) {
		return lookup{}
	}
	if who != nil {
		request.Note(r.Context(), "subject", who.User.ID)
		origin.Of(r.Context()).SignedIn(who.User.ID, who.User.Username)
	}
	return lookup{who, err}
}

// person returns the session like signedIn, but returns errSignIn if nobody is
// signed in.
func (s *server) person(r *http.Request) (*storage.SignedIn, error) {
	who, err := s.signedIn(r)
	if err == nil && who == nil {
		err = errSignIn
	}
	return who, err
}

// errStep is returned by a handler if the session of an administrator is too weak for one.
var errStep = errors.New("the session needs a second factor")

// entitled returns the session like person, for a page on which an administrator has more rights than others. It
// returns errStep for a session of an administrator without the second factor that a sign-in would need now: it began
// before the person had one, or became an administrator.
func (s *server) entitled(r *http.Request) (*storage.SignedIn, error) {
	who, err := s.person(r)
	if err != nil || !who.User.Administrator {
		return who, err
	}
	missing, err := s.provider.People.StepMissing(r.Context(), who)
	if err == nil && missing {
		err = errStep
	}
	return who, err
}

// administrator returns the session like entitled, but refuses anybody who is not an administrator.
func (s *server) administrator(r *http.Request) (*storage.SignedIn, error) {
	who, err := s.entitled(r)
	if err == nil && !who.User.Administrator {
		err = oauth.ForPerson(http.StatusForbidden, "access_denied", "", "This page is for administrators.")
	}
	return who, err
}

// acting returns the person of a session as the actor, for what may need a fresh sign-in.
func (s *server) acting(r *http.Request, who *storage.SignedIn) (policy.Actor, error) {
	return s.provider.People.Actor(r.Context(), who)
}

// administers returns the administrator, and the ID in the path of what the page is about.
func (s *server) administers(r *http.Request) (*storage.SignedIn, string, error) {
	who, err := s.administrator(r)
	if err != nil {
		return nil, "", err
	}
	id, err := variable(r, "id")
	return who, id, err
}

// browser describes the client to the provider.
func (s *server) browser(r *http.Request) people.Browser {
	// A header may contain any bytes. The database accepts only valid text.
	agent := oauth.Clip(strings.ToValidUTF8(r.UserAgent(), ""), 256)
	language := ""
	if accepted := s.accepted(r); accepted != nil {
		language = accepted.Tag()
	}
	return people.Browser{
		Address:   s.requests.Address(r),
		UserAgent: agent,
		Language:  language,
		Session:   s.cookie(r, "session"),
		Device:    s.cookie(r, "device"),
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

// toLogin redirects to the login page, which leads back to next: a path of this
// server as it appears in the URL, with its query. The built-in login page also
// learns why the person has to sign in again.
func (s *server) toLogin(w http.ResponseWriter, r *http.Request, next, hint string, why authorize.Reason) error {
	target := s.config.LoginURL
	if target == "" {
		target = s.path("/login/")
	}
	if !strings.HasPrefix(target, "/") {
		next = s.origin + next
	}
	separator := "?"
	if strings.Contains(target, "?") {
		separator = "&"
	}
	// The form that carries the address would not preserve bytes beyond ASCII.
	target += separator + "next=" + url.QueryEscape(asciiURL(next))
	if hint != "" {
		target += "&login_hint=" + url.QueryEscape(hint)
	}
	if why != "" && s.config.LoginURL == "" {
		target += "&reason=" + url.QueryEscape(string(why))
	}
	seeOther(w, r, target)
	return nil
}

// renew sets the new cookie of a session whose person has changed how they sign in.
func (s *server) renew(w http.ResponseWriter, in *people.SignIn) {
	s.setCookie(w, "session", in.Session, in.MaxAge)
	if in.Device != "" {
		s.setCookie(w, "device", in.Device, people.KnownFor)
	}
}

// cookieName adds the prefix. With the prefix __Host-, no other host and no page
// over http can set the cookie (RFC 6265bis §4.1.3.2). Browsers accept this prefix
// over https only.
func (s *server) cookieName(name string) string {
	if s.secure {
		return "__Host-mandate_" + name
	}
	return "mandate_" + name
}

func (s *server) cookie(r *http.Request, name string) string { return s.longCookie(r, name, 1024) }

// longCookie returns a cookie of at most most bytes.
func (s *server) longCookie(r *http.Request, name string, most int) string {
	c, err := r.Cookie(s.cookieName(name))
	if err != nil || len(c.Value) > most {
		return ""
	}
	return c.Value
}

// setCookie sets a cookie. A lifetime of zero deletes it.
func (s *server) setCookie(w http.ResponseWriter, name, value string, life time.Duration) {
	s.keep(w, http.Cookie{Name: s.cookieName(name), Value: value, Path: "/"}, life)
}

func (s *server) keep(w http.ResponseWriter, c http.Cookie, life time.Duration) {
	c.MaxAge, c.Secure, c.HttpOnly, c.SameSite = int(life/time.Second), s.secure, true, http.SameSiteLaxMode
	if life <= 0 {
		c.MaxAge = -1
	}
	http.SetCookie(w, &c)
}
