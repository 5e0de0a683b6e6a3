package protocol

import (
	"net/http"
	"strings"

	"mandate/handlers/web"
	"mandate/provider/errorcode"
	"mandate/provider/oauth"
	"mandate/templates"
	"mandate/templates/languages"
)

// errorCodes lists what error_uri can lead to.
func (s *server) errorCodes(w http.ResponseWriter, r *http.Request) error {
	l := s.Language(r)
	var page templates.Errors
	for _, c := range errorcode.All() {
		page.Codes = append(page.Codes,
			templates.ErrorCodeRow{Name: c.Name, Cause: l.Text(c.Cause), URL: s.Path(errorcode.Path + c.Name + "/")})
	}
	for _, m := range errorcode.Messages() {
		m = m.Plain()
		page.Messages = append(
			page.Messages,
			templates.MessageRow{Says: spans(m.Says), Means: spans(m.Means), Cure: spans(m.Cure)},
		)
	}
	return s.RenderPublic(w, r, page)
}

// spans splits a text at its backticks, between which it is code.
func spans(text string) []templates.Span {
	var all []templates.Span
	for i, part := range strings.Split(text, "`") {
		if part != "" {
			all = append(all, templates.Span{Text: part, Code: i%2 == 1})
		}
	}
	return all
}

// errorCode explains one code. It shows nothing that a request contains: a code that the table does not have is not
// found.
func (s *server) errorCode(w http.ResponseWriter, r *http.Request) error {
	name, err := web.Variable(r, "code")
	if err != nil {
		return err
	}
	code, found := errorcode.Find(name)
	if !found {
		return oauth.ErrNotFound
	}
	return s.RenderPublic(w, r, explained(s.Language(r), code, s.Path(errorcode.Path)))
}

func explained(l *languages.Language, code errorcode.Code, all string) templates.ErrorCode {
	page := templates.ErrorCode{Name: code.Name, Cause: l.Text(code.Cause), Cure: l.Text(code.Cure), Source: code.Source,
		AllURL: all}
	for _, one := range code.Cases {
		page.Cases = append(page.Cases, templates.ErrorCase{ID: one.ID, Words: one.Words, Cure: l.Text(one.Cure)})
	}
	return page
}

// oauth adapts the endpoints whose error responses have the form of RFC 6749 §5.2, which has error_uri.
func (s *server) oauth(h web.Handle) http.Handler {
	return web.Adapt(h, web.Uncached, func(w http.ResponseWriter, r *http.Request, e *oauth.Error) {
		web.WriteError(w, r, e, web.ProtocolBody{
			Error:       e.Code,
			Description: e.Description,
			URI:         errorcode.URI(s.Origin+s.Base, e.Code, e.Description),
		})
	})
}
