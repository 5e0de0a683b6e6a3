package handlers

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

// sameOrigin refuses a form that a page of another site has sent with the person's
// cookies.
func sameOrigin(allowed *http.CrossOriginProtection, h handle) handle {
	return func(w http.ResponseWriter, r *http.Request) error {
		err := allowed.Check(r)
		if err != nil {
			return oauth.ForPerson(http.StatusForbidden, "access_denied", "", "This form was sent from another site, so nothing was done. Open the page here and send it again.")
		}
		return h(w, r)
	}
}

// bounded limits the forms that are sent in a session since its last sign-in: each may store an event.
func (s *server) bounded(h handle) handle {
	return func(w http.ResponseWriter, r *http.Request) error {
		if r.Method != http.MethodPost {
			return h(w, r)
		}
		who, err := s.signedIn(r)
		if err != nil {
			return err
		}
		if who == nil {
			return h(w, r)
		}
		refused, err := s.provider.People.MaySend(who)
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

// offered returns ErrNotFound if browsers offer no passkeys at the address of this server.
func (s *server) offered(h handle) handle {
	return func(w http.ResponseWriter, r *http.Request) error {
		if !s.provider.Passkeys.Offered() {
			return oauth.ErrNotFound
		}
		return h(w, r)
	}
}

// fresh leads a person whose sign-in is too long ago to the login page before a form is obeyed. The form is kept for
// its page. One that is too long for a cookie comes back at once, and is sent again after a sign-in in another tab.
func (s *server) fresh(h handle) handle {
	return func(w http.ResponseWriter, r *http.Request) error {
		if r.Method != http.MethodPost {
			return h(w, r)
		}
		who, err := s.person(r)
		if err == nil {
			err = s.provider.People.Confirmed(r.Context(), who)
		}
		if !errors.Is(err, people.ErrConfirm) {
			if err == nil {
				err = h(w, r)
			}
			return err
		}
		kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
		if kind != "multipart/form-data" { // a file cannot be kept
			err = s.readForm(r)
			if err == nil {
				err = checkValues(r.PostForm, slices.Collect(maps.Keys(r.PostForm)))
			}
			if err == nil && len(r.PostForm) > 0 && !s.keepForm(w, r, who) {
				return s.sendAgain(w, r)
			}
			if err != nil {
				return err
			}
		}
		return s.toLogin(w, r, r.URL.RequestURI(), who.User.Username, confirmLogin)
	}
}
