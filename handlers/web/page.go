package web

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"mandate/handlers/request"
	"mandate/provider/acr"
	"mandate/provider/oauth"
	"mandate/provider/people"
	"mandate/provider/policy"
	"mandate/templates"
	"mandate/templates/languages"
)

// page adapts a handler of HTML pages. If nobody is signed in, or the person must sign in again, it
// redirects to the login page.
func (s *Site) page(h Handle) http.Handler {
	return Adapt(func(w http.ResponseWriter, r *http.Request) error {
		err := h(w, r)
		if errors.Is(err, ErrSignIn) || errors.Is(err, people.ErrNotSignedIn) {
			return s.ToLogin(w, r, backHere(r), "", "")
		}
		if errors.Is(err, ErrStep) {
			return s.ToStepUp(w, r, backHere(r), acr.MFA)
		}
		if errors.Is(err, people.ErrConfirm) {
			name := ""
			if who, err := s.SignedIn(r); err == nil && who != nil {
				name = who.User.Username
			}
			return s.ToLogin(w, r, backHere(r), name, ConfirmLogin)
		}
		return err
	}, pageHeaders, s.pageError)
}

// pageHeaders sets the headers of every page. Redirects get them too.
func pageHeaders(h http.Header) {
	h.Set("Cache-Control", "no-store")
	// RFC 9700 §4.2.4: no other site learns where its visitor came from. The value
	// is not no-referrer, because browsers then send the Origin of this server's own
	// forms as null.
	h.Set("Referrer-Policy", "same-origin")
	// RFC 9700 §4.16, for browsers that do not know frame-ancestors.
	h.Set("X-Frame-Options", "DENY")
}

const contentPolicy = "default-src 'none'; style-src 'self'; img-src 'self' data:; base-uri 'none'; frame-ancestors " +
	"'none'"

// Render writes a page. The whole page is rendered before the first byte is sent.
func (s *Site) Render(w http.ResponseWriter, r *http.Request, status int, page any) error {
	l := s.Language(r)
	body, err := s.Pages.Render(l, page)
	if err != nil {
		return err
	}
	h, policy := w.Header(), contentPolicy
	// Text from people is escaped, so this element can only come from a template.
	if bytes.Contains(body, []byte("<script ")) {
		policy += "; script-src 'self'"
	}
	if leadsAway(page) {
		// The forms of these pages end with a redirect to the client's redirect URI,
		// and the client may redirect again. Chromium applies form-action to every
		// one of these redirects, so no list of origins could be complete.
		//
		// These pages get no opener policy either. A client may open them in a
		// window of its own, and its page in that window then reports the result to
		// the opener.
		h.Set("Content-Security-Policy", policy)
	} else {
		h.Set("Content-Security-Policy", policy+s.formAction())
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
	}
	s.dropNotice(w, r)
	writePage(w, l, status, body)
	return nil
}

// writePage writes a page that is in a language.
func writePage(w http.ResponseWriter, l *languages.Language, status int, body []byte) {
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	// RFC 9110 §8.5, §12.5.5: the language of the reader, who may have asked for another one by this header.
	h.Set("Content-Language", l.Tag())
	h.Add("Vary", "Accept-Language")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body) // an error here means that the client has disconnected
}

// leadsAway reports whether a form of the page may end at an application, or at another server.
func leadsAway(page any) bool {
	switch p := page.(type) {
	case templates.Login, templates.Factor, templates.Consent, templates.Excluded, templates.FormPost,
		templates.SignUp,
		templates.SignUpPasskey:
		return true
	case templates.Ask:
		return p.LeadsAway
	case templates.NewTOTP:
		return p.Required
	case templates.Logout:
		return p.Ticket != ""
	}
	return false
}

// formAction limits forms to this server. If the login page is on another server,
// there is no limit: a form that is sent after the session has ended is redirected
// to that page.
func (s *Site) formAction() string {
	if s.Config.LoginURL != "" && !strings.HasPrefix(s.Config.LoginURL, "/") {
		return ""
	}
	return "; form-action 'self'"
}

// Frame returns what all pages share. If the title is empty, the page uses its own
// title.
func (s *Site) Frame(r *http.Request, title string) templates.Frame {
	f := templates.Frame{Title: title, Notice: s.notice(r)}
	who, err := s.SignedIn(r)
	if err == nil && who != nil {
		// If the groups cannot be read, the page of applications says so.
		may, err := s.Provider.People.MayRegister(r.Context(), who.User)
		f.OnlyUses = err == nil && !may && !who.User.Auditor
		f.Username, f.Admin = who.User.Username, who.User.Administrator || who.User.Auditor
		f.ReadOnly, f.Delegate = !who.User.Administrator, who.User.Delegate
	}
	return f
}

// pageError shows an error as an HTML page.
func (s *Site) pageError(w http.ResponseWriter, r *http.Request, e *oauth.Error) {
	pageHeaders(w.Header())
	RetryAfter(w, e)
	status := StatusOf(e)
	l := s.Language(r)
	page := templates.ErrorPage{Frame: s.Frame(r, ""), Status: status, Heading: Heading(l, status),
		Code: e.Code, RequestID: request.ID(r), BackURL: s.Path("/"), BackLabel: l.T("Go to the start page")}
	page.Tell, page.Application = s.MustTell(r, e)
	text, known := Said(l, e)
	if known || l == s.Pages.Languages.English() {
		page.Message = text
	} else {
		page.Message, page.Description = l.T("The server did not accept the request. The reason is below, in English."), text
	}
	err := s.Render(w, r, status, page)
	if err != nil {
		request.Note(r.Context(), "error", fmt.Sprintf("%v; then: %v", e, err))
		http.Error(w, "Internal error", http.StatusInternalServerError)
	}
}

// MustTell reports whether somebody other than the person must know of an error, and returns the name of the
// application that the person used, if an administrator or its owner is responsible for it: other names are those of
// strangers.
func (s *Site) MustTell(r *http.Request, e *oauth.Error) (bool, string) {
	switch {
	case e.Application != nil && policy.StandingOf(*e.Application) != policy.StandingOpen:
		return true, e.Application.Name
	case e.Status == http.StatusTooManyRequests:
		return false, ""
	}
	return e.Status >= http.StatusInternalServerError || strings.TrimSuffix(r.URL.Path, "/") == s.Path("/o/authorize"), ""
}

func Heading(l *languages.Language, status int) string {
	switch status {
	case http.StatusForbidden:
		return l.T("You may not do this")
	case http.StatusNotFound:
		return l.T("Page not found")
	case http.StatusMethodNotAllowed:
		return l.T("This address does not support this method")
	case http.StatusRequestEntityTooLarge:
		return l.T("The request is too large")
	case http.StatusTooManyRequests:
		return l.T("Too many requests")
	case http.StatusServiceUnavailable:
		return l.T("Not available right now")
	}
	if status >= http.StatusInternalServerError {
		return l.T("Something went wrong here")
	}
	return l.T("This request is not valid")
}

// correction is what a form says that is shown again.
type correction struct {
	Status  int
	in      *languages.Language
	Invalid *oauth.Invalid // nil: a limit is used up
	Limit   string         // what the limit is, and when to try again
}

// At returns the message for one field, or "" if the field has no mistake.
func (c correction) At(field string) string { return Problem(c.in, c.Invalid, field) }

// Refused reads why a form was not accepted, and notes it. It returns the error if no form can show it.
func (s *Site) Refused(w http.ResponseWriter, r *http.Request, err error) (correction, error) {
	if invalid, ok := errors.AsType[*oauth.Invalid](err); ok {
		NoteInvalid(r, invalid)
		return correction{Status: InvalidForm, in: s.Language(r), Invalid: invalid}, nil
	}
	if e, ok := errors.AsType[*oauth.Error](err); ok && e.Status == http.StatusTooManyRequests {
		request.Note(r.Context(), "error", e.Code)
		RetryAfter(w, e)
		limit, _ := Said(s.Language(r), e)
		return correction{Status: e.Status, in: s.Language(r), Limit: limit}, nil
	}
	return correction{}, err
}

// FieldErrors returns the error summary that stands above a form.
func FieldErrors(invalid *oauth.Invalid) []templates.FieldError {
	if invalid == nil {
		return nil
	}
	var lines []templates.FieldError
	for _, f := range invalid.Fields {
		lines = append(lines, templates.FieldError{ID: f.Field, Message: f.Message})
	}
	return lines
}

// InvalidForm is the status of a page whose form has to be corrected.
const InvalidForm = http.StatusUnprocessableEntity

// NoteInvalid logs the names of the invalid fields. The page explains the errors.
func NoteInvalid(r *http.Request, invalid *oauth.Invalid) {
	request.Note(r.Context(), "error", "invalid: "+fieldNames(invalid))
}

// RenderPublic writes a page that is the same for everybody who reads the language, so that caches may keep it. Its
// frame has no person and no notice.
func (s *Site) RenderPublic(w http.ResponseWriter, r *http.Request, page any) error {
	l := s.publicLanguage(r)
	body, err := s.Pages.Render(l, page)
	if err != nil {
		return err
	}
	h := w.Header()
	h.Set("Cache-Control", "public, max-age=300")
	h.Set("Content-Security-Policy", contentPolicy+"; form-action 'none'")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	writePage(w, l, http.StatusOK, body)
	return nil
}
