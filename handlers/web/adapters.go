package web

import (
	"errors"
	"maps"
	"mime"
	"net/http"
	"slices"

	"mandate/handlers/request"
	"mandate/provider/oauth"
	"mandate/provider/people"
)

// Adapter makes the handler of a path: it says who may call it, and writes its errors.
type Adapter func(On) http.Handler

// Routing adds a path to the routes.
type Routing func(path string, adapter Adapter, methods On)

// Endpoint is for programs. Errors are JSON.
func (s *Site) Endpoint(m On) http.Handler { return s.Protocol(m.Serve) }

// Page is for pages to which other sites send browsers on purpose.
func (s *Site) Page(m On) http.Handler { return s.page(m.Serve) }

// NotFound is for addresses without a page.
func (s *Site) NotFound() http.Handler {
	return s.page(func(http.ResponseWriter, *http.Request) error { return oauth.ErrNotFound })
}

// Login is for pages that accept the forms of this server and of the operator's own login page.
func (s *Site) Login(m On) http.Handler { return s.page(sameOrigin(s.loginForms, m.Serve)) }

// Own is for pages that use a person's session: only the server's own pages may send their forms.
func (s *Site) Own(m On) http.Handler { return s.page(sameOrigin(s.ownForms, s.bounded(m.Serve))) }

// Unbounded is Own without the limit of the session, for what ends access, and what acts for whoever signs in or has a
// link: the thief of a session could use the limit up. Each works once, or has a limit of its own.
func (s *Site) Unbounded(m On) http.Handler { return s.page(sameOrigin(s.ownForms, m.Serve)) }

// Lasting is Own for forms that change what outlives the session: they need a fresh sign-in. A form that only leads
// there does not count.
func (s *Site) Lasting(m On) http.Handler {
	return s.page(sameOrigin(s.ownForms, s.fresh(s.bounded(m.Serve))))
}

// sameOrigin refuses a form that a page of another site has sent with the person's
// cookies.
func sameOrigin(allowed *http.CrossOriginProtection, h Handle) Handle {
	return func(w http.ResponseWriter, r *http.Request) error {
		err := allowed.Check(r)
		if err != nil {
			return oauth.ForPerson(http.StatusForbidden, "access_denied", "",
				"This form was sent from another site, so nothing was done. Open the page here and send it again.")
		}
		return h(w, r)
	}
}

// bounded limits the forms that are sent in a session since its last sign-in: each may store an event.
func (s *Site) bounded(h Handle) Handle {
	return func(w http.ResponseWriter, r *http.Request) error {
		if r.Method != http.MethodPost {
			return h(w, r)
		}
		who, err := s.SignedIn(r)
		if err != nil {
			return err
		}
		if who == nil {
			return h(w, r)
		}
		refused, err := s.Provider.People.MaySend(who)
		if err != nil {
			return err
		}
		err = h(w, r)
		failed := err != nil || request.Status(w) >= http.StatusBadRequest
		if failed && !request.RecordOf(r.Context()).Counts {
			refused()
		}
		return err
	}
}

// Offered returns ErrNotFound if browsers offer no passkeys at the address of this server.
func (s *Site) Offered(h Handle) Handle {
	return func(w http.ResponseWriter, r *http.Request) error {
		if !s.Provider.Passkeys.Offered() {
			return oauth.ErrNotFound
		}
		return h(w, r)
	}
}

// fresh leads a person whose sign-in is too long ago to the login page before a form is obeyed. The form is kept for
// its page. One that is too long for a cookie comes back at once, and is sent again after a sign-in in another tab.
func (s *Site) fresh(h Handle) Handle {
	return func(w http.ResponseWriter, r *http.Request) error {
		if r.Method != http.MethodPost {
			return h(w, r)
		}
		who, err := s.Person(r)
		if err == nil {
			err = s.Provider.People.Confirmed(r.Context(), who)
		}
		if !errors.Is(err, people.ErrConfirm) {
			if err == nil {
				err = h(w, r)
			}
			return err
		}
		kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
		if kind != "multipart/form-data" { // a file cannot be kept
			err = s.ReadForm(r)
			if err == nil {
				err = CheckValues(r.PostForm, slices.Collect(maps.Keys(r.PostForm)))
			}
			if err == nil && len(r.PostForm) > 0 && !s.keepForm(w, r, who) {
				return s.sendAgain(w, r)
			}
			if err != nil {
				return err
			}
		}
		return s.ToLogin(w, r, r.URL.RequestURI(), who.User.Username, ConfirmLogin)
	}
}
