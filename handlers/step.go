package handlers

import (
	"net/http"
	"net/url"

	"mandate/provider/authorize"
	"mandate/provider/oauth"
	"mandate/provider/people"
	"mandate/provider/totp"
	"mandate/templates"
)

// confirmLogin is the reason for which a person signs in again before a change of how they sign in.
const confirmLogin authorize.Reason = "confirm"

// signInCookie is the cookie of a browser whose person has typed the right password and must still
// show a second factor. Only the pages below /login/factor/ read it.
const signInCookie = "signin"

// factorAddress returns the address of the page that asks for a second factor and then leads to next.
// wanted is the acr that the person must reach; empty: the person is signing in.
func (s *server) factorAddress(next, wanted string) string {
	address := s.path("/login/factor/") + "?next=" + url.QueryEscape(asciiURL(next))
	if wanted != "" {
		address += "&acr=" + url.QueryEscape(wanted)
	}
	return address
}

// toStepUp redirects a person who is signed in to the page that asks for a second factor, and from
// there to next.
func (s *server) toStepUp(w http.ResponseWriter, r *http.Request, next, wanted string) error {
	// A sign-in that was not finished belongs perhaps to another account.
	if s.longCookie(r, signInCookie, people.MostTicket) != "" {
		s.setCookie(w, signInCookie, "", 0)
	}
	seeOther(w, r, s.factorAddress(next, wanted))
	return nil
}

// newTOTPPage returns the page that adds an authenticator app. sealed is the secret that the form has
// sent back; a new one is made if it is empty.
func (s *server) newTOTPPage(r *http.Request, c *people.Challenge, sealed, message string) (templates.NewTOTP, error) {
	app, err := s.provider.People.SameTOTP(c, sealed)
	if err != nil {
		return templates.NewTOTP{}, err
	}
	picture, err := totp.QR(app.URI)
	return templates.NewTOTP{
		Frame:     s.frame(r, ""),
		Picture:   picture,
		URI:       app.URI,
		Secret:    app.Secret,
		Sealed:    app.Sealed,
		CodeError: message,
	}, err
}

// answerIn reads the answer to a challenge from the form.
func answerIn(form url.Values) people.Answer {
	return people.Answer{By: form.Get("by"), Code: form.Get("code"), Secret: form.Get("secret")}
}

// formStatus returns the status of the form after a failed login. It is not 401,
// which would require a challenge (RFC 9110 §15.5.2).
func formStatus(e *oauth.Error) int {
	if e.Status == http.StatusTooManyRequests {
		return e.Status
	}
	return invalidForm
}
