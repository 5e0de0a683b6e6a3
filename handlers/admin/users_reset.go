package admin

import (
	"errors"
	"net/http"
	"time"

	"mandate/handlers/web"
	"mandate/provider/oauth"
	"mandate/provider/people"
	"mandate/storage"
)

// makeResetLink makes a link for a person, which the administrator passes on. The person's page
// shows it once.
func (s *accounts) makeResetLink(w http.ResponseWriter, r *http.Request) error {
	who, u, err := s.namedUser(r)
	if err != nil {
		return err
	}
	actor, err := s.Acting(r, who)
	if err != nil {
		return err
	}
	link, _, err := s.Provider.People.MakeResetLink(r.Context(), actor, u.ID)
	if invalid, ok := errors.AsType[*oauth.Invalid](err); ok {
		web.NoteInvalid(r, invalid)
		form, err := s.storedUser(r, u)
		if err != nil {
			return err
		}
		page, err := s.userForm(r, who, &u, form, invalid)
		if err != nil {
			return err
		}
		return s.Render(w, r, web.InvalidForm, page)
	}
	if err != nil {
		return err
	}
	s.KeepText(w, who, personPath(u.ID), resetLinkOf(u), link)
	web.SeeOther(w, r, s.userPath(u.ID))
	return nil
}

// toResetLink leads back to the page with the button, for an administrator who had to sign in again.
func (s *accounts) toResetLink(w http.ResponseWriter, r *http.Request) error {
	who, u, err := s.namedUser(r)
	if err != nil {
		return err
	}
	err = s.SayOnceMore(w, r, who)
	if err != nil {
		return err
	}
	web.SeeOther(w, r, s.userPath(u.ID)) // not to the button: the message is at the top
	return nil
}

// resetLinkOf names the text that carries a link to the page of a person.
func resetLinkOf(u storage.User) string { return "reset link of " + u.ID }

// resetMinutes is how long a link works.
const resetMinutes = int(people.ResetLife / time.Minute)
