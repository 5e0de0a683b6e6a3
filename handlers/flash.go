package handlers

import (
	"net/http"
	"time"

	"mandate/provider"
)

// notices returns the text of a message of success. The cookie contains only the
// name of the message, so a planted cookie cannot make this server show a text of
// its own.
func notices(name string) string {
	return map[string]string{
		"set-up":             "Your account was created. Sign in now.",
		signedOut:            "You are signed out.",
		"password":           "Your password was changed. You are signed out in all other browsers.",
		"password-approvals": "Your password was changed. You are signed out in all other browsers, and the access that applications got there has ended.",
		"totp-added":         "Your authenticator app was added. You need it from now on when you sign in.",
		"totp-gone":          "Your authenticator app was removed.",
		"factors-gone":       "The second factor was removed, and the person is signed out everywhere.",
		"passkey":            "The passkey is added. You can give it another name.",
		"passkey-gone":       "The passkey is removed, so it no longer signs you in. Your device may still offer it: delete it there too.",
		"reset-asked":        "If we know this account, a message with a link is on its way to its email address. The link works for 30 minutes.",
		"reset":              "Your password was changed. Sign in with the new one.",
		"address-asked":      "A message with a link is on its way to your email address. The link works for 24 hours.",
		"address-verified":   "Your email address is confirmed.",
		"identity":           "The account is added. You can sign in with it from now on.",
		"identity-gone":      "The account is removed, so it no longer signs you in here.",
		"session":            "That browser is signed out.",
		"sessions":           "The person is signed out everywhere.",
		"revoked":            "The application may no longer act for you.",
		"registered":         "The application is registered.",
		"saved":              "Your changes are saved.",
		"still-hash":         "Your changes are saved. The server still keeps the present secret as a hash: replace the secret to get one that is kept encrypted.",
		"rotated":            "The secret was replaced.",
		"test-key":           "A key pair for testing was made.",
		"taken-over":         "You are now responsible for the application. Its previous owner may still know the secret: replace it, and choose that the old one stops working at once.",
		"assigned":           "The application has a new owner.",
		"revoked-all":        "Everything that the application held is revoked. It can get new tokens.",
		"deleted":            "The application is deleted.",
		"user-added":         "The person is added.",
		"user-gone":          "The person is deleted.",
		"group-added":        "The group is added.",
		"group-gone":         "The group is deleted.",
		"resource-added":     "The resource is added.",
		"token-gone":         "The initial access token is deleted.",
		"resource-gone":      "The resource is deleted.",
	}[name]
}

// signedOut names the notice after a logout.
const signedOut = "signed-out"

// setNotice selects the notice at the top of the next page.
func (s *server) setNotice(w http.ResponseWriter, name string) {
	s.setCookie(w, "notice", name, 2*time.Minute)
}

func (s *server) notice(r *http.Request) string { return notices(s.cookie(r, "notice")) }

// dropNotice deletes the notice after a page has shown it.
//
// RFC 9110 §9.3.2: HEAD shows no page, so the notice stays.
func (s *server) dropNotice(w http.ResponseWriter, r *http.Request) {
	if s.cookie(r, "notice") != "" && r.Method != http.MethodHead {
		s.setCookie(w, "notice", "", 0)
	}
}

const secretLife = 2 * time.Minute

// keepSecret carries a client secret to the page of its application.
func (s *server) keepSecret(w http.ResponseWriter, who *provider.SignedIn, id, secret string) {
	if secret != "" {
		s.keepText(w, who, "/o/applications/"+id, "secret of "+id, secret)
	}
}

// secretCookie carries a secret text from a form to the page that shows it. The browser
// sends it to that page only.
func (s *server) secretCookie(path, value string) http.Cookie {
	name := "mandate_secret"
	if s.secure {
		name = "__Secure-" + name
	}
	return http.Cookie{Name: name, Value: value, Path: s.path(path)}
}

// keepText carries a secret text from a form to the page with this path, which shows it once.
// The provider seals it for this session. what names the text.
func (s *server) keepText(w http.ResponseWriter, who *provider.SignedIn, path, what, text string) {
	s.keep(w, s.secretCookie(path, s.provider.People.SealForPage(who, what, text)), secretLife)
}

// takeText returns the text of keepText once, or "".
func (s *server) takeText(w http.ResponseWriter, r *http.Request, who *provider.SignedIn, path, what string) string {
	cookie := s.secretCookie(path, "")
	sent, err := r.Cookie(cookie.Name)
	// A request for the headers alone does not show the secret.
	if err != nil || r.Method != http.MethodGet {
		return ""
	}
	s.keep(w, cookie, 0)
	return s.provider.People.OpenForPage(who, what, sent.Value)
}

// takeSecret returns the client secret once.
func (s *server) takeSecret(w http.ResponseWriter, r *http.Request, who *provider.SignedIn, id string) string {
	return s.takeText(w, r, who, "/o/applications/"+id, "secret of "+id)
}
