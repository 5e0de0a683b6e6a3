package web

import (
	"net/http"
	"time"

	"mandate/storage"
	"mandate/templates/languages"
)

// notice returns a text of success for the name of the cookie, in a language. The cookie contains only the
// name of the message, so a planted cookie cannot make this server show a text of its own.
func notice(l *languages.Language, name string) string {
	switch name {
	case "set-up":
		return l.T("Your account was created. Sign in now.")
	case SignedOut:
		return l.T("You are signed out.")
	case "password":
		return l.T("Your password was changed. You are signed out in all other browsers.")
	case "password-approvals":
		return l.T("Your password was changed. You are signed out in all other browsers, and the access that applications " +
			"had has ended.")
	case "once-more":
		return l.T("You have signed in again. What you wanted is not done yet: choose it once more.")
	case "totp-added":
		return l.T("Your authenticator app was added. You need it from now on when you sign in.")
	case "totp-gone":
		return l.T("Your authenticator app was removed.")
	case "factors-gone":
		return l.T("The second factor was removed, and the person is signed out everywhere.")
	case "factors-gone-accounts":
		return l.T("The second factor was removed, and the person is signed out everywhere. The accounts of other servers " +
			"stay, because the person has no password: set one, then remove them one by one.")
	case "member-invited":
		return l.T("If nobody here has this address, an invitation is on its way to it.")
	case "member-remove":
		return l.T("The person is no member of the group any more.")
	case "member-disable":
		return l.T("The account is disabled.")
	case "member-enable":
		return l.T("The account is enabled.")
	case "member-factors":
		return l.T("The second factor was removed, and the person is signed out everywhere.")
	case "member-link":
		return l.T("A message with a link is on its way to the person.")
	case "way-gone":
		return l.T("It no longer signs the person in. The person gets a message about it.")
	case "approval-gone":
		return l.T("The application may no longer act for the person.")
	case "passkey":
		return l.T("The passkey is added. You can give it another name.")
	case "passkey-gone":
		return l.T("The passkey is removed, so it no longer signs you in. Your device may still offer it: delete it there " +
			"too.")
	case "reset-asked":
		return l.T("If we know this account, a message with a link is on its way to its email address. The link works for " +
			"30 minutes.")
	case "joined":
		return l.T("Your account is created, and you are signed in.")
	case "invited":
		return l.T("The person is invited. A message with the link will be sent at once.")
	case "invited-list":
		return l.T("All people of the list are invited. Messages with their links will be sent at once.")
	case "invited-again":
		return l.T("A message with a new link will be sent at once. The old link no longer works.")
	case "invitation-gone":
		return l.T("The invitation is withdrawn. Its link no longer works.")
	case "reset":
		return l.T("Your password was changed. Sign in with the new one.")
	case "address-asked":
		return l.T("A message with a link is on its way to your email address. The link works for 24 hours.")
	case "address-verified":
		return l.T("Your email address is confirmed.")
	case "email-asked":
		return l.T("A message with a link is on its way to the new address. Open the link in this browser within 24 hours.")
	case "email-changed":
		return l.T("Your account has the new email address.")
	case "email-back":
		return l.T("The account has its former address again, and everybody is signed out. Set another password now: " +
			"somebody else may know the present one.")
	case "identity":
		return l.T("The account is added. You can sign in with it from now on.")
	case "identity-gone":
		return l.T("The account is removed, so it no longer signs you in here.")
	case "session":
		return l.T("That browser is signed out.")
	case "sessions":
		return l.T("The person is signed out everywhere.")
	case "revoked":
		return l.T("The application may no longer act for you.")
	case "registered":
		return l.T("The application is registered.")
	case "saved":
		return l.T("Your changes are saved.")
	case "still-hash":
		return l.T("Your changes are saved. The server still keeps the present secret as a hash: replace the secret to get " +
			"one that is kept encrypted.")
	case "rotated":
		return l.T("The secret was replaced.")
	case "test-key":
		return l.T("A key pair for testing was made.")
	case "taken-over":
		return l.T("You are now responsible for the application. Its previous owner may still know the secret: replace it, " +
			"and choose that the old one stops working at once.")
	case "assigned":
		return l.T("The application has a new owner.")
	case "revoked-all":
		return l.T("Everything that the application held is revoked. It can get new tokens.")
	case "deleted":
		return l.T("The application is deleted.")
	case "user-added":
		return l.T("The person is added.")
	case "user-gone":
		return l.T("The person is deleted.")
	case "group-added":
		return l.T("The group is added.")
	case "group-gone":
		return l.T("The group is deleted.")
	case "resource-added":
		return l.T("The resource is added.")
	case "site-added":
		return l.T("The site is added. Configure its reverse proxy as below.")
	case "site-gone":
		return l.T("The site is deleted.")
	case "token-gone":
		return l.T("The initial access token is deleted.")
	case "resource-gone":
		return l.T("The resource is deleted.")
	}
	return ""
}

// SignedOut names the notice after a logout.
const SignedOut = "signed-out"

func (s *Site) notice(r *http.Request) string {
	return notice(s.Language(r), s.Cookie(r, "notice"))
}

// dropNotice deletes the notice after a page has shown it.
//
// RFC 9110 §9.3.2: HEAD shows no page, so the notice stays.
func (s cookies) dropNotice(w http.ResponseWriter, r *http.Request) {
	if s.Cookie(r, "notice") != "" && r.Method != http.MethodHead {
		s.SetCookie(w, "notice", "", 0)
	}
}

const secretLife = 2 * time.Minute

// KeepSecret carries a client secret to the page of its application.
func (s *Site) KeepSecret(w http.ResponseWriter, who *storage.SignedIn, id, secret string) {
	if secret != "" {
		s.KeepText(w, who, "/o/applications/"+id, "secret of "+id, secret)
	}
}

// secretCookie carries a secret text from a form to the page that shows it. The browser
// sends it to that page only.
func (s *Site) secretCookie(path, value string) http.Cookie {
	name := "mandate_secret"
	if s.secure {
		name = "__Secure-" + name
	}
	return http.Cookie{Name: name, Value: value, Path: s.Path(path)}
}

// KeepText carries a secret text from a form to the page with this path, which shows it once.
// The provider seals it for this session. what names the text.
func (s *Site) KeepText(w http.ResponseWriter, who *storage.SignedIn, path, what, text string) {
	s.keep(w, s.secretCookie(path, s.Provider.People.SealForPage(who, what, text)), secretLife)
}

// TakeText returns the text of KeepText once, or "".
func (s *Site) TakeText(w http.ResponseWriter, r *http.Request, who *storage.SignedIn, path, what string) string {
	cookie := s.secretCookie(path, "")
	sent, err := r.Cookie(cookie.Name)
	// A request for the headers alone does not show the secret.
	if err != nil || r.Method != http.MethodGet {
		return ""
	}
	s.keep(w, cookie, 0)
	return s.Provider.People.OpenForPage(who, what, sent.Value)
}

// TakeSecret returns the client secret once.
func (s *Site) TakeSecret(w http.ResponseWriter, r *http.Request, who *storage.SignedIn, id string) string {
	return s.TakeText(w, r, who, "/o/applications/"+id, "secret of "+id)
}

// LeftCookie names the server at which a person can sign out too.
const LeftCookie = "left"
