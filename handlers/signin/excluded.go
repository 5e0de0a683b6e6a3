package signin

import (
	"net/http"
	"strings"

	"mandate/handlers/request"
	"mandate/handlers/web"
	"mandate/provider/access"
	"mandate/provider/authorize"
	"mandate/provider/policy"
	"mandate/templates"
)

// excludedPage tells a person that they may not use the application of an authorization request. The person decides
// whether to go back to it: without a page, an application that begins again would send them here for ever.
func (s *flows) excludedPage(
	w http.ResponseWriter,
	r *http.Request,
	a *authorize.Authorization,
	v *access.Verdict,
) error {
	e := access.Excluded()
	s.countRefusal(r, a, e)
	web.NoteError(r, e)
	request.Outcome(r.Context(), e.Code)
	page := s.excluded(r, v, s.again(w, r, a))
	if policy.StandingOf(a.Application) == policy.StandingOpen {
		page.Unchecked = s.target(r, a.RedirectURI)
	}
	back := s.Provider.Authorizations.Refusal(a, e)
	switch {
	case back.Failed != nil:
		return back.Failed
	case back.FormPost:
		page.BackURI, page.Parameters = back.RedirectURI, s.formPost(r, back).Parameters
	default:
		page.BackURL = back.Location()
	}
	return s.Render(w, r, http.StatusForbidden, page)
}

// excluded describes why a person may not use an application. again is what the person wanted to open.
func (s *flows) excluded(r *http.Request, v *access.Verdict, again string) templates.Excluded {
	page := templates.Excluded{
		Frame:       s.Frame(r, ""),
		Application: s.asker(s.Language(r), v.Application).Application,
		Email:       v.Person.Email,
		NobodyNew:   v.Missing() == access.Known,
		SwitchURL:   s.switchURL(again),
	}
	if v.Missing() == access.Allowed {
		page.Groups = strings.Join(web.Lines(v.Application.AllowedGroups), ", ")
	}
	return page
}
