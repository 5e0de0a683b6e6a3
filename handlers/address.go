package handlers

import (
	"context"
	"errors"
	"net/http"

	"mandate/provider/oauth"
	"mandate/provider/people"
	"mandate/storage"
	"mandate/templates"
)

// askAddress sends the person a link that verifies the address.
func (s *server) askAddress(w http.ResponseWriter, r *http.Request) error {
	who, err := s.person(r)
	if err != nil {
		return err
	}
	err = s.provider.People.AskAddress(r.Context(), who)
	if err != nil {
		return err
	}
	s.setNotice(w, "address-asked")
	seeOther(w, r, s.path("/account/"))
	return nil
}

// addressPage asks for the confirmation behind a link. It changes nothing.
func (s *server) addressPage(w http.ResponseWriter, r *http.Request) error {
	return s.withAddressLink(w, r, s.provider.People.AddressLink, func(who *storage.SignedIn) error {
		l := s.language(r)
		return s.render(w, r, http.StatusOK, templates.Ask{Frame: s.frame(r, ""), Heading: l.T("Confirm your email address"),
			Message: l.T("Applications that you allow to see your address then learn that it is yours."),
			Details: []string{l.T("Your account %[1]s has the address %[2]s.", who.User.Username, who.User.Email)},
			Action:  r.URL.EscapedPath(), Button: l.T("Confirm the address"), CancelURL: s.path("/account/")})
	})
}

// verifyAddress uses the link.
func (s *server) verifyAddress(w http.ResponseWriter, r *http.Request) error {
	var in *people.SignIn
	use := func(ctx context.Context, who *storage.SignedIn, secret string) (err error) {
		in, err = s.provider.People.VerifyAddress(ctx, who, secret)
		return err
	}
	return s.withAddressLink(w, r, use, func(*storage.SignedIn) error {
		s.renew(w, in)
		s.setNotice(w, "address-verified")
		seeOther(w, r, s.path("/account/"))
		return nil
	})
}

// withAddressLink checks or uses the link of the path, for the person who is signed in, and then goes on.
func (s *server) withAddressLink(
	w http.ResponseWriter,
	r *http.Request,
	use func(context.Context, *storage.SignedIn, string) error,
	then func(*storage.SignedIn) error,
) error {
	ownReferrer(w)
	who, err := s.person(r)
	if err != nil {
		return err
	}
	link, err := variable(r, "link")
	if err == nil {
		err = use(r.Context(), who, link)
	}
	if err == nil {
		return then(who)
	}
	if !errors.Is(err, oauth.ErrNotFound) {
		return err
	}
	l := s.language(r)
	return s.showDeadLink(
		w, r,
		l.T("It was already used, or it has expired, or it belongs to another account or to a former address. Ask for a new link on your account page."),
		templates.Link{URL: s.path("/account/"), Label: l.T("Go to your account")},
	)
}
