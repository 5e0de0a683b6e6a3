package admin

import (
	"net/http"

	"mandate/handlers/web"
	"mandate/templates"
)

// resetFactorsPage asks an administrator whether the second factor of a person shall be removed.
func (s *accounts) resetFactorsPage(w http.ResponseWriter, r *http.Request) error {
	who, u, err := s.namedUser(r)
	if err == nil {
		err = s.Provider.People.Confirmed(r.Context(), who)
	}
	if err != nil {
		return err
	}
	return s.Render(w, r, http.StatusOK, templates.Confirm{
		Frame:   s.Frame(r, ""),
		Heading: "Remove the second factor of “" + u.Username + "”?",
		Message: "Do this only if you are sure who asks you: somebody who knows the password could ask for it too.",
		Details: []string{
			"The authenticator app, the passkeys and the recovery codes of the person stop working.",
			"The accounts of other servers are removed too, if the person has a password.",
			"The person is signed out everywhere, and can sign in with the password alone.",
		},
		Action:    s.userPath(u.ID) + "factors/",
		Button:    "Remove the second factor",
		CancelURL: s.userPath(u.ID),
		Danger:    true,
	})
}

// resetFactors removes the second factor of a person who has lost it.
func (s *accounts) resetFactors(w http.ResponseWriter, r *http.Request) error {
	who, u, err := s.namedUser(r)
	if err == nil {
		err = s.Provider.People.ResetFactorsOf(r.Context(), who, u.ID)
	}
	if err != nil {
		return err
	}
	// The accounts of a person without a password stay.
	left, err := s.Provider.Identities.Of(r.Context(), u.ID)
	if err != nil {
		return err
	}
	if len(left) > 0 {
		s.SetNotice(w, "factors-gone-accounts")
	} else {
		s.SetNotice(w, "factors-gone")
	}
	web.SeeOther(w, r, s.userPath(u.ID))
	return nil
}
