package account

import (
	"context"
	"errors"
	"net/http"

	"mandate/handlers/web"
	"mandate/provider/oauth"
	"mandate/provider/people"
	"mandate/storage"
	"mandate/templates"
)

// askAddress sends the person a link that verifies the address.
func (s *server) askAddress(w http.ResponseWriter, r *http.Request) error {
	who, err := s.Person(r)
	if err != nil {
		return err
	}
	err = s.Provider.People.AskAddress(r.Context(), who)
	if err != nil {
		return err
	}
	s.SetNotice(w, "address-asked")
	web.SeeOther(w, r, s.Path("/account/"))
	return nil
}

// addressPage asks for the confirmation behind a link. It changes nothing.
func (s *server) addressPage(w http.ResponseWriter, r *http.Request) error {
	return s.withAddressLink(w, r, s.Provider.People.AddressLink, func(who *storage.SignedIn) error {
		l := s.Language(r)
		return s.Render(w, r, http.StatusOK, templates.Ask{Frame: s.Frame(r, ""), Heading: l.T("Confirm your email address"),
			Message: l.T("Applications that you allow to see your address then learn that it is yours."),
			Details: []string{l.T("Your account %[1]s has the address %[2]s.", who.User.Username, who.User.Email)},
			Action:  r.URL.EscapedPath(), Button: l.T("Confirm the address"), CancelURL: s.Path("/account/")})
	})
}

// verifyAddress uses the link.
func (s *server) verifyAddress(w http.ResponseWriter, r *http.Request) error {
	var in *people.SignIn
	use := func(ctx context.Context, who *storage.SignedIn, secret string) (err error) {
		in, err = s.Provider.People.VerifyAddress(ctx, who, secret)
		return err
	}
	return s.withAddressLink(w, r, use, func(*storage.SignedIn) error {
		s.Renew(w, in)
		s.SetNotice(w, "address-verified")
		web.SeeOther(w, r, s.Path("/account/"))
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
	web.OwnReferrer(w)
	who, err := s.Person(r)
	if err != nil {
		return err
	}
	link, err := web.Variable(r, "link")
	if err == nil {
		err = use(r.Context(), who, link)
	}
	if err == nil {
		return then(who)
	}
	if !errors.Is(err, oauth.ErrNotFound) {
		return err
	}
	l := s.Language(r)
	return s.ShowDeadLink(
		w, r,
		l.T("It was already used, or it has expired, or it belongs to another account or to a former address. Ask for a "+
			"new link on your account page."),
		templates.Link{URL: s.Path("/account/"), Label: l.T("Go to your account")},
	)
}
