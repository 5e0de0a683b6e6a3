package handlers

import (
	"errors"
	"net/http"
	"time"

	"mandate/provider/oauth"
	"mandate/provider/people"
	"mandate/storage"
)

// makeResetLink makes a link for a person, which the administrator passes on. The person's page
// shows it once.
func (s *server) makeResetLink(w http.ResponseWriter, r *http.Request) error {
	who, u, err := s.namedUser(r)
	if err != nil {
		return err
	}
	actor, err := s.acting(r, who)
	if err != nil {
		return err
	}
	link, _, err := s.provider.People.MakeResetLink(r.Context(), actor, u.ID)
	if invalid, ok := errors.AsType[*oauth.Invalid](err); ok {
		noteInvalid(r, invalid)
		form, err := s.storedUser(r, u)
		if err != nil {
			return err
		}
		page, err := s.userForm(r, who, &u, form, invalid)
		if err != nil {
			return err
		}
		return s.render(w, r, invalidForm, page)
	}
	if err != nil {
		return err
	}
	s.keepText(w, who, personPath(u.ID), resetLinkOf(u), link)
	seeOther(w, r, s.userPath(u.ID))
	return nil
}

// toResetLink leads back to the page with the button, for an administrator who had to sign in again.
func (s *server) toResetLink(w http.ResponseWriter, r *http.Request) error {
	who, u, err := s.namedUser(r)
	if err != nil {
		return err
	}
	err = s.sayOnceMore(w, r, who)
	if err != nil {
		return err
	}
	seeOther(w, r, s.userPath(u.ID)) // not to the button: the message is at the top
	return nil
}

// resetLinkOf names the text that carries a link to the page of a person.
func resetLinkOf(u storage.User) string { return "reset link of " + u.ID }

// resetMinutes is how long a link works.
const resetMinutes = int(people.ResetLife / time.Minute)
