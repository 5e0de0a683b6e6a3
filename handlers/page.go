package handlers

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
func (s *server) page(h handle) http.Handler {
	return adapt(func(w http.ResponseWriter, r *http.Request) error {
		err := h(w, r)
		if errors.Is(err, errSignIn) || errors.Is(err, people.ErrNotSignedIn) {
			return s.toLogin(w, r, backHere(r), "", "")
		}
		if errors.Is(err, errStep) {
			return s.toStepUp(w, r, backHere(r), acr.MFA)
		}
		if errors.Is(err, people.ErrConfirm) {
			name := ""
			if who, err := s.signedIn(r); err == nil && who != nil {
				name = who.User.Username
			}
			return s.toLogin(w, r, backHere(r), name, confirmLogin)
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

const contentPolicy = "default-src 'none'; style-src 'self'; img-src 'self' data:; base-uri 'none'; frame-ancestors 'none'"

// render writes a page. The whole page is rendered before the first byte is sent.
func (s *server) render(w http.ResponseWriter, r *http.Request, status int, page any) error {
	l := s.language(r)
	body, err := s.pages.Render(l, page)
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
	case templates.Login, templates.Factor, templates.Consent, templates.FormPost, templates.SignUp, templates.SignUpPasskey:
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
func (s *server) formAction() string {
	if s.config.LoginURL != "" && !strings.HasPrefix(s.config.LoginURL, "/") {
		return ""
	}
	return "; form-action 'self'"
}

// frame returns what all pages share. If the title is empty, the page uses its own
// title.
func (s *server) frame(r *http.Request, title string) templates.Frame {
	f := templates.Frame{Title: title, Notice: s.notice(r)}
	who, err := s.signedIn(r)
	if err == nil && who != nil {
		f.Username, f.Admin = who.User.Username, who.User.Administrator
	}
	return f
}

// pageError shows an error as an HTML page.
func (s *server) pageError(w http.ResponseWriter, r *http.Request, e *oauth.Error) {
	pageHeaders(w.Header())
	retryAfter(w, e)
	status := statusOf(e)
	l := s.language(r)
	page := templates.ErrorPage{Frame: s.frame(r, ""), Status: status, Heading: heading(l, status),
		Code: e.Code, RequestID: request.ID(r), BackURL: s.path("/"), BackLabel: l.T("Go to the start page")}
	page.Tell, page.Application = s.mustTell(r, e)
	text, known := said(l, e)
	if known || l == s.pages.Languages.English() {
		page.Message = text
	} else {
		page.Message, page.Description = l.T("The server did not accept the request. The reason is below, in English."), text
	}
	err := s.render(w, r, status, page)
	if err != nil {
		request.Note(r.Context(), "error", fmt.Sprintf("%v; then: %v", e, err))
		http.Error(w, "Internal error", http.StatusInternalServerError)
	}
}

// mustTell reports whether somebody other than the person must know of an error, and returns the name of the application
// that the person used, if an administrator or its owner is responsible for it: other names are those of strangers.
func (s *server) mustTell(r *http.Request, e *oauth.Error) (bool, string) {
	switch {
	case e.Application != nil && policy.StandingOf(*e.Application) != policy.StandingOpen:
		return true, e.Application.Name
	case e.Status == http.StatusTooManyRequests:
		return false, ""
	}
	return e.Status >= http.StatusInternalServerError || strings.TrimSuffix(r.URL.Path, "/") == s.path("/o/authorize"), ""
}

func heading(l *languages.Language, status int) string {
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
	status  int
	in      *languages.Language
	invalid *oauth.Invalid // nil: a limit is used up
	limit   string         // what the limit is, and when to try again
}

// at returns the message for one field, or "" if the field has no mistake.
func (c correction) at(field string) string { return problem(c.in, c.invalid, field) }

// refused reads why a form was not accepted, and notes it. It returns the error if no form can show it.
func (s *server) refused(w http.ResponseWriter, r *http.Request, err error) (correction, error) {
	if invalid, ok := errors.AsType[*oauth.Invalid](err); ok {
		noteInvalid(r, invalid)
		return correction{status: invalidForm, in: s.language(r), invalid: invalid}, nil
	}
	if e, ok := errors.AsType[*oauth.Error](err); ok && e.Status == http.StatusTooManyRequests {
		request.Note(r.Context(), "error", e.Code)
		retryAfter(w, e)
		limit, _ := said(s.language(r), e)
		return correction{status: e.Status, in: s.language(r), limit: limit}, nil
	}
	return correction{}, err
}

// fieldErrors returns the error summary that stands above a form.
func fieldErrors(invalid *oauth.Invalid) []templates.FieldError {
	if invalid == nil {
		return nil
	}
	var lines []templates.FieldError
	for _, f := range invalid.Fields {
		lines = append(lines, templates.FieldError{ID: f.Field, Message: f.Message})
	}
	return lines
}

// invalidForm is the status of a page whose form has to be corrected.
const invalidForm = http.StatusUnprocessableEntity

// noteInvalid logs the names of the invalid fields. The page explains the errors.
func noteInvalid(r *http.Request, invalid *oauth.Invalid) {
	request.Note(r.Context(), "error", "invalid: "+fieldNames(invalid))
}

// renderPublic writes a page that is the same for everybody who reads the language, so that caches may keep it. Its frame has no
// person and no notice.
func (s *server) renderPublic(w http.ResponseWriter, r *http.Request, page any) error {
	l := s.language(r)
	body, err := s.pages.Render(l, page)
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
