package web

import (
	"net/http"

	"mandate/handlers/request"
	"mandate/templates"
)

// OwnReferrer keeps the path of a page out of the Referer of its own style sheet, because the path
// contains a secret. The value is not no-referrer: see pageHeaders.
func OwnReferrer(w http.ResponseWriter) {
	w.Header().Set("Referrer-Policy", "strict-origin")
}

// ShowDeadLink shows that a link does not work, and where to go on.
func (s *Site) ShowDeadLink(w http.ResponseWriter, r *http.Request, text string, ways ...templates.Link) error {
	const status, code = http.StatusNotFound, "not_found"
	request.Note(r.Context(), "error", "the link was already used, has ended, or is not valid")
	request.Outcome(r.Context(), code)
	return s.Render(w, r, status,
		templates.ErrorPage{Frame: s.Frame(r, ""), Status: status,
			Heading: s.Language(r).T("This link does not work any more"),
			Message: text, Code: code, RequestID: request.ID(r), BackURL: ways[0].URL, BackLabel: ways[0].Label, More: ways[1:]})
}
