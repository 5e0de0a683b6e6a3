package handlers

import (
	"cmp"
	"net/http"
	"strings"

	"mandate/handlers/request"
	"mandate/provider/oauth"
	"mandate/templates"
	"mandate/templates/languages"
)

// language returns the language of the page that a request gets: that of useLocales, or the best one for
// the browser (RFC 9110 §12.5.4), or English.
func (s *server) language(r *http.Request) *languages.Language {
	rec := request.RecordOf(r.Context())
	known, ok := rec.Language.(*languages.Language)
	if !ok {
		known = cmp.Or(s.accepted(r), s.pages.Languages.English())
		rec.Language = known
	}
	return known
}

// accepted returns the best language for the browser, or nil if it names none that pages have.
func (s *server) accepted(r *http.Request) *languages.Language {
	return s.pages.Languages.Accepted(strings.Join(r.Header.Values("Accept-Language"), ","))
}

// languageOptions lists the languages, each by its own name.
func (s *server) languageOptions() []templates.Option {
	var options []templates.Option
	for _, l := range s.pages.Languages.All() {
		options = append(options, templates.Option{Value: l.Tag(), Label: l.Name()})
	}
	return options
}

// useLocales selects the language of the page by a parameter ui_locales, which takes precedence over the
// browser (OIDC Core §3.1.2.1, OIDC RP-Logout §2). A language that no page has is ignored.
func (s *server) useLocales(r *http.Request, tags string) {
	if found := s.pages.Languages.Listed(tags); found != nil {
		request.RecordOf(r.Context()).Language = found
	}
}

// useLocalesOf is useLocales for a page that leads to an authorization request.
func (s *server) useLocalesOf(r *http.Request, next string) {
	s.useLocales(r, s.authorizationRequest(next).Get("ui_locales"))
}

// said returns the text of an error in a language. It reports false if the text is for a developer, and
// is in English.
func said(l *languages.Language, e *oauth.Error) (string, bool) {
	format := cmp.Or(e.Format, e.Description)
	if !l.Knows(format) {
		return e.Description, false
	}
	return l.Format(format, e.Args...), true
}

// problem returns what is wrong with a field, in a language. It is empty if nothing is.
func problem(l *languages.Language, invalid *oauth.Invalid, field string) string {
	f := invalid.Find(field)
	return l.Format(cmp.Or(f.Format, f.Message), f.Args...)
}
