package web

import (
	"net/http"
	"net/url"

	"mandate/provider/authorize"
	"mandate/provider/oauth"
	"mandate/provider/people"
	"mandate/provider/totp"
	"mandate/templates"
)

// ConfirmLogin is the reason for which a person signs in again before a change of how they sign in.
const ConfirmLogin authorize.Reason = "confirm"

// SignInCookie is the cookie of a browser whose person has typed the right password and must still
// show a second factor. Only the pages below /login/factor/ read it.
const SignInCookie = "signin"

// FactorAddress returns the address of the page that asks for a second factor and then leads to next.
// wanted is the acr that the person must reach; empty: the person is signing in.
func (s *Site) FactorAddress(next, wanted string) string {
	address := s.Path("/login/factor/") + "?next=" + url.QueryEscape(ASCIIURL(next))
	if wanted != "" {
		address += "&acr=" + url.QueryEscape(wanted)
	}
	return address
}

// ToStepUp redirects a person who is signed in to the page that asks for a second factor, and from
// there to next.
func (s *Site) ToStepUp(w http.ResponseWriter, r *http.Request, next, wanted string) error {
	// A sign-in that was not finished belongs perhaps to another account.
	if s.LongCookie(r, SignInCookie, people.MostTicket) != "" {
		s.SetCookie(w, SignInCookie, "", 0)
	}
	SeeOther(w, r, s.FactorAddress(next, wanted))
	return nil
}

// NewTOTPPage returns the page that adds an authenticator app. sealed is the secret that the form has
// sent back; a new one is made if it is empty.
func (s *Site) NewTOTPPage(r *http.Request, c *people.Challenge, sealed, message string) (templates.NewTOTP, error) {
	app, err := s.Provider.People.SameTOTP(c, sealed)
	if err != nil {
		return templates.NewTOTP{}, err
	}
	picture, err := totp.QR(app.URI)
	return templates.NewTOTP{
		Frame:     s.Frame(r, ""),
		Picture:   picture,
		URI:       app.URI,
		Secret:    app.Secret,
		Sealed:    app.Sealed,
		CodeError: message,
	}, err
}

// AnswerIn reads the answer to a challenge from the form.
func AnswerIn(form url.Values) people.Answer {
	return people.Answer{By: form.Get("by"), Code: form.Get("code"), Secret: form.Get("secret")}
}

// FormStatus returns the status of the form after a failed login. It is not 401,
// which would require a challenge (RFC 9110 §15.5.2).
func FormStatus(e *oauth.Error) int {
	if e.Status == http.StatusTooManyRequests {
		return e.Status
	}
	return InvalidForm
}
