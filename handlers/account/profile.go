package account

import (
	"net/http"
	"slices"
	"strings"

	"mandate/handlers/web"
	"mandate/provider/oauth"
	"mandate/provider/people"
	"mandate/templates"
)

const profilePath = "/account/profile/"

// editsProfile reports whether people may change something of their account on the page of the profile.
func (s *server) editsProfile() bool {
	return slices.ContainsFunc(people.OwnFields(), s.Provider.People.Edits)
}

// profilePage shows a person what they may change of their own account.
func (s *server) profilePage(w http.ResponseWriter, r *http.Request) error {
	who, err := s.Person(r)
	if err != nil {
		return err
	}
	if !s.editsProfile() {
		return oauth.ErrNotFound
	}
	own, err := people.OwnOf(who.User)
	if err != nil {
		return err
	}
	return s.Render(w, r, http.StatusOK, s.profileForm(r, own, unsent))
}

// changeProfile changes it.
func (s *server) changeProfile(w http.ResponseWriter, r *http.Request) error {
	who, err := s.Person(r)
	if err != nil {
		return err
	}
	if !s.editsProfile() {
		return oauth.ErrNotFound
	}
	err = s.ParseForm(r)
	if err != nil {
		return err
	}
	own := people.Own{
		FirstName: strings.TrimSpace(r.PostForm.Get("first_name")),
		LastName:  strings.TrimSpace(r.PostForm.Get("last_name")),
		Locale:    r.PostForm.Get("locale"),
		ZoneInfo:  r.PostForm.Get("zoneinfo"),
	}
	in, err := s.Provider.People.ChangeOwn(r.Context(), who, own)
	if err != nil {
		why, err := s.Refused(w, r, err)
		if err != nil {
			return err
		}
		return s.Render(w, r, why.Status, s.profileForm(r, own, why.At))
	}
	if in != nil {
		s.Renew(w, in)
	}
	s.SetNotice(w, "saved")
	web.SeeOther(w, r, s.Path("/account/"))
	return nil
}

// unsent returns what is wrong with a field of a form that nobody has sent yet: nothing.
func unsent(string) string { return "" }

// profileForm returns the form. at returns what is wrong with a field.
func (s *server) profileForm(r *http.Request, own people.Own, at func(string) string) templates.Profile {
	l, edits := s.Language(r), s.Provider.People.Edits
	page := templates.Profile{Frame: s.Frame(r, ""), Action: s.Path(profilePath), CancelURL: s.Path("/account/"),
		LocaleError: at("locale"), ZoneError: at("zoneinfo")}
	if edits(people.OwnName) {
		page.Named = true
		page.FirstName = templates.Field{Value: own.FirstName, Error: at("first_name")}
		page.LastName = templates.Field{Value: own.LastName, Error: at("last_name")}
	}
	if edits(people.OwnLanguage) {
		first := templates.Option{Label: l.T("As the browser says")}
		page.Locales = listed(own.Locale, append([]templates.Option{first}, s.LanguageOptions()...))
	}
	if edits(people.OwnZone) {
		zones := []templates.Option{{Label: l.T("Not given")}}
		for _, zone := range people.Zones() {
			zones = append(zones, templates.Option{Value: zone, Label: strings.ReplaceAll(zone, "_", " ")})
		}
		page.Zones = listed(own.ZoneInfo, zones)
	}
	return page
}

// listed marks a value in a list, to which it is added if it is missing: an administrator may have chosen another one.
func listed(value string, list []templates.Option) []templates.Option {
	if !slices.ContainsFunc(list, func(o templates.Option) bool { return o.Value == value }) {
		list = append(list, templates.Option{Value: value})
	}
	return web.Checked([]string{value}, list...)
}
