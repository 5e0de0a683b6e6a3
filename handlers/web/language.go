package web

import (
	"cmp"
	"net/http"
	"strings"

	"mandate/handlers/request"
	"mandate/provider/oauth"
	"mandate/provider/people"
	"mandate/templates"
	"mandate/templates/languages"
)

// Language returns the language of the page that a request gets: that of UseLocales, or the one that the person has
// chosen who is signed in, or that of the browser, or English.
func (s *Site) Language(r *http.Request) *languages.Language {
	rec := request.RecordOf(r.Context())
	known, ok := rec.Language.(*languages.Language)
	if !ok {
		known = cmp.Or(s.chosen(r), s.publicLanguage(r))
		rec.Language = known
	}
	return known
}

// publicLanguage returns the language of a page that is the same for everybody who reads it: the best one for the
// browser (RFC 9110 §12.5.4), or English.
func (s *Site) publicLanguage(r *http.Request) *languages.Language {
	return cmp.Or(s.accepted(r), s.Pages.Languages.English())
}

// chosen returns the language that the person has chosen who is signed in, or nil. What fails here fails again where
// the page needs the person.
func (s *Site) chosen(r *http.Request) *languages.Language {
	who, err := s.SignedIn(r)
	if err != nil || who == nil {
		return nil
	}
	own, err := people.OwnOf(who.User)
	if err != nil {
		return nil
	}
	return s.Pages.Languages.Listed(own.Locale)
}

// accepted returns the best language for the browser, or nil if it names none that pages have.
func (s *Site) accepted(r *http.Request) *languages.Language {
	return s.Pages.Languages.Accepted(strings.Join(r.Header.Values("Accept-Language"), ","))
}

// LanguageOptions lists the languages, each by its own name.
func (s *Site) LanguageOptions() []templates.Option {
	var options []templates.Option
	for _, l := range s.Pages.Languages.All() {
		options = append(options, templates.Option{Value: l.Tag(), Label: l.Name()})
	}
	return options
}

// UseLocales selects the language of the page by a parameter ui_locales, which takes precedence over the
// browser (OIDC Core §3.1.2.1, OIDC RP-Logout §2). A language that no page has is ignored.
func (s *Site) UseLocales(r *http.Request, tags string) {
	if found := s.Pages.Languages.Listed(tags); found != nil {
		request.RecordOf(r.Context()).Language = found
	}
}

// UseLocalesOf is UseLocales for a page that leads to an authorization request.
func (s *Site) UseLocalesOf(r *http.Request, next string) {
	s.UseLocales(r, s.AuthorizationRequest(next).Get("ui_locales"))
}

// Said returns the text of an error in a language. It reports false if the text is for a developer, and
// is in English.
func Said(l *languages.Language, e *oauth.Error) (string, bool) {
	format := cmp.Or(e.Format, e.Description)
	if !l.Knows(format) {
		return e.Description, false
	}
	return l.Format(format, e.Args...), true
}

// Problem returns what is wrong with a field, in a language. It is empty if nothing is.
func Problem(l *languages.Language, invalid *oauth.Invalid, field string) string {
	f := invalid.Find(field)
	return l.Format(cmp.Or(f.Format, f.Message), f.Args...)
}
