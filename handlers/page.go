package handlers

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"mandate/provider"
	"mandate/templates"
)

// page is for what people look at.
func (s *server) page(h handle) http.Handler {
	return adapt(func(w http.ResponseWriter, r *http.Request) error {
		err := h(w, r)
		if errors.Is(err, errSignIn) {
			return s.toLogin(w, r, backHere(r), "", "")
		}
		return err
	}, pageHeaders, s.pageError)
}

// pageHeaders go on redirects too.
func pageHeaders(h http.Header) {
	h.Set("Cache-Control", "no-store")
	// RFC 9700 §4.2.4: no other site learns where its visitor came from. Not
	// no-referrer: browsers then send the Origin of our own forms as null.
	h.Set("Referrer-Policy", "same-origin")
	// RFC 9700 §4.16, for browsers that do not know frame-ancestors.
	h.Set("X-Frame-Options", "DENY")
}

const policy = "default-src 'none'; style-src 'self'; img-src 'self' data:; base-uri 'none'; frame-ancestors 'none'"

// render writes a page. It is drawn before the first byte is sent.
func (s *server) render(w http.ResponseWriter, r *http.Request, status int, page any) error {
	body, err := s.pages.Render(page)
	if err != nil {
		return err
	}
	h, policy := w.Header(), policy
	// What people typed is escaped, so that this is an element of ours or nothing.
	if bytes.Contains(body, []byte("<script ")) {
		policy += "; script-src 'self'"
	}
	if leadsAway(page) {
		// Their forms end at the client's redirect URI, by a redirect, and the client
		// may redirect on to anywhere. Chromium holds every one of these steps
		// against form-action, so no list of ours could be complete.
		//
		// Nor do these get an opener policy: a client may have opened them in a
		// window of its own, and its page in there tells the opener how it went.
		h.Set("Content-Security-Policy", policy)
	} else {
		h.Set("Content-Security-Policy", policy+s.formAction())
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
	}
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	s.dropNotice(w, r)
	w.WriteHeader(status)
	_, _ = w.Write(body) // an error here means that the client has gone
	return nil
}

// leadsAway says that a form of the page may end at an application.
func leadsAway(page any) bool {
	switch p := page.(type) {
	case templates.Login, templates.Consent, templates.FormPost:
		return true
	case templates.Logout:
		return p.Ticket != ""
	}
	return false
}

// formAction keeps forms on this server. Where people sign in elsewhere, a form
// that was sent after the session had ended goes there, by a redirect.
func (s *server) formAction() string {
	if s.config.LoginURL != "" && !strings.HasPrefix(s.config.LoginURL, "/") {
		return ""
	}
	return "; form-action 'self'"
}

// frame is what all pages share. An empty title is the page's own.
func (s *server) frame(r *http.Request, title string) templates.Frame {
	f := templates.Frame{Title: title, Notice: s.notice(r)}
	who, err := s.signedIn(r)
	if err == nil && who != nil {
		f.Username, f.Admin = who.User.Username, who.User.Administrator
	}
	return f
}

// pageError shows an error to a person.
func (s *server) pageError(w http.ResponseWriter, r *http.Request, e *provider.Error) {
	pageHeaders(w.Header())
	retryAfter(w, e)
	status := statusOf(e)
	err := s.render(w, r, status, templates.ErrorPage{Frame: s.frame(r, ""), Status: status, Heading: heading(status),
		Message: e.Description, Code: e.Code, RequestID: requestID(r), BackURL: s.path("/"), BackLabel: "Go to the start page"})
	if err != nil {
		note(r.Context(), "error", fmt.Sprintf("%v; then: %v", e, err))
		http.Error(w, "Internal error", http.StatusInternalServerError)
	}
}

func heading(status int) string {
	switch status {
	case http.StatusForbidden:
		return "You may not do this"
	case http.StatusNotFound:
		return "There is nothing here"
	case http.StatusMethodNotAllowed:
		return "This address cannot be used like that"
	case http.StatusRequestEntityTooLarge:
		return "That is too much at once"
	case http.StatusTooManyRequests:
		return "Too many attempts"
	case http.StatusServiceUnavailable:
		return "Not available right now"
	}
	if status >= http.StatusInternalServerError {
		return "Something went wrong here"
	}
	return "This request cannot be answered"
}

// fieldErrors is the summary above a form.
func fieldErrors(invalid *provider.Invalid) []templates.FieldError {
	if invalid == nil {
		return nil
	}
	var lines []templates.FieldError
	for _, f := range invalid.Fields {
		lines = append(lines, templates.FieldError{ID: f.Field, Message: f.Message})
	}
	return lines
}

// invalidForm is how a page answers a form that has to be corrected.
const invalidForm = http.StatusUnprocessableEntity

// noteInvalid says in the log which fields were wrong; the page says how.
func noteInvalid(r *http.Request, invalid *provider.Invalid) {
	note(r.Context(), "error", "invalid: "+fieldNames(invalid))
}
