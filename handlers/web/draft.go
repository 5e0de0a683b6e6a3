package web

import (
	"errors"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"mandate/handlers/request"
	"mandate/provider/authorize"
	"mandate/provider/oauth"
	"mandate/provider/people"
	"mandate/storage"
	"mandate/templates"
)

// A form that needs a fresh sign-in is kept in a cookie of its page while the person signs in again. The page
// then shows it once more, and the person sends it.

const (
	// mostDraft is the size of the largest cookie. Proxies have limits for the headers of a response: 4096 bytes
	// are usual.
	mostDraft = 3000
	// droppedPassword marks a draft of a form that had a password.
	droppedPassword = "password_dropped"
)

// draftCookie is sent to the page with this path only.
func (s cookies) draftCookie(r *http.Request, value string) http.Cookie {
	name := "mandate_draft"
	if s.secure {
		name = "__Secure-" + name
	}
	return http.Cookie{Name: name, Value: value, Path: pageOf(r)}
}

// pageOf returns the path of a request without its last slash, with and without which it is one page.
func pageOf(r *http.Request) string { return strings.TrimSuffix(r.URL.EscapedPath(), "/") }

// keepForm keeps the form that was sent for its page. It reports whether the form is short enough.
func (s *Site) keepForm(w http.ResponseWriter, r *http.Request, who *storage.SignedIn) bool {
	form := maps.Clone(r.PostForm)
	if form.Get("password") != "" {
		form.Set(droppedPassword, "yes")
	}
	form.Del("password")
	browser := s.Cookie(r, BrowserCookie)
	if browser == "" {
		browser = authorize.NewBrowserName()
	}
	sealed := s.Provider.People.SealDraft(who, draftOf(r, browser), form.Encode())
	if len(sealed) > mostDraft {
		return false
	}
	s.SetCookie(w, BrowserCookie, browser, authorize.TicketLife*time.Second)
	s.keep(w, s.draftCookie(r, sealed), people.DraftLife)
	return true
}

// draftOf names the browser and the page of a draft: whoever puts the cookie into another browser, or sends it to
// another page, shows nothing there.
func draftOf(r *http.Request, browser string) string {
	return browser + " " + pageOf(r) + "?" + r.URL.Query().Get("uri")
}

// sendAgain shows a button that sends the same form again.
func (s *Site) sendAgain(w http.ResponseWriter, r *http.Request) error {
	page := templates.Confirm{
		Frame:   s.Frame(r, ""),
		Heading: "Sign in again first",
		Message: "This change needs a fresh sign-in, and this form is too long to keep. Open the login page in another " +
			"tab, sign in again, and then send the form here.",
		Action:    r.URL.RequestURI(),
		Button:    "Send the form",
		CancelURL: s.Path("/"),
	}
	for _, name := range slices.Sorted(maps.Keys(r.PostForm)) {
		if name == "password" { // no page has it
			if r.PostForm.Get(name) != "" {
				page.Sent = append(page.Sent, templates.SentField{Name: droppedPassword, Value: "yes"})
			}
			continue
		}
		for _, value := range r.PostForm[name] {
			page.Sent = append(page.Sent, templates.SentField{Name: name, Value: value})
		}
	}
	request.Note(r.Context(), "error", "the form is too long to keep")
	return s.Render(w, r, InvalidForm, page)
}

// KeptForm returns the form of keepForm once, after the person has signed in again, and nil if there is none.
func (s *Site) KeptForm(w http.ResponseWriter, r *http.Request, who *storage.SignedIn) (url.Values, error) {
	cookie := s.draftCookie(r, "")
	sent, err := r.Cookie(cookie.Name)
	// A request for the headers alone shows no form.
	if err != nil || r.Method != http.MethodGet {
		return nil, nil
	}
	err = s.Provider.People.Confirmed(r.Context(), who)
	if errors.Is(err, people.ErrConfirm) {
		return nil, nil // the person has not signed in again yet
	}
	if err != nil {
		return nil, err
	}
	s.keep(w, cookie, 0)
	text := s.Provider.People.OpenDraft(who, draftOf(r, s.Cookie(r, BrowserCookie)), sent.Value)
	if text == "" {
		return nil, nil // it is too old, or of another person or browser
	}
	return url.ParseQuery(text)
}

// DroppedFrom says that the password of a kept form must be typed again. It returns nil if it had none.
func DroppedFrom(form url.Values) *oauth.Invalid {
	if !form.Has(droppedPassword) {
		return nil
	}
	return &oauth.Invalid{Fields: []oauth.FieldError{{
		Field:   "password",
		Message: "Type the new password again: it was not kept while you signed in.",
	}}}
}

// SayKept says on a page that its form was kept.
func (s *Site) SayKept(r *http.Request, kept bool, f *templates.Frame) {
	if kept {
		f.Notice = s.Language(r).T("You have signed in again. Nothing is saved yet: review the form and send it.")
	}
}

// SayOnceMore says on the next page that a button was not obeyed yet, if the person comes from the sign-in that it
// needs. A button alone has no form that could come back.
func (s *Site) SayOnceMore(w http.ResponseWriter, r *http.Request, who *storage.SignedIn) error {
	err := s.Provider.People.Confirmed(r.Context(), who)
	if errors.Is(err, people.ErrConfirm) {
		return nil
	}
	if err == nil && r.Method == http.MethodGet {
		s.SetNotice(w, "once-more")
	}
	return err
}
